//! Goal: paths are found in little memory as in much. Method: the same statements on graphs of
//! which searches, ways begun and paths take several times the budget, within 4 MiB, with operators
//! that spill at once, and with all the memory they want; small graphs are compared with
//! enumeration in `statements.rs`.

use graven_cypher::{ParameterNames, parse_and_plan};
use graven_exec::{ExecContext, Params};
use graven_pagecache::Budget;
use graven_storage::Snapshot;

use crate::model::{Model, Random, Rel};
use crate::plans::Spilling;
use crate::statements::{Schema, contains, graph, rows_of};

fn rel(start: u64, end: u64) -> Rel {
    Rel {
        start,
        kind: "R",
        end,
        weight: i64::try_from(start % 7).unwrap(),
    }
}

/// A graph of `nodes` nodes, each with as many relationships to others, some of them parallel, in a
/// few components.
fn scattered(nodes: u64, each: u64) -> Model {
    let mut random = Random::new(0x9a7f_5001);
    let rels = (0..nodes * each).map(|n| {
        let start = n / each;
        // The last hundredth is by itself.
        match start >= nodes - nodes / 100 {
            true => rel(start, nodes - 1 - random.below(nodes / 100)),
            false => rel(start, random.below(nodes - nodes / 100)),
        }
    });
    let mut rels: Vec<Rel> = rels.collect();
    rels.sort_by_key(|rel| (rel.start, rel.end));
    Model {
        nodes: (0..nodes)
            .map(|n| (false, i64::try_from(n % 5).unwrap()))
            .collect(),
        rels,
    }
}

/// Asks a statement with much memory, within `budget`, and spilling at once.
fn compare(snapshot: &Snapshot, text: &str, operator: &str, budget: u64) -> Vec<String> {
    let schema = Schema {
        seed: 1,
        scale: 1,
        threads: 1,
    };
    let plan = || {
        let plan = parse_and_plan(text, &schema, &ParameterNames::Any);
        plan.unwrap_or_else(|e| panic!("{}", e.render()))
    };
    assert!(contains(&plan(), operator), "{text}");
    let params = Params::new();
    let mut expected = rows_of(
        snapshot,
        plan(),
        &params,
        ExecContext::new(Budget::new(1 << 30)),
    );
    expected.sort();
    for (budget, spill_at) in [(budget, None), (64 << 20, Some(1))] {
        let spilling = Spilling::within(budget);
        let mut rows = rows_of(snapshot, plan(), &params, spilling.context(spill_at));
        spilling.check();
        assert!(
            spilling.peak() <= budget,
            "{text}: {} bytes",
            spilling.peak()
        );
        rows.sort();
        assert_eq!(rows, expected, "{text} with {budget} bytes");
    }
    expected
}

/// Goal: searches between two nodes of a graph whose nodes alone take more than the budget.
#[test]
fn searches_that_do_not_fit() {
    let snapshot = graph(&scattered(60_000, 4));
    for text in [
        "MATCH (a:A {id: 17}), (b:A {id: 40000}) MATCH p = ALL SHORTEST (a)-[:R]-+(b) RETURN [r IN \
            relationships(p) | id(r)] AS l",
        "MATCH (a:A {id: 18}), (b:A {id: 40001}) MATCH p = ALL SHORTEST (a)-[:R]->+(b) RETURN [r \
            IN relationships(p) | id(r)] AS l",
        "MATCH (a:A {id: 19}), (b:A {id: 40002}) MATCH p = ANY SHORTEST (a)<-[:R]-+(b) RETURN [r \
            IN relationships(p) | id(r)] AS l",
        "MATCH (a:A {id: 20}), (b:A {id: 40003}) MATCH p = SHORTEST 3 (a)-[:R]->+(b) RETURN [r IN \
            relationships(p) | id(r)] AS l",
        "MATCH (a:A {id: 21}), (b:A {id: 40004}) MATCH p = SHORTEST 2 GROUPS (a)-[:R]->+(b) RETURN \
            count(*), min(length(p)), max(length(p))",
        "MATCH (a:A {id: 22}), (b:A {id: 59990}) MATCH p = ALL SHORTEST (a)-[:R]-+(b) RETURN \
            count(*)",
        "MATCH (a:A {id: 23}), (b:A {id: 59990}) MATCH p = SHORTEST 2 (a)-[:R]-+(b) RETURN \
            count(*)",
        "MATCH (b:A {id: 3}) MATCH (a:A) WHERE a.id > 20000 AND a.id < 20020 MATCH p = SHORTEST 2 \
            (a)-[:R]->+(b) RETURN [r IN relationships(p) | id(r)] AS l",
    ] {
        let rows = compare(&snapshot, text, "VarExpandInto", 4 << 20);
        assert!(!rows.is_empty(), "{text}");
    }
}

/// Goal: more ways begun than fit, of one repetition and of several.
#[test]
fn ways_that_do_not_fit() {
    let mut wide = Model {
        nodes: (0..301).map(|n| (false, n % 5)).collect(),
        rels: (0..300)
            .map(|n| rel(300, n))
            .chain((0..300).flat_map(|n| (0..n % 300).map(move |m| rel(n, m))))
            .collect(),
    };
    wide.rels.sort_by_key(|rel| (rel.start, rel.end));
    let snapshot = graph(&wide);
    for text in [
        "MATCH (a:A {id: 300}) ((x)-[r:R]->(y) WHERE x.x >= 0){1,2} (b) RETURN b.id, count(*), \
            sum(size(y))",
        "MATCH (a:A {id: 300}) ((x)-[r:R]->(y) WHERE x.x + y.x > 2){1,3} (b:A {id: 3}) RETURN [q \
            IN r | id(q)] AS l",
    ] {
        let rows = compare(&snapshot, text, "Repeat", 4 << 20);
        assert!(!rows.is_empty(), "{text}");
    }
}

/// Goal: ways and trails of many relationships, which must not take a call stack, nor all lists
/// along them.
#[test]
fn long_ways() {
    const LENGTH: u64 = 5_000;
    let chain = Model {
        nodes: (0..=LENGTH)
            .map(|n| (false, i64::try_from(n % 5).unwrap()))
            .collect(),
        rels: (0..LENGTH).map(|n| rel(n, n + 1)).collect(),
    };
    let snapshot = graph(&chain);
    let ways = format!(
        "MATCH (a:A {{id: 0}}) ((x)-[r:R]->(y) WHERE x.x >= 0){{{LENGTH}}} (b) RETURN b.id, size(r)"
    );
    let rows = compare(&snapshot, &ways, "Repeat", 4 << 20);
    assert_eq!(rows, [format!("[Integer({LENGTH}), Integer({LENGTH})]")]);
    let trails = format!("MATCH (a:A {{id: 0}})-[r:R*{LENGTH}..]-(b) RETURN b.id, size(r)");
    let rows = compare(&snapshot, &trails, "VarExpand", 4 << 20);
    assert_eq!(rows, [format!("[Integer({LENGTH}), Integer({LENGTH})]")]);
    // Two trails in all: what is looked for behind them is far longer.
    let paths =
        "MATCH (a:A {id: 10}), (b:A {id: 14}) MATCH p = SHORTEST 4 (a)-[:R]-+(b) RETURN length(p)";
    assert_eq!(
        compare(&snapshot, paths, "VarExpandInto", 4 << 20),
        ["[Integer(4)]"]
    );
}
