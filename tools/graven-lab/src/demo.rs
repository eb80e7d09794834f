//! The demo: makes a social network, imports it, asks the three-hop question in caches smaller than
//! the data under several policies, and writes a report.
//!
//! # How it works
//! 1. The generator writes text tables; a plain search over them gives the expected answers.
//! 2. One cold run in ample memory tells how many bytes of pages the questions touch; the cache
//!    sizes are shares of that number.
//! 3. Every combination of share (those that make different budgets within the data), policy and
//!    threads is a run with direct I/O; the smallest share is repeated with buffered I/O at the
//!    least and the most threads. The time left is divided among the runs left, and the number of
//!    starts is chosen so that one pass fits, so that the demo takes about the time it is given on
//!    any machine.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use graven::IoMode;
use graven_import::generate::{self, Compression, Social, SocialOptions};
use graven_import::{ImportOptions, ImportReport, ImportSource, Progress};

use crate::error::LabError;
use crate::machine::Machine;
use crate::measurement::Measurement;
use crate::oracle::Friends;
use crate::report::{Report, grouped};
use crate::three_hop::{self, Length, QUESTION, Questions, Setting};

/// Memory in which nothing has to leave.
const AMPLE_BYTES: u64 = 1 << 30;

/// Starts that are asked at least, however slow the machine.
const STARTS_MIN: usize = 24;

/// Cache sizes as shares of the bytes that the questions touch.
pub const SHARES: [f64; 4] = [0.12, 0.25, 0.5, 1.0];

/// Policies that the demo compares unless told otherwise.
/// They are those of the founding study: random, LRU behind one lock, four segments of LRU behind
/// one lock, LRU with recorded hits that the thread with the lock applies for all, and a clock with
/// counters.
pub const POLICIES: &str =
    "random,lru:protocol=locked,slru:protocol=locked,lru:protocol=combining,gclock";

/// What the demo does.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Folder for the tables, the database and the report; must exist.
    pub folder: PathBuf,
    /// Size of the network.
    pub scale: f64,
    /// Seed of the network.
    pub seed: u64,
    /// Policies to compare.
    pub policies: Vec<String>,
    /// Thread counts, ascending.
    pub threads: Vec<usize>,
    /// About how long the runs may take in all.
    pub time: Duration,
    /// The command line that asked for it, for the report.
    pub command: String,
}

/// How far the demo is.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step<'a> {
    /// Generating or importing.
    Data(Progress<'a>),
    /// Something that has no measure of its own begins.
    Begins(&'a str),
    /// So many of all runs are done; the last one's result.
    Run(usize, usize, &'a Measurement),
}

/// What the demo made.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The database.
    pub database: PathBuf,
    /// The report.
    pub html: PathBuf,
    /// The runs as JSON.
    pub json: PathBuf,
    /// The same in memory.
    pub report: Report,
}

impl Demo {
    /// Does it all.
    ///
    /// # Errors
    /// The data cannot be made, the database refuses, the report cannot be written.
    pub fn run(&self, step: &mut dyn FnMut(Step<'_>)) -> Result<Outcome, LabError> {
        let tables = self.folder.join("tables");
        let database = self.folder.join("social.graven");
        let mut tell = |p: Progress<'_>| {
            step(Step::Data(p));
            std::ops::ControlFlow::Continue(())
        };
        let options = SocialOptions {
            network: Social {
                scale: self.scale,
                seed: self.seed,
            },
            out: tables.clone(),
            compress: Compression::None,
            memory: ImportOptions::default().memory,
        };
        generate::social(&options, &mut tell)?;
        let source = ImportSource::Ldbc(tables.clone());
        let imported =
            graven_import::import(&database, &source, &ImportOptions::default(), &mut tell)?;
        let begun = Instant::now();
        step(Step::Begins("measuring what the questions touch"));
        let mut questions = Questions::read(&tables.join("three-hop-params.csv"), None)?;
        let touched_bytes = self.choose_starts(&database, &mut questions)?;
        step(Step::Begins("answering by a plain search"));
        let friends = Friends::read(&tables.join("knows.csv"))?;
        for start in &questions.starts {
            questions
                .expected
                .insert(*start, friends.within_three(*start));
        }
        drop(friends);
        let runs = self.runs(&database, &questions, touched_bytes, begun, step)?;
        let report = self.report(&database, &imported, &questions, touched_bytes, runs);
        self.write(database, report)
    }

    /// Keeps as many starts as one pass over them fits a run's time, and returns the bytes they
    /// touch.
    fn choose_starts(&self, db: &Path, questions: &mut Questions) -> Result<u64, LabError> {
        let all = std::mem::take(&mut questions.starts);
        let ample = Setting {
            policy: self.policies.first().cloned().unwrap_or_default(),
            pools: None,
            cache_bytes: AMPLE_BYTES,
            cache_share: None,
            threads: 1,
            io: IoMode::Direct,
            batch: 1,
            warm_up_passes: 0,
            length: Length::Passes(1),
        };
        questions.starts = all.iter().copied().take(STARTS_MIN).collect();
        let touched = bytes_read(&three_hop::run(db, questions, &ample)?);
        let smallest = Setting {
            cache_bytes: budget(touched, SHARES[0]),
            ..ample.clone()
        };
        let slow = three_hop::run(db, questions, &smallest)?;
        // A warm-up pass and a measured pass each take a third of a run's time at the slowest
        // setting.
        let pass = self.time.as_secs_f64()
            / self.settings(&Self::shares(touched)).len().max(1) as f64
            / 3.0;
        let fits = (slow.throughput_qps * pass) as usize;
        if fits <= STARTS_MIN {
            return Ok(touched);
        }
        questions.starts = all.into_iter().take(fits).collect();
        Ok(bytes_read(&three_hop::run(db, questions, &ample)?))
    }

    /// The shares that make different budgets of at most all that the questions touch; the smallest
    /// is raised to what a database opens with. Where even that holds everything, it is the only
    /// one.
    fn shares(touched_bytes: u64) -> Vec<f64> {
        let mut shares: Vec<f64> = Vec::new();
        for share in SHARES {
            let bytes = budget(touched_bytes, share);
            let fits = bytes <= touched_bytes.next_multiple_of(4096);
            let is_new = shares
                .last()
                .is_none_or(|last| budget(touched_bytes, *last) < bytes);
            if is_new && (fits || shares.is_empty()) {
                shares.push(share);
            }
        }
        shares
    }

    /// Share, I/O mode, policy and threads of every run.
    fn settings(&self, shares: &[f64]) -> Vec<(f64, IoMode, &str, usize)> {
        let all = |share, io, threads: &[usize]| -> Vec<(f64, IoMode, &str, usize)> {
            let each = |policy| threads.iter().map(move |t| (share, io, policy, *t));
            self.policies
                .iter()
                .map(String::as_str)
                .flat_map(each)
                .collect()
        };
        let mut settings: Vec<_> = shares
            .iter()
            .flat_map(|share| all(*share, IoMode::Direct, &self.threads))
            .collect();
        let mut ends = vec![self.threads.first().copied(), self.threads.last().copied()];
        ends.dedup();
        let ends: Vec<usize> = ends.into_iter().flatten().collect();
        settings.extend(all(shares[0], IoMode::Buffered, &ends));
        settings
    }

    fn runs(
        &self,
        db: &Path,
        questions: &Questions,
        touched_bytes: u64,
        begun: Instant,
        step: &mut dyn FnMut(Step<'_>),
    ) -> Result<Vec<Measurement>, LabError> {
        let shares = Self::shares(touched_bytes);
        let settings = self.settings(&shares);
        let mut runs: Vec<Measurement> = Vec::new();
        for (done, (share, io, policy, threads)) in settings.iter().enumerate() {
            let left = self.time.saturating_sub(begun.elapsed());
            let slot = left / (settings.len() - done) as u32;
            let setting = Setting {
                policy: (*policy).to_owned(),
                pools: None,
                cache_bytes: budget(touched_bytes, *share),
                cache_share: Some(
                    budget(touched_bytes, *share) as f64 / touched_bytes.max(1) as f64,
                ),
                threads: *threads,
                io: *io,
                batch: 1,
                warm_up_passes: 1,
                length: Length::AtLeast(slot / 2),
            };
            let run = three_hop::run(db, questions, &setting)?;
            step(Step::Run(done + 1, settings.len(), &run));
            runs.push(run);
        }
        Ok(runs)
    }

    fn report(
        &self,
        db: &Path,
        imported: &ImportReport,
        questions: &Questions,
        touched_bytes: u64,
        runs: Vec<Measurement>,
    ) -> Report {
        let named = |name: &str, value: String| (name.to_owned(), value);
        let counts = Counts::of(db).unwrap_or_default();
        let facts = vec![
            named("persons", grouped(counts.persons)),
            named("friendships", grouped(counts.friendships)),
            named(
                "imported a second",
                format!(
                    "{:.2} M",
                    imported.relationships as f64 / imported.elapsed.as_secs_f64().max(1e-9) / 1e6
                ),
            ),
            named("database file", graven::format_bytes(imported.file_bytes)),
            named(
                "bytes a friendship, both directions",
                format!("{:.2}", counts.bytes_a_friendship),
            ),
            named(
                "touched by the questions",
                graven::format_bytes(touched_bytes),
            ),
        ];
        let threads: Vec<String> = self.threads.iter().map(ToString::to_string).collect();
        let queue = runs.first().map_or(String::new(), |r| r.queue.clone());
        let settings = vec![
            named(
                "network",
                format!("scale {}, seed {}", self.scale, self.seed),
            ),
            named(
                "starts",
                format!("{}, drawn at random once", questions.starts.len()),
            ),
            named("policies", self.policies.join(", ")),
            named("threads", threads.join(", ")),
            named(
                "warm-up",
                "one pass over all starts before every run".to_owned(),
            ),
            named("length", "at least one pass over all starts".to_owned()),
            named(
                "memory",
                format!(
                    "pages, page tables, operators and results together; a database opens with {} \
                        at least, which stands for smaller shares",
                    graven::format_bytes(graven_pagecache::BUDGET_BYTES_MIN)
                ),
            ),
            named(
                "answers",
                "none is kept; every question reads its pages".to_owned(),
            ),
            named("read queue", queue),
        ];
        Report {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: today(),
            command: self.command.clone(),
            question: QUESTION.to_owned(),
            machine: Machine::describe(db),
            facts,
            settings,
            touched_bytes,
            runs,
        }
    }

    fn write(&self, database: PathBuf, report: Report) -> Result<Outcome, LabError> {
        let html = self.folder.join("report.html");
        std::fs::write(&html, report.html()).map_err(LabError::io(&html, "writing"))?;
        let json = self.folder.join("report.json");
        let text = serde_json::to_string_pretty(&report)
            .map_err(|e| LabError::Setting(format!("the runs cannot be written as JSON: {e}")))?;
        std::fs::write(&json, text).map_err(LabError::io(&json, "writing"))?;
        Ok(Outcome {
            database,
            html,
            json,
            report,
        })
    }
}

/// Bytes of pages that a run read; of a cold run in ample memory, those that its questions touch.
fn bytes_read(run: &Measurement) -> u64 {
    run.kinds.iter().map(|k| k.bytes_read).sum()
}

/// A share of the touched bytes, but no less than a database opens with.
fn budget(touched_bytes: u64, share: f64) -> u64 {
    let bytes = (touched_bytes as f64 * share) as u64;
    bytes
        .max(graven_pagecache::BUDGET_BYTES_MIN)
        .next_multiple_of(4096)
}

/// What the network holds.
#[derive(Default)]
struct Counts {
    persons: u64,
    friendships: u64,
    /// Bytes of a friendship, both directions.
    bytes_a_friendship: f64,
}

impl Counts {
    fn of(db: &Path) -> Result<Self, LabError> {
        let info = graven::Database::open(db, graven::Config::default())?.info()?;
        let persons = info.labels.iter().find(|(label, _)| label == "Person");
        let knows = info.types.iter().find(|t| t.name == "KNOWS");
        Ok(Self {
            persons: persons.map_or(0, |(_, nodes)| *nodes),
            friendships: knows.map_or(0, |t| t.relationships),
            bytes_a_friendship: knows.map_or(0.0, graven::TypeInfo::bytes_per_relationship),
        })
    }
}

/// Today in UTC as `YYYY-MM-DD`.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let (year, month, day) = civil((seconds / 86_400) as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day of a number of days since 1970-01-01, in years that begin in March so that
/// the leap day is the last (Hinnant, "chrono-compatible low-level date algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(20_778), (2026, 11, 21));
    }

    #[test]
    fn shares_make_different_budgets_within_the_data() {
        let ample = 100 << 20;
        assert_eq!(Demo::shares(ample), SHARES);
        let least = graven_pagecache::BUDGET_BYTES_MIN;
        assert_eq!(Demo::shares(least * 3), [0.12, 0.5, 1.0]);
        assert_eq!(
            Demo::shares(least / 2),
            [0.12],
            "one run, in the least memory"
        );
    }

    #[test]
    fn budgets_are_shares_but_workable() {
        assert_eq!(budget(100 << 20, 0.25), 25 << 20);
        assert_eq!(budget(100, 0.12), graven_pagecache::BUDGET_BYTES_MIN);
    }
}
