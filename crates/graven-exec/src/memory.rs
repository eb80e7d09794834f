//! What a buffering operator holds of the memory budget.
//!
//! # How it works
//! An operator keeps one [`Memory`] and charges it before it keeps bytes. Charges are rounded up to
//! [`STEP`], so the shared budget is touched rarely. The budget shrinks the page cache before it refuses; a
//! refusal becomes an error that names the operator, the bytes and what to do. An operator that can spill asks
//! with [`Memory::keeps`] and writes out what it holds when the answer is no, which it is already at half of the
//! budget: the other half stays for pages and other operators.
//!
//! # Invariants
//! * EX-9 What an operator buffers beyond one batch is charged before it is kept, and given back on rewind and drop.

use std::sync::Arc;

use graven_pagecache::{Budget, Reservation};

use crate::error::{ExecError, Result};
use crate::runtime::Runtime;

/// Bytes by which a reservation grows.
const STEP: u64 = 16 << 10;

/// Part of the budget that an operator may hold before it spills.
const SPILL_SHARE: u64 = 2;

/// Bytes an operator holds.
pub(crate) struct Memory {
    reservation: Reservation,
    used: u64,
    /// What an operator that can spill holds at most.
    spills_at: u64,
    operator: &'static str,
    remedy: &'static str,
}

impl Memory {
    /// As [`Memory::new`] for an operator that can spill.
    pub(crate) fn of_spilling(rt: &Runtime, operator: &'static str, remedy: &'static str) -> Self {
        let half = rt.budget.limit() / SPILL_SHARE;
        Self {
            spills_at: rt.tuning.spill_at.unwrap_or(half),
            ..Self::new(&rt.budget, operator, remedy)
        }
    }

    /// Nothing held yet, for this operator; `remedy` completes "raise --memory, or ...".
    pub(crate) fn new(budget: &Arc<Budget>, operator: &'static str, remedy: &'static str) -> Self {
        Self {
            reservation: budget.empty_reservation(operator),
            used: 0,
            spills_at: u64::MAX,
            operator,
            remedy,
        }
    }

    /// Holds `bytes` more.
    ///
    /// # Errors
    /// [`ExecError::Memory`] if the budget has no room.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<()> {
        let wanted = self.used + bytes as u64;
        if wanted > self.reservation.bytes() {
            let more = (wanted - self.reservation.bytes()).next_multiple_of(STEP);
            let exact = wanted - self.reservation.bytes();
            // Near the limit the exact need may fit where the rounded one does not.
            if let Err(refusal) = self
                .reservation
                .grow(more)
                .or_else(|_| self.reservation.grow(exact))
            {
                return Err(ExecError::Memory {
                    operator: self.operator,
                    bytes,
                    detail: refusal.to_string(),
                    remedy: self.remedy,
                });
            }
        }
        self.used = wanted;
        Ok(())
    }

    /// Whether `bytes` are little enough that many statements may each hold as much beside the pages they read.
    pub(crate) fn is_small(&self, bytes: usize) -> bool {
        /// Part of the limit that is little.
        const SHARE: u64 = 32;
        bytes as u64 <= self.reservation.budget().limit() / SHARE
    }

    /// Holds exactly `bytes` in all if that is no more than a spilling operator should have; nothing changes if not.
    pub(crate) fn keeps(&mut self, bytes: usize) -> bool {
        bytes as u64 <= self.spills_at && self.set(bytes).is_ok()
    }

    /// Holds exactly `bytes` in all, also beyond the limit: for what exists already and is written out next.
    pub(crate) fn force(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        if bytes > self.reservation.bytes() {
            self.reservation
                .force_grow(bytes - self.reservation.bytes());
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
        if keep < self.reservation.bytes() {
            self.reservation.shrink(self.reservation.bytes() - keep);
        }
    }
}
