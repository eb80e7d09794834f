//! Transaction-aware replacement, measured: the update streams of an LDBC data set under policies
//! as they are, and scoring pages of running transactions up (`running=N`).
//!
//! # How it works
//! The tables are imported once. For every memory budget and policy, the database is copied, opened
//! and gets the streams, with several writers beside readers: every operation is a transaction.
//! Counted are hits and faults of the cache, and how many transactions waited for no read. The
//! accesses of the first policy's run are recorded, with the transaction of each. Then every policy
//! is simulated on this record, in as many frames as the live cache had pages.
//!
//! # Invariants
//! The simulated hits of a record are the same every time. Live counts differ with the order in
//! which threads come.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use graven::pagecache::record::Recording;
use graven::{Config, Database, Durability, TransactionOptions};
use graven_trace::graven::Writer;
use graven_trace::{Access, FileRow, Header};
use serde::Serialize;

use crate::error::LabError;
use crate::simulate::{Simulation, Size};
use crate::updates;

/// Accesses recorded at most.
const RECORDED_MAX: usize = 20_000_000;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Transactions {
    /// An LDBC data set with update streams.
    pub data: PathBuf,
    /// Memory budgets in bytes.
    pub memory: Vec<u64>,
    /// Policies without `running`.
    pub policies: Vec<String>,
    /// How many pages of running transactions an eviction passes over.
    pub running: u32,
    /// Threads that write.
    pub writers: usize,
    /// Threads that read.
    pub readers: usize,
    /// Where databases and record lie meanwhile.
    pub scratch: PathBuf,
}

/// One policy at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scored {
    /// The policy.
    pub policy: String,
    /// Memory budget in bytes.
    pub memory_bytes: u64,
    /// Transactions of the streams.
    pub transactions: u64,
    /// Those that waited for no read.
    pub calm: u64,
    /// Page accesses of the live cache.
    pub accesses: u64,
    /// Accesses that found their page.
    pub hits: u64,
    /// Faults that a thread waited for.
    pub blocked: u64,
    /// Pages of the live cache at the end of the first policy's run: frames of the simulation.
    pub frames: u64,
    /// Accesses of the record.
    pub simulated_accesses: u64,
    /// Hits of the simulation on the record.
    pub simulated_hits: u64,
}

/// The policy as it is, and with the score.
fn pair(policy: &str, running: u32) -> [String; 2] {
    let separator = if policy.contains(':') { ',' } else { ':' };
    let scored = format!("{policy}{separator}running={running}");
    [policy.to_owned(), scored]
}

impl Transactions {
    /// Measures every policy at every size, without and with the score; `progress` is told what
    /// runs, what is done and of how much, and may end it.
    ///
    /// # Errors
    /// Data without update streams, a policy that is none, a statement that fails.
    pub fn run(
        &self,
        progress: &mut dyn FnMut(&str, u64, u64) -> ControlFlow<()>,
    ) -> Result<Vec<Scored>, LabError> {
        let mut tell = |what: &str, done, total| match progress(what, done, total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(LabError::Interrupted),
        };
        let folder = tempfile::tempdir_in(&self.scratch)
            .map_err(LabError::io(&self.scratch, "making a folder"))?;
        let specs = self.policies.iter().flat_map(|p| pair(p, self.running));
        let specs: Vec<String> = specs.collect();
        for spec in &specs {
            graven_policy::registry::Spec::parse(spec)?;
        }
        let total = (self.memory.len() * specs.len()) as u64 + 1;
        tell("importing", 0, total)?;
        let loaded = updates::import(&self.data, &folder.path().join("loaded.graven"));
        let loaded = loaded.map_err(LabError::Setting)?;
        let mut scored = Vec::new();
        for (place, bytes) in self.memory.iter().enumerate() {
            let trace = folder.path().join("record.gtrace");
            let first = scored.len();
            for (at, spec) in specs.iter().enumerate() {
                let done = (place * specs.len() + at) as u64 + 1;
                tell(spec, done, total)?;
                let record = (at == 0).then_some(trace.as_path());
                scored.push(self.live(&loaded, folder.path(), (spec, *bytes), record)?);
            }
            let frames = scored[first].frames;
            let simulation = Simulation {
                traces: vec![trace],
                policies: specs.clone(),
                sizes: vec![Size::Pages(frames)],
                page_bytes: 4096,
                read: graven_trace::ReadOptions::default(),
                accesses: None,
                seed: 1,
                threads: 0,
            };
            let runs = simulation.run(&mut |_| ControlFlow::Continue(()))?;
            for (one, run) in scored[first..].iter_mut().zip(runs) {
                one.frames = frames;
                one.simulated_accesses = run.accesses;
                one.simulated_hits = run.hits;
            }
        }
        Ok(scored)
    }

    /// Applies the streams to a copy of the database.
    fn live(
        &self,
        loaded: &Path,
        folder: &Path,
        (spec, bytes): (&str, u64),
        record: Option<&Path>,
    ) -> Result<Scored, LabError> {
        let copy = folder.join("applied.graven");
        std::fs::copy(loaded, &copy).map_err(LabError::io(&copy, "copying"))?;
        let mut config = Config::default();
        config.memory = bytes;
        spec.clone_into(&mut config.policy);
        config.threads = 1;
        config.attach = false;
        let db = Database::open(&copy, config)?;
        let settings = updates::Settings {
            writers: self.writers,
            readers: self.readers,
            memory: bytes,
            options: TransactionOptions::default().durability(Durability::Off),
        };
        let cache = db.cache()?;
        let recording = record.map(|_| Recording::start(cache, 1, RECORDED_MAX));
        let before = cache.stats().per_kind;
        let applied = updates::apply_streams(&db, &self.data, &settings);
        let applied = applied.map_err(LabError::Setting)?;
        let stats = cache.stats();
        if let (Some(recording), Some(path)) = (recording, record) {
            write(path, &recording.finish())?;
        }
        let pages = stats.per_kind.since(&before).total();
        db.close()?;
        drop(db);
        for end in ["", "-wal", "-tmp", "-warm"] {
            let mut name = copy.clone().into_os_string();
            name.push(end);
            let _ = std::fs::remove_file(name);
        }
        Ok(Scored {
            policy: spec.to_owned(),
            memory_bytes: bytes,
            transactions: applied.operations as u64,
            calm: applied.calm,
            accesses: pages.accesses(),
            hits: pages.hits,
            blocked: pages.blocked,
            frames: stats.resident_pages,
            simulated_accesses: 0,
            simulated_hits: 0,
        })
    }
}

/// Writes what was recorded as a trace, the transaction as the query of each access.
fn write(
    path: &Path,
    accesses: &[graven::pagecache::record::RecordedAccess],
) -> Result<(), LabError> {
    let header = Header {
        page_bytes: 0,
        sampling: 1,
        kinds: Vec::new(),
        files: vec![FileRow {
            id: 0,
            name: "applied.graven".to_owned(),
        }],
    };
    let mut writer = Writer::create(path, &header)?;
    for access in accesses {
        writer.push(&Access {
            page: u64::from(access.file) << 48 | access.unit,
            query: access.query,
            thread: access.thread,
            kind: 0,
            flags: 0,
        })?;
    }
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: on the update streams of the smallest LDBC graph every transaction is counted, live
    /// and simulated, with the score and without; and what is no policy is refused at once.
    #[test]
    fn update_streams_are_counted_with_and_without_the_score() {
        let shared = std::env::var_os("GRAVEN_SHARED").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
            PathBuf::from,
        );
        let data = shared.join("data/ldbc-snb-tiny");
        if !data.is_dir() {
            eprintln!("SKIPPED: {} is missing; set GRAVEN_SHARED", data.display());
            return;
        }
        let scratch = tempfile::tempdir().expect("a folder");
        let mut request = Transactions {
            data,
            memory: vec![32 << 20],
            policies: vec!["lru".to_owned()],
            running: 32,
            writers: 4,
            readers: 2,
            scratch: scratch.path().to_path_buf(),
        };
        let go_on = &mut |_: &str, _, _| ControlFlow::Continue(());
        let scored = request.run(go_on).expect("a run");
        let names: Vec<&str> = scored.iter().map(|one| one.policy.as_str()).collect();
        assert_eq!(names, ["lru", "lru:running=32"]);
        for one in &scored {
            assert_eq!(one.transactions, 6_920);
            assert!(0 < one.calm && one.calm <= one.transactions, "{one:?}");
            assert!(one.hits > one.accesses / 2, "{one:?}");
            assert!(one.hits < one.accesses, "{one:?}");
            assert!(one.simulated_hits > one.simulated_accesses / 2, "{one:?}");
            assert_eq!(one.simulated_accesses, scored[0].simulated_accesses);
        }
        request.policies = vec!["lur".to_owned()];
        let refused = request.run(go_on).expect_err("no policy").to_string();
        assert!(refused.contains("did you mean \"lru\"?"), "{refused}");
    }
}
