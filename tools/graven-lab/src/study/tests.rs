//! Goal: a page holds its verdicts, sections, tables and figures, and nothing in it can break the
//! markup.

use std::path::Path;

use super::*;
use crate::figure::{Axis, Figure, Panel, Series};

fn study(folder: &Path) -> Study {
    Study {
        which: Which::KuzuPages,
        only: None,
        apply: false,
        traces: folder.into(),
        own_traces: false,
        data: folder.into(),
        database: None,
        params: None,
        scratch: folder.into(),
        quick: true,
        command: "graven lab report kuzu-pages".into(),
        machine: Machine::describe(folder),
    }
}

#[test]
fn a_page_is_whole_and_safe() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = Table::new("t", &["policy", "hits"]);
    table.rows.push(vec!["<b>".into(), "12".into()]);
    let mut page = Page {
        title: "a < b".into(),
        lead: "lead".into(),
        sections: vec![Section {
            title: "s".into(),
            text: vec!["x & y".into()],
            figures: vec![Figure {
                name: "f".into(),
                panels: vec![Panel {
                    x: Axis::linear("x"),
                    series: vec![Series::new("lru", vec![(1.0, 2.0)])],
                    ..Panel::default()
                }],
                ..Figure::default()
            }],
            tables: vec![table],
            ..Section::default()
        }],
        verdicts: vec![Verdict {
            part: "p",
            source: "figure 1",
            numbers: "1 < 2",
            claim: "c".into(),
            outcome: Outcome::Undecided,
            basis: Basis::Timed,
            why: "w".into(),
        }],
        ..Page::default()
    };
    page.summary.push("a finding".to_owned());
    page.summarise();
    let html = page.html(&study(folder.path()));
    for part in [
        "a &lt; b",
        "x &amp; y",
        "&lt;b&gt;",
        ">undecided</b></td><td>timed</td>",
        "<svg",
        "class=\"n\"",
        "A quick look",
        "Of 1 claims, 0 are confirmed here, 0 refuted, 1 undecided, 0 not testable",
        "a finding",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(
        !html.contains("http://")
            || html.matches("http://").count() == html.matches("http://www.w3.org").count()
    );
    let path = page
        .save(&study(folder.path()), &folder.path().join("out"))
        .expect("saved");
    assert!(path.ends_with("kuzu-pages.html") && page.figures().len() == 1);
}

/// Goal: where the recorded traces are not at hand the error says how to name them or to do
/// without, and generated ones are enough.
#[test]
fn missing_traces_are_named_and_can_be_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let thesis = Study {
        which: Which::Thesis,
        ..study(folder.path())
    };
    let error = thesis.find_traces().unwrap_err().to_string();
    assert!(
        error.contains("--traces") && error.contains("neo4j-hop3-1thread"),
        "{error}"
    );
    let own = own_traces(folder.path()).expect("written");
    let generated = Study {
        traces: own.path().into(),
        own_traces: true,
        ..thesis
    };
    generated.find_traces().expect("all are there");
    let runs = generated
        .simulate("synth-thesislike", &["lru"], &[500])
        .expect("simulated");
    assert!(runs[0].hits > 0);
}
