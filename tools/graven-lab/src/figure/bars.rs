//! Horizontal bars with their names to the left and their values behind them.

use std::fmt::Write as _;

use super::axis::Mapping;
use super::style::Style;
use super::{PANEL_WIDTH, Panel, RIGHT, TOP};
use crate::report::chart::{escape, number};

const ROW: f64 = 19.0;
/// Room for names, at least and at most.
const NAMES: (f64, f64) = (70.0, 190.0);
/// Width of a letter of a name, about.
const LETTER: f64 = 6.2;
const VALUES: f64 = 58.0;

/// Height of a panel with so many bars.
pub(super) fn height(bars: usize) -> f64 {
    TOP + bars as f64 * ROW + 44.0
}

/// The fourth digit of a value.
fn digit(value: f64) -> f64 {
    if value == 0.0 {
        return 1.0;
    }
    10f64.powf(value.abs().log10().floor() - 3.0)
}

pub(super) fn draw(svg: &mut String, panel: &Panel) {
    let value = |series: &super::Series| series.points.last().map_or(f64::NAN, |p| p.1);
    let longest = panel.series.iter().map(|one| one.name.len()).max();
    let names = (longest.unwrap_or(0) as f64 * LETTER + 14.0).clamp(NAMES.0, NAMES.1);
    let right = PANEL_WIDTH - RIGHT - VALUES;
    let ends = panel.series.iter().flat_map(|one| {
        let error = one.errors.last().copied().unwrap_or(0.0);
        [value(one), value(one) + error]
    });
    let scale = Mapping::new(&panel.x, ends.chain([0.0]), names, right);
    let zero = scale.at(0.0);
    let bottom = TOP + panel.series.len() as f64 * ROW;
    for (place, series) in panel.series.iter().enumerate() {
        let style = Style::of(&series.name);
        let y = TOP + place as f64 * ROW;
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" fill=\"#1c1f23\" \
                text-anchor=\"end\">{}</text>",
            names - 8.0,
            y + 13.0,
            escape(&series.name)
        );
        let value = value(series);
        if !value.is_finite() {
            continue;
        }
        let end = scale.at(value);
        let error = series.errors.last().copied().filter(|error| *error > 0.0);
        let error = error.unwrap_or(0.0);
        let (from, to) = (zero.min(end), zero.max(end));
        let _ = write!(
            svg,
            "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10.5\" fill=\"#5b636e\">{}</text>",
            y + 3.0,
            (to - from).max(0.6),
            ROW - 6.0,
            style.colour,
            to.max(scale.at(value + error)) + 5.0,
            y + 13.0,
            number(value, digit(value))
        );
        if error > 0.0 {
            let middle = y + ROW / 2.0;
            let _ = write!(
                svg,
                "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\" \
                    stroke=\"#1c1f23\"/>",
                scale.at(value - error),
                scale.at(value + error)
            );
        }
    }
    let _ = write!(
        svg,
        "<line x1=\"{zero:.1}\" x2=\"{zero:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\" \
            stroke=\"#9aa4b0\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11.5\" fill=\"#1c1f23\" \
         text-anchor=\"middle\">{}</text>",
        f64::midpoint(names, right),
        bottom + 20.0,
        escape(&panel.x.title)
    );
}
