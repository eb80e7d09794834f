//! An open database file.
//!
//! # How it works
//! Opening reads the superblocks, the catalogue and the label runs; everything else is read through the page
//! cache when it is used.

use crate::Result;
use crate::adjacency::Adjacency;
use crate::catalog::{Catalog, StoreKind};
use crate::chain;
use crate::column::Column;
use crate::delta::FrozenDelta;
use crate::directory::Directory;
use crate::ids::{Direction, KeyId, TypeId};
use crate::labels::{LabelRuns, RUN_MEMORY_BYTES};
use crate::pages::Pages;
use crate::segment_map::SegmentMap;
use crate::snapshot::Snapshot;
use crate::superblock::{self, Found};
use foldhash::HashMap;
use graven_io::File;
use graven_pagecache::{PageCache, PageKind, Reservation};
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// Bytes of memory charged per byte of the stored catalogue: names are kept twice, in lists and tables.
const CATALOG_FACTOR: u64 = 4;

/// What a checkpoint made: everything that snapshots of it share.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) pages: Arc<Pages>,
    pub(crate) found: Found,
    pub(crate) catalog: Catalog,
    pub(crate) labels: LabelRuns,
    pub(crate) directory: Directory,
    adjacencies: Mutex<HashMap<(TypeId, Direction), Adjacency>>,
    columns: Mutex<HashMap<StoreKind, Column>>,
    _reservation: Reservation,
}

/// An open database file.
#[derive(Debug)]
pub struct Store {
    root: Arc<Root>,
}

impl Store {
    /// Opens `file` through `cache`.
    ///
    /// # Errors
    /// What [`superblock::read`] gives; [`crate::Error::Damaged`]; what the page cache gives.
    pub fn open(file: Arc<dyn File>, cache: Arc<PageCache>) -> Result<Arc<Store>> {
        let found = superblock::read(&*file)?;
        let pages = Arc::new(Pages::open(file, cache)?);
        Ok(Arc::new(Store {
            root: Arc::new(Root::open(pages, found)?),
        }))
    }

    /// Freezes the changes committed so far, for a checkpoint; commits go on to a new generation. `None` if
    /// nothing was committed since the last checkpoint. The generation before must have been installed.
    pub(crate) fn freeze(&self) -> Option<FrozenDelta> {
        None
    }

    /// Makes `root` (the old root with `frozen` folded in, durable) the base of new snapshots. The old root is in use
    /// for as long as the result upgrades; then its pages may be used again.
    pub(crate) fn install(&self, _root: Root, _frozen: &FrozenDelta) -> Weak<Root> {
        Weak::new()
    }

    /// The graph as of now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.root.clone())
    }

    /// Identity of the store.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        self.root.found.superblock.uuid
    }

    /// The superblock in use and the state of the other.
    #[must_use]
    pub fn superblock(&self) -> &Found {
        &self.root.found
    }

    /// The page cache that the store reads through.
    #[must_use]
    pub fn cache(&self) -> &Arc<PageCache> {
        self.root.pages.cache()
    }

    /// The data file.
    #[must_use]
    pub fn file(&self) -> &Arc<dyn File> {
        self.root.pages.file()
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }
}

fn read_labels(
    pages: &Pages,
    directory: Directory,
    catalog: &Catalog,
    reservation: &mut Reservation,
) -> Result<LabelRuns> {
    let mut labels = LabelRuns::default();
    let Some(store) = catalog.store(StoreKind::NodeLabels) else {
        return Ok(labels);
    };
    directory.scan(pages, store.id, &mut |segment| {
        let pin = pages.pin(segment.page, PageKind::NodeColumn)?;
        let before = labels.runs().len();
        let decoded = labels.decode(&pin, catalog.label_sets.len());
        pages.checked(segment.page, PageKind::NodeColumn, decoded)?;
        reservation.grow((labels.runs().len() - before) as u64 * RUN_MEMORY_BYTES)?;
        Ok(())
    })?;
    Ok(labels)
}

impl Root {
    /// Reads what `found` points at; everything else when it is used.
    pub(crate) fn open(pages: Arc<Pages>, found: Found) -> Result<Root> {
        let mut reservation = pages.budget().reserve("catalogue", 0)?;
        let head = found.superblock.catalogue;
        let catalog = {
            let bytes = chain::read(&pages, head, PageKind::Catalogue, |_| ())?;
            reservation.grow(bytes.len() as u64 * CATALOG_FACTOR)?;
            pages.checked(head, PageKind::Catalogue, Catalog::decode(&bytes))?
        };
        let directory = Directory::new(found.superblock.directory);
        let labels = read_labels(&pages, directory, &catalog, &mut reservation)?;
        Ok(Root {
            pages,
            found,
            catalog,
            labels,
            directory,
            adjacencies: Mutex::default(),
            columns: Mutex::default(),
            _reservation: reservation,
        })
    }

    fn map(&self, kind: StoreKind) -> Option<(SegmentMap, u64)> {
        let store = self.catalog.store(kind)?;
        Some((
            SegmentMap::new(self.directory, store.id, store.segments),
            store.entries,
        ))
    }

    pub(crate) fn adjacency(&self, rel_type: TypeId, direction: Direction) -> Adjacency {
        if let Some(known) = self.adjacencies.lock().get(&(rel_type, direction)) {
            return known.clone();
        }
        let forward = match direction {
            Direction::Out => None,
            Direction::In => Some(self.adjacency(rel_type, Direction::Out)),
        };
        let (map, entries) = match self.map(StoreKind::Adjacency(rel_type, direction)) {
            None => (None, 0),
            Some((map, entries)) => (Some(map), entries),
        };
        let sizes = (self.catalog.next_node, entries);
        let made = Adjacency::new(
            self.pages.clone(),
            (rel_type, direction),
            map,
            sizes,
            forward,
        );
        self.adjacencies
            .lock()
            .entry((rel_type, direction))
            .or_insert(made)
            .clone()
    }

    /// The column of `kind`, which is a kind of column.
    pub(crate) fn column(&self, kind: StoreKind) -> Option<Column> {
        if let Some(known) = self.columns.lock().get(&kind) {
            return Some(known.clone());
        }
        let page_kind = match kind {
            StoreKind::NodeColumn(_) => PageKind::NodeColumn,
            StoreKind::RelationshipColumn(..) | StoreKind::Relationships(_) => {
                PageKind::RelationshipColumn
            }
            StoreKind::NodeLabels | StoreKind::Adjacency(..) | StoreKind::Index(_) => return None,
        };
        let (map, _) = self.map(kind)?;
        let made = Column::new(self.pages.clone(), map, page_kind);
        Some(self.columns.lock().entry(kind).or_insert(made).clone())
    }

    pub(crate) fn node_column(&self, key: KeyId) -> Option<Column> {
        self.column(StoreKind::NodeColumn(key))
    }
}
