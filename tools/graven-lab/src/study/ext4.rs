//! Write throughput on ext4: small and large transactions, the log's share, settings of the system,
//! a mirrored log.
//!
//! # How it works
//! The article's figures are operations a second on a hard disk of 2013; ours are those of this
//! machine's disk, so quotients are compared, not speeds. Settings of the system are changed only
//! if the report was asked to ([`Study::apply`]), and then in a file system of its own.

use std::time::Duration;

use graven::Durability;

use super::{Page, Section, Study, StudyProgress, Table, Verdict, shown};
use crate::bench_commit::settings::{BASE, Settings};
use crate::bench_commit::{CommitBench, Transactions};
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::statistics::{self, Claim, Interval, Standing};
use crate::write_test::{WriteTest, prepare};

pub(super) const PARTS: [&str; 3] = ["transactions", "settings", "mirror"];
/// The article's five rounds before anything was changed: 1,000 transactions, one of 1,000
/// operations.
const ORIGINAL: [(f64, f64); 5] = [
    (22.62, 18.26),
    (19.82, 18.25),
    (18.38, 17.93),
    (20.22, 17.82),
    (18.53, 17.84),
];
/// Rows of the article beside ours: what was set, its two figures, our row.
const ORIGINAL_SETTINGS: [(&str, f64, f64, &str); 10] = [
    ("as found, median of 5", 19.82, 17.93, BASE),
    ("write cache off", 20.62, 21.00, ""),
    ("write cache on again", 21.76, 16.86, ""),
    ("noatime", 20.43, 19.15, "noatime,nodiratime"),
    ("barrier=0, too", 299.31, 347.22, "barrier=0"),
    ("no journal, too", 367.78, 381.24, "no journal, barrier=0"),
    (
        "dirty ratios 80/80, too",
        377.07,
        444.25,
        "dirty limits 80/80",
    ),
    ("first scheduler", 61.86, 61.84, "scheduler bfq"),
    ("second scheduler", 338.52, 363.37, "scheduler mq-deadline"),
    ("third scheduler", 344.23, 441.11, "scheduler none"),
];
const ALL_OF_THEM: &str = "all: no journal, barrier=0, noatime, 80/80, none";
const MIB: u64 = 1 << 20;

pub(super) fn page(study: &Study, tell: StudyProgress<'_>) -> Result<Page, LabError> {
    let (operations, rounds) = if study.quick { (100, 3) } else { (1_000, 7) };
    let bench = CommitBench {
        directory: study.scratch.clone(),
        memory: 128 * MIB,
        operations,
        rounds,
        slice: Duration::from_millis(200),
    };
    let mut page = Page {
        title: "Write throughput on ext4, once more".to_owned(),
        lead:
            "The article of 2013 asked why small transactions were slow on a Linux server, found \
            the sync of the log, and tried settings of the system one by \
               one. Here is its test on Graven, on this machine's disk. Its speeds are those of a \
               hard disk; quotients are what can be compared."
                .to_owned(),
        ..Page::default()
    };
    if study.wants(&["transactions"]) {
        tell(&format!(
            "{operations} transactions of one operation against one of {operations}"
        ))?;
        let measured = bench.transactions(Durability::Full)?;
        transactions(&mut page, &measured);
    }
    if study.wants(&["settings"]) {
        let settings = bench.settings(study.apply, tell)?;
        self::settings(&mut page, &settings);
    }
    if study.wants(&["mirror"]) {
        mirror(&mut page, study, tell)?;
    }
    Ok(page)
}

fn transactions(page: &mut Page, measured: &Transactions) {
    let columns = [
        "round",
        "transactions of 1",
        "1 transaction",
        "the disk's floor",
        "article: of 1",
        "article: 1",
    ];
    let mut table = Table::new(
        &format!("Operations a second, {} operations", measured.operations),
        &columns,
    );
    let two = |value: f64| format!("{value:.2}");
    for (at, round) in measured.rounds.iter().enumerate() {
        let original = ORIGINAL.get(at);
        let cell = |value: Option<f64>| value.map_or("-".to_owned(), two);
        table.rows.push(vec![
            (at + 1).to_string(),
            two(round.small),
            two(round.large),
            two(round.floor),
            cell(original.map(|pair| pair.0)),
            cell(original.map(|pair| pair.1)),
        ]);
    }
    let (small, large) = (measured.median(|r| r.small), measured.median(|r| r.large));
    let floor = measured.median(|r| r.floor);
    for (name, of, original) in [
        ("median", [small.0, large.0, floor.0], ["19.82", "17.93"]),
        (
            "standard deviation",
            [small.1, large.1, floor.1],
            ["1.71", "0.22"],
        ),
    ] {
        let mut row = vec![name.to_owned()];
        row.extend(of.map(two));
        row.extend(original.map(str::to_owned));
        table.rows.push(row);
    }
    let bar = |name: &str, of: (f64, f64)| Series {
        name: name.to_owned(),
        points: vec![(0.0, of.0)],
        errors: vec![of.1],
    };
    let panel = |title: &str, series| Panel {
        title: title.to_owned(),
        x: Axis::from_zero("operations a second"),
        shape: Shape::Bars,
        series,
        ..Panel::default()
    };
    let names = [
        format!("{} x 1", measured.operations),
        format!("1 x {}", measured.operations),
    ];
    page.push(
        "transactions",
        Section {
            title: "Small transactions and one large one".to_owned(),
            text: vec![format!(
                "An operation creates two nodes with properties and a relationship with one. Each \
                    round does {n} transactions of one operation, one of {n}, the small ones \
                 again, and durable raw writes of a small transaction's bytes: the floor. Bars: \
                 medians; lines on them: standard deviations.",
                n = measured.operations
            )],
            figures: vec![Figure {
                name: "transactions".to_owned(),
                title: "Operations a second, small transactions and a large one".to_owned(),
                panels: vec![
                    panel(
                        "here",
                        vec![
                            bar(&names[0], small),
                            bar(&names[1], large),
                            bar("the disk's floor", floor),
                        ],
                    ),
                    panel(
                        "the article, a hard disk of 2013",
                        vec![
                            bar("original: 1000 x 1", (19.82, 1.71)),
                            bar("original: 1 x 1000", (17.93, 0.22)),
                        ],
                    ),
                ],
                columns: 2,
            }],
            tables: vec![table],
            ..Section::default()
        },
    );
    page.exhibit(
        "transactions",
        "initial performance",
        "1,000 small transactions and one of 1,000 operations, five times",
        "median 19.82 and 17.93, standard deviation 1.71 and 0.22",
        format!(
            "median {:.2} and {:.2}, standard deviation {:.2} and {:.2} operations a second",
            small.0, large.0, small.1, large.1
        ),
    );
    page.exhibit(
        "transactions",
        "introduction",
        "bytes of log of a small transaction",
        "447 bytes",
        format!(
            "{} bytes; the large transaction {}",
            measured.log_bytes_small, measured.log_bytes_large
        ),
    );
    let smalls = measured.column(|r| r.small);
    let band = statistics::noise_band(&smalls, &measured.column(|r| r.again));
    let ratio = statistics::ratio(&measured.column(|r| r.large), &smalls);
    page.verdicts.push(
        Verdict::timed(
            "One large transaction does no more operations a second than small ones (here: within \
                two thirds and one and a half)",
            statistics::judge(Claim::Within(0.67, 1.5), ratio, band),
            format!(
                "Operations a second of the large transaction by those of the small ones: {}.",
                shown(ratio, band)
            ),
        )
        .of("transactions", "initial performance", "17.93 against 19.82"),
    );
    let waited = statistics::mean(&measured.column(|r| r.waited_share));
    page.verdicts.push(
        Verdict::timed(
            "The sync of the log takes most of the time of small transactions (here: more than \
                half)",
            statistics::judge(Claim::Above(0.5), waited, Some(1.0)),
            format!(
                "Share of their time spent waiting for the log: {}.",
                shown(waited, Some(1.0))
            ),
        )
        .of("transactions", "introduction", "no numbers"),
    );
    page.summary.push(format!(
        "{:.0} small operations a second against {:.0} in one transaction; the disk itself \
            acknowledges {:.0} durable writes of a small transaction's bytes a second.",
        small.0, large.0, floor.0
    ));
}

fn settings(page: &mut Page, measured: &Settings) {
    let mut table = Table::new(
        &format!(
            "Operations a second: {n} transactions of one operation, one of {n}",
            n = measured.operations
        ),
        &[
            "setting",
            "in force here",
            "small",
            "large",
            "small, against ext4's",
            "can lose",
        ],
    );
    for row in &measured.rows {
        let rate = |rounds: &[f64]| {
            statistics::mean(rounds)
                .map_or("not changed".to_owned(), |mean| format!("{:.0}", mean.mean))
        };
        table.rows.push(vec![
            row.name.clone(),
            row.now.clone(),
            rate(&row.small),
            rate(&row.large),
            shown(measured.ratio(&row.name, BASE), measured.noise_band),
            row.loses.to_owned(),
        ]);
    }
    let mut original = Table::new(
        "The article's rows, small and large transactions",
        &[
            "setting, one after the other",
            "small",
            "large",
            "against as found",
            "our row",
        ],
    );
    for (name, small, large, row) in ORIGINAL_SETTINGS {
        original.rows.push(vec![
            name.to_owned(),
            format!("{small:.2}"),
            format!("{large:.2}"),
            format!("{:.2}", small / ORIGINAL_SETTINGS[0].1),
            if row.is_empty() { "-" } else { row }.to_owned(),
        ]);
    }
    let of_all = measured.rows.iter().filter(|row| !row.small.is_empty());
    let bar = |row: &crate::bench_commit::settings::SettingRow| {
        let interval = measured.ratio(&row.name, BASE)?;
        Some(Series {
            name: row.name.chars().take(28).collect(),
            points: vec![(0.0, interval.mean)],
            errors: vec![(interval.high - interval.low) / 2.0],
        })
    };
    let ours: Vec<Series> = of_all.filter_map(bar).collect();
    let theirs = ORIGINAL_SETTINGS.map(|(name, small, ..)| {
        let name = format!("original: {name}");
        Series::new(name, vec![(0.0, small / ORIGINAL_SETTINGS[0].1)])
    });
    let panel = |title: &str, series| Panel {
        title: title.to_owned(),
        x: Axis::from_zero("times as fast as before"),
        shape: Shape::Bars,
        series,
        ..Panel::default()
    };
    let mut panels = vec![panel("the article", theirs.to_vec())];
    let applied = !ours.is_empty();
    if applied {
        panels.insert(0, panel("here", ours));
    }
    page.push(
        "settings",
        Section {
            title: "Settings of the system (the article's table)".to_owned(),
            text: vec![
                match applied {
                    true => "Every row below the first is an ext4 file system of its own, in a \
                        file on this machine's disk, made anew for each round; rows take turns. \
                        None of the \
                             dangerous rows is advice."
                        .to_owned(),
                    false => {
                        "Nothing was changed: the rows say what is in force. With --apply, as \
                        root, each is measured in an ext4 file system of its own."
                            .to_owned()
                    }
                },
                "Graven writes its log directly and syncs it, so limits of dirty pages and access \
                    times do not touch it; barriers are what makes a commit durable."
                    .to_owned(),
            ],
            figures: vec![Figure {
                name: "settings".to_owned(),
                title: "Small transactions by settings of the system".to_owned(),
                panels,
                columns: 2,
            }],
            tables: vec![table, original],
            ..Section::default()
        },
    );
    page.exhibit(
        "settings",
        "table of settings",
        "operations a second by setting",
        "noatime 20.43, barrier=0 299.31, no journal 367.78, 80/80 377.07, schedulers 61.86, \
            338.52, 344.23",
        listed_rows(measured),
    );
    for (claim, source, numbers, pair, asked) in CLAIMS {
        let interval = measured.ratio(pair.0, pair.1);
        let verdict = match interval {
            Some(_) => {
                let standing = statistics::judge(asked, interval, measured.noise_band);
                let why = format!(
                    "Small transactions, `{}` against `{}`: {}.",
                    pair.0,
                    pair.1,
                    shown(interval, measured.noise_band)
                );
                Verdict::timed(claim, standing, why)
            }
            None => Verdict::not_testable(
                claim,
                "Nothing was changed, or the kernel does not offer it: --apply, as root, tries it \
                    in a file system of its own.",
            ),
        };
        page.verdicts.push(verdict.of("settings", source, numbers));
    }
    page.verdicts.push(
        Verdict::not_testable(
            "Turning the drive's write cache off changes little",
            "A virtual disk has no drive cache to turn off; the row `write cache: kernel told \
                there is none` changes what the kernel believes.",
        )
        .of("settings", "check write cache", "20.62 and 21.00"),
    );
}

/// Claim, place, numbers, the two rows, what is asked of their quotient.
type RowClaim = (
    &'static str,
    &'static str,
    &'static str,
    (&'static str, &'static str),
    Claim,
);

const CLAIMS: [RowClaim; 6] = [
    (
        "noatime does not change it (here: within a fifth)",
        "add noatime",
        "20.43 against 19.82",
        ("noatime,nodiratime", BASE),
        Claim::Within(0.8, 1.25),
    ),
    (
        "Without barriers small transactions are many times faster (here: five times)",
        "journaling options",
        "299.31 against 20.43: 15 times",
        ("barrier=0", BASE),
        Claim::Above(5.0),
    ),
    (
        "Without the journal they are faster still",
        "disable journal",
        "367.78 against 299.31",
        ("no journal, barrier=0", "barrier=0"),
        Claim::Above(1.0),
    ),
    (
        "Higher limits of dirty pages help",
        "paging options",
        "377.07 against 367.78",
        ("dirty limits 80/80", BASE),
        Claim::Above(1.0),
    ),
    (
        "The fair scheduler is the slowest by far (cfq then, bfq now; here: by a quarter)",
        "check I/O scheduler",
        "61.86 against 344.23",
        ("scheduler bfq", "scheduler none"),
        Claim::Below(0.8),
    ),
    (
        "All settings together make small transactions 15 to 17 times faster, 5 to 9 times on an \
            SSD (here: five times)",
        "final results",
        "356.76 and 410.93, deviation 13.19 and 18.42",
        (ALL_OF_THEM, BASE),
        Claim::Above(5.0),
    ),
];

fn listed_rows(measured: &Settings) -> String {
    let rows = measured.rows.iter().filter(|row| !row.small.is_empty());
    let each = rows.map(|row| {
        let mean = row.small.iter().sum::<f64>() / row.small.len() as f64;
        format!("{} {mean:.0}", row.name)
    });
    super::listed(each)
}

/// A log and its mirror, written at the same time.
fn mirror(page: &mut Page, study: &Study, tell: StudyProgress<'_>) -> Result<(), LabError> {
    let folder = tempfile::tempdir_in(&study.scratch)
        .map_err(LabError::io(&study.scratch, "making a folder"))?;
    let store = folder.path().join("store");
    prepare(&store, 16 * MIB)?;
    let (transactions, rounds) = if study.quick { (50, 3) } else { (400, 7) };
    let test = WriteTest {
        tx_count: transactions,
        ..WriteTest::new(&store, folder.path().join("log"))
    };
    let mirrored = WriteTest {
        mirror: Some(folder.path().join("mirror")),
        ..test.clone()
    };
    let (mut alone, mut both, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        tell(&format!("a mirrored log: round {round} of {rounds}"))?;
        alone.push(test.run()?.tx_per_second);
        both.push(mirrored.run()?.tx_per_second);
        again.push(test.run()?.tx_per_second);
    }
    let band = statistics::noise_band(&alone, &again);
    let ratio = statistics::ratio(&both, &alone);
    let bar = |name: &str, rounds: &[f64]| {
        let Interval { low, mean, high } = statistics::mean(rounds).unwrap_or(Interval {
            low: f64::NAN,
            mean: f64::NAN,
            high: f64::NAN,
        });
        Series {
            name: name.to_owned(),
            points: vec![(0.0, mean)],
            errors: vec![(high - low) / 2.0],
        }
    };
    page.push(
        "mirror",
        Section {
            title: "What mirroring costs".to_owned(),
            text: vec![
                "The write test with one log, and with a second file that gets every byte and is \
                    forced at the same time, as a RAID of mirrors does. Both files lie on one \
                 disk here, so this is the most it may cost."
                    .to_owned(),
            ],
            figures: vec![Figure {
                name: "mirror".to_owned(),
                title: "Transactions a second with one log and with a mirrored one".to_owned(),
                panels: vec![Panel {
                    x: Axis::from_zero("transactions a second"),
                    shape: Shape::Bars,
                    series: vec![bar("one log", &alone), bar("mirrored log", &both)],
                    ..Panel::default()
                }],
                columns: 1,
            }],
            ..Section::default()
        },
    );
    let standing: Standing = statistics::judge(Claim::Above(0.8), ratio, band);
    page.verdicts.push(
        Verdict::timed(
            "Mirroring does not significantly cost performance (here: not a fifth)",
            standing,
            format!(
                "Transactions a second with a mirror as a part of those without: {}.",
                shown(ratio, band)
            ),
        )
        .of("mirror", "check write cache", "no numbers"),
    );
    Ok(())
}
