//! Replacement policies: which frame goes next.
//!
//! One policy lives in one file, single-threaded, without locks, clocks or I/O. The simulator runs
//! it directly; the page cache runs the very same code behind a *hit protocol* (atomic, locked,
//! sharded, batched, combining, sampled) chosen separately. One policy instance orders all frames
//! of all size classes through one dense index; weights and shares are in bytes.
//!
//! # How it works
//! A fault is three calls under the policy's lock: [`Policy::on_miss`] (the ghosts learn that the
//! page is wanted), any number of [`Policy::evict`] until there is room, then [`Policy::on_load`].
//! The page cache's background evictor calls `evict` ahead of faults; then a fault is `on_miss` and
//! `on_load` only. Hits reach the policy in one of the ways that [`HitKind`] names; only
//! [`HitKind::Append`] calls code.
//!
//! # Invariants
//! Every policy keeps these; [`conformance`] tests them, [`Policy::check`] recounts the structure.
//! * PO-1 A frame is resident in the policy from `on_load` until `evict` returns it or `on_remove`
//!   names it.
//! * PO-2 `evict` returns only frames that [`Frames::try_claim`] answered with [`Claim::Claimed`].
//! * PO-3 A busy frame keeps its place in the order (list policies may move it to the far end of
//!   its own list once a sweep met it) and its usage count.
//! * PO-4 One call of `evict` ends after a bounded number of looks, whatever is busy.
//! * PO-5 Ghosts are bounded by a fixed multiple of the capacity.
//! * PO-6 Same calls and same seed, same victims.
//!
//! # Source
//! Contract and exact semantics: the founding documents and the papers named in each policy's file.

mod adaptive_lists;
pub mod arc;
pub mod batched;
pub mod belady;
pub mod car;
pub mod clock;
pub mod clockpro;
pub mod conformance;
mod error;
pub mod eviction_queue;
pub mod fifo;
pub mod gclock;
mod ghost;
pub mod graven;
pub mod history;
pub mod lfu;
pub mod lirs;
mod lists;
pub mod lru;
pub mod lruk;
pub mod mglru;
pub mod muninn;
pub mod neo4j;
mod page_index;
pub mod random;
pub mod registry;
pub mod running;
pub mod s3fifo;
pub mod s4lru_blog;
pub mod sieve;
pub mod simulator;
mod sketch;
mod slots;
pub mod slru;
pub mod thesis_clockpro;
pub mod twoq;
pub mod watt;
pub mod wtinylfu;

pub use error::PolicyError;
pub use registry::parse;

/// Dense 0-based index of a frame in the space of one policy instance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FrameIdx(pub u32);

/// Identity of a page as ghosts remember it; opaque to the policy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct PageId(pub u64);

/// What a hit has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HitKind {
    /// Nothing.
    None,
    /// Set the frame's usage to 1 if it is 0.
    SetBit,
    /// Raise the frame's usage by one while it is below `max` (1..=7); lost updates are allowed.
    Count {
        /// Largest usage count.
        max: u8,
    },
    /// Store the coarse epoch in the frame's stamp if it differs.
    Stamp,
    /// Call [`Policy::on_hit`], perhaps later and perhaps not at all, as the hit protocol decides.
    Append,
}

/// What the cache knows about an access when it faults a page in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Hint {
    /// An ordinary access.
    #[default]
    Normal,
    /// Part of a scan: enters at the probation end, accesses are not counted.
    Scan,
    /// Read ahead of its first use: enters with usage 0 and the first use is not counted as a hit.
    Prefetch,
}

/// Outcome of [`Frames::try_claim`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// The frame is now exclusively the caller's: its page leaves the cache.
    Claimed,
    /// Pinned, being read or written, or dirty (the cache writes it soon): skip it, keep its place
    /// and its usage.
    Busy,
}

/// The cache's frames as a policy sees them: usage counts, stamps, weights and the right to evict.
///
/// The page cache keeps usage bits in the page-table entry and answers with atomics; the simulator
/// keeps plain arrays. Implementations must be total: any index below [`Frames::frame_count`] may
/// be asked.
pub trait Frames {
    /// Number of slots in the dense index space; may grow between calls, never shrinks.
    fn frame_count(&self) -> usize;
    /// Usage count of the resident page, 0..=7; 0 where nothing is resident.
    fn usage(&self, frame: FrameIdx) -> u8;
    /// Stores a usage count; a concurrent hit may win.
    fn set_usage(&self, frame: FrameIdx, usage: u8);
    /// Coarse time of the last hit ([`HitKind::Stamp`] policies only).
    fn stamp(&self, frame: FrameIdx) -> u32;
    /// The coarse clock of [`Frames::stamp`].
    fn epoch(&self) -> u32;
    /// Size of the resident page in bytes (1 in a simulation that counts pages).
    fn weight(&self, frame: FrameIdx) -> u32;
    /// Whether the frame is pinned, being read or written: a sweep passes it without lowering its
    /// usage.
    fn is_busy(&self, frame: FrameIdx) -> bool;
    /// Tries to take the resident page for eviction.
    fn try_claim(&mut self, frame: FrameIdx) -> Claim;
    /// From now on `pages` claims of pages that a running transaction used last find them busy;
    /// frames that know no transactions ignore it.
    fn pass_over_running(&mut self, pages: u32) {
        let _ = pages;
    }
}

/// A replacement policy over frames `F`.
pub trait Policy<F: Frames + ?Sized>: Send {
    /// What a hit must do; constant over the life of the policy.
    fn hit_kind(&self) -> HitKind;

    /// `page` is not resident and is wanted now; called before room is made for it. The returned
    /// token is handed to `evict` and `on_load`; several misses may be outstanding and may be
    /// abandoned (failed reads).
    fn on_miss(&mut self, page: PageId) -> Admission {
        let _ = page;
        Admission::default()
    }

    /// `page` now occupies `frame`; sets the frame's initial usage.
    fn on_load(
        &mut self,
        frames: &F,
        frame: FrameIdx,
        page: PageId,
        hint: Hint,
        admission: Admission,
    );

    /// An ordered hit ([`HitKind::Append`] only); `page` lets a late hit on a recycled frame be
    /// dropped.
    fn on_hit(&mut self, frames: &F, frame: FrameIdx, page: PageId) {
        let _ = (frames, frame, page);
    }

    /// Chooses one victim, claims it through [`Frames::try_claim`], forgets it as resident and
    /// returns it with its page. Looks at a bounded number of frames (at most twice the resident
    /// ones times the largest count); `None` when everything it looked at was busy or nothing is
    /// resident.
    fn evict(&mut self, frames: &mut F, incoming: Admission) -> Option<(FrameIdx, PageId)>;

    /// How many frames an evictor frees at once, given `frames` frames, when none is left; 1 unless
    /// the rules being reproduced say otherwise. Freed frames are reused last freed, first.
    fn eviction_batch(&self, frames: usize) -> usize {
        let _ = frames;
        1
    }

    /// Whether the policy wants [`Policy::evict`] to be called although there is room (after a hit
    /// that made a page fall out of its lists). A cache may wait for the next fault instead.
    fn has_surplus(&self) -> bool {
        false
    }

    /// Figures worth printing beside the hit ratio, by name.
    fn figures(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// `page` left `frame` outside the policy's choice (truncated, dropped, resized away).
    fn on_remove(&mut self, frames: &F, frame: FrameIdx, page: PageId);

    /// `page` is freed for good: forgets its ghost, if any.
    fn forget(&mut self, page: PageId) {
        let _ = page;
    }

    /// The capacity changed to `capacity` (the unit of [`Frames::weight`]).
    fn resize(&mut self, capacity: u64);

    /// Recounts the whole structure; an `Err` names the broken invariant.
    ///
    /// # Errors
    /// A sentence naming what does not add up.
    fn check(&self, frames: &F) -> Result<(), String>;
}

impl<F: Frames + ?Sized, P: Policy<F> + ?Sized> Policy<F> for Box<P> {
    fn hit_kind(&self) -> HitKind {
        (**self).hit_kind()
    }

    fn on_miss(&mut self, page: PageId) -> Admission {
        (**self).on_miss(page)
    }

    fn on_load(
        &mut self,
        frames: &F,
        frame: FrameIdx,
        page: PageId,
        hint: Hint,
        admission: Admission,
    ) {
        (**self).on_load(frames, frame, page, hint, admission);
    }

    fn on_hit(&mut self, frames: &F, frame: FrameIdx, page: PageId) {
        (**self).on_hit(frames, frame, page);
    }

    fn evict(&mut self, frames: &mut F, incoming: Admission) -> Option<(FrameIdx, PageId)> {
        (**self).evict(frames, incoming)
    }

    fn eviction_batch(&self, frames: usize) -> usize {
        (**self).eviction_batch(frames)
    }

    fn has_surplus(&self) -> bool {
        (**self).has_surplus()
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        (**self).figures()
    }

    fn on_remove(&mut self, frames: &F, frame: FrameIdx, page: PageId) {
        (**self).on_remove(frames, frame, page);
    }

    fn forget(&mut self, page: PageId) {
        (**self).forget(page);
    }

    fn resize(&mut self, capacity: u64) {
        (**self).resize(capacity);
    }

    fn check(&self, frames: &F) -> Result<(), String> {
        (**self).check(frames)
    }
}

/// What [`Policy::on_miss`] found out, opaque to the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Admission(pub u64);
