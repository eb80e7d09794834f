//! Figures that stand alone: panels of lines, points or bars as one SVG file, and the same as PNG.
//!
//! # How it works
//! A figure is a row or grid of panels under one title and one key. A name has the same colour,
//! dashes and marker in every figure, whatever else is in it, so that policies are recognised
//! across a report. Everything is drawn with attributes, without a style sheet, so the file looks
//! alike in a browser, a paper and a page of a report.

mod axis;
mod bars;
mod blocks;
mod png;
mod style;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use axis::Mapping;
pub use axis::{Axis, Scale};
use style::Styles;

use crate::error::LabError;
use crate::report::chart::{escape, number};

const PANEL_WIDTH: f64 = 400.0;
const PANEL_HEIGHT: f64 = 290.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
const MARGIN: f64 = 16.0;
const LEGEND_ROW: f64 = 20.0;
/// Width of a letter of the key, about.
const LETTER: f64 = 6.6;
/// Width of a bold letter as a share of its size, at most on average.
const TITLE_LETTER_SHARE: f64 = 0.66;
const TITLE_LETTER: f64 = 16.0 * TITLE_LETTER_SHARE;
const TITLE_ROW: f64 = 20.0;

/// A figure.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// Name of its files.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Panels, from left to right and down.
    pub panels: Vec<Panel>,
    /// Panels in a row; 0 for as many as there are, at most 3.
    pub columns: usize,
}

/// One set of axes.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// How the series are drawn.
    pub shape: Shape,
    /// Lines, points or bars.
    pub series: Vec<Series>,
}

/// How series are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Lines with a marker at every point.
    #[default]
    Lines,
    /// Lines without markers, for curves of many points.
    Curves,
    /// Markers without lines.
    Points,
    /// A horizontal bar for every series, of its last point's value.
    Bars,
    /// One row of blocks: a point's horizontal value is where a block begins, its error how long it
    /// is.
    Blocks,
}

/// Something that is drawn in one colour.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Name for the key; decides the colour.
    pub name: String,
    /// Points; for [`Scale::Categories`] the horizontal value is the place of the category.
    pub points: Vec<(f64, f64)>,
    /// Half the width of an error bar at every point, where it is known.
    pub errors: Vec<f64>,
}

impl Series {
    /// A series without errors.
    #[must_use]
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            errors: Vec::new(),
        }
    }
}

impl Figure {
    /// The figure as an SVG document.
    #[must_use]
    pub fn svg(&self) -> String {
        let columns = match self.columns {
            0 => self.panels.len().clamp(1, 3),
            columns => columns.min(self.panels.len()).max(1),
        };
        let heights: Vec<f64> = self
            .panels
            .chunks(columns)
            .map(|row| row.iter().map(Panel::height).fold(0.0, f64::max))
            .collect();
        let width = columns as f64 * PANEL_WIDTH + 2.0 * MARGIN;
        let names = self.names();
        let legend = legend_rows(&names, width - 2.0 * MARGIN);
        let title_lines = wrapped(&self.title, width - 2.0 * MARGIN, TITLE_LETTER);
        let extra = title_lines.len().saturating_sub(1) as f64 * TITLE_ROW;
        let top = MARGIN + 26.0 + extra + legend.len() as f64 * LEGEND_ROW;
        let height = top + heights.iter().sum::<f64>() + MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"DejaVu Sans, Liberation Sans, Arial, sans-serif\">\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
            title = escape(&self.title),
        );
        for (line, text) in title_lines.iter().enumerate() {
            let _ = write!(
                svg,
                "<text x=\"{MARGIN}\" y=\"{:.1}\" font-size=\"16\" font-weight=\"bold\" \
                    fill=\"#1c1f23\">{}</text>",
                MARGIN + 12.0 + line as f64 * TITLE_ROW,
                escape(text)
            );
        }
        let styles = Styles::of(&names);
        draw_legend(&mut svg, &legend, &styles, extra);
        let mut y = top;
        for (row, height) in self.panels.chunks(columns).zip(&heights) {
            for (place, panel) in row.iter().enumerate() {
                let x = MARGIN + place as f64 * PANEL_WIDTH;
                let _ = write!(svg, "<g transform=\"translate({x:.1} {y:.1})\">");
                panel.draw(&mut svg, &styles);
                svg.push_str("</g>");
            }
            y += height;
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Writes `NAME.svg` and `NAME.png` into a folder.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn save(&self, folder: &Path) -> Result<[PathBuf; 2], LabError> {
        let svg = self.svg();
        let paths = [
            folder.join(format!("{}.svg", self.name)),
            folder.join(format!("{}.png", self.name)),
        ];
        std::fs::write(&paths[0], &svg).map_err(LabError::io(&paths[0], "writing"))?;
        let png = png::of(&svg)?;
        std::fs::write(&paths[1], png).map_err(LabError::io(&paths[1], "writing"))?;
        Ok(paths)
    }

    /// Names of the key, each once, in order of appearance; none where bars carry their own.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let panels = self
            .panels
            .iter()
            .filter(|panel| panel.shape != Shape::Bars);
        for series in panels.flat_map(|panel| &panel.series) {
            if !series.name.is_empty() && !names.contains(&series.name) {
                names.push(series.name.clone());
            }
        }
        names
    }
}

impl Panel {
    fn height(&self) -> f64 {
        match self.shape {
            Shape::Bars => bars::height(self.series.len()),
            Shape::Blocks => blocks::HEIGHT,
            _ => PANEL_HEIGHT,
        }
    }

    fn draw(&self, svg: &mut String, styles: &Styles) {
        let (x, size) = panel_title(&self.title);
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"18\" font-size=\"{size:.1}\" font-weight=\"bold\" \
                fill=\"#1c1f23\">{}</text>",
            escape(&self.title)
        );
        match self.shape {
            Shape::Bars => return bars::draw(svg, self),
            Shape::Blocks => return blocks::draw(svg, self, styles),
            _ => {}
        }
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Mapping::new(&self.x, points().map(|p| p.0), LEFT, PANEL_WIDTH - RIGHT);
        let y = Mapping::new(&self.y, points().map(|p| p.1), PANEL_HEIGHT - BOTTOM, TOP);
        self.axes(svg, &x, &y);
        for series in &self.series {
            self.draw_series(svg, series, styles, (&x, &y));
        }
    }

    fn axes(&self, svg: &mut String, x: &Mapping, y: &Mapping) {
        let (right, bottom) = (PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM);
        for (value, label) in &y.ticks {
            let at = y.at(*value);
            let _ = write!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\" \
                    stroke=\"#e3e6ea\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10.5\" fill=\"#5b636e\" \
                 text-anchor=\"end\">{label}</text>",
                LEFT - 6.0,
                at + 3.6
            );
        }
        for (value, label) in &x.ticks {
            let at = x.at(*value);
            let _ = write!(
                svg,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{:.1}\" \
                    stroke=\"#9aa4b0\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" font-size=\"10.5\" fill=\"#5b636e\" \
                 text-anchor=\"middle\">{label}</text>",
                bottom + 4.0,
                bottom + 16.0
            );
        }
        let middle = f64::midpoint(TOP, bottom);
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\" \
                stroke=\"#9aa4b0\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11.5\" fill=\"#1c1f23\" \
             text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(13 {middle:.1}) rotate(-90)\" font-size=\"11.5\" \
             fill=\"#1c1f23\" \
             text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, right),
            bottom + 34.0,
            escape(&self.x.title),
            escape(&self.y.title)
        );
    }

    fn draw_series(
        &self,
        svg: &mut String,
        series: &Series,
        styles: &Styles,
        (x, y): (&Mapping, &Mapping),
    ) {
        let style = styles.get(&series.name);
        let drawn = |&(a, b): &(f64, f64)| a.is_finite() && b.is_finite();
        let points: Vec<(f64, f64)> = series.points.iter().copied().filter(drawn).collect();
        if self.shape != Shape::Points {
            // What is missing leaves a gap.
            for stretch in series.points.split(|point| !drawn(point)) {
                let path: Vec<String> = stretch
                    .iter()
                    .map(|(a, b)| format!("{:.1},{:.1}", x.at(*a), y.at(*b)))
                    .collect();
                let _ = write!(
                    svg,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" \
                     stroke-linejoin=\"round\"{}/>",
                    path.join(" "),
                    style.colour,
                    style.dashes()
                );
            }
        }
        for (at, (a, b)) in points.iter().enumerate() {
            if let Some(error) = series.errors.get(at).filter(|e| **e > 0.0) {
                let (high, low) = (y.at(b + error), y.at(b - error));
                let _ = write!(
                    svg,
                    "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{high:.1}\" y2=\"{low:.1}\" \
                        stroke=\"{1}\"/>",
                    x.at(*a),
                    style.colour
                );
            }
            if self.shape != Shape::Curves {
                let _ = write!(
                    svg,
                    "<g fill=\"{}\"><title>{}: {}, {}</title>{}</g>",
                    style.colour,
                    escape(&series.name),
                    escape(&x.label(*a)),
                    number(*b, b.abs() / 1000.0),
                    style.marker(x.at(*a), y.at(*b))
                );
            }
        }
    }
}

/// Names with their horizontal place, in rows that fit `width`.
fn legend_rows(names: &[String], width: f64) -> Vec<Vec<(f64, &str)>> {
    if names.len() < 2 {
        return Vec::new();
    }
    let mut rows: Vec<Vec<(f64, &str)>> = vec![Vec::new()];
    let mut x = 0.0;
    for name in names {
        let needs = 34.0 + name.len() as f64 * LETTER + 14.0;
        if x + needs > width && x > 0.0 {
            rows.push(Vec::new());
            x = 0.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, name));
        }
        x += needs;
    }
    rows
}

/// A text in lines that fit `width`, broken between words.
fn wrapped(text: &str, width: f64, letter: f64) -> Vec<String> {
    let room = (width / letter) as usize;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Where a panel's title begins and how large its letters are, so that it ends within the panel.
fn panel_title(title: &str) -> (f64, f64) {
    const SIZE: f64 = 12.5;
    let needs = title.chars().count() as f64 * SIZE * TITLE_LETTER_SHARE;
    let from = LEFT.min(PANEL_WIDTH - RIGHT - needs).max(4.0);
    let room = PANEL_WIDTH - RIGHT - from;
    (from, SIZE * (room / needs.max(1.0)).min(1.0))
}

fn draw_legend(svg: &mut String, rows: &[Vec<(f64, &str)>], styles: &Styles, below: f64) {
    for (line, row) in rows.iter().enumerate() {
        let y = MARGIN + 32.0 + below + line as f64 * LEGEND_ROW;
        for (x, name) in row {
            let style = styles.get(name);
            let x = MARGIN + x;
            let _ = write!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{}\" \
                    stroke-width=\"1.8\"{}/>\
                 <g fill=\"{}\">{}</g>\
                 <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11.5\" fill=\"#1c1f23\">{}</text>",
                x + 26.0,
                style.colour,
                style.dashes(),
                style.colour,
                style.marker(x + 13.0, y),
                x + 32.0,
                y + 4.0,
                escape(name)
            );
        }
    }
}

#[cfg(test)]
mod tests;
