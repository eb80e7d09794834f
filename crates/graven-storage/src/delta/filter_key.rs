//! What a question about changes is about: a node, a relationship, a property, lists, an index or a
//! key of one.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::change::ColumnOf;
use crate::ids::{Direction, TypeId};

/// What a question is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FilterKey<'a> {
    /// A node: that it is there, its labels, properties and lists.
    Node(u64),
    /// A relationship: its type, its ends, its properties.
    Relationship(u64),
    /// Anything of a property.
    Column(ColumnOf),
    /// Anything of a direction of a type.
    Lists(TypeId, Direction),
    /// Anything of an index.
    Index(u32),
    /// A key of an index, cut.
    Key(u32, &'a [u8]),
}

impl FilterKey<'_> {
    /// What the value of a property belongs to.
    #[inline]
    pub(crate) fn owner(of: ColumnOf, id: u64) -> FilterKey<'static> {
        match of {
            ColumnOf::Node(_) => FilterKey::Node(id),
            ColumnOf::Relationship(..) => FilterKey::Relationship(id),
        }
    }
}

/// What a question is about, hashed: so it can be asked of several filters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilterHash(pub(crate) u64);

impl From<FilterKey<'_>> for FilterHash {
    #[inline]
    fn from(about: FilterKey<'_>) -> FilterHash {
        FilterHash(FixedState::default().hash_one(about))
    }
}
