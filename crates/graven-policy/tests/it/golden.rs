//! Goal: hit counts equal the golden ones (`exact` and `seeded` rows) or lie within 1.5 points
//! (`detail`). Method: replay the short shared traces; `GRAVEN_GOLDEN=all` replays every row.

use std::collections::HashMap;

use graven_policy::PolicyError;
use graven_policy::registry::{self, Spec, Visitor};
use graven_policy::simulator::{ArrayFrames, Outcome, replay};
use graven_policy::{Policy, belady};

use crate::shared::{self, Trace};

/// Traces longer than this are left to `GRAVEN_GOLDEN=all`.
const SHORT: u64 = 30_000;

struct Replay<'a> {
    trace: &'a Trace,
    capacity: usize,
}

impl Visitor<ArrayFrames> for Replay<'_> {
    type Output = Outcome;
    fn visit<P: Policy<ArrayFrames> + 'static>(self, policy: P) -> Outcome {
        replay(policy, &self.trace.pages, self.trace.unique, self.capacity)
    }
}

/// Hits of a policy, named as in the golden file, with seed 1.
pub(crate) fn hits(name: &str, trace: &Trace, capacity: usize) -> Result<u64, PolicyError> {
    let spec = Spec::parse(name)?;
    if let Some(bypass) = belady::bypass_of(&spec) {
        return Ok(belady::hits(&trace.pages, trace.unique, capacity, bypass));
    }
    let outcome = registry::visit(&spec, capacity as u64, 1, Replay { trace, capacity })?;
    Ok(outcome.hits)
}

struct Row {
    trace: String,
    policy: String,
    capacity: usize,
    accesses: u64,
    hits: u64,
    kind: String,
}

fn rows() -> Option<Vec<Row>> {
    let text = std::fs::read_to_string(shared::folder()?.join("expected/policy-hits.csv")).unwrap();
    let row = |line: &str| {
        let f: Vec<&str> = line.split(',').collect();
        Row {
            trace: f[0].to_string(),
            policy: f[1].to_string(),
            capacity: f[2].parse().unwrap(),
            accesses: f[3].parse().unwrap(),
            hits: f[5].parse().unwrap(),
            kind: f[6].to_string(),
        }
    };
    Some(text.lines().skip(1).map(row).collect())
}

/// Largest accepted difference of hits: none, or 1.5 points of the accesses.
fn tolerance(row: &Row) -> u64 {
    match row.kind.as_str() {
        "detail" => row.accesses * 15 / 1000,
        _ => 0,
    }
}

#[test]
fn hit_counts_are_the_golden_ones() {
    let Some(mut rows) = rows() else { return };
    if std::env::var("GRAVEN_GOLDEN").as_deref() != Ok("all") {
        rows.retain(|row| row.accesses <= SHORT);
    }
    if let Ok(only) = std::env::var("GRAVEN_GOLDEN_POLICY") {
        rows.retain(|row| row.policy == only);
    }
    rows.sort_by(|a, b| a.trace.cmp(&b.trace));
    let mut wrong = Vec::new();
    let mut equal: HashMap<String, (u32, u32)> = HashMap::new();
    let mut loaded: Option<(String, Trace)> = None;
    for row in &rows {
        if loaded.as_ref().is_none_or(|(name, _)| *name != row.trace) {
            loaded = shared::trace(&row.trace).map(|trace| (row.trace.clone(), trace));
        }
        let Some((_, trace)) = &loaded else { return };
        let hits = hits(&row.policy, trace, row.capacity).unwrap();
        let counts = equal
            .entry(format!("{} ({})", row.policy, row.kind))
            .or_default();
        counts.0 += 1;
        counts.1 += u32::from(hits == row.hits);
        if hits.abs_diff(row.hits) > tolerance(row) {
            let points = 100.0 * (hits as f64 - row.hits as f64) / row.accesses as f64;
            wrong.push(format!(
                "{} {} c={}: {hits} hits, expected {} ({points:+.2} points, {})",
                row.trace, row.policy, row.capacity, row.hits, row.kind
            ));
        }
    }
    let mut equal: Vec<_> = equal.into_iter().collect();
    equal.sort();
    for (policy, (rows, equal)) in equal {
        eprintln!("{policy}: {equal} of {rows} rows equal");
    }
    assert!(
        wrong.is_empty(),
        "{} of {} rows differ:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    assert!(!rows.is_empty());
}
