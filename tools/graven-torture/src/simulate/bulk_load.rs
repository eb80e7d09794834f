//! Making the database of a run, with the power cut while it is made.
//!
//! # Invariants
//! * A file whose load was cut short does not open, or has everything; one whose load was
//!   acknowledged has everything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use graven_io::{Crash, CrashOutcome, FaultPlan};
use graven_storage::{GraphBuilder, PropertyValue, Uniqueness};

use crate::Failure;
use crate::check::{self, Promise};
use crate::disk::{Disk, Images, SURVIVALS};
use crate::fault_injection::FaultInjection;
use crate::model::{Graph, INDEXED};
use graven_types::rng::SplitMix64;

/// A small database with an index. With `tortured` it is made a second time with a crash in front
/// of every operation.
///
/// # Errors
/// A broken promise; the disk of the test itself fails.
pub(super) fn run(
    seed: u64,
    tortured: bool,
    injection: Option<FaultInjection>,
    points: &mut BTreeMap<String, u64>,
) -> Result<(Images, Graph), Failure> {
    let builder = graph(seed);
    let setup = |what: String| Failure::Setup(what);
    let build = |disk: &Disk| {
        let built = builder.build(disk.data());
        built.map_err(|error| setup(error.to_string()))
    };
    let disk = Disk::new(&Images::empty(), &FaultPlan::default(), None);
    build(&disk)?;
    let images = disk.images(Crash {
        seed,
        survival: CrashOutcome::None,
    });
    let loaded = match check::read(&images, Promise::Kept).map_err(setup)? {
        Some(found) => found.graph,
        None => return Err(setup("the base is damaged".to_owned())),
    };
    if tortured {
        let disk = Disk::new(&Images::empty(), &FaultPlan::default(), injection);
        disk.phase("bulk load");
        let cuts = Arc::new(Mutex::new(Cuts {
            seed,
            loaded: loaded.clone(),
            points: BTreeMap::new(),
            broken: None,
        }));
        let (observed, at) = (Arc::clone(&cuts), disk.clone());
        let observer = move |site: &str| {
            let mut cuts = observed.lock().unwrap_or_else(PoisonError::into_inner);
            cuts.cut(&at, site, false);
        };
        disk.observe(Some(Box::new(observer)));
        build(&disk)?;
        disk.observe(None);
        let mut cuts = cuts.lock().unwrap_or_else(PoisonError::into_inner);
        cuts.cut(&disk, "bulk load: acknowledged", true);
        for (site, count) in &cuts.points {
            *points.entry(site.clone()).or_default() += count;
        }
        if let Some(broken) = cuts.broken.take() {
            return Err(broken);
        }
    }
    Ok((images, loaded))
}

fn graph(seed: u64) -> GraphBuilder {
    let mut random = SplitMix64::new(seed);
    let mut builder = GraphBuilder::new();
    let mut nodes = Vec::new();
    for number in 0..6 {
        let value = PropertyValue::Integer(random.below(9) as i64);
        nodes.push(builder.node(&[["A", "B"][number % 2]], &[("k", value)]));
    }
    for pair in nodes.windows(2) {
        let value = PropertyValue::Integer(random.below(9) as i64);
        builder.relationship(pair[0], "R", pair[1], &[("x", value)]);
    }
    builder.index(INDEXED.0, INDEXED.1, Uniqueness::Any);
    builder
}

/// What the observer of a load knows.
struct Cuts {
    seed: u64,
    loaded: Graph,
    points: BTreeMap<String, u64>,
    broken: Option<Failure>,
}

impl Cuts {
    fn cut(&mut self, disk: &Disk, site: &str, acknowledged: bool) {
        for survival in SURVIVALS {
            if self.broken.is_some() {
                return;
            }
            let crash = Crash {
                seed: self.seed,
                survival,
            };
            *self.points.entry(site.to_owned()).or_default() += 1;
            let left = Disk::new(&disk.images(crash), &FaultPlan::default(), None);
            let what = match check::open(&left).map(|store| Graph::read(&store)) {
                // What was never finished is no database.
                Err(_) if !acknowledged => continue,
                Err(error) | Ok(Err(error)) => error.to_string(),
                Ok(Ok(Err(what))) => what,
                Ok(Ok(Ok(graph))) => match self.loaded.difference(&graph) {
                    None => continue,
                    Some(difference) => difference,
                },
            };
            let context = format!("seed {}, crash at {site} ({crash:?})", self.seed);
            self.broken = Some(Failure::Broken { context, what });
        }
    }
}
