//! Figures of a simulation: miss ratio against cache size, a panel a trace; bars where there is one
//! size.

use super::Run;
use crate::figure::{Axis, Figure, Panel, Series, Shape};

/// The figures of `runs`.
#[must_use]
pub fn figures(runs: &[Run]) -> Vec<Figure> {
    let panels: Vec<Panel> = runs
        .chunk_by(|a, b| a.trace == b.trace)
        .map(panel)
        .collect();
    if panels.is_empty() {
        return Vec::new();
    }
    vec![Figure {
        name: "simulate".to_owned(),
        title: "Policies on traces: share of accesses that fault".to_owned(),
        panels,
        columns: 0,
    }]
}

fn panel(runs: &[Run]) -> Panel {
    let title = runs.first().map_or(String::new(), |run| run.trace.clone());
    let sizes = |run: &Run| run.capacity_pages;
    let is_one_size = runs.iter().all(|run| sizes(run) == sizes(&runs[0]));
    if is_one_size {
        let bar = |run: &Run| Series::new(run.policy.clone(), vec![(0.0, 1.0 - run.hit_ratio)]);
        return Panel {
            title: format!("{title}, {} pages", runs[0].capacity_pages),
            x: Axis::from_zero("miss ratio"),
            shape: Shape::Bars,
            series: runs.iter().map(bar).collect(),
            ..Panel::default()
        };
    }
    let mut series: Vec<Series> = Vec::new();
    for run in runs {
        let point = (run.capacity_pages as f64, 1.0 - run.hit_ratio);
        match series.iter_mut().find(|s| s.name == run.policy) {
            Some(known) => known.points.push(point),
            None => series.push(Series::new(run.policy.clone(), vec![point])),
        }
    }
    for line in &mut series {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    Panel {
        title,
        x: Axis::log("pages"),
        y: Axis::from_zero("miss ratio"),
        shape: Shape::Lines,
        series,
    }
}
