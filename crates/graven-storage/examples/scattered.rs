//! How the file grows and shrinks under scattered small updates, and what checkpoints cost commits
//! meanwhile.
//!
//! `cargo run --release -p graven-storage --example scattered [FOLDER] [UPDATES]` makes a database
//! of 200,000 nodes and 1,000,000 relationships, updates random properties one by one (a
//! relationship is added and one removed now and then), half of it between two checkpoints and half
//! beside one, and prints lengths of the file and commit times. There is no log: commit times are
//! those of the engine alone. A third argument asks for eight checkpoints on the way and two more
//! afterwards: `alone`; `oldest`, beside a snapshot as old as everything; `snapshots`, beside
//! snapshots that come and go.

use graven_io::OpenOptions;
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{
    CheckpointOptions, KeyId, NodeId, PropertyValue, Store, StoreWriter, TransactionOptions,
    TypeId, Uniqueness, WriterOptions,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

const NODES: u64 = 200_000;
const RELATIONSHIPS: u64 = 1_000_000;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn build(file: Arc<dyn graven_io::File>, chance: &mut Chance) -> Outcome {
    let mut writer = StoreWriter::create(file, WriterOptions::default())?;
    let person = writer.intern_label("Person");
    writer.add_nodes(NODES, &[person])?;
    let (id, name) = (writer.intern_key("id"), writer.intern_key("name"));
    let mut column = writer.node_column(id)?;
    (0..NODES).try_for_each(|node| column.push(node, &PropertyValue::Integer(node as i64)))?;
    column.finish()?;
    let mut column = writer.node_column(name)?;
    for node in 0..NODES {
        let text = format!("name {}", chance.below(1 << 30));
        column.push(node, &PropertyValue::string(&text))?;
    }
    column.finish()?;
    let mut pairs: Vec<(u64, u64)> = (0..RELATIONSHIPS)
        .map(|_| (chance.below(NODES), chance.below(NODES)))
        .collect();
    pairs.sort_unstable();
    let knows = writer.intern_type("KNOWS");
    let mut lists = writer.adjacency(knows)?;
    for (start, end) in &pairs {
        lists.forward(NodeId(*start), NodeId(*end))?;
    }
    pairs.sort_unstable_by_key(|(start, end)| (*end, *start));
    for (start, end) in &pairs {
        lists.reverse(NodeId(*end), NodeId(*start))?;
    }
    lists.finish()?;
    let mut index = writer.index(person, id, Uniqueness::Unique)?;
    for node in 0..NODES {
        index.push(&PropertyValue::Integer(node as i64), NodeId(node))?;
    }
    index.finish()?;
    Ok(writer.finish()?)
}

/// Commits `count` updates; how long each took.
fn update(store: &Arc<Store>, count: u64, chance: &mut Chance) -> Outcome<Vec<Duration>> {
    let (name, knows) = (KeyId(1), TypeId(0));
    let mut took = Vec::new();
    for number in 0..count {
        let transaction = store.begin(TransactionOptions::default())?;
        let node = NodeId(chance.below(NODES));
        let text = format!("name {}", chance.below(1 << 30));
        transaction.set_node_property(node, name, &PropertyValue::string(&text))?;
        if number % 20 == 0 {
            let other = NodeId(chance.below(NODES));
            let made = transaction.create_relationship(node, knows, other, &[])?;
            if number % 40 == 0 {
                transaction.delete_relationship(made)?;
            }
        }
        let begun = Instant::now();
        transaction.commit()?;
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    Ok(took)
}

fn show(what: &str, bytes: u64, before: u64) {
    println!(
        "{what:<44} {:>9} KiB  {:.2}",
        bytes >> 10,
        bytes as f64 / before as f64
    );
}

/// Which snapshots are open beside the checkpoints.
#[derive(Clone, Copy, PartialEq)]
enum Held {
    Nothing,
    /// One of the first state.
    Oldest,
    /// One taken before each checkpoint, that goes after the next one but one.
    Several,
}

/// Makes a checkpoint; the longest that the file was meanwhile.
fn checkpoint(store: &Arc<Store>) -> Outcome<u64> {
    std::thread::scope(|scope| {
        let made = scope.spawn(|| store.checkpoint(CheckpointOptions::default()));
        let mut longest = 0;
        while !made.is_finished() {
            longest = longest.max(store.file().len()?);
            std::thread::sleep(Duration::from_micros(200));
        }
        made.join().map_err(|_| "the checkpoint panicked")??;
        Ok(longest.max(store.file().len()?))
    })
}

/// Eight checkpoints on the way, then two without snapshots.
fn with_checkpoints(
    store: &Arc<Store>,
    updates: u64,
    held: Held,
    chance: &mut Chance,
    before: u64,
) -> Outcome {
    let mut open = std::collections::VecDeque::new();
    if held == Held::Oldest {
        open.push_back(store.snapshot());
    }
    let mut peak = 0;
    for _ in 0..8 {
        update(store, updates / 16, chance)?;
        if held == Held::Several {
            open.push_back(store.snapshot());
        }
        update(store, updates / 16, chance)?;
        peak = peak.max(checkpoint(store)?);
        if open.len() > 2 {
            open.pop_front();
        }
        show("after a checkpoint", store.file().len()?, before);
    }
    drop(open);
    for _ in 1..=2 {
        peak = peak.max(checkpoint(store)?);
        let what = "after one more, no snapshot open";
        show(what, store.file().len()?, before);
    }
    show("peak", peak, before);
    let problems = store.check()?.problems;
    println!("check: {} problems {:?}", problems.len(), problems.first());
    Ok(())
}

fn main() -> Outcome {
    let mut args = std::env::args().skip(1);
    let folder = args.next().unwrap_or_else(|| ".".to_owned());
    let updates = args.next().map_or(Ok(100_000), |count| count.parse())?;
    let path = std::path::Path::new(&folder).join("scattered.graven");
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let file = graven_io::open(&path, &options)?;
    file.set_len(0)?;
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    build(file.clone(), &mut chance)?;
    let before = file.len()?;
    show("as loaded", before, before);
    let cache = PageCache::new(Config::new(Budget::new(1 << 30)))?;
    let store = Store::open(file.clone(), cache)?;
    let held = match args.next().as_deref() {
        None => None,
        Some("alone") => Some(Held::Nothing),
        Some("oldest") => Some(Held::Oldest),
        Some("snapshots") => Some(Held::Several),
        Some(other) => return Err(format!("{other}: alone, oldest or snapshots").into()),
    };
    if let Some(held) = held {
        with_checkpoints(&store, updates, held, &mut chance, before)?;
        std::fs::remove_file(path)?;
        return Ok(());
    }
    let alone = update(&store, updates / 2, &mut chance)?;
    let begun = Instant::now();
    let report = store
        .checkpoint(CheckpointOptions::default())?
        .unwrap_or_default();
    println!(
        "first checkpoint: {:.2?}, {} KiB written",
        begun.elapsed(),
        report.written_bytes >> 10
    );
    let peak = file.len()?;
    show("after the first checkpoint", peak, before);
    update(&store, updates / 2, &mut chance)?;
    let (beside, second) = std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| store.checkpoint(CheckpointOptions::default()));
        let mut beside = Vec::new();
        while !checkpoint.is_finished() {
            beside.extend(update(&store, 50, &mut chance).unwrap_or_default());
        }
        beside.sort_unstable();
        (beside, checkpoint.join())
    });
    let second = second
        .map_err(|_| "the checkpoint panicked")??
        .unwrap_or_default();
    show("after the second checkpoint", file.len()?, before);
    println!(
        "second checkpoint: {} KiB written",
        second.written_bytes >> 10
    );
    for (what, took) in [("without", &alone), ("beside", &beside)] {
        let at = |share: usize| {
            took.get(took.len() * share / 100)
                .copied()
                .unwrap_or_default()
        };
        println!(
            "commits {what} a checkpoint: {} of them, p50 {:.1?}, p99 {:.1?}",
            took.len(),
            at(50),
            at(99)
        );
    }
    store.checkpoint(CheckpointOptions::default())?;
    show(
        "after a third, of the commits beside it",
        file.len()?,
        before,
    );
    let problems = store.check()?.problems;
    println!("check: {} problems {:?}", problems.len(), problems.first());
    std::fs::remove_file(path)?;
    Ok(())
}
