//! Names of pages: size class, page reference, file number.
//!
//! # How it works
//! A page lives at an offset of a file that is a multiple of 4 KiB and is `4 KiB << class` long. A
//! reference to a page needs both, so a [`PageRef`] carries both in 64 bits: class in the top four,
//! then the *seal*, then the offset in units of 4 KiB.
//!
//! The seal is what the reference knows of the page's content: 20 bits of its checksum, given by
//! [`seal`](crate::page::seal), never 0. The first read of a page compares them (PC-31), so a
//! reference from before or after a lost write does not take what lies there for what was written.
//! 0 means that the reference knows nothing: the page is written later, or it is temporary.
//!
//! Two references are equal if they name the same place: what is cached, free or in use is a matter
//! of places.
//!
//! # On disk
//! | bits | field |
//! | --- | --- |
//! | 60..=63 | size class, 0..=10 |
//! | 40..=59 | seal: the low 20 bits of the page's checksum, 1 where those are 0; 0 for none |
//! | 0..=39 | offset in the file in units of 4 KiB |

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Bytes of the header of a page; payloads start at this offset and are therefore 64-byte aligned.
pub const HEADER_BYTES: usize = 64;

/// Bytes of the smallest page and the unit of page offsets.
pub const UNIT_BYTES: usize = 4096;
/// Binary logarithm of [`UNIT_BYTES`].
pub(crate) const UNIT_SHIFT: u32 = 12;
/// Bits of the unit number in a page reference.
pub(crate) const UNIT_BITS: u32 = 40;
/// Bits of the seal, which stand above those of the unit.
const SEAL_MASK: u64 = (1 << 20) - 1;

const _: () = assert!(UNIT_BYTES == 1 << UNIT_SHIFT);

/// Size of a page or frame as a power of two: `4 KiB << class`, class 0..=15.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct SizeClass(u8);

impl SizeClass {
    /// 4 KiB.
    pub const MIN: SizeClass = SizeClass(0);
    /// 128 MiB: the largest page of a cache.
    pub const MAX: SizeClass = SizeClass(15);
    /// 4 MiB: the largest page of a data file.
    pub const STORED_MAX: SizeClass = SizeClass(10);
    /// 16 KiB.
    pub const KIB_16: SizeClass = SizeClass(2);
    /// 64 KiB.
    pub const KIB_64: SizeClass = SizeClass(4);
    /// Number of size classes.
    pub const COUNT: usize = 16;

    /// The class of pages of `4 KiB << class` bytes; `None` above 15.
    #[must_use]
    pub const fn new(class: u8) -> Option<SizeClass> {
        if class <= SizeClass::MAX.0 {
            Some(SizeClass(class))
        } else {
            None
        }
    }

    /// The smallest class whose page holds `bytes` bytes, header included; `None` above 128 MiB.
    #[must_use]
    pub const fn for_page_bytes(bytes: usize) -> Option<SizeClass> {
        let mut class = 0;
        while class <= SizeClass::MAX.0 {
            if (UNIT_BYTES << class) >= bytes {
                return Some(SizeClass(class));
            }
            class += 1;
        }
        None
    }

    /// The smallest class whose page holds `bytes` bytes behind its header; `None` above
    /// 4 MiB, which no page of a data file passes.
    #[must_use]
    pub const fn for_payload_bytes(bytes: usize) -> Option<SizeClass> {
        if bytes > SizeClass::STORED_MAX.payload_bytes() {
            return None;
        }
        SizeClass::for_page_bytes(bytes + HEADER_BYTES)
    }

    /// The class as a number, 0..=15.
    #[must_use]
    pub const fn index(self) -> u8 {
        self.0
    }

    /// Bytes of a page of this class.
    #[must_use]
    pub const fn bytes(self) -> usize {
        UNIT_BYTES << self.0
    }

    /// Units of 4 KiB of a page of this class.
    #[must_use]
    pub const fn units(self) -> u64 {
        1 << self.0
    }

    /// Largest payload of a page of this class: bytes behind the header.
    #[must_use]
    pub const fn payload_bytes(self) -> usize {
        self.bytes() - HEADER_BYTES
    }

    /// All classes, smallest first.
    pub fn all() -> impl Iterator<Item = SizeClass> {
        (0..=SizeClass::MAX.0).map(SizeClass)
    }
}

impl fmt::Display for SizeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes() >> 10 {
            kib if kib < 1024 => write!(f, "{kib} KiB"),
            kib => write!(f, "{} MiB", kib >> 10),
        }
    }
}

/// Name of a page within one file: size class and offset, and what is known of its content.
#[derive(Clone, Copy)]
pub struct PageRef(u64);

impl PartialEq for PageRef {
    fn eq(&self, other: &Self) -> bool {
        self.place().0 == other.place().0
    }
}

impl Eq for PageRef {}

impl Hash for PageRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.place().0.hash(state);
    }
}

impl PartialOrd for PageRef {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PageRef {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().0.cmp(&other.place().0)
    }
}

impl PageRef {
    /// Largest unit number a reference can hold.
    pub const UNIT_MAX: u64 = (1 << UNIT_BITS) - 1;

    /// The page of `class` that starts at unit `unit` (offset in units of 4 KiB).
    ///
    /// # Panics
    /// If `unit` needs more than 40 bits: such an offset cannot come from a checked file.
    #[must_use]
    pub const fn new(class: SizeClass, unit: u64) -> PageRef {
        assert!(
            unit <= PageRef::UNIT_MAX,
            "PC-1: a page starts within 2^40 units"
        );
        PageRef((class.0 as u64) << 60 | unit)
    }

    /// Reads a reference stored on disk; `None` if the class is unknown.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Option<PageRef> {
        let class = (raw >> 60) as u8;
        if class <= SizeClass::STORED_MAX.0 {
            Some(PageRef(raw))
        } else {
            None
        }
    }

    /// The 64 bits stored on disk.
    #[must_use]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// The place alone: a reference that knows nothing of the content.
    #[must_use]
    pub const fn place(self) -> PageRef {
        PageRef(self.0 & !(SEAL_MASK << UNIT_BITS))
    }

    /// The same place, whose page has the checksum `checksum`.
    #[must_use]
    pub const fn sealed(self, checksum: u64) -> PageRef {
        PageRef(self.place().0 | PageRef::seal_of(checksum) << UNIT_BITS)
    }

    /// What is known of the content; `None` for nothing.
    #[must_use]
    pub const fn seal(self) -> Option<u32> {
        match (self.0 >> UNIT_BITS) & SEAL_MASK {
            0 => None,
            seal => Some(seal as u32),
        }
    }

    /// The seal of a page with the checksum `checksum`, never 0.
    pub(crate) const fn seal_of(checksum: u64) -> u64 {
        match checksum & SEAL_MASK {
            0 => 1,
            seal => seal,
        }
    }

    /// Size class of the page.
    #[must_use]
    pub const fn class(self) -> SizeClass {
        SizeClass((self.0 >> 60) as u8)
    }

    /// Offset in units of 4 KiB.
    #[must_use]
    pub const fn unit(self) -> u64 {
        self.0 & PageRef::UNIT_MAX
    }

    /// Offset in bytes from the start of the file.
    #[must_use]
    pub const fn offset_bytes(self) -> u64 {
        self.unit() << UNIT_SHIFT
    }

    /// Length of the page in bytes, header included.
    #[must_use]
    pub const fn len_bytes(self) -> usize {
        self.class().bytes()
    }

    /// First unit behind the page.
    #[must_use]
    pub const fn end_unit(self) -> u64 {
        self.unit() + self.class().units()
    }
}

impl fmt::Debug for PageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageRef({self})")
    }
}

impl fmt::Display for PageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} page at byte {}", self.class(), self.offset_bytes())
    }
}

/// Number of a file within one page cache, as the cache gave it out: below 512, which look-ups rely
/// on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FileId(pub(crate) u16);

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: what a reference is made of comes out again, and foreign bits are refused.
    #[test]
    fn a_reference_keeps_class_and_unit() {
        for class in SizeClass::all() {
            let reference = PageRef::new(class, 0xff_1234_5678);
            assert_eq!(reference.class(), class);
            assert_eq!(reference.unit(), 0xff_1234_5678);
            assert_eq!(reference.offset_bytes(), 0xff_1234_5678 * 4096);
            let stored = (class <= SizeClass::STORED_MAX).then_some(reference);
            assert_eq!(PageRef::from_raw(reference.raw()), stored);
        }
        assert_eq!(
            PageRef::from_raw(11 << 60),
            None,
            "no data file has class 11"
        );
    }

    /// Goal: a seal is kept beside class and unit, never reads as none, and does not make another
    /// page of it.
    #[test]
    fn a_seal_says_nothing_of_the_place() {
        let place = PageRef::new(SizeClass::KIB_16, 0xff_1234_5678);
        assert_eq!(place.seal(), None);
        for (checksum, seal) in [
            (0, 1),
            (1 << 20, 1),
            (0x1234_5678, 0x4_5678),
            (u64::MAX, 0xf_ffff),
        ] {
            let sealed = place.sealed(checksum);
            assert_eq!(sealed.seal(), Some(seal));
            assert_eq!(
                (sealed.class(), sealed.unit()),
                (place.class(), place.unit())
            );
            assert_eq!(
                PageRef::from_raw(sealed.raw()).and_then(PageRef::seal),
                Some(seal)
            );
            assert_eq!(sealed, place);
            assert_eq!(sealed.place().raw(), place.raw());
        }
        let behind = PageRef::new(SizeClass::KIB_16, 0xff_1234_5679);
        assert!(
            place.sealed(u64::MAX) < behind.sealed(1),
            "pages are in order of their places"
        );
    }

    /// Goal: the smallest class that fits is found at its edges.
    #[test]
    fn classes_by_size() {
        assert_eq!(SizeClass::for_page_bytes(0), Some(SizeClass::MIN));
        assert_eq!(
            SizeClass::for_page_bytes(4097).map(SizeClass::bytes),
            Some(8192)
        );
        assert_eq!(
            SizeClass::for_payload_bytes(65536 - 64),
            Some(SizeClass::KIB_64)
        );
        assert_eq!(SizeClass::for_page_bytes((128 << 20) + 1), None);
        assert_eq!(SizeClass::for_payload_bytes(4 << 20), None);
        assert_eq!(SizeClass::STORED_MAX.to_string(), "4 MiB");
        assert_eq!(SizeClass::MAX.to_string(), "128 MiB");
    }
}
