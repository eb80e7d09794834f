//! The study's pressure: Neo4j's own pins on the live cache with 16 and 32 MB, by policy, threads
//! and I/O mode.

use graven::IoMode;

use super::{POLICIES, SIZES, WARM_UP, setting};
use crate::error::LabError;
use crate::replay::{self, Replayed, Stage};
use crate::study::{Section, Study, StudyProgress, Table, find};

/// Hit ratios of Neo4j's page cache itself on the recorded pins, one thread: trace, pages, ratio.
const MUNINN: [(&str, u64, f64); 6] = [
    ("neo4j-hop3-1thread", 2040, 0.34452),
    ("neo4j-hop3-1thread", 4080, 0.57913),
    ("neo4j-hop3-4threads", 2040, 0.32378),
    ("neo4j-hop3-4threads", 4080, 0.55323),
    ("neo4j-snb-mix", 2040, 0.58093),
    ("neo4j-snb-mix", 4080, 0.72352),
];

/// Plays the pins by every policy of the study at every size, mode and number of threads.
pub(super) fn replays(
    study: &Study,
    stage: &Stage,
    tell: StudyProgress<'_>,
) -> Result<Vec<Replayed>, LabError> {
    let threads: &[usize] = if study.quick { &[1, 2] } else { &[1, 2, 4, 8] };
    let mut runs = Vec::new();
    // A fault that goes to the device takes a hundred times as long: fewer accesses do.
    let (direct, buffered) = if study.quick {
        (5_000, 40_000)
    } else {
        (30_000, 400_000)
    };
    for (io, accesses) in [(IoMode::Direct, direct), (IoMode::Buffered, buffered)] {
        let part = stage.first(WARM_UP + accesses);
        let mut settings = Vec::new();
        for cache_pages in SIZES {
            for policy in POLICIES {
                settings.extend(threads.iter().map(|&threads| {
                    setting(policy.to_owned(), cache_pages, threads, io, accesses)
                }));
            }
        }
        runs.extend(study.replay(&part, &settings, "replay", tell)?);
    }
    Ok(runs)
}

/// Figures 1 and 2 of the study.
pub(super) fn section(runs: &[Replayed]) -> Section {
    let mut table = Table::new(
        "Every run; k/s: thousand accesses a second",
        &[
            "policy",
            "reads",
            "cache",
            "threads",
            "k/s",
            "hit ratio",
            "simulated",
            "p99, us",
            "lock waits",
            "dropped",
            "device MiB",
        ],
    );
    for run in runs {
        table.rows.push(vec![
            run.policy.clone(),
            run.io.clone(),
            graven::format_bytes(run.cache_bytes),
            run.threads.to_string(),
            format!("{:.0}", run.accesses_per_second / 1e3),
            format!("{:.4}", run.hit_ratio),
            run.simulated_hit_ratio
                .map_or("-".to_owned(), |ratio| format!("{ratio:.4}")),
            format!("{:.1}", run.p99_us),
            run.lock_waits.to_string(),
            run.hits_dropped.to_string(),
            format!("{:.1}", run.device_read_bytes as f64 / f64::from(1 << 20)),
        ]);
    }
    let figure = |io: &String| {
        let of_mode: Vec<Replayed> = runs.iter().filter(|run| run.io == *io).cloned().collect();
        let mut figure = replay::figure(&format!("threads-{io}"), &of_mode);
        figure.title = format!("Throughput and hit ratio against threads, {io} reads");
        figure
    };
    let mut modes: Vec<String> = runs.iter().map(|run| run.io.clone()).collect();
    modes.dedup();
    Section {
        title: "Throughput and hit ratio against threads (figures 1 and 2 of the study)".to_owned(),
        text: vec![
            "Neo4j's own page pins, recorded while it answered the query with four threads over \
                records of 65 MiB, are played on Graven's live \
             cache with the budgets of the study. Direct reads go to the device; buffered reads \
             come from the kernel's cache, as the study's did \
             without its author knowing."
                .to_owned(),
            "Simulated: the hit ratio of one thread in as many frames. The live cache keeps some \
                frames free and pays for its page tables, \
             so it has a few frames less. Direct runs play fewer accesses than buffered ones, so \
             their hit ratios are not to be compared with each other. \
             Dropped: hits that no list policy heard of."
                .to_owned(),
            crate::study::ROUNDS_IN_TURN.to_owned(),
        ],
        figures: modes.iter().map(figure).collect(),
        tables: vec![table],
        ..Section::default()
    }
}

/// Neo4j's cache itself beside the policy that models it.
pub(super) fn reference(study: &Study) -> Result<Section, LabError> {
    let mut table = Table::new(
        "Hit ratio on the recorded pins, one thread",
        &[
            "trace",
            "pages of 8 KiB",
            "Neo4j's cache",
            "simulated `muninn`",
            "difference",
        ],
    );
    for trace in ["neo4j-hop3-1thread", "neo4j-hop3-4threads", "neo4j-snb-mix"] {
        let runs = study.simulate(trace, &["muninn"], &SIZES)?;
        for (_, pages, real) in MUNINN.iter().filter(|row| row.0 == trace) {
            let modelled = find(&runs, "muninn", *pages).map_or(f64::NAN, |run| run.hit_ratio);
            table.rows.push(vec![
                trace.to_owned(),
                pages.to_string(),
                format!("{real:.5}"),
                format!("{modelled:.5}"),
                format!("{:+.5}", modelled - real),
            ]);
        }
    }
    let mut text = vec![
        "The same pins were also played through Neo4j's page cache itself, once for each size; its \
            hit ratios stand beside those of the policy that \
         follows its rules."
            .to_owned(),
    ];
    if study.quick {
        text.push(
            "A quick look plays the first part of a trace only, so the columns differ; \
            without --quick they agree."
                .to_owned(),
        );
    }
    Ok(Section {
        title: "Neo4j's cache itself".to_owned(),
        text,
        tables: vec![table],
        ..Section::default()
    })
}

/// What the opening says of it.
pub(super) fn finding(runs: &[Replayed]) -> String {
    let speed = |policy: &str, io: &str| super::verdicts::throughput(runs, policy, io, 1);
    format!(
        "With one thread, random replacement makes {:.0} thousand accesses a second with buffered \
            reads and {:.0} thousand with direct ones, LRU behind one \
         lock {:.0} and {:.0} thousand: what a fault costs decides how much a better hit ratio is \
         worth.",
        speed("random", "buffered") / 1e3,
        speed("random", "direct") / 1e3,
        speed("lru:protocol=locked", "buffered") / 1e3,
        speed("lru:protocol=locked", "direct") / 1e3
    )
}
