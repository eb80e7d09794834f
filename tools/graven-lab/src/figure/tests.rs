//! Goal: figures are well-formed, name everything once, and become pictures; odd values do no harm.

use super::style::Style;
use super::*;

fn figure() -> Figure {
    let line = |name: &str, points: &[(f64, f64)]| Series::new(name, points.to_vec());
    Figure {
        name: "two".into(),
        title: "hits < 1 & more".into(),
        columns: 2,
        panels: vec![
            Panel {
                title: "curve".into(),
                x: Axis::log("pages"),
                y: Axis::from_zero("miss ratio"),
                shape: Shape::Lines,
                series: vec![
                    line("lru", &[(10.0, 0.5), (1000.0, f64::NAN), (1e6, 0.1)]),
                    Series {
                        errors: vec![0.1, 0.0],
                        ..line("a<b", &[(10.0, 0.4), (100.0, 0.2)])
                    },
                ],
            },
            Panel {
                x: Axis::linear("gap closed"),
                shape: Shape::Bars,
                series: vec![line("lru", &[(0.0, -0.2)]), line("graven", &[(0.0, 0.3)])],
                ..Panel::default()
            },
            Panel {
                x: Axis::categories("threads", vec!["1".into(), "2".into()]),
                y: Axis::linear("empty"),
                series: vec![line("lru", &[])],
                ..Panel::default()
            },
        ],
    }
}

#[test]
fn a_figure_is_well_formed_and_drawn() {
    let svg = figure().svg();
    assert!(
        svg.contains("hits &lt; 1 &amp; more") && svg.contains("a&lt;b") && !svg.contains("NaN")
    );
    assert_eq!(
        svg.matches(">lru</text>").count(),
        2,
        "once in the key, once at its bar"
    );
    let folder = tempfile::tempdir().unwrap();
    let [_, png] = figure().save(folder.path()).unwrap();
    let bytes = std::fs::read(png).unwrap();
    assert_eq!(&bytes[1..4], b"PNG");
    assert!(Figure::default().svg().starts_with("<svg"));
}

/// Goal: no title runs out of its figure or its panel, whatever its length, and all of its words
/// are there.
#[test]
fn long_titles_stay_inside() {
    let title = "Throughput and hit ratio against threads, direct reads, on the pins of Neo4j \
        under four threads";
    let lines = wrapped(title, PANEL_WIDTH, TITLE_LETTER);
    assert!(lines.len() > 1 && lines.join(" ") == title);
    assert!(
        lines
            .iter()
            .all(|line| line.len() as f64 * TITLE_LETTER <= PANEL_WIDTH)
    );
    for length in [0, 10, 30, 45, 60, 120] {
        let (from, size) = panel_title(&"x".repeat(length));
        let end = from + length as f64 * size * TITLE_LETTER_SHARE;
        assert!(
            from >= 0.0 && end <= PANEL_WIDTH - RIGHT + 0.01,
            "{length}: {from} {size}"
        );
    }
}

/// Goal: policies drawn in one colour, or with one kind of dashes, differ in their markers.
#[test]
fn markers_tell_what_colours_tell() {
    let marker = |name: &str| Style::of(name).marker(0.0, 0.0);
    for (a, b) in [
        ("graven", "lru"),
        ("graven", "fifo"),
        ("lru", "clock"),
        ("neo4j", "random"),
    ] {
        assert_ne!(marker(a), marker(b), "{a} and {b}");
    }
}

#[test]
fn names_keep_their_style() {
    assert_eq!(Style::of("lru"), Style::of("lru"));
    assert_ne!(Style::of("lru"), Style::of("graven"));
    assert_ne!(Style::of("lru"), Style::of("clock"));
}

#[test]
fn numbers_are_short() {
    let short = |value| axis::short(value);
    assert_eq!(
        [short(2e6), short(15_000.0), short(0.05)],
        ["2M", "15k", "0.05"]
    );
}

/// Goal: names of one figure never look alike, in colour or in marker, as long as there are enough
/// of both; the first keeps the style that it has everywhere.
#[test]
fn names_of_one_figure_differ() {
    let names: Vec<String> = (0..7).map(|n| format!("series {n}")).collect();
    let styles = Styles::of(&names);
    assert_eq!(styles.get("series 0"), Style::of("series 0"));
    for (at, a) in names.iter().enumerate() {
        for b in &names[..at] {
            let (a, b) = (styles.get(a), styles.get(b));
            assert_ne!(a.colour, b.colour);
            assert_ne!(a.marker(0.0, 0.0), b.marker(0.0, 0.0));
        }
    }
    assert_eq!(
        Style::of("original: 1").colour,
        Style::of("original: 2").colour
    );
}
