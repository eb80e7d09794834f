//! Ways to give memory back to the system: what a release costs, what the resident set does, and
//! what the next use costs.
//!
//! # How it works
//! A region is written once, so that all of it is resident, then released in one way, in pieces of
//! an extent of the page cache, then written again. Measured are the processor time of the release
//! and of the second use, and the resident share of the region after each step. The median of the
//! rounds counts. A round without a release is the floor of the second use.
//!
//! | way | what the system does |
//! | --- | --- |
//! | `MADV_DONTNEED` | takes the pages now; the next use finds zeros |
//! | `MADV_FREE` | takes them when it needs memory; until then they still count as resident |
//! | `MADV_COLD` | makes them the next to be written out; content stays |
//! | `MADV_PAGEOUT` | writes them out now; content stays. Without swap nothing can be written |
//! | punch hole | takes pages of a memory file, for all its mappings |
//!
//! # Concurrency
//! One thread; other threads of the process change nothing but what time costs.
#![expect(
    unsafe_code,
    reason = "advice to the kernel about a mapping of this module"
)]

use std::io;
use std::ptr::NonNull;

use serde::Serialize;

use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::machine::thread_cpu_seconds;
use crate::measurement::percentile;

const PAGE_BYTES: usize = 4096;
/// Bytes released with one call: an extent of the page cache.
pub const PIECE_BYTES: usize = 64 << 10;

/// How memory is given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Nothing,
    Advice(&'static str, libc::c_int),
    PunchHole,
}

const WAYS: [Way; 6] = [
    Way::Nothing,
    Way::Advice("MADV_DONTNEED", libc::MADV_DONTNEED),
    Way::Advice("MADV_FREE", libc::MADV_FREE),
    Way::Advice("MADV_COLD", libc::MADV_COLD),
    Way::Advice("MADV_PAGEOUT", libc::MADV_PAGEOUT),
    Way::PunchHole,
];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Nothing => "none",
            Way::Advice(name, _) => name,
            Way::PunchHole => "punch hole",
        }
    }
}

/// What one way did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Released {
    /// The way.
    pub way: &'static str,
    /// Bytes of the region.
    pub bytes: u64,
    /// Why the system refused it, if it did.
    pub refused: Option<String>,
    /// Nanoseconds of processor time to release a page of 4 KiB.
    pub release_ns: f64,
    /// Share of the region that is resident after the release.
    pub resident_after: f64,
    /// Nanoseconds of processor time to write to a page again.
    pub reuse_ns: f64,
    /// Share of the region that is resident after that.
    pub resident_again: f64,
}

/// A mapping, private or of a memory file.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    file: Option<std::os::fd::OwnedFd>,
}

impl Mapping {
    fn new(bytes: usize, way: Way) -> io::Result<Mapping> {
        use std::os::fd::{AsRawFd, FromRawFd};
        let file = match way {
            Way::PunchHole => {
                // SAFETY: the name is a text that ends in 0; the call has no other preconditions.
                let fd = unsafe { libc::memfd_create(c"graven-release".as_ptr(), 0) };
                if fd < 0 {
                    return Err(io::Error::last_os_error());
                }
                // SAFETY: a descriptor that was just made and that nothing else owns.
                let file = unsafe { std::os::fd::OwnedFd::from_raw_fd(fd) };
                // SAFETY: the descriptor is open.
                if unsafe { libc::ftruncate(fd, bytes as libc::off_t) } < 0 {
                    return Err(io::Error::last_os_error());
                }
                Some(file)
            }
            Way::Nothing | Way::Advice(..) => None,
        };
        let (flags, fd) = match &file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address the kernel chooses.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, 0) };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Pages of 4 KiB, so that all ways are told of the same number of pages.
        // SAFETY: the mapping just made; a refusal leaves larger pages.
        unsafe { libc::madvise(map, bytes, libc::MADV_NOHUGEPAGE) };
        let start = NonNull::new(map.cast()).ok_or_else(|| io::Error::other("address 0"))?;
        Ok(Mapping { start, bytes, file })
    }

    /// Writes a byte of every page; nanoseconds of processor time a page.
    fn touch(&mut self) -> f64 {
        let begun = thread_cpu_seconds();
        for offset in (0..self.bytes).step_by(PAGE_BYTES) {
            // SAFETY: inside the mapping, which this value owns.
            unsafe { self.start.as_ptr().add(offset).write_volatile(1) };
        }
        self.per_page(begun)
    }

    fn per_page(&self, begun: f64) -> f64 {
        (thread_cpu_seconds() - begun) * 1e9 / (self.bytes / PAGE_BYTES) as f64
    }

    /// Releases everything, piece by piece; nanoseconds a page.
    fn release(&mut self, way: Way) -> io::Result<f64> {
        use std::os::fd::AsRawFd;
        let begun = thread_cpu_seconds();
        for offset in (0..self.bytes).step_by(PIECE_BYTES) {
            let bytes = PIECE_BYTES.min(self.bytes - offset);
            let status = match (way, &self.file) {
                (Way::Advice(_, advice), _) => {
                    // SAFETY: a range inside the mapping, whose content nothing needs any more.
                    unsafe { libc::madvise(self.start.as_ptr().add(offset).cast(), bytes, advice) }
                }
                (Way::PunchHole, Some(file)) => {
                    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                    let (from, length) = (offset as libc::off_t, bytes as libc::off_t);
                    // SAFETY: the descriptor is open; content of the file nothing needs.
                    unsafe { libc::fallocate(file.as_raw_fd(), mode, from, length) }
                }
                (Way::Nothing | Way::PunchHole, _) => 0,
            };
            if status != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(self.per_page(begun))
    }

    /// Share of the region that is resident.
    fn resident(&self) -> io::Result<f64> {
        let mut pages = vec![0_u8; self.bytes / PAGE_BYTES];
        // SAFETY: the mapping of this value, and a byte for each of its pages.
        let status =
            unsafe { libc::mincore(self.start.as_ptr().cast(), self.bytes, pages.as_mut_ptr()) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        let resident = pages.iter().filter(|page| **page & 1 == 1).count();
        Ok(resident as f64 / pages.len() as f64)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, which nothing else knows.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Releases `bytes` bytes in every way, `rounds` times in turn; the medians.
///
/// # Errors
/// A region that is no multiple of an extent, or that the system does not give.
pub fn measure(bytes: u64, rounds: usize) -> Result<Vec<Released>, LabError> {
    let region = usize::try_from(bytes).unwrap_or(0);
    if region == 0 || !region.is_multiple_of(PIECE_BYTES) || rounds == 0 {
        let reason = format!("{bytes} bytes, {rounds} rounds: a multiple of 64 KiB, and a round");
        return Err(LabError::Setting(reason));
    }
    let mut seen = vec![Vec::new(); WAYS.len()];
    let mut refused = vec![None; WAYS.len()];
    for _ in 0..rounds {
        for (at, way) in WAYS.into_iter().enumerate() {
            match round(region, way) {
                Ok(one) => seen[at].push(one),
                Err(error) => refused[at] = Some(error.to_string()),
            }
        }
    }
    let each = WAYS.into_iter().zip(seen.iter().zip(refused));
    let median = |seen: &[[f64; 4]], which: usize| {
        let mut values: Vec<f64> = seen.iter().map(|one| one[which]).collect();
        values.sort_by(f64::total_cmp);
        match values.is_empty() {
            true => 0.0,
            false => percentile(&values, 0.5),
        }
    };
    let released = each.map(|(way, (seen, refused))| Released {
        way: way.name(),
        bytes,
        refused,
        release_ns: median(seen, 0),
        resident_after: median(seen, 1),
        reuse_ns: median(seen, 2),
        resident_again: median(seen, 3),
    });
    Ok(released.collect())
}

/// One round: cost of the release, resident share, cost of the second use, resident share.
fn round(bytes: usize, way: Way) -> io::Result<[f64; 4]> {
    let mut mapping = Mapping::new(bytes, way)?;
    mapping.touch();
    let release = mapping.release(way)?;
    let after = mapping.resident()?;
    let reuse = mapping.touch();
    Ok([release, after, reuse, mapping.resident()?])
}

/// Cost and resident set of every way.
#[must_use]
pub fn figure(released: &[Released]) -> Figure {
    let done: Vec<&Released> = released
        .iter()
        .filter(|one| one.refused.is_none())
        .collect();
    let panel = |title: &str, unit: &str, value: fn(&Released) -> f64| Panel {
        title: title.to_owned(),
        x: Axis::from_zero(unit),
        shape: Shape::Bars,
        series: done
            .iter()
            .map(|one| Series::new(one.way, vec![(0.0, value(one))]))
            .collect(),
        ..Panel::default()
    };
    Figure {
        name: "release".to_owned(),
        title: "Giving memory back: what it costs, and what stays resident".to_owned(),
        columns: 2,
        panels: vec![
            panel("release", "ns a page", |one| one.release_ns),
            panel("resident after it", "percent", |one| {
                one.resident_after * 100.0
            }),
            panel("next use", "ns a page", |one| one.reuse_ns),
            panel("resident after that", "percent", |one| {
                one.resident_again * 100.0
            }),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: what is released at once leaves the resident set, what is not does not, and everything
    /// is resident again after the next use.
    #[test]
    fn the_resident_set_does_what_the_ways_say() {
        let released = measure(32 << 20, 1).expect("a region");
        let of = |way: &str| {
            let found = released.iter().find(|one| one.way == way);
            found.expect("every way is listed")
        };
        assert!(of("none").refused.is_none() && of("none").resident_after > 0.8);
        for way in ["MADV_DONTNEED", "punch hole"] {
            let one = of(way);
            if one.refused.is_none() {
                assert!(one.resident_after < 0.2, "{one:?}");
                assert!(one.resident_again > 0.8, "{one:?}");
            }
        }
        assert!(measure(1000, 1).is_err() && measure(1 << 20, 0).is_err());
    }
}
