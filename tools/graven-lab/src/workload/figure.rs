//! The figure of a workload: which page when, and how often each is wanted.

use std::collections::HashMap;

use crate::figure::{Axis, Figure, Panel, Series, Shape};

/// A figure of some accesses: which page when, and how often each page is wanted.
#[must_use]
pub fn figure(name: &str, accesses: &[u64]) -> Figure {
    let every = accesses.len().div_ceil(3_000).max(1);
    let dots = accesses.iter().enumerate().step_by(every);
    let dots = dots.map(|(at, &page)| (at as f64, page as f64)).collect();
    let mut counts = HashMap::new();
    accesses
        .iter()
        .for_each(|page| *counts.entry(page).or_insert(0u64) += 1);
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let mut ranks = Vec::new();
    let mut rank = 0;
    while rank < counts.len() {
        ranks.push((rank as f64 + 1.0, counts[rank] as f64));
        rank += (rank / 40).max(1);
    }
    Figure {
        name: "gen".to_owned(),
        title: format!("Accesses of {name}"),
        columns: 2,
        panels: vec![
            Panel {
                title: "which page when".to_owned(),
                x: Axis::from_zero("access"),
                y: Axis::from_zero("page"),
                shape: Shape::Points,
                series: vec![Series::new(String::new(), dots)],
            },
            Panel {
                title: "accesses by rank of the page".to_owned(),
                x: Axis::log("rank"),
                y: Axis::log("accesses"),
                shape: Shape::Curves,
                series: vec![Series::new(String::new(), ranks)],
            },
        ],
    }
}
