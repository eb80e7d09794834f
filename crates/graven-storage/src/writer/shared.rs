//! What the writers of one bulk load share: the page sink and what has been finished.

use crate::catalog::{
    Catalog, IndexDescription, RelationshipExtent, StoreKind, TypeStatistics, ValueStatistics,
};
use crate::directory::SegmentEntry;
use crate::free_space::FreeSpace;
use crate::ids::{Direction, StoreId, TypeId};
use crate::overflow_pages::Footprint;
use crate::sink::{FrontPages, PageSink, PageStream};
use crate::{Error, Result};
use foldhash::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Counts of relationships by the label sets of their ends.
pub(crate) type SetPairs = HashMap<(u32, u32), u64>;

/// A store while it is written.
#[derive(Debug)]
pub(crate) struct StoreBuild {
    pub(crate) id: StoreId,
    pub(crate) kind: StoreKind,
    pub(crate) segments: Vec<SegmentEntry>,
    /// Segments that the directory does not list (leaves of an index).
    pub(crate) unlisted: u64,
    pub(crate) entries: u64,
    pub(crate) footprint: Footprint,
    /// Of a column what its values are like.
    pub(crate) values: Option<ValueStatistics>,
}

impl StoreBuild {
    pub(crate) fn add_segment(&mut self, segment: SegmentEntry, entries: u64) {
        self.segments.push(segment);
        self.entries += entries;
    }
}

/// Relationships counted by the label sets of their ends; the pair that repeats is kept at hand.
#[derive(Debug, Default)]
pub(crate) struct PatternCounts {
    pairs: SetPairs,
    current: (u32, u32),
    count: u64,
}

impl PatternCounts {
    #[inline]
    pub(crate) fn add(&mut self, start: u32, end: u32) {
        if self.current != (start, end) {
            self.flush();
            self.current = (start, end);
        }
        self.count += 1;
    }

    fn flush(&mut self) {
        if self.count > 0 {
            *self.pairs.entry(self.current).or_default() += self.count;
            self.count = 0;
        }
    }

    fn finish(mut self) -> SetPairs {
        self.flush();
        self.pairs
    }
}

#[derive(Debug, Default)]
pub(crate) struct Finished {
    pub(crate) catalog: Catalog,
    pub(crate) stores: Vec<StoreBuild>,
    /// Writers given out and not finished yet.
    pub(crate) open: usize,
    /// Whether a type is written forward: its relationships get their ids.
    pub(crate) forward_open: bool,
    /// Of the types that are finished in one direction.
    pub(crate) directions: HashMap<TypeId, FinishedDirection>,
}

/// A direction of a type that is written.
#[derive(Debug)]
pub(crate) struct FinishedDirection {
    pub(crate) direction: Direction,
    pub(crate) degrees: Degrees,
    pub(crate) count: u64,
    /// Sum over hashed (start, end) pairs.
    pub(crate) sum: u64,
}

/// Of the lists of a direction.
#[derive(Debug, Default)]
pub(crate) struct Degrees {
    pub(crate) lists: u64,
    pub(crate) most: u64,
    pub(crate) squares: u64,
}

/// Shared by all writers of one bulk load.
#[derive(Debug)]
pub(crate) struct Shared {
    sink: Arc<PageSink>,
    pub(crate) finished: Mutex<Finished>,
    next_store: AtomicU32,
}

impl Shared {
    pub(crate) fn new(sink: PageSink) -> Shared {
        Shared {
            sink: Arc::new(sink),
            finished: Mutex::default(),
            next_store: AtomicU32::new(0),
        }
    }

    /// For the pages of one store; to be dropped before the store is finished.
    pub(crate) fn stream(&self) -> PageStream {
        self.sink.stream()
    }

    /// For what everything else is found by.
    pub(crate) fn front(&self) -> FrontPages {
        self.sink.front()
    }

    pub(crate) fn free_space(&self) -> FreeSpace {
        self.sink.free_space()
    }

    pub(crate) fn new_store(&self, kind: StoreKind) -> StoreBuild {
        self.finished.lock().open += 1;
        StoreBuild {
            id: StoreId(self.next_store.fetch_add(1, Ordering::Relaxed)),
            kind,
            segments: Vec::new(),
            unlisted: 0,
            entries: 0,
            footprint: Footprint::default(),
            values: None,
        }
    }

    pub(crate) fn finish_store(&self, store: StoreBuild) {
        let mut finished = self.finished.lock();
        finished.open -= 1;
        finished.stores.push(store);
    }

    pub(crate) fn finish_index(&self, store: StoreBuild, index: IndexDescription) {
        // Bulk writing numbers indexes from 0.
        let number = index.number as usize;
        self.finished.lock().catalog.indexes[number] = index;
        self.finish_store(store);
    }

    /// The relationships of a type have their ids; the next type may begin.
    pub(crate) fn finish_forward(
        &self,
        rel_type: TypeId,
        first: u64,
        count: u64,
        counts: PatternCounts,
    ) {
        let mut finished = self.finished.lock();
        finished.forward_open = false;
        let catalog = &mut finished.catalog;
        if count > 0 {
            catalog.extents.push(RelationshipExtent {
                first,
                count,
                rel_type,
            });
        }
        catalog.next_relationship = first + count;
        catalog.statistics.relationships += count;
        for ((start, end), count) in counts.finish() {
            catalog
                .statistics
                .patterns
                .insert((start, rel_type, end), count);
        }
    }

    /// Keeps what is known of a direction until the other one is finished, too; then compares them.
    pub(crate) fn finish_direction(
        &self,
        rel_type: TypeId,
        direction: FinishedDirection,
    ) -> Result<()> {
        let mut finished = self.finished.lock();
        let Some(other) = finished.directions.remove(&rel_type) else {
            finished.directions.insert(rel_type, direction);
            return Ok(());
        };
        let (out, into) = match direction.direction {
            Direction::Out => (direction, other),
            Direction::In => (other, direction),
        };
        if out.count != into.count || out.sum != into.sum {
            drop(finished);
            return Err(Error::Incomplete {
                store: format!("adjacency of {}", self.type_name(rel_type)),
                what: format!(
                    "{} relationships forward, {} in reverse, not the same ones",
                    out.count, into.count
                ),
            });
        }
        finished.catalog.statistics.types[rel_type.0 as usize] = TypeStatistics {
            relationships: out.count,
            start_nodes: out.degrees.lists,
            end_nodes: into.degrees.lists,
            out_degree_max: out.degrees.most,
            in_degree_max: into.degrees.most,
            out_squares: out.degrees.squares,
            in_squares: into.degrees.squares,
        };
        Ok(())
    }

    pub(crate) fn type_name(&self, rel_type: TypeId) -> String {
        self.finished
            .lock()
            .catalog
            .type_name(rel_type)
            .map_or_else(String::new, |name| name.to_string())
    }

    pub(crate) fn store_name(&self, kind: StoreKind) -> String {
        self.finished.lock().catalog.store_name(kind)
    }
}
