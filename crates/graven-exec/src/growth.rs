//! Memory of expressions: bytes are charged before they are made, and the deadline is checked as
//! work is done.
//!
//! # How it works
//! A statement has one [`Growth`] on each of its threads. The evaluator of an expression
//! [enters](Growth::enter) it, so that functions find it on their thread. They charge with
//! [`charge`] before they make something large, or grow it in a [`Text`] or [`Items`], which charge
//! each time they take more room. Functions give nothing back. The evaluator does: it knows what
//! was held before a value, and keeps of what came since only the share of the value ([`Share`]).
//!
//! A function that makes a text, list or map is charged beforehand for as much as its arguments
//! take, so that one that makes no more than that needs no call of its own. What it charges itself
//! comes out of that first ([`Growth::in_advance`]).
//!
//! [`work`] counts units of work, about a value or 256 bytes each. Every [`UNITS`] it checks
//! whether the statement was cancelled or its time is over.
//!
//! # Invariants
//! * EX-80 What a statement's expressions hold beyond [`FREE`] is reserved from the budget before
//!   it is made.
//! * EX-81 Once an expression is evaluated, nothing of it is held here, unless it was evaluated for
//!   a [`Held`], which holds it to its own end: else the owner of the column charges it.
//!
//! # Concurrency
//! One thread at a time uses a `Growth`; it is shared only to be found on that thread.

mod builders;
mod share;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use graven_pagecache::{Budget, Reservation};
use graven_types::Vector;

use crate::deadline::Deadline;
use crate::error::{ExecError, Result};
use crate::memory::fills_alone;
use crate::value::Value;
pub(crate) use builders::{Items, Text};
pub(crate) use share::{Share, bytes_of_argument, bytes_of_new, bytes_of_params};

/// Bytes that are not worth a reservation.
const FREE: u64 = 64 << 10;

/// Units of work between two looks at the clock.
const UNITS: u64 = 4096;

thread_local! {
    /// Of the expression that is evaluated on this thread.
    static CURRENT: RefCell<Option<Arc<Growth>>> = const { RefCell::new(None) };
}

/// See the file header.
#[derive(Debug)]
pub(crate) struct Growth {
    budget: Arc<Budget>,
    cancel: Arc<AtomicBool>,
    deadline: Option<Deadline>,
    /// Bytes held.
    held: AtomicU64,
    /// Charged before it was known what for.
    advance: AtomicU64,
    /// Bytes that may be held before the reservation must grow.
    room: AtomicU64,
    reservation: Mutex<Option<Reservation>>,
    /// Counts the bytes that the statement holds, and what it knows of these.
    meter: Option<Arc<AtomicU64>>,
    metered: AtomicU64,
    /// Units of work since the last look at the clock.
    work: AtomicU64,
}

/// While this lives, what is made on this thread counts for its statement.
pub(crate) struct Entered(Option<Option<Arc<Growth>>>);

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            CURRENT.with(|current| current.replace(before));
        }
    }
}

/// While this lives, what is computed for it stays charged.
pub(crate) struct Held {
    growth: Arc<Growth>,
    before: u64,
    _entered: Entered,
}

impl Drop for Held {
    fn drop(&mut self) {
        // It is less than what is held, which is never refused.
        let kept = self.growth.keep(self.before);
        debug_assert!(kept.is_ok(), "{kept:?}");
    }
}

impl Growth {
    /// Nothing held, in this budget.
    pub(crate) fn new(
        budget: Arc<Budget>,
        cancel: Arc<AtomicBool>,
        deadline: Option<Deadline>,
        meter: Option<Arc<AtomicU64>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            budget,
            cancel,
            deadline,
            held: AtomicU64::new(0),
            advance: AtomicU64::new(0),
            room: AtomicU64::new(FREE),
            reservation: Mutex::default(),
            meter,
            metered: AtomicU64::new(0),
            work: AtomicU64::new(0),
        })
    }

    /// The same for another thread of the statement.
    pub(crate) fn for_worker(&self) -> Arc<Self> {
        Self::new(
            Arc::clone(&self.budget),
            Arc::clone(&self.cancel),
            self.deadline,
            self.meter.clone(),
        )
    }

    /// When the statement must have ended.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    /// Counts what is made on this thread from now on.
    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        CURRENT.with(|current| {
            let mut current = current.borrow_mut();
            match &*current {
                Some(inside) if Arc::ptr_eq(inside, self) => Entered(None),
                _ => Entered(Some(current.replace(Arc::clone(self)))),
            }
        })
    }

    /// Columns computed for what this gives stay charged until it is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        Held {
            growth: Arc::clone(self),
            before: self.held(),
            _entered: self.enter(),
        }
    }

    /// Bytes held.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Holds `bytes` more.
    ///
    /// # Errors
    /// [`ExecError::Memory`] if the budget has no room.
    pub(crate) fn charge(&self, bytes: usize) -> Result<()> {
        let advance = self.advance.load(Ordering::Relaxed);
        let covered = advance.min(bytes as u64);
        if covered > 0 {
            self.advance.store(advance - covered, Ordering::Relaxed);
        }
        let held = self.held().saturating_add(bytes as u64 - covered);
        if held > self.room.load(Ordering::Relaxed) {
            self.reserve(held, bytes)?;
        }
        self.held.store(held, Ordering::Relaxed);
        Ok(())
    }

    /// Makes room for `held` bytes in all.
    fn reserve(&self, held: u64, bytes: usize) -> Result<()> {
        let mut reservation = self.reservation();
        let reservation =
            reservation.get_or_insert_with(|| self.budget.empty_reservation("expressions"));
        let exact = held - FREE.min(held);
        let generous = exact.next_multiple_of(FREE);
        self.budget
            .wait_for_brief(exact.saturating_sub(reservation.bytes()));
        let refused = |refusal: graven_pagecache::BudgetError| ExecError::Memory {
            operator: "an expression",
            bytes,
            alone: fills_alone(held, refusal.limit),
            detail: refusal.to_string(),
            remedy: "make shorter lists and texts, for example by UNWIND instead of a list",
        };
        (reservation.resize(generous))
            .or_else(|_| reservation.resize(exact))
            .map_err(refused)?;
        self.reserved(reservation.bytes());
        Ok(())
    }

    /// So many bytes are reserved now.
    fn reserved(&self, bytes: u64) {
        self.room.store(bytes + FREE, Ordering::Relaxed);
        if let Some(meter) = &self.meter {
            let before = self.metered.swap(bytes, Ordering::Relaxed);
            meter.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
        }
    }

    fn reservation(&self) -> std::sync::MutexGuard<'_, Option<Reservation>> {
        self.reservation
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds exactly `bytes`: the values beyond are gone, or are charged by their present owner.
    ///
    /// # Errors
    /// As [`Growth::charge`], if it is more than is held.
    pub(crate) fn keep(&self, bytes: u64) -> Result<()> {
        self.advance.store(0, Ordering::Relaxed);
        match bytes.checked_sub(self.held()) {
            Some(0) => Ok(()),
            Some(more) => self.charge(usize::try_from(more).unwrap_or(usize::MAX)),
            None => {
                self.held.store(bytes, Ordering::Relaxed);
                // Some room stays for the values that come next.
                if self.room.load(Ordering::Relaxed) > bytes.saturating_add(4 * FREE) {
                    let keep = bytes.saturating_sub(FREE).next_multiple_of(FREE);
                    if let Some(reservation) = self.reservation().as_mut() {
                        reservation.shrink(reservation.bytes().saturating_sub(keep));
                        self.reserved(reservation.bytes());
                    }
                }
                Ok(())
            }
        }
    }

    /// Charges `bytes` that come out of what is charged next, until [`Growth::keep`].
    ///
    /// # Errors
    /// As [`Growth::charge`].
    pub(crate) fn in_advance(&self, bytes: usize) -> Result<()> {
        self.charge(bytes)?;
        self.advance.store(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Counts units of work.
    ///
    /// # Errors
    /// As [`Growth::check`].
    pub(crate) fn work(&self, units: usize) -> Result<()> {
        let work = self.work.load(Ordering::Relaxed) + units as u64;
        if work < UNITS {
            self.work.store(work, Ordering::Relaxed);
            return Ok(());
        }
        self.work.store(0, Ordering::Relaxed);
        self.check()
    }

    /// # Errors
    /// [`ExecError::Cancelled`] if the statement was cancelled; [`ExecError::TimedOut`] if its time
    /// is over.
    pub(crate) fn check(&self) -> Result<()> {
        Deadline::check(self.deadline, &self.cancel)
    }
}

impl Drop for Growth {
    fn drop(&mut self) {
        self.reserved(0);
    }
}

/// Charges `bytes` to the statement whose expression is evaluated on this thread, if there is one.
///
/// # Errors
/// [`ExecError::Memory`] if the budget has no room.
pub(crate) fn charge(bytes: usize) -> Result<()> {
    CURRENT.with_borrow(|current| match current {
        Some(growth) => growth.charge(bytes),
        None => Ok(()),
    })
}

/// Asks whether there is room for `bytes` that are made and charged next.
///
/// # Errors
/// As [`charge`].
pub(crate) fn ask(bytes: usize) -> Result<()> {
    CURRENT.with_borrow(|current| match current {
        Some(growth) => {
            let held = growth.held();
            growth.charge(bytes)?;
            growth.keep(held)
        }
        None => Ok(()),
    })
}

/// Counts units of work of the statement whose expression is evaluated on this thread, if there is
/// one.
///
/// # Errors
/// The statement was cancelled, or its time is over.
pub(crate) fn work(units: usize) -> Result<()> {
    CURRENT.with_borrow(|current| match current {
        Some(growth) => growth.work(units),
        None => Ok(()),
    })
}

/// Units of work that reading a value takes, those within it not looked at.
pub(crate) fn units(value: &Value) -> usize {
    const BYTES: usize = 256;
    match value {
        Value::String(text) => text.len() / BYTES,
        Value::Bytes(bytes) => bytes.len() / BYTES,
        Value::List(items) => items.len(),
        Value::Map(map) => map.entries().len(),
        other => other.as_vector().map_or(0, Vector::dimension),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;

    fn growth(limit: u64) -> (Arc<Budget>, Arc<Growth>) {
        let budget = Budget::new(limit);
        let growth = Growth::new(Arc::clone(&budget), Arc::default(), None, None);
        (budget, growth)
    }

    /// Goal: a text and a list are refused before they are made, and what is kept is what the value
    /// holds.
    #[test]
    fn what_grows_is_charged_before_it_is_there() {
        let (budget, growth) = growth(1 << 20);
        let entered = growth.enter();
        let mut text = Text::default();
        let part = "x".repeat(1000);
        let mut pushed = 0;
        let refusal = loop {
            match text.push(&part) {
                Ok(()) => pushed += part.len(),
                Err(refusal) => break refusal,
            }
        };
        assert!(matches!(refusal, ExecError::Memory { .. }), "{refusal}");
        assert!((400_000..=1_200_000).contains(&pushed), "{pushed}");
        growth.keep(0).unwrap();
        let mut items = Items::default();
        let mut count = 0;
        while items.push(Value::text(&part)).is_ok() {
            count += 1;
        }
        assert!((400..1200).contains(&count), "{count}");
        drop(items);
        drop(entered);
        drop(growth);
        assert_eq!(budget.used(), 0);
    }

    /// Goal: what is charged in advance is not charged twice.
    #[test]
    fn an_advance_covers_what_is_charged_next() {
        let (_, growth) = growth(1 << 20);
        growth.in_advance(1000).unwrap();
        growth.charge(600).unwrap();
        growth.charge(600).unwrap();
        assert_eq!(growth.held(), 1200);
        growth.keep(0).unwrap();
        growth.charge(600).unwrap();
        assert_eq!(growth.held(), 600);
    }

    /// Goal: the shares of all that hold a value are the value; a list that several hold is looked
    /// through once.
    #[test]
    fn shares_add_up() {
        let text = Value::text(&"x".repeat(1 << 20));
        let whole = Share::default().of(&text);
        assert!(whole >= 1 << 20);
        let twice = Value::list(vec![text.clone(), text]);
        let all = Share::default().of(&twice);
        assert!((whole..whole + 200).contains(&all), "{all}");
        let lists = vec![twice; 4];
        let column = Arc::new(Column::Values(lists));
        let of_column = Share::default().of_column(&column);
        assert!((whole..whole + 400).contains(&of_column), "{of_column}");
        let held = Arc::clone(&column);
        assert_eq!(Share::default().of_column(&column), 0);
        drop(held);
    }

    /// Goal: a statement that was cancelled ends within [`UNITS`] of work.
    #[test]
    fn work_ends_when_the_statement_is_cancelled() {
        let cancel = Arc::new(AtomicBool::new(false));
        let growth = Growth::new(Budget::new(1 << 20), Arc::clone(&cancel), None, None);
        for _ in 0..10 {
            growth.work(1000).unwrap();
        }
        cancel.store(true, Ordering::Relaxed);
        let done = (0..UNITS + 1).take_while(|_| growth.work(1).is_ok());
        assert!(done.count() as u64 <= UNITS);
    }
}
