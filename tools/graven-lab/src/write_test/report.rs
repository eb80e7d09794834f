//! What a write-test prints: the guide's fields, the distribution of the sync, the kernel beside
//! it, and the verdict on three runs.

use std::fmt;

use graven_wal::HistogramView;
use serde::Serialize;

use super::kernel::Sample;
use super::{Count, StoreAccess, WriteTest};
use crate::LabError;

const MB: f64 = (1 << 20) as f64;
/// More time per record than this, and scaling is called broken.
const LINEAR_MAX: f64 = 2.0;
/// Rows of the table of samples in a printed report.
const ROWS: usize = 12;

/// Times of the sync in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct SyncTimes {
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Longest.
    pub max_us: f64,
    /// Share of the run spent in them: 0 to 1.
    pub share: f64,
}

/// What a run measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How the store was accessed.
    pub access: StoreAccess,
    /// The same in words.
    pub access_text: String,
    /// Threads that took transactions.
    pub clients: usize,
    /// How the log was forced: `fdatasync`, `fsync`, `o-dsync`, `o-sync`; with what else was asked
    /// of it.
    pub log_text: String,
    /// Seed of sizes and places.
    pub seed: u64,
    /// Transactions.
    pub tx_count: u64,
    /// Records in all of them.
    pub records: u64,
    /// Syncs of the log.
    pub fdatasyncs: u64,
    /// MB (2^20 bytes) read from the store.
    pub read_mb: f64,
    /// MB written to log and store.
    pub written_mb: f64,
    /// Seconds of all transactions.
    pub seconds: f64,
    /// Seconds after them to write what was kept back.
    pub finish_seconds: f64,
    /// Transactions a second.
    pub tx_per_second: f64,
    /// Records a second.
    pub records_per_second: f64,
    /// Syncs a second.
    pub fdatasyncs_per_second: f64,
    /// kB (1024 bytes) read a second.
    pub read_kb_per_second: f64,
    /// kB written a second.
    pub written_kb_per_second: f64,
    /// Times of the sync.
    pub sync: SyncTimes,
    /// Most pages that waited to be written by the kernel.
    pub dirty_pages_max: u64,
    /// Most pages on their way to the disk.
    pub writeback_pages_max: u64,
    /// MB that all processes wrote to the store's disk during the run and its end.
    pub disk_written_mb: f64,
    /// The kernel's counters beside the run.
    pub samples: Vec<Sample>,
}

impl WriteTest {
    /// How the log is written, in words.
    fn log_text(&self) -> String {
        if self.access == StoreAccess::Own {
            return "graven-wal".to_owned();
        }
        let mut text = self.log_sync.name().to_owned();
        let with = [
            (self.preallocate, ", preallocated"),
            (self.mirror.is_some(), ", mirrored"),
            (self.sequential, ", records in order"),
        ];
        with.iter()
            .filter(|(is_set, _)| *is_set)
            .for_each(|(_, words)| text.push_str(words));
        text
    }
}

impl Report {
    pub(super) fn new(
        test: &WriteTest,
        access_text: String,
        count: Count,
        seconds: f64,
        finish_seconds: f64,
        syncs: &HistogramView,
        samples: Vec<Sample>,
    ) -> Report {
        let rate = |value: f64| value / seconds.max(1e-9);
        let us = |ns: u64| ns as f64 / 1000.0;
        Report {
            access: test.access,
            access_text,
            clients: test.clients,
            log_text: test.log_text(),
            seed: test.seed,
            tx_count: test.tx_count,
            records: count.records,
            fdatasyncs: count.syncs,
            read_mb: count.read_bytes as f64 / MB,
            written_mb: count.written_bytes as f64 / MB,
            seconds,
            finish_seconds,
            tx_per_second: rate(test.tx_count as f64),
            records_per_second: rate(count.records as f64),
            fdatasyncs_per_second: rate(count.syncs as f64),
            read_kb_per_second: rate(count.read_bytes as f64 / 1024.0),
            written_kb_per_second: rate(count.written_bytes as f64 / 1024.0),
            sync: SyncTimes {
                mean_us: syncs.mean() / 1000.0,
                p50_us: us(syncs.percentile(0.5)),
                p99_us: us(syncs.percentile(0.99)),
                max_us: us(syncs.max()),
                share: rate(syncs.sum() as f64 / 1e9).min(1.0),
            },
            dirty_pages_max: samples.iter().map(|s| s.dirty_pages).max().unwrap_or(0),
            writeback_pages_max: samples.iter().map(|s| s.writeback_pages).max().unwrap_or(0),
            disk_written_mb: samples
                .last()
                .map_or(0.0, |s| s.written_kib as f64 / 1024.0),
            samples,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "tx_count[{}] records[{}] fdatasyncs[{}] read[{:.5} MB] wrote[{:.5} MB]",
            self.tx_count, self.records, self.fdatasyncs, self.read_mb, self.written_mb
        )?;
        writeln!(f, "Time was: {:.3}", self.seconds)?;
        writeln!(
            f,
            "{:.2} tx/s, {:.1} records/s, {:.2} fdatasyncs/s, {:.2} kB/s on reads, {:.2} kB/s on \
                writes",
            self.tx_per_second,
            self.records_per_second,
            self.fdatasyncs_per_second,
            self.read_kb_per_second,
            self.written_kb_per_second
        )?;
        if self.fdatasyncs > 0 {
            writeln!(
                f,
                "sync: p50 {:.0} us, p99 {:.0} us, longest {:.0} us, {:.0} % of the time",
                self.sync.p50_us,
                self.sync.p99_us,
                self.sync.max_us,
                self.sync.share * 100.0
            )?;
        }
        writeln!(f, "store: {}", self.access_text)?;
        writeln!(f, "log: {}; {} clients", self.log_text, self.clients)?;
        if self.finish_seconds > 0.001 {
            writeln!(
                f,
                "writing what was kept back took {:.3} s more",
                self.finish_seconds
            )?;
        }
        writeln!(
            f,
            "kernel: at most {} dirty pages, {} in write-back; {:.1} MB went to the disk, {:.1} \
                times what the test wrote",
            self.dirty_pages_max,
            self.writeback_pages_max,
            self.disk_written_mb,
            self.disk_written_mb / self.written_mb.max(1e-9)
        )?;
        self.table(f)
    }
}

impl Report {
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.samples.len() < 4 {
            return Ok(());
        }
        writeln!(f, "   second    dirty  write-back  MB out  iowait")?;
        let step = self.samples.len().div_ceil(ROWS);
        for sample in self.samples.iter().step_by(step) {
            writeln!(
                f,
                "{:9.1} {:8} {:11} {:7.1} {:6.0}%",
                sample.seconds,
                sample.dirty_pages,
                sample.writeback_pages,
                sample.written_kib as f64 / 1024.0,
                sample.iowait * 100.0
            )?;
        }
        Ok(())
    }
}

/// The guide's three runs and what they say about scaling.
#[derive(Clone, Debug, Serialize)]
pub struct Canonical {
    /// 100 transactions of 100 to 500 records, 10 of 1,000 to 5,000, 100 of 1,000 to 5,000.
    pub runs: [Report; 3],
    /// Records of the third run per record of the second.
    pub work_ratio: f64,
    /// Time of the third run per time of the second.
    pub time_ratio: f64,
    /// Whether time grew like work.
    pub linear: bool,
}

impl Canonical {
    /// Runs the three tests with the settings of `base`.
    ///
    /// # Errors
    /// As [`WriteTest::run`].
    pub fn run(base: &WriteTest) -> Result<Canonical, LabError> {
        let run = |tx_min, tx_max, tx_count| {
            WriteTest {
                record_bytes: 33,
                tx_min,
                tx_max,
                tx_count,
                ..base.clone()
            }
            .run()
        };
        let runs = [
            run(100, 500, 100)?,
            run(1000, 5000, 10)?,
            run(1000, 5000, 100)?,
        ];
        Ok(Canonical::judge(runs))
    }

    fn judge(runs: [Report; 3]) -> Canonical {
        // What was kept back is part of the price.
        let time = |run: &Report| (run.seconds + run.finish_seconds).max(1e-9);
        let work_ratio = runs[2].records as f64 / runs[1].records.max(1) as f64;
        let time_ratio = time(&runs[2]) / time(&runs[1]);
        Canonical {
            runs,
            work_ratio,
            time_ratio,
            linear: time_ratio <= work_ratio * LINEAR_MAX,
        }
    }
}

impl fmt::Display for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for run in &self.runs {
            writeln!(f, "{run}")?;
        }
        let verdict = if self.linear {
            "linear: nothing but the test's own writes went to the disk"
        } else {
            "not linear: look at dirty pages and write-back above; `graven doctor` says what may \
                be changed"
        };
        writeln!(
            f,
            "{:.1}x the work took {:.1}x the time: {verdict}",
            self.work_ratio, self.time_ratio
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(records: u64, seconds: f64) -> Report {
        let count = Count {
            records,
            ..Count::default()
        };
        let test = WriteTest::new("s", "l");
        let syncs = HistogramView::default();
        Report::new(
            &test,
            String::new(),
            count,
            seconds,
            0.0,
            &syncs,
            Vec::new(),
        )
    }

    #[test]
    fn the_guides_own_figures_are_judged_as_it_does() {
        let bad = Canonical::judge([run(30_759, 4.973), run(24_511, 0.792), run(308_814, 65.115)]);
        assert!(!bad.linear);
        assert!(
            bad.to_string()
                .contains("12.6x the work took 82.2x the time: not linear")
        );
        let good = Canonical::judge([run(30_759, 4.973), run(24_511, 0.792), run(265_624, 6.781)]);
        assert!(good.linear && good.to_string().contains("linear"));
    }
}
