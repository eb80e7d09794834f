//! The guide's three runs, mapped and by Graven's means: whether time grows like work, and the
//! kernel's pages beside them.

use super::{Files, WAYS};
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::statistics::{self, Claim};
use crate::study::{Page, Section, StudyProgress, Table, Verdict, shown};
use crate::write_test::kernel::Sample;
use crate::write_test::{Canonical, Report, WriteTest};

/// The guide's runs: transactions, records, seconds; the last after its limits of dirty pages were
/// raised.
const ORIGINAL: [(&str, u64, f64); 4] = [
    ("100 of 100-500", 30_759, 4.973),
    ("10 of 1k-5k", 24_511, 0.792),
    ("100 of 1k-5k", 308_814, 65.115),
    ("the same, dirty limits raised", 265_624, 6.781),
];
/// More time for the work than this, and the guide calls it not linear.
const LINEAR: f64 = 2.0;
const PAGE_KIB: f64 = 4.0;

/// Rounds of the three runs by the ways of [`WAYS`].
pub(super) struct Measured {
    rounds: Vec<[Canonical; 2]>,
}

pub(super) fn measure(files: &Files, tell: StudyProgress<'_>) -> Result<Measured, LabError> {
    let mut rounds = Vec::new();
    for round in 1..=files.rounds {
        let mut run = |at: usize| {
            tell(&format!(
                "three runs, {}: round {round} of {}",
                WAYS[at].0, files.rounds
            ))?;
            let test = WriteTest {
                access: WAYS[at].1,
                ..files.test()
            };
            // As the guide does before it looks at the counters: what the other way left behind is
            // written first.
            let failed = LabError::io(&test.store, "syncing");
            std::fs::File::open(&test.store)
                .and_then(|store| store.sync_all())
                .map_err(failed)?;
            Canonical::run(&test)
        };
        rounds.push([run(0)?, run(1)?]);
    }
    Ok(Measured { rounds })
}

impl Measured {
    fn of(&self, way: usize) -> impl Iterator<Item = &Canonical> {
        self.rounds.iter().map(move |round| &round[way])
    }

    /// Time by work of the third run against the second, round by round.
    fn growth(&self, way: usize) -> Vec<f64> {
        self.of(way)
            .map(|one| one.time_ratio / one.work_ratio.max(1e-9))
            .collect()
    }

    fn third(&self, way: usize, of: fn(&Report) -> f64) -> Vec<f64> {
        self.of(way).map(|one| of(&one.runs[2])).collect()
    }
}

fn mean(rounds: &[f64]) -> f64 {
    rounds.iter().sum::<f64>() / rounds.len().max(1) as f64
}

pub(super) fn canonical(page: &mut Page, measured: &Measured) {
    let mut table = Table::new(
        "The three runs, means of the rounds",
        &[
            "run",
            "store",
            "records",
            "seconds",
            "tx/s",
            "records/s",
            "sync p50, us",
            "p99, us",
            "MB to the disk",
            "the guide: records/s",
        ],
    );
    for (at, (name, records, seconds)) in ORIGINAL[..3].iter().enumerate() {
        for (way, (way_name, _)) in WAYS.iter().enumerate() {
            let of = |value: fn(&Report) -> f64| {
                let all: Vec<f64> = measured.of(way).map(|one| value(&one.runs[at])).collect();
                mean(&all)
            };
            table.rows.push(vec![
                (*name).to_owned(),
                (*way_name).to_owned(),
                format!("{:.0}", of(|r| r.records as f64)),
                format!("{:.3}", of(|r| r.seconds)),
                format!("{:.1}", of(|r| r.tx_per_second)),
                format!("{:.0}", of(|r| r.records_per_second)),
                format!("{:.0}", of(|r| r.sync.p50_us)),
                format!("{:.0}", of(|r| r.sync.p99_us)),
                format!("{:.1}", of(|r| r.disk_written_mb)),
                format!("{:.0}", *records as f64 / seconds),
            ]);
        }
    }
    let labels: Vec<String> = ORIGINAL[..3]
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect();
    let mut series: Vec<Series> = WAYS
        .iter()
        .enumerate()
        .map(|(way, (name, _))| {
            let (points, errors) = (0..3)
                .map(|at| {
                    let rounds: Vec<f64> = measured
                        .of(way)
                        .map(|one| one.runs[at].records_per_second)
                        .collect();
                    let half = statistics::mean(&rounds).map_or(0.0, |i| (i.high - i.low) / 2.0);
                    ((at as f64, mean(&rounds)), half)
                })
                .unzip();
            Series {
                name: (*name).to_owned(),
                points,
                errors,
            }
        })
        .collect();
    let speeds = |rows: &[(usize, usize)]| {
        let each = rows.iter().map(|&(at, row)| {
            let (_, records, seconds) = ORIGINAL[row];
            (at as f64, records as f64 / seconds)
        });
        each.collect::<Vec<_>>()
    };
    series.push(Series::new(
        "original: defaults",
        speeds(&[(0, 0), (1, 1), (2, 2)]),
    ));
    series.push(Series::new("original: limits raised", speeds(&[(2, 3)])));
    page.push(
        "canonical",
        Section {
            title: "The three runs, and whether they are linear".to_owned(),
            text: vec![format!(
                "Records of 33 bytes at random places. The third run has ten times the \
                    transactions of the second; more than {LINEAR} times the time per record is \
                    not \
                 linear. With Graven's means changed pages stay in memory and their changes in the \
                 log, as between two checkpoints."
            )],
            figures: vec![Figure {
                name: "canonical".to_owned(),
                title: "Records a second in the guide's three runs".to_owned(),
                panels: vec![Panel {
                    x: Axis::categories("transactions of records", labels),
                    y: Axis::log("records a second"),
                    shape: Shape::Lines,
                    series,
                    ..Panel::default()
                }],
                columns: 1,
            }],
            tables: vec![table],
            ..Section::default()
        },
    );
    let growth = [0, 1].map(|way| measured.growth(way));
    let intervals = growth.each_ref().map(|rounds| statistics::mean(rounds));
    page.exhibit(
        "canonical",
        "running the benchmark",
        "the three runs, seconds",
        "4.973, 0.792 and 65.115; 6.781 with limits raised",
        format!(
            "mapped {}; Graven's means {}",
            seconds(measured, 0),
            seconds(measured, 1)
        ),
    );
    page.verdicts.push(
        Verdict::timed(
            "With the kernel's defaults the mapped store does not scale: ten times the work takes \
                far more than ten times the time (here: twice that)",
            statistics::judge(Claim::Above(LINEAR), intervals[0], Some(1.0)),
            format!(
                "Mapped: time by work of the third run against the second \
                {}.",
                shown(intervals[0], Some(1.0))
            ),
        )
        .of(
            "canonical",
            "running the \
            benchmark",
            "65.115 s against 0.792 s for 12.6 times the records",
        ),
    );
    page.verdicts.push(
        Verdict::timed(
            "If the kernel does not write pages back, time grows like work",
            statistics::judge(Claim::Below(LINEAR), intervals[1], Some(1.0)),
            format!(
                "Graven's means, which leave no dirty pages to the kernel: {}.",
                shown(intervals[1], Some(1.0))
            ),
        )
        .of(
            "canonical",
            "fixing the problem",
            "6.781 s for 10.8 times the records",
        ),
    );
}

fn seconds(measured: &Measured, way: usize) -> String {
    let each = (0..3).map(|at| {
        let all: Vec<f64> = measured.of(way).map(|one| one.runs[at].seconds).collect();
        format!("{:.3}", mean(&all))
    });
    each.collect::<Vec<_>>().join(", ")
}

pub(super) fn series(page: &mut Page, measured: &Measured) {
    let Some(last) = measured.rounds.last() else {
        return;
    };
    let mib = |pages: u64| pages as f64 * PAGE_KIB / 1024.0;
    let panel = |title: &str, y: &str, value: &dyn Fn(&Sample) -> f64| Panel {
        title: title.to_owned(),
        x: Axis::from_zero("seconds of the third run"),
        y: Axis::from_zero(y),
        shape: Shape::Lines,
        series: WAYS
            .iter()
            .zip(last)
            .map(|((name, _), canonical)| {
                let samples = &canonical.runs[2].samples;
                let points = samples.iter().map(|s| (s.seconds, value(s))).collect();
                Series::new(*name, points)
            })
            .collect(),
    };
    let most = |way: usize, of: fn(&Report) -> f64| {
        measured.third(way, of).into_iter().fold(0.0, f64::max)
    };
    let mut vmstat = Table::new(
        "What the kernel did beside the third run of the last round (as vmstat's columns)",
        &[
            "store",
            "second",
            "nr_dirty",
            "nr_writeback",
            "bo, KiB so far",
            "flushes so far",
            "wa, %",
        ],
    );
    for ((name, _), canonical) in WAYS.iter().zip(last) {
        let samples = &canonical.runs[2].samples;
        for sample in samples.iter().step_by(samples.len().div_ceil(10).max(1)) {
            vmstat.rows.push(vec![
                (*name).to_owned(),
                format!("{:.2}", sample.seconds),
                sample.dirty_pages.to_string(),
                sample.writeback_pages.to_string(),
                sample.written_kib.to_string(),
                sample.flushes.map_or("-".to_owned(), |n| n.to_string()),
                format!("{:.0}", sample.iowait * 100.0),
            ]);
        }
    }
    page.push(
        "series",
        Section {
            title: "Dirty pages, write-back and blocks out beside the run".to_owned(),
            text: vec![
                "The kernel's counters, ten times a second, of the whole machine: other programs' \
                    pages are in them, too."
                    .to_owned(),
            ],
            figures: vec![Figure {
                name: "series".to_owned(),
                title: "The kernel beside the third run: mapped writes and Graven's".to_owned(),
                panels: vec![
                    panel("dirty pages", "MiB", &|s| mib(s.dirty_pages)),
                    panel("pages in write-back", "MiB", &|s| mib(s.writeback_pages)),
                    panel("written to the disk so far", "MiB", &|s| {
                        s.written_kib as f64 / 1024.0
                    }),
                    panel(
                        "waiting for the disk",
                        "% of the processors' \
                        time",
                        &|s| s.iowait * 100.0,
                    ),
                ],
                columns: 2,
            }],
            tables: vec![vmstat],
            ..Section::default()
        },
    );
    page.exhibit(
        "series",
        "vmstat and /proc/vmstat",
        "dirty pages and write-back beside the third run",
        "nr_dirty 22 before, 124,947 in it; nr_writeback 232; bo about 10,600 KiB a second",
        format!(
            "most of nr_dirty {:.0} mapped and {:.0} with Graven's means, of nr_writeback {:.0} \
                and {:.0}",
            most(0, |r| r.dirty_pages_max as f64),
            most(1, |r| r.dirty_pages_max as f64),
            most(0, |r| r.writeback_pages_max as f64),
            most(1, |r| r.writeback_pages_max as f64)
        ),
    );
    let risen = |way: usize| -> Vec<f64> {
        // From before the first run: pages that it changed are still dirty in the third.
        let of = |one: &Canonical| {
            let first = one.runs[0].samples.first().map_or(0, |s| s.dirty_pages);
            let most = one.runs.iter().map(|run| run.dirty_pages_max).max();
            most.unwrap_or(0).saturating_sub(first) as f64 + 1.0
        };
        measured.of(way).map(of).collect()
    };
    let ratio = statistics::ratio(&risen(0), &risen(1));
    page.verdicts.push(
        Verdict::timed(
            "Random writes to a mapped store pile up dirty pages of the kernel (here: four times \
                those beside Graven's means)",
            statistics::judge(Claim::Above(4.0), ratio, Some(1.0)),
            format!(
                "Rise of nr_dirty from before the first run, mapped by Graven's: {}.",
                shown(ratio, Some(1.0))
            ),
        )
        .of("series", "/proc/vmstat", "22 to 124,947 pages"),
    );
    page.summary.push(format!(
        "In the three runs nr_dirty rises by {:.0} pages with the mapped store and by {:.0} with \
            Graven's means.",
        mean(&risen(0)),
        mean(&risen(1))
    ));
}

/// Passes over the store.
pub(super) fn reads(page: &mut Page, files: &Files) {
    let prepared = &files.prepared;
    let mut table = Table::new(
        &format!(
            "Making and reading {}",
            graven::format_bytes(prepared.bytes)
        ),
        &["pass", "seconds", "MB/s", "the guide: MB/s"],
    );
    let theirs = ["4.0", "27.1", "688", "1,400"];
    let passes = std::iter::once(&prepared.write).chain(&prepared.reads);
    for (at, pass) in passes.enumerate() {
        let name = match at {
            0 => "write random bytes and sync".to_owned(),
            at => format!("read, {at}"),
        };
        table.rows.push(vec![
            name,
            format!("{:.3}", pass.seconds),
            format!("{:.0}", pass.mb_per_second),
            theirs.get(at).map_or("-", |text| text).to_owned(),
        ]);
    }
    let speeds: Vec<String> = prepared
        .reads
        .iter()
        .map(|pass| format!("{:.0}", pass.mb_per_second))
        .collect();
    page.exhibit(
        "reads",
        "setup",
        "reading the store until it is cached, MB/s",
        "27.1, 688, 1,400",
        speeds.join(", "),
    );
    page.push(
        "reads",
        Section {
            title: "The store, read until it is cached".to_owned(),
            text: vec![
                "The store has just been written, so its first pass comes from memory here."
                    .to_owned(),
            ],
            tables: vec![table],
            ..Section::default()
        },
    );
}
