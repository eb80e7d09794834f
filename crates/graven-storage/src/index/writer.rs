//! Bulk writing of one index, entries ascending by key and node.
//!
//! The tree itself is made by [`TreeBuilder`].

use super::key::{KEY_BYTES_MAX, key_bytes};
use super::tree::TreeBuilder;
use crate::catalog::IndexDescription;
use crate::ids::NodeId;
use crate::sink::PageStream;
use crate::writer::shared::{Shared, StoreBuild};
use crate::{Error, Result};
use graven_types::PropertyValue;
use std::sync::Arc;

/// Writes one index.
#[derive(Debug)]
pub struct IndexWriter {
    shared: Arc<Shared>,
    pages: PageStream,
    store: StoreBuild,
    description: IndexDescription,
    id_limit: u64,
    tree: TreeBuilder,
    last: Option<(Vec<u8>, u64)>,
}

impl IndexWriter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        store: StoreBuild,
        description: IndexDescription,
        id_limit: u64,
    ) -> IndexWriter {
        IndexWriter {
            pages: shared.stream(),
            shared,
            store,
            description,
            id_limit,
            tree: TreeBuilder::default(),
            last: None,
        }
    }

    /// Adds `node` under `value`; entries ascend by [`key_bytes`] of the value, then by node.
    /// Values without key (null, NaN) are skipped.
    ///
    /// # Errors
    /// [`Error::Order`]; [`Error::NotUnique`]; [`Error::NoSuchNode`]; what writing gives.
    pub fn push(&mut self, value: &PropertyValue, node: NodeId) -> Result<()> {
        let Some(key) = key_bytes(value) else {
            return Ok(());
        };
        if node.0 >= self.id_limit {
            return Err(Error::NoSuchNode {
                node: node.0,
                limit: self.id_limit,
            });
        }
        if let Some((last, last_node)) = &self.last {
            if *last == key && self.description.unique {
                return Err(Error::NotUnique {
                    index: self.shared.store_name(self.store.kind),
                    value: value.clone(),
                    first: *last_node,
                    second: node.0,
                });
            }
            if (last, last_node) >= (&key, &node.0) {
                return Err(Error::Order {
                    store: self.shared.store_name(self.store.kind),
                    last: format!("key {last:02x?} of node {last_node}"),
                    got: format!("key {key:02x?} of node {node}"),
                });
            }
        }
        self.description.distinct +=
            u64::from(self.last.as_ref().is_none_or(|(last, _)| *last != key));
        self.description.entries += 1;
        let cut = &key[..key.len().min(KEY_BYTES_MAX)];
        self.tree.push(&self.pages, cut, node.0)?;
        self.last = Some((key, node.0));
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// What writing gives.
    pub fn finish(mut self) -> Result<()> {
        let built = self.tree.finish(&self.pages)?;
        drop(self.pages);
        self.description.root = built.root;
        self.description.height = built.height;
        self.store.footprint = built.footprint;
        self.store.unlisted = built.leaves;
        self.store.entries = self.description.entries;
        self.shared.finish_index(self.store, self.description);
        Ok(())
    }
}
