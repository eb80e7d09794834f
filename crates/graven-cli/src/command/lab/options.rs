//! Options that several experiments share, and the bar they show.

use std::ops::ControlFlow;

use clap::Args;
use graven_import::{Progress, Unit};
use graven_trace::{Format, ReadOptions};

use crate::argument;
use crate::policy_list;
use crate::progress::ProgressReporter;

/// How traces are read.
#[derive(Args, Debug)]
pub(crate) struct Reading {
    /// Bytes of a page, for sizes in bytes and for traces of byte ranges
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "8KiB")]
    pub(crate) page_size: u64,
    /// Format of traces: u64, gtrace, text, oracleGeneral, csv, blkparse, msr, rocksdb [default: by
    /// name]
    #[arg(long)]
    format: Option<Format>,
    /// The column of page numbers, for text traces with several: its name, or its number from 1
    #[arg(long)]
    column: Option<String>,
}

impl Reading {
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format,
            page_bytes: self.page_size,
            column: self.column.clone(),
        }
    }
}

/// The policies that repeated and comma-separated arguments name.
pub(crate) fn policies(lists: &[String]) -> Vec<String> {
    let each = lists.iter().flat_map(|list| policy_list::names(list));
    each.collect()
}

/// Runs an experiment with a bar; it tells the phase, what is done of it and of how much, and is
/// told when to end.
pub(crate) fn with_bar<T>(
    run: impl FnOnce(&mut dyn FnMut(&str, u64, u64) -> ControlFlow<()>) -> T,
) -> T {
    let mut phases = ProgressReporter::new();
    let outcome = run(&mut |phase, done, total| {
        phases.show(Progress {
            phase,
            done,
            total,
            unit: Unit::Values,
        })
    });
    phases.finish();
    outcome
}

/// Width of a column of names.
pub(crate) fn width<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(str::len).max().unwrap_or(0).max(6)
}
