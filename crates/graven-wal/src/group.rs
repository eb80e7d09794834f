//! Group commit: which thread writes, which syncs, which wait.
//!
//! # How it works
//! There are two roles, and each has at most one thread at a time. The writer writes all that
//! threads have appended so far; the syncer makes durable what is written. A thread that needs the
//! stream durable takes the role that brings it further if the role is free, and sleeps otherwise.
//!
//! A lone client writes, then syncs. With several, the next group is written while the one before
//! is synced. The next sync begins when the last one ends, for all that is written by then. So the
//! size of a group follows the load by itself, without a configured delay.
//!
//! Clients served by one sync commit again just after the next sync has begun and would always miss
//! it. So where syncs are slow, the syncer first waits for half a sync at most
//! ([`Group::wait_for_group`]). It waits for as many commits as waited when the last sync ended.
//! What clients append in that time is left to it to write: one write for all. Where commits do not
//! come it waits ever more rarely, and for a lone client never.
//!
//! A thread that ends a role wakes the threads it has served. It also wakes at most one thread for
//! each role that is free and wanted ([`dispatch`]), and no others. The thread that is to sync next
//! is woken first.
//!
//! # Invariants
//! * LG-2: `durable` is only set to a value of `written` read before a sync that succeeded.
//! * LG-3: once `failed` is set it stays, and no role is given out any more.
//! * LG-7: a thread that unwinds out of its role fails the log: no thread waits for it.
//! * LG-8: where a role is free and a sleeping thread needs it, a runnable thread will take the
//!   role: one that needs it too, or the syncer that waits for its group.
//!
//! # Concurrency
//! One mutex, never held during a write or sync, nor while threads are woken. At most one writer
//! and one syncer at any time, which overlap. This file is compiled a second time by its tests,
//! with the scheduler of `shuttle` below the mutex (B. Norris, B. Demsky, "CDSChecker", OOPSLA
//! 2013, for why; randomised after S. Burckhardt et al., "A Randomized Scheduler with Probabilistic
//! Guarantees of Finding Bugs", ASPLOS 2010).

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::sync::{self, AtomicU32, Mutex, MutexGuard, Ordering};
use crate::Lsn;

/// What a leader drives.
pub(crate) trait Device {
    /// Writes everything appended so far, calling `durable` durable; the end of what is written
    /// now. With `even_empty` something is written even if nothing was appended.
    fn write(&self, durable: Lsn, even_empty: bool) -> Result<Lsn, Arc<str>>;
    /// Makes everything written durable.
    fn sync(&self) -> Result<(), Arc<str>>;
    /// A sync has served `group` waiting commits.
    fn served(&self, group: u32);
    /// How long a sync may wait for commits that are expected; none: not at all.
    fn group_wait_max(&self) -> Option<Duration>;
}

/// A sleeping thread has not been called.
const ASLEEP: u32 = u32::MAX;
/// It is to look again what it can do. Anything else: it has what it waits for, with so many
/// others.
const LOOK: u32 = u32::MAX - 1;
/// After so many waits for company in vain, one after the other, they do not get rarer.
const MISSED_WAITS_MAX: u32 = 6;

/// Where one thread sleeps.
#[derive(Debug)]
struct ParkedThread {
    thread: sync::Thread,
    call: AtomicU32,
}

impl ParkedThread {
    /// For the thread that calls this.
    fn new() -> Self {
        ParkedThread {
            thread: sync::current(),
            call: AtomicU32::new(ASLEEP),
        }
    }

    /// Sleeps until it is called.
    fn sleep(&self) -> u32 {
        loop {
            match self.call.load(Ordering::Acquire) {
                ASLEEP => sync::park(),
                call => return call,
            }
        }
    }
}

/// How far the stream has to be for a thread to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    Written,
    Durable,
}

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frames {
    /// What was appended.
    Needed,
    /// An empty frame if nothing was.
    EvenEmpty,
}

#[derive(Debug)]
struct Waiter {
    lsn: Lsn,
    wanted: Wanted,
    thread: Arc<ParkedThread>,
}

#[derive(Debug)]
struct State {
    written: Lsn,
    durable: Lsn,
    writing: bool,
    syncing: bool,
    failed: Option<Arc<str>>,
    waiters: Vec<Waiter>,
    /// Commits that waited when the last sync ended, its own among them: as many will soon be there
    /// again.
    expected_group: usize,
    /// The syncer waits for its company.
    gathering: Option<Arc<ParkedThread>>,
    /// How often in a row that was in vain.
    missed_waits: u32,
    /// Syncs that do not wait after that.
    skip_waits: u32,
}

impl State {
    /// Commits that the next sync will serve, among them that of the syncer, which is not a waiter.
    fn gathered(&self) -> usize {
        let durable = |waiter: &&Waiter| waiter.wanted == Wanted::Durable;
        1 + self.waiters.iter().filter(durable).count()
    }

    /// Whether the syncer, which waits for its group, will write what such a commit has appended.
    fn is_left_to_syncer(&self, wanted: Wanted) -> bool {
        wanted == Wanted::Durable && self.gathering.is_some()
    }
}

/// Threads to be woken when the lock is released.
type Called = Vec<Arc<ParkedThread>>;

/// Calls the threads that have what they want, all if the log has failed, and one for each role
/// that is free and wanted (LG-8). How many commits are served, the `own` of the caller among them.
fn dispatch(state: &mut State, own: u32, called: &mut Called) -> u32 {
    let failed = state.failed.is_some();
    let (written, durable) = (state.written, state.durable);
    let has = |waiter: &Waiter| {
        waiter.lsn
            <= match waiter.wanted {
                Wanted::Written => written,
                Wanted::Durable => durable,
            }
    };
    let call = |thread: &Arc<ParkedThread>, how: u32, called: &mut Called| {
        // One that was called before is on its way.
        if thread.call.swap(how, Ordering::AcqRel) == ASLEEP {
            called.push(Arc::clone(thread));
        }
    };
    if !failed {
        let syncer = (state.waiters.iter())
            .filter(|_| !state.syncing)
            .find(|w| w.wanted == Wanted::Durable && durable < w.lsn && w.lsn <= written);
        let writer = (state.waiters.iter())
            .filter(|_| !state.writing)
            .find(|w| written < w.lsn && !state.is_left_to_syncer(w.wanted));
        for waiter in syncer.into_iter().chain(writer) {
            call(&waiter.thread, LOOK, called);
        }
    }
    let served = |waiter: &&Waiter| waiter.wanted == Wanted::Durable && has(waiter);
    let group = own + state.waiters.iter().filter(served).count() as u32;
    state.waiters.retain(|waiter| {
        let done = has(waiter);
        if done || failed {
            let how = if done { group } else { LOOK };
            call(&waiter.thread, how, called);
        }
        !done
    });
    group
}

/// Ends the waiting where the thread that all wait for unwinds.
struct Unwinding<'a>(&'a Group);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        self.0
            .fail("a thread panicked while it wrote or synced the log".into());
    }
}

/// The state that all committing threads share.
#[derive(Debug)]
pub(crate) struct Group {
    state: Mutex<State>,
}

impl Group {
    /// Everything up to `durable` is written and durable.
    pub(crate) fn new(durable: Lsn) -> Group {
        Group {
            state: Mutex::new(State {
                written: durable,
                durable,
                writing: false,
                syncing: false,
                failed: None,
                waiters: Vec::new(),
                expected_group: 0,
                gathering: None,
                missed_waits: 0,
                skip_waits: 0,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn durable(&self) -> Lsn {
        self.lock().durable
    }

    pub(crate) fn failed(&self) -> Option<Arc<str>> {
        self.lock().failed.clone()
    }

    /// Remembers a failure from outside the two roles; the first one stays.
    pub(crate) fn fail(&self, reason: Arc<str>) {
        let mut state = self.lock();
        state.failed.get_or_insert(reason);
        self.hand_on(state, 0);
    }

    /// Calls the threads that the state lets go on, and wakes them. Returns how many commits are
    /// served, the `own` of the caller among them.
    fn hand_on(&self, mut state: MutexGuard<'_, State>, own: u32) -> u32 {
        let mut called = Called::new();
        let served = dispatch(&mut state, own, &mut called);
        drop(state);
        called.iter().for_each(|thread| thread.thread.unpark());
        served
    }

    /// What a role does with the device, no lock being held (LG-7).
    fn call<T>(&self, device: impl FnOnce() -> T) -> T {
        let unwinding = Unwinding(self);
        let outcome = device();
        std::mem::forget(unwinding);
        outcome
    }

    /// Waits until everything below `lsn` is durable, doing the work if no other thread does.
    /// Returns how many commits the sync served (0: it was durable already).
    pub(crate) fn wait_durable(&self, device: &impl Device, lsn: Lsn) -> Result<u32, Arc<str>> {
        self.wait(device, lsn, Wanted::Durable)
    }

    /// Waits until everything below `lsn` is written, durable or not.
    pub(crate) fn wait_written(&self, device: &impl Device, lsn: Lsn) -> Result<(), Arc<str>> {
        self.wait(device, lsn, Wanted::Written).map(|_| ())
    }

    fn wait(&self, device: &impl Device, lsn: Lsn, wanted: Wanted) -> Result<u32, Arc<str>> {
        loop {
            let mut state = self.lock();
            if wanted == Wanted::Durable && state.durable >= lsn {
                return Ok(0);
            }
            if let Some(reason) = &state.failed {
                return Err(reason.clone());
            }
            if wanted == Wanted::Written && state.written >= lsn {
                return Ok(0);
            }
            if !state.writing && state.written < lsn && !state.is_left_to_syncer(wanted) {
                let then_sync = wanted == Wanted::Durable;
                if self.write(device, state, Frames::Needed, then_sync) {
                    return self.sync(device);
                }
            } else if !state.syncing && state.written >= lsn {
                state.syncing = true;
                drop(state);
                return self.sync(device);
            } else if let served @ 0..LOOK = self.sleep(state, lsn, wanted) {
                return Ok(served);
            }
        }
    }

    /// Waits for a call.
    fn sleep(&self, mut state: MutexGuard<'_, State>, lsn: Lsn, wanted: Wanted) -> u32 {
        let thread = Arc::new(ParkedThread::new());
        state.waiters.push(Waiter {
            lsn,
            wanted,
            thread: Arc::clone(&thread),
        });
        let all = state.gathering.is_some() && state.gathered() >= state.expected_group;
        let syncer = state.gathering.take_if(|_| all);
        drop(state);
        if let Some(syncer) = syncer
            && syncer.call.swap(LOOK, Ordering::AcqRel) == ASLEEP
        {
            syncer.thread.unpark();
        }
        let call = thread.sleep();
        if call == LOOK {
            let waiters = &mut self.lock().waiters;
            waiters.retain(|waiter| !Arc::ptr_eq(&waiter.thread, &thread));
        }
        call
    }

    /// The first step of the syncer: where clients come again and again, it waits for those that
    /// the last sync has served. Otherwise half of them would always be late for the sync that
    /// begins. It writes what they have appended itself.
    fn wait_for_group(&self, device: &impl Device) {
        let mut state = self.lock();
        let before = state.gathered();
        if before >= state.expected_group {
            return;
        }
        let Some(group_wait_max) = device.group_wait_max() else {
            return;
        };
        if state.skip_waits > 0 {
            state.skip_waits -= 1;
            return;
        }
        let thread = Arc::new(ParkedThread::new());
        state.gathering = Some(Arc::clone(&thread));
        let expected_group = state.expected_group;
        drop(state);
        sync::park_for(group_wait_max, || {
            thread.call.load(Ordering::Acquire) != ASLEEP
        });
        let mut state = self.lock();
        state.gathering = None;
        // Half of those that were missed are worth it.
        let came = state.gathered().saturating_sub(before);
        state.missed_waits = match 2 * came >= expected_group - before {
            true => 0,
            false => (state.missed_waits + 1).min(MISSED_WAITS_MAX),
        };
        state.skip_waits = (1 << state.missed_waits) - 1;
        let written = state.written;
        let unwritten = state.waiters.iter().any(|waiter| written < waiter.lsn);
        if unwritten && !state.writing && state.failed.is_none() {
            self.write(device, state, Frames::Needed, false);
        }
    }

    /// The work of the syncer, called with the role taken: makes durable what was written. Returns
    /// how many commits that served, the caller's among them.
    fn sync(&self, device: &impl Device) -> Result<u32, Arc<str>> {
        self.wait_for_group(device);
        let mut state = self.lock();
        let target = state.written;
        if state.failed.is_none() {
            drop(state);
            let synced = self.call(|| device.sync());
            state = self.lock();
            if let Err(reason) = synced {
                state.failed.get_or_insert(reason);
            }
        }
        state.syncing = false;
        if let Some(reason) = state.failed.clone() {
            self.hand_on(state, 0);
            return Err(reason);
        }
        state.expected_group = state.gathered();
        state.durable = state.durable.max(target);
        let served = self.hand_on(state, 1);
        device.served(served);
        Ok(served)
    }

    /// Writes what was appended; no other thread may be writing. With `then_sync` the role of the
    /// syncer is taken afterwards if it is free; returns whether it was.
    fn write(
        &self,
        device: &impl Device,
        mut state: MutexGuard<'_, State>,
        frames: Frames,
        then_sync: bool,
    ) -> bool {
        assert!(!state.writing, "one writer at a time");
        state.writing = true;
        let durable = state.durable;
        drop(state);
        let even_empty = frames == Frames::EvenEmpty;
        let written = self.call(|| device.write(durable, even_empty));
        let mut state = self.lock();
        state.writing = false;
        match written {
            Ok(end) => state.written = state.written.max(end),
            Err(reason) => {
                state.failed.get_or_insert(reason);
            }
        }
        let syncs = then_sync && !state.syncing && state.failed.is_none();
        state.syncing |= syncs;
        self.hand_on(state, 0);
        syncs
    }

    /// Writes a frame that tells the durable LSN, unless a thread writes just now (then that frame
    /// tells it).
    pub(crate) fn write_durable_marker(&self, device: &impl Device) {
        let state = self.lock();
        if !state.writing && state.failed.is_none() {
            self.write(device, state, Frames::EvenEmpty, false);
        }
    }
}
