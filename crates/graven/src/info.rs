//! What a database file holds and how it is read: the content of `graven info`.

use graven_storage::Direction;
use graven_storage::catalog::StoreKind;

use crate::config::IoMode;
use crate::instance::Instance;

/// A database described.
#[derive(Clone, Debug)]
pub struct Info {
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Nodes.
    pub nodes: u64,
    /// Relationships.
    pub relationships: u64,
    /// Nodes by label.
    pub labels: Vec<(String, u64)>,
    /// Relationships by type, with the bytes both directions of their adjacency take.
    pub types: Vec<TypeInfo>,
    /// Every store of the file.
    pub stores: Vec<StoreInfo>,
    /// Why one of the two superblocks cannot be used, if so.
    pub superblock_damage: Option<String>,
    /// How pages are read.
    pub reading: Reading,
    /// The budget in bytes.
    pub memory: u64,
    /// Replacement policy in use.
    pub policy: String,
    /// The holders of the budget, and how much each of them holds.
    pub holders: Vec<(String, u64)>,
}

/// One relationship type.
#[derive(Clone, Debug)]
pub struct TypeInfo {
    /// Name.
    pub name: String,
    /// Relationships.
    pub relationships: u64,
    /// Bytes of the pages of its adjacency, both directions together, ids and offsets included.
    pub adjacency_bytes: u64,
}

impl TypeInfo {
    /// Bytes a relationship takes in both directions together.
    #[must_use]
    pub fn bytes_per_relationship(&self) -> f64 {
        self.adjacency_bytes as f64 / self.relationships.max(1) as f64
    }
}

/// One store of the file.
#[derive(Clone, Debug)]
pub struct StoreInfo {
    /// What it holds, for people.
    pub name: String,
    /// Pages.
    pub pages: u64,
    /// Bytes of those pages.
    pub bytes: u64,
    /// Entries: values, relationships, keys, nodes.
    pub entries: u64,
}

/// How pages are read, after any fallback.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The mode in use.
    pub mode: String,
    /// Why it is not the one asked for.
    pub mode_reason: Option<String>,
    /// What offsets, lengths and buffers of reads are multiples of.
    pub alignment: usize,
    /// How reads are queued.
    pub queue: String,
    /// Why it is not the best one.
    pub queue_reason: Option<String>,
}

pub(crate) fn reading(db: &Instance) -> Reading {
    if db.source.is_some() {
        return Reading {
            mode: db.mode.to_string(),
            mode_reason: None,
            alignment: 1,
            queue: graven_io::QueueKind::Ranges.to_string(),
            queue_reason: None,
        };
    }
    let able = graven_io::probe(&db.path);
    let fell_back = db.requested == IoMode::Direct && db.mode != graven_io::IoMode::Direct;
    Reading {
        mode: db.mode.to_string(),
        mode_reason: fell_back.then_some(able.mode_reason).flatten(),
        alignment: if db.mode == able.mode {
            able.alignment
        } else {
            1
        },
        queue: able.queue.to_string(),
        queue_reason: able.queue_reason,
    }
}

pub(crate) fn describe(db: &Instance) -> Info {
    let snapshot = db.store.snapshot();
    let catalog = snapshot.catalog();
    let labels = (0..).zip(catalog.labels()).map(|(id, name)| {
        (
            name.to_string(),
            catalog.label_count(graven_storage::LabelId(id)),
        )
    });
    let types = (0..).zip(catalog.types()).map(|(id, name)| {
        let rel_type = graven_storage::TypeId(id);
        let bytes = [Direction::Out, Direction::In]
            .into_iter()
            .filter_map(|direction| catalog.store(StoreKind::Adjacency(rel_type, direction)))
            .map(|store| store.bytes)
            .sum();
        TypeInfo {
            name: name.to_string(),
            relationships: catalog.pattern_count(None, Some(rel_type), None),
            adjacency_bytes: bytes,
        }
    });
    let stores = catalog.stores().iter().map(|store| StoreInfo {
        name: store_name(catalog, store.kind),
        pages: store.pages,
        bytes: store.bytes,
        entries: store.entries,
    });
    let holders = db
        .budget
        .holders()
        .into_iter()
        .map(|h| (h.tag.to_owned(), h.bytes));
    Info {
        file_bytes: db.store.file_bytes(),
        nodes: catalog.statistics().nodes,
        relationships: catalog.statistics().relationships,
        labels: labels.collect(),
        types: types.collect(),
        stores: stores.collect(),
        superblock_damage: db.store.superblock().other_damage,
        reading: reading(db),
        memory: db.budget.limit(),
        policy: db.cache.stats().policy,
        holders: holders.collect(),
    }
}

fn store_name(catalog: &graven_storage::Catalog, kind: StoreKind) -> String {
    let key = |id| catalog.key_name(id).map_or("?", |n| n);
    let rel_type = |id| catalog.type_name(id).map_or("?", |n| n);
    match kind {
        StoreKind::NodeLabels => "labels of nodes".to_owned(),
        StoreKind::NodeColumn(id) => format!("node property {}", key(id)),
        StoreKind::Adjacency(id, Direction::Out) => format!("{} forward", rel_type(id)),
        StoreKind::Adjacency(id, Direction::In) => format!("{} reverse", rel_type(id)),
        StoreKind::RelationshipColumn(id, k) => format!("{} property {}", rel_type(id), key(k)),
        other => catalog.store_name(other),
    }
}
