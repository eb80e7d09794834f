//! The properties of a snapshot: their columns, and which of them a node or relationship has.

use super::Snapshot;
use crate::Result;
use crate::catalog::StoreKind;
use crate::column::Column;
use crate::delta::change::ColumnOf;
use crate::delta::filter_key::FilterKey;
use crate::delta::overlay::{ColumnOverlay, Top};
use crate::ids::{KeyId, NodeId, RelId, TypeId};
use crate::schema::SchemaEntity;
use std::collections::BTreeSet;

impl Snapshot {
    /// One property of nodes; `None` if no node has it.
    #[must_use]
    pub fn node_column(&self, key: KeyId) -> Option<Column> {
        self.column(ColumnOf::Node(key))
    }

    /// One property of the relationships of one type; `None` if none has it.
    #[must_use]
    pub fn relationship_column(&self, rel_type: TypeId, key: KeyId) -> Option<Column> {
        self.column(ColumnOf::Relationship(rel_type, key))
    }

    pub(crate) fn column(&self, of: ColumnOf) -> Option<Column> {
        let about = FilterKey::Column(of);
        if !Top::is_any(self.stack(), about) {
            return self.settled_column(of);
        }
        let top = || Top::of(self.stack(), about);
        let make = || Some(Column::with_top(self.settled_column(of), of, top()));
        match (of, &self.write_set) {
            (ColumnOf::Node(key), None) => {
                let count = self.version.names.keys.list().len();
                (self.version.views.node_columns).get(key.0 as usize, count, make)
            }
            _ => make(),
        }
    }

    /// One property of what an index or a constraint is about.
    pub(crate) fn column_of(&self, entity: SchemaEntity, key: KeyId) -> Option<Column> {
        self.column(entity.column(key))
    }

    /// A property with the committed changes only.
    pub(super) fn settled_column(&self, of: ColumnOf) -> Option<Column> {
        let committed_base = &self.version.committed_base;
        let make = |base| match ColumnOverlay::new(&committed_base.layers, of) {
            None => base,
            Some(overlay) => Some(Column::with_overlay(base, overlay)),
        };
        match of {
            ColumnOf::Node(key) => {
                let count = self.version.names.keys.list().len();
                let make = || make(committed_base.root.node_column(key));
                (committed_base.views.node_columns).get(key.0 as usize, count, make)
            }
            ColumnOf::Relationship(rel_type, key) => {
                let kind = StoreKind::RelationshipColumn(rel_type, key);
                make(committed_base.root.column(kind))
            }
        }
    }

    /// The keys of the properties that `node` has, ascending.
    ///
    /// # Errors
    /// What pinning gives; [`Error::Damaged`].
    pub fn node_keys(&self, node: NodeId) -> Result<Vec<KeyId>> {
        if let Some(write_set) = self.write_set() {
            // Where no node has a property, no column is asked, so the read is recorded here.
            write_set.read_node(node.0);
        }
        let keys = self.keys_of(|of| match of {
            ColumnOf::Node(key) => Some(key),
            ColumnOf::Relationship(..) => None,
        });
        self.present(node.0, keys, |key| self.node_column(key))
    }

    /// The keys of the properties that `relationship` has, ascending.
    ///
    /// # Errors
    /// [`Error::NoSuchRelationship`]; what pinning gives; [`Error::Damaged`].
    pub fn relationship_keys(&self, relationship: RelId) -> Result<Vec<KeyId>> {
        let (rel_type, _, _) = self.relationship_endpoints(relationship)?;
        let keys = self.keys_of(|of| match of {
            ColumnOf::Relationship(of, key) if of == rel_type => Some(key),
            _ => None,
        });
        self.present(relationship.0, keys, |key| {
            self.relationship_column(rel_type, key)
        })
    }

    /// Keys of the properties that some node, or some relationship of a type, may have.
    fn keys_of(&self, key_of: impl Fn(ColumnOf) -> Option<KeyId>) -> BTreeSet<KeyId> {
        let stored = self.root().catalog.stores.iter();
        let stored = stored.filter_map(|store| match store.kind {
            StoreKind::NodeColumn(key) => key_of(ColumnOf::Node(key)),
            StoreKind::RelationshipColumn(of, key) => key_of(ColumnOf::Relationship(of, key)),
            _ => None,
        });
        let mut keys: BTreeSet<KeyId> = stored.collect();
        self.stack()
            .for_each(|layer| keys.extend(layer.column_keys().into_iter().filter_map(&key_of)));
        keys
    }

    fn present(
        &self,
        id: u64,
        keys: BTreeSet<KeyId>,
        column: impl Fn(KeyId) -> Option<Column>,
    ) -> Result<Vec<KeyId>> {
        let mut present = Vec::new();
        for key in keys {
            if let Some(column) = column(key)
                && column.has(id)?
            {
                present.push(key);
            }
        }
        Ok(present)
    }
}
