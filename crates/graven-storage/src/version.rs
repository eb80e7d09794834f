//! One state of the graph that was or will be visible: base, committed layers, schema, names.
//!
//! # How it works
//! A commit makes a new version from the newest one: maps of its layer are copied (a few pointers)
//! and changed. Snapshots share versions; a version that no snapshot holds any more goes with all
//! that only it knew. The catalogue of a version is put together when it is first asked for.
//!
//! A change of a map copies the path to a leaf, and a commit of a few entries changes a dozen maps.
//! So commits are first listed ([`commit_tail`]), and go into the large layer some at a time
//! ([`Version::apply`]): then neighbouring entries share their copies. Everything below the newest
//! commits ([`committed_base`]) versions share with what readers put together of it.
//!
//! # Concurrency
//! Immutable.

use crate::catalog::Catalog;
use crate::data_file::FileRoot;
use crate::delta::delta_layer::DeltaLayer;
use crate::delta::overlay::Stack;
use crate::delta::redo::NamesLogged;
use crate::store::allocator::NameLists;
use crate::transaction::write_set::WriteSet;
use crate::version::schema::Schema;
use commit_tail::CommitTail;
use committed_base::CommittedBase;
use graven_pagecache::Reservation;
use std::sync::{Arc, OnceLock};
use views::Views;

pub(crate) mod commit_filter;
pub(crate) mod commit_tail;
pub(crate) mod committed_base;
pub(crate) mod retired;
pub(crate) mod schema;
pub(crate) mod views;

/// See the file header.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) committed_base: Arc<CommittedBase>,
    /// The newest commits, on top of that.
    pub(crate) commit_tail: Option<Arc<CommitTail>>,
    /// Once the active layer was frozen: what all versions of it are charged, until the last one
    /// goes that a snapshot holds.
    pub(crate) charged: Arc<OnceLock<Arc<Reservation>>>,
    /// Bytes of all commits so far, also of what they replaced.
    pub(crate) written_bytes: u64,
    pub(crate) timestamp: u64,
    /// End of the newest commit in the log.
    pub(crate) lsn: u64,
    pub(crate) schema: Arc<Schema>,
    pub(crate) names: NameLists,
    pub(crate) next_node: u64,
    pub(crate) next_relationship: u64,
    pub(crate) catalog: OnceLock<Catalog>,
    /// What its readers share of what the newest commits have to do with.
    pub(crate) views: Views,
}

impl Version {
    /// What `root` says, nothing on top.
    pub(crate) fn of(root: Arc<FileRoot>, timestamp: u64, lsn: u64) -> Version {
        let catalog = &root.catalog;
        Version {
            commit_tail: None,
            charged: Arc::default(),
            written_bytes: 0,
            timestamp,
            lsn,
            schema: Arc::new(Schema::of(catalog)),
            names: NameLists {
                labels: catalog.labels.clone(),
                types: catalog.types.clone(),
                keys: catalog.keys.clone(),
            },
            next_node: catalog.next_node,
            next_relationship: catalog.next_relationship,
            catalog: OnceLock::new(),
            views: Views::default(),
            committed_base: Arc::new(CommittedBase::of(root)),
        }
    }

    /// A version with the same content, to be changed.
    pub(crate) fn copy(&self) -> Version {
        Version {
            committed_base: self.committed_base.clone(),
            commit_tail: self.commit_tail.clone(),
            charged: self.charged.clone(),
            written_bytes: self.written_bytes,
            timestamp: self.timestamp,
            lsn: self.lsn,
            schema: self.schema.clone(),
            names: self.names.clone(),
            next_node: self.next_node,
            next_relationship: self.next_relationship,
            catalog: OnceLock::new(),
            views: Views::default(),
        }
    }

    /// What is below the newest commits, to be changed: no other version has it then, and no reader
    /// has looked at it.
    pub(crate) fn committed_base_mut(&mut self) -> &mut CommittedBase {
        self.committed_base = Arc::new(self.committed_base.copy());
        Arc::get_mut(&mut self.committed_base).expect("it was made just now")
    }

    /// Puts a commit on top.
    pub(crate) fn apply(&mut self, layer: &DeltaLayer) {
        self.written_bytes += layer.bytes();
        if layer.bytes() >= commit_tail::BYTES_MAX {
            self.merge_tail();
            self.committed_base_mut().layers.active.merge(layer);
            return;
        }
        let commit_tail = Arc::new(CommitTail::on(self.commit_tail.as_ref(), layer));
        let is_full = commit_tail.is_full();
        self.commit_tail = Some(commit_tail);
        if is_full {
            self.merge_tail();
        }
    }

    /// Puts the newest commits into the active layer.
    pub(crate) fn merge_tail(&mut self) {
        if let Some(commit_tail) = self.commit_tail.take() {
            commit_tail.apply_to(&mut self.committed_base_mut().layers.active);
        }
    }

    /// Whether its root says all of it: no checkpoint would have anything to write.
    pub(crate) fn is_merged(&self) -> bool {
        let base = Version::of(self.committed_base.root.clone(), 0, 0);
        self.committed_base.layers.is_merged()
            && self.commit_tail.is_none()
            && self.schema.is_as(&base.schema)
            && NamesLogged::of(&self.names) == NamesLogged::of(&base.names)
    }

    /// Estimated bytes of what is not frozen.
    pub(crate) fn changed_bytes(&self) -> u64 {
        self.committed_base.layers.active.bytes()
            + self.commit_tail.as_ref().map_or(0, |it| it.bytes())
    }

    /// Estimated bytes of what is not frozen, with all layers below: those keep memory until a
    /// checkpoint has ended, and with too many of them there would be none left for it.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        let committed_base = &self.committed_base;
        let frozen = committed_base
            .layers
            .frozen
            .iter()
            .flat_map(|it| it.below.iter());
        let below = committed_base.layers.below.iter().chain(frozen);
        self.changed_bytes() + below.map(|lower| lower.memory_bytes()).sum::<u64>()
    }

    pub(crate) fn stack<'a>(&'a self, write_set: Option<&'a Arc<WriteSet>>) -> Stack<'a> {
        Stack {
            committed_base: &self.committed_base.layers,
            commit_tail: self.commit_tail.as_ref(),
            write_set,
        }
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        self.catalog.get_or_init(|| self.assemble(None))
    }

    /// The catalogue, with what `write_set` adds.
    pub(crate) fn assemble(&self, write_set: Option<&Arc<WriteSet>>) -> Catalog {
        let mut catalog = self.committed_base.root.catalog.clone();
        let (names, schema) = match write_set {
            None => (self.names.clone(), self.schema.clone()),
            Some(write_set) => (write_set.allocator().names(), write_set.schema()),
        };
        let (next_node, next_relationship) = match write_set {
            None => (self.next_node, self.next_relationship),
            Some(write_set) => (
                write_set.allocator().next_node(),
                write_set.allocator().next_relationship(),
            ),
        };
        catalog.labels = names.labels;
        catalog.types = names.types;
        catalog.keys = names.keys;
        catalog.next_node = next_node;
        catalog.next_relationship = next_relationship;
        catalog.indexes = (schema.indexes.iter())
            .map(|index| {
                let stored = self
                    .committed_base
                    .root
                    .catalog
                    .index_numbered(index.number);
                stored.unwrap_or(index).clone()
            })
            .collect();
        catalog.constraints.clone_from(&schema.constraints);
        catalog.next_index = schema.next_index;
        catalog.users.clone_from(&schema.users);
        catalog.sequences.clone_from(&schema.sequences);
        catalog.macros.clone_from(&schema.macros);
        catalog.notes.clone_from(&schema.notes);
        self.stack(write_set)
            .for_each(|layer| layer.counts().apply(&mut catalog));
        catalog
    }
}
