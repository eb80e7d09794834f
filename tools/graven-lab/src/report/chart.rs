//! One line chart as inline SVG: a panel of a figure, coloured by the page's style sheet.
//!
//! # How it works
//! The horizontal axis is a list of labels at even distances (thread counts double, so a number
//! line would crowd the small ones). A series carries a slot that decides its colour class and its
//! marker, so that a policy looks the same in every figure and can be told apart without colours.

use std::fmt::Write as _;

const WIDTH: f64 = 290.0;
const HEIGHT: f64 = 232.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;

/// A line.
pub(super) struct Series {
    /// Name, shown when a point is touched.
    pub(super) name: String,
    /// Which colour and marker, 0-based.
    pub(super) slot: usize,
    /// One value per label of the horizontal axis; none where nothing was measured.
    pub(super) values: Vec<Option<f64>>,
}

/// A chart.
pub(super) struct Chart {
    /// Name of the horizontal axis.
    pub(super) x_title: String,
    /// Its labels.
    pub(super) x_labels: Vec<String>,
    /// Name of the vertical axis, with its unit.
    pub(super) y_title: String,
    /// Smallest and largest value that must be visible.
    pub(super) y_range: (f64, f64),
    /// Lines.
    pub(super) series: Vec<Series>,
}

impl Chart {
    /// The chart as an `<svg>` element.
    pub(super) fn svg(&self) -> String {
        let ticks = ticks(self.y_range.0, self.y_range.1);
        let scale = Scale {
            low: ticks.first().copied().unwrap_or(0.0),
            high: ticks.last().copied().unwrap_or(1.0),
            places: self.x_labels.len(),
        };
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{} against {}\">",
            escape(&self.y_title),
            escape(&self.x_title)
        );
        self.axes(&mut svg, &scale, &ticks);
        for series in &self.series {
            series.draw(&mut svg, &scale, &self.x_labels);
        }
        svg.push_str("</svg>");
        svg
    }

    fn axes(&self, svg: &mut String, scale: &Scale, ticks: &[f64]) {
        let step = ticks.windows(2).next().map_or(1.0, |w| w[1] - w[0]);
        let right = WIDTH - RIGHT;
        for tick in ticks {
            let y = scale.y(*tick);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 3.5,
                number(*tick, step)
            );
        }
        for (place, label) in self.x_labels.iter().enumerate() {
            let _ = write!(
                svg,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                scale.x(place),
                HEIGHT - BOTTOM + 15.0,
                escape(label)
            );
        }
        let _ = write!(
            svg,
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text class=\"axis\" transform=\"translate(11 {:.1}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, right),
            HEIGHT - 7.0,
            escape(&self.x_title),
            f64::midpoint(TOP, HEIGHT - BOTTOM),
            escape(&self.y_title)
        );
    }
}

impl Series {
    fn draw(&self, svg: &mut String, scale: &Scale, labels: &[String]) {
        let points: Vec<(usize, f64, f64, f64)> = self
            .values
            .iter()
            .enumerate()
            .filter_map(|(place, value)| value.map(|v| (place, v, scale.x(place), scale.y(v))))
            .collect();
        let path: Vec<String> = points
            .iter()
            .map(|(_, _, x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let class = format!("s{}", self.slot);
        let _ = write!(
            svg,
            "<polyline class=\"line {class}\" points=\"{}\"/>",
            path.join(" ")
        );
        for (place, value, x, y) in points {
            let _ = write!(
                svg,
                "<g class=\"mark {class}\"><title>{}, {}: {}</title>{}</g>",
                escape(&self.name),
                escape(&labels[place]),
                number(value, value.abs() / 100.0),
                marker(self.slot, x, y)
            );
        }
    }
}

/// The key of a figure: every name with its line and marker.
pub(super) fn legend(names: &[String]) -> String {
    let mut html = String::from("<ul class=\"legend\">");
    for (slot, name) in names.iter().enumerate() {
        let _ = write!(
            html,
            "<li><svg viewBox=\"0 0 28 12\" aria-hidden=\"true\"><line class=\"line s{slot}\" \
                x1=\"1\" \
             x2=\"27\" y1=\"6\" y2=\"6\"/><g class=\"mark s{slot}\">{}</g></svg>{}</li>",
            marker(slot, 14.0, 6.0),
            escape(name)
        );
    }
    html.push_str("</ul>");
    html
}

/// Text that is safe inside an element or an attribute.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Shapes by slot: disc, square, triangle, diamond, ring, and again.
fn marker(slot: usize, x: f64, y: f64) -> String {
    match slot % 5 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"/>"),
        1 => format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"5.8\" height=\"5.8\"/>",
            x - 2.9,
            y - 2.9
        ),
        2 => format!("<path d=\"M{x:.1} {:.1}l3.8 6.6h-7.6z\"/>", y - 4.2),
        3 => format!("<path d=\"M{x:.1} {:.1}l4 4l-4 4l-4 -4z\"/>", y - 4.0),
        _ => format!("<circle class=\"ring\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"/>"),
    }
}

struct Scale {
    low: f64,
    high: f64,
    places: usize,
}

impl Scale {
    fn x(&self, place: usize) -> f64 {
        let inner = WIDTH - LEFT - RIGHT;
        LEFT + inner * (place as f64 + 0.5) / self.places.max(1) as f64
    }

    fn y(&self, value: f64) -> f64 {
        let inner = HEIGHT - TOP - BOTTOM;
        let span = (self.high - self.low).max(f64::MIN_POSITIVE);
        TOP + inner * (1.0 - (value - self.low) / span)
    }
}

/// Round numbers, about five, that enclose the range.
pub(crate) fn ticks(low: f64, high: f64) -> Vec<f64> {
    let span = if high > low {
        high - low
    } else {
        high.abs().max(1.0)
    };
    let rough = span / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|s| *s >= rough * 0.999)
        .unwrap_or(power);
    let first = (low / step + 1e-9).floor() as i64;
    let last = ((low + span) / step - 1e-9).ceil() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

/// A number with as many decimals as its step needs, thousands set apart.
pub(crate) fn number(value: f64, step: f64) -> String {
    let decimals = if value == 0.0 || step >= 1.0 {
        0
    } else {
        // A step such as 0.25 needs one more than its first digit's place.
        let place = (-step.log10().floor()).clamp(0.0, 6.0);
        let tail = step * 10f64.powf(place);
        let more = if (tail - tail.round()).abs() > 1e-6 {
            1.0
        } else {
            0.0
        };
        (place + more).min(4.0) as usize
    };
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text
        .split_once('.')
        .map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |d| ("-", d));
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_enclose_the_range() {
        assert_eq!(ticks(0.0, 1.0), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(ticks(0.0, 870.0), [0.0, 250.0, 500.0, 750.0, 1000.0]);
        assert_eq!(ticks(0.0, 0.0).first(), Some(&0.0));
        let t = ticks(0.93, 1.0);
        assert!(
            t[0] <= 0.93 && *t.last().expect("ticks") >= 1.0 - 1e-9,
            "{t:?}"
        );
    }

    #[test]
    fn numbers_are_grouped_and_as_exact_as_their_step() {
        assert_eq!(number(1234.0, 1.0), "1,234");
        assert_eq!(number(0.25, 0.25), "0.25");
        assert_eq!(number(-1234567.0, 1000.0), "-1,234,567");
        assert_eq!(number(0.5, 0.1), "0.5");
        assert_eq!(number(0.0, 0.1), "0");
    }

    #[test]
    fn names_cannot_break_the_page() {
        let chart = Chart {
            x_title: "threads".into(),
            x_labels: vec!["1".into()],
            y_title: "<script>".into(),
            y_range: (0.0, 1.0),
            series: vec![Series {
                name: "a&b".into(),
                slot: 0,
                values: vec![Some(0.5)],
            }],
        };
        let svg = chart.svg();
        assert!(
            svg.contains("&lt;script&gt;") && svg.contains("a&amp;b") && !svg.contains("<script")
        );
    }
}
