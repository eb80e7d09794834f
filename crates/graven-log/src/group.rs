//! Group commit: who writes, who syncs, who waits.
//!
//! # How it works
//! A thread that needs the stream durable up to an LSN and finds nobody at work becomes the leader: it writes all
//! that was appended so far, by whomever, and syncs. Threads that come meanwhile wait; when the sync is done those
//! it covers go on, and one of the others leads the next round, for all that gathered. So the size of a group follows
//! the load by itself: one with a single client, all of them with many, without any delay that somebody chose.
//!
//! # Invariants
//! * LG-2: `durable` is only set to a value of `written` read before a sync that succeeded.
//! * LG-3: once `failed` is set it stays, and no role is given out any more.
//! * LG-7: a thread that unwinds out of its role fails the log: nobody waits for it.
//!
//! # Concurrency
//! One mutex, never held during a write or sync. At most one writer and one syncer at any time; writing may
//! overlap a sync (commits that need no sync do that).
//! This file is compiled a second time by its tests, with the scheduler of `shuttle` below the mutex
//! (B. Norris, B. Demsky, "CDSChecker", OOPSLA 2013, for why; randomised after S. Burckhardt et al., "A Randomized
//! Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010).

use std::sync::{Arc, PoisonError};

use super::sync::{Condvar, Mutex, MutexGuard};
use crate::Lsn;

/// What a leader drives.
pub(crate) trait Device {
    /// Writes everything appended so far, calling `durable` durable; the end of what is written now. With
    /// `even_empty` something is written even if nothing was appended.
    fn write(&self, durable: Lsn, even_empty: bool) -> Result<Lsn, Arc<str>>;
    /// Makes everything written durable.
    fn sync(&self) -> Result<(), Arc<str>>;
    /// A sync has served `group` waiting commits.
    fn served(&self, group: u32);
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    lsn: Lsn,
    group: u32,
}

#[derive(Debug)]
struct State {
    written: Lsn,
    durable: Lsn,
    writing: bool,
    syncing: bool,
    failed: Option<Arc<str>>,
    waiters: Vec<Waiter>,
    tickets: u64,
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
    changed: Condvar,
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
                tickets: 0,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn durable(&self) -> Lsn {
        self.lock().durable
    }

    pub(crate) fn failed(&self) -> Option<Arc<str>> {
        self.lock().failed.clone()
    }

    /// Remembers a failure from outside the two roles; the first one stays.
    pub(crate) fn fail(&self, reason: Arc<str>) {
        self.lock().failed.get_or_insert(reason);
        self.changed.notify_all();
    }

    /// What a role does with the device, no lock being held (LG-7).
    fn call<T>(&self, device: impl FnOnce() -> T) -> T {
        let unwinding = Unwinding(self);
        let outcome = device();
        std::mem::forget(unwinding);
        outcome
    }

    /// Waits until everything below `lsn` is durable, doing the work if nobody does; how many commits the sync
    /// served (0: it was durable already).
    pub(crate) fn wait_durable(&self, device: &impl Device, lsn: Lsn) -> Result<u32, Arc<str>> {
        let mut state = self.lock();
        if state.durable >= lsn {
            return Ok(0);
        }
        let ticket = state.tickets;
        state.tickets += 1;
        state.waiters.push(Waiter {
            ticket,
            lsn,
            group: 0,
        });
        loop {
            if state.durable >= lsn {
                return Ok(leave(&mut state, ticket));
            }
            if let Some(reason) = state.failed.clone() {
                leave(&mut state, ticket);
                return Err(reason);
            }
            state = if state.syncing || state.writing {
                self.wait(state)
            } else {
                self.lead(device, state)
            };
        }
    }

    /// One round: write, sync, tell everybody.
    fn lead<'a>(
        &'a self,
        device: &impl Device,
        mut state: MutexGuard<'a, State>,
    ) -> MutexGuard<'a, State> {
        state.syncing = true;
        state = self.write(device, state, false);
        let target = state.written;
        if state.failed.is_none() {
            drop(state);
            let synced = self.call(|| device.sync());
            state = self.lock();
            match synced {
                Ok(()) if state.failed.is_none() => {
                    state.durable = state.durable.max(target);
                    let served = serve(&mut state, target);
                    device.served(served);
                }
                Ok(()) => {}
                Err(reason) => {
                    state.failed.get_or_insert(reason);
                }
            }
        }
        state.syncing = false;
        self.changed.notify_all();
        state
    }

    /// Writes what was appended; nobody else may be writing.
    fn write<'a>(
        &'a self,
        device: &impl Device,
        mut state: MutexGuard<'a, State>,
        even_empty: bool,
    ) -> MutexGuard<'a, State> {
        assert!(!state.writing, "one writer at a time");
        state.writing = true;
        let durable = state.durable;
        drop(state);
        let written = self.call(|| device.write(durable, even_empty));
        let mut state = self.lock();
        state.writing = false;
        match written {
            Ok(end) => state.written = state.written.max(end),
            Err(reason) => {
                state.failed.get_or_insert(reason);
            }
        }
        state
    }

    /// Waits until everything below `lsn` is written, durable or not.
    pub(crate) fn wait_written(&self, device: &impl Device, lsn: Lsn) -> Result<(), Arc<str>> {
        let mut state = self.lock();
        loop {
            if let Some(reason) = state.failed.clone() {
                return Err(reason);
            }
            if state.written >= lsn {
                return Ok(());
            }
            state = if state.writing {
                self.wait(state)
            } else {
                let state = self.write(device, state, false);
                self.changed.notify_all();
                state
            };
        }
    }

    /// Writes a frame that tells the durable LSN, unless somebody writes just now (then that frame tells it).
    pub(crate) fn state_durable(&self, device: &impl Device) {
        let state = self.lock();
        if !state.writing && state.failed.is_none() {
            drop(self.write(device, state, true));
            self.changed.notify_all();
        }
    }
}

/// Takes the waiter out; the size of its group.
fn leave(state: &mut State, ticket: u64) -> u32 {
    let at = state.waiters.iter().position(|w| w.ticket == ticket);
    at.map_or(0, |at| state.waiters.swap_remove(at).group)
}

/// Marks the waiters that a sync up to `target` serves; how many.
fn serve(state: &mut State, target: Lsn) -> u32 {
    let covered = |w: &&mut Waiter| w.lsn <= target && w.group == 0;
    let group = state.waiters.iter_mut().filter(covered).count() as u32;
    for waiter in state.waiters.iter_mut().filter(covered) {
        waiter.group = group;
    }
    group
}
