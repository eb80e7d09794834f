//! Floors of a hit: a plain read, and the barest page-table array.
//!
//! # How it works
//! All three read the same pages of one stretch of huge-page memory. The array has one word a page
//! with a state in its top byte and a frame number below, frames in random order, and nothing else:
//! no usage counts, no size classes, no files, no counters, nothing that could ever be evicted.
//! What the page cache costs beyond it is what it does besides.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use graven_pagecache::page::HEADER_BYTES;

use super::huge_slab::HugeSlab;
use graven_types::rng::SplitMix64;

const STATE_ONE: u64 = 1 << 56;
const STATE_MAX: u64 = 250;
const FRAME_MASK: u64 = (1 << 32) - 1;

/// Pages in huge-page memory and an array that leads to them.
pub(super) struct Floors {
    slab: HugeSlab,
    page_bytes: usize,
    words: Vec<AtomicU64>,
}

impl Floors {
    /// `pages` pages of `page_bytes` bytes.
    pub(super) fn new(pages: u64, page_bytes: usize) -> io::Result<Floors> {
        let slab = HugeSlab::new(pages as usize * page_bytes)?;
        let mut frames: Vec<u64> = (0..pages).collect();
        let mut random = SplitMix64::new(7);
        for i in (1..frames.len()).rev() {
            frames.swap(i, random.below(i as u64 + 1) as usize);
        }
        let words = frames.into_iter().map(AtomicU64::new).collect();
        Ok(Floors {
            slab,
            page_bytes,
            words,
        })
    }

    #[inline(always)]
    fn frame(&self, frame: u64) -> u64 {
        self.slab
            .read((frame & FRAME_MASK) as usize * self.page_bytes + HEADER_BYTES)
    }

    /// Reads the page without any translation.
    #[inline(always)]
    pub(super) fn plain(&self, number: u32) -> u64 {
        self.frame(u64::from(number))
    }

    /// Reads the page through the array and validates.
    #[inline(always)]
    pub(super) fn array(&self, number: u32) -> u64 {
        let word = &self.words[number as usize];
        loop {
            let seen = word.load(Ordering::Acquire);
            if seen / STATE_ONE > STATE_MAX {
                std::hint::spin_loop();
                continue;
            }
            let value = self.frame(seen);
            fence(Ordering::Acquire);
            if word.load(Ordering::Relaxed) % STATE_ONE == seen % STATE_ONE {
                return value;
            }
        }
    }

    /// Pins the page in its word, reads it and unpins it.
    #[inline(always)]
    pub(super) fn pin(&self, number: u32) -> u64 {
        let word = &self.words[number as usize];
        let mut seen = word.load(Ordering::Relaxed);
        while seen / STATE_ONE >= STATE_MAX
            || word
                .compare_exchange_weak(seen, seen + STATE_ONE, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
        {
            std::hint::spin_loop();
            seen = word.load(Ordering::Relaxed);
        }
        let value = self.frame(seen);
        word.fetch_sub(STATE_ONE, Ordering::Release);
        value
    }
}
