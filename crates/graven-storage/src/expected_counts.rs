//! How many entries a store must have: by the catalogue and by what was committed since.
//!
//! # Costs
//! A look into the file for every changed value.

use crate::Result;
use crate::catalog::StoreKind;
use crate::delta::change::{Change, ColumnOf};
use crate::snapshot::Snapshot;

impl Snapshot {
    /// What the catalogue says of a column or an index, corrected by the changes on top of the
    /// file; `None` for other stores. Writes of a transaction of its own are left out.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    pub fn expected_entries(&self, kind: StoreKind) -> Result<Option<u64>> {
        let root = self.root();
        let stored = root.catalog.store(kind).map_or(0, |store| store.entries);
        let of = match kind {
            StoreKind::NodeColumn(key) => ColumnOf::Node(key),
            StoreKind::RelationshipColumn(rel_type, key) => ColumnOf::Relationship(rel_type, key),
            StoreKind::Index(number) => return self.expected_in_index(number).map(Some),
            _ => return Ok(None),
        };
        let base = root.column(kind);
        let mut expected = stored;
        for entry in self.net().values(of) {
            let (id, value) = entry?;
            let before = match &base {
                None => false,
                Some(column) => column.has(id)?,
            };
            let by = i64::from(!value.is_null()) - i64::from(before);
            expected = expected.saturating_add_signed(by);
        }
        Ok(Some(expected))
    }

    fn expected_in_index(&self, number: u32) -> Result<u64> {
        let stored = self.root().catalog.index_numbered(number);
        let mut expected = stored.map_or(0, |index| index.entries);
        for entry in self.net().index(number) {
            // TX-4: what comes was not there, what goes was.
            let by = match entry?.1 {
                Change::Added => 1,
                Change::Removed => -1,
            };
            expected = expected.saturating_add_signed(by);
        }
        Ok(expected)
    }
}
