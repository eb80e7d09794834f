//! Keeping indexes right: the entries that a change takes away and adds, and uniqueness.

use super::Transaction;
use crate::catalog::IndexDescription;
use crate::delta::change::Change;
use crate::delta::delta_layer::DeltaLayer;
use crate::ids::KeyId;
use crate::index::{cut, keys_bytes};
use crate::long_bytes::held;
use crate::schema::SchemaEntity;
use crate::{Error, Result, Snapshot};
use graven_types::PropertyValue;
use std::sync::Arc;

/// Entries to take away and add, applied together with the change that causes them.
#[derive(Debug, Default)]
pub(super) struct Edits {
    entries: Vec<(u32, Arc<[u8]>, u64, Change)>,
}

impl Edits {
    pub(super) fn apply(self, layer: &mut DeltaLayer) {
        for (number, key, id, change) in self.entries {
            layer.put_index_entry(number, &key, id, change);
        }
    }
}

/// The whole key of an entity in `index`; `None` if it lacks a property. `changed` is taken as
/// done.
pub(crate) fn key_in(
    view: &Snapshot,
    index: &IndexDescription,
    id: u64,
    changed: Option<(KeyId, &PropertyValue)>,
) -> Result<Option<Vec<u8>>> {
    let mut values = Vec::with_capacity(index.keys.len());
    for key in &index.keys {
        values.push(match changed {
            Some((known, value)) if known == *key => value.clone(),
            _ => match view.column_of(index.entity, *key) {
                None => return Ok(None),
                Some(column) => column.get(id)?,
            },
        });
    }
    let bytes: u64 = values.iter().map(PropertyValue::heap_bytes).sum();
    // The values, and their key.
    let _held = held(view.cache().budget(), 2 * bytes as usize);
    Ok(keys_bytes(&values))
}

impl Transaction {
    /// The key of an entity that is yet to be, from its properties.
    pub(super) fn key_of_values(
        index: &IndexDescription,
        value: impl Fn(KeyId) -> Option<PropertyValue>,
    ) -> Option<Vec<u8>> {
        let values: Option<Vec<PropertyValue>> = index.keys.iter().map(|key| value(*key)).collect();
        keys_bytes(&values?)
    }

    pub(super) fn key_now(
        &self,
        index: &IndexDescription,
        id: u64,
        changed: Option<(KeyId, &PropertyValue)>,
    ) -> Result<Option<Vec<u8>>> {
        key_in(&self.view, index, id, changed)
    }

    /// Replaces the entry of `id`, both keys whole.
    pub(super) fn edit(
        &self,
        edits: &mut Edits,
        index: &IndexDescription,
        id: u64,
        before: Option<Vec<u8>>,
        after: Option<Vec<u8>>,
    ) -> Result<()> {
        if before == after {
            return Ok(());
        }
        if index.unique
            && let Some(key) = &after
        {
            self.check_unique(index, key, id)?;
        }
        let entries = [(before, Change::Removed), (after, Change::Added)];
        for (key, change) in entries {
            if let Some(key) = key {
                let key: Arc<[u8]> = cut(&key).into();
                edits.entries.push((index.number, key, id, change));
            }
        }
        Ok(())
    }

    fn check_unique(&self, index: &IndexDescription, key: &[u8], id: u64) -> Result<()> {
        let found = match self.view.index_on(index.entity, &index.keys) {
            None => Vec::new(),
            Some(index) => index.seek_key(key.to_vec())?,
        };
        match found.into_iter().find(|holder| *holder != id) {
            None => Ok(()),
            Some(holder) => Err(duplicate(&self.snapshot(), index, holder)?),
        }
    }
}

/// The error for a value that `holder` has.
pub(super) fn duplicate(view: &Snapshot, index: &IndexDescription, holder: u64) -> Result<Error> {
    let mut values = Vec::new();
    for key in &index.keys {
        if let Some(column) = view.column_of(index.entity, *key) {
            values.push(column.get(holder)?);
        }
    }
    let catalog = view.catalog();
    let keys = index.keys.iter();
    let keys: Vec<&str> = keys
        .map(|key| catalog.key_name(*key).map_or("?", |name| name))
        .collect();
    Ok(Error::Duplicate {
        constraint: index.name.to_string(),
        entity: catalog.entity_name(index.entity).to_owned(),
        keys: keys.join(", "),
        values,
        holder: holder_name(index.entity, holder),
    })
}

pub(super) fn holder_name(entity: SchemaEntity, id: u64) -> String {
    match entity {
        SchemaEntity::Node(_) => format!("node {id}"),
        SchemaEntity::Relationship(_) => format!("relationship {id}"),
    }
}
