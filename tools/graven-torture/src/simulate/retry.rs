//! Work that was lost and is done again: what was dropped must not come back behind it.
//!
//! # How it works
//! Some commits are written and never synced, then the power is cut; often the first is torn and
//! later ones are whole. If all are gone, the same commits are made again, up to the first: same
//! bytes at the same place. Behind it stand frames of the lost ones, intact and fitting, unless
//! opening has made an end of them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use graven_io::{Crash, CrashOutcome, FaultPlan};
use graven_storage::Durability;

use super::Watch;
use crate::check::{self, Promise};
use crate::disk::{Disk, Images};
use crate::model::Graph;
use crate::workload::{History, Stop, Workload};

/// Commits that are lost.
const COMMITS: usize = 3;
/// Steps after which there are as many as there are.
const STEPS: usize = 60;
/// Power cuts, each leaving something else.
const CUTS: usize = 3;
/// The process ends, the system goes on.
const END: Crash = Crash {
    seed: 0,
    survival: CrashOutcome::All,
};
/// Only what was synced is left.
const POWER_CUT: Crash = Crash {
    seed: 0,
    survival: CrashOutcome::None,
};

impl Watch {
    /// Loses commits made on top of `images` and makes the first of them again.
    pub(super) fn retried(&mut self, images: &Images) -> Result<(), String> {
        let seed = self.random.bits();
        let unsynced = Durability::Relaxed(Duration::from_secs(3600));
        let cuts: Vec<Crash> = (0..CUTS)
            .map(|_| Crash {
                seed: self.random.bits(),
                survival: CrashOutcome::Any,
            })
            .collect();
        let (lost, made) = live(images, seed, (unsynced, COMMITS), &cuts)?;
        for left in lost {
            *self.points.entry("retry".to_owned()).or_default() += 1;
            let Some(found) = check::read(&left, Promise::Kept)? else {
                return Err("what lost its newest commits does not open".to_owned());
            };
            check::compare(&found.graph, &made, 0)?;
            // Opening has ended what was torn; from its disk the next process goes on.
            if made.states.first() != Some(&found.graph) {
                continue;
            }
            let ended = found.disk.images(END);
            drop(found);
            let (kept, history) = live(&ended, seed, (Durability::Full, 1), &[POWER_CUT])?;
            for kept in kept {
                let same = match check::read(&kept, Promise::Kept)? {
                    Some(found) => check::compare(&found.graph, &history, history.durable),
                    None => Err("it does not open".to_owned()),
                };
                same.map_err(|what| format!("after lost work was done again: {what}"))?;
            }
        }
        Ok(())
    }
}

/// Makes some commits on top of `images`, as durable as is said; what each of `cuts` leaves of the
/// disk then.
fn live(
    images: &Images,
    seed: u64,
    (durability, commits): (Durability, usize),
    cuts: &[Crash],
) -> Result<(Vec<Images>, History), String> {
    let disk = Disk::new(images, &FaultPlan::default(), None);
    let store = check::open(&disk).map_err(|error| format!("it does not open again: {error}"))?;
    let graph = match Graph::read(&store) {
        Ok(Ok(graph)) => graph,
        Ok(Err(what)) => return Err(what),
        Err(error) => return Err(error.to_string()),
    };
    let history = Mutex::new(History::new(graph));
    let lock = || history.lock().unwrap_or_else(PoisonError::into_inner);
    let with = |change: &mut dyn FnMut(&mut History)| change(&mut lock());
    let mut workload = Workload::new(store, seed).with_durability(durability);
    for _ in 0..STEPS {
        if lock().states.len() > commits {
            break;
        }
        match workload.step(&with) {
            Ok(()) => {}
            Err(Stop::Wrong(what)) => return Err(what),
            Err(Stop::Refused) => return Err("lost work is refused".to_owned()),
        }
    }
    // Before anything is dropped: a log that goes in peace syncs what it holds.
    let left = cuts.iter().map(|crash| disk.images(*crash)).collect();
    drop(workload);
    Ok((
        left,
        history.into_inner().unwrap_or_else(PoisonError::into_inner),
    ))
}
