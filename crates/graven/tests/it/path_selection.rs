//! Goal: which paths a pattern selects: the modes and selectors of Neo4j 5, and the conditions that count before and after.

use crate::dialect::{refused, rows};
use crate::graph::social;

#[test]
fn what_every_match_does_may_be_said() {
    let social = social();
    let ask = |text: &str| rows(&social, text);
    let plain = ask("MATCH (a:Person)--(b)--(c) RETURN count(*)");
    for words in [
        "DIFFERENT RELATIONSHIPS",
        "DIFFERENT RELATIONSHIP",
        "DIFFERENT RELATIONSHIP BINDINGS",
    ] {
        let text = format!("MATCH {words} (a:Person)--(b)--(c) RETURN count(*)");
        assert_eq!(ask(&text), plain, "{text}");
    }
    assert_eq!(
        ask("MATCH different = (a:Person {id: 1})-[:KNOWS]->() RETURN length(different)"),
        ["1", "1"]
    );
    for (with, without) in [
        ("TRAIL", ""),
        ("TRAIL PATHS", ""),
        ("ALL TRAIL PATHS", "ALL PATHS"),
        ("ANY SHORTEST TRAIL PATH", "ANY SHORTEST"),
        ("SHORTEST 2 TRAIL PATHS", "SHORTEST 2"),
        ("SHORTEST 2 TRAIL PATH GROUPS", "SHORTEST 2 GROUPS"),
        ("ALL SHORTEST TRAIL", "ALL SHORTEST"),
    ] {
        let text = |words: &str| {
            format!(
                "MATCH p = {words} (:Person {{id: 1}})-[:KNOWS]-+(:Person {{id: 3}}) RETURN length(p) AS l ORDER BY l"
            )
        };
        assert_eq!(ask(&text(with)), ask(&text(without)), "{with}");
    }
    for mode in ["WALK", "ACYCLIC", "SIMPLE"] {
        refused(
            &format!("MATCH p = ANY SHORTEST {mode} PATHS (a)-->+(b) RETURN p"),
            &["NotAvailable.FeatureNotAvailable", mode],
        );
        refused(
            &format!("MATCH {mode} (a)-->+(b) RETURN a"),
            &["NotAvailable.FeatureNotAvailable", mode],
        );
    }
}

#[test]
fn a_shortest_path_as_a_value_has_known_ends() {
    let social = social();
    let ask = |text: &str| rows(&social, text);
    assert_eq!(
        ask(
            "MATCH (a:Person {id: 1}), (b:Person {id: 4}) RETURN length(shortestPath((a)-[:KNOWS*]-(b))), size(allShortestPaths((a)-[:KNOWS*]->(b)))"
        ),
        ["2 1"]
    );
    for ends in ["(a)-[*]-(b)", "(a)-[*]-()", "(:Person)-[*]-(a)"] {
        for function in ["shortestPath", "allShortestPaths"] {
            let text = format!("MATCH (a:Person) RETURN {function}({ends})");
            refused(&text, &["SyntaxError.UndefinedVariable", "both ends"]);
        }
    }
}
