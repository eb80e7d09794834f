//! The first life of a database: transactions, checkpoints with commits beside them, a spilling
//! statement, a backup.
//!
//! # How it works
//! Steps of the workload, and between them what takes longer. While a checkpoint writes pages,
//! another workload commits (the interlude of the disk), so that the log holds commits that the
//! checkpoint must leave there.

use std::sync::{Arc, Mutex, PoisonError};

use graven_io::Fault;
use graven_storage::Store;
use graven_storage::checkpoint::CheckpointOptions;

use super::{Injected, Watch, statements};
use crate::check;
use crate::disk::{Disk, REGION_BYTES};
use crate::model::Graph;
use crate::workload::{History, Stop, Workload};
use graven_types::rng::SplitMix64;

/// Steps of a run's first life.
const STEPS: u64 = 120;
/// Steps from one checkpoint to the next, in a light run and in a heavy one.
const CHECKPOINT_STEPS: [u64; 2] = [35, 24];
/// Steps from one burst of large commits to the next in a heavy run.
const BURST_STEPS: u64 = 12;
/// Large commits of a burst.
const BURST: u64 = 3;
/// When, if at all.
const SPILL_STEP: u64 = 50;
const BACKUP_STEP: u64 = 90;
/// Steps beside a write of a checkpoint.
const BESIDE_STEPS: u64 = 6;

fn lock(watch: &Mutex<Watch>) -> std::sync::MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Works until the disk refuses or the steps are done, then closes.
///
/// # Errors
/// What the store did wrong.
pub(super) fn work(disk: &Disk, watch: &Arc<Mutex<Watch>>, seed: u64) -> Result<(), String> {
    let (injected, heavy) = {
        let watch = lock(watch);
        (watch.injected, watch.heavy)
    };
    let store = match check::open(disk) {
        Ok(store) => store,
        Err(error) => return Err(format!("the new database does not open: {error}")),
    };
    arm(disk, seed, injected);
    let history = |change: &mut dyn FnMut(&mut History)| change(&mut lock(watch).history);
    let beside = Beside::new(&store, watch, seed, heavy);
    let mut workload = Workload::new(Arc::clone(&store), seed);
    let checkpoint_steps = CHECKPOINT_STEPS[usize::from(heavy)];
    for step in 0..STEPS {
        let burst = heavy && step % BURST_STEPS == 0;
        let done = match burst {
            true => (0..BURST).try_for_each(|_| workload.large_commit(&history)),
            false => workload.step(&history),
        };
        match done {
            Ok(()) => {}
            Err(Stop::Wrong(what)) => return Err(what),
            Err(Stop::Refused) => return refused(&store, watch, injected),
        }
        if step % checkpoint_steps == checkpoint_steps - 1 {
            match checkpoint(disk, &store, &beside, injected)? {
                Some(Stop::Refused) => return refused(&store, watch, injected),
                Some(Stop::Wrong(what)) => return Err(what),
                None => {}
            }
        }
        if step == SPILL_STEP && (seed % 6 == 1 || injected == Injected::FullSpill) {
            statements::spill(disk, &store, injected)?;
        }
        if step == BACKUP_STEP && seed % 6 == 2 {
            statements::backup(disk, &store, watch)?;
        }
        if step % 16 == 15
            && let Some(log) = store.log()
        {
            log.run_background_work();
        }
    }
    drop(workload);
    disk.phase("close");
    match store.close() {
        Ok(()) => {
            history(&mut |h| {
                h.durable = h.states.len() - 1;
                h.written = h.durable;
            });
            Ok(())
        }
        Err(_) if injected != Injected::Nothing => Ok(()),
        Err(error) => Err(format!("it does not close: {error}")),
    }
}

/// Makes the disk ready to fail.
fn arm(disk: &Disk, seed: u64, injected: Injected) {
    let mut random = SplitMix64::new(seed ^ 0xfa17);
    let (_, log) = disk.controls();
    match injected {
        Injected::SyncError => log.arm(Fault::SyncError, 1 + random.below(20)),
        Injected::WriteError => log.arm(Fault::WriteError, 3 + random.below(40)),
        Injected::FullDisk => {
            let capacity = 4096 + REGION_BYTES * (2 + random.below(2));
            let mut plan = log.plan();
            plan.capacity_bytes = Some(capacity);
            log.set_plan(plan);
        }
        Injected::LostWrite => log.arm(Fault::LostWrite, 5 + random.below(30)),
        Injected::MisdirectedWrite => log.arm(Fault::MisdirectedWrite, 5 + random.below(30)),
        Injected::FullSpill => {
            let mut plan = disk.spill_control().plan();
            plan.capacity_bytes = Some(256 << 10);
            disk.spill_control().set_plan(plan);
        }
        Injected::ShortRead | Injected::Nothing => {}
    }
}

/// Work that goes on while a checkpoint writes.
#[derive(Clone)]
struct Beside {
    store: Arc<Store>,
    watch: Arc<Mutex<Watch>>,
    random: Arc<Mutex<SplitMix64>>,
    heavy: bool,
    stopped: Arc<Mutex<Option<Stop>>>,
}

impl Beside {
    fn new(store: &Arc<Store>, watch: &Arc<Mutex<Watch>>, seed: u64, heavy: bool) -> Beside {
        Beside {
            store: Arc::clone(store),
            watch: Arc::clone(watch),
            random: Arc::new(Mutex::new(SplitMix64::new(seed ^ 0xbe51de))),
            heavy,
            stopped: Arc::default(),
        }
    }

    fn work(&self) {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let (seed, now) = {
            let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
            (random.bits(), random.once_in(2))
        };
        if stopped.is_some() || !now {
            return;
        }
        let history = |change: &mut dyn FnMut(&mut History)| change(&mut lock(&self.watch).history);
        let mut workload = Workload::new(Arc::clone(&self.store), seed);
        let done = match self.heavy {
            true => (0..BURST).try_for_each(|_| workload.large_commit(&history)),
            false => (0..BESIDE_STEPS).try_for_each(|_| workload.step(&history)),
        };
        *stopped = done.err();
    }
}

/// A checkpoint with commits beside it; why those stopped, if they did.
fn checkpoint(
    disk: &Disk,
    store: &Arc<Store>,
    beside: &Beside,
    injected: Injected,
) -> Result<Option<Stop>, String> {
    disk.phase("checkpoint");
    let working = beside.clone();
    let mut rounds = 0;
    let large = beside.heavy;
    disk.beside(Some(Box::new(move |_| {
        rounds += 1;
        // One burst fills some regions; more would only take time.
        if !large || rounds == 1 {
            working.work();
        }
    })));
    let mut options = CheckpointOptions::default();
    options.paced = false;
    let done = store.checkpoint(options);
    disk.beside(None);
    disk.phase("work");
    if let Err(error) = done
        && !injected.hurts_commits()
    {
        return Err(format!("a checkpoint fails: {error}"));
    }
    let mut stopped = beside
        .stopped
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    Ok(stopped.take())
}

/// After a refused commit what was acknowledged can still be read.
fn refused(
    store: &Arc<Store>,
    watch: &Arc<Mutex<Watch>>,
    injected: Injected,
) -> Result<(), String> {
    if !injected.hurts_commits() {
        return Err("commits are refused, but nothing is wrong with the disk".to_owned());
    }
    let watch = lock(watch);
    match Graph::read(store) {
        Ok(Ok(graph)) => {
            let newest = watch.history.states.last();
            match newest.and_then(|newest| newest.difference(&graph)) {
                None => Ok(()),
                Some(difference) => Err(format!("after {injected:?}: {difference}")),
            }
        }
        Ok(Err(what)) => Err(what),
        Err(error) => Err(format!("after {injected:?} it cannot be read: {error}")),
    }
}
