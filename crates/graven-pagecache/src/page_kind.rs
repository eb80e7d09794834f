//! Kinds of pages: the unit in which hits, faults and evictions are counted.
//!
//! # On disk
//! One byte in the page header; 0 is no kind, so a page of zeros is never valid.

use std::fmt;

macro_rules! page_kinds {
    ($($(#[$doc:meta])* $kind:ident = $value:literal, $name:literal;)*) => {
        /// What a page holds.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum PageKind { $($(#[$doc])* $kind = $value,)* }

        impl PageKind {
            /// All kinds in the order of their numbers.
            pub const ALL: &'static [PageKind] = &[$(PageKind::$kind,)*];

            /// The kind stored as `value`; `None` if there is none.
            #[must_use]
            pub const fn from_u8(value: u8) -> Option<PageKind> {
                match value { $($value => Some(PageKind::$kind),)* _ => None }
            }

            /// Name for people, lower case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(PageKind::$kind => $name,)* }
            }

            /// How pinned pages of this kind are called among the holders of memory.
            pub(crate) const fn pinned_tag(self) -> &'static str {
                match self { $(PageKind::$kind => concat!("pinned ", $name),)* }
            }
        }
    };
}

page_kinds! {
    /// Start of recovery: where everything else is found.
    Superblock = 1, "superblock";
    /// Names and ids of labels, types, keys, indexes; statistics.
    Catalogue = 2, "catalogue";
    /// Finds segments by store and first id.
    SegmentDirectory = 3, "segment directory";
    /// Values of one property of consecutive nodes.
    NodeColumn = 4, "node column";
    /// Neighbour lists of a range of nodes.
    Adjacency = 5, "adjacency";
    /// Values of one property of consecutive relationships.
    RelationshipColumn = 6, "relationship column";
    /// Inner page of a B+tree.
    IndexInner = 7, "index inner";
    /// Leaf of a B+tree.
    IndexLeaf = 8, "index leaf";
    /// Part of a long list or value.
    Overflow = 9, "overflow";
    /// Lists of free extents.
    FreeSpace = 10, "free space";
    /// Lives until close: spilled rows, deltas.
    Temporary = 11, "temporary";
    /// Full-text index (reserved).
    FullText = 12, "full-text";
    /// Vector index (reserved).
    Vector = 13, "vector";
}

impl PageKind {
    /// Slots an array indexed by kind needs (kind numbers start at 1).
    pub const SLOTS: usize = PageKind::ALL.len() + 1;

    /// Index into an array of [`PageKind::SLOTS`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for PageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: numbers on disk and kinds agree, and zero is no kind.
    #[test]
    fn numbers_are_dense_from_one() {
        for (index, kind) in PageKind::ALL.iter().enumerate() {
            assert_eq!(kind.index(), index + 1);
            assert_eq!(PageKind::from_u8(*kind as u8), Some(*kind));
        }
        assert_eq!(PageKind::from_u8(0), None);
        assert_eq!(PageKind::from_u8(PageKind::SLOTS as u8), None);
    }
}
