//! Identifiers of nodes, relationships and catalogue entries; directions.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A node; dense from 0, never reused while the store lives.
    NodeId(u64)
);
id!(
    /// A relationship; stable, assigned in forward-adjacency order per type, never reused.
    RelId(u64)
);
impl From<RelId> for u64 {
    #[inline]
    fn from(id: RelId) -> u64 {
        id.0
    }
}

id!(
    /// A label in the catalogue; dense from 0.
    LabelId(u32)
);
id!(
    /// A relationship type in the catalogue; dense from 0.
    TypeId(u32)
);
id!(
    /// A property key in the catalogue; dense from 0.
    KeyId(u32)
);
id!(
    /// A store (one column, one direction of adjacency of one type, one index); dense from 0.
    StoreId(u32)
);

/// Which end of its relationships an adjacency is keyed by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// Keyed by the start node: lists of end nodes.
    Out,
    /// Keyed by the end node: lists of start nodes.
    In,
}

impl Direction {
    /// The other direction.
    #[must_use]
    pub const fn reversed(self) -> Direction {
        match self {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
        }
    }
}
