//! The thesis: counters, arms, CLOCK variants and history, by hit rate and throughput; its prototype's table.

use std::ops::ControlFlow;
use std::time::Duration;

use graven::IoMode;
use graven_trace::ReadOptions;

use super::{Outcome, Page, Section, Study, Table, Tell, Verdict, find, percent};
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::replay::{self, EvictorChoice, Replayed, Setting, Source, Stage};
use crate::simulate::Run;

const TRACE: &str = "neo4j-snb-mix";
/// A large and a small cache, in pages: few and many faults.
const SIZES: [u64; 2] = [6144, 2040];
const SWEEP: [u64; 7] = [501, 1002, 2040, 4080, 6144, 8000, 10_018];
const PROTOTYPE: &str = "synth-thesislike";
const PROTOTYPE_PAGES: u64 = 3_500;
const CLOCKS: [&str; 6] = [
    "neo4j",
    "clock",
    "clockpro",
    "thesis-clockpro",
    "thesis-clockpro-adaptive",
    "thesis-clockpro-plus",
];
const HISTORIES: [&str; 5] = [
    "neo4j",
    "history:ghost=exact",
    "history:ghost=cleaned",
    "history:ghost=bitset",
    "hist-7-7",
];

pub(super) fn page(study: &Study, tell: Tell<'_>) -> Result<Page, LabError> {
    tell("simulating counters, arms and variants");
    let counts = names_of_counts();
    let mut policies: Vec<&str> = counts.iter().map(|(_, _, name)| name.as_str()).collect();
    policies.extend(
        CLOCKS
            .iter()
            .chain(&HISTORIES)
            .chain(&["random", "min", "graven"]),
    );
    policies.sort_unstable();
    policies.dedup();
    let runs = study.simulate(TRACE, &policies, &SIZES)?;
    tell("the sweep of cache sizes");
    let sweep = study.simulate(TRACE, &["neo4j", "random"], &SWEEP)?;
    tell("the prototype's table");
    let prototype = study.simulate(PROTOTYPE, &prototype_policies(), &[PROTOTYPE_PAGES])?;
    let replays = replays(study, &policies, tell)?;
    Ok(Page {
        title: "Replacement policies for Neo4j's page cache, once more".to_owned(),
        lead: "The thesis varied the counters of Neo4j's clock, its arm, and the clock itself, in the database and in a prototype. Here are its \
               tables and figures on recorded pins of Neo4j under a mix of point reads, two- and three-hop counts and updates: hit rates by \
               simulation, throughput on the live cache with two threads."
            .to_owned(),
        sections: vec![
            sizes_section(&sweep),
            counts_section(&runs, &replays),
            variants_section(
                "CLOCK variants (figures 4.9 and 4.10)",
                "clocks",
                "The thesis caps hot pages at a twentieth of the cache; CLOCK-Pro as published does not.",
                &CLOCKS,
                &runs,
                &replays,
            ),
            variants_section(
                "Added history (figures 4.11 and 4.12)",
                "history",
                "Pages that come back soon after their eviction start with count 7. Exact: every ghost by its number. Cleaned: a queue and a bit set, \
                 cleaned behind. Bitset: a queue and a bit set in which numbers may collide.",
                &HISTORIES,
                &runs,
                &replays,
            ),
            summary_section(&runs),
            prototype_section(&prototype),
        ],
        verdicts: verdicts(&runs, &prototype, &replays),
    })
}

/// Largest count, arm and name of every counter setting.
fn names_of_counts() -> Vec<(u8, &'static str, String)> {
    let mut names = Vec::new();
    for arm in ["global", "thread"] {
        names.extend((1..=7).map(|count| (count, arm, format!("neo4j:count={count},arm={arm}"))));
    }
    names
}

fn replays(study: &Study, policies: &[&str], tell: Tell<'_>) -> Result<Vec<Replayed>, LabError> {
    let limit = if study.quick { 60_000 } else { 800_000 };
    let source = Source::Trace(study.trace(TRACE), ReadOptions::default());
    let stage = Stage::new(&source, 8192, limit, &study.scratch)?;
    let mut settings = Vec::new();
    for io in [IoMode::Direct, IoMode::Buffered] {
        for cache_pages in SIZES {
            let live = policies
                .iter()
                .filter(|policy| graven_policy::registry::is_live(policy));
            settings.extend(live.map(|policy| Setting {
                policy: (*policy).to_owned(),
                cache_pages,
                threads: 2,
                io: io.into(),
                evictor: EvictorChoice::Background,
                warm_up: if study.quick { 0.2 } else { 0.03 },
                time: Some(Duration::from_millis(if study.quick { 80 } else { 900 })),
                verify: true,
                seed: 1,
            }));
        }
    }
    replay::play_all(&stage, &settings, &mut |policy, done, total| {
        tell(&format!("replay {} of {total}: {policy}", done + 1));
        ControlFlow::Continue(())
    })
}

/// Throughput of a policy at a size and mode, in thousand accesses a second.
fn speed(replays: &[Replayed], policy: &str, pages: u64, io: &str) -> f64 {
    let found = replays
        .iter()
        .find(|run| run.policy == policy && run.cache_pages == pages && run.io == io);
    found.map_or(f64::NAN, |run| run.accesses_per_second / 1e3)
}

fn hit_rate(runs: &[Run], policy: &str, pages: u64) -> f64 {
    find(runs, policy, pages).map_or(f64::NAN, |run| run.hit_ratio)
}

/// Tables 4.1 and 4.2.
fn sizes_section(sweep: &[Run]) -> Section {
    let mut table = Table::new(
        "Hit rate of Neo4j's clock and of random replacement by cache size (%)",
        &["pages of 8 KiB", "current", "random", "current less random"],
    );
    for pages in SWEEP {
        let (current, random) = (
            hit_rate(sweep, "neo4j", pages),
            hit_rate(sweep, "random", pages),
        );
        table.rows.push(vec![
            pages.to_string(),
            percent(current),
            percent(random),
            format!("{:.2}", (current - random) * 100.0),
        ]);
    }
    let line = |policy: &str| {
        let points = SWEEP
            .iter()
            .map(|&pages| (pages as f64, hit_rate(sweep, policy, pages) * 100.0));
        Series::new(policy, points.collect())
    };
    Section {
        title: "Cache sizes, and current against random (tables 4.1 and 4.2)".to_owned(),
        text: vec![
            "The thesis chose a size with 97 % hits out of three (99.84, 97.15 and 88.84 %), and saw 94.95 % for random against 97.15 %."
                .to_owned(),
        ],
        figures: vec![Figure {
            name: "sizes".to_owned(),
            title: "Hit rate by cache size".to_owned(),
            columns: 1,
            panels: vec![Panel {
                x: Axis::log("pages of 8 KiB"),
                y: Axis::linear("hit rate, %"),
                shape: Shape::Lines,
                series: vec![line("neo4j"), line("random")],
                ..Panel::default()
            }],
        }],
        tables: vec![table],
    }
}

/// Figures 4.1 to 4.8.
fn counts_section(runs: &[Run], replays: &[Replayed]) -> Section {
    let names = names_of_counts();
    let labels: Vec<String> = (1..=7).map(|count| count.to_string()).collect();
    let series = |value: &dyn Fn(&str) -> f64| -> Vec<Series> {
        ["global", "thread"]
            .iter()
            .map(|arm| {
                let of_arm = names.iter().filter(|(_, of, _)| of == arm);
                let points = of_arm.map(|(count, _, name)| (f64::from(*count) - 1.0, value(name)));
                let label = if *arm == "global" {
                    "one arm"
                } else {
                    "random start"
                };
                Series::new(label, points.collect())
            })
            .collect()
    };
    let mut panels = Vec::new();
    for pages in SIZES {
        let panel = |title: String, y: Axis, series| Panel {
            title,
            x: Axis::categories("largest count", labels.clone()),
            y,
            shape: Shape::Lines,
            series,
        };
        let hits = series(&|name| hit_rate(runs, name, pages) * 100.0);
        panels.push(panel(
            format!("{pages} pages: hit rate"),
            Axis::linear("%"),
            hits,
        ));
        for io in ["direct", "buffered"] {
            if replays.iter().any(|run| run.io == io) {
                let speeds = series(&|name| speed(replays, name, pages, io));
                let y = Axis::from_zero("thousand accesses a second");
                panels.push(panel(format!("{pages} pages: throughput, {io}"), y, speeds));
            }
        }
    }
    let mut table = Table::new(
        "Hit rate by largest count and arm (%)",
        &[
            "largest count",
            "one arm, 6144",
            "random start, 6144",
            "one arm, 2040",
            "random start, 2040",
        ],
    );
    for count in 1..=7 {
        let cell = |arm: &str, pages| {
            percent(hit_rate(
                runs,
                &format!("neo4j:count={count},arm={arm}"),
                pages,
            ))
        };
        table.rows.push(vec![
            count.to_string(),
            cell("global", SIZES[0]),
            cell("thread", SIZES[0]),
            cell("global", SIZES[1]),
            cell("thread", SIZES[1]),
        ]);
    }
    Section {
        title: "Largest count 1 to 7, random start and one arm (figures 4.1 to 4.8)".to_owned(),
        text: vec!["A random start for every eviction stands for the thread-local arms of Neo4j's cooperative eviction.".to_owned()],
        figures: vec![Figure {
            name: "counts".to_owned(),
            title: "Neo4j's clock by largest count and arm".to_owned(),
            panels,
            columns: 3,
        }],
        tables: vec![table],
    }
}

fn variants_section(
    title: &str,
    name: &str,
    text: &str,
    policies: &[&str],
    runs: &[Run],
    replays: &[Replayed],
) -> Section {
    let mut panels = Vec::new();
    let mut table = Table::new(
        "Hit rate (%) and throughput (thousand accesses a second, two threads)",
        &[
            "policy",
            "hit rate, 6144",
            "hit rate, 2040",
            "direct, 6144",
            "direct, 2040",
            "buffered, 6144",
            "buffered, 2040",
            "collisions",
        ],
    );
    for pages in SIZES {
        let bars = |value: &dyn Fn(&str) -> f64| -> Vec<Series> {
            policies
                .iter()
                .map(|policy| Series::new(*policy, vec![(0.0, value(policy))]))
                .collect()
        };
        panels.push(Panel {
            title: format!("{pages} pages: hit rate"),
            x: Axis::from_zero("%"),
            shape: Shape::Bars,
            series: bars(&|policy| hit_rate(runs, policy, pages) * 100.0),
            ..Panel::default()
        });
        panels.push(Panel {
            title: format!("{pages} pages: throughput, buffered"),
            x: Axis::from_zero("thousand accesses a second"),
            shape: Shape::Bars,
            series: bars(&|policy| speed(replays, policy, pages, "buffered")),
            ..Panel::default()
        });
    }
    for policy in policies {
        let throughput = |pages, io| {
            let speed = speed(replays, policy, pages, io);
            if speed.is_nan() {
                "-".to_owned()
            } else {
                format!("{speed:.0}")
            }
        };
        let collisions = find(runs, policy, SIZES[1])
            .and_then(|run| {
                run.figures
                    .iter()
                    .find(|figure| figure.name.contains("collision"))
            })
            .map_or("-".to_owned(), |figure| format!("{:.4}", figure.value));
        table.rows.push(vec![
            (*policy).to_owned(),
            percent(hit_rate(runs, policy, SIZES[0])),
            percent(hit_rate(runs, policy, SIZES[1])),
            throughput(SIZES[0], "direct"),
            throughput(SIZES[1], "direct"),
            throughput(SIZES[0], "buffered"),
            throughput(SIZES[1], "buffered"),
            collisions,
        ]);
    }
    Section {
        title: title.to_owned(),
        text: vec![text.to_owned()],
        figures: vec![Figure {
            name: name.to_owned(),
            title: title.to_owned(),
            panels,
            columns: 2,
        }],
        tables: vec![table],
    }
}

/// Table 4.3.
fn summary_section(runs: &[Run]) -> Section {
    let mut table = Table::new(
        "Best hit rates (%)",
        &[
            "algorithm",
            "6144 pages",
            "2040 pages",
            "thesis, 75,000 MiB",
        ],
    );
    for (label, policy, thesis) in [
        ("Belady", "min", "-"),
        (
            "Current (random start)",
            "neo4j:count=4,arm=thread",
            "97.15",
        ),
        ("Random", "random", "94.95"),
        (
            "Count to 7 (random start)",
            "neo4j:count=7,arm=thread",
            "97.22",
        ),
        (
            "Count to 7 with global arm",
            "neo4j:count=7,arm=global",
            "97.22",
        ),
        ("CLOCK-Pro adaptive", "thesis-clockpro-adaptive", "96.98"),
        ("History with exact set, count to 7", "hist-7-7", "97.11"),
        ("Graven's own policy", "graven", "-"),
    ] {
        table.rows.push(vec![
            label.to_owned(),
            percent(hit_rate(runs, policy, SIZES[0])),
            percent(hit_rate(runs, policy, SIZES[1])),
            thesis.to_owned(),
        ]);
    }
    Section {
        title: "Summary (table 4.3)".to_owned(),
        tables: vec![table],
        ..Section::default()
    }
}

/// The rows of table 4.4 and 4.5: name, policy, hits and share of the optimum in the thesis.
const ROWS: [(&str, &str, &str, &str); 15] = [
    ("Belady", "min", "66969", "100"),
    ("Random", "random", "65438", "97.72"),
    ("Current", "neo4j", "66681", "99.58"),
    ("Current count to 7", "neo4j-7", "66690", "99.58"),
    ("Current count to 6", "neo4j-6", "66687", "99.58"),
    ("Current count to 5", "neo4j-5", "66685", "99.58"),
    ("Current count to 3", "neo4j-3", "66671", "99.56"),
    ("Current count to 2", "neo4j-2", "66653", "99.54"),
    ("Current count to 1", "count-to-1", "65982", "98.53"),
    ("Current with history", "hist-4-7", "66771", "99.71"),
    ("History and count to 7", "hist-7-7", "66782", "99.72"),
    ("CLOCK", "clock", "66653", "99.54"),
    ("CLOCK-Pro", "thesis-clockpro", "66647", "99.52"),
    ("CLOCK-Pro+", "thesis-clockpro-plus", "66645", "99.52"),
    (
        "CLOCK-Pro adaptive",
        "thesis-clockpro-adaptive",
        "66647",
        "99.52",
    ),
];

fn prototype_policies() -> Vec<&'static str> {
    ROWS.iter()
        .map(|row| row.1)
        .chain(["graven", "clockpro"])
        .collect()
}

/// Tables 4.4 and 4.5.
fn prototype_section(runs: &[Run]) -> Section {
    let accesses = runs.first().map_or(1, |run| run.accesses);
    let mut table = Table::new(
        &format!(
            "{PROTOTYPE}, {PROTOTYPE_PAGES} pages: hits, hit rate and share of the optimum; beside them the thesis's"
        ),
        &[
            "algorithm",
            "hits",
            "hit rate, %",
            "of optimal, %",
            "thesis: hits",
            "thesis: of optimal, %",
        ],
    );
    let extra = [
        ("Graven's own policy", "graven", "-", "-"),
        ("CLOCK-Pro as published", "clockpro", "-", "-"),
    ];
    for (label, policy, hits, share) in ROWS.iter().chain(&extra) {
        let Some(run) = find(runs, policy, PROTOTYPE_PAGES) else {
            continue;
        };
        table.rows.push(vec![
            (*label).to_owned(),
            run.hits.to_string(),
            percent(run.hits as f64 / accesses as f64),
            percent(run.share_of_min),
            (*hits).to_owned(),
            (*share).to_owned(),
        ]);
    }
    Section {
        title: "The prototype (tables 4.4 and 4.5)".to_owned(),
        text: vec![
            "The thesis's trace is not public. This one has the same number of accesses and, like it, pages half of which are touched once; the order \
             of the rows can be compared, the counts cannot."
                .to_owned(),
        ],
        tables: vec![table],
        ..Section::default()
    }
}

fn verdicts(runs: &[Run], prototype: &[Run], replays: &[Replayed]) -> Vec<Verdict> {
    let verdict = |claim: &str, holds: bool, why: String| Verdict {
        claim: claim.to_owned(),
        outcome: if holds {
            Outcome::Confirmed
        } else {
            Outcome::Refuted
        },
        why,
    };
    let points = |a: f64, b: f64| (a - b) * 100.0;
    let rate = |policy: &str, size: usize| hit_rate(runs, policy, SIZES[size]);
    let both = |a: &str, b: &str| {
        [
            points(rate(a, 0), rate(b, 0)),
            points(rate(a, 1), rate(b, 1)),
        ]
    };
    let shown = |d: [f64; 2]| {
        format!(
            "{:+.2} points at {} pages, {:+.2} at {}.",
            d[0], SIZES[0], d[1], SIZES[1]
        )
    };
    let random = both("neo4j:count=4,arm=thread", "random");
    let higher = both("neo4j:count=7,arm=global", "neo4j:count=4,arm=global");
    let arm = both("neo4j:count=7,arm=global", "neo4j:count=7,arm=thread");
    let clocks = CLOCKS[1..]
        .iter()
        .map(|policy| both(policy, "neo4j"))
        .collect::<Vec<_>>();
    let best_clock = clocks
        .iter()
        .map(|d| d[0].max(d[1]))
        .fold(f64::NEG_INFINITY, f64::max);
    let published = both("clockpro", "neo4j");
    let history = both("hist-4-7", "neo4j");
    let slow = |policy: &str| {
        speed(replays, policy, SIZES[1], "buffered") / speed(replays, "neo4j", SIZES[1], "buffered")
    };
    let share = |policy: &str| {
        find(prototype, policy, PROTOTYPE_PAGES).map_or(0.0, |run| run.share_of_min * 100.0)
    };
    let on_large = rate("min", 0) - rate("neo4j", 0);
    vec![
        verdict("Random replacement is clearly worse than the current policy", random.iter().all(|d| *d > 0.2), shown(random)),
        verdict("The higher the count, the better the hit rate", higher.iter().all(|d| *d > 0.0), format!("Count to 7 against 4, one arm: {}", shown(higher))),
        verdict("One global arm raises the hit rate over a random start", arm.iter().all(|d| *d > 0.0), format!("Count to 7: {}", shown(arm))),
        verdict(
            "A global arm helps more, the smaller the cache",
            arm[1] > arm[0],
            format!("Count to 7, one arm against random start: {}", shown(arm)),
        ),
        verdict(
            "None of the CLOCK variants improves the hit rate",
            best_clock <= 0.02,
            format!("Best of the variants against the current clock: {best_clock:+.2} points; CLOCK-Pro as published, without the cap on hot pages: {}", shown(published)),
        ),
        verdict(
            "History does not raise the hit rate in the database, though it does in the prototype",
            history.iter().all(|d| *d <= 0.0) && share("hist-4-7") > share("neo4j"),
            format!("Here: {} Prototype: {:.2} % of the optimum against {:.2} %.", shown(history), share("hist-4-7"), share("neo4j")),
        ),
        verdict(
            "An exact set of ghosts costs almost 90 % of the throughput",
            slow("history:ghost=exact") < 0.3,
            format!(
                "Throughput against the current clock, small cache, buffered reads: exact {:.2}, cleaned {:.2}, bitset {:.2}. Ghosts are touched on faults only, under the lock that a fault takes anyway.",
                slow("history:ghost=exact"),
                slow("history:ghost=cleaned"),
                slow("history:ghost=bitset")
            ),
        ),
        verdict(
            "The current policy reaches 99.58 % of the optimum: there is little to gain",
            share("neo4j") > 99.0 && on_large < 0.005,
            format!(
                "Prototype's kind of trace: {:.2} %. On recorded pins the optimum is {:.2} points above it at {} pages and {:.2} at {}.",
                share("neo4j"),
                on_large * 100.0,
                SIZES[0],
                points(rate("min", 1), rate("neo4j", 1)),
                SIZES[1]
            ),
        ),
        Verdict {
            claim: "Throughput gains of the database benchmark at scale factor 100 (figures 4.1 to 4.12)".to_owned(),
            outcome: Outcome::NotTestable,
            why: "That benchmark needs Neo4j, 75,000 MiB of cache and many cores; the figures here play recorded pins on two threads.".to_owned(),
        },
    ]
}
