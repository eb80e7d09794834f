//! What stands where: every kind of value in every place, every pattern in every clause, every
//! operator between every two values, every way into a subquery with every body.
//!
//! # How it works
//! Nothing is drawn: lists of texts are combined with each other. Most combinations are mistakes,
//! and which ones are is what the statements are for. There is no second answer to them here; they
//! are printed for a comparison with another system.

use serde_json::{Value, json};

/// The graph of all of them.
pub(crate) const GRAPH: &str = "CREATE (a:A {i: 1, s: 'x', l: [1, 2], d: date('2020-01-01')}), \
     (b:A:B {i: 2, s: 'y'}), (c:B {i: 3}), (a)-[:R {w: 1}]->(b), (b)-[:R {w: 2}]->(c), \
     (a)-[:S]->(c)";

/// What binds `v` to a value of each kind.
const KINDS: &[&str] = &[
    "MATCH (v:A {i: 1})",
    "MATCH ()-[v:R {w: 1}]->()",
    "MATCH v = (:A {i: 1})-[:R]->()",
    "MATCH (:A {i: 1})-[v:R*1..1]->()",
    "MATCH (:A {i: 1})-[v:R]->{1,1}()",
    "MATCH (:A {i: 1})((v)-[:R]->()){1,1}()",
    "OPTIONAL MATCH (v:Nope)",
    "MATCH (q:A {i: 1}) WITH q.i AS v",
    "MATCH (q:A) WITH collect(q) AS v",
    "MATCH (q:A {i: 1}) WITH {n: q} AS v",
    "WITH 1 AS v",
    "WITH 1.5 AS v",
    "WITH 'a' AS v",
    "WITH true AS v",
    "WITH null AS v",
    "WITH [1] AS v",
    "WITH {a: 1} AS v",
    "WITH date('2020-01-01') AS v",
    "WITH duration('P1D') AS v",
    "WITH point({x: 1, y: 2}) AS v",
    "UNWIND [1] AS v",
    "UNWIND [null, 1] AS v",
    "UNWIND [null, 'a'] AS v",
    "UNWIND [null, {a: 1}] AS v",
    "MATCH (q:A {i: 1}) UNWIND [null, q] AS v",
    "MATCH ()-[q:S]->() UNWIND [null, q] AS v",
];

/// Places for `v`.
const PLACES: &[&str] = &[
    "MATCH (v) RETURN count(*)",
    "MATCH (v)-->(x) RETURN count(*)",
    "MATCH ()-[v]->() RETURN count(*)",
    "MATCH ()-[v*]->() RETURN count(*)",
    "MATCH v = (x) RETURN count(*)",
    "MATCH (x:$(v)) RETURN count(x)",
    "MATCH (x {i: v}) RETURN count(x)",
    "MATCH (x) WHERE v RETURN count(*)",
    "MATCH (x) RETURN count(x) LIMIT v",
    "MATCH p = shortestPath((v)-[*]->(x)) RETURN count(*)",
    "CREATE (v)-[:T]->(:U)",
    "CREATE ()-[v:T]->()",
    "CREATE (v:T)",
    "CREATE (x {p: v})",
    "CREATE (x:$(v))",
    "CREATE (x:X) SET x = v",
    "MERGE (v)-[:T]->(:U)",
    "MERGE (v:T)",
    "SET v.x = 1",
    "SET v['x'] = 1",
    "SET (v).x = 1",
    "SET coalesce(v, null).x = 1",
    "SET v.x = null, v.y = null",
    "SET v:L",
    "SET v = {x: 1}",
    "SET v += {x: 1}",
    "REMOVE v.x",
    "REMOVE coalesce(v, null).x",
    "REMOVE v:L",
    "DELETE v",
    "DETACH DELETE v",
    "FOREACH (x IN v | CREATE (:F))",
    "UNWIND v AS x RETURN count(x)",
    "LOAD CSV FROM v AS x RETURN x",
    "CALL (v) { RETURN v AS y } RETURN count(y)",
    "CALL { WITH v MATCH (v) RETURN 1 AS y } RETURN y",
    "RETURN v.x AS x",
    "RETURN v.x.y AS x",
    "RETURN v.year AS x",
    "RETURN v['x'] AS x",
    "RETURN v[0] AS x",
    "RETURN v[0..1] AS x",
    "RETURN v{.*} AS x",
    "RETURN v{.x} AS x",
    "RETURN v{x: 1} AS x",
    "RETURN v:A AS x",
    "RETURN v IS NULL AS x",
    "RETURN v IS NORMALIZED AS x",
    "RETURN v IS :: INTEGER AS x",
    "RETURN [x IN v | 1] AS x",
    "RETURN any(x IN v WHERE true) AS x",
    "RETURN reduce(s = 0, x IN v | s) AS x",
    "RETURN (v)-->() AS x",
    "RETURN EXISTS { (v)-->() } AS x",
    "RETURN [(v)-->(y) | 1] AS x",
    "RETURN CASE WHEN v THEN 1 END AS x",
    "RETURN -v AS x",
    "RETURN NOT v AS x",
];

/// Values of every kind, next to `MATCH (n:A {i: 1})`.
const VALUES: &[&str] = &[
    "1",
    "2.5",
    "'a'",
    "true",
    "null",
    "NaN",
    "[1]",
    "[]",
    "{a: 1}",
    "date('2020-01-01')",
    "time('10:00Z')",
    "duration('P1D')",
    "point({x: 1, y: 2})",
    "n",
    "n.i",
    "n.s",
    "n.l",
    "n.d",
    "n.nope",
    "(n)-->()",
    "count(*)",
];

const OPERATORS: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "||",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "=~",
    "IN",
    "STARTS WITH",
    "ENDS WITH",
    "CONTAINS",
    "AND",
    "OR",
    "XOR",
];

/// What stands behind a value.
const SUFFIXES: &[&str] = &[
    " IS NULL",
    " IS NOT NULL",
    " IS NULL IS NULL",
    " IS :: INTEGER",
    " IS NOT :: INTEGER",
    " IS NORMALIZED",
    " IS A",
    ":A",
    "[0]",
    "[-1]",
    "[null]",
    "[0..1]",
    "['x']",
    "['']",
    ".x",
    ".x.y",
    "{.*}",
    "{.x}",
];

const NODES: &[&str] = &[
    "()",
    "(:A)",
    "(n:A:B)",
    "(n:A&B)",
    "(n:A|B)",
    "(n:!A)",
    "(n:%)",
    "(n:(A|B)&!C)",
    "(n:A|:B)",
    "(n:A:B|C)",
    "(n IS A)",
    "(n IS A&B)",
    "(IS A)",
    "(n {i: 1})",
    "(n:A {i: n.i})",
    "(n:A {nope: null})",
    "(n WHERE n.i > 1)",
    "(n:A {i: 1} WHERE n.s = 'x')",
    "(n:$('A'))",
    "(n:$all(['A', 'B']))",
    "(n:$any(['A', 'B']))",
    "(n:$([]))",
    "(n:A:$('B'))",
];

const RELATIONSHIPS: &[&str] = &[
    "-->",
    "<--",
    "--",
    "<-->",
    "-[r]->",
    "-[r:R]->",
    "-[r:R|S]->",
    "-[r:R&S]->",
    "-[r:!R]->",
    "-[r:%]->",
    "-[r:R:S]->",
    "-[r IS R]->",
    "-[r:R {w: 1}]->",
    "-[r:R {w: a.i}]->",
    "-[r:R WHERE r.w > 1]->",
    "-[r:R*]->",
    "-[r:R*0..1]->",
    "-[r:R*1..2 {w: 1}]->",
    "-[:R]->+",
    "-[r:R]->*",
    "-[:R]->{2}",
    "-[:R]->{,2}",
    "-[:R]->{}",
    "-[r:R WHERE r.w > 0]->+",
    "-[r:$('R')]->",
    "-[r:$any(['R', 'S'])]->",
    "-[r:$([])]->",
    "->(x)((y)-[:R]->(z))+",
    "((y)-[:R]->(z))*",
    "((y)-[:R]->(z)){1,2}-->",
];

const SELECTORS: &[&str] = &[
    "",
    "SHORTEST 1 ",
    "SHORTEST 2 GROUPS ",
    "ALL SHORTEST ",
    "ANY ",
    "ANY 2 PATHS ",
    "ALL PATHS ",
    "SHORTEST ",
];

/// Places for a pattern.
const CLAUSES: &[&str] = &[
    "MATCH {} RETURN count(*)",
    "MATCH p = {} RETURN count(length(p))",
    "OPTIONAL MATCH {} RETURN count(*)",
    "CREATE {}",
    "INSERT {}",
    "MERGE {}",
    "RETURN EXISTS { {} } AS x",
    "RETURN COUNT { MATCH {} } AS x",
    "MATCH (z) RETURN count([{} | 1]) AS x",
    "MATCH (z) WHERE {} RETURN 1",
];

/// Ways into a subquery, around `n` and `o`.
const IMPORTS: &[&str] = &[
    "CALL { WITH n {} }",
    "CALL { WITH * {} }",
    "CALL { {} }",
    "CALL (n) { {} }",
    "CALL (*) { {} }",
    "CALL () { {} }",
    "OPTIONAL CALL (n) { {} }",
];

const BODIES: &[&str] = &[
    "RETURN 1 AS y",
    "RETURN n AS y",
    "RETURN n AS n",
    "RETURN n",
    "RETURN *",
    "RETURN 1 AS o",
    "RETURN o AS y",
    "WITH 1 AS n RETURN n AS y",
    "WITH n, 1 AS y RETURN y",
    "WITH *, 1 AS y RETURN y",
    "WITH n WHERE n.i = 1 RETURN 1 AS y",
    "LIMIT 1 RETURN 1 AS y",
    "ORDER BY n.i RETURN 1 AS y",
    "USE neo4j RETURN 1 AS y",
    "MATCH (n)-->(y) RETURN y",
    "MATCH (o) RETURN o AS y",
    "UNWIND [1] AS n RETURN 1 AS y",
    "RETURN n AS y UNION RETURN 2 AS y",
    "CALL (n) { RETURN n AS q } RETURN q AS y",
    "CREATE (y:Q) RETURN y",
    "SET n.z = 1",
    "DELETE n",
    "FINISH",
    "CALL db.labels() YIELD label WHERE label = 'A' RETURN label AS y",
];

/// Subqueries of expressions, around `n`.
const ASKED: &[&str] = &[
    "(n)-->(m) WHERE m.i > 1",
    "p = (n)-->()",
    "MATCH (n)-->(m)",
    "MATCH (n)-->(m) RETURN m",
    "MATCH (n)-->(m) RETURN m AS n",
    "MATCH (n)-->(m) RETURN m.i, m.s",
    "MATCH (n)-->(m) RETURN count(m)",
    "MATCH (n)-->(m) RETURN m.i ORDER BY m.i SKIP 1",
    "MATCH (m) RETURN m UNION MATCH (m) RETURN m",
    "WITH 1 AS n RETURN n",
    "UNWIND [1, 2] AS z RETURN z",
    "RETURN *",
    "CALL (n) { RETURN n.i AS z } RETURN z",
    "MATCH (n)-->(m) FINISH",
    "CREATE (q)",
];

/// Places for a subquery.
const ASKING: &[&str] = &[
    "MATCH (n:A) RETURN {} AS x",
    "MATCH (n:A) RETURN {}, count(*)",
    "MATCH (n:A) RETURN max({}) AS x",
    "MATCH (n:A) WHERE {} RETURN n.i",
    "MATCH (n:A) WITH n ORDER BY {}, n.i RETURN n.i",
    "MATCH (n:A) SET n.q = {}",
    "MATCH (n:A) CREATE (:Q {q: {}})",
    "MATCH (n:A) MERGE (:Q {q: {}})",
    "MATCH (n:A) RETURN CASE WHEN {} THEN 1 ELSE 0 END AS x",
    "MATCH (n:A) RETURN [z IN [1] | {}] AS x",
    "MATCH (n:A) RETURN n.i LIMIT {}",
];

/// Every place, for a parameter `v` of every kind, and the value of it.
pub(crate) fn with_parameters() -> Vec<(String, Value)> {
    let kinds = [
        json!(1),
        json!(1.5),
        json!("a"),
        json!(true),
        json!(null),
        json!([1]),
        json!({"a": 1}),
    ];
    let mut all = Vec::new();
    for place in PLACES {
        // Behind a clause: some places begin with what needs one before it.
        let statement = format!("MATCH (q:A) {}", place.replace('v', "$v"));
        all.extend(kinds.iter().map(|kind| (statement.clone(), kind.clone())));
    }
    all
}

/// All of them.
pub(crate) fn statements() -> Vec<String> {
    let mut all = Vec::new();
    for (kind, place) in pairs(KINDS, PLACES) {
        all.push(format!("{kind} {place}"));
    }
    let of_n = |expr: String| format!("MATCH (n:A {{i: 1}}) RETURN {expr} AS x");
    for (value, suffix) in pairs(VALUES, SUFFIXES) {
        all.push(of_n(format!("{value}{suffix}")));
    }
    for (left, right) in pairs(VALUES, VALUES) {
        all.extend((OPERATORS.iter()).map(|op| of_n(format!("{left} {op} {right}"))));
    }
    for (first, second) in pairs(OPERATORS, OPERATORS) {
        for [a, b, c] in [
            ["1", "2", "3"],
            ["true", "false", "true"],
            ["[1]", "[2]", "[[1]]"],
        ] {
            all.push(of_n(format!("{a} {first} {b} {second} {c}")));
        }
    }
    for relationship in RELATIONSHIPS {
        for function in ["shortestPath", "allShortestPaths"] {
            let path = format!("p = {function}((a){relationship}(b))");
            all.push(format!(
                "MATCH (a:A)-[q]->(b), {path} RETURN count(length(p))"
            ));
        }
    }
    for clause in CLAUSES {
        all.extend(NODES.iter().map(|node| clause.replace("{}", node)));
        for (selector, relationship) in pairs(SELECTORS, RELATIONSHIPS) {
            let pattern = format!("{selector}(a:A){relationship}(b:B)");
            all.push(clause.replace("{}", &pattern));
        }
        all.push(clause.replace("{}", "((x)-[:R]->(y)){0,1}"));
        all.push(clause.replace("{}", "((x)-[:R]->(y))+"));
    }
    for (import, body) in pairs(IMPORTS, BODIES) {
        let subquery = import.replace("{}", body);
        let before = "MATCH (n:A) WITH n, 5 AS o";
        all.push(format!("{before} {subquery} RETURN *"));
        all.push(format!("{before} {subquery}"));
    }
    for (place, body) in pairs(ASKING, ASKED) {
        for kind in ["EXISTS", "COUNT", "COLLECT"] {
            all.push(place.replace("{}", &format!("{kind} {{ {body} }}")));
        }
    }
    all
}

fn pairs<'a>(first: &'a [&str], second: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = move |a: &'a &str| second.iter().map(move |b| (*a, *b));
    first.iter().flat_map(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Library;

    /// Goal: whatever stands where, no failure is an internal one. One statement of twenty.
    #[test]
    fn no_combination_fails_inside() {
        let library = Library::empty().expect("a database");
        library.ask(GRAPH).expect("the graph");
        for statement in statements().iter().step_by(20) {
            if let Err(error) = library.ask(statement) {
                assert!(!error.contains("Internal"), "{statement}: {error}");
            }
        }
    }
}
