//! CLOCK variants and history: figures 4.9 to 4.12, and table 4.3 of the best of each.

use super::{Sizes, hit_rate, speed};
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::replay::Replayed;
use crate::simulate::Run;
use crate::study::{Section, Table, find, percent};

/// Points less the current clock that the thesis prints, at its larger size (table 4.3).
const ORIGINAL: [(&str, f64); 2] = [
    ("thesis-clockpro-adaptive", 96.98 - 97.15),
    ("hist-7-7", 97.11 - 97.15),
];

/// Policies side by side: hit rate and throughput at both sizes.
pub(super) fn variants_section(
    title: &str,
    name: &str,
    text: &str,
    policies: &[&str],
    (runs, replays, sizes): (&[Run], &[Replayed], Sizes),
) -> Section {
    let mut panels = Vec::new();
    for pages in sizes {
        let bars = |value: &dyn Fn(&str) -> (f64, f64)| -> Vec<Series> {
            let bar = |policy: &&str| {
                let (mean, error) = value(policy);
                Series {
                    name: (*policy).to_owned(),
                    points: vec![(0.0, mean)],
                    errors: vec![error],
                }
            };
            policies.iter().map(bar).collect()
        };
        panels.push(Panel {
            title: format!(
                "{pages} pages: hit rate less the clock's {:.2} %",
                hit_rate(runs, "neo4j", pages) * 100.0
            ),
            x: Axis::from_zero("points"),
            shape: Shape::Bars,
            series: {
                let mut all = bars(&|policy| {
                    let less = hit_rate(runs, policy, pages) - hit_rate(runs, "neo4j", pages);
                    (less * 100.0, 0.0)
                });
                let printed = ORIGINAL
                    .iter()
                    .filter(|(policy, _)| pages == sizes[0] && policies.contains(policy));
                all.extend(printed.map(|(policy, points)| {
                    Series::new(format!("original: {policy}"), vec![(0.0, *points)])
                }));
                all
            },
            ..Panel::default()
        });
        panels.push(Panel {
            title: format!("{pages} pages: throughput, buffered"),
            x: Axis::from_zero("thousand accesses a second"),
            shape: Shape::Bars,
            series: bars(&|policy| speed(replays, policy, pages, "buffered")),
            ..Panel::default()
        });
    }
    Section {
        title: title.to_owned(),
        text: vec![text.to_owned()],
        figures: vec![Figure {
            name: name.to_owned(),
            title: title.to_owned(),
            panels,
            columns: 2,
        }],
        tables: vec![table_of(policies, runs, replays, sizes)],
        ..Section::default()
    }
}

/// Their numbers, with the collisions of those that have ghosts.
fn table_of(policies: &[&str], runs: &[Run], replays: &[Replayed], sizes: Sizes) -> Table {
    let collisions = |policy: &str| {
        let run = find(runs, policy, sizes[1])?;
        let rate = |figure: &&crate::simulate::Figure| figure.name == "false_return_rate";
        run.figures.iter().find(rate).map(|figure| figure.value)
    };
    let with_collisions = policies.iter().any(|policy| collisions(policy).is_some());
    let heads: Vec<String> = ["hit rate, ", "direct, ", "buffered, "]
        .iter()
        .flat_map(|what| [format!("{what}{}", sizes[0]), sizes[1].to_string()])
        .collect();
    let mut head = vec!["policy"];
    head.extend(heads.iter().map(String::as_str));
    head.extend(with_collisions.then_some("false returns, %"));
    let mut table = Table::new(
        "Hit rate (%) and throughput (thousand accesses a second, two threads)",
        &head,
    );
    for policy in policies {
        let mut row = vec![(*policy).to_owned()];
        row.extend(sizes.map(|pages| percent(hit_rate(runs, policy, pages))));
        for io in ["direct", "buffered"] {
            row.extend(
                sizes.map(|pages| match speed(replays, policy, pages, io).0 {
                    speed if speed.is_nan() => "-".to_owned(),
                    speed => format!("{speed:.0}"),
                }),
            );
        }
        row.extend(with_collisions.then(|| collisions(policy).map_or("-".to_owned(), percent)));
        table.rows.push(row);
    }
    table
}

/// Table 4.3.
pub(super) fn summary_section(runs: &[Run], sizes: Sizes) -> Section {
    let heads = sizes.map(|pages| format!("{pages} pages"));
    let mut table = Table::new(
        "Best hit rates (%)",
        &["algorithm", &heads[0], &heads[1], "thesis, 75,000 MiB"],
    );
    for (label, policy, thesis) in [
        ("Belady", "min", "-"),
        (
            "Current (random start)",
            "neo4j:count=4,arm=thread",
            "97.15",
        ),
        ("Random", "random", "94.95"),
        (
            "Count to 7 (random start)",
            "neo4j:count=7,arm=thread",
            "97.22",
        ),
        (
            "Count to 7 with global arm",
            "neo4j:count=7,arm=global",
            "97.22",
        ),
        ("CLOCK-Pro adaptive", "thesis-clockpro-adaptive", "96.98"),
        ("History with exact set, count to 7", "hist-7-7", "97.11"),
        ("Graven's own policy", "graven", "-"),
    ] {
        table.rows.push(vec![
            label.to_owned(),
            percent(hit_rate(runs, policy, sizes[0])),
            percent(hit_rate(runs, policy, sizes[1])),
            thesis.to_owned(),
        ]);
    }
    Section {
        title: "Summary (table 4.3)".to_owned(),
        tables: vec![table],
        ..Section::default()
    }
}
