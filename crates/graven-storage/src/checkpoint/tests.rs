//! Goal: whatever changes are merged in, however often, the file reads as a naive graph with the
//! same changes, every count is exact, and the check finds nothing; wherever a crash comes, the
//! file holds the state before or after.

mod model;

use super::{CheckpointOptions, Checkpointer};
use crate::catalog::{Catalog, IndexDescription};
use crate::data_file::FileRoot;
use crate::ids::{KeyId, LabelId};
use crate::schema::SchemaEntity;
use crate::store::Store;
use crate::{GraphBuilder, NodeId, Uniqueness};
use graven_io::{Crash, CrashOutcome, Fault, FaultPlan, FaultyFile, File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache};
use graven_types::PropertyValue;
use model::{Difference, Graph, compare};
use parking_lot::Mutex;
use std::sync::Arc;

const CACHE_BYTES: u64 = 4 << 20;
const OPTIONS: CheckpointOptions = CheckpointOptions {
    paced: false,
    compact: true,
    until: None,
};

/// Chance with a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn pick(&mut self, from: &[u64]) -> u64 {
        from[self.below(from.len() as u64) as usize]
    }

    fn value(&mut self) -> PropertyValue {
        match self.below(12) {
            0..=3 => PropertyValue::Integer(self.below(50) as i64 - 20),
            4 => PropertyValue::Integer(self.0 as i64),
            5 => PropertyValue::Float(self.below(9) as f64 / 2.0),
            6 => PropertyValue::Boolean(self.one_in(2)),
            7 => PropertyValue::string(&"long ".repeat(self.below(3000) as usize)),
            8 => PropertyValue::from(vec![PropertyValue::Integer(self.below(4) as i64)]),
            9 => PropertyValue::Null,
            _ => PropertyValue::string(&format!("text {}", self.below(30))),
        }
    }
}

/// An open file with its checkpoints, as the store has them.
struct Bench {
    file: Arc<dyn File>,
    root: Arc<FileRoot>,
    checkpointer: Checkpointer,
    graph: Graph,
}

impl Bench {
    fn open(file: Arc<dyn File>, cache_bytes: u64) -> crate::Result<Bench> {
        let cache = PageCache::new(Config::new(Budget::new(cache_bytes)))?;
        let found = crate::superblock::read(&*file)?;
        let pages = Arc::new(crate::pages::Pages::open(file.clone(), cache)?);
        let shared = Arc::new(Mutex::new(found.clone()));
        let root = Arc::new(FileRoot::open(pages, found)?);
        Ok(Bench {
            file,
            graph: Graph::read(&root),
            root,
            checkpointer: Checkpointer::new(shared),
        })
    }

    fn build(builder: &GraphBuilder) -> Bench {
        let file: Arc<dyn File> = Arc::new(MemoryFile::new("bench.graven"));
        builder.build(file.clone()).unwrap();
        Bench::open(file, CACHE_BYTES).unwrap()
    }

    /// Merges the way to `new` in.
    fn checkpoint(&mut self, catalog: Catalog, new: Graph) -> crate::Result<()> {
        let changes = Difference::new(&self.root.catalog, catalog, &self.graph, &new);
        self.merge(&changes, new)
    }

    fn merge(&mut self, changes: &Difference, new: Graph) -> crate::Result<()> {
        let (root, _) = self.checkpointer.merge(&self.root, changes, OPTIONS)?;
        self.install_base(root)?;
        self.graph = new;
        if self.checkpointer.is_sparse(&self.root)? {
            let (root, _) = self.checkpointer.compact(&self.root, OPTIONS)?;
            self.install_base(root)?;
            self.checkpointer.settle(&self.root)?;
        }
        Ok(())
    }

    fn install_base(&mut self, root: FileRoot) -> crate::Result<()> {
        let number = self.root.found.superblock.checkpoint;
        let old = std::mem::replace(&mut self.root, Arc::new(root));
        let weak = Arc::downgrade(&old);
        drop(old);
        self.checkpointer.installed((number, weak), &self.root)
    }

    /// The file reads as the graph, by this root and opened anew.
    fn verify(&self) {
        compare(&self.root, &self.graph);
        let cache = PageCache::new(Config::new(Budget::new(CACHE_BYTES))).unwrap();
        let store = Store::open(self.file.clone(), cache).unwrap();
        assert_eq!(store.check().unwrap().problems, []);
    }

    fn units(&self) -> u64 {
        self.file.len().unwrap() / 4096
    }
}

/// A graph with labels, parallel relationships, loops, long values and two indexes.
fn sample(nodes: u64, relationships: u64, chance: &mut Chance) -> GraphBuilder {
    let mut builder = GraphBuilder::new();
    for id in 0..nodes {
        let labels: &[&str] = match chance.below(4) {
            0 => &["A"],
            1 => &["A", "B"],
            2 => &["C"],
            _ => &[],
        };
        builder.node(
            labels,
            &[
                ("id", PropertyValue::Integer(id as i64 * 3)),
                ("x", chance.value()),
                (
                    "name",
                    PropertyValue::string(&format!("name {}", chance.below(40))),
                ),
            ],
        );
    }
    for _ in 0..relationships {
        let rel_type = ["T", "U", "V"][chance.below(3) as usize];
        let (start, end) = (chance.below(nodes), chance.below(nodes.min(7) * nodes / 7));
        builder.relationship(
            NodeId(start),
            rel_type,
            NodeId(end),
            &[("w", chance.value())],
        );
    }
    builder.index("A", "id", Uniqueness::Unique);
    builder.index("C", "x", Uniqueness::Any);
    builder
}

/// Changes some of everything.
fn change(graph: &mut Graph, catalog: &mut Catalog, steps: u64, chance: &mut Chance) {
    let extra = catalog.keys.intern(&format!("key {}", chance.below(3)));
    let rel_type = catalog.types.intern(&format!("type {}", chance.below(3)));
    let label = catalog.labels.intern(&format!("label {}", chance.below(3)));
    for _ in 0..steps {
        let nodes: Vec<u64> = match chance.below(8) {
            0 => graph.nodes.keys().copied().take(3).collect(),
            _ => graph.nodes.keys().copied().collect(),
        };
        let relationships: Vec<u64> = graph.relationships.keys().copied().collect();
        match chance.below(14) {
            0 | 1 => {
                let labels = [chance.below(3) as u32, label];
                let node = graph.create_node(&labels[..chance.below(3) as usize]);
                graph.next_node += chance.below(2);
                let value = PropertyValue::Integer(node as i64 * 3);
                graph
                    .nodes
                    .get_mut(&node)
                    .unwrap()
                    .properties
                    .insert(0, value);
            }
            2..=5 if !nodes.is_empty() => {
                let of = [0, 1, rel_type][chance.below(3) as usize];
                graph.connect(of, chance.pick(&nodes), chance.pick(&nodes));
                graph.next_relationship += chance.below(2);
            }
            6 if !nodes.is_empty() && chance.one_in(3) => graph.detach_delete(chance.pick(&nodes)),
            7 if !relationships.is_empty() => {
                graph.relationships.remove(&chance.pick(&relationships));
            }
            8 if !nodes.is_empty() => {
                let node = graph.nodes.get_mut(&chance.pick(&nodes)).unwrap();
                let label = [0, 1, 2, label][chance.below(4) as usize];
                if !node.labels.remove(&label) {
                    node.labels.insert(label);
                }
            }
            9..=11 if !nodes.is_empty() => {
                let node = graph.nodes.get_mut(&chance.pick(&nodes)).unwrap();
                set(
                    &mut node.properties,
                    [1, 2, extra][chance.below(3) as usize],
                    chance,
                );
            }
            12 | 13 if !relationships.is_empty() => {
                let id = chance.pick(&relationships);
                let it = graph.relationships.get_mut(&id).unwrap();
                set(
                    &mut it.properties,
                    [3, extra][chance.below(2) as usize],
                    chance,
                );
            }
            _ => {}
        }
    }
}

fn set(properties: &mut model::Properties, key: u32, chance: &mut Chance) {
    match chance.value() {
        PropertyValue::Null => _ = properties.remove(&key),
        value => _ = properties.insert(key, value),
    }
}

#[test]
fn rounds_of_changes_agree_with_a_model() {
    for seed in 1u64..=12 {
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15 ^ seed << 20);
        let (nodes, relationships) = (20 + chance.below(200), chance.below(900));
        let mut bench = Bench::build(&sample(nodes, relationships, &mut chance));
        bench.verify();
        for round in 0..6 {
            let mut catalog = bench.root.catalog.clone();
            let mut graph = bench.graph.clone();
            let steps = [1, 5, 60, 400][chance.below(4) as usize];
            change(&mut graph, &mut catalog, steps, &mut chance);
            if round == 2 {
                schema(&mut catalog);
            }
            bench.checkpoint(catalog, graph).unwrap();
            bench.verify();
        }
    }
}

/// One index goes, another comes.
fn schema(catalog: &mut Catalog) {
    catalog.indexes.retain(|index| index.number != 0);
    let entity = SchemaEntity::Node(LabelId(1));
    let number = catalog.next_index;
    catalog.next_index += 1;
    let index = IndexDescription::new(number, "of names", entity, &[KeyId(2)], false);
    catalog.indexes.push(index);
}

/// Lists longer than a segment: parts change one by one, appear, vanish, become one list again.
#[test]
fn long_lists_change_in_parts() {
    const NODES: u64 = 90_000;
    let mut chance = Chance(77);
    let mut builder = GraphBuilder::new();
    for _ in 0..NODES {
        builder.node(&["A"], &[]);
    }
    for node in 1..NODES {
        builder.relationship(NodeId(0), "T", NodeId(node), &[]);
        if node % 3 == 0 {
            builder.relationship(NodeId(node), "T", NodeId(7), &[]);
            builder.relationship(NodeId(0), "T", NodeId(3000), &[]);
        }
    }
    let mut bench = Bench::build(&builder);
    for round in 0..5 {
        let (catalog, mut graph) = (bench.root.catalog.clone(), bench.graph.clone());
        let ids: Vec<u64> = graph.relationships.keys().copied().collect();
        match round {
            // Scattered changes; parallel relationships that stand in several parts.
            0 | 1 => {
                for _ in 0..40 {
                    graph.relationships.remove(&chance.pick(&ids));
                    graph.connect(0, 0, chance.below(NODES));
                    graph.connect(0, chance.below(NODES), 7);
                }
                let parallel = |it: &model::Relationship| it.start == 0 && it.end == 3000;
                let parallel = graph.relationships.iter().filter(|(_, it)| parallel(it));
                let some: Vec<u64> = parallel.map(|(id, _)| *id).step_by(3).collect();
                some.iter()
                    .for_each(|id| _ = graph.relationships.remove(id));
            }
            // A new long list, and one in the middle of a segment.
            2 => {
                for node in 0..30_000 {
                    graph.connect(0, 500, node * 2);
                    graph.connect(0, node * 2 + 1, 500);
                }
            }
            // Most of it goes.
            3 => graph.relationships.retain(|id, _| id % 50 == 0),
            _ => graph.relationships.clear(),
        }
        bench.checkpoint(catalog, graph).unwrap();
        bench.verify();
    }
}

/// What a crash leaves is the state before or after, whatever of the writes survives, at every
/// write and sync.
#[test]
fn crashes_leave_the_state_before_or_after() {
    let mut points = 0;
    for seed in 1u64..=3 {
        let mut chance = Chance(seed << 33 | 5);
        let built = Bench::build(&sample(60, 300, &mut chance));
        let mut bytes = vec![0; built.file.len().unwrap() as usize];
        built.file.read_exact_at(&mut bytes, 0).unwrap();
        let (mut catalog, mut after) = (built.root.catalog.clone(), built.graph.clone());
        change(&mut after, &mut catalog, 200, &mut chance);
        let (mut next_catalog, mut last) = (catalog.clone(), after.clone());
        change(&mut last, &mut next_catalog, 200, &mut chance);
        for operation in 0.. {
            let inner: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("crash.graven", &bytes));
            let faulty = FaultyFile::new(inner, FaultPlan::default());
            let control = faulty.control();
            let mut bench = Bench::open(Arc::new(faulty), CACHE_BYTES).unwrap();
            control.arm(Fault::PowerOff, operation);
            let first = bench.checkpoint(catalog.clone(), after.clone());
            let both = first.and_then(|()| bench.checkpoint(next_catalog.clone(), last.clone()));
            for survival in [
                CrashOutcome::None,
                CrashOutcome::All,
                CrashOutcome::Prefix,
                CrashOutcome::Any,
            ] {
                let image = control
                    .crash_image(Crash {
                        seed: operation,
                        survival,
                    })
                    .unwrap();
                let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("image.graven", &image));
                let mut left = Bench::open(file, CACHE_BYTES).unwrap();
                let known = [&built.graph, &after, &last];
                let state = known.iter().position(|graph| **graph == left.graph);
                let state = state.expect("the state before or after");
                left.verify();
                // Life goes on from there.
                if survival == CrashOutcome::Any && state < 2 {
                    let next = [(&catalog, &after), (&next_catalog, &last)][state];
                    left.checkpoint(next.0.clone(), next.1.clone()).unwrap();
                    left.verify();
                }
                points += 1;
            }
            if both.is_ok() {
                break;
            }
        }
    }
    assert!(points > 200, "{points} crash points");
}

/// CK-5: after a failed sync there are no more checkpoints; a full disk only ends the one that met
/// it.
#[test]
fn failures_are_told_and_bounded() {
    let mut chance = Chance(99);
    let built = Bench::build(&sample(60, 300, &mut chance));
    let mut bytes = vec![0; built.file.len().unwrap() as usize];
    built.file.read_exact_at(&mut bytes, 0).unwrap();
    let (mut catalog, mut after) = (built.root.catalog.clone(), built.graph.clone());
    change(&mut after, &mut catalog, 100, &mut chance);
    for (fault, goes_on) in [(Fault::SyncError, false), (Fault::StorageFull, true)] {
        let inner: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("fault.graven", &bytes));
        let faulty = FaultyFile::new(inner, FaultPlan::default());
        let control = faulty.control();
        let mut bench = Bench::open(Arc::new(faulty), CACHE_BYTES).unwrap();
        control.arm(fault, 0);
        bench
            .checkpoint(catalog.clone(), after.clone())
            .unwrap_err();
        compare(&bench.root, &bench.graph);
        let again = bench.checkpoint(catalog.clone(), after.clone());
        assert_eq!(again.is_ok(), goes_on, "{again:?}");
        if goes_on {
            bench.verify();
        } else {
            assert!(matches!(
                again,
                Err(crate::Error::CheckpointsStopped { .. })
            ));
        }
    }
}

/// CK-5: a checkpoint that lacks memory, whatever it is doing then, is undone and comes out when
/// there is some. Every attempt has a little more than the one before; names make the catalogue
/// large, which is read last.
#[test]
fn a_lack_of_memory_only_ends_its_checkpoint() {
    let mut chance = Chance(7);
    let mut builder = sample(60, 300, &mut chance);
    for number in 0..400 {
        let name = format!("{number} {}", "a name that is long ".repeat(4));
        builder.node(&["A"], &[(&name, PropertyValue::Integer(number))]);
    }
    let mut bench = Bench::build(&builder);
    let (mut catalog, mut after) = (bench.root.catalog.clone(), bench.graph.clone());
    change(&mut after, &mut catalog, 100, &mut chance);
    let budget = bench.root.pages.budget().clone();
    let mut failed = Vec::new();
    for room in (0..2 << 20).step_by(4 << 10) {
        let mut held = budget.empty_reservation("held by the test");
        for bytes in [1 << 20, 64 << 10, 4 << 10] {
            while held.grow(bytes).is_ok() {}
        }
        held.shrink(room);
        let changes = Difference::new(&bench.root.catalog, catalog.clone(), &bench.graph, &after);
        let merged = bench.checkpointer.merge(&bench.root, &changes, OPTIONS);
        drop(held);
        match merged {
            Err(error) => {
                assert!(error.is_memory(), "with {room} bytes: {error}");
                failed.push(error.to_string());
                compare(&bench.root, &bench.graph);
            }
            Ok((root, _)) => {
                bench.install_base(root).unwrap();
                bench.graph = after;
                break;
            }
        }
    }
    bench.verify();
    let last = failed.last().expect("some attempts fail");
    assert!(last.contains("catalogue"), "{last}");
    // What the attempts wrote is free again.
    for _ in 0..2 {
        let (catalog, graph) = (bench.root.catalog.clone(), bench.graph.clone());
        bench.checkpoint(catalog, graph).unwrap();
    }
    bench.verify();
}

/// Scattered updates leave the file about as long as its content: at most 1.2 times after two
/// checkpoints, 2.2 times in between, and no unit is lost or used twice (`verify` checks it).
#[test]
fn space_comes_back() {
    let mut chance = Chance(4242);
    let mut builder = GraphBuilder::new();
    for id in 0..60_000i64 {
        let text = format!("{}", chance.below(1 << 40));
        let properties = [
            ("id", PropertyValue::Integer(id)),
            ("text", PropertyValue::string(&text)),
            (
                "long",
                PropertyValue::string(&"x".repeat(if id % 500 == 0 { 9000 } else { 3 })),
            ),
        ];
        builder.node(&["A"], &properties);
    }
    for _ in 0..150_000 {
        let (start, end) = (chance.below(60_000), chance.below(60_000));
        builder.relationship(NodeId(start), "T", NodeId(end), &[]);
    }
    builder.index("A", "id", Uniqueness::Unique);
    let mut bench = Bench::build(&builder);
    let before = bench.units();
    let mut peak = before;
    for round in 0..4 {
        for _ in 0..2 {
            let (catalog, mut graph) = (bench.root.catalog.clone(), bench.graph.clone());
            for _ in 0..2_500 {
                let node = chance.below(60_000);
                let properties = &mut graph.nodes.get_mut(&node).unwrap().properties;
                match chance.below(4) {
                    0 => properties.insert(
                        0,
                        PropertyValue::Integer(
                            chance.below(1 << 20) as i64 + (1 << 20) + node as i64,
                        ),
                    ),
                    _ => properties.insert(
                        1,
                        PropertyValue::string(&format!("{}", chance.below(1 << 40))),
                    ),
                };
                let id = graph.connect(0, node, chance.below(60_000));
                if chance.one_in(2) {
                    graph.relationships.remove(&id);
                }
            }
            let changes = Difference::new(&bench.root.catalog, catalog, &bench.graph, &graph);
            let (root, report) = bench
                .checkpointer
                .merge(&bench.root, &changes, OPTIONS)
                .unwrap();
            peak = peak.max(bench.units()).max(report.file_bytes / 4096);
            bench.install_base(root).unwrap();
            bench.graph = graph;
        }
        let (catalog, graph) = (bench.root.catalog.clone(), bench.graph.clone());
        bench.checkpoint(catalog, graph).unwrap();
        let report = bench.units();
        assert!(
            report * 10 <= before * 12 + before * round,
            "{report} units after {before}"
        );
    }
    assert!(
        peak * 10 <= before * 24,
        "at most {peak} units after {before}"
    );
    bench.verify();
}

/// A snapshot of an old root reads what it always read, whatever checkpoints come; then its pages
/// are free.
#[test]
fn old_roots_keep_their_pages() {
    let mut chance = Chance(31);
    let mut bench = Bench::build(&sample(100, 500, &mut chance));
    let (old, old_graph) = (bench.root.clone(), bench.graph.clone());
    for _ in 0..6 {
        let (mut catalog, mut graph) = (bench.root.catalog.clone(), bench.graph.clone());
        change(&mut graph, &mut catalog, 100, &mut chance);
        bench.checkpoint(catalog, graph).unwrap();
        bench.verify();
        compare(&old, &old_graph);
    }
    let held = bench.units();
    drop(old);
    for _ in 0..3 {
        let (catalog, graph) = (bench.root.catalog.clone(), bench.graph.clone());
        bench.checkpoint(catalog, graph).unwrap();
    }
    bench.verify();
    assert!(
        bench.units() < held,
        "{} units, {held} before",
        bench.units()
    );
}

/// A root that is held for long costs its own state, not one for every checkpoint that comes after
/// it.
#[test]
fn an_old_root_holds_one_state() {
    let nodes = 20_000;
    let mut chance = Chance(78);
    let mut builder = GraphBuilder::new();
    let text = |chance: &mut Chance| PropertyValue::string(&format!("{}", chance.below(1 << 40)));
    for _ in 0..nodes {
        builder.node(&["A"], &[("text", text(&mut chance))]);
    }
    let mut bench = Bench::build(&builder);
    let (old, content) = (bench.root.clone(), bench.units());
    for _ in 0..10 {
        let (catalog, mut graph) = (bench.root.catalog.clone(), bench.graph.clone());
        for node in (0..nodes).step_by(50) {
            let properties = &mut graph.nodes.get_mut(&node).unwrap().properties;
            properties.insert(0, text(&mut chance));
        }
        bench.checkpoint(catalog, graph).unwrap();
        // The old one, the durable one, the one that is written.
        let units = bench.units();
        assert!(units * 10 <= content * 33, "{units} units of {content}");
        // Nor does the record of which checkpoint wrote which page grow.
        let remembered = bench.checkpointer.remembered(&bench.root);
        assert!((1..=2 * content).contains(&remembered), "{remembered}");
        let holders = bench.root.pages.budget().holders();
        let charged = holders.iter().find(|holder| holder.tag == "free space");
        let charged = charged.map_or(0, |holder| holder.bytes);
        assert!(charged >= 8 * remembered, "{charged} of {remembered} pages");
    }
    bench.verify();
    drop(old);
}

/// What came and went between two checkpoints may be told as gone: it changes nothing, parallel
/// ones least of all.
#[test]
fn what_never_was_may_go() {
    let mut builder = GraphBuilder::new();
    (0..4).for_each(|_| _ = builder.node(&["A"], &[]));
    for _ in 0..3 {
        builder.relationship(NodeId(1), "T", NodeId(2), &[]);
    }
    let mut bench = Bench::build(&builder);
    let (catalog, mut graph) = (bench.root.catalog.clone(), bench.graph.clone());
    graph.next_relationship += 5;
    graph.relationships.remove(&1);
    let mut changes = Difference::new(&bench.root.catalog, catalog, &bench.graph, &graph);
    changes.forget(0, graph.next_relationship - 1, 1, 2);
    bench.merge(&changes, graph).unwrap();
    bench.verify();
}
