//! Opening what a crash left, and comparing it with what may be there.

use std::sync::Arc;
use std::time::Duration;

use graven_io::FaultPlan;
use graven_pagecache::{Budget, Config, Evictor, PageCache};
use graven_storage::{Error, OpenOptions, Store};
use graven_wal::LogOptions;

use crate::disk::{Disk, Images, REGION_BYTES};
use crate::model::Graph;
use crate::workload::History;

/// Memory of a tortured database.
pub(crate) const MEMORY_BYTES: u64 = 4 << 20;

/// How much a crash may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Nothing acknowledged: the disk did what it said.
    Kept,
    /// What the disk lied about, as long as it is noticed or was the newest: writes lost or
    /// misplaced.
    Noticed,
}

/// Opens the database on `disk` as a new process would, without threads of its own.
///
/// # Errors
/// What opening gives.
pub fn open(disk: &Disk) -> graven_storage::Result<Arc<Store>> {
    let mut options = OpenOptions::new(disk.log_place());
    options.log_options = LogOptions {
        region_bytes: REGION_BYTES,
        background: false,
        // Given back early, so that cutting the file is tortured as well.
        keep_free_regions: 1,
        ..LogOptions::default()
    };
    // Those of a thread would come at other moments each time.
    options.own_checkpoints = false;
    // However busy the machine is: what closing does follows from the seed.
    options.fold_on_close = Some(Duration::MAX);
    Store::open_with(disk.data(), cache()?, options)
}

/// A cache of its own for one file more.
pub(crate) fn cache() -> graven_storage::Result<Arc<PageCache>> {
    let mut config = Config::new(Budget::new(MEMORY_BYTES));
    config.evictor = Evictor::Cooperative;
    PageCache::new(config).map_err(Error::from)
}

/// What was found in an image.
pub(crate) struct Found {
    pub(crate) disk: Disk,
    pub(crate) store: Arc<Store>,
    pub(crate) graph: Graph,
}

/// Opens an image and reads everything; `None` where damage was noticed and may be.
pub(crate) fn read(images: &Images, promise: Promise) -> Result<Option<Found>, String> {
    let disk = Disk::new(images, &FaultPlan::default(), None);
    let noticed = |what: &str, error: Error| match promise {
        Promise::Noticed if is_damage(&error) => Ok(None),
        _ => Err(format!("{what}: {error}")),
    };
    let store = match open(&disk) {
        Ok(store) => store,
        Err(error) => return noticed("it does not open", error),
    };
    let graph = match Graph::read(&store) {
        Ok(Ok(graph)) => graph,
        Ok(Err(what)) => return Err(what),
        Err(error) => return noticed("it cannot be read", error),
    };
    let report = store
        .check()
        .map_err(|error| format!("check fails: {error}"))?;
    if let Some(problem) = report.problems.first() {
        return match promise {
            Promise::Noticed => Ok(None),
            Promise::Kept => Err(format!(
                "check finds {} problems, first {}: {}",
                report.problems.len(),
                problem.place,
                problem.what
            )),
        };
    }
    Ok(Some(Found { disk, store, graph }))
}

fn is_damage(error: &Error) -> bool {
    !matches!(error, Error::Budget(_) | Error::Conflict { .. })
}

/// Compares a graph with the states from `least` on, and the one in flight.
pub(crate) fn compare(graph: &Graph, history: &History, least: usize) -> Result<(), String> {
    let mut allowed = history.states[least..].iter().chain(&history.in_flight);
    if allowed.any(|state| state == graph) {
        return Ok(());
    }
    let newest = history.states.len() - 1;
    if let Some(old) = history.states[..least].iter().rposition(|s| s == graph) {
        return Err(format!(
            "acknowledged commits are gone: state {old} is there, {least} was acknowledged, \
                {newest} is the newest"
        ));
    }
    let difference = history.states[least].difference(graph);
    Err(format!(
        "no committed state looks like that; against acknowledged state {least}: {}",
        difference.unwrap_or_default()
    ))
}
