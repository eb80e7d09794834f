//! The thesis: counters, arms, CLOCK variants and history, by hit rate and throughput; its
//! prototype's table.

mod counts;
mod exhibits;
mod prototype;
mod questions;
mod variants;
mod verdicts;

use graven::IoMode;
use graven_pagecache::Reserve;

use super::{Page, Study, StudyProgress, find};
use crate::error::LabError;
use crate::replay::{EvictorChoice, Replayed, Setting};
use crate::simulate::Run;
use counts::{counts_section, sizes_section};
use prototype::{prototype_policies, prototype_section};
use variants::{summary_section, variants_section};

pub(super) const PARTS: [&str; 7] = [
    "sizes",
    "counts",
    "clocks",
    "history",
    "summary",
    "prototype",
    "questions",
];
const TRACE: &str = "neo4j-snb-mix";
/// Hit rates of the thesis's two benchmarks (table 4.1): our caches are as large as gives Neo4j's
/// clock the same.
const MATCHED: [f64; 2] = [0.9715, 0.8884];
/// Accesses that fill the cache before the counted ones.
const WARM_UP: usize = 60_000;
const WARM_UP_QUICK: usize = 12_000;
const SWEEP: [u64; 9] = [501, 1002, 2040, 4080, 6144, 7000, 8000, 9000, 10_018];
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

/// A large and a small cache, in pages: few and many faults.
type Sizes = [u64; 2];

pub(super) fn page(study: &Study, tell: StudyProgress<'_>) -> Result<Page, LabError> {
    tell("cache sizes with the thesis's hit rates")?;
    let sizes = matched(study)?;
    let names = names_of_counts();
    let counts: Vec<&str> = names.iter().map(|(_, _, name)| name.as_str()).collect();
    let mut policies = Vec::new();
    if study.wants(&["sizes", "counts", "summary", "questions"]) {
        policies.extend(&counts);
    }
    if study.wants(&["clocks", "summary", "questions"]) {
        policies.extend(CLOCKS);
    }
    if study.wants(&["history", "summary", "questions"]) {
        policies.extend(HISTORIES);
    }
    policies.sort_unstable();
    policies.dedup();
    let timed: Vec<&str> = policies.clone();
    policies.extend(["random", "min", "graven", "lfu", "neo4j"]);
    policies.sort_unstable();
    policies.dedup();
    tell("simulating counters, arms and variants")?;
    let runs = study.simulate(TRACE, &policies, &sizes)?;
    let mut sweep = Vec::new();
    if study.wants(&["sizes"]) {
        tell("the sweep of cache sizes")?;
        sweep = study.simulate(TRACE, &["neo4j", "random"], &SWEEP)?;
    }
    let mut prototype = Vec::new();
    if study.wants(&["prototype", "history", "questions"]) {
        tell("the prototype's table")?;
        prototype = study.simulate(PROTOTYPE, &prototype_policies(), &[PROTOTYPE_PAGES])?;
    }
    let mut replays = Vec::new();
    if study.wants(&["counts", "clocks", "history", "questions"]) {
        replays = self::replays(study, &timed, sizes, tell)?;
    }
    let mut page = Page {
        title: "Replacement policies for Neo4j's page cache, once more".to_owned(),
        lead: format!(
            "The thesis varied the counters of Neo4j's clock, its arm, and the clock itself, in \
                the database and in a prototype. Here are its \
             tables and figures on recorded pins of Neo4j under a mix of point reads, two- and \
             three-hop counts and updates: hit rates by \
             simulation, throughput on the live cache with two threads. The caches have {} and {} \
             pages of 8 KiB: as many as give Neo4j's clock the hit \
             rates of the thesis's benchmarks, 97.15 and 88.84 %, or come nearest.",
            sizes[0], sizes[1]
        ),
        verdicts: verdicts::of(&runs, &prototype, &replays, sizes),
        summary: vec![
            worth(&runs, sizes),
            counts::finding(&runs, sizes),
            prototype::finding(&prototype),
        ],
        ..Page::default()
    };
    page.push("sizes", sizes_section(&sweep, sizes));
    page.push("counts", counts_section(&runs, &replays, sizes));
    page.push(
        "clocks",
        variants_section(
            "CLOCK variants (figures 4.9 and 4.10)",
            "clocks",
            "The thesis caps hot pages at a twentieth of the cache; CLOCK-Pro as published does \
                not.",
            &CLOCKS,
            (&runs, &replays, sizes),
        ),
    );
    page.push(
        "history",
        variants_section(
            "Added history (figures 4.11 and 4.12)",
            "history",
            "Pages that come back soon after their eviction start with count 7. Exact: every ghost \
                by its number. Cleaned: a queue and a bit set, \
             cleaned behind. Bitset: a queue and a bit set in which numbers may collide. False \
             returns: how likely a page that was \
             not evicted of late collides with one that was, and is taken for it.",
            &HISTORIES,
            (&runs, &replays, sizes),
        ),
    );
    page.push("summary", summary_section(&runs, sizes));
    page.push("prototype", prototype_section(&prototype));
    page.push(
        "questions",
        questions::section(&runs, &prototype, &replays, sizes),
    );
    exhibits::add(&mut page, &runs, &sweep, &prototype, sizes);
    Ok(page)
}

/// The sizes at which Neo4j's clock hits as often as in the thesis's benchmarks, or nearest to it.
fn matched(study: &Study) -> Result<Sizes, LabError> {
    let mut sizes = [0; 2];
    for (size, wanted) in sizes.iter_mut().zip(MATCHED) {
        let (mut low, mut high) = (SWEEP[0], SWEEP[SWEEP.len() - 1]);
        while high - low > 50 {
            let middle = u64::midpoint(low, high);
            let runs = study.simulate(TRACE, &["neo4j"], &[middle])?;
            match hit_rate(&runs, "neo4j", middle) < wanted {
                true => low = middle,
                false => high = middle,
            }
        }
        *size = high;
    }
    Ok(sizes)
}

/// What a better policy could be worth on this trace.
fn worth(runs: &[Run], sizes: Sizes) -> String {
    let [large, small] = sizes.map(|pages| {
        let rate = |policy: &str| hit_rate(runs, policy, pages) * 100.0;
        (rate("neo4j"), rate("min"), rate("graven"))
    });
    format!(
        "On recorded pins of Neo4j, its clock hits {:.2} % with {} pages and {:.2} % with {}; \
            Belady's optimum {:.2} and {:.2} %, Graven's own policy {:.2} and \
         {:.2} %.",
        large.0, sizes[0], small.0, sizes[1], large.1, small.1, large.2, small.2
    )
}

/// Largest count, arm and name of every counter setting.
fn names_of_counts() -> Vec<(u8, &'static str, String)> {
    let mut names = Vec::new();
    for arm in ["global", "thread"] {
        names.extend((1..=7).map(|count| (count, arm, format!("neo4j:count={count},arm={arm}"))));
    }
    names
}

fn replays(
    study: &Study,
    policies: &[&str],
    sizes: Sizes,
    tell: StudyProgress<'_>,
) -> Result<Vec<Replayed>, LabError> {
    // A fault that goes to the device takes a hundred times as long: fewer accesses do.
    let (warm_up, direct, buffered) = if study.quick {
        (WARM_UP_QUICK, 4_000, 30_000)
    } else {
        (WARM_UP, 30_000, 400_000)
    };
    let stage = study.stage(TRACE, warm_up + buffered)?;
    let mut runs = Vec::new();
    for (io, accesses) in [(IoMode::Direct, direct), (IoMode::Buffered, buffered)] {
        let mut settings = Vec::new();
        for cache_pages in sizes {
            let live = policies
                .iter()
                .filter(|policy| graven_policy::registry::is_live(policy));
            settings.extend(live.map(|policy| Setting {
                policy: (*policy).to_owned(),
                pools: None,
                cache_pages,
                threads: 2,
                io: io.into(),
                evictor: EvictorChoice::Background,
                reserve: Reserve::default(),
                warm_up: warm_up as f64 / (warm_up + accesses) as f64,
                time: None,
                verify: true,
                seed: 1,
            }));
        }
        let part = stage.first(warm_up + accesses);
        runs.extend(study.replay(&part, &settings, "replay", tell)?);
    }
    Ok(runs)
}

/// Throughput of a policy at a size and mode, in thousand accesses a second, and half the width of
/// its interval.
fn speed(replays: &[Replayed], policy: &str, pages: u64, io: &str) -> (f64, f64) {
    let found = replays
        .iter()
        .find(|run| run.policy == policy && run.cache_pages == pages && run.io == io);
    found.map_or((f64::NAN, 0.0), |run| {
        let (mean, error) = run.speed();
        (mean / 1e3, error / 1e3)
    })
}

fn hit_rate(runs: &[Run], policy: &str, pages: u64) -> f64 {
    find(runs, policy, pages).map_or(f64::NAN, |run| run.hit_ratio)
}
