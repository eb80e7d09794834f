//! Bulk writing of one index, entries ascending by key and node.
//!
//! # How it works
//! One page per level is filled; a full one is written and its first key, cut to what tells it from the key
//! before, goes to the level above.

use super::key::{KEY_BYTES_MAX, key_bytes};
use super::page::PageBuilder;
use crate::catalog::IndexDescription;
use crate::ids::NodeId;
use crate::sink::PageOutput;
use crate::value::PropertyValue;
use crate::writer::shared::{Shared, StoreBuild};
use crate::{Error, Result};
use graven_pagecache::{PageKind, PageRef};
use std::sync::Arc;

/// Writes one index.
#[derive(Debug)]
pub struct IndexWriter {
    shared: Arc<Shared>,
    store: StoreBuild,
    description: IndexDescription,
    id_limit: u64,
    levels: Vec<Level>,
    last: Option<(Vec<u8>, u64)>,
}

#[derive(Debug, Default)]
struct Level {
    page: PageBuilder,
    /// Key of the page's first entry as the level above will see it.
    first: Vec<u8>,
}

impl IndexWriter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        store: StoreBuild,
        description: IndexDescription,
        id_limit: u64,
    ) -> IndexWriter {
        let levels = vec![Level::default()];
        IndexWriter {
            shared,
            store,
            description,
            id_limit,
            levels,
            last: None,
        }
    }

    /// Adds `node` under `value`; entries ascend by [`key_bytes`] of the value, then by node. Values without key
    /// (null, NaN) are skipped.
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
        self.add(0, &key[..key.len().min(KEY_BYTES_MAX)], node.0)?;
        self.last = Some((key, node.0));
        Ok(())
    }

    fn add(&mut self, level: usize, key: &[u8], value: u64) -> Result<()> {
        if self.levels.len() == level {
            self.levels.push(Level::default());
        }
        if !self.levels[level].page.push(key, value, level as u32) {
            let before = self.levels[level].page.last_key();
            let shared = before.iter().zip(key).take_while(|(a, b)| a == b).count();
            let separator = key[..key.len().min(shared + 1)].to_vec();
            self.flush(level)?;
            self.levels[level].first = if level == 0 { separator } else { key.to_vec() };
            let fits = self.levels[level].page.push(key, value, level as u32);
            assert!(
                fits,
                "an empty index page takes a key of {} bytes",
                key.len()
            );
        }
        Ok(())
    }

    /// Writes the page of `level` and tells the level above.
    fn flush(&mut self, level: usize) -> Result<PageRef> {
        let page = self.write(level)?;
        let first = std::mem::take(&mut self.levels[level].first);
        self.add(level + 1, &first, page.raw())?;
        Ok(page)
    }

    fn write(&mut self, level: usize) -> Result<PageRef> {
        let payload = self.levels[level].page.finish(level as u32);
        let kind = if level == 0 {
            PageKind::IndexLeaf
        } else {
            PageKind::IndexInner
        };
        let page = self.shared.sink.append(kind, &payload)?;
        self.store.footprint.add(page);
        self.store.unlisted += u64::from(level == 0);
        Ok(page)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// What writing gives.
    pub fn finish(mut self) -> Result<()> {
        let mut level = 0;
        while level + 1 < self.levels.len() {
            self.flush(level)?;
            level += 1;
        }
        if !self.levels[level].page.is_empty() {
            self.description.root = Some(self.write(level)?);
            self.description.height = level as u32;
        }
        self.store.entries = self.description.entries;
        self.shared.finish_index(self.store, self.description);
        Ok(())
    }
}
