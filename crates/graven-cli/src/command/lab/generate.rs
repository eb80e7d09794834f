//! `graven lab gen`: synthetic traces.

use std::path::PathBuf;

use clap::Args;
use graven_import::{Progress, Unit};
use graven_lab::workload::{self, Workload};
use graven_trace::Header;
use graven_trace::graven::Writer;
use graven_trace::{FLAG_SCAN, raw};
use serde::Serialize;

use super::output::Output;
use crate::failure::Failure;
use crate::progress::ProgressReporter;

/// Write a synthetic trace: scan, loop, zipf, walk, bfs or mixed.
#[derive(Args, Debug)]
#[command(after_help = "Workloads with their keys and defaults:
  scan:pages=10000                           page after page, flagged as a scan
  loop:pages=10000                           the same, not flagged
  zipf:pages=10000,alpha=0.9                 pages by Zipf's law
  walk:pages=10000,length=8                  random walks in a graph
  bfs:pages=10000,hops=3,order=id            searches in a graph; order: id, alternating, discovery
  mixed:pages=10000,alpha=0.9,scans=0.1      point reads, friend lists, scans

A trace that ends in .gtrace[.zst] keeps scan flags and queries; one that ends in .u64.zst keeps \
the flags beside it.")]
pub(crate) struct Generate {
    /// What to generate, as kind:key=value,...
    workload: Workload,
    /// The trace to write: NAME.gtrace, NAME.gtrace.zst or NAME.u64.zst
    trace: PathBuf,
    /// Accesses
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    accesses: u64,
    /// Seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

/// What was written.
#[derive(Serialize)]
struct Written {
    trace: String,
    accesses: u64,
    unique: usize,
    scanned: u64,
    queries: u32,
}

impl Generate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let name = self.trace.to_string_lossy().into_owned();
        let own = name.ends_with(".gtrace")
            || name.ends_with(".gtrace.zst")
            || graven_trace::text::is_text(&self.trace);
        if !own && !name.ends_with(".u64.zst") {
            let message =
                format!("`{name}` ends in none of .gtrace, .gtrace.zst, .gtrace.csv and .u64.zst");
            return Err(Failure::usage(message));
        }
        let header = Header {
            sampling: 1,
            kinds: vec!["page".to_owned()],
            ..Header::default()
        };
        let mut writer = if own {
            Some(Writer::create(&self.trace, &header)?)
        } else {
            None
        };
        let (mut pages, mut flags) = (Vec::new(), Vec::new());
        let mut numbering = graven_trace::dense::Numbering::new();
        let mut written = Written {
            trace: name,
            accesses: self.accesses,
            unique: 0,
            scanned: 0,
            queries: 0,
        };
        let mut phases = ProgressReporter::new();
        let count = usize::try_from(self.accesses).map_err(Failure::failed)?;
        for (at, access) in self.workload.accesses(self.seed).take(count).enumerate() {
            written.scanned += u64::from(access.flags & FLAG_SCAN != 0);
            written.queries = access.query;
            numbering.index_of(access.page);
            match &mut writer {
                Some(writer) => {
                    writer.push(&access)?;
                    // Enough for the figure.
                    if at < 1 << 20 {
                        pages.push(access.page);
                    }
                }
                None => {
                    pages.push(access.page);
                    flags.push(access.flags);
                }
            }
            let progress = Progress {
                phase: "generating",
                done: at as u64,
                total: self.accesses,
                unit: Unit::Values,
            };
            if at % (1 << 16) == 0 && phases.show(progress).is_break() {
                return Err(Failure::failed("interrupted; the trace is cut off"));
            }
        }
        phases.finish();
        written.unique = numbering.unique();
        match writer {
            Some(writer) => {
                writer.finish()?;
            }
            None => {
                let trace = graven_trace::Trace {
                    pages: std::mem::take(&mut pages),
                    flags: flags.iter().any(|&f| f != 0).then_some(flags),
                    ..graven_trace::Trace::default()
                };
                raw::write(&self.trace, &trace)?;
                pages = trace.pages;
            }
        }
        let figures = || vec![workload::figure(&written.trace, &pages)];
        self.output.deliver("gen", &written, figures, |out| {
            writeln!(
                out,
                "{}: {} accesses to {} pages, {} of them scanned, {} queries",
                written.trace, written.accesses, written.unique, written.scanned, written.queries
            )
        })
    }
}
