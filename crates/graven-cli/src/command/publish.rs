//! `graven publish`: sends a snapshot to object storage, once or again and again.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use graven::{Database, format_bytes};

use crate::argument;
use crate::failure::Failure;
use crate::interrupt::{self, SignalAction};
use crate::open::{Open, close};

/// How often a pause looks for a signal.
const LOOK: Duration = Duration::from_millis(100);

/// Publish an immutable snapshot to object storage, which `graven query URL`, `shell` and `serve`
/// read from there; only what changed since the last one is sent.
#[derive(Args, Debug)]
pub(crate) struct Publish {
    #[command(flatten)]
    open: Open,
    /// Where to: s3://BUCKET/PREFIX/, gs://BUCKET/PREFIX/, az://CONTAINER/PREFIX/ or
    /// file:///FOLDER/; credentials come from the environment
    url: String,
    /// Bytes of a chunk, a power of two from 1MiB to 64MiB [default: as the snapshot before, or
    /// 8MiB]
    #[arg(long, value_parser = argument::bytes, value_name = "SIZE")]
    chunk: Option<u64>,
    /// Publish again and again, with so long from one start to the next: 30s, 5min
    #[arg(long, value_parser = argument::time, value_name = "TIME")]
    every: Option<Duration>,
}

impl Publish {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let db = self.open.database()?;
        if let Some(every) = self.every {
            interrupt::react(SignalAction::Remember);
            interrupt::react_to_termination();
            self.again_and_again(&db, every)?;
        } else {
            self.once(&db)?;
        }
        close(&db)
    }

    fn once(&self, db: &Database) -> Result<(), Failure> {
        let begun = Instant::now();
        let done = db.publish(&self.url, self.chunk)?;
        let mut out = std::io::stdout().lock();
        let (url, checkpoint) = (&self.url, done.checkpoint);
        if done.unchanged {
            writeln!(out, "{url}: checkpoint {checkpoint} is there already")?;
            return Ok(());
        }
        writeln!(
            out,
            "{url}: checkpoint {checkpoint}, {} in {} chunks, of which {} were sent ({}) in {:.1} s",
            format_bytes(done.length),
            done.chunks,
            done.sent_chunks,
            format_bytes(done.sent_bytes),
            begun.elapsed().as_secs_f64()
        )?;
        Ok(())
    }

    /// The first one has to succeed; a later one that fails is told, and tried again in its turn.
    fn again_and_again(&self, db: &Database, every: Duration) -> Result<(), Failure> {
        let mut next = Instant::now();
        let mut first = true;
        while !interrupt::asked() {
            match self.once(db) {
                Err(failure) if first => return Err(failure),
                Err(failure) => _ = failure.report(),
                Ok(()) => {}
            }
            first = false;
            next = (next + every).max(Instant::now());
            while Instant::now() < next && !interrupt::asked() {
                std::thread::sleep(LOOK.min(next - Instant::now().min(next)));
            }
        }
        Ok(())
    }
}
