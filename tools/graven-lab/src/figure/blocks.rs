//! A row of blocks, as memory is drawn.

use std::fmt::Write as _;

use super::axis::Mapping;
use super::style::Styles;
use super::{LEFT, PANEL_WIDTH, Panel, RIGHT, TOP};
use crate::report::chart::escape;

const ROW: f64 = 34.0;
/// Height of such a panel.
pub(super) const HEIGHT: f64 = TOP + ROW + 52.0;

pub(super) fn draw(svg: &mut String, panel: &Panel, styles: &Styles) {
    let ends = panel.series.iter().flat_map(|series| {
        let lengths = series.errors.iter();
        series
            .points
            .iter()
            .zip(lengths)
            .map(|((start, _), length)| start + length)
    });
    let x = Mapping::new(&panel.x, ends, LEFT, PANEL_WIDTH - RIGHT);
    let bottom = TOP + ROW;
    let _ = write!(
        svg,
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{ROW}\" fill=\"#f4f5f6\" \
            stroke=\"#9aa4b0\"/>",
        x.at(panel.x.include.iter().copied().fold(0.0, f64::max)) - LEFT
    );
    for (place, series) in panel.series.iter().enumerate() {
        let style = styles.get(&series.name);
        // The first series is solid, others are outlines, so that they differ without colours.
        let fill = if place == 0 { style.colour } else { "#ffffff" };
        for ((start, _), length) in series.points.iter().zip(&series.errors) {
            let (from, to) = (x.at(*start), x.at(start + length));
            let _ = write!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\" \
                    stroke=\"{}\"><title>{}</title></rect>",
                from + 0.8,
                TOP + 3.0,
                (to - from - 1.6).max(1.0),
                ROW - 6.0,
                style.colour,
                escape(&series.name)
            );
        }
    }
    for (value, label) in &x.ticks {
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10.5\" fill=\"#5b636e\" \
                text-anchor=\"middle\">{label}</text>",
            x.at(*value),
            bottom + 14.0
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11.5\" fill=\"#1c1f23\" \
            text-anchor=\"middle\">{}</text>",
        f64::midpoint(LEFT, PANEL_WIDTH - RIGHT),
        bottom + 32.0,
        escape(&panel.x.title)
    );
}
