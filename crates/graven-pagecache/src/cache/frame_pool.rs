//! The core: free frames, victims and the policy, under one lock.
//!
//! # How it works
//! A miss takes the lock once: the policy learns of the miss, a frame is found, the page is bound
//! to it and enters the policy's order. A frame is found by the first of these that succeeds:
//! 1. a free frame of the class;
//! 2. a block of the arena: free, or newly committed while the budget has room;
//! 3. the same after free frames of other classes have been dissolved into the arena;
//! 4. victims in the policy's order: one of the class is taken as it is; others are dissolved until
//!    enough bytes are free, then a block is made whole by moving what lies in it (`compact.rs`).
//!
//! Memory that others took of the cache lately is left free for a while
//! ([`FramePool::may_commit`]): the next statement wants as much, and taking it from the frames
//! each time would cost pages, compaction and system calls.
//!
//! First, where reservations passed the limit, memory goes back down to the last frames (PC-22).
//!
//! # Invariants
//! * PC-15: a slot is in exactly one of: a free list, the spare list, bound to a page.
//!
//! # Concurrency
//! One mutex. A batch of misses takes it once. It is held for microseconds and never during I/O.
//! Order of locks: an I/O queue, then the frame pool, then tables and budget.
//!
//! # Deviations
//! No per-thread caches of free frames: the policy must see every load in order, so a miss takes
//! this lock anyway, and with it in hand a free frame costs a pop from an array.

use crate::arena::Arena;
use crate::budget::Reservation;
use crate::cache::PageCache;
use crate::cache::frames::SlotFrames;
use crate::page_kind::PageKind;
use crate::page_ref::SizeClass;
use crate::pools::PoolState;
use crate::slots::{FLAG_AHEAD, FLAG_DIRTY, FLAG_ORDERED, PageKey, Slots};
use crate::stats::Event;
use crate::table::{Entry, Piece};
use crate::word::{self, FrameAddress};
use graven_policy::{Admission, FrameIdx, Hint, PageId, Policy};

/// Bytes charged for each slot: the slot, its place in the policy, free lists.
const SLOT_BYTES: u64 = 72;
/// Most victims of one cooperative batch.
const BATCH_MAX: usize = 16;
/// Part of the limit that is left free at most for what others used lately.
const OTHERS_SHARE: u64 = 8;
/// A quarter of that is given up after so many times as many misses as there are frames.
const LEFT_ALONE: u32 = 4;
/// The policy is told of changes of its room by more than this share.
const CAPACITY_STEP: u64 = 64;
/// A batch is at most this share of the frames.
const BATCH_SHARE: usize = 128;

/// State under the frame pool lock.
pub(crate) struct FramePool {
    pub(crate) policy: Box<dyn Policy<SlotFrames>>,
    pub(crate) frames: SlotFrames,
    pub(crate) arena: Arena,
    free: [Vec<u32>; SizeClass::COUNT],
    free_bytes: u64,
    spare: Vec<u32>,
    /// Reserved for committed extents (PC-14).
    pub(crate) held: Reservation,
    pub(crate) bookkeeping: Reservation,
    /// What fixed pools have and do not use.
    aside: Reservation,
    /// Pieces of page tables that became empty.
    pub(crate) empty_pieces: Vec<Piece>,
    formed: u32,
    formed_max: u32,
    pub(crate) resident_pages: u64,
    pub(crate) resident_bytes: u64,
    pub(crate) relocations: u64,
    loads: u32,
    /// Bytes of room that the policy was told of.
    pub(crate) told: u64,
    /// Most bytes that others held lately, sinking slowly.
    others_peak: u64,
    /// Times an extent was left alone because of it.
    left_alone: u32,
}

/// The thread that evicts, for the counters: the background evictor or a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    Background,
    Fault,
}

/// A page about to enter the cache.
#[derive(Clone, Copy)]
pub(crate) struct Incoming {
    pub(crate) key: PageKey,
    pub(crate) entry: Entry,
    pub(crate) class: SizeClass,
    pub(crate) kind: PageKind,
    pub(crate) hint: Hint,
    pub(crate) flags: u8,
    /// The I/O queue that reads it, or `NO_IO_QUEUE`.
    pub(crate) io_queue: u16,
}

impl FramePool {
    pub(crate) fn new(
        policy: Box<dyn Policy<SlotFrames>>,
        frames: SlotFrames,
        arena: Arena,
        held: Reservation,
        bookkeeping: Reservation,
        formed_max: u32,
    ) -> FramePool {
        let aside = held.budget().empty_reservation("static pools");
        let mut frame_pool = FramePool {
            policy,
            frames,
            arena,
            free: [const { Vec::new() }; SizeClass::COUNT],
            free_bytes: 0,
            spare: Vec::new(),
            held,
            bookkeeping,
            aside,
            empty_pieces: Vec::new(),
            formed: 0,
            formed_max,
            resident_pages: 0,
            resident_bytes: 0,
            relocations: 0,
            loads: 0,
            told: 0,
            others_peak: 0,
            left_alone: 0,
        };
        frame_pool.set_aside();
        frame_pool
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.frames.slots
    }

    /// Bytes that a fault of some class could use at once.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.free_bytes + self.arena.free_bytes()
    }

    fn pop_free(&mut self, class: SizeClass) -> Option<u32> {
        let slot = self.free[usize::from(class.index())].pop()?;
        self.free_bytes -= class.bytes() as u64;
        Some(slot)
    }

    /// An unbound frame becomes free for its class.
    pub(crate) fn push_free(&mut self, slot: u32) {
        let class = self.slots().get(slot).place().class();
        debug_assert!(self.slots().get(slot).page().is_none(), "PC-15");
        self.free_bytes += (crate::UNIT_BYTES as u64) << class;
        self.free[usize::from(class)].push(slot);
    }

    /// Cuts a frame of `class` out of the arena, committing memory while the budget has room.
    pub(crate) fn form(&mut self, class: SizeClass) -> Option<u32> {
        if self.formed >= self.formed_max {
            return None;
        }
        let order = u32::from(class.index());
        let unit = if order <= self.arena.extent_order() {
            self.take_block(order)
        } else {
            self.take_run(order)
        }?;
        let slot = self.spare.pop().unwrap_or_else(|| {
            self.bookkeeping.force_grow(SLOT_BYTES);
            self.frames.slots.add()
        });
        self.frames
            .slots
            .place(slot, FrameAddress::new(class.index(), unit));
        self.formed += 1;
        Some(slot)
    }

    fn take_block(&mut self, order: u32) -> Option<u32> {
        if let Some(unit) = self.arena.take(order) {
            return Some(unit);
        }
        let bytes = self.arena.extent_bytes();
        if !self.arena.can_commit() || !self.may_commit(bytes) || !self.held.try_grow(bytes) {
            return None;
        }
        self.arena.commit();
        self.arena.take(order)
    }

    /// Whether `bytes` more for frames leave others the room that they used lately, up to a share
    /// of the limit.
    fn may_commit(&mut self, bytes: u64) -> bool {
        if self.frames.pools.is_some() {
            return true;
        }
        let budget = self.held.budget();
        let (limit, others) = (
            budget.limit(),
            budget.used().saturating_sub(self.held.bytes()),
        );
        let kept = self
            .others_peak
            .clamp(others, others + limit / OTHERS_SHARE);
        self.others_peak = kept;
        if self.held.bytes() + bytes + kept <= limit {
            return true;
        }
        self.left_alone += 1;
        if self.left_alone > LEFT_ALONE * self.formed {
            self.left_alone = 0;
            self.others_peak -= (kept - others).div_ceil(4);
        }
        false
    }

    /// Others asked for `bytes` that the budget had not got.
    pub(crate) fn others_want(&mut self, bytes: u64) {
        let budget = self.held.budget();
        let others = budget.limit().saturating_sub(self.held.bytes()) + bytes;
        self.others_peak = self.others_peak.max(others);
        self.left_alone = 0;
    }

    fn take_run(&mut self, order: u32) -> Option<u32> {
        let (first, missing) = self.arena.find_run(order)?;
        if missing > 0 && !self.held.try_grow(missing) {
            return None;
        }
        Some(self.arena.take_run(first, order))
    }

    /// Returns a frame that holds no page to the arena.
    pub(crate) fn dissolve(&mut self, slot: u32) {
        let place = self.slots().get(slot).place();
        debug_assert!(self.slots().get(slot).page().is_none(), "PC-15");
        self.arena.put(place.frame(), u32::from(place.class()));
        self.forget_frame(slot, place);
    }

    /// An unbound frame is none any more; its block belongs to the caller.
    pub(crate) fn forget_frame(&mut self, slot: u32, place: FrameAddress) {
        self.slots().displace(place);
        self.spare.push(slot);
        self.formed -= 1;
    }

    /// Returns all free frames to the arena; whether there were any.
    pub(crate) fn dissolve_free(&mut self) -> bool {
        let before = self.free_bytes;
        for class in 0..SizeClass::COUNT {
            while let Some(slot) = self.free[class].pop() {
                self.dissolve(slot);
            }
        }
        self.free_bytes = 0;
        before > 0
    }

    /// Binds `incoming` to the free frame `slot`: its word becomes READING and the policy learns of
    /// it.
    pub(crate) fn bind_page(&mut self, slot: u32, incoming: &Incoming, admission: Admission) {
        let bound = self.frames.slots.get(slot);
        bound.bind(
            incoming.key,
            incoming.entry,
            incoming.kind,
            incoming.flags | FLAG_ORDERED,
            incoming.io_queue,
        );
        word::start_read(incoming.entry.word(), bound.place());
        let bound_frame = bound.place().frame();
        self.policy.on_load(
            &self.frames,
            FrameIdx(slot),
            PageId(incoming.key.0),
            incoming.hint,
            admission,
        );
        self.resident_pages += 1;
        self.resident_bytes += incoming.class.bytes() as u64;
        let is_used = incoming.hint == Hint::Normal && incoming.flags & FLAG_AHEAD == 0;
        self.frames.owners.enter(bound_frame, is_used);
        self.count_in_pool(incoming.class, true);
        self.advance_epoch();
    }

    /// A page of `class` came into its pool (or left it).
    fn count_in_pool(&mut self, class: SizeClass, came: bool) {
        if let Some(pools) = &mut self.frames.pools {
            pools.count(class, came);
            self.set_aside();
        }
    }

    /// Reserves what fixed pools have and do not use, so that no one else gets it.
    pub(crate) fn set_aside(&mut self) {
        let wanted = self.frames.pools.as_ref().map_or(0, PoolState::set_aside);
        let now = self.aside.bytes();
        if wanted > now {
            self.aside.force_grow(wanted - now);
        } else {
            self.aside.shrink(now - wanted);
        }
    }

    /// From now on victims come from the pool that gives memory back.
    pub(crate) fn want_to_give(&mut self) {
        if let Some(pools) = &mut self.frames.pools {
            pools.want_to_give();
        }
    }

    /// From now on victims come from any pool.
    pub(crate) fn want_any(&mut self) {
        if let Some(pools) = &mut self.frames.pools {
            pools.want_any();
        }
    }

    /// The coarse clock of stamping policies ticks 64 times while as many pages are loaded as there
    /// are frames.
    fn advance_epoch(&mut self) {
        self.loads += 1;
        if self.loads > self.formed / 64 {
            self.loads = 0;
            self.frames
                .stamps
                .epoch
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Recounts free lists and arena.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.arena.check()?;
        self.policy.check(&self.frames)?;
        if self.arena.committed_bytes() != self.held.bytes() {
            return Err(format!(
                "PC-14: {} bytes committed, {} reserved",
                self.arena.committed_bytes(),
                self.held.bytes()
            ));
        }
        let free: usize = self.free.iter().map(Vec::len).sum();
        let bound = (0..self.slots().count())
            .filter(|slot| self.slots().get(*slot).page().is_some())
            .count();
        if bound as u64 != self.resident_pages || free + bound != self.formed as usize {
            return Err(format!(
                "PC-15: {} frames formed, {free} free, {bound} bound, {} pages counted",
                self.formed, self.resident_pages
            ));
        }
        if free + bound + self.spare.len() != self.slots().count() as usize {
            return Err(format!(
                "PC-15: {} slots, {free} free, {bound} bound, {} spare",
                self.slots().count(),
                self.spare.len()
            ));
        }
        Ok(())
    }
}

impl PageCache {
    /// Finds a frame for a page of `class`; `None` when nothing can be evicted now.
    pub(crate) fn take_frame(
        &self,
        frame_pool: &mut FramePool,
        class: SizeClass,
        admission: Admission,
        by: By,
    ) -> Option<u32> {
        if !self.is_synchronous() {
            self.settle(frame_pool, self.frames_kept(), by);
        }
        if frame_pool.frames.pools.is_some() {
            return self.take_from_pool(frame_pool, class, admission, by);
        }
        self.take_any(frame_pool, class, admission, by)
    }

    /// The same, where victims may come from all that is not passed over.
    fn take_any(
        &self,
        frame_pool: &mut FramePool,
        class: SizeClass,
        admission: Admission,
        by: By,
    ) -> Option<u32> {
        if let Some(slot) = frame_pool
            .pop_free(class)
            .or_else(|| frame_pool.form(class))
        {
            return Some(slot);
        }
        if frame_pool.dissolve_free()
            && let Some(slot) = frame_pool.form(class)
        {
            return Some(slot);
        }
        self.evict_for(frame_pool, class, admission, by)
    }

    /// Finds a frame for a page of `class` within the share of its pool.
    fn take_from_pool(
        &self,
        frame_pool: &mut FramePool,
        class: SizeClass,
        admission: Admission,
        by: By,
    ) -> Option<u32> {
        frame_pool.frames.pools.as_mut()?.want(class);
        let slot = loop {
            let budget = self.budget();
            let pages = frame_pool.held.bytes() + frame_pool.aside.bytes();
            let others = budget.used().saturating_sub(pages);
            let pools = frame_pool.frames.pools.as_ref()?;
            if pools.has_room(class, others) {
                if !pools.is_last(class) {
                    // What is set aside for the pool is there for this page.
                    let extent = frame_pool
                        .arena
                        .extent_bytes()
                        .min(frame_pool.aside.bytes());
                    frame_pool.aside.shrink(extent);
                }
                let slot = self.take_any(frame_pool, class, admission, by);
                frame_pool.set_aside();
                break slot;
            }
            match self.evict_one(frame_pool, admission, by) {
                Some(slot) => frame_pool.dissolve(slot),
                None => break None,
            }
        };
        frame_pool.want_any();
        slot
    }

    /// Evicts in the policy's order until a frame of `class` is free.
    fn evict_for(
        &self,
        frame_pool: &mut FramePool,
        class: SizeClass,
        admission: Admission,
        by: By,
    ) -> Option<u32> {
        self.tell_capacity(frame_pool);
        let frames = frame_pool.formed as usize;
        let mut batch = frame_pool.policy.eviction_batch(frames);
        if !self.is_synchronous() {
            batch = batch.max((frames / BATCH_SHARE).min(BATCH_MAX));
        }
        let (mut found, mut freed) = (0, 0);
        while let Some(slot) = self.evict_one(frame_pool, admission, by) {
            let victim = frame_pool.slots().get(slot).place().class();
            if victim == class.index() {
                frame_pool.push_free(slot);
                found += 1;
                if found >= batch {
                    break;
                }
                continue;
            }
            freed += crate::UNIT_BYTES << victim;
            frame_pool.dissolve(slot);
            if freed < class.bytes() || found > 0 {
                continue;
            }
            if let Some(slot) = frame_pool.form(class) {
                return Some(slot);
            }
            if self.make_block(frame_pool, class)
                && let Some(slot) = frame_pool.form(class)
            {
                return Some(slot);
            }
            if freed > 8 * class.bytes() {
                return None;
            }
        }
        frame_pool.pop_free(class)
    }

    /// Tells the policy how many bytes of pages there is room for where that has changed: others
    /// hold a part of the limit, and policies that divide their room among queues would wait for
    /// room that never comes.
    pub(crate) fn tell_capacity(&self, frame_pool: &mut FramePool) {
        if self.is_synchronous() {
            return;
        }
        let room = frame_pool.held.bytes() - self.reserve_bytes(frame_pool);
        if room.abs_diff(frame_pool.told) > frame_pool.told / CAPACITY_STEP {
            frame_pool.told = room;
            frame_pool.policy.resize(room);
        }
    }

    /// Evicts one page; its frame is then unbound and belongs to the caller.
    pub(crate) fn evict_one(
        &self,
        frame_pool: &mut FramePool,
        admission: Admission,
        by: By,
    ) -> Option<u32> {
        let mut victim = frame_pool.policy.evict(&mut frame_pool.frames, admission);
        if victim.is_none() {
            // Pages that were spared once may go now.
            victim = frame_pool.policy.evict(&mut frame_pool.frames, admission);
        }
        let (frame, page) = victim?;
        debug_assert_eq!(
            frame_pool.slots().get(frame.0).page(),
            Some(PageKey(page.0)),
            "PC-8: the policy names what it claimed"
        );
        frame_pool.slots().get(frame.0).lower(FLAG_ORDERED);
        self.empty_frame(frame_pool, frame.0, Some(by));
        Some(frame.0)
    }

    /// Makes the page in `slot` absent; its word is CLAIMED (or another state that the caller owns)
    /// and the policy has forgotten it.
    pub(crate) fn empty_frame(&self, frame_pool: &mut FramePool, slot: u32, by: Option<By>) {
        let bound = frame_pool.frames.slots.get(slot);
        let entry = bound.entry().expect("PC-15: a bound frame");
        let bytes = (crate::UNIT_BYTES as u64) << bound.place().class();
        if let (Some(by), Some(kind)) = (by, bound.kind()) {
            let event = match by {
                By::Background => Event::EvictionBackground,
                By::Fault => Event::EvictionCooperative,
            };
            self.counters().count(kind, event, 1);
        }
        if bound.lower(FLAG_AHEAD) {
            self.ahead_done(bytes);
        }
        if bound.lower(FLAG_DIRTY) {
            debug_assert!(by.is_none(), "PC-23: only its owner gives a dirty page up");
            self.uncount_dirty(bytes);
        }
        // PC-9: the word first, then the frame.
        word::clear(entry.word());
        bound.unbind();
        frame_pool.resident_pages -= 1;
        frame_pool.resident_bytes -= bytes;
        if let Some(class) = SizeClass::for_page_bytes(bytes as usize) {
            frame_pool.count_in_pool(class, false);
        }
        if let Some(piece) = self.tables().leave(entry) {
            frame_pool.empty_pieces.push(piece);
        }
        self.wake_waiters(entry);
    }

    /// Takes a page whose word the caller owns out of the policy and frees its frame.
    pub(crate) fn remove_owned(&self, frame_pool: &mut FramePool, slot: u32) {
        let bound = frame_pool.frames.slots.get(slot);
        let page = bound.page().expect("PC-15: a bound frame");
        if bound.lower(FLAG_ORDERED) {
            frame_pool
                .policy
                .on_remove(&frame_pool.frames, FrameIdx(slot), PageId(page.0));
        }
        self.empty_frame(frame_pool, slot, None);
        frame_pool.push_free(slot);
    }

    /// Gives memory back while reservations pass the limit, down to `floor` bytes of frames.
    pub(crate) fn settle(&self, frame_pool: &mut FramePool, floor: u64, by: By) {
        let budget = self.budget();
        while budget.used() > budget.limit() {
            frame_pool.want_to_give();
            let may_give = frame_pool.held.bytes() >= floor + frame_pool.arena.extent_bytes();
            let gives = self.give_back_piece(frame_pool)
                || may_give && self.shrink_by_extent(frame_pool, by);
            if !gives {
                break;
            }
        }
        frame_pool.want_any();
    }

    /// Gives an empty piece of the page tables back.
    pub(crate) fn give_back_piece(&self, frame_pool: &mut FramePool) -> bool {
        while let Some(piece) = frame_pool.empty_pieces.pop() {
            if self.tables().give_back(piece) {
                return true;
            }
        }
        false
    }
}
