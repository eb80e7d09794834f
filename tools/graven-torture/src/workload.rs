//! Interleaved transactions on a store and on the model beside it.
//!
//! # How it works
//! Up to three transactions are open at once and take turns by seed; each sees its snapshot and its
//! own changes, in the model as in the store. A commit adds its changes to the newest committed
//! state of the model; one that the store refuses as a conflict adds nothing. What is known about
//! durability is kept in [`History`], which the crash checks read.

use std::sync::Arc;
use std::time::Duration;

use graven_storage::{
    Durability, Durable, Error, NodeId, PropertyValue, RelId, Result, Store, Transaction,
    TransactionOptions,
};

use crate::model::{Change, Graph, INDEXED, Node, Relationship};
use graven_types::rng::SplitMix64;

const LABELS: [&str; 3] = ["A", "B", "C"];
const TYPES: [&str; 2] = ["R", "S"];
const KEYS: [&str; 3] = ["k", "name", "x"];
const OPEN_MAX: usize = 3;
/// Of a value that takes a good part of a region of the log.
const LARGE_BYTES: usize = 100_000;

/// The states that a crash may leave.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// The committed states, oldest first.
    pub(crate) states: Vec<Graph>,
    /// Newest state that survives a power cut for sure.
    pub(crate) durable: usize,
    /// Newest state that survives the end of the process for sure.
    pub(crate) written: usize,
    /// What a commit that has begun and not returned would make.
    pub(crate) in_flight: Option<Graph>,
}

impl History {
    pub(crate) fn new(graph: Graph) -> History {
        History {
            states: vec![graph],
            durable: 0,
            written: 0,
            in_flight: None,
        }
    }
}

/// Gives access to the history, which the observer of the disk reads too.
pub(crate) type Access<'a> = dyn Fn(&mut dyn FnMut(&mut History)) + 'a;

struct Open {
    transaction: Transaction,
    durability: Durability,
    view: Graph,
    changes: Vec<Change>,
}

/// A workload in progress.
pub(crate) struct Workload {
    store: Arc<Store>,
    random: SplitMix64,
    open: Vec<Open>,
    /// Of all transactions; else each has its own.
    durability: Option<Durability>,
}

/// Why a workload stopped early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The log or disk failed, as it was told to.
    Refused,
    /// The store did what it must not.
    Wrong(String),
}

impl Workload {
    pub(crate) fn new(store: Arc<Store>, seed: u64) -> Workload {
        Workload {
            store,
            random: SplitMix64::new(seed),
            open: Vec::new(),
            durability: None,
        }
    }

    /// The same with transactions that are all as durable as this.
    pub(crate) fn with_durability(mut self, durability: Durability) -> Workload {
        self.durability = Some(durability);
        self
    }

    /// A transaction that creates one large node with a key of its own in the index.
    pub(crate) fn large_commit(&mut self, history: &Access<'_>) -> std::result::Result<(), Stop> {
        let mut open = self.begin(history)?;
        let number = self.random.bits();
        let mut node = Node::default();
        node.labels.insert(INDEXED.0.to_owned());
        let key = format!("{number:016x} {}", "of some length ".repeat(70));
        let large = "large ".repeat(LARGE_BYTES / 6);
        for (name, value) in [(INDEXED.1, &key), ("name", &large)] {
            let value = PropertyValue::string(value);
            node.properties.insert(name.to_owned(), value);
        }
        let created = create(&open.transaction, node).map_err(refused)?;
        open.changes.push(created);
        commit(&open, history)
    }

    fn begin(&mut self, history: &Access<'_>) -> std::result::Result<Open, Stop> {
        let mut view = Graph::default();
        history(&mut |h| view = h.states.last().cloned().unwrap_or_default());
        let durability = match self.random.below(6) {
            0 => Durability::Relaxed(Duration::from_secs(3600)),
            1 => Durability::Off,
            _ => Durability::Full,
        };
        let durability = self.durability.unwrap_or(durability);
        let options = TransactionOptions::default().durability(durability);
        let transaction = self.store.begin(options).map_err(refused)?;
        Ok(Open {
            transaction,
            durability,
            view,
            changes: Vec::new(),
        })
    }

    /// One step; `history` is told what must be known before and after it.
    pub(crate) fn step(&mut self, history: &Access<'_>) -> std::result::Result<(), Stop> {
        if self.open.is_empty() || (self.open.len() < OPEN_MAX && self.random.once_in(4)) {
            let open = self.begin(history)?;
            self.open.push(open);
        }
        let at = self.random.below(self.open.len() as u64) as usize;
        match self.random.below(8) {
            0..6 => {
                let open = &mut self.open[at];
                let changed = change(open, &mut self.random);
                changed.or_else(|error| match error {
                    // The changes so far are as they were; the transaction may go on or not.
                    error if error.is_retryable() => Ok(()),
                    error => Err(refused(error)),
                })
            }
            6 => {
                let open = self.open.swap_remove(at);
                commit(&open, history)
            }
            _ => {
                let rolls_back = self.random.once_in(4);
                let open = self.open.swap_remove(at);
                match rolls_back {
                    true => {
                        open.transaction.rollback();
                        Ok(())
                    }
                    false => commit(&open, history),
                }
            }
        }
    }
}

/// Errors that a failing disk explains; others are the store's own.
fn refused(error: Error) -> Stop {
    match error {
        Error::Io(_) | Error::Log { .. } | Error::LogFailed { .. } | Error::DiskFull { .. } => {
            Stop::Refused
        }
        error => Stop::Wrong(format!("an operation failed: {error}")),
    }
}

fn commit(open: &Open, history: &Access<'_>) -> std::result::Result<(), Stop> {
    history(&mut |h| {
        let mut after = h.states.last().cloned().unwrap_or_default();
        open.changes.iter().for_each(|change| after.apply(change));
        h.in_flight = Some(after);
    });
    match open.transaction.commit() {
        Ok(committed) => {
            history(&mut |h| {
                h.states.extend(h.in_flight.take());
                let newest = h.states.len() - 1;
                match open.durability {
                    // Without changes there was nothing to make durable, and what others did is
                    // their business.
                    _ if committed.lsn == 0 => {}
                    Durability::Full => (h.durable, h.written) = (newest, newest),
                    Durability::Relaxed(_) => h.written = newest,
                    _ => {}
                }
            });
            Ok(())
        }
        Err(error) if error.is_retryable() => {
            history(&mut |h| h.in_flight = None);
            Ok(())
        }
        Err(error) => {
            if error.durable() != Some(Durable::Unknown) {
                history(&mut |h| h.in_flight = None);
            }
            Err(refused(error))
        }
    }
}

/// One change. What changes nothing is no write: it neither conflicts nor undoes what others did
/// meanwhile, so the model leaves it out.
fn change(open: &mut Open, random: &mut SplitMix64) -> Result<()> {
    let Open {
        transaction,
        view,
        changes,
        ..
    } = open;
    let node = pick(&view.nodes, random);
    let other = pick(&view.nodes, random);
    let relationship = pick(&view.relationships, random);
    let what = match (random.below(12), node, other, relationship) {
        (0..=2, ..) | (_, None, ..) => create_node(transaction, random)?,
        (3..=5, Some(start), Some(end), _) => create_relationship(transaction, random, start, end)?,
        (6 | 7, Some(id), ..) => {
            let (key, value) = (KEYS[random.below(3) as usize], value(random));
            transaction.set_node_property(NodeId(id), transaction.key(key)?, &value)?;
            if value.is_null() && !view.nodes[&id].properties.contains_key(key) {
                return Ok(());
            }
            Change::SetNode(id, key.to_owned(), value)
        }
        (8, .., Some(id)) => {
            let (key, value) = (KEYS[random.below(3) as usize], value(random));
            transaction.set_relationship_property(RelId(id), transaction.key(key)?, &value)?;
            if value.is_null() && !view.relationships[&id].properties.contains_key(key) {
                return Ok(());
            }
            Change::SetRelationship(id, key.to_owned(), value)
        }
        (9, .., Some(id)) => {
            transaction.delete_relationship(RelId(id))?;
            Change::DeleteRelationship(id)
        }
        (10, Some(id), ..) if view.nodes.len() > 12 => {
            transaction.detach_delete_node(NodeId(id))?;
            Change::DetachDelete(id)
        }
        (_, Some(id), ..) => {
            let label = LABELS[random.below(3) as usize];
            let label_id = transaction.label(label)?;
            if random.once_in(2) {
                if !transaction.add_label(NodeId(id), label_id)? {
                    return Ok(());
                }
                Change::AddLabel(id, label.to_owned())
            } else {
                if !transaction.remove_label(NodeId(id), label_id)? {
                    return Ok(());
                }
                Change::RemoveLabel(id, label.to_owned())
            }
        }
    };
    view.apply(&what);
    changes.push(what);
    Ok(())
}

fn create_node(transaction: &Transaction, random: &mut SplitMix64) -> Result<Change> {
    let mut node = Node::default();
    for label in LABELS {
        if random.once_in(2) {
            node.labels.insert(label.to_owned());
        }
    }
    for key in KEYS {
        let value = value(random);
        if !value.is_null() {
            node.properties.insert(key.to_owned(), value);
        }
    }
    create(transaction, node)
}

fn create(transaction: &Transaction, node: Node) -> Result<Change> {
    let labels = node.labels.iter().map(|label| transaction.label(label));
    let labels: Vec<_> = labels.collect::<Result<_>>()?;
    let properties = node.properties.iter();
    let properties = properties.map(|(key, value)| Ok((transaction.key(key)?, value.clone())));
    let properties: Vec<_> = properties.collect::<Result<_>>()?;
    let id = transaction.create_node(&labels, &properties)?;
    Ok(Change::CreateNode(id.0, node))
}

fn create_relationship(
    transaction: &Transaction,
    random: &mut SplitMix64,
    start: u64,
    end: u64,
) -> Result<Change> {
    let rel_type = TYPES[random.below(2) as usize];
    let value = value(random);
    let mut relationship = Relationship {
        start,
        rel_type: rel_type.to_owned(),
        end,
        properties: Default::default(),
    };
    let mut properties = Vec::new();
    if !value.is_null() {
        properties.push((transaction.key("x")?, value.clone()));
        relationship.properties.insert("x".to_owned(), value);
    }
    let type_id = transaction.rel_type(rel_type)?;
    let id = transaction.create_relationship(NodeId(start), type_id, NodeId(end), &properties)?;
    Ok(Change::CreateRelationship(id.0, relationship))
}

fn pick<T>(map: &std::collections::BTreeMap<u64, T>, random: &mut SplitMix64) -> Option<u64> {
    let at = random.below(map.len() as u64) as usize;
    map.keys().nth(at).copied()
}

fn value(random: &mut SplitMix64) -> PropertyValue {
    match random.below(10) {
        0 | 1 => PropertyValue::Null,
        2 => PropertyValue::string("a text of some length, so that records differ"),
        // Now and then a value that takes several frames of the log.
        3 if random.once_in(10) => PropertyValue::string(&"long ".repeat(20_000)),
        3 => PropertyValue::Boolean(random.once_in(2)),
        _ => PropertyValue::Integer(random.below(20) as i64),
    }
}
