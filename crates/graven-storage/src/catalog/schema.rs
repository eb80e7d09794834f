//! Indexes as the catalogue describes them.

use crate::ids::{KeyId, LabelId};
use crate::schema::{IndexKind, SchemaEntity};
use graven_pagecache::PageRef;
use std::sync::Arc;

/// An index as the catalogue describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDescription {
    /// Its number: given once, never again.
    pub number: u32,
    /// Its name, unique among indexes.
    pub name: Arc<str>,
    /// What is indexed.
    pub entity: SchemaEntity,
    /// Properties that make the key, in order. An entity without one of them is not in the index.
    pub keys: Vec<KeyId>,
    /// At most one entity per key.
    pub unique: bool,
    /// What it was made as.
    pub kind: IndexKind,
    /// Entities in the index.
    pub entries: u64,
    /// Distinct keys; an estimate after the first checkpoint.
    pub distinct: u64,
    pub(crate) root: Option<PageRef>,
    pub(crate) height: u32,
}

impl IndexDescription {
    /// A new index without entries.
    #[must_use]
    pub fn new(
        number: u32,
        name: &str,
        entity: SchemaEntity,
        keys: &[KeyId],
        unique: bool,
    ) -> Self {
        IndexDescription {
            number,
            name: Arc::from(name),
            entity,
            keys: keys.to_vec(),
            unique,
            kind: IndexKind::Range,
            entries: 0,
            distinct: 0,
            root: None,
            height: 0,
        }
    }

    /// The label of the nodes indexed, if they are nodes.
    #[must_use]
    pub fn label(&self) -> Option<LabelId> {
        match self.entity {
            SchemaEntity::Node(label) => Some(label),
            SchemaEntity::Relationship(_) => None,
        }
    }
}
