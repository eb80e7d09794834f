//! No changes: for a checkpoint that only moves pages.

use super::changes::{
    AdjacencyChange, Changes, IndexChange, NodeChange, RelationshipChange, Stream,
};
use crate::catalog::Catalog;
use crate::data_file::FileRoot;
use crate::ids::{Direction, KeyId, NodeId, TypeId};
use crate::superblock::LogPosition;
use graven_types::PropertyValue;

/// The changes from a root to itself.
pub(super) struct NoChanges<'a> {
    root: &'a FileRoot,
}

impl<'a> NoChanges<'a> {
    pub(super) fn new(root: &'a FileRoot) -> NoChanges<'a> {
        NoChanges { root }
    }
}

fn none<'a, T: Send + 'a>() -> Stream<'a, T> {
    Box::new(std::iter::empty())
}

impl Changes for NoChanges<'_> {
    fn catalog(&self) -> &Catalog {
        &self.root.catalog
    }

    fn nodes(&self) -> Stream<'_, (NodeId, NodeChange)> {
        none()
    }

    fn node_keys(&self) -> Vec<KeyId> {
        Vec::new()
    }

    fn node_property(&self, _key: KeyId) -> Stream<'_, (u64, PropertyValue)> {
        none()
    }

    fn relationship_types(&self) -> Vec<TypeId> {
        Vec::new()
    }

    fn relationships(&self) -> Stream<'_, (TypeId, RelationshipChange)> {
        none()
    }

    fn relationship_keys(&self) -> Vec<(TypeId, KeyId)> {
        Vec::new()
    }

    fn relationship_property(
        &self,
        _rel_type: TypeId,
        _key: KeyId,
    ) -> Stream<'_, (u64, PropertyValue)> {
        none()
    }

    fn adjacency(&self, _rel_type: TypeId, _direction: Direction) -> Stream<'_, AdjacencyChange> {
        none()
    }

    fn index_numbers(&self) -> Vec<u32> {
        Vec::new()
    }

    fn index(&self, _number: u32) -> Stream<'_, IndexChange> {
        none()
    }

    fn log(&self) -> LogPosition {
        self.root.found.superblock.log
    }
}
