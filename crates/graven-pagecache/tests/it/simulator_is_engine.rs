//! Goal: what the simulator says of a policy is what the page cache does with it.
//!
//! Method: traces of others' programs are replayed through both, for every policy that can run
//! live. In the cache's synchronous mode every access must agree: hits, faults and evictions. For
//! the default mode, which evicts in batches and ahead, the difference is printed.
//! `GRAVEN_ENGINE_TRACES=all` takes every trace below 200,000 accesses.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_io::{File, IoMode};
use graven_pagecache::{
    Budget, Config, Evictor, FileId, PageCache, PageKind, PageRef, RunningTransaction, SizeClass,
};
use graven_policy::registry::{self, Spec, Visitor};
use graven_policy::simulator::{ArrayFrames, Outcome, Simulator, TransactionAccess};
use graven_policy::{Hint, Policy};
use graven_trace::dense;
use graven_types::rng::SplitMix64;

const SEED: u64 = 7;
const SUBSET: [&str; 4] = ["lirs-cs", "lirs-gli", "lirs-multi1", "lirs-multi2"];
const LONGEST: usize = 200_000;

/// A file whose pages hold nothing.
#[derive(Debug)]
struct Blank;

impl File for Blank {
    fn path(&self) -> &Path {
        Path::new("blank")
    }
    fn len(&self) -> graven_io::Result<u64> {
        Ok(1 << 40)
    }
    fn read_at(&self, buf: &mut [u8], _: u64) -> graven_io::Result<usize> {
        Ok(buf.len())
    }
    fn sync_data(&self) -> graven_io::Result<()> {
        Ok(())
    }
    fn mode(&self) -> IoMode {
        IoMode::Memory
    }
    fn alignment(&self) -> usize {
        1
    }
}

fn traces() -> Option<Vec<PathBuf>> {
    let shared = std::env::var_os("GRAVEN_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let folder = shared.join("traces");
    if !folder.is_dir() {
        eprintln!("SKIPPED: no traces in {}", folder.display());
        return None;
    }
    if std::env::var_os("GRAVEN_ENGINE_TRACES").is_some_and(|which| which == "all") {
        let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.to_string_lossy().ends_with(".u64.zst"))
            .collect();
        all.sort();
        return Some(all);
    }
    Some(
        SUBSET
            .iter()
            .map(|name| folder.join(format!("{name}.u64.zst")))
            .collect(),
    )
}

fn live() -> impl Iterator<Item = &'static str> {
    registry::list()
        .iter()
        .filter(|entry| entry.live)
        .map(|entry| entry.name)
        .chain([
            "clockpro-plus",
            "kuzu-gclock",
            "lru:batch=5",
            "slru:batch=64",
        ])
}

struct Simulation<'a> {
    pages: &'a [u32],
    unique: usize,
    frames: usize,
}

impl Visitor<ArrayFrames> for Simulation<'_> {
    type Output = Outcome;

    fn visit<P: Policy<ArrayFrames> + 'static>(self, policy: P) -> Outcome {
        let mut simulator = Simulator::new(policy, self.unique, self.frames);
        simulator.replay(self.pages);
        simulator.outcome()
    }
}

fn simulated(policy: &str, pages: &[u32], unique: usize, frames: usize) -> Outcome {
    let spec = Spec::parse(policy).expect("it is listed");
    let simulation = Simulation {
        pages,
        unique,
        frames,
    };
    registry::visit(&spec, frames as u64, SEED, simulation).expect("it is listed")
}

/// Replays through a cache; what it counted.
fn replayed(cache: &PageCache, id: FileId, pages: &[u32]) -> Outcome {
    let before = cache.stats().per_kind[PageKind::NodeColumn];
    for page in pages {
        let reference = PageRef::new(SizeClass::MIN, u64::from(*page));
        cache
            .read(id, reference, PageKind::NodeColumn, |_| ())
            .expect("reads do not fail");
    }
    let after = cache.stats().per_kind[PageKind::NodeColumn];
    Outcome {
        accesses: pages.len() as u64,
        hits: after.hits - before.hits,
        evictions: after.evictions() - before.evictions(),
    }
}

fn cache(policy: &str, budget: u64, evictor: Evictor) -> (Arc<PageCache>, FileId) {
    let mut config = Config::new(Budget::new(budget));
    config.evictor = evictor;
    config.verify = false;
    config.seed = SEED;
    policy.clone_into(&mut config.policy);
    let cache = PageCache::new(config).expect("a cache");
    let id = cache.add_file(Arc::new(Blank)).expect("a file");
    (cache, id)
}

#[test]
fn the_synchronous_mode_counts_as_the_simulator() {
    let Some(traces) = traces() else { return };
    let (mut compared, mut different) = (0, Vec::new());
    for path in traces {
        let trace = graven_trace::read(&path).expect("a trace");
        if trace.pages.len() > LONGEST {
            continue;
        }
        let dense = dense::map(&trace.pages);
        for share in [20, 4] {
            let frames = dense.unique / share;
            for policy in live() {
                let evictor = Evictor::Synchronous {
                    class: SizeClass::MIN,
                    frames: frames as u32,
                };
                let (cache, id) = cache(policy, 1 << 30, evictor);
                let engine = replayed(&cache, id, &dense.pages);
                let simulator = simulated(policy, &dense.pages, dense.unique, frames);
                compared += 1;
                if engine != simulator {
                    different.push(format!(
                        "{} {policy} {frames}: engine {engine:?}, simulator {simulator:?}",
                        path.display()
                    ));
                }
            }
        }
    }
    assert!(compared > 0);
    assert!(
        different.is_empty(),
        "{} of {compared} differ:\n{}",
        different.len(),
        different.join("\n")
    );
}

#[test]
fn the_default_mode_is_near() {
    let Some(traces) = traces() else { return };
    let path = traces.last().expect("there are traces");
    let dense = dense::map(&graven_trace::read(path).expect("a trace").pages);
    for policy in live() {
        let (cache, id) = cache(policy, 4 << 20, Evictor::default());
        let engine = replayed(&cache, id, &dense.pages);
        let frames = cache.stats().frame_bytes as usize / SizeClass::MIN.bytes();
        let simulator = simulated(policy, &dense.pages, dense.unique, frames);
        let ratio = |outcome: Outcome| outcome.hits as f64 / outcome.accesses as f64;
        println!(
            "{policy}: {frames} frames, hit ratio {:.4} in the cache, {:.4} simulated",
            ratio(engine),
            ratio(simulator)
        );
        assert_eq!(engine.accesses, simulator.accesses);
    }
}

/// Accesses of four transactions at a time, each of which reads pages of its own neighbourhood
/// again and again.
fn interleaved() -> Vec<TransactionAccess> {
    let mut random = SplitMix64::new(11);
    let mut running = [1, 2, 3, 4];
    let mut next = 5;
    (0..20_000)
        .map(|_| {
            let place = random.place(4);
            let transaction = running[place];
            let ends = random.place(40) == 0;
            if ends {
                running[place] = next;
                next += 1;
            }
            TransactionAccess {
                page: (transaction * 7 + random.place(12) as u32) % 600,
                hint: Hint::Normal,
                transaction,
                ends,
            }
        })
        .collect()
}

/// Goal: a policy that scores running transactions up hits in the cache exactly where it does in
/// the simulator, and more often there than without the score.
#[test]
fn running_transactions_count_alike_in_simulator_and_cache() {
    const FRAMES: usize = 40;
    let accesses = interleaved();
    let simulated = |policy: &str| {
        let policy = graven_policy::parse::<ArrayFrames>(policy, FRAMES as u64, SEED);
        let mut simulator = Simulator::new(policy.expect("a policy"), 600, FRAMES);
        simulator.replay_transactions(accesses.iter().copied());
        simulator.check().expect("sound");
        simulator.outcome().hits
    };
    for policy in ["lru", "gclock:max=3", "fifo", "sieve"] {
        let separator = if policy.contains(':') { ',' } else { ':' };
        let spec = format!("{policy}{separator}running=32");
        let mut config = Config::new(Budget::new(16 << 20));
        spec.clone_into(&mut config.policy);
        config.seed = SEED;
        config.verify = false;
        config.evictor = Evictor::Synchronous {
            class: SizeClass::MIN,
            frames: FRAMES as u32,
        };
        let cache = PageCache::new(config).expect("a cache");
        let file = cache.add_file(Arc::new(Blank)).expect("a file");
        let mut running = std::collections::HashMap::new();
        for access in &accesses {
            let transaction = running
                .entry(access.transaction)
                .or_insert_with(|| RunningTransaction::begin().expect("a cache scores them"));
            transaction.works();
            let page = PageRef::new(SizeClass::MIN, u64::from(access.page));
            cache.pin(file, page, PageKind::Adjacency).expect("a pin");
            if access.ends {
                running.remove(&access.transaction);
            }
        }
        let hits = cache.stats().per_kind.total().hits;
        assert_eq!(hits, simulated(&spec), "{spec}");
        assert!(hits > simulated(policy), "{spec}");
    }
}
