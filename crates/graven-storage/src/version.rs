//! One state of the graph that was or will be visible: base, committed layers, schema, names.
//!
//! # How it works
//! A commit makes a new version from the newest one: maps of its layer are copied (a few pointers)
//! and changed. Snapshots share versions; a version that no snapshot holds any more goes with all
//! that only it knew. The catalogue of a version is put together when it is first asked for.
//!
//! A change of a map copies the path to a leaf, and a commit of a few entries changes a dozen maps.
//! So commits are first listed ([`recent`]), and go into the large layer some at a time
//! ([`Version::apply`]): then neighbouring entries share their copies. Everything below the newest
//! commits ([`settled`]) versions share with what readers put together of it.
//!
//! # Concurrency
//! Immutable.

use crate::catalog::Catalog;
use crate::data_file::Root;
use crate::delta::layer::Layer;
use crate::delta::overlay::Stack;
use crate::delta::redo::NamesLogged;
use crate::store::allocator::NameLists;
use crate::transaction::own::Own;
use crate::version::schema::Schema;
use graven_pagecache::Reservation;
use recent::Recent;
use settled::Settled;
use std::sync::{Arc, OnceLock};
use views::Views;

pub(crate) mod recent;
pub(crate) mod retired;
pub(crate) mod schema;
pub(crate) mod settled;
pub(crate) mod touched;
pub(crate) mod views;

/// See the file header.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) settled: Arc<Settled>,
    /// The newest commits, on top of that.
    pub(crate) recent: Option<Arc<Recent>>,
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
    pub(crate) fn of(root: Arc<Root>, timestamp: u64, lsn: u64) -> Version {
        let catalog = &root.catalog;
        Version {
            recent: None,
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
            settled: Arc::new(Settled::of(root)),
        }
    }

    /// A version with the same content, to be changed.
    pub(crate) fn copy(&self) -> Version {
        Version {
            settled: self.settled.clone(),
            recent: self.recent.clone(),
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
    pub(crate) fn settled_mut(&mut self) -> &mut Settled {
        self.settled = Arc::new(self.settled.copy());
        Arc::get_mut(&mut self.settled).expect("it was made just now")
    }

    /// Puts a commit on top.
    pub(crate) fn apply(&mut self, layer: &Layer) {
        self.written_bytes += layer.bytes();
        if layer.bytes() >= recent::BYTES_MAX {
            self.settle();
            self.settled_mut().layers.active.merge(layer);
            return;
        }
        let recent = Arc::new(Recent::on(self.recent.as_ref(), layer));
        let is_full = recent.is_full();
        self.recent = Some(recent);
        if is_full {
            self.settle();
        }
    }

    /// Puts the newest commits into the active layer.
    pub(crate) fn settle(&mut self) {
        if let Some(recent) = self.recent.take() {
            recent.put_on(&mut self.settled_mut().layers.active);
        }
    }

    /// Whether its root says all of it: no checkpoint would have anything to write.
    pub(crate) fn is_folded(&self) -> bool {
        let base = Version::of(self.settled.root.clone(), 0, 0);
        self.settled.layers.is_folded()
            && self.recent.is_none()
            && self.schema.is_as(&base.schema)
            && NamesLogged::of(&self.names) == NamesLogged::of(&base.names)
    }

    /// Estimated bytes of what is not frozen.
    pub(crate) fn changed_bytes(&self) -> u64 {
        self.settled.layers.active.bytes() + self.recent.as_ref().map_or(0, |it| it.bytes())
    }

    /// Estimated bytes of what is not frozen, with all layers below: those keep memory until a
    /// checkpoint has ended, and with too many of them there would be none left for it.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        let settled = &self.settled;
        let frozen = settled.layers.frozen.iter().flat_map(|it| it.below.iter());
        let below = settled.layers.below.iter().chain(frozen);
        self.changed_bytes() + below.map(|lower| lower.memory_bytes()).sum::<u64>()
    }

    pub(crate) fn stack<'a>(&'a self, own: Option<&'a Arc<Own>>) -> Stack<'a> {
        Stack {
            settled: &self.settled.layers,
            recent: self.recent.as_ref(),
            own,
        }
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        self.catalog.get_or_init(|| self.assemble(None))
    }

    /// The catalogue, with what `own` adds.
    pub(crate) fn assemble(&self, own: Option<&Arc<Own>>) -> Catalog {
        let mut catalog = self.settled.root.catalog.clone();
        let (names, schema) = match own {
            None => (self.names.clone(), self.schema.clone()),
            Some(own) => (own.allocator().names(), own.schema()),
        };
        let (next_node, next_relationship) = match own {
            None => (self.next_node, self.next_relationship),
            Some(own) => (
                own.allocator().next_node(),
                own.allocator().next_relationship(),
            ),
        };
        catalog.labels = names.labels;
        catalog.types = names.types;
        catalog.keys = names.keys;
        catalog.next_node = next_node;
        catalog.next_relationship = next_relationship;
        catalog.indexes = (schema.indexes.iter())
            .map(|index| {
                let stored = self.settled.root.catalog.index_numbered(index.number);
                stored.unwrap_or(index).clone()
            })
            .collect();
        catalog.constraints.clone_from(&schema.constraints);
        catalog.next_index = schema.next_index;
        catalog.users.clone_from(&schema.users);
        self.stack(own)
            .for_each(|layer| layer.counts().apply(&mut catalog));
        catalog
    }
}
