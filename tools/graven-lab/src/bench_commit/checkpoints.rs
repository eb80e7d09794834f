//! What a checkpoint costs the clients that commit while it runs.
//!
//! # How it works
//! Each round first changes nodes all over the file, so that a checkpoint has something to fold.
//! Then clients commit for a while without a checkpoint and for a while during checkpoints; which
//! comes first changes from round to round.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use graven::{Database, Params, TransactionOptions};
use serde::Serialize;

use super::report::{median, percentile_us};
use super::{CommitBench, Run, Slice, Workload};
use crate::LabError;

const NODES: i64 = 100_000;
const LOAD: &str =
    "UNWIND range($from, $to) AS i CREATE (:Item {number: i, name: 'item ' + i, weight: i})";
const CHANGE: &str = "MATCH (i:Item) WHERE i.number % 40 = $rest SET i.weight = i.weight + 1";

/// Latency of commits with and without a checkpoint.
#[derive(Clone, Debug, Serialize)]
pub struct CheckpointMeasurement {
    /// Threads that commit.
    pub clients: usize,
    /// Median over the rounds of the median latency in microseconds without a checkpoint, and
    /// during one.
    pub p50_us: (f64, f64),
    /// The same of the 99th percentile.
    pub p99_us: (f64, f64),
    /// Median over the rounds of p99 during a checkpoint against without.
    pub p99_ratio: f64,
    /// Median over the rounds of commits a second during checkpoints against without.
    pub rate_ratio: f64,
    /// Checkpoints of all rounds.
    pub checkpoints: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
}

impl CommitBench {
    /// Measures so many clients with and without checkpoints.
    ///
    /// # Errors
    /// As [`CommitBench::run`].
    pub fn checkpoints(&self, clients: usize) -> Result<CheckpointMeasurement, LabError> {
        let folder = self.folder()?;
        let database = self.database(folder.path())?;
        let connection = database.connect();
        for from in (0..NODES).step_by(10_000) {
            let params = Params::new().with("from", from).with("to", from + 9_999);
            connection.query(LOAD, &params)?;
        }
        database.checkpoint()?;
        let run = Run::new(
            Workload::Single,
            self.operations,
            TransactionOptions::default(),
        );
        let (mut rounds, mut checkpoints, mut written) = (Vec::new(), 0, 0);
        for number in 0..self.rounds {
            let rest = Params::new().with("rest", (number % 40) as i64);
            connection.query(CHANGE, &rest)?;
            let quiet = || run.measure(&database, clients, self.slice);
            let mut busy = || {
                let (slice, made, bytes) = self.during(&database, &run, clients)?;
                (checkpoints, written) = (checkpoints + made, written + bytes);
                Ok::<_, LabError>(slice)
            };
            rounds.push(if number % 2 == 0 {
                let quiet = quiet()?;
                (quiet, busy()?)
            } else {
                let busy = busy()?;
                (quiet()?, busy)
            });
        }
        let of = |value: &dyn Fn(&(Slice, Slice)) -> f64| {
            median(&rounds.iter().map(value).collect::<Vec<_>>())
        };
        let rate = |slice: &Slice| slice.transactions as f64 / slice.seconds.max(1e-9);
        Ok(CheckpointMeasurement {
            clients,
            p50_us: (
                of(&|(quiet, _)| percentile_us(quiet, 0.5)),
                of(&|(_, busy)| percentile_us(busy, 0.5)),
            ),
            p99_us: (
                of(&|(quiet, _)| percentile_us(quiet, 0.99)),
                of(&|(_, busy)| percentile_us(busy, 0.99)),
            ),
            p99_ratio: of(&|(quiet, busy)| {
                percentile_us(busy, 0.99) / percentile_us(quiet, 0.99).max(1e-9)
            }),
            rate_ratio: of(&|(quiet, busy)| rate(busy) / rate(quiet).max(1e-9)),
            checkpoints,
            written_bytes: written,
        })
    }

    /// Commits while one checkpoint follows the other; how many, and what they wrote.
    fn during(
        &self,
        database: &Database,
        run: &Run,
        clients: usize,
    ) -> Result<(Slice, u64, u64), LabError> {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let keeper = scope.spawn(|| {
                let (mut made, mut bytes) = (0, 0);
                while !stop.load(Relaxed) {
                    if let Some(report) = database.checkpoint_paced()? {
                        made += 1;
                        bytes += report.written_bytes;
                    }
                }
                Ok::<_, LabError>((made, bytes))
            });
            let slice = run.measure(database, clients, self.slice);
            stop.store(true, Relaxed);
            let (made, bytes) = keeper.join().expect("the keeper does not panic")?;
            Ok((slice?, made, bytes))
        })
    }
}

impl fmt::Display for CheckpointMeasurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} clients, {} checkpoints ({} written): p50 {:.0} us without, {:.0} us during; p99 \
                {:.0} us without, \
             {:.0} us during, {:.2} times; {:.2} of the commits a second",
            self.clients,
            self.checkpoints,
            graven::format_bytes(self.written_bytes),
            self.p50_us.0,
            self.p50_us.1,
            self.p99_us.0,
            self.p99_us.1,
            self.p99_ratio,
            self.rate_ratio
        )
    }
}
