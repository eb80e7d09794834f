//! Slots: what the cache knows of each frame, by the dense index that policies use.
//!
//! # How it works
//! A frame that has been cut out of the arena has a slot as long as it keeps its size. The slot
//! says where the frame lies and which page it holds; a second array leads from the first 4 KiB
//! unit of a frame to its slot. Both are arrays of chunks that double in size, so they grow without
//! moving.
//!
//! # Concurrency
//! Written under the frame pool lock or by the owner of the page's entry word; any thread may read
//! it.
//!
//! # Costs
//! 32 bytes a slot, 4 bytes a unit of the arena (0.1 %).

#![expect(unsafe_code, reason = "slots point at chunks of the page table")]

use crate::page_kind::PageKind;
use crate::table::{Chunk, Entry};
use crate::word::FrameAddress;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

const FIRST_CHUNK: usize = 64;
const CHUNKS: usize = 26;

/// An array that grows by chunks of doubling size and never moves.
pub(crate) struct Growing<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
}

impl<T: Default> Growing<T> {
    pub(crate) fn new() -> Growing<T> {
        Growing {
            chunks: [const { OnceLock::new() }; CHUNKS],
        }
    }

    fn position(index: usize) -> (usize, usize) {
        let chunk = (index / FIRST_CHUNK + 1).ilog2() as usize;
        (chunk, index - FIRST_CHUNK * ((1 << chunk) - 1))
    }

    /// The element at `index`, making its chunk if need be.
    pub(crate) fn get(&self, index: usize) -> &T {
        let (chunk, offset) = Growing::<T>::position(index);
        let elements = self.chunks[chunk]
            .get_or_init(|| (0..FIRST_CHUNK << chunk).map(|_| T::default()).collect());
        &elements[offset]
    }
}

/// No page.
const NO_PAGE: u64 = u64::MAX;
/// I/O queue of a page that a thread reads by itself.
pub(crate) const NO_IO_QUEUE: u16 = u16::MAX;

/// The page was read ahead and no thread has used it yet.
pub(crate) const FLAG_AHEAD: u8 = 1;
/// A victim search has passed over the unused page once.
pub(crate) const FLAG_SPARED: u8 = 2;
/// The policy knows the page.
pub(crate) const FLAG_ORDERED: u8 = 4;
/// The file does not hold what the frame holds.
pub(crate) const FLAG_DIRTY: u8 = 8;
/// The slot is on the list of dirty pages whose frames were wanted.
pub(crate) const FLAG_DUE: u8 = 16;

/// What the cache knows of a frame.
pub(crate) struct Slot {
    page: AtomicU64,
    chunk: AtomicPtr<Chunk>,
    place: AtomicU32,
    io_queue: AtomicU16,
    kind: AtomicU8,
    flags: AtomicU8,
}

impl Default for Slot {
    fn default() -> Slot {
        Slot {
            page: AtomicU64::new(NO_PAGE),
            chunk: AtomicPtr::default(),
            place: AtomicU32::new(0),
            io_queue: AtomicU16::new(NO_IO_QUEUE),
            kind: AtomicU8::new(0),
            flags: AtomicU8::new(0),
        }
    }
}

/// Identity of a page within the cache, as policies and ghosts see it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PageKey(pub(crate) u64);

impl PageKey {
    pub(crate) fn new(file: u16, unit: u64) -> PageKey {
        PageKey(u64::from(file) << crate::page_ref::UNIT_BITS | unit)
    }

    pub(crate) fn file(self) -> u16 {
        (self.0 >> crate::page_ref::UNIT_BITS) as u16
    }

    pub(crate) fn unit(self) -> u64 {
        self.0 & crate::PageRef::UNIT_MAX
    }
}

impl Slot {
    pub(crate) fn place(&self) -> FrameAddress {
        FrameAddress(self.place.load(Ordering::Relaxed))
    }

    pub(crate) fn set_place(&self, place: FrameAddress) {
        self.place.store(place.0, Ordering::Relaxed);
    }

    /// The page in the frame, or about to be read into it.
    pub(crate) fn page(&self) -> Option<PageKey> {
        let page = self.page.load(Ordering::Acquire);
        (page != NO_PAGE).then_some(PageKey(page))
    }

    /// Binds the frame to a page whose word the caller owns.
    pub(crate) fn bind(
        &self,
        page: PageKey,
        entry: Entry,
        kind: PageKind,
        flags: u8,
        io_queue: u16,
    ) {
        debug_assert!(self.page().is_none(), "PC-9: a frame holds one page");
        self.chunk.store(
            std::ptr::from_ref(entry.chunk).cast_mut(),
            Ordering::Relaxed,
        );
        self.kind.store(kind as u8, Ordering::Relaxed);
        self.flags.store(flags, Ordering::Relaxed);
        self.io_queue.store(io_queue, Ordering::Relaxed);
        self.page.store(page.0, Ordering::Release);
    }

    /// The frame holds nothing any more.
    pub(crate) fn unbind(&self) {
        self.page.store(NO_PAGE, Ordering::Release);
        self.flags.store(0, Ordering::Relaxed);
    }

    /// The entry of the page in the frame.
    pub(crate) fn entry(&self) -> Option<Entry> {
        let page = self.page()?;
        let chunk = self.chunk.load(Ordering::Relaxed);
        // SAFETY: US-3: chunks live as long as the tables, which live as long as the slots; `bind`
        // stored a chunk before the page number that was just read.
        Some(unsafe { &*chunk }.entry(page.unit()))
    }

    pub(crate) fn kind(&self) -> Option<PageKind> {
        PageKind::from_u8(self.kind.load(Ordering::Relaxed))
    }

    pub(crate) fn io_queue(&self) -> u16 {
        self.io_queue.load(Ordering::Acquire)
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags.load(Ordering::Relaxed) & flag != 0
    }

    /// Sets `flag`; returns whether it was set before.
    pub(crate) fn raise(&self, flag: u8) -> bool {
        self.flags.fetch_or(flag, Ordering::AcqRel) & flag != 0
    }

    /// Clears `flag`; returns whether it was set before.
    pub(crate) fn lower(&self, flag: u8) -> bool {
        self.flags.fetch_and(!flag, Ordering::AcqRel) & flag != 0
    }
}

/// All slots of a cache, and the way from frames to slots.
pub(crate) struct Slots {
    slots: Growing<Slot>,
    by_frame: Growing<AtomicU32>,
    count: AtomicU32,
}

impl Slots {
    pub(crate) fn new() -> Slots {
        Slots {
            slots: Growing::new(),
            by_frame: Growing::new(),
            count: AtomicU32::new(0),
        }
    }

    /// Number of slots ever made; indexes are below it.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Makes one more slot.
    pub(crate) fn add(&self) -> u32 {
        self.count.fetch_add(1, Ordering::AcqRel)
    }

    pub(crate) fn get(&self, slot: u32) -> &Slot {
        self.slots.get(slot as usize)
    }

    /// The slot of the frame that starts at unit `frame`.
    pub(crate) fn of_frame(&self, frame: u32) -> Option<u32> {
        self.by_frame
            .get(frame as usize)
            .load(Ordering::Acquire)
            .checked_sub(1)
    }

    /// Puts the frame at `place` under `slot`.
    pub(crate) fn place(&self, slot: u32, place: FrameAddress) {
        self.get(slot).set_place(place);
        self.by_frame
            .get(place.frame() as usize)
            .store(slot + 1, Ordering::Release);
    }

    /// The frame at `place` is no frame any more.
    pub(crate) fn displace(&self, place: FrameAddress) {
        self.by_frame
            .get(place.frame() as usize)
            .store(0, Ordering::Release);
    }
}
