//! The study of Neo4j's page cache: throughput and hit ratio against threads, by policy, at 16 and 32 MB.

use std::ops::ControlFlow;
use std::time::Duration;

use graven::IoMode;
use graven_trace::ReadOptions;

use super::{Outcome, Page, Section, Study, Table, Tell, Verdict, find, layout, percent};
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::replay::{self, EvictorChoice, Replayed, Setting, Source, Stage};
use crate::simulate::{self, Run, Simulation, Size};
use crate::three_hop::{self, Length, Questions};
use crate::workload::Workload;

const TRACE: &str = "neo4j-hop3-4threads";
/// 16 and 32 MB in pages of 8 KiB, as Neo4j counts them.
const SIZES: [u64; 2] = [2040, 4080];
/// The study's five, and ours.
const POLICIES: [&str; 6] = [
    "random",
    "gclock",
    "lru:protocol=locked",
    "slru:protocol=locked",
    "lru:protocol=combining",
    "graven",
];

pub(super) fn page(study: &Study, tell: Tell<'_>) -> Result<Page, LabError> {
    tell("replaying the recorded pins");
    let replayed = replays(study, tell)?;
    tell("simulating every policy");
    let simulated = simulated(study)?;
    let mut sections = vec![pressure(&replayed), simulated.0];
    if let Some(section) = live(study, tell)? {
        sections.push(section);
    }
    tell("layout, order and policy");
    sections.push(layout::section(
        &study.data,
        if study.quick { 12 } else { 100 },
    )?);
    tell("scan hints");
    sections.push(scan_hints(study)?);
    Ok(Page {
        title: "Neo4j's page cache, once more".to_owned(),
        lead: "The founding study put five replacement policies under one query (everybody within three friendships) with more and more \
               threads, and found that the simplest scale best. Here are its figures again, on Graven's cache, with direct and with buffered reads."
            .to_owned(),
        verdicts: verdicts(&replayed, &simulated.1),
        sections,
    })
}

fn replays(study: &Study, tell: Tell<'_>) -> Result<Vec<Replayed>, LabError> {
    let limit = if study.quick { 60_000 } else { 600_000 };
    let source = Source::Trace(study.trace(TRACE), ReadOptions::default());
    let stage = Stage::new(&source, 8192, limit, &study.scratch)?;
    let threads: &[usize] = if study.quick { &[1, 2] } else { &[1, 2, 4, 8] };
    let milliseconds = if study.quick { 150 } else { 1_500 };
    let mut settings = Vec::new();
    for io in [IoMode::Direct, IoMode::Buffered] {
        for cache_pages in SIZES {
            for policy in POLICIES {
                settings.extend(threads.iter().map(|&threads| Setting {
                    policy: policy.to_owned(),
                    cache_pages,
                    threads,
                    io: io.into(),
                    evictor: EvictorChoice::Background,
                    warm_up: if study.quick { 0.2 } else { 0.05 },
                    time: Some(Duration::from_millis(milliseconds)),
                    verify: true,
                    seed: 1,
                }));
            }
        }
    }
    replay::play_all(&stage, &settings, &mut |policy, done, total| {
        tell(&format!("replay {} of {total}: {policy}", done + 1));
        ControlFlow::Continue(())
    })
}

/// Figures 1 and 2 of the study.
fn pressure(runs: &[Replayed]) -> Section {
    let mut table = Table::new(
        "Every run",
        &[
            "policy",
            "io",
            "cache",
            "threads",
            "accesses/s",
            "hit ratio",
            "simulated",
            "p99 us",
            "lock waits",
            "hits dropped",
            "device MiB read",
        ],
    );
    for run in runs {
        table.rows.push(vec![
            run.policy.clone(),
            run.io.clone(),
            graven::format_bytes(run.cache_bytes),
            run.threads.to_string(),
            format!("{:.0}", run.accesses_per_second),
            format!("{:.4}", run.hit_ratio),
            run.simulated_hit_ratio
                .map_or("-".to_owned(), |ratio| format!("{ratio:.4}")),
            format!("{:.1}", run.p99_us),
            run.lock_waits.to_string(),
            run.hits_dropped.to_string(),
            format!("{:.1}", run.device_read_bytes as f64 / f64::from(1 << 20)),
        ]);
    }
    let figure = |io: &str| {
        let of_mode: Vec<Replayed> = runs.iter().filter(|run| run.io == io).cloned().collect();
        let mut figure = replay::figure(&format!("threads-{io}"), &of_mode);
        figure.title = format!("Throughput and hit ratio against threads, {io} reads");
        figure
    };
    let mut modes: Vec<String> = Vec::new();
    for run in runs {
        if !modes.contains(&run.io) {
            modes.push(run.io.clone());
        }
    }
    Section {
        title: "Throughput and hit ratio against threads (figures 1 and 2 of the study)".to_owned(),
        text: vec![
            "Neo4j's own page pins, recorded while it answered the query with four threads, are played on Graven's live cache with the \
             budgets of the study. Direct reads go to the device; buffered reads come from the kernel's cache, as the study's did without \
             its author knowing."
                .to_owned(),
            "Simulated: the hit ratio of one thread in as many frames. The live cache keeps some frames free and pays for its page tables, \
             so it has a few frames less."
                .to_owned(),
        ],
        figures: modes.iter().map(|io| figure(io)).collect(),
        tables: vec![table],
    }
}

/// Every policy on the recorded pins, and the runs.
fn simulated(study: &Study) -> Result<(Section, Vec<Run>), LabError> {
    let mut policies = crate::live_policies();
    policies.push("min".to_owned());
    let names: Vec<&str> = policies.iter().map(String::as_str).collect();
    let runs = study.simulate(TRACE, &names, &SIZES)?;
    let mut figures = simulate::figures(&runs);
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
    for policy in &policies {
        let cell = |pages, value: fn(&Run) -> String| {
            find(&runs, policy, pages).map_or(String::new(), value)
        };
        let gap = |run: &Run| {
            run.gap_closed
                .map_or("-".to_owned(), |gap| format!("{gap:.3}"))
        };
        table.rows.push(vec![
            policy.clone(),
            cell(SIZES[0], |run| format!("{:.4}", run.hit_ratio)),
            cell(SIZES[1], |run| format!("{:.4}", run.hit_ratio)),
            cell(SIZES[0], gap),
            cell(SIZES[1], gap),
        ]);
    }
    figures.clear();
    figures.push(Figure {
        name: "policies".to_owned(),
        title: "Every policy on Neo4j's recorded pins".to_owned(),
        panels,
        columns: 2,
    });
    let section = Section {
        title: "What the policies are worth without threads".to_owned(),
        text: vec![
            "All policies of the registry on the same accesses; gap closed is the share of the way from Neo4j's clock to Belady's optimum."
                .to_owned(),
        ],
        figures,
        tables: vec![table],
    };
    Ok((section, runs))
}

/// The same question asked of Graven itself, where there is a database.
fn live(study: &Study, tell: Tell<'_>) -> Result<Option<Section>, LabError> {
    let (Some(database), Some(params)) = (&study.database, &study.params) else {
        return Ok(None);
    };
    let mut questions = Questions::read(params, None)?;
    questions
        .starts
        .truncate(if study.quick { 16 } else { 320 });
    let mut table = Table::new(
        "The question asked of Graven",
        &[
            "policy",
            "memory",
            "threads",
            "questions/s",
            "hit ratio",
            "blocking faults per question",
            "waited ms per question",
            "device MiB",
        ],
    );
    let threads: &[usize] = if study.quick { &[1] } else { &[1, 2] };
    for mib in [2u64, 4, 8] {
        for policy in [
            "random",
            "gclock",
            "lru:protocol=locked",
            "lru:protocol=combining",
            "graven",
        ] {
            for &threads in threads {
                tell(&format!(
                    "three hops: {policy}, {mib} MiB, {threads} threads"
                ));
                let run = three_hop::run(
                    database,
                    &questions,
                    &three_hop::Setting {
                        policy: policy.to_owned(),
                        cache_bytes: mib << 20,
                        cache_share: None,
                        threads,
                        io: IoMode::Direct,
                        batch: 1,
                        warm_up_passes: u64::from(!study.quick),
                        length: Length::Passes(1),
                    },
                )?;
                let waited: f64 = run.kinds.iter().map(|kind| kind.waited_ms).sum();
                let queries = run.queries.max(1) as f64;
                table.rows.push(vec![
                    policy.to_owned(),
                    format!("{mib} MiB"),
                    threads.to_string(),
                    format!("{:.0}", run.throughput_qps),
                    format!("{:.4}", run.hit_ratio),
                    format!("{:.1}", run.faults_per_query),
                    format!("{:.2}", waited / queries),
                    format!("{:.1}", run.device_read_bytes as f64 / f64::from(1 << 20)),
                ]);
            }
        }
    }
    Ok(Some(Section {
        title: "The same question asked of Graven".to_owned(),
        text: vec![
            "Graven keeps the graph in a few MiB and visits lists in the order of their pages, so the pressure of the study begins at 2 to 8 MiB. \
             Blocking faults are those that the question waited for."
                .to_owned(),
        ],
        figures: Vec::new(),
        tables: vec![table],
    }))
}

/// What a scan does to a cache with and without the hint.
fn scan_hints(study: &Study) -> Result<Section, LabError> {
    let accesses = if study.quick { 100_000 } else { 1_000_000 };
    let workload: Workload = "mixed:pages=20000,alpha=0.9,scans=0.3"
        .parse()
        .map_err(LabError::Setting)?;
    let (mut pages, mut flags) = (Vec::new(), Vec::new());
    for access in workload.accesses(1).take(accesses) {
        pages.push(access.page);
        flags.push(access.flags);
    }
    let folder = tempfile::tempdir_in(&study.scratch)
        .map_err(LabError::io(&study.scratch, "making a folder"))?;
    let mut runs = Vec::new();
    for (name, flags) in [("without", None), ("with", Some(flags))] {
        let path = folder.path().join(format!("{name}.u64.zst"));
        let trace = graven_trace::Trace {
            pages: pages.clone(),
            flags,
            ..graven_trace::Trace::default()
        };
        graven_trace::raw::write(&path, &trace)?;
        let simulation = Simulation {
            traces: vec![path],
            policies: crate::live_policies(),
            sizes: vec![Size::Share(0.1)],
            page_bytes: 8192,
            read: ReadOptions::default(),
            seed: 1,
            threads: 0,
        };
        runs.push(simulation.run(&mut |_| ControlFlow::Continue(()))?);
    }
    let mut table = Table::new(
        "Hit ratio with a cache of 10 %",
        &["policy", "scans unmarked", "scans marked", "points gained"],
    );
    for (plain, hinted) in runs[0].iter().zip(&runs[1]) {
        table.rows.push(vec![
            plain.policy.clone(),
            percent(plain.hit_ratio),
            percent(hinted.hit_ratio),
            format!("{:.2}", (hinted.hit_ratio - plain.hit_ratio) * 100.0),
        ]);
    }
    let panel = |title: &str, runs: &[Run]| Panel {
        title: title.to_owned(),
        x: Axis::from_zero("hit ratio"),
        shape: Shape::Bars,
        series: runs
            .iter()
            .map(|run| Series::new(run.policy.clone(), vec![(0.0, run.hit_ratio)]))
            .collect(),
        ..Panel::default()
    };
    Ok(Section {
        title: "Scan hints".to_owned(),
        text: vec![
            "Point reads and friend lists by Zipf's law, three tenths of the accesses from scans of a thousand pages. Marked scans enter at the \
             probation end and do not count as use; hits on pages that a scan finds are counted in both columns."
                .to_owned(),
        ],
        figures: vec![Figure {
            name: "scan-hints".to_owned(),
            title: "Scans without and with a hint".to_owned(),
            panels: vec![panel("unmarked", &runs[0]), panel("marked", &runs[1])],
            columns: 2,
        }],
        tables: vec![table],
    })
}

/// Largest throughput by policy, at a thread count and mode.
fn throughput(runs: &[Replayed], policy: &str, io: &str, threads: usize) -> f64 {
    let of = runs
        .iter()
        .filter(|run| run.policy == policy && run.io == io && run.threads == threads);
    let all: Vec<f64> = of.map(|run| run.accesses_per_second).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

fn verdicts(runs: &[Replayed], simulated: &[Run]) -> Vec<Verdict> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = runs.iter().map(|run| run.threads).max().unwrap_or(1);
    let speedup = |policy: &str, io: &str, threads: usize| {
        throughput(runs, policy, io, threads) / throughput(runs, policy, io, 1).max(1.0)
    };
    let verdict = |claim: &str, outcome: Outcome, why: String| Verdict {
        claim: claim.to_owned(),
        outcome,
        why,
    };
    let scaling = |claim: &str, policies: &[&str], wanted: usize| {
        let seen: Vec<String> = policies
            .iter()
            .map(|policy| format!("{policy} {:.2}", speedup(policy, "buffered", 2.min(most))))
            .collect();
        let why = format!(
            "This machine has {cores} hardware threads; the claim is about up to {wanted}. From 1 to 2 threads, buffered reads, throughput grows by {}.",
            seen.join(", ")
        );
        verdict(claim, Outcome::NotTestable, why)
    };
    let ratio =
        |policy: &str, pages: u64| find(simulated, policy, pages).map_or(0.0, |run| run.hit_ratio);
    let below: Vec<f64> = SIZES
        .iter()
        .map(|&pages| ratio("lru", pages) - ratio("random", pages))
        .collect();
    let close: Vec<f64> = SIZES
        .iter()
        .map(|&pages| ratio("gclock", pages) - ratio("lru", pages))
        .collect();
    let one = |policy: &str| throughput(runs, policy, "buffered", 1);
    let slowest = POLICIES[..5]
        .iter()
        .copied()
        .min_by(|a, b| one(a).total_cmp(&one(b)))
        .unwrap_or_default();
    let spread = |io: &str| {
        let all: Vec<f64> = POLICIES[..5]
            .iter()
            .map(|policy| throughput(runs, policy, io, 1))
            .collect();
        all.iter().copied().fold(0.0, f64::max)
            / all.iter().copied().fold(f64::INFINITY, f64::min).max(1.0)
    };
    let (direct, buffered) = (throughput(runs, "random", "direct", 1), one("random"));
    vec![
        scaling(
            "Random and GClock scale linearly with threads",
            &["random", "gclock"],
            16,
        ),
        scaling(
            "LRU and S4LRU fail to scale beyond 4 threads",
            &["lru:protocol=locked", "slru:protocol=locked"],
            16,
        ),
        scaling(
            "LRU with batching and combining scales to about 8 threads",
            &["lru:protocol=combining"],
            8,
        ),
        verdict(
            "With one thread, LRU with batching and combining is the slowest of all",
            if slowest == "lru:protocol=combining" {
                Outcome::Confirmed
            } else {
                Outcome::Refuted
            },
            format!(
                "Slowest with one thread and buffered reads: {slowest} ({:.0} accesses/s); combining {:.0}, locked {:.0}.",
                one(slowest),
                one("lru:protocol=combining"),
                one("lru:protocol=locked")
            ),
        ),
        verdict(
            "GClock's hit ratio is like that of the LRU family",
            if close.iter().all(|d| d.abs() < 0.02) {
                Outcome::Confirmed
            } else {
                Outcome::Refuted
            },
            format!(
                "GClock less LRU: {:+.2} points at 16 MiB, {:+.2} at 32 MiB.",
                close[0] * 100.0,
                close[1] * 100.0
            ),
        ),
        verdict(
            "Random's hit ratio is consistently worse than the others', but not far off",
            if below.iter().all(|d| (0.0..0.05).contains(d)) {
                Outcome::Confirmed
            } else {
                Outcome::Refuted
            },
            format!(
                "LRU less random: {:+.2} points at 16 MiB, {:+.2} at 32 MiB.",
                below[0] * 100.0,
                below[1] * 100.0
            ),
        ),
        verdict(
            "Reading through the kernel's cache gave Random and GClock an unfair advantage (the author's note of 2021)",
            if direct < 0.8 * buffered {
                Outcome::Confirmed
            } else {
                Outcome::Refuted
            },
            format!(
                "Random, one thread: {direct:.0} accesses/s with direct reads, {buffered:.0} with buffered ones; fastest against slowest policy {:.2} and {:.2}.",
                spread("direct"),
                spread("buffered")
            ),
        ),
    ]
}
