//! The study of Neo4j's page cache: throughput and hit ratio against threads, by policy, at 16 and
//! 32 MB.
//!
//! # How it works
//! | part | what it shows |
//! | --- | --- |
//! | [`batches`] | LRU by the number of hits that a thread hands over at once |
//! | [`pressure`] | the study's figures: Neo4j's recorded pins on the live cache, by policy, threads and I/O mode |
//! | [`policies`] | every policy: simulated, under threads, and the engine beside the simulator |
//! | [`live`] | the same question asked of Graven: blocking faults a question |
//! | [`super::layout`] | order of ids, order of visits and policy |
//! | [`hints`] | scans with and without a hint |
//! | [`resident`] | the resident set around one scan |

mod batches;
mod exhibits;
mod hints;
mod live;
mod policies;
mod pressure;
mod resident;
mod verdicts;

use graven::IoMode;
use graven_pagecache::Reserve;

use super::{Page, Study, StudyProgress, layout};
use crate::error::LabError;
use crate::replay::{EvictorChoice, Setting, Stage};

pub(super) const PARTS: [&str; 10] = [
    "threads",
    "batches",
    "reference",
    "policies",
    "every",
    "equality",
    "live",
    "layout",
    "hints",
    "resident",
];
const TRACE: &str = "neo4j-hop3-4threads";
/// 16 and 32 MB in pages of 8 KiB, as Neo4j counts them.
const SIZES: [u64; 2] = [2040, 4080];
/// Accesses that fill the cache before the counted ones.
const WARM_UP: usize = 10_000;
/// The study's five, and ours.
const POLICIES: [&str; 6] = [
    "random",
    "gclock",
    "lru:protocol=locked",
    "slru:protocol=locked",
    "lru:protocol=combining",
    "graven",
];

/// A replay of so many accesses after the warm-up, as all exhibits run it.
fn setting(
    policy: String,
    cache_pages: u64,
    threads: usize,
    io: IoMode,
    accesses: usize,
) -> Setting {
    Setting {
        policy,
        pools: None,
        cache_pages,
        threads,
        io: io.into(),
        evictor: EvictorChoice::Background,
        reserve: Reserve::default(),
        warm_up: WARM_UP as f64 / (WARM_UP + accesses) as f64,
        time: None,
        verify: true,
        seed: 1,
    }
}

pub(super) fn page(study: &Study, tell: StudyProgress<'_>) -> Result<Page, LabError> {
    tell("reading the recorded pins")?;
    let stage = study.stage(TRACE, if study.quick { 60_000 } else { 500_000 })?;
    let mut page = Page {
        title: "Neo4j's page cache, once more".to_owned(),
        lead: "The founding study put five replacement policies under one query (every person \
            within three friendships) with more and more \
               threads, and found that the simplest scale best. Here are its figures again, on \
               Graven's cache, with direct and with buffered reads."
            .to_owned(),
        ..Page::default()
    };
    let mut replayed = Vec::new();
    if study.wants(&["threads"]) {
        replayed = pressure::replays(study, &stage, tell)?;
        page.push("threads", pressure::section(&replayed));
        page.summary.push(pressure::finding(&replayed));
        exhibits::threads(&mut page, &replayed);
    }
    if study.wants(&["batches"]) {
        let runs = batches::replays(study, &stage, tell)?;
        page.push("batches", batches::section(&runs));
        page.exhibit(
            "batches",
            "making LRU faster, 1",
            "batches of hits",
            "no numbers",
            batches::finding(&runs),
        );
    }
    if study.wants(&["reference"]) {
        page.push("reference", pressure::reference(study)?);
    }
    let mut simulated = Vec::new();
    if study.wants(&["policies"]) {
        tell("simulating every policy")?;
        simulated = policies::simulate(study)?;
        page.push("policies", policies::section(&simulated));
        page.summary.push(policies::finding(&simulated));
        exhibits::policies(&mut page, &simulated);
    }
    if study.wants(&["every"]) {
        let every = policies::replays(study, &stage, tell)?;
        page.push("every", policies::threads_section(&every));
    }
    if study.wants(&["equality"]) {
        let equality = policies::engine_and_simulator(study, &stage, tell)?;
        page.push("equality", policies::equality_section(&equality));
    }
    drop::<Stage>(stage);
    if study.wants(&["live"]) {
        let (starts, live) = live::ask(study, tell)?;
        page.starts = starts;
        page.push("live", live::section(&live));
        page.summary.push(live::finding(&live));
        exhibits::live(&mut page, &live);
    }
    if study.wants(&["layout"]) {
        tell("layout, order and policy")?;
        let layout = layout::measure(&study.data, if study.quick { 12 } else { 60 })?;
        page.push("layout", layout::section(&layout));
        page.summary.push(layout::finding(&layout));
    }
    if study.wants(&["hints"]) {
        tell("scan hints")?;
        let hints = hints::measure(study)?;
        page.push("hints", hints::section(&hints));
        page.summary.push(hints::finding(&hints));
    }
    if study.wants(&["resident"]) {
        page.push("resident", resident::section(&resident::measure()?));
    }
    page.verdicts = verdicts::of(&replayed, &simulated);
    Ok(page)
}
