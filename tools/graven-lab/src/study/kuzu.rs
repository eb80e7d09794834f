//! Variable-size pages: two static pools against size classes, and ways from a page to its frame.
//!
//! # How it works
//! Thirty-one queries run one after the other on each buffer manager (`pools.rs`), in a small
//! budget, in a middle one, and in a large one where memory is looked at after every query. What a
//! page costs on the way to its frame is measured apart (`ways.rs`). Figures 1 to 3 of the original
//! are played on a small memory (`waste.rs`).

mod pools;
mod verdicts;
mod waste;
mod ways;

use super::{Page, Section, Study, StudyProgress, Table};
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::release::{self, Released};
use pools::{Layout, Pools, QUERIES, Ran, Scale, demand, memory};
use ways::Way;

pub(super) const PARTS: [&str; 5] = ["waste", "completion", "memory", "release", "ways"];
/// Times that a query is repeated, as in the original.
const REPETITIONS: u32 = 5;

/// All queries on one buffer manager.
struct Outcome {
    budget: u64,
    layout: Layout,
    /// Growth of virtual and physical memory in MiB before the first query.
    start: (f64, f64),
    ran: Vec<Ran>,
}

impl Outcome {
    /// Time of the queries that complete here and there; what failed is not mixed in.
    fn milliseconds(&self, other: &Self) -> f64 {
        let both = self.ran.iter().zip(&other.ran);
        both.filter(|(a, b)| a.completed && b.completed)
            .map(|(one, _)| one.milliseconds)
            .sum()
    }

    fn incomplete(&self) -> Vec<String> {
        let failed = self
            .ran
            .iter()
            .enumerate()
            .filter(|(_, one)| !one.completed);
        failed.map(|(at, _)| format!("Q{}", at + 1)).collect()
    }
}

/// Budgets and data of the three experiments.
fn experiments(quick: bool) -> [(u64, Scale, u64); 3] {
    let (middle, large) = if quick { (64, 128) } else { (512, 1024) };
    let mib = |count: u64| count << 20;
    // Where memory is looked at, the queries want about three fifths of it, as in the original.
    [
        (mib(32), Scale::Tight, mib(32)),
        (mib(middle), Scale::Roomy, mib(middle)),
        (mib(large), Scale::Roomy, mib(large) / 5 * 2),
    ]
}

pub(super) fn report(study: &Study, tell: StudyProgress<'_>) -> Result<Page, LabError> {
    let folder = tempfile::tempdir_in(&study.scratch)
        .map_err(LabError::io(&study.scratch, "making a folder"))?;
    let path = folder.path().join("tables");
    let experiments = experiments(study.quick);
    let file = std::fs::File::create(&path).map_err(LabError::io(&path, "creating"))?;
    // Holes read as zeros: enough for pages that are never verified.
    file.set_len(2 * experiments[2].0)
        .map_err(LabError::io(&path, "sizing"))?;
    let (mut completed, mut grown) = (Vec::new(), Vec::new());
    for (budget, scale, data) in experiments {
        // Where memory is looked at, the queries want less than the budget.
        let (part, outcomes) = match data == budget {
            true => ("completion", &mut completed),
            false => ("memory", &mut grown),
        };
        if !study.wants(&[part]) {
            continue;
        }
        for layout in [Layout::TwoPools, Layout::SizeClasses] {
            tell(&format!(
                "{QUERIES} queries, {}, {}",
                graven::format_bytes(budget),
                layout.name()
            ))?;
            // What earlier pools left is subtracted.
            let base = memory();
            let pools = Pools::new(budget, layout, &path)?;
            let start = memory();
            // Memory is looked at after the first time; times are the median of the repetitions
            // behind it.
            let repetitions = if data == budget { REPETITIONS } else { 0 };
            let mut ran = Vec::new();
            for number in 1..=QUERIES {
                let wanted = demand(number, data, scale);
                let mut one = pools.run(wanted)?.above(base);
                let mut times = Vec::new();
                for _ in 0..repetitions {
                    times.push(pools.run(wanted)?.milliseconds);
                }
                one.repetitions.clone_from(&times);
                times.sort_by(f64::total_cmp);
                if let Some(median) = times.get(times.len() / 2) {
                    one.milliseconds = *median;
                }
                ran.push(one);
            }
            outcomes.push(Outcome {
                budget,
                layout,
                start: (start.0 - base.0, start.1 - base.1),
                ran,
            });
        }
    }
    let mut page = Page {
        title: "Variable-size pages in a buffer manager, once more".to_owned(),
        lead:
            "The founding project gave Kuzu a buffer manager whose 4 KiB and 256 KiB pages share \
            one budget, in place of two pools with a fixed \
               split of 75 to 25. Here are its figures on Graven's page cache: one cache with size \
               classes beside two of that split, with the \
               same policy and the same evictor, so that nothing but the layout differs."
                .to_owned(),
        ..Page::default()
    };
    if study.wants(&["waste"]) {
        let played = waste::measure();
        let wasted: Vec<String> = played.iter().map(|one| one.wasted.to_string()).collect();
        page.exhibit(
            "waste",
            "figures 1 to 3",
            "fragmentation in one pool, waste in static pools, size classes",
            "three moments, drawn only",
            format!(
                "requests refused with enough bytes not pinned: {} (model)",
                wasted.join(", ")
            ),
        );
        page.push("waste", waste::section(&played));
    }
    if !completed.is_empty() {
        page.push("completion", completion(&completed));
        page.summary.push(findings(&completed));
        let times = |at: usize| format!("{:.0} ms", completed[at].milliseconds(&completed[at ^ 1]));
        page.exhibit(
            "completion",
            "figures 4 and 5",
            "completion times of 31 queries, SF 0.1 in 32 MB and SF 1 in 512 MB",
            "drawn only",
            format!(
                "queries that complete with both: {} with two pools, {} with size classes; {} and \
                    {} (model)",
                times(0),
                times(1),
                times(2),
                times(3)
            ),
        );
    }
    if !grown.is_empty() {
        page.push("memory", memory_section(&grown));
        let end = |at: usize, value: fn(&Ran) -> f64| grown[at].ran.last().map_or(0.0, value);
        let spans = |start: [f64; 2], value: fn(&Ran) -> f64| {
            format!(
                "pools {:.0} to {:.0} MiB, size classes {:.0} to {:.0} MiB (model)",
                start[0],
                end(0, value),
                start[1],
                end(1, value)
            )
        };
        page.exhibit(
            "memory",
            "figure 6",
            "virtual memory after each query",
            "about twice as much with size classes",
            spans([grown[0].start.0, grown[1].start.0], |one| one.virtual_mib),
        );
        page.exhibit(
            "memory",
            "figure 7",
            "physical memory after each query, 1 GB",
            "1 GB throughout; about 550 MB at the end with size classes",
            spans([grown[0].start.1, grown[1].start.1], |one| one.physical_mib),
        );
    }
    if study.wants(&["release"]) {
        tell("ways to give memory back")?;
        let (mib, rounds) = if study.quick { (32, 1) } else { (256, 5) };
        let released = release::measure(mib << 20, rounds)?;
        page.exhibit(
            "release",
            "section 3.1.3",
            "memory given back when a page is evicted: madvise with MADV_DONTNEED",
            "not measured",
            told(&released),
        );
        page.push("release", release_section(&released));
    }
    let mut ways = Vec::new();
    if study.wants(&["ways"]) {
        tell("ways from a page to its frame")?;
        ways = ways::measure(if study.quick { 400_000 } else { 8_000_000 })?;
        page.push("ways", ways_section(&ways));
        page.summary.push(format!(
            "A swizzled word reaches the next page in {:.0} ns, an array in {:.0} ns, a hash map \
                in {:.0} ns.",
            ways[2].chained, ways[1].chained, ways[0].chained
        ));
    }
    page.verdicts = verdicts::of(&completed, &grown, &ways);
    Ok(page)
}

/// Cost and resident share of every way, in words.
fn told(released: &[Released]) -> String {
    let each = released.iter().map(|one| match &one.refused {
        Some(why) => format!("{}: refused ({why})", one.way),
        None => format!(
            "{}: {:.0} ns a page, {:.0} % resident after it",
            one.way,
            one.release_ns,
            one.resident_after * 100.0
        ),
    });
    each.collect::<Vec<_>>().join("; ")
}

fn release_section(released: &[Released]) -> Section {
    let mut table = Table::new(
        "Ways to give memory back, in pieces of 64 KiB",
        &[
            "way",
            "release, ns a page",
            "resident then, %",
            "next use, ns a page",
            "resident again, %",
        ],
    );
    for one in released {
        let number = |value: f64| match one.refused {
            Some(_) => "refused".to_owned(),
            None => format!("{value:.0}"),
        };
        table.rows.push(vec![
            one.way.to_owned(),
            number(one.release_ns),
            number(one.resident_after * 100.0),
            number(one.reuse_ns),
            number(one.resident_again * 100.0),
        ]);
    }
    Section {
        title: "Giving memory back".to_owned(),
        text: vec![
            "The original gives the frame of an evicted page back to the system at once. A region \
                is written, released in every way, and written again; times are processor time, the \
             median of the rounds. What costs the next use is what a release saves elsewhere: \
             MADV_FREE counts as resident until the system needs memory; MADV_COLD and MADV_PAGEOUT \
             keep the content and do nothing without swap. A hole needs a memory file, and takes the \
             page from all its mappings."
                .to_owned(),
        ],
        figures: vec![release::figure(released)],
        tables: vec![table],
        ..Section::default()
    }
}

fn findings(outcomes: &[Outcome]) -> String {
    format!(
        "At {} and {}, {} and {} of {QUERIES} queries do not complete with two pools, {} and {} \
            with one budget.",
        graven::format_bytes(outcomes[0].budget),
        graven::format_bytes(outcomes[2].budget),
        outcomes[0].incomplete().len(),
        outcomes[2].incomplete().len(),
        outcomes[1].incomplete().len(),
        outcomes[3].incomplete().len(),
    )
}

/// One panel for each pair of outcomes, a line for each buffer manager.
fn panels(
    outcomes: &[Outcome],
    title: &str,
    axis: &Axis,
    value: &dyn Fn(&Ran) -> f64,
) -> Vec<Panel> {
    let queries: Vec<String> = (1..=QUERIES).map(|number| format!("Q{number}")).collect();
    let line = |outcome: &Outcome| {
        let points = outcome.ran.iter().enumerate();
        let points = points.map(|(at, one)| (at as f64, value(one))).collect();
        Series::new(outcome.layout.name(), points)
    };
    let panel = |pair: &[Outcome]| Panel {
        title: format!("{title}, {}", graven::format_bytes(pair[0].budget)),
        x: Axis::categories("query", queries.clone()),
        y: axis.clone(),
        shape: Shape::Lines,
        series: pair.iter().map(line).collect(),
    };
    outcomes.chunks(2).map(panel).collect()
}

/// Figures 4 and 5 of the original.
fn completion(outcomes: &[Outcome]) -> Section {
    let mut table = Table::new(
        "Queries that complete",
        &[
            "budget",
            "buffer manager",
            "completed",
            "which do not",
            "queries that complete with both, ms",
        ],
    );
    for (at, outcome) in outcomes.iter().enumerate() {
        let failed = outcome.incomplete();
        let milliseconds = outcome.milliseconds(&outcomes[at ^ 1]);
        table.rows.push(vec![
            graven::format_bytes(outcome.budget),
            outcome.layout.name().to_owned(),
            format!(
                "{} of {}",
                outcome.ran.len() - failed.len(),
                outcome.ran.len()
            ),
            if failed.is_empty() {
                "none".to_owned()
            } else {
                failed.join(", ")
            },
            format!("{milliseconds:.0}"),
        ]);
    }
    let time = |one: &Ran| {
        if one.completed {
            one.milliseconds
        } else {
            f64::NAN
        }
    };
    Section {
        title: "Which queries complete (figures 4 and 5)".to_owned(),
        text: vec![
            "A query is what the buffer manager sees of it: table pages of 4 KiB read in order, \
                some of them pinned to its end, and intermediate \
             pages of 256 KiB. Q25 to Q27 order a whole table and keep most of its pages pinned, \
             more than three quarters of the budget; Q28 \
             aggregates one in more large pages than a quarter of the budget holds. The demands \
             follow the original's description; they are not \
             taken from Kuzu. Q25 needs less than three quarters at the larger scale, where it \
             completed in the original, too."
                .to_owned(),
            format!(
                "Times are the median of {REPETITIONS} repetitions of a query, after one that \
                is not counted, so that other work on the machine disturbs few of them."
            ),
        ],
        figures: vec![Figure {
            name: "completion".to_owned(),
            title: "Time of each query; a gap in a line is a query that does not \
                complete"
                .to_owned(),
            panels: panels(outcomes, "time", &Axis::log("milliseconds"), &time),
            columns: 2,
        }],
        tables: vec![table],
        ..Section::default()
    }
}

/// Figures 6 and 7 of the original.
fn memory_section(outcomes: &[Outcome]) -> Section {
    let mib = Axis::from_zero("MiB");
    let mut panels_of = panels(outcomes, "virtual memory after each query", &mib, &|one| {
        one.virtual_mib
    });
    panels_of.extend(panels(
        outcomes,
        "physical memory after each query",
        &mib,
        &|one| one.physical_mib,
    ));
    let mut table = Table::new(
        "Growth of the process in MiB",
        &[
            "buffer manager",
            "virtual at the start",
            "virtual at the end",
            "physical at the start",
            "physical at the end",
        ],
    );
    for outcome in outcomes {
        let end = outcome
            .ran
            .last()
            .map_or((0.0, 0.0), |one| (one.virtual_mib, one.physical_mib));
        let mut row = vec![outcome.layout.name().to_owned()];
        row.extend([outcome.start.0, end.0, outcome.start.1, end.1].map(|mib| format!("{mib:.0}")));
        table.rows.push(row);
    }
    Section {
        title: "Memory after every query (figures 6 and 7)".to_owned(),
        text: vec![
            "Growth over the process before the buffer manager was made. The pools are allocated \
                and touched at the start; size classes reserve \
             addresses and take memory as pages come. The queries together want about three fifths \
             of the budget."
                .to_owned(),
        ],
        figures: vec![Figure {
            name: "memory".to_owned(),
            title: "Virtual and physical memory".to_owned(),
            panels: panels_of,
            columns: 2,
        }],
        tables: vec![table],
        ..Section::default()
    }
}

fn ways_section(ways: &[Way]) -> Section {
    let mut table = Table::new(
        "A hit on one of 4,096 resident pages, nanoseconds",
        &[
            "way",
            "each waits for the one before",
            "pages known beforehand",
        ],
    );
    for way in ways {
        table.rows.push(vec![
            way.name.to_owned(),
            format!("{:.1}", way.chained),
            format!("{:.1}", way.listed),
        ]);
    }
    let panel = |title: &str, value: &dyn Fn(&Way) -> f64| Panel {
        title: title.to_owned(),
        x: Axis::from_zero("nanoseconds an access"),
        shape: Shape::Bars,
        series: ways
            .iter()
            .map(|way| Series::new(way.name, vec![(0.0, value(way))]))
            .collect(),
        ..Panel::default()
    };
    Section {
        title: "From a page to its frame: maps and pointers (the original's outlook)".to_owned(),
        text: vec![
            "The bare ways translate and read one word of frames that never move; nothing keeps a \
                page from leaving. A swizzled word would have to \
             be turned back into a number in its parent before its page may leave, which the \
             prototype does not charge. Graven's ways also compare the page's \
             identity and state, count the hit, and keep the page from leaving (pinned) or check \
             afterwards that it did not (optimistic)."
                .to_owned(),
        ],
        figures: vec![Figure {
            name: "ways".to_owned(),
            title: "From a page to its frame".to_owned(),
            columns: 2,
            panels: vec![
                panel("each access waits for the one before", &|way| way.chained),
                panel("pages known beforehand", &|way| way.listed),
            ],
        }],
        tables: vec![table],
        ..Section::default()
    }
}
