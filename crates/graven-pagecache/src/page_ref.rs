//! Names of pages: size class, page reference, file number.
//!
//! # How it works
//! A page lives at an offset of a file that is a multiple of 4 KiB and is `4 KiB << class` long. Whoever
//! points at a page knows both, so a [`PageRef`] carries both in 64 bits: class in the top four, then 20
//! reserved bits that are zero, then the offset in units of 4 KiB.
//!
//! # On disk
//! | bits | field |
//! | --- | --- |
//! | 60..=63 | size class, 0..=10 |
//! | 40..=59 | reserved, zero |
//! | 0..=39 | offset in the file in units of 4 KiB |

use std::fmt;

/// Bytes of the smallest page and the unit of page offsets.
pub const UNIT_BYTES: usize = 4096;
/// Binary logarithm of [`UNIT_BYTES`].
pub(crate) const UNIT_SHIFT: u32 = 12;
/// Bits of the unit number in a page reference.
pub(crate) const UNIT_BITS: u32 = 40;

const _: () = assert!(UNIT_BYTES == 1 << UNIT_SHIFT);

/// Size of a page or frame as a power of two: `4 KiB << class`, class 0..=10.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct SizeClass(u8);

impl SizeClass {
    /// 4 KiB.
    pub const MIN: SizeClass = SizeClass(0);
    /// 4 MiB.
    pub const MAX: SizeClass = SizeClass(10);
    /// 16 KiB.
    pub const KIB_16: SizeClass = SizeClass(2);
    /// 64 KiB.
    pub const KIB_64: SizeClass = SizeClass(4);
    /// Number of size classes.
    pub const COUNT: usize = 11;

    /// The class of pages of `4 KiB << class` bytes; `None` above 10.
    #[must_use]
    pub const fn new(class: u8) -> Option<SizeClass> {
        if class <= SizeClass::MAX.0 {
            Some(SizeClass(class))
        } else {
            None
        }
    }

    /// The smallest class whose page holds `bytes` bytes, header included; `None` above 4 MiB.
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

    /// The smallest class whose page holds `bytes` bytes behind its header; `None` above 4 MiB.
    #[must_use]
    pub const fn for_payload_bytes(bytes: usize) -> Option<SizeClass> {
        match bytes.checked_add(crate::page::HEADER_BYTES) {
            Some(bytes) => SizeClass::for_page_bytes(bytes),
            None => None,
        }
    }

    /// The class as a number, 0..=10.
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
        self.bytes() - crate::page::HEADER_BYTES
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

/// Name of a page within one file: size class and offset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageRef(u64);

impl PageRef {
    /// Largest unit number a reference can hold.
    pub const MAX_UNIT: u64 = (1 << UNIT_BITS) - 1;

    /// The page of `class` that starts at unit `unit` (offset in units of 4 KiB).
    ///
    /// # Panics
    /// If `unit` needs more than 40 bits: such an offset cannot come from a checked file.
    #[must_use]
    pub const fn new(class: SizeClass, unit: u64) -> PageRef {
        assert!(
            unit <= PageRef::MAX_UNIT,
            "PC-1: a page starts within 2^40 units"
        );
        PageRef((class.0 as u64) << 60 | unit)
    }

    /// Reads a reference stored on disk; `None` if the class is unknown or a reserved bit is set.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Option<PageRef> {
        let class = (raw >> 60) as u8;
        let reserved = (raw >> UNIT_BITS) & ((1 << 20) - 1);
        if class <= SizeClass::MAX.0 && reserved == 0 {
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

    /// Size class of the page.
    #[must_use]
    pub const fn class(self) -> SizeClass {
        SizeClass((self.0 >> 60) as u8)
    }

    /// Offset in units of 4 KiB.
    #[must_use]
    pub const fn unit(self) -> u64 {
        self.0 & PageRef::MAX_UNIT
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

/// Number of a file within one page cache, as the cache gave it out: below 512, which look-ups rely on.
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
            assert_eq!(PageRef::from_raw(reference.raw()), Some(reference));
        }
        assert_eq!(PageRef::from_raw(11 << 60), None, "class 11 does not exist");
        assert_eq!(PageRef::from_raw(1 << 40), None, "reserved bit");
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
        assert_eq!(SizeClass::for_page_bytes((4 << 20) + 1), None);
        assert_eq!(SizeClass::MAX.to_string(), "4 MiB");
    }
}
