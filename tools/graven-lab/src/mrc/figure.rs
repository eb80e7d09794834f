//! The figure of miss-ratio curves.

use super::Curve;
use crate::figure::{Axis, Figure, Panel, Series, Shape};

/// The figure of some curves of one trace.
#[must_use]
pub fn figure(curves: &[Curve]) -> Figure {
    let trace = curves.first().map_or("", |curve| curve.trace.as_str());
    let series = curves.iter().map(|curve| Series {
        name: curve.policy.clone(),
        points: curve
            .points
            .iter()
            .map(|p| (p.capacity_pages as f64, p.miss_ratio))
            .collect(),
        errors: curve.points.iter().map(|p| p.error).collect(),
    });
    Figure {
        name: "mrc".to_owned(),
        title: format!("Miss ratio by cache size: {trace}"),
        columns: 1,
        panels: vec![Panel {
            x: Axis::log("pages"),
            y: Axis::from_zero("miss ratio"),
            shape: Shape::Curves,
            series: series.collect(),
            ..Panel::default()
        }],
    }
}
