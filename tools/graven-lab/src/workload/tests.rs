//! Goal: workloads are what their names say, and the same for a seed.

use super::skew::scatter;
use super::*;
use graven_trace::{Access, FLAG_SCAN};

fn pages(spec: &str, count: usize) -> Vec<Access> {
    spec.parse::<Workload>()
        .expect(spec)
        .accesses(7)
        .take(count)
        .collect()
}

/// Goal: every kind stays inside its pages, repeats with its seed, and differs with another.
#[test]
fn workloads_stay_inside_their_pages() {
    for spec in [
        "scan",
        "loop:pages=50",
        "zipf:alpha=1",
        "walk:length=3",
        "bfs:pages=300,order=discovery",
        "mixed",
    ] {
        let workload: Workload = spec.parse().expect(spec);
        let first = pages(spec, 20_000);
        assert!(first.iter().all(|a| a.page < workload.pages()), "{spec}");
        assert_eq!(first, pages(spec, 20_000), "{spec}");
    }
    let scanned = pages("mixed:scans=0.2", 400_000)
        .iter()
        .filter(|a| a.flags == FLAG_SCAN)
        .count();
    assert!((60_000..100_000).contains(&scanned), "{scanned}");
}

/// Goal: the first rank of Zipf's law has the share that its sum says, and ranks are scattered over
/// all pages.
#[test]
fn skewed_pages_follow_the_law() {
    let mut counts = vec![0u32; 1_000];
    pages("zipf:pages=1000,alpha=0.99", 200_000)
        .iter()
        .for_each(|a| counts[a.page as usize] += 1);
    let harmonic: f64 = (1..=1_000).map(|rank| f64::from(rank).powf(-0.99)).sum();
    let share = f64::from(*counts.iter().max().expect("pages")) / 200_000.0;
    assert!(
        (share - 1.0 / harmonic).abs() < 0.006,
        "{share} {}",
        1.0 / harmonic
    );
    let mut all: Vec<u64> = (0..777).map(|rank| scatter(rank, 777)).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..777), "a permutation");
}

/// Goal: visiting a level by number touches less than half the pages that visiting as found does.
#[test]
fn order_of_visits_matters() {
    let count = |order: &str| {
        let accesses = pages(&format!("bfs:pages=500,order={order}"), 300_000);
        accesses.len() as u32 / accesses.last().expect("some").query
    };
    assert!(
        count("discovery") > 2 * count("id"),
        "{} {}",
        count("discovery"),
        count("id")
    );
}

#[test]
fn bad_workloads_are_named() {
    for (spec, message) in [
        ("zip", "no workload"),
        ("zipf:alpha=x", "no number"),
        ("loop:alpha=1", "has no `alpha`"),
        ("loop:pages=0", "expected 1"),
        ("bfs:order=up", "expected id, alternating"),
    ] {
        assert!(
            spec.parse::<Workload>().expect_err(spec).contains(message),
            "{spec}"
        );
    }
}
