//! Floor of a miss: a bare io_uring loop over recycled huge-page frames, nothing else.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use graven_io::IoMode;
use graven_pagecache::SizeClass;
use io_uring::{IoUring, opcode, types};

use super::clock;
use super::huge_slab::HugeSlab;
use super::outcome::Outcome;
use graven_types::rng::SplitMix64;

/// A loop over one file.
pub(super) struct Floor {
    file: fs::File,
    class: SizeClass,
    pages: u64,
    depth: usize,
    slab: HugeSlab,
    frames: usize,
}

impl Floor {
    /// A loop with `depth` reads in flight, cycling over `frames` frames.
    pub(super) fn new(
        path: &Path,
        mode: IoMode,
        class: SizeClass,
        depth: usize,
        frames: usize,
    ) -> io::Result<Floor> {
        let flags = if mode == IoMode::Direct {
            libc::O_DIRECT
        } else {
            0
        };
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        let pages = file.metadata()?.len() / class.bytes() as u64;
        let frames = frames.max(depth).next_multiple_of(depth);
        let slab = HugeSlab::new(frames * class.bytes())?;
        Ok(Floor {
            file,
            class,
            pages,
            depth,
            slab,
            frames,
        })
    }

    /// Reads random pages for `seconds`.
    pub(super) fn run(&self, seconds: f64, seed: u64) -> io::Result<Outcome> {
        let mut ring = IoUring::new(self.depth as u32 * 2)?;
        let mut random = SplitMix64::new(seed);
        // A frame is free again when its read has ended; slot s cycles over the frames s, s +
        // depth, ...
        let mut frame_of: Vec<usize> = (0..self.depth).collect();
        let mut free: Vec<usize> = (0..self.depth).collect();
        let (mut pages, mut sum) = (0, 0u64);
        let (start, cpu) = (Instant::now(), clock::process_cpu());
        let end = Duration::from_secs_f64(seconds);
        loop {
            let running = start.elapsed() < end;
            if !running && free.len() == self.depth {
                break;
            }
            while running && let Some(slot) = free.pop() {
                self.push(&mut ring, slot, frame_of[slot], random.below(self.pages));
            }
            let in_flight = self.depth - free.len();
            ring.submit_and_wait((self.depth / 4).clamp(1, in_flight))?;
            while let Some(entry) = { ring.completion().next() } {
                if entry.result() != self.class.bytes() as i32 {
                    let text = format!("a read gave {} instead of a page", entry.result());
                    return Err(io::Error::other(text));
                }
                let slot = entry.user_data() as usize;
                sum = sum.wrapping_add(self.slab.read(frame_of[slot] * self.class.bytes()));
                frame_of[slot] = (frame_of[slot] + self.depth) % self.frames;
                free.push(slot);
                pages += 1;
            }
        }
        std::hint::black_box(sum);
        Ok(Outcome {
            pages,
            seconds: start.elapsed().as_secs_f64(),
            cpu_seconds: clock::process_cpu() - cpu,
        })
    }

    fn push(&self, ring: &mut IoUring, slot: usize, frame: usize, page: u64) {
        let bytes = self.class.bytes();
        let target = self.slab.address(frame * bytes);
        let entry = opcode::Read::new(types::Fd(self.file.as_raw_fd()), target, bytes as u32)
            .offset(page * bytes as u64)
            .build()
            .user_data(slot as u64);
        // SAFETY: the frame lies in the slab, which outlives the ring (a local of `run`, which
        // leaves with reads in flight only on errors of the kernel), and belongs to this slot
        // alone.
        let pushed = unsafe { ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the ring has room for every slot");
    }
}
