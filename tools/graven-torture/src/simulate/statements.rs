//! What takes longer than a transaction: a statement that spills, a backup.
//!
//! # Invariants
//! * A spill file that fails hurts the statement that spills, and nothing else.
//! * A backup that was cut short does not open, or is complete; one that was acknowledged is
//!   complete.

use std::sync::{Arc, Mutex, PoisonError};

use graven_io::{Crash, FaultPlan};
use graven_pagecache::{SizeClass, SpillFile};
use graven_storage::Store;

use super::{Injected, Watch};
use crate::check::{self, MEMORY_BYTES, Promise};
use crate::disk::{Disk, SURVIVALS};
use crate::model::Graph;

const PAGE_BYTES: usize = 64 << 10;
/// A third more than the memory limit.
const PAGES: usize = MEMORY_BYTES as usize / PAGE_BYTES / 3 * 4;

/// Keeps more rows than memory holds in temporary pages and reads them back, as a sorting statement
/// does.
///
/// # Errors
/// Rows are lost, or it fails without need.
pub(super) fn spill(disk: &Disk, store: &Arc<Store>, injected: Injected) -> Result<(), String> {
    disk.phase("spill");
    let kept = keep_rows(disk, store);
    disk.phase("work");
    match kept {
        Ok(wrong) if wrong > 0 => Err(format!("{wrong} spilled pages came back changed")),
        Ok(_) if injected == Injected::FullSpill => {
            Err("the spill file is full and no call failed".to_owned())
        }
        Err(error) if injected != Injected::FullSpill => Err(format!("spilling fails: {error}")),
        _ => Ok(()),
    }
}

/// How many pages came back changed.
fn keep_rows(disk: &Disk, store: &Arc<Store>) -> graven_pagecache::Result<usize> {
    let place = disk.clone();
    let open = move || Ok(place.spill());
    let spill = SpillFile::new(
        store.cache(),
        "torture.graven-tmp",
        u64::MAX,
        Box::new(open),
    )?;
    let owner = spill.owner();
    let class = SizeClass::for_page_bytes(PAGE_BYTES).expect("a class of that size");
    let length = class.payload_bytes();
    let mut pages = Vec::new();
    for number in 0..PAGES {
        let mut writer = owner.allocate(class)?;
        writer[..length].fill(number as u8);
        pages.push(writer.finish(length));
    }
    let mut wrong = 0;
    for (number, page) in pages.iter().enumerate() {
        let bytes = page.pin()?;
        wrong += usize::from(bytes.len() != length || bytes.iter().any(|b| *b != number as u8));
    }
    owner.check()?;
    Ok(wrong)
}

/// Backs the database up; the observer looks at the copy as well.
///
/// # Errors
/// The copy is wrong, or is not made.
pub(super) fn backup(
    disk: &Disk,
    store: &Arc<Store>,
    watch: &Arc<Mutex<Watch>>,
) -> Result<(), String> {
    disk.phase("backup");
    let made = check::cache().and_then(|cache| store.backup(disk.backup(), cache));
    disk.phase("work");
    let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
    match made {
        Ok(report) if report.check.problems.is_empty() => {
            watch.backup_left(disk, "backup: acknowledged", true)
        }
        Ok(report) => Err(format!(
            "a backup has {} problems",
            report.check.problems.len()
        )),
        Err(error) if !watch.injected.hurts_commits() => Err(format!("a backup fails: {error}")),
        Err(_) => Ok(()),
    }
}

impl Watch {
    /// The power is cut while a backup is made: what is left of the copy.
    pub(super) fn backup_cut_short(&mut self, disk: &Disk, site: &str) {
        if let Err(what) = self.backup_left(disk, site, false) {
            self.failure = Some(self.broken(site, "", what));
        }
    }

    fn backup_left(&mut self, disk: &Disk, site: &str, acknowledged: bool) -> Result<(), String> {
        for survival in SURVIVALS {
            let crash = Crash {
                seed: self.random.bits(),
                survival,
            };
            *self.points.entry(format!("{site} (copy)")).or_default() += 1;
            let left = Disk::new(&disk.backup_image(crash), &FaultPlan::default(), None);
            let found = match check::open(&left).map(|store| Graph::read(&store)) {
                Err(_) if !acknowledged => continue,
                Err(error) | Ok(Err(error)) => {
                    return Err(format!("the copy ({crash:?}): {error}"));
                }
                Ok(Ok(found)) => found?,
            };
            let newest = self.history.states.last();
            if let Some(difference) = newest.and_then(|newest| newest.difference(&found)) {
                return Err(format!("the copy ({crash:?}): {difference}"));
            }
            if acknowledged && check::read(&disk.backup_image(crash), Promise::Kept)?.is_none() {
                return Err(format!("the copy is damaged ({crash:?})"));
            }
        }
        Ok(())
    }
}
