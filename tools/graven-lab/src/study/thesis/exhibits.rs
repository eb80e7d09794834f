//! The thesis's tables and figures beside ours, for the index.

use super::{PROTOTYPE_PAGES, Sizes, hit_rate};
use crate::simulate::Run;
use crate::study::{Page, find, percent};

const DRAWN: &str = "drawn only";

pub(super) fn add(page: &mut Page, runs: &[Run], sweep: &[Run], prototype: &[Run], sizes: Sizes) {
    let rates = |policy: &str| {
        let [large, small] = sizes.map(|pages| percent(hit_rate(runs, policy, pages)));
        format!("{large} % and {small} %")
    };
    let whole = sweep
        .iter()
        .filter(|run| run.policy == "neo4j")
        .map(|run| run.hit_ratio)
        .fold(0.0, f64::max);
    page.exhibit(
        "sizes",
        "table 4.1",
        "hit rate by cache size",
        "99.84, 97.15 and 88.84 % with 300,000, 75,000 and 37,500 MiB",
        format!(
            "{} % with all pages; sizes chosen for the other two: {} ({} and {} pages)",
            percent(whole),
            rates("neo4j"),
            sizes[0],
            sizes[1]
        ),
    );
    page.exhibit(
        "sizes",
        "table 4.2",
        "current against random",
        "97.15 and 94.95 %",
        format!("current {}, random {}", rates("neo4j"), rates("random")),
    );
    for (source, what, arm) in [
        (
            "figures 4.1 and 4.3",
            "hit rate by largest count, a start for each eviction",
            "thread",
        ),
        (
            "figures 4.5 and 4.7",
            "hit rate by largest count, one arm",
            "global",
        ),
    ] {
        let at = |count: u8| rates(&format!("neo4j:count={count},arm={arm}"));
        let numbers =
            "97.15 % for 4 and 97.22 % for 7 at the larger size (table 4.3); the rest drawn only";
        let ours = format!("1: {}; 4: {}; 7: {}", at(1), at(4), at(7));
        page.exhibit("counts", source, what, numbers, ours);
    }
    page.exhibit(
        "counts",
        "figures 4.2, 4.4, 4.6 and 4.8",
        "throughput by largest count and arm, two sizes",
        DRAWN,
        "the same four figures with error bars, direct and buffered reads",
    );
    page.exhibit(
        "clocks",
        "figure 4.9",
        "throughput of CLOCK variants",
        DRAWN,
        "the same figure with error bars",
    );
    page.exhibit(
        "clocks",
        "figure 4.10",
        "hit rate of CLOCK variants",
        "CLOCK-Pro adaptive 96.98 % (table 4.3), current 97.15 %; the rest drawn only",
        format!(
            "CLOCK {}, CLOCK-Pro {}, adaptive {}, CLOCK-Pro+ {}",
            rates("clock"),
            rates("thesis-clockpro"),
            rates("thesis-clockpro-adaptive"),
            rates("thesis-clockpro-plus")
        ),
    );
    page.exhibit(
        "history",
        "figure 4.11",
        "throughput of three structures of history",
        "drawn; almost 90 % less for the exact set (in the text)",
        "the same figure with error bars",
    );
    page.exhibit(
        "history",
        "figure 4.12",
        "hit rate of three structures of history",
        "97.11 % for the exact set with counts to 7; the rest drawn only",
        format!(
            "exact {}, cleaned {}, bitset {}, exact with counts to 7 {}",
            rates("history:ghost=exact"),
            rates("history:ghost=cleaned"),
            rates("history:ghost=bitset"),
            rates("hist-7-7")
        ),
    );
    page.exhibit(
        "summary",
        "table 4.3",
        "best hit rates",
        "97.15, 94.95, 97.22, 97.22, 96.98 and 97.11 %",
        format!(
            "current {}, random {}, to 7 {}, to 7 with one arm {}, CLOCK-Pro adaptive {}, history \
                to 7 {}",
            rates("neo4j:count=4,arm=thread"),
            rates("random"),
            rates("neo4j:count=7,arm=thread"),
            rates("neo4j:count=7,arm=global"),
            rates("thesis-clockpro-adaptive"),
            rates("hist-7-7")
        ),
    );
    let share = |policy: &str| {
        let run = find(prototype, policy, PROTOTYPE_PAGES);
        percent(run.map_or(f64::NAN, |run| run.share_of_min))
    };
    page.exhibit(
        "prototype",
        "table 4.4",
        "prototype: share of the optimum",
        "random 97.72, current 99.58, CLOCK 99.54, CLOCK-Pro 99.52, with history 99.71 %",
        format!(
            "random {}, current {}, CLOCK {}, CLOCK-Pro {}, with history {} %",
            share("random"),
            share("neo4j"),
            share("clock"),
            share("thesis-clockpro"),
            share("hist-4-7")
        ),
    );
    page.exhibit(
        "prototype",
        "table 4.5",
        "prototype: history and count to 7",
        "99.72 %",
        format!("{} %", share("hist-7-7")),
    );
}
