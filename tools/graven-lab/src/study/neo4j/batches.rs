//! LRU by the number of hits that a thread hands over at once (BP-Wrapper): what a batch saves, and
//! what it costs in hits.

use graven::IoMode;

use super::{SIZES, WARM_UP, setting};
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::replay::{Replayed, Stage};
use crate::study::{Section, Study, StudyProgress, Table};

const BATCHES: [u32; 5] = [1, 4, 16, 32, 64];
const PROTOCOLS: [&str; 2] = ["batched", "combining"];
const THREADS: [usize; 2] = [1, 2];

fn policy(protocol: &str, batch: u32) -> String {
    format!("lru:protocol={protocol},batch={batch}")
}

/// Plays the pins by every protocol and batch, with one thread and with two.
pub(super) fn replays(
    study: &Study,
    stage: &Stage,
    tell: StudyProgress<'_>,
) -> Result<Vec<Replayed>, LabError> {
    let accesses = if study.quick { 30_000 } else { 200_000 };
    let part = stage.first(WARM_UP + accesses);
    let mut settings = Vec::new();
    for protocol in PROTOCOLS {
        for batch in BATCHES {
            settings.extend(THREADS.map(|threads| {
                setting(
                    policy(protocol, batch),
                    SIZES[1],
                    threads,
                    IoMode::Buffered,
                    accesses,
                )
            }));
        }
    }
    study.replay(&part, &settings, "batches", tell)
}

fn of<'a>(
    runs: &'a [Replayed],
    protocol: &str,
    batch: u32,
    threads: usize,
) -> Option<&'a Replayed> {
    let name = policy(protocol, batch);
    runs.iter()
        .find(|run| run.policy == name && run.threads == threads)
}

pub(super) fn section(runs: &[Replayed]) -> Section {
    let labels: Vec<String> = BATCHES.iter().map(ToString::to_string).collect();
    let panel = |title: &str, y: Axis, value: fn(&Replayed) -> (f64, f64)| Panel {
        title: title.to_owned(),
        x: Axis::categories("hits in a batch", labels.clone()),
        y,
        shape: Shape::Lines,
        series: PROTOCOLS
            .iter()
            .flat_map(|protocol| THREADS.map(|threads| (*protocol, threads)))
            .map(|(protocol, threads)| {
                let points = BATCHES.iter().enumerate().map(|(at, &batch)| {
                    let run = of(runs, protocol, batch, threads);
                    let (mean, error) = run.map_or((f64::NAN, 0.0), value);
                    ((at as f64, mean), error)
                });
                let (points, errors) = points.unzip();
                Series {
                    name: format!(
                        "{protocol}, {threads} thread{}",
                        if threads == 1 { "" } else { "s" }
                    ),
                    points,
                    errors,
                }
            })
            .collect(),
    };
    let mut table = Table::new(
        "LRU by batch, 32 MiB, buffered reads",
        &[
            "protocol",
            "hits in a batch",
            "threads",
            "k/s",
            "hit ratio",
            "dropped",
        ],
    );
    for protocol in PROTOCOLS {
        for batch in BATCHES {
            for run in THREADS.iter().filter_map(|&n| of(runs, protocol, batch, n)) {
                table.rows.push(vec![
                    protocol.to_owned(),
                    batch.to_string(),
                    run.threads.to_string(),
                    format!("{:.0}", run.speed().0 / 1e3),
                    format!("{:.4}", run.ratio().0),
                    run.hits_dropped.to_string(),
                ]);
            }
        }
    }
    Section {
        title: "Batches of hits (BP-Wrapper) and flat combining, by size".to_owned(),
        text: vec![
            "A thread keeps its hits and hands them over at once under the list's lock. Batched: \
                where the lock is taken, they are dropped. Combining: the \
             thread that has the lock takes over what the others left."
                .to_owned(),
            crate::study::ROUNDS_IN_TURN.to_owned(),
        ],
        figures: vec![Figure {
            name: "batches".to_owned(),
            title: "LRU by the number of hits handed over at once, 32 MiB, buffered \
                reads"
                .to_owned(),
            panels: vec![
                panel(
                    "throughput",
                    Axis::from_zero("thousand accesses a second"),
                    |run| {
                        let (mean, error) = run.speed();
                        (mean / 1e3, error / 1e3)
                    },
                ),
                panel("hit ratio", Axis::linear("hit ratio"), Replayed::ratio),
            ],
            columns: 2,
        }],
        tables: vec![table],
        ..Section::default()
    }
}

pub(super) fn finding(runs: &[Replayed]) -> String {
    let speed = |batch| of(runs, "batched", batch, 2).map_or(f64::NAN, |run| run.speed().0 / 1e3);
    format!(
        "two threads: {:.0} thousand accesses a second with a batch of 1, {:.0} with 64",
        speed(1),
        speed(64)
    )
}
