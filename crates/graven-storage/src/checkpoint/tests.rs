//! Goal: whatever changes are merged in, however often, the file reads as a naive graph with the
//! same changes, every count is exact, and the check finds nothing; wherever a crash comes, the
//! file holds the state before or after.

mod bench;
mod model;

use crate::catalog::{Catalog, IndexDescription};
use crate::ids::{KeyId, LabelId};
use crate::schema::SchemaEntity;
use crate::{GraphBuilder, NodeId, Uniqueness};
use bench::{Bench, Chance, OPTIONS, change, sample};
use graven_io::{Crash, CrashOutcome, Fault, FaultPlan, FaultyFile, File, MemoryFile};
use graven_types::PropertyValue;
use model::{Difference, compare};
use std::sync::Arc;

const CACHE_BYTES: u64 = 4 << 20;

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
        let merged = bench.checkpointer.merge(&bench.root, &changes, &OPTIONS);
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
                .merge(&bench.root, &changes, &OPTIONS)
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
