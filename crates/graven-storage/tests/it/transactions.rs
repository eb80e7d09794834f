//! Goal: whatever transactions do, in whatever interleaving, every reading operation on every
//! snapshot (old ones, new ones, those inside transactions) agrees with a naive model, also after
//! the log was read again. Method: random operations of two transactions at a time over a loaded
//! base.

use crate::naive::{self, Naive, Node, Relationship};
use graven_io::{FaultPlan, FaultyFile, File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache, SpillFile};
use graven_storage::{
    CheckpointOptions, Error, GraphBuilder, IndexKind, IndexSpec, KeyId, LabelId, LogPlace, NodeId,
    OpenOptions, PropertyValue, RelId, SchemaEntity, Snapshot, Store, Transaction,
    TransactionOptions, TypeId, Uniqueness,
};
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) const CACHE_BYTES: u64 = 8 << 20;

/// A log in memory.
#[derive(Clone, Debug)]
pub(crate) struct LogFile(pub(crate) Arc<dyn File>);

impl LogPlace for LogFile {
    fn path(&self) -> PathBuf {
        self.0.path().to_path_buf()
    }

    fn existing(&self) -> graven_storage::Result<Option<Arc<dyn File>>> {
        Ok((self.0.len()? > 0).then(|| self.0.clone()))
    }

    fn create(&self) -> graven_storage::Result<Arc<dyn File>> {
        Ok(self.0.clone())
    }

    fn remove(&self) {
        let _ = self.0.set_len(0);
    }
}

/// Opens a database with its log.
pub(crate) fn open(data: Arc<dyn File>, log: Arc<dyn File>) -> graven_storage::Result<Arc<Store>> {
    let cache = PageCache::new(Config::new(Budget::new(CACHE_BYTES)))?;
    Store::open_with(data, cache, OpenOptions::new(Box::new(LogFile(log))))
}

/// As [`open`], with temporary pages for changes of more than `spill_bytes`.
pub(crate) fn open_spilling(
    data: Arc<dyn File>,
    log: Arc<dyn File>,
    memory: u64,
    spill_bytes: Option<u64>,
    own_checkpoints: bool,
) -> graven_storage::Result<Arc<Store>> {
    let cache = PageCache::new(Config::new(Budget::new(memory)))?;
    let spilled: Arc<dyn File> = Arc::new(MemoryFile::new("temporary"));
    let place = Box::new(move || Ok(spilled.clone()));
    let spill = SpillFile::new(&cache, "temporary", u64::MAX, place)?;
    let mut options = OpenOptions::new(Box::new(LogFile(log)));
    options.spill = Some(Arc::new(spill));
    options.spill_bytes = spill_bytes;
    options.own_checkpoints = own_checkpoints;
    options.threads = 3;
    Store::open_with(data, cache, options)
}

/// The files of a database without anything in it.
pub(crate) fn empty() -> (MemoryFile, MemoryFile) {
    let data = MemoryFile::new("data");
    GraphBuilder::new().build(Arc::new(data.clone())).unwrap();
    (data, MemoryFile::new("log"))
}

/// A file of its own with the present content of `file`.
pub(crate) fn copy(file: &MemoryFile) -> Arc<dyn File> {
    Arc::new(MemoryFile::with_bytes("copy", &file.to_bytes()))
}

/// Twelve nodes, some relationships, an index: what transactions begin with.
pub(crate) fn base() -> GraphBuilder {
    let mut graph = GraphBuilder::new();
    let labels: [&[&str]; 4] = [&["L0"], &["L0", "L1"], &["L2"], &[]];
    for id in 0..12i64 {
        let properties = [
            ("k0", PropertyValue::Integer(id % 5)),
            ("k1", PropertyValue::string(&"t".repeat(id as usize % 3))),
            ("k2", PropertyValue::Null),
        ];
        graph.node(labels[id as usize % 4], &properties);
    }
    for number in 0..30u64 {
        let (start, end) = (NodeId(number * 7 % 12), NodeId(number * 5 % 11));
        let weight = [("k0", PropertyValue::Integer(number as i64))];
        let rel_type = ["T0", "T1"][number as usize % 2];
        graph.relationship(start, rel_type, end, &weight[..number as usize % 3 % 2]);
    }
    graph.index("L0", "k0", Uniqueness::Any);
    graph
}

#[derive(Clone, Debug)]
enum Step {
    CreateNode(u8, Vec<(u32, PropertyValue)>),
    /// More than goes into the layer of the newest commits.
    CreateMany(i64),
    CreateRelationship(u32, usize, usize, Vec<(u32, PropertyValue)>),
    ConnectMany(u32, usize, usize),
    SetNode(usize, u32, PropertyValue),
    SetRelationship(usize, u32, PropertyValue),
    AddLabel(usize, u32),
    RemoveLabel(usize, u32),
    DeleteRelationship(usize),
    DetachDelete(usize),
    CreateIndex(u32, u32),
    Check,
    Checkpoint,
    /// One that cannot write.
    FailingCheckpoint,
    Commit,
    Rollback,
}

fn value() -> impl Strategy<Value = PropertyValue> {
    prop_oneof![
        2 => Just(PropertyValue::Null),
        4 => (-3i64..6).prop_map(PropertyValue::Integer),
        1 => (-4i32..4).prop_map(|value| PropertyValue::Float(f64::from(value) / 2.0)),
        2 => "[ab]{0,3}".prop_map(|text| PropertyValue::string(&text)),
        1 => (1000usize..1003).prop_map(|length| PropertyValue::string(&format!("{}{}", "x".repeat(1100), length))),
    ]
}

fn properties() -> impl Strategy<Value = Vec<(u32, PropertyValue)>> {
    proptest::collection::vec((0..naive::KEYS, value()), 0..3)
}

fn step() -> impl Strategy<Value = Step> {
    let (at, key, label) = (0usize..64, 0..naive::KEYS, 0..naive::LABELS);
    prop_oneof![
        4 => (0u8..8, properties()).prop_map(|(labels, it)| Step::CreateNode(labels, it)),
        6 => (0..naive::TYPES, at.clone(), at.clone(), properties())
            .prop_map(|(of, a, b, it)| Step::CreateRelationship(of, a, b, it)),
        5 => (at.clone(), key.clone(), value()).prop_map(|(at, key, it)| Step::SetNode(at, key, it)),
        3 => (at.clone(), key.clone(), value()).prop_map(|(at, key, it)| Step::SetRelationship(at, key, it)),
        2 => (at.clone(), label.clone()).prop_map(|(at, label)| Step::AddLabel(at, label)),
        2 => (at.clone(), label.clone()).prop_map(|(at, label)| Step::RemoveLabel(at, label)),
        3 => at.clone().prop_map(Step::DeleteRelationship),
        1 => at.prop_map(Step::DetachDelete),
        1 => (label, key).prop_map(|(label, key)| Step::CreateIndex(label, key)),
        1 => Just(Step::Check),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::FailingCheckpoint),
        1 => (0i64..9).prop_map(Step::CreateMany),
        1 => (0..naive::TYPES, 0usize..64, 0usize..64).prop_map(|(of, a, b)| Step::ConnectMany(of, a, b)),
        3 => Just(Step::Commit),
        1 => Just(Step::Rollback),
    ]
}

/// What a step did, to be done again on the committed model.
type Redo = Box<dyn Fn(&mut Naive)>;

struct Running {
    transaction: Transaction,
    view: Naive,
    redo: Vec<Redo>,
    commits_at_start: usize,
}

impl Running {
    fn begin(store: &Arc<Store>, committed: &[(Naive, Snapshot)]) -> Running {
        let transaction = store.begin(TransactionOptions::default()).unwrap();
        for key in 0..naive::KEYS {
            assert_eq!(transaction.key(&format!("k{key}")).unwrap(), KeyId(key));
        }
        Running {
            transaction,
            view: committed.last().unwrap().0.clone(),
            redo: Vec::new(),
            commits_at_start: committed.len(),
        }
    }

    fn done(&mut self, redo: impl Fn(&mut Naive) + 'static) {
        redo(&mut self.view);
        self.redo.push(Box::new(redo));
    }

    fn node(&self, at: usize) -> Option<u64> {
        let count = self.view.nodes.len();
        self.view.nodes.keys().nth(at % count.max(1)).copied()
    }

    fn relationship(&self, at: usize) -> Option<u64> {
        let count = self.view.relationships.len();
        self.view
            .relationships
            .keys()
            .nth(at % count.max(1))
            .copied()
    }

    /// Nodes given by column, some without the first property.
    fn create_many(&mut self, label: u32, first: i64) {
        let numbers: Vec<i64> = (first..first + 14).collect();
        let short = |number: &i64| match number % 3 {
            0 => PropertyValue::Null,
            _ => PropertyValue::Integer(number % 7),
        };
        let long = |number: &i64| PropertyValue::string(&format!("{number}").repeat(600));
        let columns = vec![
            (KeyId(0), numbers.iter().map(short).collect()),
            (KeyId(2), numbers.iter().map(long).collect()),
        ];
        let labels = [LabelId(label)];
        let ids = self
            .transaction
            .create_nodes(&labels, numbers.len(), columns);
        for (id, number) in ids.unwrap().into_iter().zip(&numbers) {
            let mut properties = std::collections::BTreeMap::new();
            set(&mut properties, 0, &short(number));
            set(&mut properties, 2, &long(number));
            let labels = [label].into();
            let node = Node { labels, properties };
            self.done(move |graph| {
                graph.nodes.insert(id, node.clone());
            });
        }
    }

    /// Relationships given by column, some without the first property.
    fn connect_many(&mut self, of: u32, a: usize, b: usize) {
        let ends = (0..20).map(|at| Some((self.node(a + at)?, self.node(b + at / 7)?)));
        let Some(ends) = ends.collect::<Option<Vec<_>>>() else {
            return;
        };
        let weight = |at: usize| match at % 3 {
            0 => PropertyValue::Null,
            _ => PropertyValue::Integer(at as i64 % 5),
        };
        let name = |at: usize| PropertyValue::string(&format!("{of} {at}"));
        let columns = vec![
            (KeyId(0), (0..ends.len()).map(weight).collect()),
            (KeyId(1), (0..ends.len()).map(name).collect()),
        ];
        let both: Vec<_> = (ends.iter())
            .map(|(start, end)| (NodeId(*start), NodeId(*end)))
            .collect();
        let made = self
            .transaction
            .create_relationships(TypeId(of), &both, columns);
        for (at, (id, (start, end))) in made.unwrap().into_iter().zip(ends).enumerate() {
            let mut properties = std::collections::BTreeMap::new();
            set(&mut properties, 0, &weight(at));
            set(&mut properties, 1, &name(at));
            let relationship = Relationship {
                rel_type: of,
                start,
                end,
                properties,
            };
            self.done(move |graph| {
                graph.relationships.insert(id, relationship.clone());
            });
        }
    }

    fn run(&mut self, step: &Step) {
        let it = &self.transaction;
        let keyed = |given: &[(u32, PropertyValue)]| -> Vec<(KeyId, PropertyValue)> {
            given
                .iter()
                .map(|(key, value)| (KeyId(*key), value.clone()))
                .collect()
        };
        let present = |given: &[(u32, PropertyValue)]| {
            let mut map = std::collections::BTreeMap::new();
            for (key, value) in given {
                set(&mut map, *key, value);
            }
            map
        };
        match step {
            Step::CreateNode(bits, given) => {
                let labels: Vec<LabelId> = (0..naive::LABELS)
                    .filter(|bit| bits >> bit & 1 == 1)
                    .map(LabelId)
                    .collect();
                let id = it.create_node(&labels, &keyed(given)).unwrap();
                let node = Node {
                    labels: labels.iter().map(|label| label.0).collect(),
                    properties: present(given),
                };
                self.done(move |graph| {
                    graph.nodes.insert(id.0, node.clone());
                });
            }
            Step::CreateMany(first) => {
                for label in 0..3 {
                    self.create_many(label, *first + i64::from(label));
                }
            }
            Step::ConnectMany(of, a, b) => self.connect_many(*of, *a, *b),
            Step::CreateRelationship(of, a, b, given) => {
                let (Some(start), Some(end)) = (self.node(*a), self.node(*b)) else {
                    return;
                };
                let made =
                    it.create_relationship(NodeId(start), TypeId(*of), NodeId(end), &keyed(given));
                let id = made.unwrap();
                let relationship = Relationship {
                    rel_type: *of,
                    start,
                    end,
                    properties: present(given),
                };
                self.done(move |graph| {
                    graph.relationships.insert(id.0, relationship.clone());
                });
            }
            Step::SetNode(at, key, value) => {
                let Some(id) = self.node(*at) else { return };
                it.set_node_property(NodeId(id), KeyId(*key), value)
                    .unwrap();
                // Removing what is not there is no change, and so no conflict.
                if value.is_null() && !self.view.nodes[&id].properties.contains_key(key) {
                    return;
                }
                let (key, value) = (*key, value.clone());
                self.done(move |graph| {
                    set(
                        &mut graph.nodes.get_mut(&id).unwrap().properties,
                        key,
                        &value,
                    )
                });
            }
            Step::SetRelationship(at, key, value) => {
                let Some(id) = self.relationship(*at) else {
                    return;
                };
                it.set_relationship_property(RelId(id), KeyId(*key), value)
                    .unwrap();
                if value.is_null() && !self.view.relationships[&id].properties.contains_key(key) {
                    return;
                }
                let (key, value) = (*key, value.clone());
                self.done(move |graph| {
                    set(
                        &mut graph.relationships.get_mut(&id).unwrap().properties,
                        key,
                        &value,
                    );
                });
            }
            Step::AddLabel(at, label) => {
                let Some(id) = self.node(*at) else { return };
                let added = it.add_label(NodeId(id), LabelId(*label)).unwrap();
                assert_eq!(added, !self.view.nodes[&id].labels.contains(label));
                // Adding what is there already is no change, and so no conflict with a deletion.
                if !added {
                    return;
                }
                let label = *label;
                self.done(move |graph| {
                    graph.nodes.get_mut(&id).unwrap().labels.insert(label);
                });
            }
            Step::RemoveLabel(at, label) => {
                let Some(id) = self.node(*at) else { return };
                let removed = it.remove_label(NodeId(id), LabelId(*label)).unwrap();
                assert_eq!(removed, self.view.nodes[&id].labels.contains(label));
                if !removed {
                    return;
                }
                let label = *label;
                self.done(move |graph| {
                    graph.nodes.get_mut(&id).unwrap().labels.remove(&label);
                });
            }
            Step::DeleteRelationship(at) => {
                let Some(id) = self.relationship(*at) else {
                    return;
                };
                assert!(it.delete_relationship(RelId(id)).unwrap());
                assert!(!it.delete_relationship(RelId(id)).unwrap());
                self.done(move |graph| {
                    graph.relationships.remove(&id);
                });
            }
            Step::DetachDelete(at) => {
                let Some(id) = self.node(*at) else { return };
                let touching = move |it: &Relationship| it.start == id || it.end == id;
                let expected = self
                    .view
                    .relationships
                    .values()
                    .filter(|it| touching(it))
                    .count();
                assert_eq!(it.detach_delete_node(NodeId(id)).unwrap(), expected as u64);
                assert!(!it.delete_node(NodeId(id)).unwrap());
                self.done(move |graph| {
                    graph.nodes.remove(&id);
                    graph.relationships.retain(|_, it| !touching(it));
                });
            }
            Step::CreateIndex(label, key) => {
                let spec = IndexSpec {
                    name: None,
                    entity: SchemaEntity::Node(LabelId(*label)),
                    keys: vec![KeyId(*key)],
                    unique: false,
                    kind: IndexKind::Range,
                };
                let made = it.create_index(&spec, &|| false);
                assert!(made.is_ok() || matches!(made, Err(Error::SchemaExists { .. })));
            }
            Step::Check => self.view.check(&it.snapshot()),
            Step::Checkpoint | Step::FailingCheckpoint | Step::Commit | Step::Rollback => {
                unreachable!("handled by the caller")
            }
        }
    }
}

fn set(
    properties: &mut std::collections::BTreeMap<u32, PropertyValue>,
    key: u32,
    value: &PropertyValue,
) {
    if value.is_null() {
        properties.remove(&key);
    } else {
        properties.insert(key, value.clone());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn snapshots_agree_with_a_model(
        steps in proptest::collection::vec((0usize..2, step()), 1..80),
        spill_bytes in proptest::option::of(0u64..2000),
        own_checkpoints in any::<bool>(),
    ) {
        let (data, log) = (MemoryFile::new("data"), MemoryFile::new("log"));
        base().build(Arc::new(data.clone())).unwrap();
        let open = |data, log| open_spilling(data, log, CACHE_BYTES, spill_bytes, own_checkpoints);
        let faulty = FaultyFile::new(Arc::new(data.clone()), FaultPlan::default());
        let disk = faulty.control();
        let store = open(Arc::new(faulty), Arc::new(log.clone())).unwrap();
        let first = store.snapshot();
        let mut committed = vec![(Naive::of(&first), first)];
        let mut running: [Option<Running>; 2] = [None, None];
        for (slot, step) in &steps {
            let mut it = running[*slot].take().unwrap_or_else(|| Running::begin(&store, &committed));
            match step {
                Step::Commit => {
                    let alone = it.commits_at_start == committed.len();
                    match it.transaction.commit() {
                        Ok(_) => {
                            let mut graph = committed.last().unwrap().0.clone();
                            it.redo.iter().for_each(|redo| redo(&mut graph));
                            committed.push((graph, store.snapshot()));
                        }
                        Err(error) => prop_assert!(error.is_retryable() && !alone, "{error}"),
                    }
                }
                Step::Rollback => it.transaction.rollback(),
                Step::Checkpoint => {
                    store.checkpoint(CheckpointOptions::default()).unwrap();
                    running[*slot] = Some(it);
                }
                // The store's own one may write its superblock just then. If that fails, there are
                // no more checkpoints (CK-5).
                Step::FailingCheckpoint if own_checkpoints => running[*slot] = Some(it),
                Step::FailingCheckpoint => {
                    disk.set_plan(FaultPlan { write_error: 1.0, ..FaultPlan::default() });
                    let done = store.checkpoint(CheckpointOptions::default());
                    disk.set_plan(FaultPlan::default());
                    prop_assert!(!matches!(done, Ok(Some(_))), "{done:?}");
                    running[*slot] = Some(it);
                }
                _ => {
                    it.run(step);
                    running[*slot] = Some(it);
                }
            }
        }
        for it in running.iter().flatten() {
            it.view.check(&it.transaction.snapshot());
        }
        drop(running);
        for (graph, snapshot) in &committed {
            graph.check(snapshot);
            let labels = snapshot.catalog().labels().len() as u32;
            for label in (0..labels).map(LabelId) {
                let count = graph.nodes.values().filter(|it| it.labels.contains(&label.0)).count();
                assert_eq!(snapshot.catalog().label_count(label), count as u64);
            }
        }
        let newest = &committed.last().unwrap().0;
        // Twice, from the same bytes: once as after a crash, once after a clean close.
        newest.check(&open(copy(&data), copy(&log)).unwrap().snapshot());
        store.close().unwrap();
        let again = open(Arc::new(data), Arc::new(log)).unwrap();
        newest.check(&again.snapshot());
        let description = |store: &Store| store.snapshot().catalog().indexes().len();
        prop_assert_eq!(description(&again), description(&store));
    }
}

/// More connected nodes than a transaction keeps in mind at first are deleted before their
/// relationships: those that stay are not looked at again for each that comes, which would take
/// hours here.
#[test]
fn many_connected_nodes_are_deleted_before_their_relationships() {
    let (data, log) = (MemoryFile::new("data"), MemoryFile::new("log"));
    base().build(Arc::new(data.clone())).unwrap();
    let (data, log) = (Arc::new(data), Arc::new(log));
    let store = open_spilling(data, log, 512 << 20, None, false).unwrap();
    let begin = || store.begin(TransactionOptions::default()).unwrap();
    let one = begin();
    let nodes = one.create_nodes(&[], 150_000, Vec::new()).unwrap();
    let pairs = nodes.iter().zip(&nodes[1..]).step_by(2);
    let pairs: Vec<RelId> = pairs
        .map(|(a, b)| {
            let made = one.create_relationship(NodeId(*a), TypeId(0), NodeId(*b), &[]);
            made.unwrap()
        })
        .collect();
    one.commit().unwrap();
    let one = begin();
    for node in &nodes {
        assert!(one.delete_node(NodeId(*node)).unwrap());
    }
    let refused = one.check_statement();
    assert!(matches!(refused, Err(Error::NodeHasRelationships { .. })));
    for pair in pairs {
        assert!(one.delete_relationship(pair).unwrap());
    }
    one.check_statement().unwrap();
    one.commit().unwrap();
}

#[test]
fn a_node_with_relationships_stays() {
    let (data, log) = (MemoryFile::new("data"), MemoryFile::new("log"));
    base().build(Arc::new(data.clone())).unwrap();
    let store = open(Arc::new(data), Arc::new(log)).unwrap();
    let begin = || store.begin(TransactionOptions::default()).unwrap();
    let one = begin();
    assert!(one.delete_node(NodeId(0)).unwrap());
    assert!(matches!(
        one.check_statement(),
        Err(Error::NodeHasRelationships { node: 0, .. })
    ));
    drop(one);
    // Deleting a node and connecting it at once cannot both succeed.
    let (one, other) = (begin(), begin());
    one.detach_delete_node(NodeId(0)).unwrap();
    other
        .create_relationship(NodeId(0), TypeId(0), NodeId(1), &[])
        .unwrap();
    one.commit().unwrap();
    assert!(other.commit().unwrap_err().is_retryable());
    // Creations on one hub never conflict.
    let (one, other) = (begin(), begin());
    for it in [&one, &other] {
        it.create_relationship(NodeId(1), TypeId(0), NodeId(2), &[])
            .unwrap();
    }
    one.commit().unwrap();
    other.commit().unwrap();
}
