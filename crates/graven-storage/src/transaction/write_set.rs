//! What a running transaction shares with the readers it hands out: its own layer, schema and the
//! record of reads.
//!
//! # Concurrency
//! Locks are leaves: nothing else is taken and no caller's code runs while one is held.

use super::options::Isolation;
use super::reads::Reads;
use crate::catalog::Catalog;
use crate::delta::change::ColumnOf;
use crate::delta::delta_layer::DeltaLayer;
use crate::delta::immutable_delta::ImmutableDelta;
use crate::ids::{Direction, LabelId, TypeId};
use crate::store::allocator::Allocator;
use crate::version::schema::Schema;
use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};
use std::sync::{Arc, OnceLock};

/// The changes of a running transaction.
#[derive(Debug)]
pub(crate) struct WriteSet {
    shared: Arc<OwnShared>,
    /// Only for serialisable transactions.
    reads: Option<Arc<Mutex<Reads>>>,
}

/// The layer that is written to, and those below that took too much memory.
#[derive(Debug)]
struct Layers {
    /// Oldest first.
    below: Arc<[Arc<ImmutableDelta>]>,
    layer: DeltaLayer,
}

#[derive(Debug)]
struct OwnShared {
    layers: RwLock<Layers>,
    schema: RwLock<Arc<Schema>>,
    allocator: Arc<Allocator>,
}

impl WriteSet {
    pub(crate) fn new(
        schema: Arc<Schema>,
        isolation: Isolation,
        allocator: Arc<Allocator>,
    ) -> WriteSet {
        WriteSet {
            shared: Arc::new(OwnShared {
                layers: RwLock::new(Layers {
                    below: Arc::from([]),
                    layer: DeltaLayer::default(),
                }),
                schema: RwLock::new(schema),
                allocator,
            }),
            reads: (isolation == Isolation::Serializable).then(Arc::default),
        }
    }

    /// The same changes for reads that need no validation.
    pub(crate) fn unrecorded(&self) -> WriteSet {
        WriteSet {
            shared: self.shared.clone(),
            reads: None,
        }
    }

    /// The layer that is written to.
    pub(crate) fn layer(&self) -> MappedRwLockReadGuard<'_, DeltaLayer> {
        RwLockReadGuard::map(self.shared.layers.read(), |layers| &layers.layer)
    }

    /// What `look` says of the layer that is written to, and the layers below as of the same
    /// moment.
    #[inline]
    pub(crate) fn look<T>(
        &self,
        look: impl FnOnce(&DeltaLayer) -> T,
    ) -> (T, Arc<[Arc<ImmutableDelta>]>) {
        let layers = self.shared.layers.read();
        (look(&layers.layer), layers.below.clone())
    }

    /// Changes the layer.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut DeltaLayer) -> T) -> T {
        change(&mut self.shared.layers.write().layer)
    }

    /// Has these layers from now on; only the thread that writes may call it.
    pub(crate) fn set_layers(&self, below: Arc<[Arc<ImmutableDelta>]>, layer: DeltaLayer) {
        *self.shared.layers.write() = Layers { below, layer };
    }

    /// Forgets all changes.
    pub(crate) fn clear(&self) {
        self.set_layers(Arc::from([]), DeltaLayer::default());
    }

    pub(crate) fn allocator(&self) -> &Allocator {
        &self.shared.allocator
    }

    pub(crate) fn schema(&self) -> Arc<Schema> {
        self.shared.schema.read().clone()
    }

    pub(crate) fn set_schema(&self, schema: Schema) {
        *self.shared.schema.write() = Arc::new(schema);
    }

    /// Calls `look` with the reads so far, `None` if they are not recorded.
    pub(crate) fn with_reads<T>(&self, look: impl FnOnce(Option<&Reads>) -> T) -> T {
        match &self.reads {
            None => look(None),
            Some(reads) => look(Some(&reads.lock())),
        }
    }

    /// Whether reads are recorded.
    pub(crate) fn records(&self) -> bool {
        self.reads.is_some()
    }

    #[inline]
    fn read(&self, note: impl FnOnce(&mut Reads)) {
        if let Some(reads) = &self.reads {
            note(&mut reads.lock());
        }
    }

    pub(crate) fn read_column(&self, of: ColumnOf, ids: &[u64]) {
        self.read(|reads| match of {
            ColumnOf::Node(_) => ids.iter().for_each(|id| reads.node(*id)),
            ColumnOf::Relationship(..) => ids.iter().for_each(|id| reads.relationship(*id)),
        });
    }

    pub(crate) fn read_node(&self, node: u64) {
        self.read(|reads| reads.node(node));
    }

    pub(crate) fn read_relationship(&self, id: u64) {
        self.read(|reads| reads.relationship(id));
    }

    pub(crate) fn read_list(&self, of: (TypeId, Direction), node: u64) {
        self.read(|reads| reads.list(of, node));
    }

    /// Relationships of any type were asked for, of which there are `count`.
    pub(crate) fn read_types(&self, count: u32) {
        self.read(|reads| reads.types(count));
    }

    pub(crate) fn read_index(&self, number: u32, low: &[u8], high: Option<&[u8]>) {
        self.read(|reads| reads.index(number, low, high));
    }

    /// `None`: all nodes.
    pub(crate) fn read_label(&self, label: Option<LabelId>) {
        self.read(|reads| reads.label(label));
    }
}

/// The own side of one snapshot of a transaction.
#[derive(Debug)]
pub(crate) struct WriteSetSide {
    pub(crate) write_set: Arc<WriteSet>,
    /// As of the first use.
    pub(crate) catalog: OnceLock<Catalog>,
}
