//! Indexes, constraints, users, sequences, macros and notes of a version.

use std::sync::Arc;

use crate::catalog::{Catalog, IndexDescription};
use crate::ids::TypeId;
use crate::macros::MacroDescription;
use crate::notes::Note;
use crate::schema::{ConstraintDescription, ConstraintKind, RelationshipEnds, SchemaEntity};
use crate::sequences::SequenceDescription;
use crate::users::UserDescription;

/// Part of the memory limit that a schema may take, and what it always may: a checkpoint holds the
/// catalogue before and the new one, each as bytes and as entries.
const SCHEMA_SHARE: u64 = 16;
const SCHEMA_LEAST: u64 = 64 << 10;

/// Bytes that a schema may take in this memory.
pub(crate) fn schema_bytes_max(limit: u64) -> u64 {
    (limit / SCHEMA_SHARE).max(SCHEMA_LEAST)
}

/// Indexes and constraints without what the file says of them, users, sequences, macros and
/// notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Schema {
    pub(crate) indexes: Vec<IndexDescription>,
    pub(crate) constraints: Vec<ConstraintDescription>,
    pub(crate) next_index: u32,
    pub(crate) users: Vec<UserDescription>,
    pub(crate) sequences: Vec<SequenceDescription>,
    pub(crate) macros: Vec<MacroDescription>,
    pub(crate) notes: Vec<Note>,
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
            notes: catalog.notes.clone(),
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

    /// Bytes of memory, about: of the texts, and of what is kept with each entry.
    pub(crate) fn memory_bytes(&self) -> u64 {
        /// Of an entry, with its place in lists and what a plan keeps of it.
        const ENTRY_BYTES: usize = 200;
        let entries = self.indexes.len() + self.constraints.len() + self.users.len();
        let entries = entries + self.sequences.len() + self.macros.len() + self.notes.len();
        let constraint = |it: &ConstraintDescription| {
            it.name.len()
                + size_of_val(&it.keys[..])
                + match &it.kind {
                    ConstraintKind::Typed { of, default } => {
                        of.text().len() + default.as_ref().map_or(0, |text| text.len())
                    }
                    ConstraintKind::Ends(ends) => size_of_val(&ends.pairs[..]),
                    _ => 0,
                }
        };
        let of_macro = |it: &MacroDescription| {
            let parameters = it.parameters.iter().map(|(name, default)| {
                let default = default.as_ref().map_or(0, |text| text.len());
                ENTRY_BYTES + name.len() + default
            });
            it.name.len() + it.body.len() + parameters.sum::<usize>()
        };
        let user = |it: &UserDescription| {
            it.name.len() + it.password.len() + it.home.as_ref().map_or(0, |home| home.len())
        };
        let indexes = self.indexes.iter();
        let texts = indexes.map(|it| it.name.len() + size_of_val(&it.keys[..]));
        let texts = texts.chain(self.constraints.iter().map(constraint));
        let texts = texts.chain(self.users.iter().map(user));
        let texts = texts.chain(self.sequences.iter().map(|it| it.name.len()));
        let texts = texts.chain(self.macros.iter().map(of_macro));
        let notes = self.notes.iter();
        let texts = texts.chain(notes.map(|it| it.name.len() + it.text.len()));
        (entries * ENTRY_BYTES + texts.sum::<usize>()) as u64
    }

    /// Whether both have the same indexes, constraints, users, sequences, macros and notes,
    /// whatever the file says of the indexes.
    pub(crate) fn is_as(&self, other: &Schema) -> bool {
        let indexes = |schema: &Schema| -> Vec<(u32, Arc<str>)> {
            let named = schema.indexes.iter();
            named.map(|it| (it.number, it.name.clone())).collect()
        };
        self.next_index == other.next_index
            && self.constraints == other.constraints
            && self.users == other.users
            && self.sequences == other.sequences
            && self.macros == other.macros
            && self.notes == other.notes
            && indexes(self) == indexes(other)
    }
}
