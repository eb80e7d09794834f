//! The indexes of a snapshot, and what was changed in them.

use super::Snapshot;
use crate::catalog::IndexDescription;
use crate::delta::filter_key::FilterKey;
use crate::delta::overlay::{IndexEntries, IndexOverlay, Top};
use crate::ids::{KeyId, LabelId};
use crate::index::Index;
use crate::schema::SchemaEntity;

impl Snapshot {
    /// The index over one property of the nodes with `label`, if there is one.
    #[must_use]
    pub fn index(&self, label: LabelId, key: KeyId) -> Option<Index> {
        self.index_on(SchemaEntity::Node(label), &[key])
    }

    /// The index over these properties, in this order, if there is one.
    #[must_use]
    pub fn index_on(&self, entity: SchemaEntity, keys: &[KeyId]) -> Option<Index> {
        let is_on = |index: &IndexDescription| index.entity == entity && index.keys == keys;
        let committed = &self.version.schema.indexes;
        let Some(write_set) = self.write_set() else {
            let at = committed.iter().position(is_on)?;
            return Some(self.committed_index(at));
        };
        // A transaction may have made the index after its catalogue was put together.
        let schema = write_set.schema();
        let index = schema.indexes.iter().find(|index| is_on(index))?;
        let at = (committed.iter()).position(|known| known.number == index.number);
        Some(match at {
            Some(at) => self.committed_index(at),
            None => {
                let committed_base = self.committed_base_index(index);
                committed_base.with_top(Top::of_index(self.stack(), index))
            }
        })
    }

    /// The index in this place of the version's schema.
    fn committed_index(&self, at: usize) -> Index {
        let version = &*self.version;
        let index = &version.schema.indexes[at];
        let count = version.schema.indexes.len();
        let committed_base = || {
            let views = &version.committed_base.views;
            views
                .indexes
                .get(at, count, || self.committed_base_index(index))
        };
        if !Top::is_any_of_index(self.stack(), index) {
            return committed_base();
        }
        let make = || committed_base().with_top(Top::of_index(self.stack(), index));
        match &self.write_set {
            Some(_) => make(),
            None => version.views.indexes.get(at, count, make),
        }
    }

    /// An index with the committed changes only.
    fn committed_base_index(&self, index: &IndexDescription) -> Index {
        let committed_base = &self.version.committed_base;
        let stored = committed_base.root.catalog.index_numbered(index.number);
        let columns = (index.keys.iter()).map(|key| self.settled_column(index.entity.column(*key)));
        Index::new(
            committed_base.root.pages.clone(),
            stored.unwrap_or(index).clone(),
            columns.collect(),
            IndexOverlay::committed_base(&committed_base.layers, index.number),
        )
    }

    /// Entries of an index, which may be yet to be, that are changed: keys from `low` to `high`
    /// inclusive, cut.
    pub(crate) fn index_changes(&self, number: u32, low: &[u8], high: &[u8]) -> IndexEntries {
        let committed_base =
            IndexOverlay::committed_base(&self.version.committed_base.layers, number);
        let overlay = IndexOverlay {
            committed_base: committed_base.as_deref().unwrap_or(&[]),
            top: &Top::of(self.stack(), FilterKey::Index(number)),
            number,
        };
        overlay.entries(low, Some(high))
    }
}
