//! Bulk writing of one column, ids ascending.
//!
//! # How it works
//! Values are gathered in a [`Cutter`], which says when there are enough for a segment.
//!
//! # Costs
//! Memory: about 1.3 segments' worth of decoded values.

use super::cutter::{Cutter, make_cell};
use super::segment::Cell;
use crate::directory::SegmentEntry;
use crate::page_output::PageOutput;
use crate::sink::PageStream;
use crate::value::depth::check_depth;
use crate::writer::shared::{Shared, StoreBuild};
use crate::{Error, Result};
use graven_pagecache::PageKind;
use graven_types::PropertyValue;
use std::sync::Arc;

/// Writes one column.
#[derive(Debug)]
pub struct ColumnWriter {
    shared: Arc<Shared>,
    pages: PageStream,
    store: StoreBuild,
    kind: PageKind,
    id_limit: u64,
    cutter: Cutter,
}

impl ColumnWriter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        store: StoreBuild,
        kind: PageKind,
        id_limit: u64,
    ) -> ColumnWriter {
        ColumnWriter {
            pages: shared.stream(),
            shared,
            store,
            kind,
            id_limit,
            cutter: Cutter::default(),
        }
    }

    /// Adds the value of `id`; ids ascend. Null is the same as no value.
    ///
    /// # Errors
    /// [`Error::Order`]; [`Error::Limit`] for ids that do not exist and lists nested too deep; what
    /// writing gives.
    pub fn push(&mut self, id: u64, value: &PropertyValue) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        if let Some(last) = self.cutter.last()
            && last >= id
        {
            return Err(Error::Order {
                store: self.shared.store_name(self.store.kind),
                last: last.to_string(),
                got: id.to_string(),
            });
        }
        if id >= self.id_limit {
            return Err(Error::Limit {
                what: "id of a value",
                value: id,
                limit: self.id_limit,
            });
        }
        check_depth(value)?;
        if !self.cutter.spans(id) {
            self.write_all()?;
        }
        let cell = self.cell(value)?;
        if self.cutter.push(id, cell) {
            self.write_some()?;
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// What writing gives.
    pub fn finish(mut self) -> Result<()> {
        self.write_all()?;
        drop(self.pages);
        let sketch = self.cutter.take_sketch();
        self.store.values = sketch.map(|sketch| sketch.finish(None, self.store.entries));
        self.shared.finish_store(self.store);
        Ok(())
    }

    fn cell(&mut self, value: &PropertyValue) -> Result<Cell> {
        make_cell(&self.pages, value.clone(), &mut self.store.footprint)
    }

    fn write_all(&mut self) -> Result<()> {
        while !self.cutter.is_empty() {
            self.write_some()?;
        }
        Ok(())
    }

    /// Writes one segment from the front of what is gathered.
    fn write_some(&mut self) -> Result<()> {
        let Some(cut) = self.cutter.cut() else {
            return Ok(());
        };
        let page = self.pages.append(self.kind, &cut.payload)?;
        self.store.footprint.add(page);
        let entry = SegmentEntry {
            first: cut.first,
            page,
            extra: cut.count,
        };
        self.store.add_segment(entry, cut.count);
        Ok(())
    }
}
