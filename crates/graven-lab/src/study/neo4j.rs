//! The study of Neo4j's page cache: throughput and hit ratio against threads, by policy, at 16 and 32 MB.
//!
//! # How it works
//! | part | what it shows |
//! | --- | --- |
//! | [`pressure`] | the study's figures: Neo4j's recorded pins on the live cache, by policy, threads and I/O mode |
//! | [`policies`] | every policy: simulated, under threads, and the engine beside the simulator |
//! | [`live`] | the same question asked of Graven: blocking faults a question |
//! | [`super::layout`] | order of ids, order of visits and policy |
//! | [`hints`] | scans with and without a hint |
//! | [`resident`] | the resident set around one scan |

mod hints;
mod live;
mod policies;
mod pressure;
mod resident;
mod verdicts;

use super::{Page, Study, Tell, layout};
use crate::error::LabError;
use crate::replay::Stage;

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

pub(super) fn page(study: &Study, tell: Tell<'_>) -> Result<Page, LabError> {
    tell("reading the recorded pins")?;
    let stage = study.stage(TRACE, if study.quick { 60_000 } else { 500_000 })?;
    let replayed = pressure::replays(study, &stage, tell)?;
    let every = policies::replays(study, &stage, tell)?;
    tell("engine beside simulator")?;
    let equality = policies::engine_and_simulator(study, &stage, tell)?;
    drop::<Stage>(stage);
    tell("simulating every policy")?;
    let simulated = policies::simulate(study)?;
    let live = live::ask(study, tell)?;
    tell("layout, order and policy")?;
    let layout = layout::measure(&study.data, if study.quick { 12 } else { 60 })?;
    tell("scan hints")?;
    let hints = hints::measure(study)?;
    let resident = resident::measure()?;
    let mut page = Page {
        title: "Neo4j's page cache, once more".to_owned(),
        lead: "The founding study put five replacement policies under one query (everybody within three friendships) with more and more \
               threads, and found that the simplest scale best. Here are its figures again, on Graven's cache, with direct and with buffered reads."
            .to_owned(),
        verdicts: verdicts::of(&replayed, &simulated),
        sections: vec![
            pressure::section(&replayed),
            pressure::reference(study)?,
            policies::section(&simulated),
            policies::threads_section(&every),
            policies::equality_section(&equality),
            live::section(&live),
            layout::section(&layout),
            hints::section(&hints),
            resident::section(&resident),
        ],
        ..Page::default()
    };
    page.summarise(&[
        pressure::finding(&replayed),
        policies::finding(&simulated),
        layout::finding(&layout),
        live::finding(&live),
        hints::finding(&hints),
    ]);
    Ok(page)
}
