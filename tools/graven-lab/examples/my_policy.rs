//! A policy of one's own: written once, registered under a name, and taken by that name by the
//! simulator, the live cache, a database, and every report of this process.
//!
//! `cargo run --release -p graven-lab --example my_policy`

use std::collections::VecDeque;
use std::ops::ControlFlow;

use graven::{Config, Database, IoMode, Params};
use graven_lab::replay::{EvictorChoice, Reserve, Setting, Source, Stage};
use graven_lab::simulate::Simulation;
use graven_lab::workload::Workload;
use graven_policy::registry::{self, Entry};
use graven_policy::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};
use graven_trace::ReadOptions;

/// Last in, first out: good at loops, bad at nearly everything else.
#[derive(Default)]
struct Lifo(VecDeque<(FrameIdx, PageId)>);

impl<F: Frames + ?Sized> Policy<F> for Lifo {
    fn hit_kind(&self) -> HitKind {
        HitKind::None
    }
    fn on_load(&mut self, _: &F, frame: FrameIdx, page: PageId, _: Hint, _: Admission) {
        self.0.push_front((frame, page));
    }
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let mut queue = self.0.iter();
        let at = queue.position(|(frame, _)| frames.try_claim(*frame) == Claim::Claimed)?;
        self.0.remove(at)
    }
    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.0.retain(|(known, _)| *known != frame);
    }
    fn resize(&mut self, _: u64) {}
    fn check(&self, _: &F) -> Result<(), String> {
        Ok(())
    }
}

const LIFO: Entry = Entry {
    name: "lifo",
    leaves: "the page that came last",
    parameters: &[],
    live: true,
    hit: "nothing",
    state: "16 bytes",
    paper: "this example",
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in run()? {
        println!("{line}");
    }
    Ok(())
}

/// Registers the policy and uses it; a line for each use.
pub(crate) fn run() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    registry::register(LIFO, |_, _, _| Box::new(Lifo::default()))?;
    let folder = tempfile::tempdir()?;
    let mut lines = Vec::new();
    // The simulator takes it by name.
    let trace = folder.path().join("loop.u64.zst");
    let workload: Workload = "loop:pages=1000".parse()?;
    let pages = workload
        .accesses(1)
        .take(20_000)
        .map(|access| access.page)
        .collect();
    let accesses = graven_trace::Trace {
        pages,
        ..graven_trace::Trace::default()
    };
    graven_trace::raw::write(&trace, &accesses)?;
    let simulation = Simulation {
        traces: vec![trace.clone()],
        policies: ["min", "lru", "lifo"].map(str::to_owned).to_vec(),
        sizes: vec!["50%".parse()?],
        page_bytes: 4096,
        read: ReadOptions::default(),
        accesses: None,
        seed: 1,
        threads: 1,
    };
    for run in simulation.run(&mut |_| ControlFlow::Continue(()))? {
        let ratio = run.hit_ratio * 100.0;
        lines.push(format!(
            "{}: {ratio:.1} % hits on a loop, simulated",
            run.policy
        ));
    }
    // So does the live cache.
    let source = Source::Trace(trace, ReadOptions::default());
    let stage = Stage::new(&source, 4096, usize::MAX, folder.path())?;
    let played = stage.play(&Setting {
        policy: "lifo".to_owned(),
        pools: None,
        cache_pages: 500,
        threads: 1,
        io: IoMode::Buffered.into(),
        evictor: EvictorChoice::Synchronous,
        reserve: Reserve::default(),
        warm_up: 0.0,
        time: None,
        verify: true,
        seed: 1,
    })?;
    let ratio = played.hit_ratio * 100.0;
    lines.push(format!(
        "lifo: {ratio:.1} % hits on a loop, on the live cache"
    ));
    // And a database, when it is opened or later (`CALL graven.cache.setPolicy('lifo')`).
    let mut config = Config::default();
    config.policy = "lifo".to_owned();
    config.create = true;
    let database = Database::open(folder.path().join("mine.graven"), config)?;
    let create = "UNWIND range(1, 10) AS n CREATE (:Number {n: n})";
    database.connect().query(create, &Params::default())?;
    lines.push("lifo: a database runs under it".to_owned());
    Ok(lines)
}
