//! The thesis's prototype in Python: tables 4.4 and 4.5 on a trace of the same shape.

use super::{PROTOTYPE, PROTOTYPE_PAGES};
use crate::simulate::Run;
use crate::study::{Section, Table, find, percent};

/// The rows of table 4.4 and 4.5: name, policy, hits and share of the optimum in the thesis.
const ROWS: [(&str, &str, &str, &str); 15] = [
    ("Belady", "min", "66969", "100"),
    ("Random", "random", "65438", "97.72"),
    ("Current", "neo4j", "66681", "99.58"),
    ("Current count to 7", "neo4j-7", "66690", "99.58"),
    ("Current count to 6", "neo4j-6", "66687", "99.58"),
    ("Current count to 5", "neo4j-5", "66685", "99.58"),
    ("Current count to 3", "neo4j-3", "66671", "99.56"),
    ("Current count to 2", "neo4j-2", "66653", "99.54"),
    ("Current count to 1", "count-to-1", "65982", "98.53"),
    ("Current with history", "hist-4-7", "66771", "99.71"),
    ("History and count to 7", "hist-7-7", "66782", "99.72"),
    ("CLOCK", "clock", "66653", "99.54"),
    ("CLOCK-Pro", "thesis-clockpro", "66647", "99.52"),
    ("CLOCK-Pro+", "thesis-clockpro-plus", "66645", "99.52"),
    (
        "CLOCK-Pro adaptive",
        "thesis-clockpro-adaptive",
        "66647",
        "99.52",
    ),
];

pub(super) fn prototype_policies() -> Vec<&'static str> {
    ROWS.iter()
        .map(|row| row.1)
        .chain(["graven", "clockpro"])
        .collect()
}

/// Tables 4.4 and 4.5.
pub(super) fn prototype_section(runs: &[Run]) -> Section {
    let accesses = runs.first().map_or(1, |run| run.accesses);
    let mut table = Table::new(
        &format!(
            "{PROTOTYPE}, {PROTOTYPE_PAGES} pages: hits, hit rate and share of the optimum; beside \
                them the thesis's"
        ),
        &[
            "algorithm",
            "hits",
            "hit rate, %",
            "of optimal, %",
            "thesis: hits",
            "thesis: of optimal, %",
        ],
    );
    let extra = [
        ("Graven's own policy", "graven", "-", "-"),
        ("CLOCK-Pro as published", "clockpro", "-", "-"),
    ];
    for (label, policy, hits, share) in ROWS.iter().chain(&extra) {
        let Some(run) = find(runs, policy, PROTOTYPE_PAGES) else {
            continue;
        };
        table.rows.push(vec![
            (*label).to_owned(),
            run.hits.to_string(),
            percent(run.hits as f64 / accesses as f64),
            percent(run.share_of_min),
            (*hits).to_owned(),
            (*share).to_owned(),
        ]);
    }
    Section {
        title: "The prototype (tables 4.4 and 4.5)".to_owned(),
        text: vec![
            "The thesis's trace is not public. This one has the same number of accesses and, like \
                it, pages half of which are touched once; the order \
             of the rows can be compared, the counts cannot."
                .to_owned(),
        ],
        tables: vec![table],
        ..Section::default()
    }
}

/// What the opening says of it.
pub(super) fn finding(runs: &[Run]) -> String {
    let share = |policy: &str| {
        find(runs, policy, PROTOTYPE_PAGES).map_or(f64::NAN, |run| run.share_of_min * 100.0)
    };
    format!(
        "On a trace of the prototype's shape the current clock has {:.2} % of the optimum's hits \
            (thesis: 99.58), random {:.2} (97.72), history and count to 7 {:.2} \
         (99.72), Graven's own policy {:.2}.",
        share("neo4j"),
        share("random"),
        share("hist-7-7"),
        share("graven")
    )
}
