//! The study's figures beside ours, for the index.

use super::verdicts::throughput;
use super::{POLICIES, SIZES};
use crate::measurement::Measurement;
use crate::replay::Replayed;
use crate::simulate::Run;
use crate::study::{Page, find, listed};

pub(super) fn threads(page: &mut Page, runs: &[Replayed]) {
    let most = runs.iter().map(|run| run.threads).max().unwrap_or(1);
    let growth = |policy: &&str| {
        let one = throughput(runs, policy, "buffered", 1);
        format!(
            "{policy} {:.0} to {:.0}",
            one / 1e3,
            throughput(runs, policy, "buffered", most) / 1e3
        )
    };
    let ours = listed(POLICIES.iter().map(growth));
    page.exhibit(
        "threads",
        "figure 1",
        "throughput against threads, 16 and 32 MB",
        "drawn only",
        format!("thousand accesses a second with 1 and {most} threads, buffered reads: {ours}"),
    );
}

pub(super) fn policies(page: &mut Page, simulated: &[Run]) {
    let ratio =
        |policy: &str, pages| find(simulated, policy, pages).map_or(f64::NAN, |run| run.hit_ratio);
    let both = ["random", "gclock", "lru", "slru"].map(|policy| {
        format!(
            "{policy} {:.3} and {:.3}",
            ratio(policy, SIZES[0]),
            ratio(policy, SIZES[1])
        )
    });
    page.exhibit(
        "policies",
        "figure 2",
        "hit ratio by policy, 16 and 32 MB",
        "drawn only",
        listed(both.into_iter()),
    );
}

pub(super) fn live(page: &mut Page, runs: &[Measurement]) {
    if runs.is_empty() {
        return;
    }
    page.exhibit(
        "live",
        "evaluation",
        "the three-hop query with a cache smaller than the data: throughput, latency, hit ratio",
        "320 starts, 16 and 32 MB",
        super::live::finding(runs),
    );
}
