//! A frozen generation as a checkpoint reads it.

use super::layer::{Change, ColumnOf, Layer, NodeChange as InLayer};
use crate::catalog::Catalog;
use crate::checkpoint::changes::{
    AdjacencyChange, Changes, EntryChange, IndexChange, NodeChange, RelationshipChange, Stream,
};
use crate::ids::{Direction, KeyId, NodeId, RelId, TypeId};
use crate::superblock::LogPosition;
use crate::value::PropertyValue;
use crate::version::FrozenLayer;
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
    fn layer(&self) -> &Layer {
        &self.frozen.layer
    }

    fn values(&self, of: ColumnOf) -> Stream<'_, (u64, PropertyValue)> {
        let values = self.layer().column(of).into_iter().flatten();
        Box::new(values.map(|(id, value)| Ok((*id, value.clone()))))
    }
}

impl Changes for Frozen {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn nodes(&self) -> Stream<'_, (NodeId, NodeChange)> {
        Box::new(self.layer().nodes.iter().map(|(id, change)| {
            let change = match change {
                InLayer::Created(labels) => NodeChange::Created(labels.to_vec()),
                InLayer::Labels(labels) => NodeChange::Labels(labels.to_vec()),
                InLayer::Deleted => NodeChange::Deleted,
            };
            Ok((NodeId(*id), change))
        }))
    }

    fn node_keys(&self) -> Vec<KeyId> {
        let keys = self.layer().columns.keys().filter_map(|of| match of {
            ColumnOf::Node(key) => Some(*key),
            ColumnOf::Relationship(..) => None,
        });
        keys.collect()
    }

    fn node_property(&self, key: KeyId) -> Stream<'_, (u64, PropertyValue)> {
        self.values(ColumnOf::Node(key))
    }

    fn relationship_types(&self) -> Vec<TypeId> {
        let types: BTreeSet<TypeId> = self
            .layer()
            .adjacency
            .iter()
            .filter(|(_, edges)| !edges.is_empty())
            .map(|((rel_type, _), _)| *rel_type)
            .collect();
        types.into_iter().collect()
    }

    fn relationships(&self, rel_type: TypeId) -> Stream<'_, RelationshipChange> {
        let all = self.layer().relationships.iter();
        let of_type = all.filter(move |(_, it)| it.rel_type == rel_type);
        Box::new(of_type.map(|(id, it)| {
            Ok(RelationshipChange {
                id: RelId(*id),
                start: it.start,
                end: it.end,
                change: match it.change {
                    Change::Added => EntryChange::Added,
                    Change::Removed => EntryChange::Removed,
                },
            })
        }))
    }

    fn relationship_keys(&self) -> Vec<(TypeId, KeyId)> {
        let keys = self.layer().columns.keys().filter_map(|of| match of {
            ColumnOf::Node(_) => None,
            ColumnOf::Relationship(rel_type, key) => Some((*rel_type, *key)),
        });
        keys.collect()
    }

    fn relationship_property(
        &self,
        rel_type: TypeId,
        key: KeyId,
    ) -> Stream<'_, (u64, PropertyValue)> {
        self.values(ColumnOf::Relationship(rel_type, key))
    }

    fn adjacency(&self, rel_type: TypeId, direction: Direction) -> Stream<'_, AdjacencyChange> {
        let edges = self.layer().edges(rel_type, direction);
        Box::new(
            edges
                .into_iter()
                .flatten()
                .map(|((node, neighbour, id), change)| {
                    Ok(AdjacencyChange {
                        node: NodeId(*node),
                        neighbour: NodeId(*neighbour),
                        relationship: RelId(*id),
                        added: *change == Change::Added,
                    })
                }),
        )
    }

    fn index_numbers(&self) -> Vec<u32> {
        self.layer().indexes.keys().copied().collect()
    }

    fn index(&self, number: u32) -> Stream<'_, IndexChange> {
        let entries = self.layer().indexes.get(&number).into_iter().flatten();
        Box::new(entries.map(|((key, id), change)| {
            Ok(IndexChange {
                key: key.to_vec(),
                id: *id,
                added: *change == Change::Added,
            })
        }))
    }

    fn log(&self) -> LogPosition {
        self.log
    }
}
