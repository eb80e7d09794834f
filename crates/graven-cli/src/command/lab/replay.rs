//! `graven lab replay`: a trace or workload on the real cache.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use graven::IoMode;
use graven::pagecache::pools::Pools;
use graven_lab::replay::{self, EvictorChoice, Replayed, Reserve, Setting, Source, Stage};
use graven_lab::simulate::Size;
use graven_lab::workload::Workload;

use super::options::{self, Reading};
use super::output::Output;
use crate::failure::Failure;
use crate::policy_list;

/// Play a trace or a synthetic workload on the real cache, with threads and real reads.
#[derive(Args, Debug)]
#[command(
    after_help = "A cache has pages of 4 KiB to 128 MiB, in doublings. The pages are written to a \
        file in --dir, which is removed afterwards. Every combination of policies, sizes, threads \
        and \
I/O modes is a run: a part of the accesses warms the cache, the rest is measured.

Examples:
  graven lab replay --trace neo4j-snb-mix.u64.zst --size 16MiB,32MiB --policy \
  random,gclock,lru:protocol=locked --threads 1,2,4
  graven lab replay --workload zipf:pages=20000,alpha=0.9 --size 10% --policy lru --io direct \
  --seconds 5
  graven lab replay --trace oltp.u64.zst --size 4096 --policy graven --evictor synchronous   # \
  equals graven lab simulate"
)]
pub(crate) struct Replay {
    /// Trace file, in any format that `graven lab simulate` reads
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "workload",
        conflicts_with = "workload"
    )]
    trace: Option<PathBuf>,
    /// Synthetic workload, as `graven lab gen` knows them
    #[arg(long)]
    workload: Option<Workload>,
    /// Accesses: of a workload, or at most of a trace
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    accesses: u64,
    /// Policies with their protocols; may be repeated
    #[arg(long = "policy", value_name = "POLICY", default_value = graven::DEFAULT_POLICY, value_parser = policy_list::checked)]
    policies: Vec<String>,
    /// Fixed pools instead of one budget for pages of all sizes, for comparison
    #[arg(long, value_name = "static:SIZE=PERCENT,...")]
    pools: Option<Pools>,
    /// Cache sizes: pages, shares of the pages (10%) or bytes (16MiB)
    #[arg(
        long = "size",
        value_name = "SIZE",
        required = true,
        value_delimiter = ','
    )]
    sizes: Vec<Size>,
    /// Thread counts
    #[arg(long, value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Vec<u16>,
    /// I/O modes: direct, buffered
    #[arg(long, value_delimiter = ',', default_value = "direct")]
    io: Vec<IoMode>,
    /// Which thread evicts: background, cooperative, synchronous (as the simulator)
    #[arg(long, default_value = "background")]
    evictor: EvictorChoice,
    /// When the background evictor starts and ends: shares of the frames that are free
    #[arg(long, value_name = "LOW,HIGH", value_parser = reserve, default_value = "0.0078125,0.0208333")]
    reserve: Reserve,
    #[command(flatten)]
    reading: Reading,
    /// Share of the accesses that warm the cache
    #[arg(long, value_name = "0..1", default_value_t = 0.2)]
    warm_up: f64,
    /// Measure this long, in turns over the accesses [default: every access once]
    #[arg(long)]
    seconds: Option<f64>,
    /// Do not verify pages when they are read
    #[arg(long)]
    no_verify: bool,
    /// Folder for the file of pages
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = ".",
        hide_default_value = true
    )]
    dir: PathBuf,
    /// Seed of workload and policies
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

impl Replay {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let limit = usize::try_from(self.accesses).map_err(Failure::failed)?;
        let source = match (&self.trace, &self.workload) {
            (Some(trace), _) => Source::Trace(trace.clone(), self.reading.options()),
            (None, Some(workload)) => Source::Workload(workload.clone(), limit, self.seed),
            (None, None) => return Err(Failure::usage("give --trace or --workload")),
        };
        let stage = Stage::new(&source, self.reading.page_size, limit, &self.dir)?;
        let settings = self.settings(&stage)?;
        let runs = options::with_bar(|report| replay::play_all(&stage, &settings, report))?;
        let figures = || vec![replay::figure("replay", &runs)];
        self.output
            .deliver("replay", &runs, figures, |out| table(out, &runs))
    }

    fn settings(&self, stage: &Stage) -> Result<Vec<Setting>, Failure> {
        let time = match self.seconds.map(Duration::try_from_secs_f64).transpose() {
            Ok(time) => time,
            Err(error) => return Err(Failure::usage(format!("--seconds: {error}"))),
        };
        let policies = options::policies(&self.policies);
        let mut settings = Vec::new();
        for io in &self.io {
            for size in &self.sizes {
                let cache_pages = size.pages(stage.unique(), stage.page_bytes())? as u64;
                for policy in &policies {
                    settings.extend(self.threads.iter().map(|threads| Setting {
                        policy: policy.clone(),
                        pools: self.pools.clone(),
                        cache_pages,
                        threads: usize::from(*threads),
                        io: (*io).into(),
                        evictor: self.evictor,
                        reserve: self.reserve,
                        warm_up: self.warm_up,
                        time,
                        verify: !self.no_verify,
                        seed: self.seed,
                    }));
                }
            }
        }
        Ok(settings)
    }
}

fn table(out: &mut dyn Write, runs: &[Replayed]) -> std::io::Result<()> {
    let width = options::width(runs.iter().map(|run| run.policy.as_str()));
    writeln!(
        out,
        "{:<width$} {:>8} {:>7} {:<8} {:>12} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>11}",
        "policy",
        "pages",
        "threads",
        "io",
        "accesses/s",
        "hit ratio",
        "simulated",
        "p50 us",
        "p99 us",
        "lock waits",
        "waited s",
        "device MiB"
    )?;
    for run in runs {
        let simulated = run
            .simulated_hit_ratio
            .map_or("-".to_owned(), |ratio| format!("{ratio:.4}"));
        writeln!(
            out,
            "{:<width$} {:>8} {:>7} {:<8} {:>12.0} {:>9.4} {simulated:>9} {:>9.2} {:>9.1} {:>10} \
                {:>10.2} {:>11.1}",
            run.policy,
            run.cache_pages,
            run.threads,
            run.io,
            run.accesses_per_second,
            run.hit_ratio,
            run.p50_us,
            run.p99_us,
            run.lock_waits,
            run.wait_seconds,
            run.device_read_bytes as f64 / f64::from(1 << 20)
        )?;
    }
    Ok(())
}

/// Reads `LOW,HIGH`.
fn reserve(text: &str) -> Result<Reserve, String> {
    let expected = || {
        format!(
            "`{text}`: expected two shares, LOW,HIGH, with 0 <= LOW <= HIGH <= {}",
            Reserve::HIGH_MAX
        )
    };
    let (low, high) = text.split_once(',').ok_or_else(expected)?;
    let share = |text: &str| text.trim().parse::<f64>().map_err(|_| expected());
    let reserve = Reserve {
        low: share(low)?,
        high: share(high)?,
    };
    let is_sound =
        0.0 <= reserve.low && reserve.low <= reserve.high && reserve.high <= Reserve::HIGH_MAX;
    is_sound.then_some(reserve).ok_or_else(expected)
}
