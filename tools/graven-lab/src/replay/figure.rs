//! The figure of a replay: throughput and hit ratio against threads.

use super::Replayed;
use crate::figure::{Axis, Figure, Panel, Series, Shape};

/// Throughput and hit ratio against threads, a row of panels for each cache size and I/O mode.
#[must_use]
pub fn figure(name: &str, runs: &[Replayed]) -> Figure {
    let mut panels = Vec::new();
    for of_size in group(runs, |run| (run.cache_pages, run.io.clone())) {
        let threads: Vec<String> = group(&of_size, |run| run.threads)
            .iter()
            .map(|of| of[0].threads.to_string())
            .collect();
        let place = |run: &Replayed| {
            threads
                .iter()
                .position(|t| *t == run.threads.to_string())
                .unwrap_or(0) as f64
        };
        let series = |value: fn(&Replayed) -> (f64, f64)| -> Vec<Series> {
            let by_policy = group(&of_size, |run| run.policy.clone());
            let line = |of: &Vec<Replayed>| Series {
                name: of[0].policy.clone(),
                points: of.iter().map(|run| (place(run), value(run).0)).collect(),
                errors: of.iter().map(|run| value(run).1).collect(),
            };
            by_policy.iter().map(line).collect()
        };
        let first = &of_size[0];
        let title = format!("{}, {}", graven::format_bytes(first.cache_bytes), first.io);
        let panel = |what: &str, y: Axis, series| Panel {
            title: format!("{what}: {title}"),
            x: Axis::categories("threads", threads.clone()),
            y,
            shape: Shape::Lines,
            series,
        };
        panels.push(panel(
            "throughput",
            Axis::from_zero("thousand accesses a second"),
            series(|run| {
                let (mean, error) = run.speed();
                (mean / 1e3, error / 1e3)
            }),
        ));
        panels.push(panel(
            "hit ratio",
            Axis::linear("hit ratio"),
            series(Replayed::ratio),
        ));
    }
    Figure {
        name: name.to_owned(),
        title: format!(
            "Replay of {}",
            runs.first().map_or("", |run| run.trace.as_str())
        ),
        panels,
        columns: 2,
    }
}

/// Runs by a key, groups and members in order of appearance.
fn group<K: PartialEq>(runs: &[Replayed], key: impl Fn(&Replayed) -> K) -> Vec<Vec<Replayed>> {
    let mut groups: Vec<(K, Vec<Replayed>)> = Vec::new();
    for run in runs {
        let this = key(run);
        match groups.iter_mut().find(|(known, _)| *known == this) {
            Some((_, members)) => members.push(run.clone()),
            None => groups.push((this, vec![run.clone()])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}
