//! What became of the study's claims.

use super::{POLICIES, SIZES};
use crate::replay::Replayed;
use crate::simulate::Run;
use crate::study::{Verdict, find};

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
        "This machine has {cores} hardware threads; the claim is about up to {wanted}. From 1 to 2 threads, buffered reads, throughput grows to {} times.",
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
    let one = |policy: &str| throughput(runs, policy, "buffered", 1);
    let studied = &POLICIES[..5];
    let slowest = studied
        .iter()
        .copied()
        .min_by(|a, b| one(a).total_cmp(&one(b)))
        .unwrap_or_default();
    let spread = |io: &str| {
        let all = studied.iter().map(|policy| throughput(runs, policy, io, 1));
        let (low, high) = all.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), x| {
            (low.min(x), high.max(x))
        });
        high / low.max(1.0)
    };
    let (direct, buffered) = (throughput(runs, "random", "direct", 1), one("random"));
    vec![
        scaling(
            runs,
            "Random and GClock scale linearly with threads",
            &["random", "gclock"],
            16,
        ),
        scaling(
            runs,
            "LRU and S4LRU fail to scale beyond 4 threads",
            &["lru:protocol=locked", "slru:protocol=locked"],
            16,
        ),
        scaling(
            runs,
            "LRU with batching and combining scales to about 8 threads",
            &["lru:protocol=combining"],
            8,
        ),
        Verdict::judged(
            "With one thread, LRU with batching and combining is the slowest of all",
            slowest == "lru:protocol=combining",
            format!(
                "Slowest with one thread and buffered reads: {slowest} ({:.0} accesses/s); combining {:.0}, locked {:.0}.",
                one(slowest),
                one("lru:protocol=combining"),
                one("lru:protocol=locked")
            ),
        ),
        Verdict::judged(
            "GClock's hit ratio is like that of the LRU family",
            close.iter().all(|d| d.abs() < 2.0),
            format!(
                "GClock less LRU: {:+.2} points at 16 MiB, {:+.2} at 32 MiB.",
                close[0], close[1]
            ),
        ),
        Verdict::judged(
            "Random's hit ratio is consistently worse than the others', but not far off",
            below.iter().all(|d| (0.0..5.0).contains(d)),
            format!(
                "LRU less random: {:+.2} points at 16 MiB, {:+.2} at 32 MiB.",
                below[0], below[1]
            ),
        ),
        Verdict::judged(
            "Reading through the kernel's cache made faults cheap, which favours policies with more of them (the author's note of 2021)",
            direct < 0.8 * buffered,
            format!(
                "Random, one thread: {direct:.0} accesses/s with direct reads, {buffered:.0} with buffered ones; fastest against slowest policy {:.2} and {:.2}.",
                spread("direct"),
                spread("buffered")
            ),
        ),
        Verdict::judged(
            "Simple policies can give more throughput than those with a better hit ratio",
            one("random").max(one("gclock"))
                > one("lru:protocol=locked").max(one("slru:protocol=locked")),
            format!(
                "Buffered reads, one thread, accesses/s: random {:.0}, GClock {:.0}, LRU behind one lock {:.0}, S4LRU behind one lock {:.0}.",
                one("random"),
                one("gclock"),
                one("lru:protocol=locked"),
                one("slru:protocol=locked")
            ),
        ),
    ]
}
