//! Page tables: from (file, unit) to the entry word of a page.
//!
//! # How it works
//! A file has one word for every 4 KiB unit, in chunks of 2^18 words (2 MiB, one GiB of file). The
//! words of its first 16 GiB, the *near* ones, lie in one range of addresses, so that a look-up
//! there is an addition; each chunk behind them is mapped by itself when the first page of its GiB
//! is read. Memory is counted, and given back, by *pieces* of 512 words: one 4 KiB page of the
//! kernel. A piece whose pages have all left is discarded when memory is short and reads as zeros,
//! which means ABSENT; versions come from a counter of the cache, so an old word cannot come back.
//!
//! # Invariants
//! * PC-11: a piece's count is the number of its words that are not zero, plus faults that are
//!   about to reserve one; a piece is discarded only at count zero, and faults wait while that
//!   happens.
//! * PC-12: every piece with a word that is not zero is charged to the budget.
//! * US-3: chunks, once made, stay mapped until the tables are dropped. `'static` in this crate's
//!   private types means that: the cache drops its tables last, and leaks them when a pin outlives
//!   it.
//!
//! # Concurrency
//! Look-ups take no locks: two loads for near words, range and word; three behind them, directory,
//! chunk and word. A directory that becomes too short is replaced by a longer copy; the old one is
//! kept, because a look-up may be under way. A file without near words has a range of zeros that
//! all files share, so that a look-up asks for no null. Adding chunks and files takes a lock. A
//! range stays with its number when the file goes and serves the next file of that number.
//!
//! # Costs
//! 8 bytes per 4 KiB of the parts of files that are in memory, rounded up to 2 MiB of file; 2 KiB a
//! GiB of file. 32 MiB of addresses a file, and once more.
#![expect(
    unsafe_code,
    reason = "chunks are mapped memory shared with lock-free readers"
)]

use crate::budget::Reservation;
use crate::error::Result;
use crate::memory::{Backing, Region};
use parking_lot::Mutex;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

const CHUNK_SHIFT: u32 = 18;
const CHUNK_WORDS: usize = 1 << CHUNK_SHIFT;
const CHUNK_BYTES: usize = CHUNK_WORDS * 8;
const PIECE_SHIFT: u32 = 9;
const PIECES: usize = CHUNK_WORDS >> PIECE_SHIFT;
pub(crate) const PIECE_BYTES: u64 = 4096;

/// Chunks whose words lie side by side.
const NEAR_CHUNKS: usize = 16;
const NEAR_UNITS: u64 = (NEAR_CHUNKS * CHUNK_WORDS) as u64;
const NEAR_BYTES: usize = NEAR_CHUNKS * CHUNK_BYTES;

/// Most files a cache can hold at a time.
pub(crate) const FILES_MAX: usize = 512;

/// The word counts against the budget.
const CHARGED: u32 = 1 << 31;
/// The piece is being discarded.
const GIVING: u32 = 1 << 30;
/// The piece has been named as possibly empty and waits for [`Tables::give_back`], which looks for
/// itself.
const LISTED: u32 = 1 << 29;

/// The word of a unit whose chunk there is not.
static NO_WORD: AtomicU64 = AtomicU64::new(0);

/// Words of one GiB of a file.
pub(crate) struct Chunk {
    /// Where they lie.
    region: Arc<Region>,
    offset: usize,
    pieces: Box<[AtomicU32]>,
}

/// Where the chunks of a file begin that are not near, from the first of these on; null where there
/// is none.
type Directory = Box<[AtomicPtr<AtomicU64>]>;

#[derive(Default)]
struct FileTables {
    near: Option<Arc<Region>>,
    /// Kept for look-ups under way (US-3); the last one is current.
    #[expect(clippy::vec_box, reason = "look-ups hold the address of a directory")]
    directories: Vec<Box<Directory>>,
    chunks: Vec<Option<&'static Chunk>>,
}

/// The page tables of all files of a cache.
pub(crate) struct Tables {
    /// The first of each file's near words. In place, so that a look-up loads no pointer to it.
    near: [AtomicPtr<AtomicU64>; FILES_MAX],
    /// The directory of each file that has words behind those.
    directories: Box<[AtomicPtr<Directory>]>,
    /// The near words of files that have none: never written.
    #[expect(dead_code, reason = "it is kept mapped, addresses lead to it")]
    nowhere: Region,
    files: Box<[Mutex<FileTables>]>,
    /// Chunks of removed files: all words are zero.
    spare: Mutex<Vec<&'static Chunk>>,
    /// Every chunk ever made; `'static` above means "until the tables are dropped" (US-3).
    all: Mutex<Vec<*mut Chunk>>,
    charged: Mutex<Reservation>,
    huge_bytes_max: u64,
}

// SAFETY: the raw pointers are owned chunks, which are `Sync`; the mutexes order access to the
// lists.
unsafe impl Send for Tables {}
// SAFETY: as above.
unsafe impl Sync for Tables {}

/// A word of the table together with the piece that counts it.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) chunk: &'static Chunk,
    index: usize,
}

/// Names a piece that may have become empty.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    chunk: &'static Chunk,
    index: usize,
}

impl Tables {
    /// Tables that charge `charged`; chunks use huge pages while they stay below `huge_bytes_max`
    /// bytes in total.
    ///
    /// # Errors
    /// [`crate::Error::Map`] when the system refuses addresses.
    pub(crate) fn new(charged: Reservation, huge_bytes_max: u64) -> Result<Tables> {
        let nowhere = Region::anywhere(NEAR_BYTES, Backing::Small)?;
        Ok(Tables {
            near: std::array::from_fn(|_| AtomicPtr::new(nowhere.base().cast())),
            directories: (0..FILES_MAX).map(|_| AtomicPtr::default()).collect(),
            nowhere,
            files: (0..FILES_MAX).map(|_| Mutex::default()).collect(),
            spare: Mutex::default(),
            all: Mutex::default(),
            charged: Mutex::new(charged),
            huge_bytes_max,
        })
    }

    /// Bytes charged for tables.
    pub(crate) fn charged_bytes(&self) -> u64 {
        self.charged.lock().bytes()
    }

    /// The word of `unit`: the hit path. Where the file has no chunk it is a zero that no thread
    /// may write.
    #[inline(always)]
    pub(crate) fn lookup(&self, file: u16, unit: u64) -> &AtomicU64 {
        if unit >= NEAR_UNITS {
            return self.lookup_far(file, unit);
        }
        // Files have numbers below FILES_MAX, so this is no other one; it spares a comparison.
        let near = self.near[usize::from(file) % FILES_MAX].load(Ordering::Acquire);
        // SAFETY: a range of near words has NEAR_UNITS of them and stays mapped (US-3).
        unsafe { &*near.add(unit as usize) }
    }

    #[cold]
    #[inline(never)]
    fn lookup_far(&self, file: u16, unit: u64) -> &AtomicU64 {
        let directory = self.directories[usize::from(file)].load(Ordering::Acquire);
        // SAFETY: null or a directory, which is kept (US-3).
        let directory = unsafe { directory.as_ref() };
        let position = (unit >> CHUNK_SHIFT) as usize - NEAR_CHUNKS;
        let words = directory
            .and_then(|directory| directory.get(position))
            .map_or(ptr::null_mut(), |words| words.load(Ordering::Acquire));
        if words.is_null() {
            return &NO_WORD;
        }
        // SAFETY: a published chunk has CHUNK_WORDS words and stays mapped (US-3).
        unsafe { &*words.add(unit as usize & (CHUNK_WORDS - 1)) }
    }

    /// The word of `unit`, making its chunk if need be.
    ///
    /// # Errors
    /// [`crate::Error::Map`] when the system refuses memory.
    pub(crate) fn entry(&self, file: u16, unit: u64) -> Result<Entry> {
        let position = (unit >> CHUNK_SHIFT) as usize;
        let index = unit as usize & (CHUNK_WORDS - 1);
        let mut tables = self.files[usize::from(file)].lock();
        if let Some(Some(chunk)) = tables.chunks.get(position) {
            return Ok(Entry { chunk, index });
        }
        let chunk = if position < NEAR_CHUNKS {
            self.near_chunk(file, &mut tables, position)?
        } else {
            self.far_chunk()?
        };
        if tables.chunks.len() <= position {
            tables.chunks.resize(position + 1, None);
        }
        tables.chunks[position] = Some(chunk);
        if position >= NEAR_CHUNKS {
            self.publish(file, &mut tables);
        }
        Ok(Entry { chunk, index })
    }

    fn near_chunk(
        &self,
        file: u16,
        tables: &mut FileTables,
        position: usize,
    ) -> Result<&'static Chunk> {
        let near = match &tables.near {
            Some(near) => near,
            None => tables
                .near
                .insert(Arc::new(Region::anywhere(NEAR_BYTES, Backing::Small)?)),
        };
        let chunk = self.new_chunk(Arc::clone(near), position * CHUNK_BYTES);
        self.near[usize::from(file)].store(near.base().cast(), Ordering::Release);
        Ok(chunk)
    }

    fn far_chunk(&self) -> Result<&'static Chunk> {
        if let Some(chunk) = self.spare.lock().pop() {
            return Ok(chunk);
        }
        let region = Region::anywhere(CHUNK_BYTES, Backing::Small)?;
        Ok(self.new_chunk(Arc::new(region), 0))
    }

    /// A chunk whose words lie at `offset` of `region`, where nothing was touched yet.
    fn new_chunk(&self, region: Arc<Region>, offset: usize) -> &'static Chunk {
        let mut charged = self.charged.lock();
        let huge = charged.bytes() + CHUNK_BYTES as u64 <= self.huge_bytes_max;
        if huge {
            region.back_by_huge_pages(offset, CHUNK_BYTES);
        }
        let first = if huge { CHARGED } else { 0 };
        // A page of huge memory is there whole from the first word on.
        let bytes = if huge { CHUNK_BYTES } else { 0 } + PIECES * size_of::<AtomicU32>();
        charged.force_grow(bytes as u64);
        let pieces = (0..PIECES).map(|_| AtomicU32::new(first)).collect();
        let chunk = Box::into_raw(Box::new(Chunk {
            region,
            offset,
            pieces,
        }));
        self.all.lock().push(chunk);
        // SAFETY: freed only when the tables are dropped (US-3).
        unsafe { &*chunk }
    }

    /// Makes the directory of a file lead to all its chunks.
    fn publish(&self, file: u16, tables: &mut FileTables) {
        let far = &tables.chunks[NEAR_CHUNKS..];
        let words = |chunk: &Option<&Chunk>| chunk.map_or(ptr::null_mut(), Chunk::words);
        if let Some(current) = tables.directories.last().filter(|d| d.len() >= far.len()) {
            for (chunk, entry) in far.iter().zip(&***current) {
                entry.store(words(chunk), Ordering::Release);
            }
            return;
        }
        let empty = far.len().next_power_of_two() - far.len();
        let directory: Box<Directory> = Box::new(
            far.iter()
                .map(words)
                .chain(std::iter::repeat_n(ptr::null_mut(), empty))
                .map(AtomicPtr::new)
                .collect(),
        );
        let first = std::ptr::from_ref(&*directory).cast_mut();
        tables.directories.push(directory);
        self.directories[usize::from(file)].store(first, Ordering::Release);
    }

    /// Forgets a file whose words are all zero; the next one of its number gets its near chunks,
    /// others the rest.
    pub(crate) fn remove_file(&self, file: u16) {
        let mut tables = self.files[usize::from(file)].lock();
        let near = tables.chunks.len().min(NEAR_CHUNKS);
        let far = tables.chunks.split_off(near);
        if let Some(current) = tables.directories.last() {
            for chunk in current.iter() {
                chunk.store(ptr::null_mut(), Ordering::Release);
            }
        }
        self.spare.lock().extend(far.into_iter().flatten());
    }

    /// Announces a fault in the entry's piece, charging the piece if this is its first; to be
    /// undone by [`Tables::leave`] when the word is zero again.
    pub(crate) fn enter(&self, entry: Entry) {
        let piece = entry.piece_state();
        loop {
            let seen = piece.load(Ordering::Acquire);
            if seen & GIVING != 0 {
                std::thread::yield_now();
                continue;
            }
            let new = (seen | CHARGED) + 1;
            if piece
                .compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                if seen & CHARGED == 0 {
                    self.charged.lock().force_grow(PIECE_BYTES);
                }
                return;
            }
        }
    }

    /// The word of `entry` became zero. Returns the piece if it may be empty now and this was not
    /// returned since the last [`Tables::give_back`]: while memory is ample, pieces become empty
    /// again and again.
    pub(crate) fn leave(&self, entry: Entry) -> Option<Piece> {
        let piece = entry.piece_state();
        let mut before = piece.load(Ordering::Relaxed);
        loop {
            debug_assert!(before & !(CHARGED | GIVING | LISTED) > 0, "PC-11");
            let tells = before == CHARGED | 1;
            let after = (before - 1) | if tells { LISTED } else { 0 };
            match piece.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    return tells.then_some(Piece {
                        chunk: entry.chunk,
                        index: entry.index >> PIECE_SHIFT,
                    });
                }
                Err(now) => before = now,
            }
        }
    }

    /// Discards a piece if it is empty; returns whether memory was given back.
    pub(crate) fn give_back(&self, piece: Piece) -> bool {
        let state = &piece.chunk.pieces[piece.index];
        state.fetch_and(!LISTED, Ordering::AcqRel);
        if state
            .compare_exchange(CHARGED, GIVING, Ordering::AcqRel, Ordering::Relaxed)
            .is_err()
        {
            return false;
        }
        let bytes = PIECE_BYTES as usize;
        if (PIECE_BYTES as usize).is_multiple_of(crate::memory::page_size()) {
            let offset = piece.chunk.offset + piece.index * bytes;
            piece.chunk.region.discard(offset, bytes);
        }
        state.store(0, Ordering::Release);
        self.charged.lock().shrink(PIECE_BYTES);
        true
    }

    /// Every empty piece that is charged and not listed already, of all files: for shrinking.
    pub(crate) fn empty_pieces(&self) -> Vec<Piece> {
        let mut empty = Vec::new();
        let mut collect = |chunk: &&'static Chunk| {
            for (index, state) in chunk.pieces.iter().enumerate() {
                if state.load(Ordering::Relaxed) == CHARGED {
                    empty.push(Piece { chunk, index });
                }
            }
        };
        self.files
            .iter()
            .for_each(|tables| tables.lock().chunks.iter().flatten().for_each(&mut collect));
        self.spare.lock().iter().for_each(&mut collect);
        empty
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        for chunk in self.all.get_mut().drain(..) {
            // SAFETY: made by `Box::into_raw`; no thread can look anything up any more.
            drop(unsafe { Box::from_raw(chunk) });
        }
    }
}

impl Chunk {
    /// The first of its words.
    fn words(&self) -> *mut AtomicU64 {
        self.region.base().wrapping_add(self.offset).cast()
    }

    /// The entry of `unit`, which must lie in the GiB of this chunk.
    pub(crate) fn entry(&'static self, unit: u64) -> Entry {
        Entry {
            chunk: self,
            index: unit as usize & (CHUNK_WORDS - 1),
        }
    }
}

impl Entry {
    /// The entry word.
    #[inline]
    pub(crate) fn word(self) -> &'static AtomicU64 {
        // SAFETY: `index` is below CHUNK_WORDS, the chunk is mapped and aligned while it is
        // borrowed; the mapping is zero at first, which is a valid word.
        unsafe { &*self.chunk.words().add(self.index) }
    }

    fn piece_state(self) -> &'static AtomicU32 {
        &self.chunk.pieces[self.index >> PIECE_SHIFT]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;

    /// Goal: words near, far and at the ends of chunks are found once they are made and are their
    /// own; a file that goes leaves none but zeros.
    #[test]
    fn words_are_found_wherever_they_lie() {
        let budget = Budget::new(64 << 20);
        let tables = Tables::new(budget.empty_reservation("page tables"), 0).unwrap();
        let chunk = CHUNK_WORDS as u64;
        let units = [
            0,
            chunk - 1,
            chunk,
            NEAR_UNITS - 1,
            NEAR_UNITS,
            NEAR_UNITS + chunk,
            NEAR_UNITS + 6 * chunk + 3,
            NEAR_UNITS + 2 * chunk - 1,
        ];
        let seen = |file, unit| tables.lookup(file, unit).load(Ordering::Relaxed);
        for file in [0, 7] {
            for &unit in &units {
                assert_eq!(seen(file, unit), 0);
            }
            for (&unit, mark) in units.iter().zip(1..) {
                let entry = tables.entry(file, unit).unwrap();
                tables.enter(entry);
                entry.word().store(mark, Ordering::Relaxed);
            }
            for (&unit, mark) in units.iter().zip(1..) {
                assert_eq!(seen(file, unit), mark, "unit {unit}");
                let entry = tables.entry(file, unit).unwrap();
                assert_eq!(entry.word().load(Ordering::Relaxed), mark);
                entry.word().store(0, Ordering::Relaxed);
                tables.leave(entry);
            }
        }
        let is_nowhere = |file, unit| ptr::eq(tables.lookup(file, unit), &raw const NO_WORD);
        assert!(!is_nowhere(0, NEAR_UNITS));
        assert!(is_nowhere(0, NEAR_UNITS + 100 * chunk));
        assert!(is_nowhere(1, NEAR_UNITS));
        tables.remove_file(0);
        assert!(is_nowhere(0, NEAR_UNITS), "its chunk is spare");
        let chunks = tables.all.lock().len();
        tables.entry(0, chunk).unwrap();
        tables.entry(3, NEAR_UNITS).unwrap();
        assert_eq!(tables.all.lock().len(), chunks, "both were there");
    }

    /// Goal: a piece that becomes empty many times is named once until [`Tables::give_back`] is
    /// called.
    #[test]
    fn an_empty_piece_is_named_once() {
        let budget = Budget::new(1 << 20);
        let tables = Tables::new(budget.empty_reservation("page tables"), 0).unwrap();
        let entry = tables.entry(0, 7).unwrap();
        let visit = || {
            tables.enter(entry);
            tables.leave(entry)
        };
        let piece = visit().expect("empty for the first time");
        assert!((0..100).all(|_| visit().is_none()));
        let charged = tables.charged_bytes();
        assert!(tables.empty_pieces().is_empty(), "it is listed already");
        assert!(tables.give_back(piece));
        assert_eq!(tables.charged_bytes(), charged - PIECE_BYTES);
        assert!(!tables.give_back(piece), "nothing is charged any more");
        let piece = visit().expect("charged and empty again");
        tables.enter(entry);
        assert!(!tables.give_back(piece), "a page is coming in");
        assert!(tables.leave(entry).is_some(), "it was unlisted");
        assert_eq!(tables.charged_bytes(), charged);
    }
}
