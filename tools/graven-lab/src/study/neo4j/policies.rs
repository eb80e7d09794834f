//! Every policy of the registry on Neo4j's pins: simulated, under threads, and the engine beside
//! the simulator.

use graven::IoMode;
use graven_pagecache::Reserve;

use super::{SIZES, TRACE, WARM_UP, setting};
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::replay::{EvictorChoice, Replayed, Setting, Stage};
use crate::simulate::Run;
use crate::study::{Section, Study, StudyProgress, Table, find};

/// Policies by what a hit does, so that a panel has few lines.
const FAMILIES: [(&str, &[&str]); 4] = [
    (
        "nothing or a bit",
        &[
            "random",
            "fifo",
            "clock",
            "sieve",
            "clockpro",
            "thesis-clockpro",
            "car",
        ],
    ),
    (
        "a count",
        &["gclock", "neo4j", "muninn", "history", "s3fifo", "graven"],
    ),
    (
        "a list",
        &["lru", "eviction-queue", "lfu", "slru", "s4lru-blog", "twoq"],
    ),
    (
        "lists with ghosts, stamps",
        &["arc", "lirs", "lruk", "mglru", "watt", "wtinylfu"],
    ),
];

/// Every policy and the optimum, one thread.
pub(super) fn simulate(study: &Study) -> Result<Vec<Run>, LabError> {
    let mut policies = crate::live_policies();
    policies.push("min".to_owned());
    let names: Vec<&str> = policies.iter().map(String::as_str).collect();
    study.simulate(TRACE, &names, &SIZES)
}

pub(super) fn section(runs: &[Run]) -> Section {
    let mut panels = Vec::new();
    let mut table = Table::new(
        "Hit ratio by policy, one thread, on the pins of four threads",
        &[
            "policy",
            "16 MiB",
            "32 MiB",
            "gap closed, 16 MiB",
            "gap closed, 32 MiB",
        ],
    );
    for pages in SIZES {
        let mut of_size: Vec<&Run> = runs
            .iter()
            .filter(|run| run.capacity_pages == pages)
            .collect();
        of_size.sort_by_key(|one| std::cmp::Reverse(one.hits));
        let bar = |run: &&Run| Series::new(run.policy.clone(), vec![(0.0, run.hit_ratio)]);
        panels.push(Panel {
            title: format!("{pages} pages of 8 KiB"),
            x: Axis::from_zero("hit ratio"),
            shape: Shape::Bars,
            series: of_size.iter().map(bar).collect(),
            ..Panel::default()
        });
    }
    for run in runs.iter().filter(|run| run.capacity_pages == SIZES[0]) {
        let cell = |pages, value: fn(&Run) -> String| {
            find(runs, &run.policy, pages).map_or(String::new(), value)
        };
        let gap = |run: &Run| {
            run.gap_closed
                .map_or("-".to_owned(), |gap| format!("{gap:.3}"))
        };
        table.rows.push(vec![
            run.policy.clone(),
            cell(SIZES[0], |run| format!("{:.4}", run.hit_ratio)),
            cell(SIZES[1], |run| format!("{:.4}", run.hit_ratio)),
            cell(SIZES[0], gap),
            cell(SIZES[1], gap),
        ]);
    }
    Section {
        title: "What the policies are worth without threads".to_owned(),
        text: vec![
            "All policies of the registry on the same accesses; gap closed is the share of the way \
                from Neo4j's clock to Belady's optimum."
                .to_owned(),
        ],
        figures: vec![Figure {
            name: "policies".to_owned(),
            title: "Every policy on Neo4j's recorded pins".to_owned(),
            panels,
            columns: 2,
        }],
        tables: vec![table],
        ..Section::default()
    }
}

pub(super) fn finding(runs: &[Run]) -> String {
    let mut of_size: Vec<&Run> = runs
        .iter()
        .filter(|run| run.capacity_pages == SIZES[1] && run.policy != "min")
        .collect();
    of_size.sort_by_key(|one| std::cmp::Reverse(one.hits));
    let ratio = |policy: &str| find(runs, policy, SIZES[1]).map_or(f64::NAN, |run| run.hit_ratio);
    let best = of_size.first().map_or("", |run| run.policy.as_str());
    format!(
        "Without threads, at 32 MiB, the best of {} policies is {best} with a hit ratio of {:.3}; \
            Neo4j's clock has {:.3}, Graven's own policy {:.3}, Belady's \
         optimum {:.3}.",
        of_size.len(),
        ratio(best),
        ratio("neo4j"),
        ratio("graven"),
        ratio("min")
    )
}

/// Every live policy with more and more threads, buffered reads.
pub(super) fn replays(
    study: &Study,
    stage: &Stage,
    tell: StudyProgress<'_>,
) -> Result<Vec<Replayed>, LabError> {
    let threads: &[usize] = if study.quick { &[1, 2] } else { &[1, 2, 4, 8] };
    let accesses = if study.quick { 20_000 } else { 150_000 };
    let part = stage.first(WARM_UP + accesses);
    let mut settings = Vec::new();
    for policy in crate::live_policies() {
        settings.extend(threads.iter().map(|&threads| {
            setting(
                policy.clone(),
                SIZES[1],
                threads,
                IoMode::Buffered,
                accesses,
            )
        }));
    }
    study.replay(&part, &settings, "every policy", tell)
}

/// Throughput and hit ratio of every policy against threads.
pub(super) fn threads_section(runs: &[Replayed]) -> Section {
    let mut counts: Vec<usize> = runs.iter().map(|run| run.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    let labels: Vec<String> = counts.iter().map(ToString::to_string).collect();
    let panel = |(family, members): &(&str, &[&str]),
                 what: &str,
                 y: Axis,
                 value: fn(&Replayed) -> (f64, f64)| {
        let line = |policy: &&str| {
            let of_policy = runs.iter().filter(|run| run.policy == *policy);
            let place = |threads| {
                counts
                    .iter()
                    .position(|&known| known == threads)
                    .unwrap_or(0)
            };
            let (points, errors) = of_policy
                .map(|run| {
                    let (mean, error) = value(run);
                    ((place(run.threads) as f64, mean), error)
                })
                .unzip();
            Series {
                name: (*policy).to_owned(),
                points,
                errors,
            }
        };
        Panel {
            title: format!("{what}; a hit costs {family}"),
            x: Axis::categories("threads", labels.clone()),
            y,
            shape: Shape::Lines,
            series: members.iter().map(line).collect(),
        }
    };
    let panels = FAMILIES.iter().flat_map(|family| {
        [
            panel(
                family,
                "throughput",
                Axis::from_zero("thousand accesses a second"),
                |run| {
                    let (mean, error) = run.speed();
                    (mean / 1e3, error / 1e3)
                },
            ),
            panel(
                family,
                "hit ratio",
                Axis::linear("hit ratio"),
                Replayed::ratio,
            ),
        ]
    });
    let figure = Figure {
        name: "every-policy-threads".to_owned(),
        title: "Every policy against threads, 32 MiB, buffered reads".to_owned(),
        panels: panels.collect(),
        columns: 2,
    };
    let head: Vec<String> = std::iter::once("policy".to_owned())
        .chain(labels.iter().map(|threads| format!("k/s, {threads}")))
        .chain(labels.iter().map(|threads| format!("hits, {threads}")))
        .collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new(
        "Every policy by threads, 32 MiB, buffered reads: thousand accesses a second, hit ratio",
        &head,
    );
    for of_policy in runs.chunk_by(|a, b| a.policy == b.policy) {
        let mut row = vec![of_policy[0].policy.clone()];
        row.extend(
            of_policy
                .iter()
                .map(|run| format!("{:.0}", run.accesses_per_second / 1e3)),
        );
        row.extend(of_policy.iter().map(|run| format!("{:.4}", run.hit_ratio)));
        table.rows.push(row);
    }
    Section {
        title: "Every policy against threads".to_owned(),
        text: vec![
            "List policies batch their hits: a thread hands over up to 64 at once under a tried \
                lock. Counting policies change a few bits of the page's \
             entry and nothing else."
                .to_owned(),
            crate::study::ROUNDS_IN_TURN.to_owned(),
        ],
        figures: vec![figure],
        tables: vec![table],
        ..Section::default()
    }
}

/// A policy in the engine and in the simulator.
pub(super) struct Compared {
    policy: String,
    simulated: f64,
    synchronous: f64,
    default: f64,
    resident: u64,
    /// Simulated with as many frames as the default cache had pages.
    adjusted: f64,
}

/// Every live policy, one thread: the synchronous engine, the default one, and the simulator.
pub(super) fn engine_and_simulator(
    study: &Study,
    stage: &Stage,
    tell: StudyProgress<'_>,
) -> Result<Vec<Compared>, LabError> {
    let pages = SIZES[1];
    let mut compared = Vec::new();
    let setting = |policy: &str, evictor| Setting {
        policy: policy.to_owned(),
        pools: None,
        cache_pages: pages,
        threads: 1,
        io: IoMode::Buffered.into(),
        evictor,
        reserve: Reserve::default(),
        warm_up: 0.0,
        time: None,
        verify: false,
        seed: 1,
    };
    let part = stage.first(if study.quick { 30_000 } else { 150_000 });
    for policy in crate::live_policies() {
        tell(&format!("engine beside simulator: {policy}"))?;
        let synchronous = part.play(&setting(&policy, EvictorChoice::Synchronous))?;
        let default = part.play(&setting(&policy, EvictorChoice::Background))?;
        let simulated = synchronous.simulated_hit_ratio.unwrap_or(f64::NAN);
        let adjusted = part.simulate(&policy, default.resident_pages, 1);
        compared.push(Compared {
            simulated,
            synchronous: synchronous.hit_ratio,
            default: default.hit_ratio,
            resident: default.resident_pages,
            adjusted: adjusted.unwrap_or(f64::NAN),
            policy,
        });
    }
    Ok(compared)
}

pub(super) fn equality_section(all: &[Compared]) -> Section {
    let mut table = Table::new(
        "Hit ratio of one thread on the first pins, 32 MiB: simulator, synchronous engine and how \
            far they are apart, default engine; differences in points",
        &[
            "policy",
            "simulator",
            "synchronous",
            "apart",
            "default",
            "less simulator",
            "pages",
            "less simulator of so many",
        ],
    );
    for one in all {
        table.rows.push(vec![
            one.policy.clone(),
            format!("{:.5}", one.simulated),
            format!("{:.5}", one.synchronous),
            format!("{:.5}", (one.synchronous - one.simulated).abs()),
            format!("{:.5}", one.default),
            format!("{:+.3}", (one.default - one.simulated) * 100.0),
            one.resident.to_string(),
            format!("{:+.3}", (one.default - one.adjusted) * 100.0),
        ]);
    }
    let largest = |difference: fn(&Compared) -> f64| {
        all.iter()
            .map(difference)
            .fold(0.0, |worst: f64, one| worst.max(one.abs()))
    };
    let (equal, apart): (Vec<&Compared>, Vec<&Compared>) =
        all.iter().partition(|one| one.synchronous == one.simulated);
    let apart: Vec<&str> = apart.iter().map(|one| one.policy.as_str()).collect();
    let exception = match apart.is_empty() {
        true => String::new(),
        false => format!(
            " (all but {}: a sketch hashes the numbers of pages, and the simulator numbers them as \
                they first come)",
            apart.join(", ")
        ),
    };
    Section {
        title: "Simulator and engine".to_owned(),
        text: vec![format!(
            "The same policy code runs in both. In its synchronous mode the engine equals the \
                simulator hit for hit with {} of {} policies{exception}. The default \
             mode keeps frames free for faults to come, pays for its page tables and hands over \
             hits of list policies late: it differs by at most \
             {:.2} points, and by at most {:.2} from a simulation with as many frames as it had \
             pages at the end.",
            equal.len(),
            all.len(),
            largest(|one| one.default - one.simulated) * 100.0,
            largest(|one| one.default - one.adjusted) * 100.0
        )],
        tables: vec![table],
        ..Section::default()
    }
}
