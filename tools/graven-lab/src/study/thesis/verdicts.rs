//! What became of the thesis's claims.

use super::{CLOCKS, PROTOTYPE_PAGES, Sizes, hit_rate, names_of_counts, speed};
use crate::replay::Replayed;
use crate::simulate::Run;
use crate::statistics::{Claim, Standing, all};
use crate::study::{Rounds, Verdict, find, listed};

pub(super) fn of(
    runs: &[Run],
    prototype: &[Run],
    replays: &[Replayed],
    sizes: Sizes,
) -> Vec<Verdict> {
    let points = |a: f64, b: f64| (a - b) * 100.0;
    let rate = |policy: &str, size: usize| hit_rate(runs, policy, sizes[size]);
    let both = |a: &str, b: &str| {
        [
            points(rate(a, 0), rate(b, 0)),
            points(rate(a, 1), rate(b, 1)),
        ]
    };
    let shown = |d: [f64; 2]| {
        format!(
            "{:+.2} points at {} pages, {:+.2} at {}.",
            d[0], sizes[0], d[1], sizes[1]
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
    let history = both("history:ghost=exact", "neo4j");
    let slow = |policy: &str| {
        let of = |policy| speed(replays, policy, sizes[1], "buffered").0;
        of(policy) / of("neo4j")
    };
    let share = |policy: &str| {
        find(prototype, policy, PROTOTYPE_PAGES).map_or(0.0, |run| run.share_of_min * 100.0)
    };
    let rounds = |policies: &[&str], pages: &[u64]| {
        let is_asked = |run: &&Replayed| {
            run.io == "buffered"
                && policies.contains(&run.policy.as_str())
                && pages.contains(&run.cache_pages)
        };
        Rounds::of(replays.iter().filter(is_asked))
    };
    let small = |policy: &str| rounds(&[policy], &sizes[1..]);
    let exact = small("history:ghost=exact").against(&small("neo4j"), Claim::Below(0.3));
    let names = names_of_counts();
    let of_count = |count: u8| {
        let of = names.iter().filter(|(known, _, _)| *known == count);
        let policies: Vec<&str> = of.map(|(_, _, name)| name.as_str()).collect();
        rounds(&policies, &sizes)
    };
    let seven: Vec<(u8, (Standing, String))> = (1..7)
        .map(|count| {
            (
                count,
                of_count(7).against(&of_count(count), Claim::Above(1.0)),
            )
        })
        .collect();
    let variants = [
        "clockpro",
        "thesis-clockpro",
        "thesis-clockpro-adaptive",
        "thesis-clockpro-plus",
    ];
    let clock_against: Vec<(&str, (Standing, String))> = variants
        .iter()
        .map(|other| {
            (
                *other,
                small("clock").against(&small(other), Claim::Above(1.25)),
            )
        })
        .collect();
    let on_large = rate("min", 0) - rate("neo4j", 0);
    vec![
        Verdict::judged(
            "Random replacement is clearly worse than the current policy",
            random.iter().all(|d| *d > 0.2),
            shown(random),
        )
        .of("sizes", "table 4.2", "94.95 against 97.15 %"),
        Verdict::judged(
            "The higher the count, the better the hit rate",
            higher.iter().all(|d| *d > 0.0),
            format!("Count to 7 against 4, one arm: {}", shown(higher)),
        )
        .of(
            "counts",
            "figures 4.1 to 4.8",
            "97.22 % for 7, 97.15 % for 4",
        ),
        Verdict::judged(
            "One global arm raises the hit rate over a random start",
            arm.iter().all(|d| *d > 0.0),
            format!("Count to 7: {}", shown(arm)),
        )
        .of("counts", "section 5.1.2", "no numbers"),
        Verdict::judged(
            "A global arm helps more, the smaller the cache",
            arm[1] > arm[0],
            format!("Count to 7, one arm against random start: {}", shown(arm)),
        )
        .of("counts", "section 5.1.2", "no numbers"),
        Verdict::judged(
            "None of the CLOCK variants improves the hit rate",
            best_clock <= 0.02,
            format!(
                "Best of the variants against the current clock: {best_clock:+.2} points; \
                    CLOCK-Pro as published, without the cap on hot pages: {}",
                shown(published)
            ),
        )
        .of("clocks", "section 5.1.4", "96.98 against 97.15 %"),
        Verdict::judged(
            "History does not raise the hit rate in the database, though it does in the prototype",
            history.iter().all(|d| *d <= 0.0) && share("hist-4-7") > share("neo4j"),
            format!(
                "Here: {} Prototype: {:.2} % of the optimum against {:.2} %.",
                shown(history),
                share("hist-4-7"),
                share("neo4j")
            ),
        )
        .of(
            "history",
            "section 5.1.3",
            "97.11 against 97.15 %; prototype 99.71 against 99.58 % \
            of the optimum",
        ),
        Verdict::timed(
            "An exact set of ghosts costs almost 90 % of the throughput",
            exact.0,
            format!(
                "Throughput against the current clock, small cache, buffered reads: exact {}, \
                    means of cleaned {:.2}, of bitset {:.2}. Ghosts are touched on faults only, \
                    under the lock that a fault takes anyway.",
                exact.1,
                slow("history:ghost=cleaned"),
                slow("history:ghost=bitset")
            ),
        )
        .of("history", "section 5.1.3, figure 4.11", "almost 90 %"),
        Verdict::judged(
            "The current policy reaches 99.58 % of the optimum: there is little to gain",
            share("neo4j") > 99.0 && on_large < 0.005,
            format!(
                "Prototype's kind of trace: {:.2} %. On recorded pins the optimum is {:.2} points \
                    above it at {} pages and {:.2} at {}.",
                share("neo4j"),
                on_large * 100.0,
                sizes[0],
                points(rate("min", 1), rate("neo4j", 1)),
                sizes[1]
            ),
        )
        .of("questions", "section 5.2", "99.58 %; 0.42 % to gain"),
        Verdict::timed(
            "The best throughput is that of the largest count, 7",
            all(seven.iter().map(|(_, (standing, _))| *standing)),
            format!(
                "Buffered reads, two threads, both sizes and arms together, count to 7 against {}.",
                listed(
                    seven
                        .iter()
                        .map(|(count, (_, text))| format!("{count}: {text}"))
                )
            ),
        )
        .of("counts", "figures 4.2 and 4.6", "drawn only"),
        Verdict::timed(
            "CLOCK has a much higher throughput than the other CLOCK variants (here: by a quarter)",
            all(clock_against.iter().map(|(_, (standing, _))| *standing)),
            format!(
                "Small cache, buffered reads, two threads, CLOCK against {}.",
                listed(
                    clock_against
                        .iter()
                        .map(|(other, (_, text))| format!("{other}: {text}"))
                )
            ),
        )
        .of("clocks", "figure 4.9", "drawn only"),
        Verdict::judged(
            "The exact set of ghosts has a higher hit rate than the approximations",
            both("history:ghost=exact", "history:ghost=bitset")
                .iter()
                .all(|d| *d > 0.0)
                && both("history:ghost=exact", "history:ghost=cleaned")
                    .iter()
                    .all(|d| *d > 0.0),
            format!(
                "Exact less cleaned: {} Exact less bitset: {}",
                shown(both("history:ghost=exact", "history:ghost=cleaned")),
                shown(both("history:ghost=exact", "history:ghost=bitset"))
            ),
        )
        .of("history", "figure 4.12", "drawn only"),
        Verdict::not_testable(
            "Throughput gains of the database benchmark at scale factor 100 (figures 4.1 to 4.12)",
            "That benchmark needs Neo4j, 75,000 MiB of cache and many cores; the figures here play \
                recorded pins on two threads.",
        )
        .of("counts", "figures 4.1 to 4.12", "drawn only"),
    ]
}
