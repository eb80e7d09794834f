//! A batch of commits on top of a store.
//!
//! # How it works
//! The counts and the entries of indexes are derived by comparing the graph before and after the
//! batch. A small batch becomes a layer in memory, a large one is written to temporary pages as it
//! is; its index entries then stay in the layer above, until they are many.

use super::patterns::counts_of;
use crate::bytes::Malformed;
use crate::delta::batch::{Batch, WholeBatch};
use crate::delta::change::Change;
use crate::delta::delta_layer::DeltaLayer;
use crate::delta::encoded_values::EncodedValues;
use crate::delta::immutable_delta::ImmutableDelta;
use crate::delta::logged_schema::LoggedSchema;
use crate::ids::{NodeId, RelId};
use crate::index::cut;
use crate::schema::SchemaEntity;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::store::allocator::NameLists;
use crate::transaction::index_entries::key_in;
use crate::transaction::options::Isolation;
use crate::transaction::schema_change::{drop_lost_indexes, for_each_key};
use crate::transaction::spill::{merge_tiers, sealed_onto};
use crate::transaction::write_set::WriteSet;
use crate::{Error, Result};
use graven_pagecache::Reservation;
use std::sync::Arc;

/// With more relationships than this a batch goes to temporary pages, even where memory would hold
/// it: writing sorted lists there costs a fraction of making maps of them.
const LISTED_MAX: usize = 100_000;

/// A batch that no more commits enter, and what was known when the last one had.
#[derive(Debug)]
pub(super) struct Complete {
    pub(super) batch: Batch,
    /// What the batch is charged.
    pub(super) reservation: Reservation,
    /// Indexes and constraints from there on, as the log says them.
    pub(super) schema: Option<LoggedSchema>,
    pub(super) lsn: u64,
    pub(super) commits: u64,
    pub(super) clients: Vec<[u8; 16]>,
    pub(super) names: NameLists,
    pub(super) next_node: u64,
    pub(super) next_relationship: u64,
}

/// Whether an active layer says anything but entries of indexes.
fn has_entities(layer: &DeltaLayer) -> bool {
    !layer.nodes.is_empty() || !layer.columns.is_empty() || !layer.relationships.is_empty()
}

/// Puts a batch on top of the store.
pub(super) fn apply(store: &Store, complete: Complete) -> Result<()> {
    let whole = complete.batch.finish();
    let mut commits = store.commits();
    let before = commits.applied.clone();
    let pages = store.temporary_pages();
    let is_large = |bytes: u64, relationships: usize| {
        bytes > store.spill_bytes() || relationships > LISTED_MAX
    };
    let allocator = store.allocator();
    let write_set = Arc::new(WriteSet::new(
        before.schema.clone(),
        Isolation::Snapshot,
        allocator.clone(),
    ));
    let base = Snapshot::new(before.clone());
    let counts = counts_of(&whole, &base);
    let active = &before.committed_base.layers.active;
    let bytes = active.bytes() + whole.layer_bytes();
    let relationships = active.relationships.len() + whole.relationships.len();
    match pages.as_ref().filter(|_| is_large(bytes, relationships)) {
        None => write_set.change(|layer| *layer = whole.layer(counts)),
        Some(pages) => {
            let spilled = whole.spill(counts, pages, store.budget(), store.recovery_threads)?;
            let lower = Arc::new(ImmutableDelta::Spilled(spilled));
            write_set.set_layers(Arc::from([lower]), DeltaLayer::default());
        }
    }
    let views = Views {
        before: base,
        after: Snapshot::of_transaction(before.clone(), write_set.clone()),
        write_set: &write_set,
        store,
    };
    views.derive_entries(&whole)?;
    drop(whole);
    drop(complete.reservation);
    if let Some(logged) = complete.schema {
        views.change_schema(&logged)?;
    }
    let (layer, above) = write_set.look(DeltaLayer::clone);
    commits.reservation.grow(layer.bytes())?;
    let mut version = before.copy();
    version.merge_tail();
    let (mut below, mut active) = (
        version.committed_base.layers.below.clone(),
        // No reader reads it before the end.
        version
            .committed_base
            .layers
            .active
            .clone()
            .without_filter(),
    );
    drop(version);
    if let Some(pages) = pages.as_ref().filter(|_| !above.is_empty()) {
        // Entries of indexes may stay above layers that have none.
        let mixes = above
            .iter()
            .any(|lower| !lower.view().index_numbers().is_empty());
        if has_entities(&active) || mixes {
            // No checkpoint may begin while part of a transaction is applied.
            below = sealed_onto(store, pages, store.sealing(), &below, &active)?;
            active = DeltaLayer::default();
        }
        let all = below.iter().chain(above.iter()).cloned().collect();
        below = merge_tiers(store, pages, store.sealing(), all)?;
    }
    active.merge(&layer);
    if is_large(active.bytes(), active.relationships.len())
        && let Some(pages) = &pages
    {
        below = sealed_onto(store, pages, store.sealing(), &below, &active)?;
        active = DeltaLayer::default();
    }
    let charged = commits.reservation.bytes();
    commits
        .reservation
        .shrink(charged.saturating_sub(active.bytes()));
    complete
        .clients
        .into_iter()
        .for_each(|id| commits.clients.add(Some(id)));
    let schema = write_set.schema();
    commits.charge_schema(schema.memory_bytes());
    store.replace(&mut commits, |version| {
        let committed_base = version.committed_base_mut();
        committed_base.layers.below = below;
        committed_base.layers.active = active;
        drop_lost_indexes(&mut committed_base.layers.active, &schema);
        version.commit_tail = None;
        version.schema = schema;
        version.timestamp += complete.commits;
        version.lsn = complete.lsn;
        version.names = complete.names;
        version.next_node = complete.next_node;
        version.next_relationship = complete.next_relationship;
    });
    Ok(())
}

/// The graph before and after a batch.
struct Views<'a> {
    before: Snapshot,
    after: Snapshot,
    write_set: &'a Arc<WriteSet>,
    store: &'a Store,
}

impl Views<'_> {
    /// Seals what was derived so far where it takes too much memory.
    fn make_room(&self) -> Result<()> {
        if self.write_set.layer().bytes() > self.store.spill_bytes()
            && let Some(pages) = self.store.temporary_pages()
        {
            let (layer, below) = self.write_set.look(DeltaLayer::clone);
            let below = sealed_onto(self.store, &pages, self.store.sealing(), &below, &layer)?;
            self.write_set.set_layers(below, DeltaLayer::default());
        }
        Ok(())
    }

    /// Entries of the indexes that were there before.
    fn derive_entries(&self, batch: &WholeBatch) -> Result<()> {
        for index in &self.write_set.schema().indexes {
            let mut ids: Vec<u64> = match index.entity {
                SchemaEntity::Node(_) => batch.nodes.runs().flat_map(|(ids, _)| ids).collect(),
                SchemaEntity::Relationship(rel_type) => (batch.relationships.iter())
                    .filter(|(_, it)| it.rel_type == rel_type)
                    .map(|(id, _)| *id)
                    .collect(),
            };
            for key in &index.keys {
                let values = batch.columns.get(&index.entity.column(*key));
                ids.extend(values.into_iter().flat_map(EncodedValues::ids));
            }
            ids.sort_unstable();
            ids.dedup();
            for id in ids {
                let key = |view: &Snapshot| match concerns(view, index.entity, id)? {
                    false => Ok(None),
                    true => key_in(view, index, id, None),
                };
                let (before, after) = (key(&self.before)?, key(&self.after)?);
                if before != after {
                    for (key, change) in [(before, Change::Removed), (after, Change::Added)] {
                        if let Some(key) = key {
                            let key: Arc<[u8]> = cut(&key).into();
                            self.write_set.change(|layer| {
                                layer.put_index_entry(index.number, &key, id, change)
                            });
                        }
                    }
                    self.make_room()?;
                }
            }
        }
        Ok(())
    }

    fn change_schema(&self, logged: &LoggedSchema) -> Result<()> {
        let names = self.write_set.allocator().names();
        let before = self.write_set.schema();
        let schema = logged.read(&before, &names);
        let schema = schema.map_err(|Malformed(what)| Error::Log {
            path: self.after.path().to_path_buf(),
            what: format!("a schema in the log cannot be understood: {what}"),
        })?;
        for index in &schema.indexes {
            if before
                .indexes
                .iter()
                .all(|known| known.number != index.number)
            {
                for_each_key(&self.after, index, &|| false, &mut |id, key| {
                    let key: Arc<[u8]> = cut(key).into();
                    self.write_set.change(|layer| {
                        layer.put_index_entry(index.number, &key, id, Change::Added);
                    });
                    self.make_room()
                })?;
            }
        }
        self.write_set.set_schema(schema);
        Ok(())
    }
}

fn concerns(view: &Snapshot, entity: SchemaEntity, id: u64) -> Result<bool> {
    match entity {
        SchemaEntity::Node(label) => view.has_label(NodeId(id), label),
        SchemaEntity::Relationship(_) => match view.relationship_endpoints(RelId(id)) {
            Ok(_) => Ok(true),
            Err(Error::NoSuchRelationship { .. }) => Ok(false),
            Err(error) => Err(error),
        },
    }
}
