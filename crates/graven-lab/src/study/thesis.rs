//! The thesis: counters, arms, CLOCK variants and history, by hit rate and throughput; its prototype's table.

mod counts;
mod prototype;
mod variants;
mod verdicts;

use graven::IoMode;
use graven_pagecache::Reserve;

use super::{Page, Study, Tell, find};
use crate::error::LabError;
use crate::replay::{EvictorChoice, Replayed, Setting};
use crate::simulate::Run;
use counts::{counts_section, sizes_section};
use prototype::{prototype_policies, prototype_section};
use variants::{summary_section, variants_section};

const TRACE: &str = "neo4j-snb-mix";
/// A large and a small cache, in pages: few and many faults.
const SIZES: [u64; 2] = [6144, 2040];
/// Accesses that fill the cache before the counted ones.
const WARM_UP: usize = 12_000;
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
    tell("simulating counters, arms and variants")?;
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
    tell("the sweep of cache sizes")?;
    let sweep = study.simulate(TRACE, &["neo4j", "random"], &SWEEP)?;
    tell("the prototype's table")?;
    let prototype = study.simulate(PROTOTYPE, &prototype_policies(), &[PROTOTYPE_PAGES])?;
    let replays = replays(study, &policies, tell)?;
    let mut page = Page {
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
                 cleaned behind. Bitset: a queue and a bit set in which numbers may collide. False returns: how likely a page that was \
                 not evicted of late collides with one that was, and is taken for it.",
                &HISTORIES,
                &runs,
                &replays,
            ),
            summary_section(&runs),
            prototype_section(&prototype),
        ],
        verdicts: verdicts::of(&runs, &prototype, &replays),
        ..Page::default()
    };
    page.summarise(&[
        worth(&runs),
        counts::finding(&runs),
        prototype::finding(&prototype),
    ]);
    Ok(page)
}

/// What a better policy could be worth on this trace.
fn worth(runs: &[Run]) -> String {
    let [large, small] = SIZES.map(|pages| {
        let rate = |policy: &str| hit_rate(runs, policy, pages) * 100.0;
        (rate("neo4j"), rate("min"), rate("graven"))
    });
    format!(
        "On recorded pins of Neo4j, its clock hits {:.2} % with {} pages and {:.2} % with {}; Belady's optimum {:.2} and {:.2} %, Graven's own policy {:.2} and \
         {:.2} %.",
        large.0, SIZES[0], small.0, SIZES[1], large.1, small.1, large.2, small.2
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

fn replays(study: &Study, policies: &[&str], tell: Tell<'_>) -> Result<Vec<Replayed>, LabError> {
    // A fault that goes to the device takes a hundred times as long: fewer accesses do.
    let (direct, buffered) = if study.quick {
        (4_000, 30_000)
    } else {
        (30_000, 400_000)
    };
    let stage = study.stage(TRACE, WARM_UP + buffered)?;
    let mut runs = Vec::new();
    for (io, accesses) in [(IoMode::Direct, direct), (IoMode::Buffered, buffered)] {
        let mut settings = Vec::new();
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
                reserve: Reserve::default(),
                warm_up: WARM_UP as f64 / (WARM_UP + accesses) as f64,
                time: None,
                verify: true,
                seed: 1,
            }));
        }
        let part = stage.first(WARM_UP + accesses);
        runs.extend(study.replay(&part, &settings, "replay", tell)?);
    }
    Ok(runs)
}

/// Throughput of a policy at a size and mode, in thousand accesses a second, and half the width of its interval.
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
