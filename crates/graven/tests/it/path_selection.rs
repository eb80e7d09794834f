//! Goal: which paths a pattern selects: the modes and selectors of Neo4j 5, and the conditions that
//! count before and after.

use crate::graph::{Social, social};
use crate::neo4j_compat::{refused, rows};

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
                "MATCH p = {words} (:Person {{id: 1}})-[:KNOWS]-+(:Person {{id: 3}}) RETURN \
                    length(p) AS l ORDER BY l"
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
        ask("MATCH (a:Person {id: 1}), (b:Person {id: 4}) RETURN \
                length(shortestPath((a)-[:KNOWS*]-(b))), size(allShortestPaths((a)-[:KNOWS*]->(b)))"),
        ["2 1"]
    );
    for ends in ["(a)-[*]-(b)", "(a)-[*]-()", "(:Person)-[*]-(a)"] {
        for function in ["shortestPath", "allShortestPaths"] {
            let text = format!("MATCH (a:Person) RETURN {function}({ends})");
            refused(&text, &["SyntaxError.UndefinedVariable", "both ends"]);
        }
    }
}

/// Two ways from `a` to `b`: the short one is heavy, the long one light; and on to `c`, which only
/// has a heavy one.
fn ways() -> Social {
    let social = social();
    social.rows(
        "CREATE (a:W {x: 1})-[:R {w: 9}]->(b:W {x: 2}), (a)-[:R {w: 1}]->(:W {x: 3})-[:R {w: \
            1}]->(b)-[:R {w: 7}]->(:W {x: 4})",
    );
    social
}

#[test]
fn what_stands_behind_a_selection_judges_what_was_selected() {
    let social = ways();
    let ask = |text: &str| rows(&social, text);
    for condition in [
        "all(r IN relationships(p) WHERE r.w < 5)",
        "none(r IN relationships(p) WHERE r.w > 5)",
        "all(e IN es WHERE e.w < 5)",
        "length(p) > 1",
    ] {
        let behind = format!(
            "MATCH p = SHORTEST 1 (:W {{x: 1}})-[es:R]->+(:W {{x: 2}}) WHERE {condition} RETURN \
                length(p)"
        );
        assert!(ask(&behind).is_empty(), "{behind}");
        let all = behind.replace("SHORTEST 1", "SHORTEST 2 GROUPS");
        assert_eq!(ask(&all), ["2"], "{all}");
    }
    // `shortestPath()` looks for the shortest of those whose relationships are right.
    assert_eq!(
        ask(
            "MATCH p = shortestPath((:W {x: 1})-[:R*]->(:W {x: 2})) WHERE all(r IN \
                relationships(p) WHERE r.w < 5) RETURN length(p)"
        ),
        ["2"]
    );
}

#[test]
fn what_stands_within_the_parentheses_judges_before() {
    let social = ways();
    let ask = |text: &str| rows(&social, text);
    for (pattern, expected) in [
        // Judged by the search: each relationship, the ends.
        (
            "((a:W {x: 1})-[e:R]->+(b:W {x: 2}) WHERE all(r IN e WHERE r.w < 5))",
            &["1 2 2"][..],
        ),
        (
            "((a:W {x: 1})-[e:R]->+(b:W) WHERE none(r IN e WHERE r.w > 5) AND a.x < b.x)",
            &["1 2 2", "1 3 1"],
        ),
        ("((a:W)-[e:R]->+(b:W) WHERE a.x + 2 < b.x)", &["1 4 2"]),
        (
            "(((a:W)-[e:R]->+(b:W) WHERE a.x = 1) WHERE b.x = 4)",
            &["1 4 2"],
        ),
        // Of all matches.
        (
            "((a:W {x: 1})-[e:R]->+(b:W {x: 2}) WHERE size(e) > 1)",
            &["1 2 2"],
        ),
        (
            "((a:W {x: 1})-[e:R]->+(b:W {x: 4}) WHERE reduce(s = 0, r IN e | s + r.w) < 10)",
            &["1 4 3"],
        ),
        (
            "((a:W {x: 1})-[e:R]->(m)-[:R]->+(b:W) WHERE e.w < 5 AND m.x > b.x)",
            &["1 2 2"],
        ),
        (
            "((a:W {x: 1})((m)-[e:R]->(n))+(b:W) WHERE all(r IN e WHERE r.w < b.x + 1) AND b.x > \
                1)",
            &["1 2 2", "1 3 1"],
        ),
    ] {
        let text =
            format!("MATCH p = SHORTEST 1 {pattern} RETURN a.x, b.x, length(p) ORDER BY a.x, b.x");
        assert_eq!(ask(&text), expected, "{text}");
        // The same, one after the other: all that fulfils the condition, then the least length.
        let text = format!(
            "MATCH p = {pattern} WITH a, b, min(length(p)) AS l RETURN a.x, b.x, l ORDER BY a.x, \
                b.x"
        );
        assert_eq!(ask(&text), expected, "{text}");
    }
    // Without a selection it is a condition like any other; with a quantifier one of each
    // repetition.
    assert_eq!(
        ask("MATCH ((a:W)-[e:R]->(b) WHERE e.w > 5 AND a.x = 1) RETURN b.x"),
        ["2"]
    );
    assert_eq!(
        ask("MATCH (a:W {x: 1})((m)-[e:R]->(n) WHERE e.w < 5)+(b) RETURN b.x ORDER BY b.x"),
        ["2", "3"]
    );
    assert_eq!(
        ask("MATCH (:W {x: 1})(((m)-[e:R]->(n) WHERE e.w < 5) WHERE n.x = 3)+(b) RETURN b.x"),
        ["3"]
    );
    for clause in ["CREATE", "MERGE"] {
        refused(
            &format!("{clause} ((a)-[:R]->(b) WHERE a.x = 1)"),
            &["SyntaxError.UnexpectedSyntax", "WHERE"],
        );
    }
}

#[test]
fn a_path_may_have_its_name_within_the_parentheses() {
    let social = social();
    let ask = |text: &str| rows(&social, text);
    for (within, outside) in [
        (
            "MATCH (p = (:Person {id: 1})-[:KNOWS]->(b)) RETURN length(p), b.id ORDER BY b.id",
            "MATCH p = (:Person {id: 1})-[:KNOWS]->(b) RETURN length(p), b.id ORDER BY b.id",
        ),
        (
            "MATCH SHORTEST 1 (p = (:Person {id: 1})-[:KNOWS]-+(:Person {id: 3}) WHERE length(p) > \
                1) RETURN length(p)",
            "MATCH p = SHORTEST 1 ((:Person {id: 1})-[r:KNOWS]-+(:Person {id: 3}) WHERE size(r) > \
                1) RETURN length(p)",
        ),
    ] {
        let found = ask(within);
        assert!(!found.is_empty(), "{within}: rows");
        assert_eq!(found, ask(outside), "{within}");
    }
    refused(
        "MATCH q = (p = (a)-->(b)) RETURN 1",
        &["SyntaxError.UnexpectedSyntax", "called `p`"],
    );
}

/// Adds the paths that go on from this one and meet no node twice; `both`: also against the
/// relationships.
fn simple_paths(ends: &[(usize, usize)], both: bool, path: &mut Vec<usize>, all: &mut Vec<Found>) {
    let last = path[path.len() - 1];
    for (from, to) in ends {
        let mut next = vec![(*from, *to)];
        next.extend(both.then_some((*to, *from)));
        for (from, to) in next {
            if from != last || path.contains(&to) {
                continue;
            }
            path.push(to);
            all.push((path[0], to, path.len() - 1));
            simple_paths(ends, both, path, all);
            path.pop();
        }
    }
}

/// Start, end and length of a path.
type Found = (usize, usize, usize);

/// Goal: of the paths that meet no node twice, the first by length are those that a naive
/// enumeration finds, however many are wanted.
#[test]
fn shortest_paths_that_meet_no_node_twice() {
    let ends = [
        (0, 1),
        (1, 2),
        (2, 0),
        (2, 1),
        (2, 3),
        (0, 3),
        (3, 4),
        (4, 2),
        (1, 4),
        (0, 1),
    ];
    let social = social();
    social.rows("UNWIND range(0, 4) AS i CREATE (:V {i: i})");
    for (from, to) in ends {
        social.rows(&format!(
            "MATCH (a:V {{i: {from}}}), (b:V {{i: {to}}}) CREATE (a)-[:R]->(b)"
        ));
    }
    for (arrow, both) in [("->", false), ("-", true)] {
        let mut all = Vec::new();
        for start in 0..5 {
            simple_paths(&ends, both, &mut vec![start], &mut all);
        }
        all.sort_unstable();
        for (selector, most, lengths) in [
            ("SHORTEST 1", 1, None),
            ("ANY SHORTEST", 1, None),
            ("ALL SHORTEST", usize::MAX, Some(1)),
            ("SHORTEST 2", 2, None),
            ("SHORTEST 4", 4, None),
            ("SHORTEST 2 GROUPS", usize::MAX, Some(2)),
            ("SHORTEST 3 GROUPS", usize::MAX, Some(3)),
        ] {
            for (bounds, least, longest) in [("", 1, usize::MAX), ("2..3", 2, 3), ("1..2", 1, 2)] {
                let mut expected: Vec<Found> = Vec::new();
                let fit = all.iter().filter(|it| (least..=longest).contains(&it.2));
                for found in fit {
                    let same = expected
                        .iter()
                        .filter(|it| (it.0, it.1) == (found.0, found.1));
                    let same: Vec<usize> = same.map(|it| it.2).collect();
                    let mut groups = same.clone();
                    groups.push(found.2);
                    groups.dedup();
                    if same.len() < most && lengths.is_none_or(|lengths| groups.len() <= lengths) {
                        expected.push(*found);
                    }
                }
                let expected: Vec<String> = expected
                    .iter()
                    .map(|(from, to, length)| format!("{from} {to} {length}"))
                    .collect();
                let text = format!(
                    "MATCH p = {selector} (a:V)-[:R* ACYCLIC {bounds}]{arrow}(b:V) \
                        RETURN a.i, b.i, length(p) ORDER BY a.i, b.i, length(p)"
                );
                assert_eq!(rows(&social, &text), expected, "{text}");
            }
        }
    }
}
