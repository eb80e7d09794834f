//! Indexes, constraints, users, sequences and macros of a version.

use std::sync::Arc;

use crate::catalog::{Catalog, IndexDescription};
use crate::ids::TypeId;
use crate::macros::MacroDescription;
use crate::schema::{ConstraintDescription, ConstraintKind, RelationshipEnds, SchemaEntity};
use crate::sequences::SequenceDescription;
use crate::users::UserDescription;

/// Indexes and constraints without what the file says of them, users, sequences and macros.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Schema {
    pub(crate) indexes: Vec<IndexDescription>,
    pub(crate) constraints: Vec<ConstraintDescription>,
    pub(crate) next_index: u32,
    pub(crate) users: Vec<UserDescription>,
    pub(crate) sequences: Vec<SequenceDescription>,
    pub(crate) macros: Vec<MacroDescription>,
}

impl Schema {
    pub(crate) fn of(catalog: &Catalog) -> Schema {
        Schema {
            indexes: catalog.indexes.clone(),
            constraints: catalog.constraints.clone(),
            next_index: catalog.next_index,
            users: catalog.users.clone(),
            sequences: catalog.sequences.clone(),
            macros: catalog.macros.clone(),
        }
    }

    /// Which nodes relationships of the type join, where a constraint says it.
    pub(crate) fn ends(&self, rel_type: TypeId) -> Option<&RelationshipEnds> {
        let of = SchemaEntity::Relationship(rel_type);
        self.constraints.iter().find_map(|it| match &it.kind {
            ConstraintKind::Ends(ends) if it.entity == of => Some(ends),
            _ => None,
        })
    }

    /// Whether a constraint says which nodes relationships join.
    pub(crate) fn has_ends(&self) -> bool {
        let mut all = self.constraints.iter();
        all.any(|it| matches!(it.kind, ConstraintKind::Ends(_)))
    }

    /// Whether a constraint says how many relationships a node has.
    pub(crate) fn limits_ends(&self) -> bool {
        self.constraints.iter().any(|it| match &it.kind {
            ConstraintKind::Ends(ends) => ends.one_out || ends.one_in,
            _ => false,
        })
    }

    /// Whether both have the same indexes, constraints, users, sequences and macros, whatever the
    /// file says of the indexes.
    pub(super) fn is_as(&self, other: &Schema) -> bool {
        let indexes = |schema: &Schema| -> Vec<(u32, Arc<str>)> {
            let named = schema.indexes.iter();
            named.map(|it| (it.number, it.name.clone())).collect()
        };
        self.next_index == other.next_index
            && self.constraints == other.constraints
            && self.users == other.users
            && self.sequences == other.sequences
            && self.macros == other.macros
            && indexes(self) == indexes(other)
    }
}
