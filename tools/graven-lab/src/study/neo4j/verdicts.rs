//! What became of the study's claims.

use super::{POLICIES, SIZES};
use crate::replay::Replayed;
use crate::simulate::Run;
use crate::statistics::{Claim, Standing, all};
use crate::study::{Rounds, Verdict, find, listed};

/// The rounds of a policy at one size.
fn rounds(runs: &[Replayed], policy: &str, io: &str, pages: u64) -> Rounds {
    let is_asked = |run: &&Replayed| {
        run.policy == policy && run.io == io && run.threads == 1 && run.cache_pages == pages
    };
    Rounds::of(runs.iter().filter(is_asked))
}

/// Throughput of `a` as a part of that of `b`, with one thread, at both sizes: how a claim stands,
/// and the intervals.
fn compared(
    runs: &[Replayed],
    a: (&str, &str),
    b: (&str, &str),
    claim: Claim,
) -> (Standing, String) {
    let at = |pages| rounds(runs, a.0, a.1, pages).against(&rounds(runs, b.0, b.1, pages), claim);
    let [small, large] = SIZES.map(at);
    let text = format!("{} at 16 MiB, {} at 32 MiB", small.1, large.1);
    (all([small.0, large.0]), text)
}

/// Mean throughput over the sizes by policy, mode and threads.
pub(super) fn throughput(runs: &[Replayed], policy: &str, io: &str, threads: usize) -> f64 {
    let of = runs
        .iter()
        .filter(|run| run.policy == policy && run.io == io && run.threads == threads);
    let all: Vec<f64> = of.map(|run| run.accesses_per_second).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// A claim on more threads than this machine has.
fn scaling(runs: &[Replayed], claim: &str, policies: &[&str], wanted: usize) -> Verdict {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = runs.iter().map(|run| run.threads).max().unwrap_or(1);
    let seen: Vec<String> = policies
        .iter()
        .map(|policy| {
            let growth = throughput(runs, policy, "buffered", 2.min(most))
                / throughput(runs, policy, "buffered", 1).max(1.0);
            format!("{policy} {growth:.2}")
        })
        .collect();
    let why = format!(
        "This machine has {cores} hardware threads; the claim is about up to {wanted}. From 1 to 2 \
            threads, buffered reads, throughput grows to {} times.",
        seen.join(", ")
    );
    Verdict::not_testable(claim, &why)
}

pub(super) fn of(runs: &[Replayed], simulated: &[Run]) -> Vec<Verdict> {
    let ratio =
        |policy: &str, pages: u64| find(simulated, policy, pages).map_or(0.0, |run| run.hit_ratio);
    let apart = |a: &str, b: &str| SIZES.map(|pages| (ratio(a, pages) - ratio(b, pages)) * 100.0);
    let below = apart("lru", "random");
    let close = apart("gclock", "lru");
    let studied = &POLICIES[..5];
    let buffered = |policy| (policy, "buffered");
    let combining = "lru:protocol=combining";
    let others = studied.iter().filter(|policy| **policy != combining);
    let slower: Vec<(&str, (Standing, String))> = others
        .map(|other| {
            (
                *other,
                compared(
                    runs,
                    buffered(combining),
                    buffered(other),
                    Claim::Below(1.0),
                ),
            )
        })
        .collect();
    let lists = ["lru:protocol=locked", "slru:protocol=locked"];
    let simple: Vec<(String, (Standing, String))> = ["random", "gclock"]
        .iter()
        .flat_map(|simple| lists.map(|list| (*simple, list)))
        .map(|(simple, list)| {
            let pair = compared(runs, buffered(simple), buffered(list), Claim::Above(1.0));
            (format!("{simple} against {list}"), pair)
        })
        .collect();
    let of = |pair: &[(String, (Standing, String))]| {
        all(pair.iter().map(|(_, (standing, _))| *standing))
    };
    // One simple policy that beats both lists is enough.
    let either = match (of(&simple[..2]), of(&simple[2..])) {
        (Standing::Confirmed, _) | (_, Standing::Confirmed) => Standing::Confirmed,
        (Standing::Refuted, Standing::Refuted) => Standing::Refuted,
        _ => Standing::Undecided,
    };
    let (direct_stands, direct_part) = compared(
        runs,
        ("random", "direct"),
        ("random", "buffered"),
        Claim::Below(0.8),
    );
    let spread = |io: &str| {
        let all = studied.iter().map(|policy| throughput(runs, policy, io, 1));
        let (low, high) = all.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), x| {
            (low.min(x), high.max(x))
        });
        high / low.max(1.0)
    };
    vec![
        scaling(
            runs,
            "Random and GClock scale linearly with threads",
            &["random", "gclock"],
            16,
        )
        .of("threads", "figure 1", "drawn only"),
        scaling(
            runs,
            "LRU and S4LRU fail to scale beyond 4 threads",
            &["lru:protocol=locked", "slru:protocol=locked"],
            16,
        )
        .of("threads", "figure 1", "drawn only"),
        scaling(
            runs,
            "LRU with batching and combining scales to about 8 threads",
            &["lru:protocol=combining"],
            8,
        )
        .of("threads", "figure 1", "drawn only"),
        Verdict::timed(
            "With one thread, LRU with batching and combining is the slowest of all",
            all(slower.iter().map(|(_, (standing, _))| *standing)),
            format!(
                "Its throughput as a part of others', one thread, buffered reads: {}.",
                listed(
                    slower
                        .iter()
                        .map(|(other, (_, text))| format!("of {other} {text}"))
                )
            ),
        )
        .of("threads", "figure 1", "drawn only"),
        Verdict::judged(
            "GClock's hit ratio is like that of the LRU family",
            close.iter().all(|d| d.abs() < 2.0),
            format!(
                "GClock less LRU: {:+.2} points at 16 MiB, {:+.2} at 32 MiB.",
                close[0], close[1]
            ),
        )
        .of("policies", "figure 2", "drawn only"),
        Verdict::judged(
            "Random's hit ratio is consistently worse than the others', but not far off",
            below.iter().all(|d| (0.0..5.0).contains(d)),
            format!(
                "LRU less random: {:+.2} points at 16 MiB, {:+.2} at 32 MiB.",
                below[0], below[1]
            ),
        )
        .of("policies", "figure 2", "drawn only"),
        Verdict::timed(
            "Reading through the kernel's cache made faults cheap, which favours policies with \
                more of them (the author's note of 2021)",
            direct_stands,
            format!(
                "Random, one thread, throughput of direct reads as a part of that of buffered \
                    ones: {direct_part}; fastest against slowest policy {:.2} with \
                 direct reads and {:.2} with buffered ones.",
                spread("direct"),
                spread("buffered")
            ),
        )
        .of("threads", "update of 2021-06-26", "no numbers"),
        Verdict::timed(
            "Simple policies can give more throughput than those with a better hit ratio",
            either,
            format!(
                "Throughput, buffered reads, one thread: {}.",
                listed(
                    simple
                        .iter()
                        .map(|(pair, (_, text))| format!("{pair} {text}"))
                )
            ),
        )
        .of("threads", "conclusion", "no numbers"),
    ]
}
