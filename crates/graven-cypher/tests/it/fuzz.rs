//! Damaged statements never panic: they give a plan or an error, and every rule leaves a plan that
//! can be run.

use graven_cypher::{ParameterNames, parse_and_plan, parse_and_plan_logical};
use proptest::prelude::*;

use crate::schema::Social;

/// Statements that between them use the whole grammar.
const SEEDS: &[&str] = &[
    "MATCH (p:Person {id: $id})-[:KNOWS*1..3]-(f:Person) RETURN count(distinct f)",
    "MATCH p = (a:A|B&!C)<-[r:R|S*0..2 {x: 1}]-(b) WHERE a.x IN [1, 2.5, 'x'] AND NOT (a)-->(b) \
        RETURN p, r ORDER BY a.x DESC SKIP 1 LIMIT 2",
    "UNWIND range(1, 10) AS i WITH i, [x IN range(0, i) WHERE x % 2 = 0 | x ^ 2] AS l RETURN i, \
        reduce(s = 0, y IN l | s + y) AS s",
    "MATCH (n) OPTIONAL MATCH (n)-[r]->(m {a: n.b}) RETURN n {.*, .name, k: 1, m}, \
        collect(DISTINCT m.x)[0..2], count(*) + 1",
    "CALL { MATCH (n) RETURN n UNION MATCH (m:X) RETURN m AS n } RETURN CASE n.x WHEN 1 THEN 'a' \
        ELSE null END AS c",
    "MATCH (a) WHERE EXISTS { (a)-[:T]->(b) WHERE b.x = a.x } AND COUNT { (a)--() } > 2 RETURN \
        [(a)-->(c) | c.name]",
    "CREATE (a:A {x: 1})-[:T]->(b) SET a.x = 2, a += {y: 1}, b:L REMOVE b.y DETACH DELETE a",
    "MERGE (a:A {x: 1}) ON CREATE SET a.c = 1 ON MATCH SET a.m = 2 FOREACH (x IN [1] | CREATE (:B \
        {x: x}))",
    "PROFILE MATCH (a) WHERE a.x =~ '.*' XOR a.y STARTS WITH \"b\" OR 1 < a.z <= 3 RETURN *",
    "MATCH (a)-[r]-(b) MATCH (c)-[r]->(d) WITH DISTINCT a, d ORDER BY a.x RETURN any(x IN \
        labels(a) WHERE x = 'A')",
    "CALL test.my.proc('x', 1) YIELD city AS c WHERE c <> 'y' RETURN c, $`odd name`, \
        -9223372036854775808, 0x1F",
    "CYPHER 5 runtime=slotted EXPLAIN USE neo4j MATCH (a IS A|B)-[r IS R]->(IS C) WHERE a IS !D \
        RETURN CASE a.x WHEN 1_0, > 2, IS NOT NULL THEN 'a' || a.y WHEN STARTS WITH 'b' THEN INF \
        END",
    "MATCH (a) OPTIONAL CALL (a) { WITH a MATCH (a)-->(b) RETURN b } OPTIONAL CALL \
        test.my.proc('x', 1) YIELD city AS c INSERT (:A {x: c :: STRING}) SET a IS B NODETACH \
        DELETE b FINISH",
];

fn run(text: &str) {
    if let Ok(plan) = parse_and_plan(text, &Social, &ParameterNames::Any) {
        assert!(!graven_cypher::explain::explain(&plan).is_empty());
    }
    let go_on = std::rc::Rc::new(|| false);
    if let Ok(plan) = parse_and_plan_logical(text, &Social, &ParameterNames::Any, go_on) {
        assert!(plan.to_json().starts_with('{'));
    }
}

/// Pieces of a statement: words, numbers, strings, single signs.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut word = false;
    for c in text.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        match pieces.last_mut() {
            Some(last) if word && is_word => last.push(c),
            _ => pieces.push(c.to_string()),
        }
        word = is_word;
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    /// Pieces of one seed are deleted, doubled, or replaced by pieces of another.
    #[test]
    fn mutated_statements_do_not_panic(
        seed in 0..SEEDS.len(),
        other in 0..SEEDS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4u8), 1..8),
    ) {
        let mut text = pieces(SEEDS[seed]);
        let donor = pieces(SEEDS[other]);
        for (at, from, kind) in edits {
            if text.is_empty() {
                break;
            }
            let at = at.index(text.len());
            match kind {
                0 => { text.remove(at); }
                1 => { let piece = text[at].clone(); text.insert(at, piece); }
                2 => text[at] = donor[from.index(donor.len())].clone(),
                _ => text.insert(at, donor[from.index(donor.len())].clone()),
            }
        }
        run(&text.concat());
    }

    /// Any characters at all.
    #[test]
    fn noise_does_not_panic(text in "(?s).{0,80}") {
        run(&text);
        run(&format!("RETURN {text}"));
        run(&format!("MATCH ({text}"));
    }
}

#[test]
fn seeds_are_valid() {
    for seed in SEEDS {
        if let Err(error) = parse_and_plan(seed, &Social, &ParameterNames::Any) {
            assert_eq!(error.code.category(), "NotAvailable", "{}", error.render());
        }
    }
}

/// Deep nesting ends in an error, on a stack of the size threads usually have.
#[test]
fn deep_nesting_is_refused_not_overflowed() {
    let deep: Vec<String> = vec![
        format!("RETURN {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("RETURN {}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("RETURN {}1", "1 + ".repeat(100_000)),
        format!("RETURN {}true", "NOT ".repeat(100_000)),
        format!("RETURN {}1", "- ".repeat(100_000)),
        format!("RETURN a{}", ".b".repeat(100_000)),
        format!(
            "RETURN {}1{}",
            "CASE WHEN true THEN ".repeat(10_000),
            " END".repeat(10_000)
        ),
        format!("{} RETURN 1", "MATCH (a) ".repeat(10_000)),
        format!("RETURN {}1{}", "{a: ".repeat(10_000), "}".repeat(10_000)),
        format!("RETURN 1 {}", "UNION RETURN 1 ".repeat(10_000)),
        format!("MATCH (a:{}A) RETURN a", "!".repeat(100_000)),
        format!(
            "RETURN {} MATCH (a) RETURN a {}",
            "EXISTS { MATCH (x) WHERE ".repeat(5_000),
            "}".repeat(5_000)
        ),
        format!(
            "RETURN [x IN [1] WHERE {}1{}",
            "(a {b: ".repeat(5_000),
            "})-->()".repeat(5_000)
        ),
    ];
    for text in deep {
        let error = parse_and_plan(&text, &Social, &ParameterNames::Any);
        assert!(
            error.is_err(),
            "{}",
            text.chars().take(60).collect::<String>()
        );
    }
    let wide = format!(
        "MATCH (n) WHERE {} RETURN n",
        (0..20_000)
            .map(|i| format!("n.id = {i}"))
            .collect::<Vec<_>>()
            .join(" OR ")
    );
    run(&wide);
    let sum = format!("RETURN {}1", "1 + ".repeat(300));
    assert!(parse_and_plan(&sum, &Social, &ParameterNames::Any).is_ok());
    let nested = format!("RETURN {}1{}", "(1 + ".repeat(100), ")".repeat(100));
    assert!(parse_and_plan(&nested, &Social, &ParameterNames::Any).is_ok());
}
