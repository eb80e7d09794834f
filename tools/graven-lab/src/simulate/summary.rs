//! One line a policy over many traces and sizes.

use serde::Serialize;

use super::Run;

/// Pairs of trace and size where the optimum is less than this share of the accesses above Neo4j's
/// clock say nothing: a handful of hits more or less is the whole gap.
const GAP_MIN: f64 = 0.003;

/// How a policy does over all pairs of trace and size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The policy as it was asked for.
    pub policy: String,
    /// Pairs with a gap worth closing.
    pub pairs: usize,
    /// Mean share of the gap between Neo4j's clock and Belady's optimum that the policy closes.
    pub mean_gap_closed: f64,
    /// The smallest share.
    pub worst_gap_closed: f64,
    /// Trace and pages of the smallest share.
    pub worst_pair: String,
    /// Pairs on which the policy is worse than Neo4j's clock.
    pub worse_than_neo4j: usize,
    /// Mean share of the optimum's hits.
    pub mean_share_of_min: f64,
}

/// Summarizes runs by policy, best first.
#[must_use]
pub fn summarize(runs: &[Run]) -> Vec<Summary> {
    let mut policies: Vec<&str> = Vec::new();
    for run in runs {
        if !policies.contains(&run.policy.as_str()) {
            policies.push(&run.policy);
        }
    }
    let mut all: Vec<Summary> = policies
        .into_iter()
        .filter_map(|policy| {
            let of_policy = runs.iter().filter(|run| run.policy == policy);
            let pairs: Vec<(f64, &Run)> = of_policy
                .filter(|run| run.gap >= GAP_MIN)
                .filter_map(|run| Some((run.gap_closed?, run)))
                .collect();
            let count = pairs.len() as f64;
            let (worst, at) = pairs.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
            Some(Summary {
                policy: policy.to_owned(),
                pairs: pairs.len(),
                mean_gap_closed: pairs.iter().map(|p| p.0).sum::<f64>() / count,
                worst_gap_closed: *worst,
                worst_pair: format!("{} {}", at.trace, at.capacity_pages),
                worse_than_neo4j: pairs.iter().filter(|p| p.0 < 0.0).count(),
                mean_share_of_min: pairs.iter().map(|p| p.1.share_of_min).sum::<f64>() / count,
            })
        })
        .collect();
    all.sort_by(|a, b| b.mean_gap_closed.total_cmp(&a.mean_gap_closed));
    all
}
