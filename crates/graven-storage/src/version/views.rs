//! What readers of some versions ask for again and again, put together when the first of them does.
//!
//! # How it works
//! An index, a column or a list of a snapshot is what the file has, with the changes of every layer
//! on top; to put that together takes longer than a look-up in it, and where the nodes of a label
//! lie takes a walk over all changed nodes. What is below the newest commits stays the same for
//! some versions, so what was made of it for one statement serves the next ones. Each version has
//! the same once more for what its newest commits have to do with, with these on top. Snapshots of
//! transactions, which see later writes of their own, put those on top for each statement.
//!
//! # Invariants
//! * TX-17: what readers share is what each of them would make for itself.
//!
//! # Concurrency
//! Cells that are set once; readers take no lock. Two threads that come first both make it, and one
//! of them is kept.
//!
//! # Costs
//! A word or two for each name, once one of its kind is asked for. Where the nodes of a label lie
//! is kept if that takes [`RANGES_BYTES_MAX`] at most.

use std::sync::OnceLock;

use crate::adjacency::Adjacency;
use crate::column::Column;
use crate::index::Index;
use crate::labels::NodeRanges;

/// Ranges of a label that take more are found anew each time.
const RANGES_BYTES_MAX: u64 = 64 << 10;

/// A cell for each number.
#[derive(Debug)]
pub(crate) struct Cells<T>(OnceLock<Box<[OnceLock<T>]>>);

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Cells(OnceLock::new())
    }
}

impl<T> Cells<T> {
    /// The cell with this number of `count`.
    pub(crate) fn cell(&self, at: usize, count: usize) -> Option<&OnceLock<T>> {
        let cells = self
            .0
            .get_or_init(|| (0..count).map(|_| OnceLock::new()).collect());
        cells.get(at)
    }
}

impl<T: Clone> Cells<T> {
    /// What is in a cell, made by `make` if there is nothing yet.
    pub(crate) fn get(&self, at: usize, count: usize, make: impl FnOnce() -> T) -> T {
        match self.cell(at, count) {
            Some(cell) => cell.get_or_init(make).clone(),
            None => make(),
        }
    }
}

/// Where the nodes of each label lie.
#[derive(Debug, Default)]
pub(crate) struct Labels(Cells<NodeRanges>);

impl Labels {
    /// Where the nodes of the label with this number of `count` lie, as `find` says if it is not
    /// kept yet.
    pub(crate) fn get<E>(
        &self,
        at: usize,
        count: usize,
        find: impl FnOnce() -> Result<NodeRanges, E>,
    ) -> Result<NodeRanges, E> {
        let cell = self.0.cell(at, count);
        if let Some(known) = cell.and_then(|cell| cell.get()) {
            return Ok(known.clone());
        }
        let ranges = find()?;
        if ranges.memory_bytes() <= RANGES_BYTES_MAX
            && let Some(cell) = cell
        {
            // Another thread may have been faster.
            let _ = cell.set(ranges.clone());
        }
        Ok(ranges)
    }
}

/// See the file header.
#[derive(Debug, Default)]
pub(crate) struct Views {
    /// By place in the schema.
    pub(crate) indexes: Cells<Index>,
    /// By key.
    pub(crate) node_columns: Cells<Option<Column>>,
    /// By type, each with its outgoing and its incoming lists.
    pub(crate) adjacencies: Cells<Adjacency>,
    pub(crate) labels: Labels,
}
