//! Goal: the reports of `graven lab` are made whole or in part, with their figures.

use std::path::Path;

use serde_json::Value;

use crate::lab::{json, lab, write};
use crate::program::graven;

#[test]
fn all_reports_make_a_site_with_an_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().display().to_string();
    let out = folder.path().join("out");
    let out_text = out.display().to_string();
    let site = json(lab(&[
        "report",
        "all",
        "--quick",
        "--traces",
        "generated",
        "--data",
        &dir,
        "--dir",
        &dir,
        "--out",
        &out_text,
        "--json",
    ]));
    let index = std::fs::read_to_string(out.join("index.html")).expect("an index");
    let reports = site["reports"].as_array().expect("reports");
    assert_eq!(reports.len(), 5);
    for report in reports {
        let text = |value: &Value, key: &str| value[key].as_str().expect(key).to_owned();
        let name = text(report, "report");
        let page =
            std::fs::read_to_string(out.join(format!("{name}/{name}.html"))).expect("a page");
        assert!(page.contains("<svg") && page.contains("How it was made"));
        let verdicts = report["verdicts"].as_array().expect("verdicts");
        let exhibits = report["exhibits"].as_array().expect("exhibits");
        assert!(verdicts.len() >= 5 && !exhibits.is_empty(), "{name}");
        for row in verdicts.iter().chain(exhibits) {
            let part = text(row, "part");
            assert!(page.contains(&format!("id=\"{part}\"")), "{name}: {part}");
            let command = format!("graven lab report {name} --only {part}");
            assert!(index.contains(&command), "{command}");
            assert!(!text(row, "source").is_empty() && !text(row, "numbers").is_empty());
        }
    }
    for figure in [
        "linux-guide/series",
        "ext4/transactions",
        "kuzu-pages/waste",
        "thesis/sizes",
    ] {
        has_figure(&out, figure);
    }
    let run = out.join("all.json").display().to_string();
    let said = lab(&["compare", &run, &run]).ok();
    assert!(said.err.contains("0 contradict"), "{said:?}");
    // Where one run confirms what the other refutes, the comparison fails.
    let text = std::fs::read_to_string(&run).expect("a run file");
    let (confirmed, refuted) = ("\"Confirmed\"", "\"Refuted\"");
    let other = text.replace(confirmed, "\"?\"").replace(refuted, confirmed);
    let other = write(
        folder.path(),
        "other.json",
        &other.replace("\"?\"", refuted),
    );
    let said = lab(&["compare", &run, &other]);
    assert!(
        said.code == 1 && said.out.contains("CONTRADICTS"),
        "{said:?}"
    );
}

fn has_figure(folder: &Path, name: &str) {
    for ending in ["svg", "png"] {
        let path = folder.join(format!("{name}.{ending}"));
        assert!(path.exists(), "{}", path.display());
    }
}

#[test]
fn a_part_of_a_report_is_made_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().display().to_string();
    let out = folder.path().join("out").display().to_string();
    let report = |which: &str, part: &str| {
        lab(&[
            "report",
            which,
            "--only",
            part,
            "--quick",
            "--traces",
            "generated",
            "--dir",
            &dir,
            "--out",
            &out,
            "--json",
        ])
    };
    for (which, part) in [("kuzu-pages", "waste"), ("thesis", "prototype")] {
        let page = json(report(which, part));
        let sections = page["sections"].as_array().expect("sections");
        assert_eq!(sections.len(), 1);
        assert_eq!(sections[0]["part"], part);
        assert!(folder.path().join(format!("out/{which}.html")).exists());
    }
    let said = report("thesis", "nothing");
    assert!(
        said.code == 1 && said.err.contains("sizes, counts"),
        "{said:?}"
    );
    assert_eq!(report("all", "counts").code, 2);
    let said = lab(&["report", "other"]);
    assert!(
        said.code == 2 && said.err.contains("linux-guide"),
        "{said:?}"
    );
}

/// Goal: settings of the system are read without the right to change them.
#[test]
fn the_matrix_reads_settings_of_the_system() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().display().to_string();
    let arguments = [
        "bench",
        "commit",
        &dir,
        "--matrix",
        "--operations",
        "5",
        "--rounds",
        "1",
        "--seconds",
        "0.02",
        "--clients",
        "1",
    ];
    let said = graven(arguments).ok();
    for part in [
        "this machine as it is",
        "barrier=0",
        "not changed",
        "relaxed(100 ms)",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
}
