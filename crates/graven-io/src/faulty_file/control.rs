//! The handle by which a test steers a faulty file, and the state both share.

use std::io;
use std::sync::Arc;
use std::thread;

use parking_lot::{Mutex, MutexGuard};

use super::plan::{Fault, FaultPlan};
use super::unsynced::{Crash, Unsynced};
use crate::{Error, File, Operation, Result};
use graven_types::rng::SplitMix64;

/// What was done to a faulty file and what was injected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Syncs.
    pub syncs: u64,
    /// Changes of length and reservations of space.
    pub changes: u64,
    /// Faults injected.
    pub injected: u64,
}

/// What an operation does, for counting and for the power switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read,
    Write,
    Sync,
    Change,
}

impl Access {
    fn operation(self) -> Operation {
        match self {
            Access::Read => Operation::Read,
            Access::Write => Operation::Write,
            Access::Sync => Operation::Sync,
            Access::Change => Operation::Length,
        }
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) plan: FaultPlan,
    pub(super) dice: SplitMix64,
    pub(super) unsynced: Unsynced,
    /// Faults that strike once, after so many more chances.
    armed: Vec<(Fault, u64)>,
    counts: FaultCounts,
    powered_off: bool,
}

impl State {
    /// Whether `fault` strikes the operation at hand.
    pub(super) fn fault(&mut self, fault: Fault, probability: f64) -> bool {
        let mut strikes = self.dice.happens(probability);
        self.armed.retain_mut(|(armed, chances)| {
            if *armed != fault {
                return true;
            }
            let now = *chances == 0;
            strikes |= now;
            *chances = chances.saturating_sub(1);
            !now
        });
        self.counts.injected += u64::from(strikes);
        strikes
    }
}

#[derive(Debug)]
pub(super) struct Shared {
    inner: Arc<dyn File>,
    state: Mutex<State>,
}

impl Shared {
    pub(super) fn new(inner: Arc<dyn File>, plan: FaultPlan) -> Shared {
        let state = State {
            dice: SplitMix64::new(plan.seed),
            plan,
            unsynced: Unsynced::default(),
            armed: Vec::new(),
            counts: FaultCounts::default(),
            powered_off: false,
        };
        Shared {
            inner,
            state: Mutex::new(state),
        }
    }

    pub(super) fn inner(&self) -> &dyn File {
        &*self.inner
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Begins an operation: latency, counting, the power switch.
    pub(super) fn enter(&self, access: Access) -> Result<MutexGuard<'_, State>> {
        let latency = self.state.lock().plan.latency;
        if !latency.is_zero() {
            thread::sleep(latency);
        }
        let mut state = self.state.lock();
        match access {
            Access::Read => state.counts.reads += 1,
            Access::Write => state.counts.writes += 1,
            Access::Sync => state.counts.syncs += 1,
            Access::Change => state.counts.changes += 1,
        }
        if access != Access::Read && state.fault(Fault::PowerOff, 0.0) {
            state.powered_off = true;
        }
        if state.powered_off {
            let source = io::Error::new(io::ErrorKind::NotConnected, "the power is off");
            return Err(Error::os(access.operation(), self.inner.path(), source));
        }
        Ok(state)
    }
}

/// Steers a faulty file while others use it.
#[derive(Clone, Debug)]
pub struct FaultControl {
    shared: Arc<Shared>,
}

impl FaultControl {
    pub(super) fn new(shared: Arc<Shared>) -> FaultControl {
        FaultControl { shared }
    }

    /// The plan in force.
    pub fn plan(&self) -> FaultPlan {
        self.shared.lock().plan.clone()
    }

    /// Replaces the plan; the dice start anew from its seed.
    pub fn set_plan(&self, plan: FaultPlan) {
        let mut state = self.shared.lock();
        state.dice = SplitMix64::new(plan.seed);
        state.plan = plan;
    }

    /// Lets `fault` strike once, after sparing the next `after` operations that it could strike.
    pub fn arm(&self, fault: Fault, after: u64) {
        self.shared.lock().armed.push((fault, after));
    }

    /// Cuts the power now: every later operation fails until [`FaultControl::power_on`].
    pub fn power_off(&self) {
        self.shared.lock().powered_off = true;
    }

    /// Lets operations through again, with the content as it was (not a crash: see `crash_image`).
    pub fn power_on(&self) {
        self.shared.lock().powered_off = false;
    }

    /// What was done and injected so far.
    pub fn counts(&self) -> FaultCounts {
        self.shared.lock().counts
    }

    /// The bytes that a crash at this moment may leave.
    ///
    /// # Errors
    /// The wrapped file cannot be read.
    pub fn crash_image(&self, crash: Crash) -> Result<Vec<u8>> {
        self.shared
            .lock()
            .unsynced
            .image(self.shared.inner(), crash)
    }
}
