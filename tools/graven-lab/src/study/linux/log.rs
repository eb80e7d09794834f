//! Ways to write and force the log: system calls, a log allocated beforehand, records in order.

use super::Files;
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::statistics::{self, Claim, Interval};
use crate::study::{Page, Section, StudyProgress, Table, Verdict, shown};
use crate::write_test::{LogSync, StoreAccess, WriteTest};

/// A variant of the guide's first run.
struct Variant {
    name: &'static str,
    test: WriteTest,
    speeds: Vec<f64>,
    sync_us: Vec<f64>,
}

const BASE: &str = "fdatasync, growing";

fn variants(files: &Files) -> Vec<Variant> {
    let base = WriteTest {
        tx_count: if files.quick { 60 } else { 400 },
        // The log alone, but where the store is named.
        read: false,
        write_store: false,
        ..files.test()
    };
    let of = |name, change: &dyn Fn(&mut WriteTest)| {
        let mut test = base.clone();
        change(&mut test);
        Variant {
            name,
            test,
            speeds: Vec::new(),
            sync_us: Vec::new(),
        }
    };
    vec![
        of(BASE, &|_| {}),
        of("fsync, growing", &|t| t.log_sync = LogSync::Fsync),
        of("O_DSYNC, growing", &|t| t.log_sync = LogSync::ODsync),
        of("O_SYNC, growing", &|t| t.log_sync = LogSync::OSync),
        of("fdatasync, preallocated", &|t| t.preallocate = true),
        of("O_DSYNC, preallocated", &|t| {
            (t.preallocate, t.log_sync) = (true, LogSync::ODsync);
        }),
        of("graven's log", &|t| t.access = StoreAccess::Own),
        of("with the store, mapped", &|t| {
            (t.read, t.write_store) = (true, true)
        }),
        of("with the store, records in order", &|t| {
            (t.read, t.write_store, t.sequential) = (true, true, true);
        }),
        of("with the store, by calls", &|t| {
            (t.read, t.write_store, t.access) = (true, true, StoreAccess::Positioned);
        }),
        of("no sync", &|t| t.sync = false),
        // The first once more: what the machine does by itself.
        of("fdatasync again", &|_| {}),
    ]
}

pub(super) fn add(page: &mut Page, files: &Files, tell: StudyProgress<'_>) -> Result<(), LabError> {
    let mut all = variants(files);
    for round in 1..=files.rounds {
        for variant in &mut all {
            tell(&format!(
                "the log: {}, round {round} of {}",
                variant.name, files.rounds
            ))?;
            let report = variant.test.run()?;
            variant.speeds.push(report.tx_per_second);
            variant.sync_us.push(report.sync.p50_us);
        }
    }
    let again = all.pop().map_or_else(Vec::new, |last| last.speeds);
    let band = statistics::noise_band(&all[0].speeds, &again);
    let mut table = Table::new(
        "Transactions of 100 to 500 records by how the log is written",
        &[
            "log",
            "tx/s",
            "sync p50, us",
            "against fdatasync of a growing log",
        ],
    );
    let mean = |rounds: &[f64]| statistics::mean(rounds).map_or(f64::NAN, |m| m.mean);
    for one in &all {
        table.rows.push(vec![
            one.name.to_owned(),
            format!("{:.0}", mean(&one.speeds)),
            format!("{:.0}", mean(&one.sync_us)),
            shown(statistics::ratio(&one.speeds, &all[0].speeds), band),
        ]);
    }
    let bar = |one: &Variant| {
        let half = statistics::mean(&one.speeds)
            .map_or(0.0, |Interval { low, high, .. }| (high - low) / 2.0);
        Series {
            name: one.name.to_owned(),
            points: vec![(0.0, mean(&one.speeds))],
            errors: vec![half],
        }
    };
    page.push(
        "log",
        Section {
            title: "Ways to write the log".to_owned(),
            text: vec![
                "The log of the guide's first run, without the store but where it is named, each \
                    variant in turn with the others. A log that grows makes every sync write the \
                    file system's metadata, too; one that was written \
                 before does not."
                    .to_owned(),
            ],
            figures: vec![Figure {
                name: "log".to_owned(),
                title: "Transactions a second by how the log is written".to_owned(),
                panels: vec![Panel {
                    x: Axis::from_zero("transactions a second"),
                    shape: Shape::Bars,
                    series: all
                        .iter()
                        .filter(|one| one.name != "no sync")
                        .map(bar)
                        .collect(),
                    ..Panel::default()
                }],
                columns: 1,
            }],
            tables: vec![table],
            ..Section::default()
        },
    );
    let of = |name: &str| {
        all.iter()
            .find(|one| one.name == name)
            .map_or(&[][..], |one| &one.speeds)
    };
    let preallocated = statistics::ratio(of("fdatasync, preallocated"), of(BASE));
    page.verdicts.push(
        Verdict::timed(
            "Writing to a log is the sequential part; what the disk is asked for besides decides \
                (here: a preallocated log is faster than a growing one)",
            statistics::judge(Claim::Above(1.0), preallocated, band),
            format!(
                "Transactions a second, preallocated by growing: \
                {}.",
                shown(preallocated, band)
            ),
        )
        .of("log", "running the benchmark", "no numbers"),
    );
    let forced = statistics::ratio(of(BASE), of("no sync"));
    page.verdicts.push(
        Verdict::timed(
            "The force of the log bounds small transactions (here: half of their speed without it)",
            statistics::judge(Claim::Below(0.5), forced, band),
            format!(
                "Transactions a second with the force by those without: {}.",
                shown(forced, band)
            ),
        )
        .of("log", "running the benchmark", "20.1 transactions a second"),
    );
    Ok(())
}
