//! A profiled plan as text: the tree of operators with what each of them did.
//!
//! # How it works
//! The table is that of `EXPLAIN` with more columns: rows, time, and for every kind of page its hits, faults and
//! the time waited for them. A last line adds everything up.

use std::fmt::Write as _;

use graven_cypher::Plan;
use graven_exec::ProfileTree;
use graven_pagecache::PerKind;

/// The plan with what its operators did.
pub(crate) fn profile(plan: &Plan, profile: &ProfileTree) -> String {
    let headings = ["estimated rows", "rows", "ms", "pages"];
    let mut text = graven_cypher::explain::render(plan, &headings, &|node| {
        let did = profile.operator(node.id).copied().unwrap_or_default();
        vec![
            format!("{:.0}", node.estimated_rows),
            did.rows.to_string(),
            format!("{:.3}", did.time.as_secs_f64() * 1e3),
            pages(&did.pages),
        ]
    });
    let total = profile.total(&plan.root);
    let _ = write!(
        text,
        "\n{} rows, {:.3} ms, {}",
        total.rows,
        total.time.as_secs_f64() * 1e3,
        pages(&total.pages)
    );
    text
}

fn pages(pages: &PerKind) -> String {
    let kinds = pages.iter().map(|(kind, did)| {
        let mut text = format!("{kind} {} hits {} faults", did.hits, did.faults);
        if did.wait_ns > 0 {
            let _ = write!(text, " {:.3} ms waited", did.wait_ns as f64 / 1e6);
        }
        if did.evictions() > 0 {
            let _ = write!(text, " {} evicted", did.evictions());
        }
        text
    });
    let kinds: Vec<String> = kinds.collect();
    if kinds.is_empty() {
        "-".to_owned()
    } else {
        kinds.join("; ")
    }
}
