//! What a buffering operator holds of the memory budget.
//!
//! # How it works
//! An operator keeps one [`Memory`] and charges it before it keeps bytes. Charges are rounded up to
//! [`STEP`], so the shared budget is touched rarely, and not at all by operators that keep nothing.
//! The budget shrinks the page cache before it refuses; a refusal becomes an error that names the
//! operator, the bytes and what to do. An operator that can spill asks with [`Memory::keeps`] and
//! writes out what it holds when the answer is no, which it is already at half of the budget: the
//! other half stays for pages and other operators. All of them together leave a quarter of it,
//! beside page frames, to those that cannot spill and to pages; but each may hold a little whatever
//! the others do, so that none goes on row by row.
//!
//! What the operators of one statement hold is counted beside the budget where the statement has a
//! meter: operators find it when they are made, on the thread that makes them.
//!
//! # Invariants
//! * EX-9 What an operator buffers beyond one batch is charged before it is kept, and given back on
//!   rewind and drop. What is the same for all rows of the statement may stay over a rewind,
//!   charged: it is what the next run would make again.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graven_pagecache::{Budget, Reservation};

use crate::error::{ExecError, Result};

/// Bytes by which a reservation grows.
const STEP: u64 = 16 << 10;

/// Part of the budget that an operator may hold before it spills.
const SPILL_SHARE: u64 = 2;

/// Part of the budget that operators that spill leave to pages and other operators, and the part
/// that each may hold all the same.
const LEFT_SHARE: u64 = 4;
const LITTLE_SHARE: u64 = 64;

thread_local! {
    /// Of the statement that runs on this thread.
    static METER: RefCell<Option<Arc<AtomicU64>>> = const { RefCell::new(None) };
}

/// While this lives, what is made on this thread counts on its meter.
pub(crate) struct Metered(Option<Arc<AtomicU64>>);

impl Metered {
    /// Counts on `meter` from now on; `None` leaves everything as it is.
    pub(crate) fn on(meter: Option<&Arc<AtomicU64>>) -> Option<Self> {
        let meter = Arc::clone(meter?);
        Some(Self(METER.with(|cell| cell.replace(Some(meter)))))
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        METER.with(|cell| cell.replace(self.0.take()));
    }
}

/// Bytes an operator holds.
pub(crate) struct Memory {
    meter: Option<Arc<AtomicU64>>,
    /// What the meter knows of.
    metered: u64,
    budget: Arc<Budget>,
    /// Made with the first charge.
    reservation: Option<Reservation>,
    used: u64,
    /// What an operator that can spill holds at most.
    spills_at: u64,
    operator: &'static str,
    remedy: &'static str,
}

/// Whether a statement that holds, and wants, so many bytes fills the budget by itself: another
/// attempt would fail as well.
pub(crate) fn fills_alone(bytes: u64, limit: u64) -> bool {
    /// Part of the limit that is as much as a statement can hope for.
    const SHARE: u64 = 3;
    bytes > limit / SHARE
}

impl Memory {
    /// As [`Memory::new`] for an operator that can spill, from so many bytes on if that is said.
    pub(crate) fn of_spilling(
        budget: &Arc<Budget>,
        spill_at: Option<u64>,
        operator: &'static str,
        remedy: &'static str,
    ) -> Self {
        let mut memory = Self::new(budget, operator, remedy);
        memory.spills_at = spill_at.unwrap_or(budget.limit() / SPILL_SHARE);
        memory
    }

    /// Nothing held yet, for this operator; `remedy` completes "raise --memory, or ...".
    pub(crate) fn new(budget: &Arc<Budget>, operator: &'static str, remedy: &'static str) -> Self {
        Self {
            budget: Arc::clone(budget),
            reservation: None,
            used: 0,
            spills_at: u64::MAX,
            operator,
            remedy,
            meter: METER.with(|cell| cell.borrow().clone()),
            metered: 0,
        }
    }

    /// Bytes reserved.
    fn reserved(&self) -> u64 {
        self.reservation.as_ref().map_or(0, Reservation::bytes)
    }

    /// Bytes held.
    pub(crate) fn used(&self) -> usize {
        usize::try_from(self.used).unwrap_or(usize::MAX)
    }

    /// Tells the meter what is reserved now.
    fn tell(&mut self) {
        let now = self.reserved();
        if let Some(meter) = &self.meter
            && now != self.metered
        {
            meter.fetch_add(now.wrapping_sub(self.metered), Ordering::Relaxed);
            self.metered = now;
        }
    }

    /// Holds `bytes` more.
    ///
    /// # Errors
    /// [`ExecError::Memory`] if the budget has no room.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<()> {
        let wanted = self.used + bytes as u64;
        let reserved = self.reserved();
        if wanted > reserved {
            let exact = wanted - reserved;
            let more = exact.next_multiple_of(STEP);
            let reservation = own(&mut self.reservation, &self.budget, self.operator);
            // Near the limit the exact need may fit where the rounded one does not.
            if let Err(refusal) = reservation.grow(more).or_else(|_| reservation.grow(exact)) {
                let held = match &self.meter {
                    Some(meter) => meter.load(Ordering::Relaxed),
                    None => reserved,
                };
                return Err(ExecError::Memory {
                    alone: fills_alone(held + exact, refusal.limit),
                    operator: self.operator,
                    bytes,
                    detail: refusal.to_string(),
                    remedy: self.remedy,
                });
            }
            self.tell();
        }
        self.used = wanted;
        Ok(())
    }

    /// Whether `bytes` are little enough that many statements may each hold as much beside the
    /// pages they read.
    pub(crate) fn is_small(&self, bytes: usize) -> bool {
        /// Part of the limit that is little.
        const SHARE: u64 = 32;
        bytes as u64 <= self.budget.limit() / SHARE
    }

    /// Holds exactly `bytes` in all if that is no more than a spilling operator should have;
    /// nothing changes if not.
    pub(crate) fn keeps(&mut self, bytes: usize) -> bool {
        bytes as u64 <= self.spills_at && self.leaves_room(bytes) && self.set(bytes).is_ok()
    }

    /// Holds `bytes` more if that is no more than a spilling operator should have; nothing changes
    /// if not.
    pub(crate) fn keeps_more(&mut self, bytes: usize) -> bool {
        let wanted = self.used() + bytes;
        wanted as u64 <= self.spills_at && self.leaves_room(wanted) && self.charge(bytes).is_ok()
    }

    /// Whether enough is left for others with exactly `bytes` held here.
    fn leaves_room(&self, bytes: usize) -> bool {
        let (bytes, limit) = (bytes as u64, self.budget.limit());
        let more = bytes.saturating_sub(self.reserved());
        more == 0
            || bytes <= limit / LITTLE_SHARE
            || self.budget.firm().saturating_add(more) <= limit - limit / LEFT_SHARE
    }

    /// Holds exactly `bytes` in all, also beyond the limit: for what exists already and is written
    /// out next.
    pub(crate) fn force(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        let reserved = self.reserved();
        if bytes > reserved {
            own(&mut self.reservation, &self.budget, self.operator).force_grow(bytes - reserved);
            self.tell();
        }
        self.used = bytes;
    }

    /// Holds `bytes` more if there is room.
    pub(crate) fn try_charge(&mut self, bytes: usize) -> bool {
        self.charge(bytes).is_ok()
    }

    /// Holds exactly `bytes`.
    ///
    /// # Errors
    /// As [`Memory::charge`].
    pub(crate) fn set(&mut self, bytes: usize) -> Result<()> {
        let bytes = bytes as u64;
        if bytes > self.used {
            self.charge(usize::try_from(bytes - self.used).unwrap_or(usize::MAX))
        } else {
            self.used = bytes;
            self.trim();
            Ok(())
        }
    }

    /// Holds `bytes` less; the reservation itself is kept for the next charge.
    pub(crate) fn release(&mut self, bytes: usize) {
        debug_assert!(bytes as u64 <= self.used, "EX-9: more released than held");
        self.used = self.used.saturating_sub(bytes as u64);
    }

    /// Gives everything back.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.trim();
    }

    fn trim(&mut self) {
        let keep = self.used.next_multiple_of(STEP);
        if let Some(reservation) = &mut self.reservation
            && keep < reservation.bytes()
        {
            reservation.shrink(reservation.bytes() - keep);
            self.tell();
        }
    }
}

/// The reservation, made if there is none yet.
fn own<'r>(
    reservation: &'r mut Option<Reservation>,
    budget: &Arc<Budget>,
    operator: &'static str,
) -> &'r mut Reservation {
    reservation.get_or_insert_with(|| budget.empty_reservation(operator))
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(meter) = &self.meter
            && self.metered > 0
        {
            meter.fetch_sub(self.metered, Ordering::Relaxed);
        }
    }
}
