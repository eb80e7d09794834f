//! Bulk writing of a whole database file.
//!
//! # How it works
//! ```text
//! create -> intern names, add_nodes -> columns, adjacencies, indexes in any order -> finish
//! ```
//! Everything arrives sorted and goes, a page at a time, to the runs that a [`PageSink`] gives each
//! store; `finish` writes label runs, directory, catalogue and free space, syncs, writes both
//! superblocks and syncs again. Until the first superblock is there the file is none of ours and
//! cannot be opened.
//!
//! # Concurrency
//! The writers of columns, adjacencies and indexes are independent values and may be used on
//! several threads; relationship ids make it one type at a time in the forward direction.
//!
//! # Costs
//! About two segments per open writer, 24 bytes a segment until the end.

pub(crate) mod shared;

use crate::adjacency::writer::{AdjacencyWriter, ForwardWriter, ReverseWriter};
use crate::catalog::{IndexDescription, StoreDescription, StoreKind, Stores};
use crate::column::writer::ColumnWriter;
use crate::directory::{DirectoryBuilder, SegmentEntry};
use crate::id_runs::Run;
use crate::ids::{Direction, KeyId, LabelId, TypeId};
use crate::index::writer::IndexWriter;
use crate::labels::{LabelRuns, label_set};
use crate::overflow_pages::{self, Footprint};
use crate::page_output::PageOutput;
use crate::schema::SchemaEntity;
use crate::sink::{self, PageSink};
use crate::superblock::{self, Features, LogPosition, Slot, Superblock};
use crate::{Error, Result};
use graven_io::File;
use graven_pagecache::PageKind;
use shared::{Finished, Shared, StoreBuild};
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

/// Settings of a bulk writer.
#[derive(Clone, Debug, Default)]
pub struct WriterOptions {
    /// Identity of the store; random if none is given.
    pub uuid: Option<[u8; 16]>,
}

/// Whether two nodes may have the same value in an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uniqueness {
    /// At most one node per value.
    Unique,
    /// Any number.
    Any,
}

/// Writes a whole database file.
#[derive(Debug)]
pub struct StoreWriter {
    file: Arc<dyn File>,
    shared: Arc<Shared>,
    uuid: [u8; 16],
    labels: LabelRuns,
    next_node: u64,
}

impl StoreWriter {
    /// Starts writing to `file`, which must be empty.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if the file has content.
    pub fn create(file: Arc<dyn File>, options: WriterOptions) -> Result<StoreWriter> {
        let length = file.len()?;
        if length > 0 {
            return Err(Error::Incomplete {
                store: file.path().display().to_string(),
                what: format!("the file has {length} bytes already; write to a new one"),
            });
        }
        let uuid = options.uuid.map_or_else(random_uuid, Ok)?;
        let sink = PageSink::new(file.clone());
        Ok(StoreWriter {
            file,
            shared: Arc::new(Shared::new(sink)),
            uuid,
            labels: LabelRuns::default(),
            next_node: 0,
        })
    }

    /// The number of a label, a new one for a new name.
    pub fn intern_label(&mut self, name: &str) -> LabelId {
        LabelId(self.shared.finished.lock().catalog.labels.intern(name))
    }

    /// The number of a relationship type, a new one for a new name.
    pub fn intern_type(&mut self, name: &str) -> TypeId {
        let catalog = &mut self.shared.finished.lock().catalog;
        let id = catalog.types.intern(name);
        catalog
            .statistics
            .types
            .resize(catalog.types.list().len(), Default::default());
        TypeId(id)
    }

    /// The number of a property key, a new one for a new name.
    pub fn intern_key(&mut self, name: &str) -> KeyId {
        KeyId(self.shared.finished.lock().catalog.keys.intern(name))
    }

    /// The next `count` node ids get `labels`. All nodes come before the first column, adjacency or
    /// index.
    ///
    /// # Errors
    /// [`Error::Limit`] beyond 2^63 nodes.
    pub fn add_nodes(&mut self, count: u64, labels: &[LabelId]) -> Result<Range<u64>> {
        let first = self.next_node;
        let end = first
            .checked_add(count)
            .filter(|end| *end < 1 << 63)
            .ok_or(Error::Limit {
                what: "number of nodes",
                value: count,
                limit: 1 << 63,
            })?;
        let set = label_set(labels);
        let mut finished = self.shared.finished.lock();
        let catalog = &mut finished.catalog;
        let number = catalog.intern_set(&set);
        catalog.statistics.label_set_nodes[number as usize] += count;
        catalog.statistics.nodes += count;
        catalog.next_node = end;
        self.labels.push(Run {
            first,
            count,
            number,
        });
        self.next_node = end;
        Ok(first..end)
    }

    /// A writer for one property of nodes.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if the property has a column already.
    pub fn node_column(&mut self, key: KeyId) -> Result<ColumnWriter> {
        let store = self.start(StoreKind::NodeColumn(key))?;
        Ok(ColumnWriter::new(
            self.shared.clone(),
            store,
            PageKind::NodeColumn,
            self.next_node,
        ))
    }

    /// A writer for one property of the relationships of one type.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if the property has a column already.
    pub fn relationship_column(&mut self, rel_type: TypeId, key: KeyId) -> Result<ColumnWriter> {
        let store = self.start(StoreKind::RelationshipColumn(rel_type, key))?;
        let kind = PageKind::RelationshipColumn;
        Ok(ColumnWriter::new(
            self.shared.clone(),
            store,
            kind,
            u64::MAX,
        ))
    }

    /// A writer for the relationships of one type, once per type and one at a time.
    ///
    /// # Errors
    /// As [`StoreWriter::forward`].
    ///
    /// # Panics
    /// As there.
    pub fn adjacency(&mut self, rel_type: TypeId) -> Result<AdjacencyWriter> {
        let forward = self.forward(rel_type)?;
        Ok(AdjacencyWriter::new(forward, self.reverse(rel_type)?))
    }

    /// A writer for the relationships of one type by their starts, one at a time: the ids of a type
    /// begin after those of the type before. [`StoreWriter::reverse`] has to get the same ones.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if the type is written forward already.
    ///
    /// # Panics
    /// If another type is being written forward.
    pub fn forward(&mut self, rel_type: TypeId) -> Result<ForwardWriter> {
        let store = self.start(StoreKind::Adjacency(rel_type, Direction::Out))?;
        let labels = Arc::new(self.labels.clone());
        let mut finished = self.shared.finished.lock();
        assert!(
            !finished.forward_open,
            "finish one type before the next is started"
        );
        finished.forward_open = true;
        let first = finished.catalog.next_relationship;
        drop(finished);
        let shared = self.shared.clone();
        Ok(ForwardWriter::new(shared, rel_type, store, first, labels))
    }

    /// A writer for the relationships of one type by their ends, once per type.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if the type is written in reverse already.
    pub fn reverse(&mut self, rel_type: TypeId) -> Result<ReverseWriter> {
        let store = self.start(StoreKind::Adjacency(rel_type, Direction::In))?;
        let labels = Arc::new(self.labels.clone());
        let shared = self.shared.clone();
        Ok(ReverseWriter::new(shared, rel_type, store, labels))
    }

    /// A writer for an index over one property of the nodes with `label`.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if there is one already.
    pub fn index(
        &mut self,
        label: LabelId,
        key: KeyId,
        uniqueness: Uniqueness,
    ) -> Result<IndexWriter> {
        let description = {
            let catalog = &mut self.shared.finished.lock().catalog;
            if catalog.index(label, key).is_some() {
                return Err(Error::Incomplete {
                    store: format!("index of label {label}, key {key}"),
                    what: "it exists already".to_owned(),
                });
            }
            let name = |name: Option<&Arc<str>>| name.map_or_else(String::new, ToString::to_string);
            let name = format!(
                "index_{}_{}",
                name(catalog.label_name(label)),
                name(catalog.key_name(key))
            );
            let unique = uniqueness == Uniqueness::Unique;
            let entity = SchemaEntity::Node(label);
            let description =
                IndexDescription::new(catalog.next_index, &name, entity, &[key], unique);
            catalog.next_index += 1;
            catalog.indexes.push(description.clone());
            description
        };
        let store = self.shared.new_store(StoreKind::Index(description.number));
        Ok(IndexWriter::new(
            self.shared.clone(),
            store,
            description,
            self.next_node,
        ))
    }

    fn start(&self, kind: StoreKind) -> Result<StoreBuild> {
        let exists = self
            .shared
            .finished
            .lock()
            .stores
            .iter()
            .any(|store| store.kind == kind);
        if exists {
            return Err(Error::Incomplete {
                store: self.shared.store_name(kind),
                what: "it is written already".to_owned(),
            });
        }
        Ok(self.shared.new_store(kind))
    }

    /// Makes the file a database: what is left, sync, superblocks, sync.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if a writer was not finished; what writing gives.
    pub fn finish(self) -> Result<()> {
        self.write_labels()?;
        let finished = std::mem::take(&mut *self.shared.finished.lock());
        if finished.open > 0 || !finished.directions.is_empty() {
            return Err(Error::Incomplete {
                store: self.file.path().display().to_string(),
                what: format!(
                    "{} writers were not finished, {} types were written in one direction",
                    finished.open,
                    finished.directions.len()
                ),
            });
        }
        let Finished {
            mut catalog,
            mut stores,
            ..
        } = finished;
        stores.sort_by_key(|store| store.id);
        let vectors = stores.iter().any(|store| store.footprint.vectors);
        catalog.stores = Stores::new(stores.iter().map(describe).collect());
        for store in &mut stores {
            if let Some(values) = store.values.take() {
                catalog.statistics.columns.insert(store.id, values);
            }
        }
        catalog.extents.sort_by_key(|extent| extent.first);
        let pages = self.shared.front();
        let mut own = Footprint::default();
        let mut directory = DirectoryBuilder::new(&pages);
        for store in stores {
            for segment in store.segments {
                directory.push(store.id, segment, &mut own)?;
            }
        }
        let directory = directory.finish(&mut own)?;
        let catalogue =
            overflow_pages::write(&pages, PageKind::Catalogue, &catalog.encode(), &mut own)?;
        let mut space = self.shared.free_space();
        let free_space = sink::append_chain(&*self.file, &mut space, PageKind::FreeSpace)?;
        let file_units = space.end();
        self.file.sync_data()?;
        let mut block = Superblock {
            uuid: self.uuid,
            features: Features::default().as_written_here(&catalog, vectors),
            checkpoint: 1,
            log: LogPosition::default(),
            file_units,
            catalogue,
            directory,
            free_space,
        };
        superblock::write(&*self.file, Slot::First, &block)?;
        block.checkpoint = 2;
        superblock::write(&*self.file, Slot::Second, &block)?;
        self.file.sync_data()?;
        Ok(())
    }

    fn write_labels(&self) -> Result<()> {
        let mut store = self.shared.new_store(StoreKind::NodeLabels);
        let pages = self.shared.front();
        for (first, nodes, payload) in self.labels.encode() {
            let page = pages.append(PageKind::NodeColumn, &payload)?;
            store.footprint.add(page);
            store.add_segment(
                SegmentEntry {
                    first,
                    page,
                    extra: nodes,
                },
                nodes,
            );
        }
        self.shared.finish_store(store);
        Ok(())
    }
}

fn describe(store: &StoreBuild) -> StoreDescription {
    StoreDescription {
        id: store.id,
        kind: store.kind,
        segments: store.segments.len() as u64 + store.unlisted,
        pages: store.footprint.pages,
        bytes: store.footprint.bytes,
        entries: store.entries,
    }
}

/// A random (version 4) UUID.
pub(crate) fn random_uuid() -> Result<[u8; 16]> {
    let mut uuid = [0; 16];
    let read =
        std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut uuid));
    read.map_err(|error| Error::Incomplete {
        store: "store identity".to_owned(),
        what: format!("no random bytes from /dev/urandom: {error}"),
    })?;
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(uuid)
}
