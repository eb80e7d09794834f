//! From a page to its frame: a map, an array, a swizzled pointer, and what Graven does.
//!
//! # How it works
//! The pages form one ring in random order: each holds the number of the next. Going round the
//! ring, every access waits for the one before, so what is measured is a way's latency; reading the
//! pages of a list instead, the processor overlaps them. The bare ways work on frames that never
//! move. The swizzled prototype keeps beside the number a tagged word in the page: where the next
//! page's frame begins, or, with bit 0 set, its number; an access tests the bit and goes there.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use graven_pagecache::{Budget, Config, FileId, PageCache, PageKind, PageRef, SizeClass};

use crate::bench_cache::huge_slab::HugeSlab;
use crate::error::LabError;
use graven_types::rng::SplitMix64;

const SMALL: SizeClass = SizeClass::MIN;
const KIND: PageKind = PageKind::Adjacency;
const PAGES: u64 = 4_096;
/// Bytes of a page's header, which the bare frames leave free, too.
const FIRST: usize = graven_pagecache::page::HEADER_BYTES;
/// Set in a tagged word that holds a number.
const UNSWIZZLED: u64 = 1;

/// What an access costs by one way.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) name: &'static str,
    /// Nanoseconds where each access waits for the one before: the fastest round.
    pub(super) chained: f64,
    /// Nanoseconds where the pages are known beforehand: the fastest round.
    pub(super) listed: f64,
    /// The former, round by round.
    pub(super) rounds: Vec<f64>,
    /// The same measured again in every round, for the first way.
    pub(super) again: Vec<f64>,
}

/// Rounds, in each of which all ways are measured in turn.
const ROUNDS: u64 = 5;

/// Pages in frames that never move.
struct Frames {
    /// In huge pages, as the cache's frames.
    memory: HugeSlab,
    map: HashMap<u64, u32>,
    array: Vec<u32>,
    /// Pages in the order of the ring.
    ring: Vec<u64>,
}

impl Frames {
    fn new() -> std::io::Result<Self> {
        let mut random = SplitMix64::new(3);
        let mut shuffled = || {
            let mut list: Vec<u64> = (0..PAGES).collect();
            for at in (1..list.len()).rev() {
                list.swap(at, random.below(at as u64 + 1) as usize);
            }
            list
        };
        let (ring, frames) = (shuffled(), shuffled());
        let array: Vec<u32> = frames.iter().map(|&frame| frame as u32).collect();
        let mut memory = HugeSlab::new(PAGES as usize * SMALL.bytes())?;
        for (at, &number) in ring.iter().enumerate() {
            let next = ring[(at + 1) % ring.len()];
            let start = array[number as usize] as usize * SMALL.bytes();
            memory.write(start + FIRST, next);
            memory.write(start + FIRST + 8, swizzled(array[next as usize]));
        }
        Ok(Self {
            map: (0..PAGES).zip(array.iter().copied()).collect(),
            memory,
            array,
            ring,
        })
    }

    /// The number of the page behind the one in `frame`.
    fn next_of(&self, frame: u32) -> u64 {
        self.memory.read(frame as usize * SMALL.bytes() + FIRST)
    }

    /// From a tagged word to the one in the page it leads to.
    fn follow(&self, word: u64) -> u64 {
        let start = if word & UNSWIZZLED == 0 {
            (word >> 1) as usize
        } else {
            self.map[&(word >> 1)] as usize * SMALL.bytes()
        };
        self.memory.read(start + FIRST + 8)
    }
}

/// The tagged word of a page that is in `frame`.
fn swizzled(frame: u32) -> u64 {
    (u64::from(frame) * SMALL.bytes() as u64) << 1
}

/// Costs of every way, over so many accesses each.
pub(super) fn measure(accesses: u64) -> Result<Vec<Way>, LabError> {
    let frames =
        Frames::new().map_err(|e| LabError::Setting(format!("memory for the frames: {e}")))?;
    let (cache, id) = cached(&frames.ring)?;
    let mut ways: Vec<Way> = Vec::new();
    for _ in 0..ROUNDS {
        let round = round(accesses / ROUNDS, &frames, &cache, id)?;
        let first = hash_map(accesses / ROUNDS, &frames);
        if ways.is_empty() {
            ways = round;
        } else {
            for (way, one) in ways.iter_mut().zip(round) {
                way.rounds.push(one.chained);
                way.chained = way.chained.min(one.chained);
                way.listed = way.listed.min(one.listed);
            }
        }
        ways[0].again.push(first.chained);
    }
    Ok(ways)
}

fn hash_map(accesses: u64, frames: &Frames) -> Way {
    time(
        "hash map from page to frame",
        accesses,
        &frames.ring,
        &mut |page| frames.next_of(frames.map[&page]),
    )
}

/// Every way once.
fn round(
    accesses: u64,
    frames: &Frames,
    cache: &PageCache,
    id: FileId,
) -> Result<Vec<Way>, LabError> {
    let mut ways = vec![
        hash_map(accesses, frames),
        time(
            "array from page to frame",
            accesses,
            &frames.ring,
            &mut |page| frames.next_of(frames.array[page as usize]),
        ),
    ];
    let words: Vec<u64> = frames
        .ring
        .iter()
        .map(|&page| swizzled(frames.array[page as usize]))
        .collect();
    ways.push(time(
        "swizzled word (prototype)",
        accesses,
        &words,
        &mut |word| frames.follow(word),
    ));
    let mut failure = None;
    ways.push(time(
        "Graven, pinned read",
        accesses,
        &frames.ring,
        &mut |page| match cache.pin(id, PageRef::new(SMALL, page), KIND) {
            Ok(pin) => first_word(&pin),
            Err(error) => {
                failure = Some(error);
                0
            }
        },
    ));
    ways.push(time(
        "Graven, optimistic read",
        accesses,
        &frames.ring,
        &mut |page| {
            let next = cache.read(id, PageRef::new(SMALL, page), KIND, |view| view.u64_at(0));
            next.unwrap_or(0)
        },
    ));
    match failure {
        Some(error) => Err(LabError::Setting(error.to_string())),
        None => Ok(ways),
    }
}

fn first_word(payload: &[u8]) -> u64 {
    payload
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The same ring as sealed pages, all of them resident.
fn cached(ring: &[u64]) -> Result<(Arc<PageCache>, FileId), LabError> {
    let mut bytes = vec![0u8; PAGES as usize * SMALL.bytes()];
    for (at, &number) in ring.iter().enumerate() {
        let next = ring[(at + 1) % ring.len()];
        let start = number as usize * SMALL.bytes();
        let page = &mut bytes[start..start + SMALL.bytes()];
        page[graven_pagecache::page::HEADER_BYTES..][..8].copy_from_slice(&next.to_le_bytes());
        let reference = PageRef::new(SMALL, number);
        graven_pagecache::page::seal(page, reference, KIND, 0, SMALL.payload_bytes());
    }
    let failed = |e: graven_pagecache::Error| LabError::Setting(e.to_string());
    let cache = PageCache::new(Config::new(Budget::new(64 << 20))).map_err(failed)?;
    let file = Arc::new(graven_io::MemoryFile::with_bytes("pages", &bytes));
    let id = cache.add_file(file).map_err(failed)?;
    // Not in the order of the ring: frames are given in the order of loading.
    for number in 0..PAGES {
        drop(
            cache
                .pin(id, PageRef::new(SMALL, number), KIND)
                .map_err(failed)?,
        );
    }
    Ok((cache, id))
}

/// Times `step`, which leads from a page (or word) to the next: round the ring, and along the list.
fn time(name: &'static str, accesses: u64, list: &[u64], step: &mut dyn FnMut(u64) -> u64) -> Way {
    let nanoseconds = |run: &mut dyn FnMut()| {
        let begun = crate::simulate::thread_seconds();
        run();
        (crate::simulate::thread_seconds() - begun) / accesses as f64 * 1e9
    };
    let chained = nanoseconds(&mut || {
        let mut at = list[0];
        for _ in 0..accesses {
            at = step(at);
        }
        black_box(at);
    });
    let listed = nanoseconds(&mut || {
        let mut sum = 0;
        for &at in list.iter().cycle().take(accesses as usize) {
            sum ^= step(at);
        }
        black_box(sum);
    });
    Way {
        name,
        chained,
        listed,
        rounds: vec![chained],
        again: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: all ways lead round the same ring, through every page once.
    #[test]
    fn every_way_leads_round_the_ring() {
        let frames = Frames::new().expect("memory");
        let mut page = frames.ring[0];
        let mut word = swizzled(frames.array[page as usize]);
        for at in 1..=PAGES as usize {
            page = frames.next_of(frames.map[&page]);
            word = frames.follow(word);
            assert_eq!(page, frames.ring[at % PAGES as usize]);
            assert_eq!(word, swizzled(frames.array[page as usize]));
        }
        let costs = measure(10_000).expect("measured");
        assert_eq!(costs.len(), 5);
        assert!(
            costs
                .iter()
                .all(|way| way.chained > 0.0 && way.listed > 0.0)
        );
    }
}
