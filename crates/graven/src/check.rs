//! Checks everything a database holds: every page of the file is read and verified, and the stores,
//! with what was committed since the last checkpoint, are compared with each other.
//!
//! # How it works
//! * The file ([`Store::check`]): checksums, directory, references, relationship ids, free space
//!   against pages.
//! * Adjacency: both directions of a type are swept from end to end. Lists must ascend and name
//!   nodes that exist; the two directions must hold the same pairs, which is compared by a sum of
//!   hashes over all pairs, so that no memory is needed for them.
//! * Columns: every value is read; how many there are must be what the catalogue and the commits
//!   that are not in the data file yet come to ([`Snapshot::expected_entries`]).
//! * Indexes: every node with the label and the property must be found under its value, and the
//!   index must have no more entries than those.
//!
//! A damaged page ends the check of the store it belongs to, not that of the others.

use std::hash::{BuildHasher, Hasher};
use std::ops::ControlFlow;

use foldhash::quality::FixedState;
use graven_storage::catalog::{IndexDescription, StoreKind};
use graven_storage::{
    Adjacency, Catalog, Column, Direction, KeyId, LabelId, NodeId, PropertyValue, RelId, Snapshot,
    Store, Sweep, TypeId,
};

/// Ids read together.
const CHUNK: u64 = 4096;

/// What a check found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// Stores checked, with the entries seen in each.
    pub checked: Vec<(String, u64)>,
    /// What is wrong, one sentence each; empty for a sound file.
    pub problems: Vec<String>,
}

/// Checks everything. `begins` is told the name of each store before it is read; where `stop` says
/// that nothing more is wanted, what is left is not read, and the report is of no use.
pub(crate) fn check(
    store: &Store,
    begins: &mut dyn FnMut(&str),
    stop: &(dyn Fn() -> bool + Sync),
) -> CheckReport {
    let snapshot = &store.snapshot();
    let mut check = Check {
        snapshot,
        report: CheckReport::default(),
        begins,
        stop,
    };
    (check.begins)("pages");
    match store.check_until(stop) {
        Ok(report) => {
            let problems = report.problems.into_iter();
            let said = problems.map(|problem| format!("{}: {}", problem.place, problem.what));
            check.report.problems.extend(said);
            let name = format!("pages ({} bytes)", report.bytes);
            check.report.checked.push((name, report.pages));
        }
        Err(error) => check.report.problems.push(format!("pages: {error}")),
    }
    check.labels();
    let catalog = snapshot.catalog();
    for store in catalog.stores() {
        if stop() {
            break;
        }
        match store.kind {
            StoreKind::NodeColumn(key) => check.node_column(key),
            StoreKind::RelationshipColumn(rel_type, key) => {
                check.relationship_column(rel_type, key);
            }
            StoreKind::Index(number) => {
                if let Some(index) = catalog.index_numbered(number) {
                    check.index(index);
                }
            }
            // One check for both directions of a type.
            StoreKind::Adjacency(rel_type, Direction::Out) => check.adjacency(rel_type),
            _ => {}
        }
    }
    check.report
}

struct Check<'a> {
    snapshot: &'a Snapshot,
    report: CheckReport,
    begins: &'a mut dyn FnMut(&str),
    stop: &'a (dyn Fn() -> bool + Sync),
}

/// What is said in the place of an outcome that is not wanted any more.
const STOPPED: &str = "not read to its end";

/// What a sweep over one direction saw.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct CheckedStore {
    pairs: u64,
    sum: u64,
}

impl Check<'_> {
    fn catalog(&self) -> &Catalog {
        self.snapshot.catalog()
    }

    /// Records the outcome of one store: entries seen, or what is wrong with it.
    fn record(&mut self, name: String, outcome: Result<u64, String>) {
        match outcome {
            Ok(entries) => self.report.checked.push((name, entries)),
            Err(problem) => self.report.problems.push(format!("{name}: {problem}")),
        }
    }

    /// As [`same`], with what the catalogue and later commits say of a store.
    fn as_expected(&self, seen: u64, kind: StoreKind) -> Result<u64, String> {
        match self.snapshot.expected_entries(kind).map_err(text)? {
            Some(said) => same(seen, said),
            None => Ok(seen),
        }
    }

    fn labels(&mut self) {
        let said = self.catalog().statistics().nodes;
        let seen = self.snapshot.all_nodes().map_err(text);
        let outcome = seen.and_then(|nodes| same(nodes.count(), said));
        self.record("labels of nodes".to_owned(), outcome);
    }

    fn adjacency(&mut self, rel_type: TypeId) {
        let name = self
            .catalog()
            .type_name(rel_type)
            .map_or(String::new(), ToString::to_string);
        (self.begins)(&name);
        let said = self.catalog().pattern_count(None, Some(rel_type), None);
        let outcome = self.directions(rel_type).and_then(|(forward, reverse)| {
            if forward == reverse {
                same(forward.pairs, said)
            } else {
                Err(format!(
                    "its directions hold different relationships ({} forward, {} reverse)",
                    forward.pairs, reverse.pairs
                ))
            }
        });
        self.record(format!("{name}, both directions"), outcome);
    }

    fn directions(&self, rel_type: TypeId) -> Result<(CheckedStore, CheckedStore), String> {
        let sweep = |direction| {
            let lists = self.snapshot.adjacency(rel_type, direction).map_err(text)?;
            self.sweep(&lists, direction)
        };
        Ok((sweep(Direction::Out)?, sweep(Direction::In)?))
    }

    fn sweep(&self, lists: &Adjacency, direction: Direction) -> Result<CheckedStore, String> {
        let mut swept = CheckedStore::default();
        let mut scratch = Vec::new();
        let mut wrong = None;
        let nodes = self.snapshot.all_nodes().map_err(text)?;
        let outcome = lists.sweep(nodes.iter(), Sweep::Up, |node, list| {
            if (self.stop)() {
                wrong = Some(STOPPED.to_owned());
                return Ok(ControlFlow::Break(()));
            }
            let ends = list.decode_wide(&mut scratch)?;
            if !ends.is_sorted() {
                wrong = Some(format!("the list of node {} does not ascend", node.0));
            }
            if let Some(end) = ends
                .iter()
                .find(|end| !self.snapshot.node_exists(NodeId(**end)))
            {
                wrong = Some(format!(
                    "node {} has a neighbour {end} that does not exist",
                    node.0
                ));
            }
            for end in ends {
                let pair = match direction {
                    Direction::Out => (node.0, *end),
                    Direction::In => (*end, node.0),
                };
                swept.pairs += 1;
                swept.sum = swept.sum.wrapping_add(hash(pair));
            }
            Ok(if wrong.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        });
        outcome.map_err(text)?;
        wrong.map_or(Ok(swept), Err)
    }

    fn node_column(&mut self, key: KeyId) {
        let name = format!("node property {}", self.key_name(key));
        (self.begins)(&name);
        let outcome = match self.snapshot.node_column(key) {
            Some(column) => {
                let ids = self.snapshot.all_nodes().map_err(text);
                ids.and_then(|ids| self.present(&column, ids.iter().map(|n| n.0)))
                    .and_then(|seen| self.as_expected(seen, StoreKind::NodeColumn(key)))
            }
            None => Err("the catalogue names it, the file has none".to_owned()),
        };
        self.record(name, outcome);
    }

    fn relationship_column(&mut self, rel_type: TypeId, key: KeyId) {
        let catalog = self.catalog();
        let type_name = catalog
            .type_name(rel_type)
            .map_or(String::new(), ToString::to_string);
        let name = format!("{type_name} property {}", self.key_name(key));
        (self.begins)(&name);
        let outcome = match self.snapshot.relationship_column(rel_type, key) {
            Some(column) => {
                let catalog = self.catalog();
                let limit = catalog.relationship_id_limit();
                let ids = (0..limit).filter(|id| {
                    // Relationships created after the load have ids of all types together.
                    let of = catalog.type_of(RelId(*id));
                    of.is_none_or(|of| of == rel_type)
                });
                let kind = StoreKind::RelationshipColumn(rel_type, key);
                self.present(&column, ids)
                    .and_then(|seen| self.as_expected(seen, kind))
            }
            None => Err("the catalogue names it, the file has none".to_owned()),
        };
        self.record(name, outcome);
    }

    fn index(&mut self, description: &IndexDescription) {
        let ([key], Some(label)) = (description.keys.as_slice(), description.label()) else {
            return;
        };
        let label_name = self.catalog().label_name(label).map_or("", |n| n);
        let name = format!("index {label_name}({})", self.key_name(*key));
        (self.begins)(&name);
        let outcome = self
            .indexed(label, *key)
            .and_then(|seen| self.as_expected(seen, StoreKind::Index(description.number)));
        self.record(name, outcome);
    }

    /// Nodes that the index finds under their value; an error at the first that it does not.
    fn indexed(&self, label: LabelId, key: KeyId) -> Result<u64, String> {
        let missing = || "the catalogue names it, the file has none".to_owned();
        let index = self.snapshot.index(label, key).ok_or_else(missing)?;
        let Some(column) = self.snapshot.node_column(key) else {
            return Ok(0);
        };
        let nodes = self.snapshot.nodes_with_label(label).map_err(text)?;
        let mut nodes = nodes.iter().map(|n| n.0).peekable();
        let (mut seen, mut missing) = (0, None);
        let mut check = |id: u64, value: &PropertyValue| {
            // Values that equal nothing are not in an index.
            let comparable = !matches!(value, PropertyValue::Null)
                && !matches!(value, PropertyValue::Float(x) if x.is_nan());
            if comparable {
                if missing.is_none() && !index.seek(value)?.contains(&NodeId(id)) {
                    missing = Some(format!("node {id} is not found under its value {value:?}"));
                }
                seen += 1;
            }
            Ok::<(), graven_storage::Error>(())
        };
        let mut chunk = Vec::new();
        while nodes.peek().is_some() {
            if (self.stop)() {
                return Err(STOPPED.to_owned());
            }
            chunk.clear();
            chunk.extend(nodes.by_ref().take(CHUNK as usize));
            column.each(&chunk, &mut check).map_err(text)?;
        }
        missing.map_or(Ok(seen), Err)
    }

    /// How many of the ids have a value.
    fn present(&self, column: &Column, ids: impl Iterator<Item = u64>) -> Result<u64, String> {
        let mut ids = ids.peekable();
        let (mut seen, mut chunk) = (0, Vec::new());
        while ids.peek().is_some() {
            if (self.stop)() {
                return Err(STOPPED.to_owned());
            }
            chunk.clear();
            chunk.extend(ids.by_ref().take(CHUNK as usize));
            let read = column.each(&chunk, |_, value| {
                seen += u64::from(!value.is_null());
                Ok::<(), graven_storage::Error>(())
            });
            read.map_err(text)?;
        }
        Ok(seen)
    }

    fn key_name(&self, key: KeyId) -> String {
        self.catalog()
            .key_name(key)
            .map_or(String::new(), ToString::to_string)
    }
}

fn same(seen: u64, said: u64) -> Result<u64, String> {
    if seen == said {
        Ok(seen)
    } else {
        Err(format!(
            "{seen} entries, the catalogue and later commits say {said}"
        ))
    }
}

fn hash((start, end): (u64, u64)) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write_u64(start);
    hasher.write_u64(end);
    hasher.finish()
}

fn text(error: graven_storage::Error) -> String {
    error.to_string()
}
