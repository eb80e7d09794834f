//! A frozen generation as a checkpoint reads it.

use super::merged_delta::MergedDelta;
use crate::catalog::Catalog;
use crate::checkpoint::changes::{
    AdjacencyChange, Changes, EntryChange, IndexChange, NodeChange, RelationshipChange, Stream,
};
use crate::delta::change::{Change, ColumnOf, NodeChange as InLayer};
use crate::delta::frozen_layer::FrozenLayer;
use crate::ids::{Direction, KeyId, NodeId, RelId, TypeId};
use crate::superblock::LogPosition;
use graven_types::PropertyValue;
use std::collections::BTreeSet;
use std::sync::Arc;

/// All that was committed up to a moment and is not in the base.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub(crate) frozen: Arc<FrozenLayer>,
    pub(crate) catalog: Catalog,
    pub(crate) log: LogPosition,
}

impl Frozen {
    fn net(&self) -> MergedDelta<'_> {
        self.frozen.net()
    }
}

impl Changes for Frozen {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn nodes(&self) -> Stream<'_, (NodeId, NodeChange)> {
        Box::new(self.net().nodes().map(|entry| {
            let (id, change) = entry?;
            let change = match change {
                InLayer::Created(labels) => NodeChange::Created(labels.to_vec()),
                InLayer::Labels(labels) => NodeChange::Labels(labels.to_vec()),
                InLayer::Deleted => NodeChange::Deleted,
            };
            Ok((NodeId(id), change))
        }))
    }

    fn node_keys(&self) -> Vec<KeyId> {
        let columns = self.net().column_keys();
        let keys = columns.into_iter().filter_map(|of| match of {
            ColumnOf::Node(key) => Some(key),
            ColumnOf::Relationship(..) => None,
        });
        keys.collect()
    }

    fn node_property(&self, key: KeyId) -> Stream<'_, (u64, PropertyValue)> {
        self.net().values(ColumnOf::Node(key))
    }

    fn relationship_types(&self) -> Vec<TypeId> {
        let lists = self.net().adjacency_keys().into_iter();
        let types: BTreeSet<TypeId> = lists.map(|(rel_type, _)| rel_type).collect();
        types.into_iter().collect()
    }

    fn relationships(&self) -> Stream<'_, (TypeId, RelationshipChange)> {
        Box::new(self.net().relationships().map(|entry| {
            let (id, it) = entry?;
            let change = RelationshipChange {
                id: RelId(id),
                start: it.start,
                end: it.end,
                change: match it.change {
                    Change::Added => EntryChange::Added,
                    Change::Removed => EntryChange::Removed,
                },
            };
            Ok((it.rel_type, change))
        }))
    }

    fn relationship_keys(&self) -> Vec<(TypeId, KeyId)> {
        let columns = self.net().column_keys();
        let keys = columns.into_iter().filter_map(|of| match of {
            ColumnOf::Node(_) => None,
            ColumnOf::Relationship(rel_type, key) => Some((rel_type, key)),
        });
        keys.collect()
    }

    fn relationship_property(
        &self,
        rel_type: TypeId,
        key: KeyId,
    ) -> Stream<'_, (u64, PropertyValue)> {
        self.net().values(ColumnOf::Relationship(rel_type, key))
    }

    fn adjacency(&self, rel_type: TypeId, direction: Direction) -> Stream<'_, AdjacencyChange> {
        Box::new(self.net().edges(rel_type, direction).map(|entry| {
            let ((node, neighbour, id), change) = entry?;
            Ok(AdjacencyChange {
                node: NodeId(node),
                neighbour: NodeId(neighbour),
                relationship: RelId(id),
                added: change == Change::Added,
            })
        }))
    }

    fn index_numbers(&self) -> Vec<u32> {
        self.net().index_numbers().into_iter().collect()
    }

    fn index(&self, number: u32) -> Stream<'_, IndexChange> {
        Box::new(self.net().index(number).map(|entry| {
            let ((key, id), change) = entry?;
            Ok(IndexChange {
                key: key.to_vec(),
                id,
                added: change == Change::Added,
            })
        }))
    }

    fn log(&self) -> LogPosition {
        self.log
    }
}
