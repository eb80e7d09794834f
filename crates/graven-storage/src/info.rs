//! What a file holds and how large each part is: `graven info`.

use crate::catalog::StoreKind;
use crate::store::Store;
use graven_pagecache::UNIT_BYTES;

/// Size of one store.
#[derive(Clone, PartialEq, Debug)]
pub struct StoreInfo {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: StoreKind,
    /// Pages, those of chains and inner pages included.
    pub pages: u64,
    /// Bytes of those pages.
    pub bytes: u64,
    /// Values, relationships, index entries, nodes with labels.
    pub entries: u64,
}

impl StoreInfo {
    /// Bytes an entry; 0 without entries.
    #[must_use]
    pub fn bytes_per_entry(&self) -> f64 {
        if self.entries == 0 {
            0.0
        } else {
            self.bytes as f64 / self.entries as f64
        }
    }
}

/// What a file holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Info {
    /// Identity of the store.
    pub uuid: [u8; 16],
    /// Format number.
    pub format: u32,
    /// Number of the checkpoint in use.
    pub checkpoint: u64,
    /// Length of the file.
    pub file_bytes: u64,
    /// Every store, in the catalogue's order.
    pub stores: Vec<StoreInfo>,
    /// Bytes of everything else: superblocks, catalogue, directory, free space.
    pub other_bytes: u64,
    /// Why one of the superblocks cannot be used, if so.
    pub superblock_damage: Option<String>,
}

impl Info {
    /// Bytes a relationship of one type in both directions, ids and offsets included; `None`
    /// without any.
    #[must_use]
    pub fn bytes_per_relationship(&self, rel_type: crate::TypeId) -> Option<f64> {
        let both = (self.stores.iter())
            .filter(|store| matches!(store.kind, StoreKind::Adjacency(of, _) if of == rel_type));
        let (bytes, entries) = both.fold((0, 0), |sum, store| (sum.0 + store.bytes, store.entries));
        (entries > 0).then(|| bytes as f64 / entries as f64)
    }
}

impl Store {
    /// What the file holds and how large each part is, from the catalogue alone.
    #[must_use]
    pub fn info(&self) -> Info {
        let root = self.root();
        let stores: Vec<StoreInfo> = (root.catalog.stores.iter())
            .map(|store| StoreInfo {
                name: root.catalog.store_name(store.kind),
                kind: store.kind,
                pages: store.pages,
                bytes: store.bytes,
                entries: store.entries,
            })
            .collect();
        let found = self.superblock();
        let file_bytes = found
            .superblock
            .file_units
            .saturating_mul(UNIT_BYTES as u64);
        let in_stores: u64 = stores.iter().map(|store| store.bytes).sum();
        Info {
            uuid: found.superblock.uuid,
            format: crate::superblock::FORMAT,
            checkpoint: found.superblock.checkpoint,
            file_bytes,
            other_bytes: file_bytes.saturating_sub(in_stores),
            stores,
            superblock_damage: found.other_damage,
        }
    }
}
