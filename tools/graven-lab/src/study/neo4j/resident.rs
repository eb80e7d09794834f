//! The resident set around one long scan: which hot pages are there before it, and after it with
//! and without the hint.
//!
//! # How it works
//! A hot set of three quarters of the cache is read four times in order; then a scan reads twenty
//! times the cache, page after page, each page [`TOUCHES`] times in a row as a sweep over its
//! records does. Hot pages still resident are counted. Everything is simulated, so the counts are
//! exact.

use graven_policy::registry::{self, Spec, Visitor};
use graven_policy::simulator::{ArrayFrames, Simulator};
use graven_policy::{Hint, Policy};

use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::study::{Section, Table};

const FRAMES: u32 = 512;
const HOT: u32 = FRAMES / 4 * 3;
const SCANNED: u32 = 20 * FRAMES;
/// Accesses to a scanned page.
const TOUCHES: u32 = 3;

/// Hot pages resident under a policy.
pub(super) struct Resident {
    policy: String,
    before: u64,
    unmarked: u64,
    marked: u64,
}

/// Counts for every policy that a cache can run, and some with parameters.
pub(super) fn measure() -> Result<Vec<Resident>, LabError> {
    let mut policies = crate::live_policies();
    policies.extend(["gclock:max=3", "gclock:max=3,scan=0"].map(str::to_owned));
    policies.into_iter().map(of_policy).collect()
}

fn of_policy(policy: String) -> Result<Resident, LabError> {
    let spec = Spec::parse(&policy)?;
    let around = |hint| registry::visit(&spec, u64::from(FRAMES), 1, Around(hint));
    let (before, unmarked) = around(Hint::Normal)?;
    let (_, marked) = around(Hint::Scan)?;
    Ok(Resident {
        policy,
        before,
        unmarked,
        marked,
    })
}

/// Hot pages resident before and after a scan with this hint.
struct Around(Hint);

impl Visitor<ArrayFrames> for Around {
    type Output = (u64, u64);

    fn visit<P: Policy<ArrayFrames> + 'static>(self, policy: P) -> (u64, u64) {
        let mut simulator = Simulator::new(policy, (HOT + SCANNED) as usize, FRAMES as usize);
        let hot: Vec<u32> = (0..HOT).collect();
        for _ in 0..4 {
            simulator.replay(&hot);
        }
        let resident = |simulator: &Simulator<P>| {
            hot.iter()
                .filter(|page| simulator.is_resident(**page))
                .count() as u64
        };
        let before = resident(&simulator);
        let scan = (HOT..HOT + SCANNED).flat_map(|page| (0..TOUCHES).map(move |_| (page, self.0)));
        simulator.replay_hinted(scan);
        (before, resident(&simulator))
    }
}

pub(super) fn section(all: &[Resident]) -> Section {
    let mut table = Table::new(
        &format!(
            "Hot pages resident, of {HOT} in a cache of {FRAMES}, around a scan of {SCANNED} pages"
        ),
        &["policy", "before", "after, unmarked", "after, marked"],
    );
    for one in all {
        let counts = [one.before, one.unmarked, one.marked].map(|count| count.to_string());
        table
            .rows
            .push(std::iter::once(one.policy.clone()).chain(counts).collect());
    }
    let panel = |title: &str, count: fn(&Resident) -> u64| Panel {
        title: title.to_owned(),
        x: Axis::from_zero("hot pages"),
        shape: Shape::Bars,
        series: all
            .iter()
            .map(|one| Series::new(one.policy.clone(), vec![(0.0, count(one) as f64)]))
            .collect(),
        ..Panel::default()
    };
    Section {
        title: "The resident set around a scan (the thesis, section 4.1)".to_owned(),
        text: vec![format!(
            "The hot pages are read four times, then a scan reads each of its pages {TOUCHES} \
                times in a row. Simulated, so the counts are exact. A policy \
             that keeps the hot set without the hint resists scans by itself."
        )],
        figures: vec![Figure {
            name: "resident-set".to_owned(),
            title: format!("Hot pages resident after a scan, of {HOT}"),
            panels: vec![
                panel("unmarked", |one| one.unmarked),
                panel("marked", |one| one.marked),
            ],
            columns: 2,
        }],
        tables: vec![table],
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: under the default policy a marked scan takes nothing from the hot set, whatever its
    /// length; without the queue of scanned pages it takes most of it.
    #[test]
    fn the_default_keeps_its_hot_set() {
        let all = measure().expect("simulated");
        let of = |policy: &str| {
            all.iter()
                .find(|one| one.policy == policy)
                .expect("measured")
        };
        let default = of(graven::DEFAULT_POLICY);
        assert_eq!(
            (default.before, default.marked),
            (u64::from(HOT), u64::from(HOT))
        );
        assert!(of("gclock:max=3,scan=0").marked < u64::from(HOT) / 2);
        assert_eq!(section(&all).tables[0].rows.len(), all.len());
    }
}
