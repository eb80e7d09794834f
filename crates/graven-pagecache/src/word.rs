//! The entry word: where a page is and what threads may do with it, in one atomic word.
//!
//! # How it works
//! Every 4 KiB unit of a file has one word in the page table; a page uses the word of its first
//! unit.
//! ```text
//! | 63..61 usage | 60..57 class | 56..49 state | 48..28 version | 27..0 frame |
//!
//!                     reserve            start_read             arrive        (hold: READING to EXCLUSIVE)
//!  ABSENT (word 0) ------------> RESERVED ---------> READING ------------> ARRIVED
//!        ^                                                              begin_verify |  ^
//!        |  clear: CLAIMED, and RESERVED, READING, EXCLUSIVE that failed             v  |
//!        +------------------------------------------------------------------- EXCLUSIVE |
//!        |                                                          publish(pins) |     |
//!     CLAIMED <--- claim: no pins, or ARRIVED ----- RESIDENT + pins <-------------+     |
//!                                                   try_pin, unpin; lock and unlock ----+
//! ```
//! The *usage* bits serve the counting policies; they change in any state by compare-and-swap, so
//! owners of a word move its state by adding and subtracting, never by storing (except to zero).
//! The *version* comes from a counter of the cache at every load and grows when an exclusive lock
//! is taken and when it is released. An optimistic reader compares version, class and frame before
//! and after.
//!
//! # Invariants
//! * PC-7: a word is zero exactly when its page has no frame, no fault under way and no victim
//!   under way.
//! * PC-8: at most one thread owns a word in RESERVED, READING (an I/O queue or a thread),
//!   EXCLUSIVE or CLAIMED.
//! * PC-9: a frame is reused only after the word that named it became zero (or names another
//!   frame).
//! * PC-10: the version of a word that is not zero is not zero.
//!
//! # Concurrency
//! `publish` releases the frame's bytes, `try_pin` and the first load of an optimistic read acquire
//! them. `clear` is followed by a full fence before the frame is written again, and an optimistic
//! reader fences before its second load, so that a reader that saw bytes of the next page also sees
//! the changed word. The functions are generic over [`Word`] so that the model checker runs exactly
//! this code.
//!
//! # Source
//! Viktor Leis and others, "Virtual-Memory Assisted Buffer Management", SIGMOD 2023, section 3
//! (state and version in one word). Deviation: usage bits and frame number in the same word, see
//! the table of costs in `docs/internals/page-cache.md`.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The operations on an atomic word; the model checker brings its own.
pub(crate) trait Word {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn swap(&self, value: u64, order: Ordering) -> u64;
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64>;
    fn add(&self, amount: u64, order: Ordering) -> u64;
    fn fence(order: Ordering);
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    #[inline(always)]
    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order);
    }
    #[inline(always)]
    fn swap(&self, value: u64, order: Ordering) -> u64 {
        self.swap(value, order)
    }
    #[inline(always)]
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.compare_exchange(current, new, success, failure)
    }
    #[inline(always)]
    fn add(&self, amount: u64, order: Ordering) -> u64 {
        self.fetch_add(amount, order)
    }
    #[inline(always)]
    fn fence(order: Ordering) {
        fence(order);
    }
}

const USAGE_SHIFT: u32 = 61;
const USAGE_ONE: u64 = 1 << USAGE_SHIFT;
const USAGE_MASK: u64 = 7 << USAGE_SHIFT;
const CLASS_SHIFT: u32 = 57;
const CLASS_MASK: u64 = 15 << CLASS_SHIFT;
const STATE_SHIFT: u32 = 49;
const STATE_ONE: u64 = 1 << STATE_SHIFT;
const STATE_MASK: u64 = 255 << STATE_SHIFT;
const VERSION_SHIFT: u32 = 28;
/// Bits of the version.
pub(crate) const VERSION_BITS: u32 = 21;
const VERSION_MASK: u64 = ((1 << VERSION_BITS) - 1) << VERSION_SHIFT;
/// What an optimistic reader compares: version and frame. A frame changes its class only with its
/// page.
const SAME_MASK: u64 = STATE_ONE - 1;
/// Bits of the frame number, in units of 4 KiB: pools of up to 1 TiB.
pub(crate) const FRAME_BITS: u32 = 28;
const FRAME_MASK: u64 = (1 << FRAME_BITS) - 1;

const _: () = assert!(FRAME_BITS == VERSION_SHIFT);
const _: () = assert!(VERSION_SHIFT + VERSION_BITS == STATE_SHIFT);
const _: () = assert!(STATE_SHIFT + 8 == CLASS_SHIFT && CLASS_SHIFT + 4 == USAGE_SHIFT);
/// Bits above the class: by so many its place in a page reference is higher.
const CLASS_BELOW_TOP: u32 = u64::BITS - USAGE_SHIFT;
/// Where the size class stands in a page reference.
const CLASS_OF_REFERENCE: u64 = 0xf << 60;

/// State of a word.
pub(crate) mod state {
    /// Nothing is known of the page; the whole word is zero.
    pub(crate) const ABSENT: u64 = 0;
    /// In its frame, no pins; plus n for n pins.
    pub(crate) const RESIDENT: u64 = 1;
    /// In its frame with as many pins as fit.
    pub(crate) const PINNED_MAX: u64 = 249;
    /// Read but not verified; no thread has used it yet.
    pub(crate) const ARRIVED: u64 = 250;
    /// Being read into its frame.
    pub(crate) const READING: u64 = 251;
    // 252 is free: a page that is being written back is pinned, which keeps writers out and lets
    // readers in.
    /// One thread may change it (or verifies it).
    pub(crate) const EXCLUSIVE: u64 = 253;
    /// Chosen as a victim.
    pub(crate) const CLAIMED: u64 = 254;
    /// A fault wants a frame for it.
    pub(crate) const RESERVED: u64 = 255;
}

/// Where a page lies: class in the top four bits, frame number below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameAddress(pub(crate) u32);

impl FrameAddress {
    pub(crate) fn new(class: u8, frame: u32) -> FrameAddress {
        debug_assert!(u64::from(frame) <= FRAME_MASK);
        FrameAddress(u32::from(class) << FRAME_BITS | frame)
    }

    pub(crate) fn class(self) -> u8 {
        (self.0 >> FRAME_BITS) as u8
    }

    pub(crate) fn frame(self) -> u32 {
        self.0 & FRAME_MASK as u32
    }

    /// Class and frame in the places they have in a word.
    fn bits(self) -> u64 {
        u64::from(self.class()) << CLASS_SHIFT | u64::from(self.frame())
    }
}

#[inline(always)]
pub(crate) fn state_of(word: u64) -> u64 {
    (word & STATE_MASK) >> STATE_SHIFT
}

#[inline(always)]
pub(crate) fn usage_of(word: u64) -> u8 {
    ((word & USAGE_MASK) >> USAGE_SHIFT) as u8
}

pub(crate) fn version_of(word: u64) -> u32 {
    ((word & VERSION_MASK) >> VERSION_SHIFT) as u32
}

#[inline(always)]
pub(crate) fn address_of(word: u64) -> FrameAddress {
    FrameAddress(((word & CLASS_MASK) >> (CLASS_SHIFT - FRAME_BITS) | word & FRAME_MASK) as u32)
}

#[inline(always)]
pub(crate) fn frame_of(word: u64) -> u64 {
    word & FRAME_MASK
}

/// Whether the page of `word` has class `class`.
#[inline(always)]
pub(crate) fn is_class(word: u64, class: u8) -> bool {
    (word & CLASS_MASK) >> CLASS_SHIFT == u64::from(class)
}

/// Whether bytes of the page may be read optimistically.
#[inline(always)]
pub(crate) fn is_readable(word: u64) -> bool {
    state_of(word).wrapping_sub(state::RESIDENT) <= state::PINNED_MAX - state::RESIDENT
}

/// Whether one more pin may be taken.
#[inline(always)]
pub(crate) fn is_pinnable(word: u64) -> bool {
    state_of(word).wrapping_sub(state::RESIDENT) < state::PINNED_MAX - state::RESIDENT
}

/// Whether the page has the class of the page reference `raw` and its bytes may be read
/// optimistically: one comparison, because in a word the state lies right below the class, and
/// zeros do where a reference is cut to its class.
#[inline(always)]
pub(crate) fn is_readable_as(word: u64, raw: u64) -> bool {
    state_or_more(word, raw).wrapping_sub(state::RESIDENT) <= state::PINNED_MAX - state::RESIDENT
}

/// The state of `word`; more than any state if its class is not that of the page reference `raw`.
#[inline(always)]
fn state_or_more(word: u64, raw: u64) -> u64 {
    let class = raw & CLASS_OF_REFERENCE;
    ((word << CLASS_BELOW_TOP) ^ class) >> (STATE_SHIFT + CLASS_BELOW_TOP)
}

/// Whether the page has the class of the page reference `raw` and one more pin may be taken.
#[inline(always)]
pub(crate) fn is_pinnable_as(word: u64, raw: u64) -> bool {
    state_or_more(word, raw).wrapping_sub(state::RESIDENT) < state::PINNED_MAX - state::RESIDENT
}

/// Number of pins.
pub(crate) fn pins_of(word: u64) -> u64 {
    if is_readable(word) {
        state_of(word) - state::RESIDENT
    } else {
        0
    }
}

/// Whether no thread can be reading, writing or pinning the page.
pub(crate) fn is_claimable(word: u64) -> bool {
    matches!(state_of(word), state::RESIDENT | state::ARRIVED)
}

/// The version after `version` in a width of `bits`: never zero (PC-10).
pub(crate) const fn next_version(version: u32, bits: u32) -> u32 {
    let next = (version + 1) & ((1 << bits) - 1);
    if next == 0 { 1 } else { next }
}

/// Whether an optimistic reader that loaded `before` may believe what it read.
#[inline(always)]
pub(crate) fn is_same<W: Word>(word: &W, before: u64) -> bool {
    W::fence(Ordering::Acquire);
    let now = word.load(Ordering::Relaxed);
    (now ^ before) & SAME_MASK == 0
}

/// A largest usage count in the place it has in a word.
pub(crate) const fn usage_bits(usage: u8) -> u64 {
    (if usage < 7 { usage as u64 } else { 7 }) << USAGE_SHIFT
}

/// Whether the usage count of a resident page's word is below that of `usage_max` (as
/// [`usage_bits`]; what lies below the class there does not matter): one comparison, because the
/// count lies at the top and a resident page's state is not 0.
#[inline(always)]
fn is_used_less(word: u64, usage_max: u64) -> bool {
    debug_assert!(is_readable(word) && usage_max & (CLASS_MASK | STATE_MASK) == 0);
    word < usage_max
}

/// Takes one pin of the page seen as `seen` (which must be pinnable) and counts the use up to
/// `usage_max` (as [`usage_bits`]).
#[inline(always)]
pub(crate) fn try_pin<W: Word>(word: &W, seen: u64, usage_max: u64) -> bool {
    debug_assert!(is_pinnable(seen));
    let step = if is_used_less(seen, usage_max) {
        STATE_ONE + USAGE_ONE
    } else {
        STATE_ONE
    };
    word.compare_exchange(seen, seen + step, Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
}

/// Gives one pin back.
#[inline(always)]
pub(crate) fn unpin<W: Word>(word: &W) {
    // Sequentially consistent: the caller looks for starving threads next, which look for pins
    // after they made themselves known.
    let before = word.add(STATE_ONE.wrapping_neg(), Ordering::SeqCst);
    debug_assert!(pins_of(before) > 0, "PC-8: a pin is given back once");
}

/// Counts a use of the page seen as `seen`; may be lost.
#[inline(always)]
pub(crate) fn touch<W: Word>(word: &W, seen: u64, usage_max: u64) {
    if is_used_less(seen, usage_max) {
        let _ = word.compare_exchange(seen, seen + USAGE_ONE, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Stores a usage count while the word still names `place`; a concurrent change of state is
/// retried.
pub(crate) fn set_usage<W: Word>(word: &W, place: FrameAddress, usage: u8) {
    let mut seen = word.load(Ordering::Relaxed);
    while address_of(seen) == place && seen != 0 && usage_of(seen) != usage {
        let new = seen & !USAGE_MASK | usage_bits(usage);
        match word.compare_exchange(seen, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => seen = now,
        }
    }
}

/// Makes the caller the thread that brings the page in; `false` if another thread was earlier.
pub(crate) fn reserve<W: Word>(word: &W, version: u32) -> bool {
    debug_assert!(version != 0, "PC-10");
    let new = state::RESERVED << STATE_SHIFT | u64::from(version) << VERSION_SHIFT;
    word.compare_exchange(0, new, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
}

/// RESERVED to READING: the page now has a frame. Only the owner calls this.
pub(crate) fn start_read<W: Word>(word: &W, place: FrameAddress) {
    let before = word.load(Ordering::Relaxed);
    debug_assert_eq!(state_of(before), state::RESERVED, "PC-8");
    // No other thread changes a reserved word: it names no frame.
    word.store(
        with_state(before, state::READING) | place.bits(),
        Ordering::Release,
    );
}

/// READING to EXCLUSIVE: the owner of a page that needs no read fills it. Only the owner calls
/// this.
pub(crate) fn hold<W: Word>(word: &W) {
    let step = (state::EXCLUSIVE - state::READING) * STATE_ONE;
    let before = word.add(step, Ordering::SeqCst);
    debug_assert_eq!(state_of(before), state::READING, "PC-8");
}

/// READING to ARRIVED: the bytes are in the frame.
pub(crate) fn arrive<W: Word>(word: &W) {
    let before = word.add(STATE_ONE.wrapping_neg(), Ordering::SeqCst);
    debug_assert_eq!(state_of(before), state::READING, "PC-8");
}

/// ARRIVED to EXCLUSIVE: the caller verifies the page and publishes or clears it.
pub(crate) fn begin_verify<W: Word>(word: &W, seen: u64) -> bool {
    debug_assert_eq!(state_of(seen), state::ARRIVED);
    let new = seen + (state::EXCLUSIVE - state::ARRIVED) * STATE_ONE;
    word.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
}

/// EXCLUSIVE or READING to RESIDENT with `pins` pins. Only the owner calls this.
pub(crate) fn publish<W: Word>(word: &W, pins: u64) {
    let from = state_of(word.load(Ordering::Relaxed));
    debug_assert!(
        from == state::EXCLUSIVE || from == state::READING,
        "PC-8: state {from}"
    );
    let step = (state::RESIDENT + pins)
        .wrapping_sub(from)
        .wrapping_mul(STATE_ONE);
    word.add(step, Ordering::SeqCst);
}

/// RESIDENT without pins, or ARRIVED, to CLAIMED.
pub(crate) fn claim<W: Word>(word: &W, seen: u64) -> bool {
    debug_assert!(is_claimable(seen));
    let new = with_state(seen, state::CLAIMED);
    word.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
}

/// Makes the page absent. Only the owner of a RESERVED, READING, EXCLUSIVE or CLAIMED word calls
/// this, and does so before the frame is used for anything else (PC-9).
pub(crate) fn clear<W: Word>(word: &W) {
    debug_assert!(
        state_of(word.load(Ordering::Relaxed)) >= state::READING,
        "PC-8"
    );
    // A read-modify-write, so that it has a place between the policy's changes of the usage bits.
    word.swap(0, Ordering::SeqCst);
    W::fence(Ordering::SeqCst);
}

/// RESIDENT without pins to EXCLUSIVE; optimistic readers under way will fail.
pub(crate) fn try_lock<W: Word>(word: &W, seen: u64) -> bool {
    debug_assert_eq!(state_of(seen), state::RESIDENT);
    let new = with_state(with_next_version(seen), state::EXCLUSIVE);
    let locked = word
        .compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok();
    if locked {
        W::fence(Ordering::SeqCst);
    }
    locked
}

/// EXCLUSIVE to `state` (RESIDENT without pins, or ARRIVED) at `place`, with a new version. Only
/// the owner calls this.
pub(crate) fn unlock<W: Word>(word: &W, place: FrameAddress, state: u64) {
    let mut seen = word.load(Ordering::Relaxed);
    loop {
        debug_assert_eq!(state_of(seen), self::state::EXCLUSIVE, "PC-8");
        let moved = with_next_version(seen) & !(CLASS_MASK | FRAME_MASK) | place.bits();
        let new = with_state(moved, state);
        match word.compare_exchange(seen, new, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => seen = now,
        }
    }
}

fn with_state(word: u64, state: u64) -> u64 {
    word & !STATE_MASK | state << STATE_SHIFT
}

fn with_next_version(word: u64) -> u64 {
    let next = next_version(version_of(word), VERSION_BITS);
    word & !VERSION_MASK | u64::from(next) << VERSION_SHIFT
}

#[cfg(test)]
mod model;
