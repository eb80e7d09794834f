//! `graven write-test`: what transactions cost on this disk, without any database.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use graven_lab::write_test::{Canonical, LogSync, StoreAccess, WriteTest, prepare};

use crate::argument;
use crate::failure::Failure;

/// Measure what transactions cost on this disk: read records at random, append to a log, force it,
/// write back.
#[derive(Args, Debug)]
#[command(
    after_help = "STORE is a large file of random bytes (make it with --prepare; its content is \
        changed), LOG is overwritten.\n\
Each transaction reads MIN to MAX records at random places of STORE, appends them to LOG, forces \
LOG and writes the\n\
records back. The store is mapped into memory unless --nomemorymap or --cache is given."
)]
pub(crate) struct WriteTestCommand {
    /// Large file whose records are read and written
    store: PathBuf,
    /// Log file
    log: PathBuf,
    /// Bytes of a record
    #[arg(default_value_t = 33)]
    record_size: usize,
    /// Fewest records of a transaction
    #[arg(default_value_t = 100)]
    min_tx: u64,
    /// Most records of a transaction
    #[arg(default_value_t = 500)]
    max_tx: u64,
    /// Transactions
    #[arg(default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    tx_count: u64,
    /// Do not force the log
    #[arg(long)]
    nosync: bool,
    /// Do not write the log
    #[arg(long)]
    nowritelog: bool,
    /// Do not write records back to the store
    #[arg(long)]
    nowritestore: bool,
    /// Do not read records from the store
    #[arg(long)]
    noread: bool,
    /// Read and write the store by calls instead of mapping it
    #[arg(long)]
    nomemorymap: bool,
    /// Use Graven's own I/O and log instead: direct reads, changed pages kept back until memory is
    /// full or a checkpoint
    #[arg(long, conflicts_with = "nomemorymap")]
    cache: bool,
    /// Memory for pages with --cache
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "256MiB")]
    memory: u64,
    /// With --cache, write what was kept back in one ordered pass when the run is over
    #[arg(long, requires = "cache")]
    checkpoint: bool,
    /// How the log reaches the disk: fdatasync, fsync, o-dsync, o-sync
    #[arg(long, value_name = "WAY", default_value = "fdatasync")]
    log_sync: LogSync,
    /// Write the whole log once before the run, so that it does not grow in it
    #[arg(long)]
    preallocate: bool,
    /// A second file that gets every byte of the log
    #[arg(long, value_name = "FILE")]
    mirror: Option<PathBuf>,
    /// Records follow each other instead of lying at random places
    #[arg(long)]
    sequential: bool,
    /// Threads that take transactions
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    clients: u16,
    /// First make STORE of random data and read it until it is cached
    #[arg(long)]
    prepare: bool,
    /// Size of STORE with --prepare
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "1000MiB")]
    size: u64,
    /// The guide's three runs and a verdict whether time grows like work
    #[arg(long, conflicts_with_all = ["record_size", "min_tx", "max_tx", "tx_count"])]
    canonical: bool,
    /// Seed of sizes and places
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl WriteTestCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let test = self.test();
        if self.prepare {
            let prepared = prepare(&self.store, self.size).map_err(Failure::failed)?;
            eprint!("{prepared}");
        }
        if self.canonical {
            let canonical = Canonical::run(&test).map_err(Failure::failed)?;
            return print(self.json, &canonical);
        }
        print(self.json, &test.run().map_err(Failure::failed)?)
    }

    fn test(&self) -> WriteTest {
        WriteTest {
            record_bytes: self.record_size,
            tx_min: self.min_tx,
            tx_max: self.max_tx,
            tx_count: self.tx_count,
            sync: !self.nosync,
            write_log: !self.nowritelog,
            write_store: !self.nowritestore,
            read: !self.noread,
            access: match (self.cache, self.nomemorymap) {
                (true, _) => StoreAccess::Own,
                (_, true) => StoreAccess::Positioned,
                _ => StoreAccess::Mapped,
            },
            memory_bytes: self.memory,
            checkpoint: self.checkpoint,
            log_sync: self.log_sync,
            preallocate: self.preallocate,
            mirror: self.mirror.clone(),
            sequential: self.sequential,
            clients: usize::from(self.clients),
            seed: self.seed,
            ..WriteTest::new(&self.store, &self.log)
        }
    }
}

/// Prints a report as text or as one JSON object.
pub(crate) fn print(
    json: bool,
    report: &(impl std::fmt::Display + serde::Serialize),
) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if json {
        let text = serde_json::to_string_pretty(report).map_err(Failure::failed)?;
        writeln!(out, "{text}")?;
    } else {
        write!(out, "{report}")?;
    }
    Ok(())
}
