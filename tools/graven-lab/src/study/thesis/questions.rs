//! The thesis's three research questions, answered in words with the numbers of this run.

use super::{PROTOTYPE_PAGES, Sizes, hit_rate, speed};
use crate::replay::Replayed;
use crate::simulate::Run;
use crate::study::{Section, Table, find, percent};

/// Time of a fault in the thesis's sums.
const FAULT_SECONDS: f64 = 1e-4;

pub(super) fn section(
    runs: &[Run],
    prototype: &[Run],
    replays: &[Replayed],
    sizes: Sizes,
) -> Section {
    let rate = |policy: &str, pages: u64| hit_rate(runs, policy, pages);
    let gain = |policy: &str| {
        sizes.map(|pages| (rate(policy, pages) - rate("neo4j:count=4,arm=thread", pages)) * 100.0)
    };
    let seven = gain("neo4j:count=7,arm=global");
    let own = gain("graven");
    let most = gain("min");
    let headroom = find(prototype, "neo4j", PROTOTYPE_PAGES)
        .map_or(f64::NAN, |run| (1.0 - run.share_of_min) * 100.0);
    // Of ten accesses one faults: what a decision may cost when all faults were avoided, and when
    // only the better policy's are.
    let fault_ratio = 1.0 - rate("neo4j", sizes[1]);
    let avoided = (rate("graven", sizes[1]) - rate("neo4j", sizes[1])).max(0.0);
    let exact = speed(replays, "history:ghost=exact", sizes[1], "buffered").0
        / speed(replays, "neo4j", sizes[1], "buffered").0;
    let mut negative = Table::new(
        "What does not help: hit rate less that of the current clock, points",
        &["policy", "larger size", "smaller size"],
    );
    for (name, policy) in [
        ("LFU", "lfu"),
        ("CLOCK", "clock"),
        ("random", "random"),
        ("CLOCK-Pro of the thesis", "thesis-clockpro"),
    ] {
        let less = |pages: u64| {
            format!(
                "{:+.2}",
                (rate(policy, pages) - rate("neo4j", pages)) * 100.0
            )
        };
        negative
            .rows
            .push(vec![name.to_owned(), less(sizes[0]), less(sizes[1])]);
    }
    Section {
        title: "The three research questions".to_owned(),
        text: vec![
            format!(
                "1. What can be improved in the current policy? The thesis: counting to 7 and one \
                    global arm, +0.07 points. Here the two together change the hit rate by \
                 {:+.2} points at {} pages and {:+.2} at {}; Graven's own policy by {:+.2} and \
                 {:+.2}.",
                seven[0], sizes[0], seven[1], sizes[1], own[0], own[1]
            ),
            format!(
                "2. How much is there to gain? The thesis: 0.42 % of the optimum on its \
                    prototype's trace, and 12.5 million faults (1,250 s at 0.1 ms) for 0.07 points \
                    in \
                 the database. Here the prototype's kind of trace leaves {headroom:.2} %; on \
                 recorded pins the optimum lies {:.2} and {:.2} points above the current \
                 policy. The small headroom belongs to the trace, not to the problem.",
                most[0], most[1]
            ),
            format!(
                "3. What may an access cost? With the thesis's 0.1 ms a fault and 10 % faults a \
                    decision may cost 0.01 ms at most. At {} pages {} % of the accesses \
                 fault: {:.1} us at most if no access faulted any more, {:.2} us for the faults \
                 that Graven's own policy avoids. An exact set of ghosts leaves {:.2} of the \
                 throughput here (thesis: about 0.1).",
                sizes[1],
                percent(fault_ratio),
                fault_ratio * FAULT_SECONDS * 1e6,
                avoided * FAULT_SECONDS * 1e6,
                exact
            ),
        ],
        tables: vec![negative],
        ..Section::default()
    }
}
