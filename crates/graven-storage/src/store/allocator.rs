//! Names and ids that belong to the store, not to a transaction: given out once, kept after a
//! rollback.
//!
//! # Invariants
//! * TX-5: no id is given out twice while the store is open, whatever becomes of the transaction
//!   that got it.

use crate::catalog::{Catalog, Names};
use crate::ids::{NodeId, RelId};
use parking_lot::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// All names.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameLists {
    pub(crate) labels: Names,
    pub(crate) types: Names,
    pub(crate) keys: Names,
}

/// Which kind of name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameKind {
    Label,
    Type,
    Key,
}

impl NameLists {
    pub(crate) fn list(&self, kind: NameKind) -> &Names {
        match kind {
            NameKind::Label => &self.labels,
            NameKind::Type => &self.types,
            NameKind::Key => &self.keys,
        }
    }

    fn list_mut(&mut self, kind: NameKind) -> &mut Names {
        match kind {
            NameKind::Label => &mut self.labels,
            NameKind::Type => &mut self.types,
            NameKind::Key => &mut self.keys,
        }
    }
}

/// Part of the memory limit that names, and what the catalogue and recovery keep of each, may take;
/// and what they always may.
const NAMES_SHARE: u64 = 4;
const NAMES_LEAST: u64 = 256 << 10;

impl NameKind {
    /// Bytes that a name takes beside its text, with its stores in the catalogue and its lists in a
    /// layer that is recovered.
    fn bytes(self) -> u64 {
        match self {
            NameKind::Label | NameKind::Key => 200,
            NameKind::Type => 600,
        }
    }
}

/// Gives out names and ids.
#[derive(Debug)]
pub(crate) struct Allocator {
    names: RwLock<NameLists>,
    next_node: AtomicU64,
    next_relationship: AtomicU64,
    next_transaction: AtomicU64,
}

impl Allocator {
    pub(crate) fn new(catalog: &Catalog) -> Allocator {
        Allocator {
            names: RwLock::new(NameLists {
                labels: catalog.labels.clone(),
                types: catalog.types.clone(),
                keys: catalog.keys.clone(),
            }),
            next_node: AtomicU64::new(catalog.next_node),
            next_relationship: AtomicU64::new(catalog.next_relationship),
            next_transaction: AtomicU64::new(1),
        }
    }

    /// Goes on where `catalog` is, which is a later state of the same store.
    pub(crate) fn follow(&self, catalog: &Catalog) {
        let later = Allocator::new(catalog);
        *self.names.write() = later.names.into_inner();
        let raise = |here: &AtomicU64, there: &AtomicU64| {
            here.fetch_max(there.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        raise(&self.next_node, &later.next_node);
        raise(&self.next_relationship, &later.next_relationship);
    }

    /// All names so far; shared until there is a new one.
    pub(crate) fn names(&self) -> NameLists {
        self.names.read().clone()
    }

    /// The number of `name`, if it has one.
    pub(crate) fn number(&self, kind: NameKind, name: &str) -> Option<u32> {
        self.names.read().list(kind).number(name)
    }

    /// The number of `name`, a new one if need be.
    pub(crate) fn intern(&self, kind: NameKind, name: &str) -> u32 {
        if let Some(number) = self.number(kind, name) {
            return number;
        }
        self.names.write().list_mut(kind).intern(name)
    }

    /// Whether a new name of this kind leaves the catalogue small enough that the store opens with
    /// so little memory again.
    pub(crate) fn has_room(&self, kind: NameKind, name: &str, limit: u64) -> bool {
        let names = self.names.read();
        let kinds = [NameKind::Label, NameKind::Type, NameKind::Key];
        let bytes = kinds.into_iter().map(|kind| {
            let list = names.list(kind);
            kind.bytes() * list.list().len() as u64 + list.value_bytes()
        });
        bytes.sum::<u64>() + kind.bytes() + name.len() as u64
            <= (limit / NAMES_SHARE).max(NAMES_LEAST)
    }

    /// The first of `count` neighbouring ids.
    pub(crate) fn nodes(&self, count: u64) -> NodeId {
        NodeId(self.next_node.fetch_add(count, Ordering::Relaxed))
    }

    /// The first of `count` neighbouring ids.
    pub(crate) fn relationships(&self, count: u64) -> RelId {
        RelId(self.next_relationship.fetch_add(count, Ordering::Relaxed))
    }

    /// A number that no other transaction in the log has.
    pub(crate) fn transaction(&self) -> u64 {
        self.next_transaction.fetch_add(1, Ordering::Relaxed)
    }

    /// Node ids given out are below this.
    pub(crate) fn next_node(&self) -> u64 {
        self.next_node.load(Ordering::Relaxed)
    }

    /// Relationship ids given out are below this.
    pub(crate) fn next_relationship(&self) -> u64 {
        self.next_relationship.load(Ordering::Relaxed)
    }

    /// A transaction found in the log.
    pub(crate) fn seen_transaction(&self, number: u64) {
        self.next_transaction
            .fetch_max(number.saturating_add(1), Ordering::Relaxed);
    }

    /// Ids found in the log: never to be given out again.
    pub(crate) fn seen(&self, next_node: u64, next_relationship: u64) {
        self.next_node.fetch_max(next_node, Ordering::Relaxed);
        self.next_relationship
            .fetch_max(next_relationship, Ordering::Relaxed);
    }
}
