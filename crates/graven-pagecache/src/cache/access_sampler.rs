//! Watching: a sample of all accesses, kept in little memory, from which
//! [`what_if`](PageCache::what_if) tells how other sizes and policies would have done.
//!
//! # How it works
//! While a cache is watched, the word that every hit reads anyway (`hits.rs`) says so, and one page
//! in 2^n is in the sample: those whose hash begins with n zeros. A hit on another page pays for
//! that test alone; one on a page of the sample is noted in a list of its thread, which is appended
//! to the window every 64 accesses. The window has two generations: when the newer one is full it
//! becomes the older one, and the oldest accesses are forgotten. What the window takes is reserved
//! from the budget.
//!
//! # Invariants
//! * PC-30: a cache that is not watched pays nothing; the window never grows beyond its
//!   reservation.
//!
//! # Costs
//! Eight bytes an access of the sample; at most a thirty-second of the budget and 4 MiB.
//!
//! # Source
//! C. Waldspurger, N. Park, A. Garthwaite, I. Ahmad, "Efficient MRC construction with SHARDS", FAST
//! 2015 (sampling by hash).

use crate::budget::Reservation;
use crate::cache::PageCache;
use crate::error::{Error, Result};
use crate::slots::PageKey;
use graven_policy::Hint;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Accesses that a thread keeps before it appends them.
const STRETCH: usize = 64;
/// The window takes this part of the budget,
const LIMIT_SHARE: u64 = 32;
/// at least and at most so many bytes.
const WINDOW_BYTES: (u64, u64) = (32 << 10, 4 << 20);
/// Frames of the sample that are aimed at.
const SAMPLED_FRAMES: u64 = 512;
/// One page in eight at most, one in 256 at least.
const SHIFTS: (u32, u32) = (3, 8);

/// An access of the sample: file and page, class, and whether a scan made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SampledAccess(u64);

const CLASS_SHIFT: u32 = 58;
const SCAN: u64 = 1 << 63;
const FILE_SHIFT: u32 = 48;

impl SampledAccess {
    fn new(page: PageKey, class: u8, is_scan: bool) -> SampledAccess {
        // Units beyond 2^48 (an exabyte) would be told apart by the lower bits alone, which is
        // harmless in a sample.
        let unit = page.unit() & ((1 << FILE_SHIFT) - 1);
        SampledAccess(
            unit | u64::from(page.file()) << FILE_SHIFT
                | u64::from(class) << CLASS_SHIFT
                | if is_scan { SCAN } else { 0 },
        )
    }

    /// The page, as a number.
    pub(crate) fn page(self) -> u64 {
        self.0 & ((1 << CLASS_SHIFT) - 1)
    }

    /// Bytes of the page.
    pub(crate) fn bytes(self) -> u32 {
        (crate::UNIT_BYTES as u32) << (self.0 >> CLASS_SHIFT & 15)
    }

    pub(crate) fn hint(self) -> Hint {
        if self.0 & SCAN == 0 {
            Hint::Normal
        } else {
            Hint::Scan
        }
    }
}

/// What a cache notes while it is watched.
pub(crate) struct AccessSampler {
    number: u64,
    /// Logarithm of: one page in so many.
    pub(crate) shift: u32,
    /// Accesses of a generation.
    room: usize,
    window: Mutex<Window>,
    _reservation: Reservation,
}

/// The accesses of the sample, oldest first, and how many accesses the cache had counted before
/// them.
#[derive(Clone, Default)]
pub(crate) struct Window {
    pub(crate) older: Vec<SampledAccess>,
    pub(crate) newer: Vec<SampledAccess>,
    pub(crate) older_from: u64,
    newer_from: u64,
}

/// The list of a thread and the watch it belongs to.
struct Part {
    number: u64,
    list: Vec<SampledAccess>,
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static PART: RefCell<Part> = const { RefCell::new(Part { number: 0, list: Vec::new() }) };
}

/// Whether a page is in a sample of one page in 2^`shift`.
#[inline(always)]
pub(crate) fn samples(page: PageKey, shift: u32) -> bool {
    page.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - shift) == 0
}

impl PageCache {
    /// Begins to watch which pages are asked for, from now on; nothing changes if that is under
    /// way. `true` if it began.
    ///
    /// # Errors
    /// [`Error::Watch`] where the budget has no room for the window.
    pub fn watch(&self) -> Result<bool> {
        let mut watch = self.watching().write();
        if watch.is_some() {
            return Ok(false);
        }
        let limit = self.budget().limit();
        let bytes = (limit / LIMIT_SHARE).clamp(WINDOW_BYTES.0, WINDOW_BYTES.1);
        let reservation = self
            .budget()
            .reserve("access samples", bytes)
            .map_err(|error| Error::Watch(error.to_string()))?;
        let frames = limit / crate::UNIT_BYTES as u64;
        let shift = (frames / SAMPLED_FRAMES).max(1).ilog2();
        let total = self.accesses();
        let new = AccessSampler {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            shift: shift.clamp(SHIFTS.0, SHIFTS.1),
            room: (bytes / 16) as usize,
            window: Mutex::new(Window {
                older_from: total,
                newer_from: total,
                ..Window::default()
            }),
            _reservation: reservation,
        };
        let shift = new.shift;
        *watch = Some(Arc::new(new));
        self.set_watched(Some(shift));
        Ok(true)
    }

    /// Ends it and forgets what was noted; `false` if the cache was not watched.
    pub fn unwatch(&self) -> bool {
        let watch = self.watching().write().take();
        self.set_watched(None);
        watch.is_some()
    }

    /// The window so far, the accesses that the cache counted until now, and the sample's shift;
    /// none if the cache is not watched.
    pub(crate) fn window(&self) -> Option<(Window, u64, u32)> {
        let watch = self.watching().read().clone()?;
        let window = watch.window.lock().clone();
        Some((window, self.accesses(), watch.shift))
    }

    /// All accesses counted so far.
    fn accesses(&self) -> u64 {
        self.counters().sum().total().accesses()
    }

    /// Notes an access to a page of the sample.
    #[cold]
    pub(crate) fn note(&self, page: PageKey, class: u8, is_scan: bool) {
        let watch = self.watching().read();
        let Some(watch) = watch.as_ref() else { return };
        PART.with_borrow_mut(|part| {
            if part.number != watch.number {
                part.number = watch.number;
                part.list.clear();
            }
            part.list.push(SampledAccess::new(page, class, is_scan));
            if part.list.len() >= STRETCH {
                let is_full = {
                    let mut window = watch.window.lock();
                    window.newer.append(&mut part.list);
                    window.newer.len() + STRETCH > watch.room
                };
                if is_full {
                    let total = self.accesses();
                    watch.turn(total);
                }
            }
        });
    }
}

impl AccessSampler {
    /// The newer generation becomes the older one.
    fn turn(&self, total: u64) {
        let mut window = self.window.lock();
        if window.newer.len() + STRETCH <= self.room {
            // Another thread was faster.
            return;
        }
        let Window {
            older,
            newer,
            older_from,
            newer_from,
        } = &mut *window;
        std::mem::swap(older, newer);
        newer.clear();
        *older_from = *newer_from;
        *newer_from = total;
    }
}
