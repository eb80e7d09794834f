//! Page tables: from (file, unit) to the entry word of a page.
//!
//! # How it works
//! A file has one word for every 4 KiB unit, in chunks of 2^18 words (2 MiB, one GiB of file). A chunk is
//! mapped when the first page of its GiB is read and stays mapped; memory is counted, and given back, by
//! *pieces* of 512 words: one 4 KiB page of the kernel. A piece whose pages have all left is discarded when
//! memory is short and reads as zeros, which means ABSENT; versions come from a counter of the cache, so an old
//! word cannot come back.
//!
//! # Invariants
//! * PC-11: a piece's count is the number of its words that are not zero, plus faults that are about to reserve
//!   one; a piece is discarded only at count zero, and faults wait while that happens.
//! * PC-12: every piece with a word that is not zero is charged to the budget.
//! * US-3: chunks, once published in a file's directory, stay mapped until the tables are dropped. `'static`
//!   in this crate's private types means that: the cache drops its tables last, and leaks them when a pin
//!   outlives it.
//!
//! # Concurrency
//! Look-ups are three loads without locks: directory, chunk, word. A directory that becomes too short is replaced by a
//! longer copy; the old one is kept, because a look-up may be under way. Where a file has no chunk its directory leads to
//! one of zeros that all files share, so that a look-up asks for no null. Adding chunks and files takes a lock.
//!
//! # Costs
//! 8 bytes per 4 KiB of the parts of files that are in memory, rounded up to 2 MiB of file; 2 KiB a GiB of file.
#![expect(
    unsafe_code,
    reason = "chunks are mapped memory shared with lock-free readers"
)]

use crate::budget::Reservation;
use crate::error::Result;
use crate::memory::{Backing, Region};
use parking_lot::Mutex;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

const CHUNK_SHIFT: u32 = 18;
const CHUNK_WORDS: usize = 1 << CHUNK_SHIFT;
const CHUNK_BYTES: usize = CHUNK_WORDS * 8;
const PIECE_SHIFT: u32 = 9;
const PIECES: usize = CHUNK_WORDS >> PIECE_SHIFT;
pub(crate) const PIECE_BYTES: u64 = 4096;

/// Most files a cache can hold at a time.
pub(crate) const FILES_MAX: usize = 512;

/// The word counts against the budget.
const CHARGED: u32 = 1 << 31;
/// The piece is being discarded.
const GIVING: u32 = 1 << 30;
/// The piece has been named as possibly empty and waits for [`Tables::give_back`], which looks for itself.
const LISTED: u32 = 1 << 29;

/// Words of one GiB of a file.
pub(crate) struct Chunk {
    words: Region,
    pieces: Box<[AtomicU32]>,
}

/// Where the chunks of a file begin. The first element is no pointer but their number, so that one load leads to both.
type Directory = [AtomicPtr<AtomicU64>];

/// The directory of files without chunks.
static NO_CHUNKS: [AtomicPtr<AtomicU64>; 1] = [AtomicPtr::new(ptr::null_mut())];

#[derive(Default)]
struct FileTables {
    /// Kept for look-ups under way (US-3); the last one is current.
    directories: Vec<Box<Directory>>,
    chunks: Vec<Option<&'static Chunk>>,
}

/// The page tables of all files of a cache.
pub(crate) struct Tables {
    /// The first element of each file's directory. In place, so that a look-up loads no pointer to it.
    directories: [AtomicPtr<AtomicPtr<AtomicU64>>; FILES_MAX],
    /// The chunk of those that a file has not: never written.
    nowhere: Region,
    files: Box<[Mutex<FileTables>]>,
    /// Chunks of removed files: all words are zero.
    spare: Mutex<Vec<&'static Chunk>>,
    /// Every chunk ever made; `'static` above means "until the tables are dropped" (US-3).
    all: Mutex<Vec<*mut Chunk>>,
    charged: Mutex<Reservation>,
    huge_bytes_max: u64,
}

// SAFETY: the raw pointers are owned chunks, which are `Sync`; the mutexes order access to the lists.
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
    /// Tables that charge `charged`; chunks use huge pages while they stay below `huge_bytes_max` bytes in total.
    ///
    /// # Errors
    /// [`crate::Error::Map`] when the system refuses addresses.
    pub(crate) fn new(charged: Reservation, huge_bytes_max: u64) -> Result<Tables> {
        Ok(Tables {
            directories: [const { AtomicPtr::new(NO_CHUNKS.as_ptr().cast_mut()) }; FILES_MAX],
            nowhere: Region::anywhere(CHUNK_BYTES, Backing::Small)?,
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

    /// The word of `unit`: the hit path. Where the file has no chunk there is none or a zero that nobody may write.
    #[inline(always)]
    pub(crate) fn lookup(&self, file: u16, unit: u64) -> Option<&AtomicU64> {
        let directory = self.directories.get(usize::from(file))?;
        let directory = directory.load(Ordering::Acquire);
        // SAFETY: a directory has an element before those it counts, and is kept (US-3).
        let len = unsafe { &*directory }.load(Ordering::Relaxed).addr();
        let chunk = (unit >> CHUNK_SHIFT) as usize;
        if chunk >= len {
            return None;
        }
        // SAFETY: behind its first element the directory has `len` more.
        let words = unsafe { &*directory.add(1 + chunk) }.load(Ordering::Acquire);
        // SAFETY: a published chunk has CHUNK_WORDS words and stays mapped (US-3), so it is not null, which the
        // compiler cannot know of a pointer that it loads.
        unsafe {
            std::hint::assert_unchecked(!words.is_null());
            Some(&*words.add(unit as usize & (CHUNK_WORDS - 1)))
        }
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
        let spare = self.spare.lock().pop();
        let chunk = match spare {
            Some(chunk) => chunk,
            None => self.new_chunk()?,
        };
        self.publish(file, &mut tables, position, chunk);
        Ok(Entry { chunk, index })
    }

    fn new_chunk(&self) -> Result<&'static Chunk> {
        let mut charged = self.charged.lock();
        let huge = charged.bytes() + CHUNK_BYTES as u64 <= self.huge_bytes_max;
        let backing = if huge { Backing::Huge } else { Backing::Small };
        let words = Region::anywhere(CHUNK_BYTES, backing)?;
        let first = if huge { CHARGED } else { 0 };
        // A page of huge memory is there whole from the first word on.
        let bytes = if huge { CHUNK_BYTES } else { 0 } + PIECES * size_of::<AtomicU32>();
        charged.force_grow(bytes as u64);
        let pieces = (0..PIECES).map(|_| AtomicU32::new(first)).collect();
        let chunk = Box::into_raw(Box::new(Chunk { words, pieces }));
        self.all.lock().push(chunk);
        // SAFETY: freed only when the tables are dropped (US-3).
        Ok(unsafe { &*chunk })
    }

    fn publish(&self, file: u16, tables: &mut FileTables, position: usize, chunk: &'static Chunk) {
        if tables.chunks.len() <= position {
            tables.chunks.resize(position + 1, None);
        }
        tables.chunks[position] = Some(chunk);
        match tables.directories.last() {
            Some(current) if current.len() > position + 1 => {
                current[position + 1].store(self.words(tables, position), Ordering::Release);
            }
            _ => {
                let len = (position + 1).next_power_of_two();
                let directory: Box<Directory> = std::iter::once(ptr::without_provenance_mut(len))
                    .chain((0..len).map(|at| self.words(tables, at)))
                    .map(AtomicPtr::new)
                    .collect();
                let first = directory.as_ptr().cast_mut();
                tables.directories.push(directory);
                self.directories[usize::from(file)].store(first, Ordering::Release);
            }
        }
    }

    /// The first word of the chunk at `position`.
    fn words(&self, tables: &FileTables, position: usize) -> *mut AtomicU64 {
        let chunk = tables.chunks.get(position).copied().flatten();
        chunk
            .map_or(&self.nowhere, |chunk| &chunk.words)
            .base()
            .cast()
    }

    /// Forgets a file whose words are all zero; its chunks serve other files.
    pub(crate) fn remove_file(&self, file: u16) {
        let mut tables = self.files[usize::from(file)].lock();
        let chunks = std::mem::take(&mut tables.chunks);
        if let Some(current) = tables.directories.last() {
            current[1..]
                .iter()
                .for_each(|chunk| chunk.store(self.nowhere.base().cast(), Ordering::Release));
        }
        self.spare.lock().extend(chunks.into_iter().flatten());
    }

    /// Announces a fault in the entry's piece, charging the piece if this is its first; to be undone by
    /// [`Tables::leave`] when the word is zero again.
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

    /// The word of `entry` became zero; returns the piece if it may be empty now and nobody was told so since
    /// the last [`Tables::give_back`]: while memory is ample, pieces become empty again and again.
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
            piece.chunk.words.discard(piece.index * bytes, bytes);
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
            // SAFETY: made by `Box::into_raw`; nobody can look anything up any more.
            drop(unsafe { Box::from_raw(chunk) });
        }
    }
}

impl Chunk {
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
        // SAFETY: `index` is below CHUNK_WORDS, the chunk is mapped and aligned while it is borrowed; the
        // mapping is zero at first, which is a valid word.
        unsafe { &*self.chunk.words.base().cast::<AtomicU64>().add(self.index) }
    }

    fn piece_state(self) -> &'static AtomicU32 {
        &self.chunk.pieces[self.index >> PIECE_SHIFT]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;

    /// Goal: a piece that becomes empty many times is named once until somebody tried to give it back.
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
