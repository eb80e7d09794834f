//! What was written since the last sync, sector by sector, and what a crash makes of it.
//!
//! # How it works
//! For every sector changed since it was last durable: its durable bytes and each later version
//! with the number of the change that made it. A sync makes the newest versions durable. A failed
//! sync makes some of them durable and forgets the others: the system takes those sectors for
//! clean, so a later sync does not write them either. Cutting the file counts as writing zeros
//! behind the new end. The length has versions of its own.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::SECTOR_BYTES;
use crate::{File, Result};
use graven_types::rng::SplitMix64;

type Bytes = Box<[u8]>;

/// Which unsynced changes a crash leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CrashOutcome {
    /// None of them.
    None,
    /// All of them, except what a failed sync lost.
    All,
    /// A prefix in the order they were made, the last of it torn between sectors.
    Prefix,
    /// Every sector and the length for itself: reordered and torn.
    Any,
}

/// A crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crash {
    /// Seed of what is left to chance.
    pub seed: u64,
    /// Which unsynced changes it leaves.
    pub survival: CrashOutcome,
}

#[derive(Debug)]
struct History<T> {
    durable: T,
    versions: Vec<(u64, T)>,
}

impl<T> History<T> {
    fn newest(&self) -> &T {
        self.versions
            .last()
            .map_or(&self.durable, |(_, value)| value)
    }

    fn surviving(&self, survival: CrashOutcome, cut: u64, dice: &mut SplitMix64) -> &T {
        match survival {
            CrashOutcome::None => &self.durable,
            CrashOutcome::All => self.newest(),
            CrashOutcome::Prefix => {
                let torn_in = dice.happens(0.5);
                let kept = |&&(change, _): &&(u64, T)| change < cut || (change == cut && torn_in);
                self.versions
                    .iter()
                    .rev()
                    .find(kept)
                    .map_or(&self.durable, |(_, value)| value)
            }
            CrashOutcome::Any => match dice.below(self.versions.len() as u64 + 1) {
                0 => &self.durable,
                pick => &self.versions[pick as usize - 1].1,
            },
        }
    }
}

/// What was changed since it was last durable.
#[derive(Debug, Default)]
pub(super) struct Unsynced {
    sectors: BTreeMap<u64, History<Bytes>>,
    length: Option<History<u64>>,
    /// Number of the latest change.
    change: u64,
}

impl Unsynced {
    /// Keeps the durable bytes of the sectors that touch `start..end`, and the length.
    pub(super) fn before_change(&mut self, inner: &dyn File, start: u64, end: u64) -> Result<()> {
        self.change += 1;
        let length = inner.len()?;
        self.length.get_or_insert(History {
            durable: length,
            versions: Vec::new(),
        });
        for sector in sectors(start, end) {
            if let Entry::Vacant(entry) = self.sectors.entry(sector) {
                let durable = read_sector(inner, sector)?;
                entry.insert(History {
                    durable,
                    versions: Vec::new(),
                });
            }
        }
        Ok(())
    }

    /// Records the new bytes of the same sectors, and the length.
    pub(super) fn after_change(&mut self, inner: &dyn File, start: u64, end: u64) -> Result<()> {
        let length = inner.len()?;
        if let Some(history) = &mut self.length
            && *history.newest() != length
        {
            history.versions.push((self.change, length));
        }
        for sector in sectors(start, end) {
            let bytes = read_sector(inner, sector)?;
            if let Some(history) = self.sectors.get_mut(&sector) {
                history.versions.push((self.change, bytes));
            }
        }
        Ok(())
    }

    /// A sync succeeded: the newest versions are durable.
    pub(super) fn synced(&mut self, inner: &dyn File) -> Result<()> {
        self.settle(inner, |_| true)
    }

    /// A sync failed: some of the newest versions are durable, the others are lost for good.
    pub(super) fn sync_failed(&mut self, inner: &dyn File, dice: &mut SplitMix64) -> Result<()> {
        self.settle(inner, |_| dice.happens(0.5))
    }

    fn settle(&mut self, inner: &dyn File, mut reached: impl FnMut(u64) -> bool) -> Result<()> {
        self.sectors.retain(|&sector, history| {
            let unchanged_since_loss = history.versions.is_empty();
            if !unchanged_since_loss && reached(sector) {
                return false;
            }
            history.versions.clear();
            true
        });
        let length = inner.len()?;
        if let Some(history) = &mut self.length
            && !history.versions.is_empty()
        {
            if reached(u64::MAX) {
                history.durable = length;
            }
            history.versions.clear();
        }
        Ok(())
    }

    /// The bytes that `crash` leaves of `inner`.
    pub(super) fn image(&self, inner: &dyn File, crash: Crash) -> Result<Vec<u8>> {
        let mut dice = SplitMix64::new(crash.seed);
        let changes = self
            .sectors
            .values()
            .flat_map(|h| h.versions.iter().map(|(change, _)| *change));
        let lengths = self
            .length
            .iter()
            .flat_map(|h| h.versions.iter().map(|(change, _)| *change));
        let first = changes.chain(lengths).min().unwrap_or(self.change);
        let cut = first + dice.below(self.change - first + 2);
        let mut image = vec![0; inner.len()? as usize];
        inner.read_exact_at(&mut image, 0)?;
        for (&sector, history) in &self.sectors {
            let bytes = history.surviving(crash.survival, cut, &mut dice);
            let at = (sector * SECTOR_BYTES) as usize;
            if image.len() < at + bytes.len() {
                image.resize(at + bytes.len(), 0);
            }
            image[at..at + bytes.len()].copy_from_slice(bytes);
        }
        let length = match &self.length {
            Some(history) => *history.surviving(crash.survival, cut, &mut dice),
            None => inner.len()?,
        };
        image.resize(length as usize, 0);
        Ok(image)
    }
}

fn sectors(start: u64, end: u64) -> std::ops::Range<u64> {
    start / SECTOR_BYTES..end.max(start).div_ceil(SECTOR_BYTES)
}

/// The sector's bytes; zeros behind the end of the file.
fn read_sector(inner: &dyn File, sector: u64) -> Result<Bytes> {
    let mut bytes = vec![0; SECTOR_BYTES as usize];
    inner.read_at(&mut bytes, sector * SECTOR_BYTES)?;
    Ok(bytes.into())
}
