//! `graven bench commit`: what a transaction costs, beside what the disk asks for it.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use graven::Durability;
use graven_lab::bench_commit::{CommitBench, Matrix, Workload};

use crate::argument;
use crate::command::write_test::print;
use crate::failure::Failure;

/// Measure what a transaction costs, beside what the disk asks for it.
#[derive(Args, Debug)]
#[command(
    after_help = "Makes a database of its own in a folder inside DIR and removes it. Put DIR on \
        the disk that databases live on. \
Each round also lets as many threads write the same bytes durably without any database: only the \
ratio of both \
in one round says something about Graven, everything else is the disk."
)]
pub(crate) struct Commit {
    /// Folder in which the database is made
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Numbers of clients
    #[arg(long, value_delimiter = ',', default_value = "1,8",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    clients: Vec<u16>,
    /// When a commit is acknowledged: full, relaxed (with the time: relaxed:50ms), off
    #[arg(long, value_delimiter = ',', default_value = "full", value_parser = argument::durability)]
    durability: Vec<Durability>,
    /// What a transaction does
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "single,large,unwind"
    )]
    workload: Vec<Kind>,
    /// Operations of a large transaction, rows of an UNWIND
    #[arg(long, default_value_t = 1000)]
    operations: u64,
    /// Rounds of which the median is taken
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Seconds of each half of a round
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// Memory budget of the database
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "256MiB")]
    memory: u64,
    /// Settings of the system, and all durabilities, against small and large transactions, as two
    /// tables
    #[arg(long)]
    matrix: bool,
    /// With --matrix: change each setting, as root, in an ext4 file system of its own inside DIR
    #[arg(long, requires = "matrix")]
    apply: bool,
    /// How long opening takes with so much log to recover, beside reading that log (60 MB at most)
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, num_args = 0..=1,
          default_missing_value = "40MiB", require_equals = true, conflicts_with_all = ["matrix", "reader", "checkpoints"])]
    recovery: Option<u64>,
    /// What a writer at full speed leaves to a reader beside it
    #[arg(long, conflicts_with_all = ["matrix", "checkpoints"])]
    reader: bool,
    /// Latency of commits during checkpoints and without
    #[arg(long, conflicts_with = "matrix")]
    checkpoints: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Single,
    Large,
    Unwind,
}

impl Kind {
    fn workload(self) -> Workload {
        match self {
            Kind::Single => Workload::Single,
            Kind::Large => Workload::Large,
            Kind::Unwind => Workload::Unwind,
        }
    }
}

impl Commit {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if !self.seconds.is_finite() || self.seconds <= 0.0 {
            return Err(Failure::usage("--seconds is more than 0"));
        }
        if self.recovery == Some(0) {
            return Err(Failure::usage("--recovery is more than 0 bytes of log"));
        }
        let bench = CommitBench {
            directory: self.directory.clone(),
            memory: self.memory,
            operations: self.operations,
            rounds: self.rounds,
            slice: Duration::from_secs_f64(self.seconds),
        };
        if let Some(bytes) = self.recovery {
            for kind in &self.workload {
                let measured = bench.recovery(kind.workload(), bytes);
                print(self.json, &measured.map_err(Failure::failed)?)?;
            }
            return Ok(());
        }
        if self.reader {
            return print(self.json, &bench.reader().map_err(Failure::failed)?);
        }
        if self.checkpoints {
            for &clients in &self.clients {
                let measured = bench.checkpoints(usize::from(clients));
                print(self.json, &measured.map_err(Failure::failed)?)?;
            }
            return Ok(());
        }
        if self.matrix {
            let settings = bench.settings(self.apply, &mut |what| {
                eprintln!("{what}");
                Ok(())
            });
            print(self.json, &settings.map_err(Failure::failed)?)?;
        }
        let durabilities = match self.matrix {
            true => vec![
                Durability::Full,
                Durability::Relaxed(Duration::from_millis(100)),
                Durability::Off,
            ],
            false => self.durability.clone(),
        };
        let mut matrix = Matrix::default();
        for &durability in &durabilities {
            for &clients in &self.clients {
                for kind in &self.workload {
                    let measured = bench
                        .run(kind.workload(), usize::from(clients), durability)
                        .map_err(Failure::failed)?;
                    if self.json {
                        let text = serde_json::to_string(&measured).map_err(Failure::failed)?;
                        writeln!(std::io::stdout().lock(), "{text}")?;
                    } else if self.matrix {
                        eprint!("{measured}");
                    } else {
                        print(false, &measured)?;
                    }
                    matrix.measurements.push(measured);
                }
            }
        }
        match self.matrix && !self.json {
            true => print(false, &matrix),
            false => Ok(()),
        }
    }
}
