//! Settings of the system by small and large transactions a second: the ext4 article's table.
//!
//! # How it works
//! Without leave to change anything, the settings are read and one row is measured: the machine as
//! it is. With it ([`CommitBench::settings`], `apply`), an ext4 file system in a file is made anew
//! for each row and each round, mounted with the row's options ([`super::volume`]); so nothing of
//! the machine's own file systems is changed. The limits of dirty pages are the machine's, and are
//! put back at once. Rows take turns, round after round; the first row is measured twice in each
//! round.
//!
//! Every row says what it can lose. None of the dangerous ones is advice.

use std::fmt;
use std::path::Path;

use graven::Durability;
use serde::Serialize;

use super::CommitBench;
use super::report::median;
use super::transactions::Prepared;
use super::volume::{DirtyLimits, Volume};
use crate::LabError;
use crate::doctor::System;
use crate::statistics::{self, Interval};

/// Bytes of the file system of its own.
const VOLUME: u64 = 512 << 20;
/// Name of the row that others are compared with.
pub const BASE: &str = "ext4 by itself";

/// A row.
#[derive(Clone, Debug, Serialize)]
pub struct SettingRow {
    /// What is set.
    pub name: String,
    /// What is in force for the directory now, as the system tells.
    pub now: String,
    /// What it can lose.
    pub loses: &'static str,
    /// Operations a second of each round, as many transactions as operations; empty where nothing
    /// was changed.
    pub small: Vec<f64>,
    /// The same in one transaction.
    pub large: Vec<f64>,
}

/// The table.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// Operations of the large transaction.
    pub operations: u64,
    /// The rows; the first is the machine as it is.
    pub rows: Vec<SettingRow>,
    /// The factor by which the row that others are compared with differs from itself.
    pub noise_band: Option<f64>,
}

/// What a row changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Change {
    format: &'static [&'static str],
    mount: &'static str,
    dirty: Option<(u32, u32)>,
    scheduler: &'static str,
    write_cache: &'static str,
}

const PLAIN: Change = Change {
    format: &[],
    mount: "defaults",
    dirty: None,
    scheduler: "",
    write_cache: "",
};
const NO_JOURNAL: &[&str] = &["-O", "^has_journal"];
const NOTHING: &str = "nothing";
const BARRIERS: &str = "acknowledged commits, and the file system itself, at a power failure";
const JOURNAL: &str =
    "the file system's order at a crash: files of no length, a check at the start";

/// Name, what it loses, what it changes.
const ROWS: [(&str, &str, Change); 12] = [
    (BASE, NOTHING, PLAIN),
    (
        "noatime,nodiratime",
        NOTHING,
        Change {
            mount: "noatime,nodiratime",
            ..PLAIN
        },
    ),
    (
        "barrier=0",
        BARRIERS,
        Change {
            mount: "barrier=0",
            ..PLAIN
        },
    ),
    (
        "data=writeback",
        "the order of data and metadata of other programs",
        Change {
            mount: "data=writeback",
            ..PLAIN
        },
    ),
    (
        "no journal",
        JOURNAL,
        Change {
            format: NO_JOURNAL,
            ..PLAIN
        },
    ),
    (
        "no journal, barrier=0",
        BARRIERS,
        Change {
            format: NO_JOURNAL,
            mount: "barrier=0",
            ..PLAIN
        },
    ),
    (
        "dirty limits 80/80",
        "more of what other programs did not sync",
        Change {
            dirty: Some((80, 80)),
            ..PLAIN
        },
    ),
    (
        "write cache: kernel told there is none",
        BARRIERS,
        Change {
            write_cache: "write through",
            ..PLAIN
        },
    ),
    (
        "scheduler none",
        NOTHING,
        Change {
            scheduler: "none",
            ..PLAIN
        },
    ),
    (
        "scheduler mq-deadline",
        NOTHING,
        Change {
            scheduler: "mq-deadline",
            ..PLAIN
        },
    ),
    (
        "scheduler bfq",
        NOTHING,
        Change {
            scheduler: "bfq",
            ..PLAIN
        },
    ),
    (
        "all: no journal, barrier=0, noatime, 80/80, none",
        BARRIERS,
        Change {
            format: NO_JOURNAL,
            mount: "noatime,barrier=0",
            dirty: Some((80, 80)),
            scheduler: "none",
            write_cache: "",
        },
    ),
];

impl CommitBench {
    /// Measures the machine as it is, and with `apply` every setting in a file system of its own;
    /// `tell` is told what is done, and may end it.
    ///
    /// # Errors
    /// As [`CommitBench::run`]; without the right to mount, if settings are to be changed.
    pub fn settings(
        &self,
        apply: bool,
        tell: &mut dyn FnMut(&str) -> Result<(), LabError>,
    ) -> Result<Settings, LabError> {
        let system = System::read(Path::new("/"), &self.directory);
        let mut rows = vec![self.as_it_is(&system)?];
        let mut base_again = Vec::new();
        rows.extend(ROWS.iter().map(|(name, loses, change)| SettingRow {
            name: (*name).to_owned(),
            now: change.now(&system),
            loses,
            small: Vec::new(),
            large: Vec::new(),
        }));
        let rounds = if apply { self.rounds } else { 0 };
        let mut volume = match apply {
            true => Some(Volume::new(&self.directory, VOLUME)?),
            false => None,
        };
        for round in 1..=rounds {
            for (row, (name, _, change)) in rows[1..].iter_mut().zip(&ROWS) {
                let Some(volume) = &mut volume else { continue };
                tell(&format!("round {round} of {rounds}: {name}"))?;
                let Some((small, large)) = self.on_volume(volume, change)? else {
                    continue;
                };
                row.small.push(small);
                row.large.push(large);
                if *name == BASE {
                    base_again.extend(self.on_volume(volume, change)?.map(|pair| pair.0));
                }
            }
        }
        let base = rows.iter().find(|row| row.name == BASE);
        let noise_band = base.and_then(|base| statistics::noise_band(&base.small, &base_again));
        Ok(Settings {
            operations: self.operations,
            rows,
            noise_band,
        })
    }

    fn as_it_is(&self, system: &System) -> Result<SettingRow, LabError> {
        let measured = self.transactions(Durability::Full)?;
        Ok(SettingRow {
            name: "this machine as it is".to_owned(),
            now: format!(
                "{} on {}: {}",
                system.mount.kind,
                system.mount.source,
                system.mount.options.join(",")
            ),
            loses: NOTHING,
            small: measured.column(|round| round.small),
            large: measured.column(|round| round.large),
        })
    }

    /// One round of a row; nothing where the kernel does not offer the row's scheduler.
    fn on_volume(
        &self,
        volume: &mut Volume,
        change: &Change,
    ) -> Result<Option<(f64, f64)>, LabError> {
        volume.make(change.format, change.mount)?;
        if !change.is_offered(volume) {
            return Ok(None);
        }
        if !change.scheduler.is_empty() {
            volume.set("scheduler", change.scheduler)?;
        }
        if !change.write_cache.is_empty() {
            volume.set("write_cache", change.write_cache)?;
        }
        let limits = change
            .dirty
            .map(|(background, writers)| DirtyLimits::set(background, writers))
            .transpose()?;
        let prepared = Prepared::new(
            &volume.point(),
            self.memory,
            self.operations,
            Durability::Full,
        )?;
        let measured = prepared.small_and_large();
        drop(prepared);
        drop(limits);
        volume.restore()?;
        measured.map(Some)
    }
}

impl Change {
    /// Whether the device offers the row's scheduler.
    fn is_offered(&self, volume: &Volume) -> bool {
        self.scheduler.is_empty() || volume.read("scheduler").contains(self.scheduler)
    }

    /// What the system says of the same setting.
    fn now(&self, system: &System) -> String {
        let disk = system.disks.first();
        let mount = |options: &[&str], none: &str| {
            let set = options.iter().find(|option| system.mount.has(option));
            set.map_or(none.to_owned(), |option| (*option).to_owned())
        };
        if self.dirty.is_some() && self.mount == PLAIN.mount {
            return format!("{}/{} %", system.dirty_background_ratio, system.dirty_ratio);
        }
        if !self.write_cache.is_empty() {
            return disk.map_or(String::new(), |disk| disk.write_cache.clone());
        }
        if !self.scheduler.is_empty() && self.format.is_empty() {
            return disk.map_or(String::new(), |disk| disk.scheduler.clone());
        }
        if !self.format.is_empty() {
            return match system.journal {
                Some(true) => "journal".to_owned(),
                Some(false) => "no journal".to_owned(),
                None => "not told".to_owned(),
            };
        }
        match self.mount {
            "barrier=0" => mount(&["nobarrier", "barrier=0"], "barriers"),
            "data=writeback" => mount(&["data=writeback", "data=journal"], "data=ordered"),
            "noatime,nodiratime" => mount(&["noatime", "relatime"], "atime"),
            _ => String::new(),
        }
    }
}

impl Settings {
    /// A row.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&SettingRow> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Small transactions of a row against those of another.
    #[must_use]
    pub fn ratio(&self, name: &str, other: &str) -> Option<Interval> {
        statistics::ratio(&self.row(name)?.small, &self.row(other)?.small)
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:50} {:>14} {:>14} {:>22}  what it can lose",
            "setting",
            format!("{} x 1", self.operations),
            format!("1 x {}", self.operations),
            "small, against ext4's"
        )?;
        for row in &self.rows {
            let rate = |rounds: &[f64]| match rounds {
                [] => "not changed".to_owned(),
                rounds => format!("{:.0}", median(rounds)),
            };
            let ratio = self
                .ratio(&row.name, BASE)
                .map_or("-".to_owned(), |interval| {
                    let Interval { low, mean, high } =
                        interval.widened(self.noise_band.unwrap_or(1.0));
                    format!("{mean:.2} ({low:.2} to {high:.2})")
                });
            writeln!(
                f,
                "{:50} {:>14} {:>14} {ratio:>22}  {}",
                row.name,
                rate(&row.small),
                rate(&row.large),
                row.loses
            )?;
            if !row.now.is_empty() {
                writeln!(f, "    here: {}", row.now)?;
            }
        }
        let applied = self.rows.iter().skip(1).any(|row| !row.small.is_empty());
        writeln!(
            f,
            "\noperations a second, median of the rounds; {}",
            match applied {
                true => "rows below the first in an ext4 file system of its own, in a file",
                false =>
                    "--apply, as root, measures every row in an ext4 file system of its own, in a \
                        file",
            }
        )
    }
}
