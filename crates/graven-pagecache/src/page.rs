//! The header of every page: sealing before a write, verifying after a read.
//!
//! # How it works
//! [`seal`] fills the header and computes the checksum last; [`verify`] recomputes it and compares
//! what the header says with what the reader expects. The checksum covers content, page reference,
//! kind and LSN, so a page written to the wrong place and a torn one are found. An old version of a
//! page is intact in itself; what it is found by is the [`PageRef`] that leads to it, which knows a
//! part of the checksum that it is to have.
//!
//! # Invariants
//! * PC-1: a page is as long as its class says, starts within 2^40 units, and its payload fits
//!   behind the header.
//! * PC-2: only bytes that [`verify`] accepted reach a reader of the page cache (unless
//!   verification is off).
//! * PC-3: bytes behind the payload are zero in a sealed page, so equal content gives equal pages.
//! * PC-31: a page is read from the file only by a reference whose seal is that of its checksum, if
//!   it has one.
//!
//! # On disk
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 8 | checksum: XXH3-64 of bytes 8 to the end of the page |
//! | 8 | 8 | LSN |
//! | 16 | 8 | page reference of this page, without seal |
//! | 24 | 4 | payload length in bytes |
//! | 28 | 1 | kind |
//! | 29 | 1 | header version, 1 |
//! | 30 | 34 | reserved, zero |
//! | 64 | | payload |
//!
//! # Costs
//! XXH3 over a page: see `docs/internals/page-cache.md` for the measured time.
//!
//! # Source
//! Yann Collet, XXH3 (xxHash 0.8 specification); implementation of the `twox-hash` crate.

use crate::page_kind::PageKind;
pub use crate::page_ref::HEADER_BYTES;
use crate::page_ref::PageRef;
use twox_hash::XxHash3_64;

const HEADER_VERSION: u8 = 1;
const CHECKSUM: std::ops::Range<usize> = 0..8;
const LSN: std::ops::Range<usize> = 8..16;
const PAGE_REF: std::ops::Range<usize> = 16..24;
pub(crate) const LENGTH: std::ops::Range<usize> = 24..28;
pub(crate) const KIND: usize = 28;
const VERSION: usize = 29;
const RESERVED: std::ops::Range<usize> = 30..64;

const _: () = assert!(RESERVED.end == HEADER_BYTES);

/// Why a page is not what it should be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The buffer is not as long as the reference says.
    #[error("page is {found} bytes long, expected {expected}")]
    Size {
        /// Bytes of the class in the reference.
        expected: usize,
        /// Bytes handed in.
        found: usize,
    },
    /// The content does not match its checksum.
    #[error("content has checksum {found:#018x}, the header says {expected:#018x}")]
    Checksum {
        /// What the header says.
        expected: u64,
        /// What the content amounts to.
        found: u64,
    },
    /// The page belongs to another place.
    #[error("page says it is reference {found:#018x}, expected {expected:#018x}")]
    Reference {
        /// The reference it was read by.
        expected: u64,
        /// The reference in its header.
        found: u64,
    },
    /// The page is intact, but not the one that was written there last.
    #[error(
        "page has seal {found:#07x}, the reference to it says {expected:#07x}: it is not the one \
            that was written here last"
    )]
    Seal {
        /// What the reference says.
        expected: u32,
        /// What the page's checksum amounts to.
        found: u32,
    },
    /// The page is of another kind than the reader expects.
    #[error("page kind is {} ({found}), expected \
        {expected}", PageKind::from_u8(*found).map_or("unknown", PageKind::name))]
    Kind {
        /// What the reader expects.
        expected: PageKind,
        /// The kind in the header.
        found: u8,
    },
    /// The payload length does not fit the page.
    #[error("payload length is {found}, expected at most {expected}")]
    Length {
        /// Largest payload of the class.
        expected: usize,
        /// Length in the header.
        found: usize,
    },
    /// The header is of a version this build does not know.
    #[error("page header version is {found}, expected {HEADER_VERSION}")]
    HeaderVersion {
        /// Version in the header.
        found: u8,
    },
    /// A page of another size class is in memory at this place: two references disagree.
    #[error("a {found} page is cached at this offset, expected a {expected} one")]
    Class {
        /// The class in the reference.
        expected: crate::page_ref::SizeClass,
        /// The class of the cached page.
        found: crate::page_ref::SizeClass,
    },
    /// An access reached behind the payload.
    #[error("access to byte {offset} of a payload of {length} bytes")]
    OutOfBounds {
        /// First byte behind the access.
        offset: usize,
        /// Bytes of the payload.
        length: usize,
    },
}

/// The header of a page as fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageHeader {
    /// XXH3-64 of bytes 8 to the end of the page.
    pub checksum: u64,
    /// Log position of the last change.
    pub lsn: u64,
    /// Raw page reference of the page itself.
    pub page_ref: u64,
    /// Bytes of the payload.
    pub length: u32,
    /// Kind as stored.
    pub kind: u8,
    /// Header version.
    pub version: u8,
}

impl PageHeader {
    /// Reads the header of `page` without checking it.
    ///
    /// # Panics
    /// If `page` is shorter than [`HEADER_BYTES`].
    #[must_use]
    pub fn read(page: &[u8]) -> PageHeader {
        PageHeader {
            checksum: u64_at(page, CHECKSUM),
            lsn: u64_at(page, LSN),
            page_ref: u64_at(page, PAGE_REF),
            length: u32::from_le_bytes(page[LENGTH].try_into().expect("four bytes")),
            kind: page[KIND],
            version: page[VERSION],
        }
    }
}

fn u64_at(page: &[u8], range: std::ops::Range<usize>) -> u64 {
    u64::from_le_bytes(page[range].try_into().expect("eight bytes"))
}

/// Checksum of a whole page: XXH3-64 of everything behind the checksum field.
#[must_use]
pub fn checksum(page: &[u8]) -> u64 {
    XxHash3_64::oneshot(&page[CHECKSUM.end..])
}

/// Fills the header of `page` and its checksum; `length` bytes behind the header are payload, the
/// rest becomes zero. Gives the reference by which the page is to be found.
///
/// # Panics
/// If `page` is not as long as the class of `reference` or `length` does not fit: both are the
/// writer's mistakes.
pub fn seal(
    page: &mut [u8],
    reference: PageRef,
    kind: PageKind,
    lsn: u64,
    length: usize,
) -> PageRef {
    assert_eq!(
        page.len(),
        reference.len_bytes(),
        "PC-1: a page is as long as its class"
    );
    assert!(
        length <= reference.class().payload_bytes(),
        "PC-1: the payload fits behind the header"
    );
    page[HEADER_BYTES + length..].fill(0);
    page[LSN].copy_from_slice(&lsn.to_le_bytes());
    page[PAGE_REF].copy_from_slice(&reference.place().raw().to_le_bytes());
    page[LENGTH].copy_from_slice(
        &u32::try_from(length)
            .expect("at most 128 MiB")
            .to_le_bytes(),
    );
    page[KIND] = kind as u8;
    page[VERSION] = HEADER_VERSION;
    page[RESERVED].fill(0);
    let sum = checksum(page);
    page[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
    reference.sealed(sum)
}

/// Fills the header of a page that is being written in memory: an empty payload, no checksum yet.
pub(crate) fn begin(page: &mut [u8], reference: PageRef, kind: PageKind) {
    page[..HEADER_BYTES].fill(0);
    page[PAGE_REF].copy_from_slice(&reference.place().raw().to_le_bytes());
    page[KIND] = kind as u8;
    page[VERSION] = HEADER_VERSION;
}

/// Sets the log position in a header that is sealed later.
pub(crate) fn set_lsn(page: &mut [u8], lsn: u64) {
    page[LSN].copy_from_slice(&lsn.to_le_bytes());
}

/// Checks that `page` is the intact page `reference`, of kind `expected` if given.
///
/// # Errors
/// The first [`Damage`] found; the checksum is compared first, so that other findings mean an
/// intact but foreign page.
pub fn verify(page: &[u8], reference: PageRef, expected: Option<PageKind>) -> Result<(), Damage> {
    if page.len() != reference.len_bytes() {
        return Err(Damage::Size {
            expected: reference.len_bytes(),
            found: page.len(),
        });
    }
    let header = PageHeader::read(page);
    let sum = checksum(page);
    if header.checksum != sum {
        return Err(Damage::Checksum {
            expected: header.checksum,
            found: sum,
        });
    }
    verify_header(&header, reference, expected)
}

/// The checks of [`verify`] that need no pass over the content.
pub(crate) fn verify_header(
    header: &PageHeader,
    reference: PageRef,
    expected: Option<PageKind>,
) -> Result<(), Damage> {
    if header.version != HEADER_VERSION {
        return Err(Damage::HeaderVersion {
            found: header.version,
        });
    }
    if header.page_ref != reference.place().raw() {
        return Err(Damage::Reference {
            expected: reference.place().raw(),
            found: header.page_ref,
        });
    }
    let found = PageRef::seal_of(header.checksum) as u32;
    if let Some(expected) = reference.seal()
        && expected != found
    {
        return Err(Damage::Seal { expected, found });
    }
    if let Some(expected) = expected
        && header.kind != expected as u8
    {
        return Err(Damage::Kind {
            expected,
            found: header.kind,
        });
    }
    if header.length as usize > reference.class().payload_bytes() {
        return Err(Damage::Length {
            expected: reference.class().payload_bytes(),
            found: header.length as usize,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_ref::SizeClass;

    fn sealed() -> (Vec<u8>, PageRef) {
        let reference = PageRef::new(SizeClass::MIN, 7);
        let mut page = vec![0xaa; reference.len_bytes()];
        seal(&mut page, reference, PageKind::Adjacency, 99, 1000);
        (page, reference)
    }

    /// Goal: a sealed page verifies and tells what was put in.
    #[test]
    fn sealed_pages_verify() {
        let (page, reference) = sealed();
        verify(&page, reference, Some(PageKind::Adjacency)).unwrap();
        let header = PageHeader::read(&page);
        assert_eq!(
            (header.lsn, header.length, header.page_ref),
            (99, 1000, reference.raw())
        );
        assert!(
            page[HEADER_BYTES + 1000..].iter().all(|byte| *byte == 0),
            "PC-3"
        );
    }

    /// Goal: every single flipped byte of a page is found.
    #[test]
    fn every_flipped_byte_is_found() {
        let (mut page, reference) = sealed();
        for at in 0..page.len() {
            page[at] ^= 0x10;
            assert!(verify(&page, reference, None).is_err(), "byte {at}");
            page[at] ^= 0x10;
        }
        verify(&page, reference, None).unwrap();
    }

    /// Goal: an intact page that is not the one a reference was made for is found, also one that
    /// only another log position tells apart.
    #[test]
    fn older_pages_are_found() {
        let (page, place) = sealed();
        let mut newer = page.clone();
        let reference = seal(&mut newer, place, PageKind::Adjacency, 100, 1000);
        verify(&newer, reference, Some(PageKind::Adjacency)).unwrap();
        verify(&page, place, Some(PageKind::Adjacency)).unwrap();
        let Err(Damage::Seal { expected, found }) = verify(&page, reference, None) else {
            panic!("PC-31");
        };
        assert_eq!(Some(expected), reference.seal());
        assert_ne!(expected, found);
    }

    /// Goal: intact pages at the wrong place or of the wrong kind are named as such.
    #[test]
    fn foreign_pages_are_named() {
        let (page, reference) = sealed();
        let elsewhere = PageRef::new(SizeClass::MIN, 8);
        assert!(matches!(
            verify(&page, elsewhere, None),
            Err(Damage::Reference { .. })
        ));
        assert!(matches!(
            verify(&page, reference, Some(PageKind::NodeColumn)),
            Err(Damage::Kind {
                expected: PageKind::NodeColumn,
                found: 5
            })
        ));
        assert!(matches!(
            verify(&page[..100], reference, None),
            Err(Damage::Size { .. })
        ));
        assert!(
            verify(&vec![0; 4096], reference, None).is_err(),
            "a page of zeros is no page"
        );
    }
}
