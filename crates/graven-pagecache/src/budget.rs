//! One byte budget for everything that stays in memory: frames, tables, policies and operators.
//!
//! # How it works
//! A [`Budget`] is a limit and a sum. A user of memory holds a [`Reservation`] under a tag; growing
//! it fails when the sum would pass the limit. Before it fails, the budget asks its *reclaimers*
//! (page caches) to give memory back. So free memory goes to frames until another user needs it.
//! [`Budget::holders`] lists how much each tag holds, for errors and reports. [`Budget::firm`]
//! counts the bytes that no reclaimer can give back.
//!
//! Work that goes on by itself, as a checkpoint does, takes much memory for a moment. Such a
//! reservation is *brief* ([`Budget::reserve_briefly`]): page caches shrink for it, and nothing is
//! refused because of it. What can wait for its end does ([`Budget::wait_for_brief`]), so that both
//! are not held at once.
//!
//! Reservations count references to their budget and their tag. Threads that do so many times
//! within a microsecond would write the same counters, so each takes a handle of its own
//! ([`Budget::handle`]): the same limit and sum, with references that are counted apart.
//!
//! # Invariants
//! * PC-4: the sum of all reservations equals the sum the budget keeps; dropping a reservation
//!   returns it all.
//! * PC-5: the sum passes the limit only by [`Reservation::force_grow`], by lowering the limit, and
//!   by as much as brief reservations hold; with brief ones it is refused as any other.
//! * PC-36: what a thread reclaims is not lent again before that thread has had it.
//! * PC-37: no wait is longer than [`WAIT`], and there is none that is not asked for.
//!
//! # Concurrency
//! Everything may be called from any thread. Growing is one compare-and-swap loop on the sum and
//! one add on the tag's counter. Reclaimers run on the thread that asks, without any lock of the
//! budget held, except that two reclaims do not run at once.
//!
//! # Source
//! DuckDB's temporary memory manager and Kuzu's false out-of-memory (PR 4221): reserve what this
//! request needs, evict for this request only.

use parking_lot::{Mutex, RwLock};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How often reclaimers are asked for one reservation: in all, and in a row without giving any.
const PASSES_MAX: u32 = 100;
const EMPTY_PASSES: u32 = 2;

/// How long a reservation waits for brief ones to end, and a brief one for those that wait.
const WAIT: Duration = Duration::from_millis(150);
const TURN: Duration = Duration::from_millis(10);
/// Between two looks at the sum meanwhile.
const LOOK: Duration = Duration::from_micros(200);

/// Gives memory back when another user of the budget needs it.
pub trait Reclaim: Send + Sync {
    /// Tries to give back at least `bytes` bytes of the budget; returns how many it gave.
    fn reclaim(&self, bytes: u64) -> u64;
}

/// A limit in bytes shared by everything that keeps memory.
pub struct Budget {
    shared: Arc<Shared>,
    /// Tags that were asked for through this handle.
    tags: RwLock<Vec<Arc<KnownTag>>>,
}

/// What all handles of a budget are about.
struct Shared {
    limit: AtomicU64,
    used: AtomicU64,
    /// Of these, what reclaimers can be asked for.
    lent: AtomicU64,
    /// Of these, what ends soon.
    brief: AtomicU64,
    /// Threads that wait for that.
    waiting: AtomicU64,
    peak: AtomicU64,
    tags: RwLock<Vec<Arc<Tag>>>,
    reclaimers: RwLock<Vec<Weak<dyn Reclaim>>>,
    reclaiming: Mutex<()>,
    /// What the thread that reclaims asks for: kept from what is lent.
    wanted: AtomicU64,
}

struct Tag {
    name: &'static str,
    bytes: AtomicU64,
}

/// A tag as one handle knows it.
struct KnownTag(Arc<Tag>);

/// What one tag holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The tag given to [`Budget::reserve`].
    pub tag: &'static str,
    /// Bytes held now.
    pub bytes: u64,
}

/// The budget does not hold that much.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "memory limit of {limit} bytes reached: {tag} asked for {wanted} bytes more, {used} are in use \
        ({}); raise the memory limit",
    Holders(holders)
)]
pub struct BudgetError {
    /// The tag of the reservation that was to grow.
    pub tag: &'static str,
    /// Bytes asked for.
    pub wanted: u64,
    /// Bytes in use.
    pub used: u64,
    /// The limit in bytes.
    pub limit: u64,
    /// What holds the memory, largest first.
    pub holders: Vec<Holder>,
}

pub(crate) struct Holders<'a>(pub(crate) &'a [Holder]);

impl fmt::Display for Holders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, holder) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", holder.tag, holder.bytes)?;
        }
        Ok(())
    }
}

impl Shared {
    fn tag(&self, name: &'static str) -> Arc<Tag> {
        let mut tags = self.tags.write();
        if let Some(tag) = tags.iter().find(|tag| tag.name == name) {
            return Arc::clone(tag);
        }
        let tag = Arc::new(Tag {
            name,
            bytes: AtomicU64::new(0),
        });
        tags.push(Arc::clone(&tag));
        tag
    }
}

impl Budget {
    /// A budget of `bytes` bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Arc<Budget> {
        let shared = Shared {
            limit: AtomicU64::new(bytes),
            used: AtomicU64::new(0),
            lent: AtomicU64::new(0),
            brief: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            tags: RwLock::new(Vec::new()),
            reclaimers: RwLock::new(Vec::new()),
            reclaiming: Mutex::new(()),
            wanted: AtomicU64::new(0),
        };
        Budget::of(Arc::new(shared))
    }

    fn of(shared: Arc<Shared>) -> Arc<Budget> {
        Arc::new(Budget {
            shared,
            tags: RwLock::new(Vec::new()),
        })
    }

    /// Another handle of this budget, for a thread or a connection.
    #[must_use]
    pub fn handle(&self) -> Arc<Budget> {
        Budget::of(Arc::clone(&self.shared))
    }

    /// The limit in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.shared.limit.load(Ordering::Relaxed)
    }

    /// Sets the limit; what is reserved already stays. Page caches follow through
    /// `PageCache::resize`.
    pub fn set_limit(&self, bytes: u64) {
        self.shared.limit.store(bytes, Ordering::Relaxed);
    }

    /// Bytes reserved now.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.shared.used.load(Ordering::Relaxed)
    }

    /// Bytes reserved now that no reclaimer gives back: all but the frames of page caches.
    #[must_use]
    pub fn firm(&self) -> u64 {
        self.used()
            .saturating_sub(self.shared.lent.load(Ordering::Relaxed))
    }

    /// The largest sum of reservations so far.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.shared.peak.load(Ordering::Relaxed)
    }

    /// Bytes that may still be reserved without asking a reclaimer.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.limit().saturating_sub(self.used())
    }

    /// Reserves `bytes` bytes under `tag`, asking page caches to shrink if need be.
    ///
    /// # Errors
    /// [`BudgetError`] with every holder of memory when that does not help.
    pub fn reserve(
        self: &Arc<Self>,
        tag: &'static str,
        bytes: u64,
    ) -> Result<Reservation, BudgetError> {
        let mut reservation = self.empty_reservation(tag);
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// A reservation of no bytes under `tag`, to be grown later.
    pub fn empty_reservation(self: &Arc<Self>, tag: &'static str) -> Reservation {
        Reservation {
            budget: Arc::clone(self),
            tag: self.tag(tag),
            bytes: 0,
            term: Term::Kept,
        }
    }

    /// Reserves `bytes` for work of some milliseconds that goes on also without; `None` where there
    /// is no room.
    pub fn reserve_briefly(self: &Arc<Self>, tag: &'static str, bytes: u64) -> Option<Reservation> {
        let begun = Instant::now();
        while self.shared.waiting.load(Ordering::Relaxed) > 0 && begun.elapsed() < TURN {
            std::thread::sleep(LOOK);
        }
        let mut brief = self.empty_reservation(tag);
        brief.term = Term::Brief;
        brief.grow(bytes).ok().map(|()| brief)
    }

    /// The same for what a reclaimer gives back when others need it.
    pub(crate) fn empty_loan(self: &Arc<Self>, tag: &'static str) -> Reservation {
        let mut loan = self.empty_reservation(tag);
        loan.term = Term::Lent;
        loan
    }

    /// The bytes that each tag holds, largest first, without the tags that hold nothing.
    #[must_use]
    pub fn holders(&self) -> Vec<Holder> {
        let mut holders: Vec<Holder> = self
            .shared
            .tags
            .read()
            .iter()
            .map(|tag| Holder {
                tag: tag.name,
                bytes: tag.bytes.load(Ordering::Relaxed),
            })
            .filter(|holder| holder.bytes > 0)
            .collect();
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.bytes));
        holders
    }

    /// Registers a reclaimer, which can give memory back; forgotten when dropped.
    pub fn add_reclaimer(&self, reclaimer: Weak<dyn Reclaim>) {
        let mut reclaimers = self.shared.reclaimers.write();
        reclaimers.retain(|known| known.strong_count() > 0);
        reclaimers.push(reclaimer);
    }

    fn tag(&self, name: &'static str) -> Arc<KnownTag> {
        let named = |tag: &&Arc<KnownTag>| tag.0.name == name;
        if let Some(tag) = self.tags.read().iter().find(named) {
            return Arc::clone(tag);
        }
        let mut tags = self.tags.write();
        if let Some(tag) = tags.iter().find(named) {
            return Arc::clone(tag);
        }
        let tag = Arc::new(KnownTag(self.shared.tag(name)));
        tags.push(Arc::clone(&tag));
        tag
    }

    /// Adds to the sum where it stays `kept` bytes below the limit.
    fn try_add(&self, bytes: u64, kept: u64) -> bool {
        let limit = self.limit().saturating_sub(kept);
        let added = self
            .shared
            .used
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|sum| *sum <= limit)
            });
        match added {
            Ok(before) => {
                self.shared
                    .peak
                    .fetch_max(before + bytes, Ordering::Relaxed);
                true
            }
            Err(_) => false,
        }
    }

    fn missing(&self, bytes: u64) -> u64 {
        self.used()
            .saturating_add(bytes)
            .saturating_sub(self.limit())
    }

    /// Waits up to [`WAIT`] where brief reservations alone are in the way of `bytes` more; whether
    /// they were.
    pub fn wait_for_brief(&self, bytes: u64) -> bool {
        let missing = || (self.firm().saturating_add(bytes)).saturating_sub(self.limit());
        let of_brief = || (1..=self.shared.brief.load(Ordering::Relaxed)).contains(&missing());
        if !of_brief() {
            return false;
        }
        let since = Instant::now();
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        while of_brief() && since.elapsed() < WAIT {
            std::thread::sleep(LOOK);
        }
        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        true
    }

    /// Asks reclaimers until `bytes` more fit, and adds them; whether they fit.
    ///
    /// Meanwhile reclaimers take nothing of it for other threads (PC-36). Reservations that no
    /// reclaimer can give back may: then it asks for as much again, as long as it gets anything.
    fn reclaim_and_add(&self, bytes: u64) -> bool {
        let reclaimers: Vec<_> = self
            .shared
            .reclaimers
            .read()
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        if bytes > self.limit() {
            return false;
        }
        let _one_at_a_time = self.shared.reclaiming.lock();
        let _kept = Wanted::keep(&self.shared.wanted, bytes);
        // Pages that other threads hold for a moment may be given back the next time.
        let (mut passes, mut empty) = (0, 0);
        while passes < PASSES_MAX && empty < EMPTY_PASSES {
            let mut given = 0;
            for reclaimer in &reclaimers {
                let missing = self.missing(bytes);
                if missing > 0 {
                    given += reclaimer.reclaim(missing);
                }
            }
            if self.try_add(bytes, 0) {
                return true;
            }
            passes += 1;
            empty = if given == 0 { empty + 1 } else { 0 };
        }
        false
    }
}

/// Keeps what a thread asks for from what is lent, until it is dropped.
struct Wanted<'a>(&'a AtomicU64);

impl<'a> Wanted<'a> {
    fn keep(wanted: &'a AtomicU64, bytes: u64) -> Self {
        wanted.store(bytes, Ordering::Relaxed);
        Self(wanted)
    }
}

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("limit", &self.limit())
            .field("used", &self.used())
            .field("holders", &self.holders())
            .finish()
    }
}

/// Bytes of a budget held by one owner; given back when dropped.
pub struct Reservation {
    budget: Arc<Budget>,
    tag: Arc<KnownTag>,
    bytes: u64,
    term: Term,
}

/// How long a reservation lasts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    /// As its holder wants.
    Kept,
    /// Until others need it: a reclaimer gives it back.
    Lent,
    /// Some milliseconds.
    Brief,
}

impl Reservation {
    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The budget this belongs to.
    #[must_use]
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Holds `bytes` more, asking page caches to shrink if need be.
    ///
    /// # Errors
    /// [`BudgetError`] when that does not help; nothing changes then.
    pub fn grow(&mut self, bytes: u64) -> Result<(), BudgetError> {
        if self.try_grow(bytes) {
            return Ok(());
        }
        if self.budget.reclaim_and_add(bytes) {
            self.add(bytes);
            return Ok(());
        }
        let brief = self.budget.shared.brief.load(Ordering::Relaxed);
        if self.term == Term::Kept && self.budget.missing(bytes) <= brief {
            self.force_grow(bytes);
            return Ok(());
        }
        Err(BudgetError {
            tag: self.tag.0.name,
            wanted: bytes,
            used: self.budget.used(),
            limit: self.budget.limit(),
            holders: self.budget.holders(),
        })
    }

    /// Holds `bytes` more if that fits without asking a reclaimer.
    #[must_use]
    pub fn try_grow(&mut self, bytes: u64) -> bool {
        if bytes == 0 {
            return true;
        }
        let kept = match self.term {
            Term::Lent => self.budget.shared.wanted.load(Ordering::Relaxed),
            Term::Kept | Term::Brief => 0,
        };
        if !self.budget.try_add(bytes, kept) {
            return false;
        }
        self.add(bytes);
        true
    }

    /// The sum of those of its term, where there is one.
    fn sum(&self) -> Option<&AtomicU64> {
        match self.term {
            Term::Kept => None,
            Term::Lent => Some(&self.budget.shared.lent),
            Term::Brief => Some(&self.budget.shared.brief),
        }
    }

    fn add(&mut self, bytes: u64) {
        if let Some(sum) = self.sum() {
            sum.fetch_add(bytes, Ordering::Relaxed);
        }
        self.tag.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
    }

    /// Holds `bytes` more even beyond the limit: for what cannot be undone any more.
    pub fn force_grow(&mut self, bytes: u64) {
        let before = self.budget.shared.used.fetch_add(bytes, Ordering::AcqRel);
        self.budget
            .shared
            .peak
            .fetch_max(before + bytes, Ordering::Relaxed);
        self.add(bytes);
    }

    /// Gives `bytes` back.
    ///
    /// # Panics
    /// If more is given back than is held.
    pub fn shrink(&mut self, bytes: u64) {
        assert!(
            bytes <= self.bytes,
            "PC-4: {} bytes given back of {} held by {}",
            bytes,
            self.bytes,
            self.tag.0.name
        );
        if bytes == 0 {
            return;
        }
        self.bytes -= bytes;
        self.tag.0.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(sum) = self.sum() {
            sum.fetch_sub(bytes, Ordering::Relaxed);
        }
        self.budget.shared.used.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Holds exactly `bytes`.
    ///
    /// # Errors
    /// [`BudgetError`] when growing does not succeed.
    pub fn resize(&mut self, bytes: u64) -> Result<(), BudgetError> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.grow(more),
            None => {
                self.shrink(self.bytes - bytes);
                Ok(())
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reservation({} {} bytes)", self.tag.0.name, self.bytes)
    }
}

#[cfg(test)]
mod tests;
