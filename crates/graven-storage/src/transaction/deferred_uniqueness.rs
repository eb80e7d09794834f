//! Uniqueness of keys that came many at once: checked when the statement ends, as SQL checks a
//! constraint.
//!
//! # How it works
//! To ask an index for each new key, and each time look through what the transaction has added to
//! it, is most of what loading a table costs. So the keys of a batch are only listed. When the
//! statement ends, they are put in order once: neighbours are compared with each other, and runs of
//! them go down the index together.
//!
//! # Invariants
//! * TX-27: no transaction commits, and no layer of it goes to temporary pages, with keys that were
//!   not compared; an index that failed is compared again by whatever comes next.
//!
//! # Costs
//! A sort of the keys that the layer has, and a look at each leaf of the index that has one of
//! them.
//!
//! # Source
//! A statement sees its constraints checked at its end: ISO/IEC 9075-2, *deferrable* constraints in
//! immediate mode, as PostgreSQL has them.

use super::index_entries::duplicate;
use super::{State, Transaction};
use crate::catalog::IndexDescription;
use crate::delta::change::Change;
use crate::delta::delta_layer::IndexMap;
use crate::ids::KeyId;
use crate::index::cut;
use crate::index::key::{KEY_BYTES_MAX, put_key};
use crate::{Error, Result};
use graven_types::PropertyValue;
use std::sync::Arc;

/// Fewer entities than this are compared one by one, as they come.
pub(super) const MANY: usize = 64;
/// Keys that are looked for together.
const TOGETHER: usize = 4096;

/// The keys that rows have in an index, cut as it holds them; none of those that lack a property.
pub(super) fn keys_of_rows(
    index: &IndexDescription,
    columns: &[(KeyId, Vec<PropertyValue>)],
    rows: usize,
) -> Vec<Option<Arc<[u8]>>> {
    let column = |key: &KeyId| columns.iter().find(|(known, _)| known == key);
    let values: Option<Vec<_>> = index.keys.iter().map(column).collect();
    let Some(values) = values else {
        return vec![None; rows];
    };
    let mut bytes = Vec::new();
    let keys = (0..rows).map(|row| {
        bytes.clear();
        let has_all = values
            .iter()
            .all(|(_, values)| put_key(&mut bytes, &values[row]));
        has_all.then(|| cut(&bytes).into())
    });
    keys.collect()
}

/// Whether there is more of a key than the index holds.
pub(super) fn is_cut(key: &[u8]) -> bool {
    key.len() >= KEY_BYTES_MAX
}

impl Transaction {
    /// Compares the keys that were created many at once. To be called at the end of every
    /// statement. Asks `proceed` before every few thousand keys, and ends with its error.
    ///
    /// # Errors
    /// [`crate::Error::Duplicate`]; that of `proceed`.
    pub fn check_unique_keys<E: From<Error>>(
        &self,
        mut proceed: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_deferred(&mut self.state.lock(), &mut proceed)
    }

    /// As [`Transaction::check_unique_keys`], where nothing interrupts it.
    pub(super) fn check_deferred_at_once(&self, state: &mut State) -> Result<()> {
        self.check_deferred(state, &mut || Ok::<(), Error>(()))
    }

    fn check_deferred<E: From<Error>>(
        &self,
        state: &mut State,
        proceed: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(number) = state.deferred.first().copied() {
            let schema = self.write_set.schema();
            let entries = self.write_set.layer().indexes.get(&number).cloned();
            let index = schema.indexes.iter().find(|index| index.number == number);
            if let (Some(index), Some(entries)) = (index, entries) {
                self.compare_keys(index, &entries, proceed)?;
            }
            state.deferred.pop_first();
        }
        Ok(())
    }

    /// Compares the keys that the layer has added to an index with each other and with all others.
    fn compare_keys<E: From<Error>>(
        &self,
        index: &IndexDescription,
        entries: &IndexMap,
        proceed: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        // Of longer ones the index does not say whether they are equal; those were compared when
        // they came.
        let added = entries
            .iter()
            .filter(|((key, _), change)| **change == Change::Added && !is_cut(key));
        let added = added.map(|((key, id), _)| (&**key, *id));
        let Some(whole) = self.view.index_on(index.entity, &index.keys) else {
            return Ok(());
        };
        let mut run: Vec<(&[u8], u64)> = Vec::with_capacity(TOGETHER);
        let mut added = added.peekable();
        while added.peek().is_some() {
            proceed()?;
            run.clear();
            run.extend(added.by_ref().take(TOGETHER));
            run.dedup_by_key(|(key, _)| *key);
            let keys: Vec<&[u8]> = run.iter().map(|(key, _)| *key).collect();
            // Each key has the one entity that was seen, or one too many.
            let found = whole.find_keys(&keys, 8)?;
            for (place, (_, id)) in run.iter().enumerate() {
                let holders = found.of(place).unwrap_or_default();
                if holders != [*id] {
                    let holder = holders.iter().find(|holder| *holder != id);
                    let holder = holder.copied().unwrap_or(*id);
                    return Err(duplicate(&self.snapshot(), index, holder)?.into());
                }
            }
        }
        Ok(())
    }
}
