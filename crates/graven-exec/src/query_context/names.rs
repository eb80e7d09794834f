//! Names of labels, types and keys, and their ids.
//!
//! # How it works
//! A statement that writes interns names. They are not in its snapshot then: the writer knows them.

use std::sync::Arc;

use graven_storage::{Catalog, KeyId, LabelId, TypeId};

use super::QueryContext;
use crate::error::Result;

impl QueryContext {
    pub(crate) fn label_id(&self, name: &str) -> Option<LabelId> {
        let known = self.snapshot.label(name);
        known.or_else(|| self.writer.as_ref()?.known_label(name))
    }

    pub(crate) fn type_id(&self, name: &str) -> Option<TypeId> {
        let known = self.snapshot.rel_type(name);
        known.or_else(|| self.writer.as_ref()?.known_type(name))
    }

    pub(crate) fn key_id(&self, name: &str) -> Option<KeyId> {
        let known = self.snapshot.key(name);
        known.or_else(|| self.writer.as_ref()?.known_key(name))
    }

    /// The id of a label that the statement writes. A plan that is only shown interns no names: any
    /// number stands for one that is not known.
    pub(crate) fn written_label(&self, name: &str) -> Result<LabelId> {
        Ok(match &self.writer {
            Some(writer) => writer.transaction().label(name)?,
            None => self.label_id(name).unwrap_or(LabelId(u32::MAX)),
        })
    }

    /// As [`QueryContext::written_label`] for a relationship type.
    pub(crate) fn written_type(&self, name: &str) -> Result<TypeId> {
        Ok(match &self.writer {
            Some(writer) => writer.transaction().rel_type(name)?,
            None => self.type_id(name).unwrap_or(TypeId(u32::MAX)),
        })
    }

    /// As [`QueryContext::written_label`] for a property key.
    pub(crate) fn written_key(&self, name: &str) -> Result<KeyId> {
        Ok(match &self.writer {
            Some(writer) => writer.transaction().key(name)?,
            None => self.key_id(name).unwrap_or(KeyId(u32::MAX)),
        })
    }

    /// The id of a key the compiler may not have known: a writing statement may have interned it
    /// since.
    pub(crate) fn key_by_now(&self, compiled: Option<KeyId>, name: &str) -> Option<KeyId> {
        compiled.or_else(|| self.writer.as_ref()?.known_key(name))
    }

    /// A name of the catalogue, which may have come to be after the snapshot was taken.
    pub(super) fn name(&self, find: impl Fn(&Catalog) -> Option<Arc<str>>) -> Arc<str> {
        if let Some(name) = find(self.snapshot.catalog()) {
            return name;
        }
        let fresh = self.writer.as_ref().map(|w| w.transaction().snapshot());
        let name = fresh.and_then(|snapshot| find(snapshot.catalog()));
        name.unwrap_or_default()
    }

    pub(super) fn key_name(&self, key: KeyId) -> Arc<str> {
        self.name(|catalog| catalog.key_name(key).cloned())
    }

    pub(crate) fn type_name(&self, id: TypeId) -> Arc<str> {
        self.name(|catalog| catalog.type_name(id).cloned())
    }
}
