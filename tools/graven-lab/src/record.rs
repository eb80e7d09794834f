//! Recording the page accesses of a live database while it answers questions.
//!
//! # How it works
//! The database is opened with its budget and policy; questions are asked by threads, once to warm
//! up, then in rounds that take turns without and with recording. The overhead is the ratio of the
//! processor times of the two: the median of the rounds, and the 95 % bootstrap interval of the
//! paired rounds' mean. The accesses of the last recorded round become the trace, each with the
//! number of its question.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use graven::pagecache::PageKind;
use graven::pagecache::record::{RecordedAccess, Recording, set_query};
use graven::{Config, Database, Params};
use graven_trace::Header;
use graven_trace::graven::Writer;
use graven_trace::{Access, FLAG_FAULTED, FileRow};
use serde::Serialize;

use crate::error::LabError;
use crate::machine::processor_seconds;

/// What to record.
#[derive(Clone, Debug)]
pub struct Record {
    /// The database.
    pub database: PathBuf,
    /// Memory, policy and so on.
    pub config: Config,
    /// Questions with their parameters, asked in this order by whichever thread is free.
    pub questions: Vec<(String, Params)>,
    /// Threads that ask.
    pub threads: usize,
    /// One page in so many is recorded.
    pub one_in: u32,
    /// Pairs of rounds, without and with recording, that the overhead is told from.
    pub rounds: usize,
    /// Where the trace goes.
    pub trace: PathBuf,
    /// Accesses recorded at most.
    pub limit: usize,
}

/// What was recorded, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recorded {
    /// The trace.
    pub trace: String,
    /// Questions of a round.
    pub questions: usize,
    /// Accesses in the trace.
    pub accesses: u64,
    /// Different pages in it.
    pub unique: u64,
    /// One page in so many is in it.
    pub one_in: u32,
    /// Accesses that had to read.
    pub faulted: u64,
    /// Processor seconds of a round without recording, median.
    pub plain_cpu_seconds: f64,
    /// The same with recording.
    pub recorded_cpu_seconds: f64,
    /// By how much recording raises the processor time, as a share.
    pub overhead: f64,
    /// The ends of its 95 % interval over the paired rounds; nothing with fewer than three rounds.
    pub overhead_interval: Option<(f64, f64)>,
    /// Accesses by kind of page.
    pub kinds: Vec<(String, u64)>,
}

impl Record {
    /// Asks, records, and writes the trace; `progress` is told which round begins, and may end it.
    ///
    /// # Errors
    /// The database cannot be opened, a question fails, the trace cannot be written.
    pub fn run(
        &self,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Recorded, LabError> {
        let mut progress = |done, total| match progress(done, total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(LabError::Interrupted),
        };
        if self.questions.is_empty() || self.threads == 0 || self.rounds == 0 {
            let reason = "there must be a question, a thread and a round";
            return Err(LabError::Setting(reason.to_owned()));
        }
        let db = Database::open(&self.database, self.config.clone())?;
        let total = 2 * self.rounds + 1;
        progress(0, total)?;
        self.ask(&db)?;
        let (mut plain, mut recorded) = (Vec::new(), Vec::new());
        let mut accesses = Vec::new();
        for round in 0..self.rounds {
            progress(2 * round + 1, total)?;
            plain.push(self.ask(&db)?);
            progress(2 * round + 2, total)?;
            let recording = Recording::start(db.cache()?, self.one_in, self.limit);
            recorded.push(self.ask(&db)?);
            accesses = recording.finish();
        }
        let interval = crate::statistics::ratio(&recorded, &plain);
        let (plain, recorded) = (median(plain), median(recorded));
        let mut result = self.write(&accesses)?;
        result.plain_cpu_seconds = plain;
        result.recorded_cpu_seconds = recorded;
        result.overhead = if plain > 0.0 {
            recorded / plain - 1.0
        } else {
            0.0
        };
        result.overhead_interval = interval.map(|ratio| (ratio.low - 1.0, ratio.high - 1.0));
        Ok(result)
    }

    /// Asks every question once; processor seconds of it.
    fn ask(&self, db: &Database) -> Result<f64, LabError> {
        let next = AtomicUsize::new(0);
        let begun = (processor_seconds(), Instant::now());
        let worker = || {
            let connection = db.connect();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((text, params)) = self.questions.get(at) else {
                    return Ok(());
                };
                set_query(at as u32 + 1);
                let mut result = connection.query(text, params)?;
                while result.next_row()?.is_some() {}
            }
        };
        let results: Vec<Result<(), LabError>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(worker)).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        results.into_iter().collect::<Result<(), LabError>>()?;
        let cpu = processor_seconds() - begun.0;
        // The processor clock has steps of 10 ms: shorter rounds are told by the wall's.
        Ok(if cpu > 0.1 {
            cpu
        } else {
            begun.1.elapsed().as_secs_f64()
        })
    }

    fn write(&self, accesses: &[RecordedAccess]) -> Result<Recorded, LabError> {
        let kinds: Vec<String> = std::iter::once("unknown")
            .chain(PageKind::ALL.iter().map(|kind| kind.name()))
            .map(str::to_owned)
            .collect();
        let place = |kind: Option<PageKind>| {
            kind.and_then(|kind| PageKind::ALL.iter().position(|known| *known == kind))
                .map_or(0, |at| at + 1)
        };
        let header = Header {
            page_bytes: 0,
            sampling: self.one_in,
            kinds: kinds.clone(),
            files: vec![FileRow {
                id: 0,
                name: file_name(&self.database),
            }],
        };
        let mut writer = Writer::create(&self.trace, &header)?;
        let mut counts = vec![0; kinds.len()];
        let mut pages = graven_trace::dense::Numbering::new();
        for access in accesses {
            let kind = place(access.kind);
            counts[kind] += 1;
            let page = u64::from(access.file) << 48 | access.unit;
            pages.index_of(page);
            writer.push(&Access {
                page,
                query: access.query,
                thread: access.thread,
                kind: kind as u8,
                flags: if access.faulted { FLAG_FAULTED } else { 0 },
            })?;
        }
        let written = writer.finish()?;
        let by_kind = kinds
            .into_iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0);
        Ok(Recorded {
            trace: self.trace.display().to_string(),
            questions: self.questions.len(),
            accesses: written,
            unique: pages.unique() as u64,
            one_in: self.one_in,
            faulted: accesses.iter().filter(|access| access.faulted).count() as u64,
            plain_cpu_seconds: 0.0,
            recorded_cpu_seconds: 0.0,
            overhead: 0.0,
            overhead_interval: None,
            kinds: by_kind.collect(),
        })
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    crate::measurement::percentile(&values, 0.5)
}
