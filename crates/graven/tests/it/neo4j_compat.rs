//! Goal: spellings of Neo4j 5 beside those of openCypher give the answers they stand for, and what
//! is not there is refused by name.

use graven::{Params, Value};

use crate::graph::{Social, social};

/// All rows, each value as text, columns separated by spaces.
pub(crate) fn rows(social: &Social, text: &str) -> Vec<String> {
    let rows = social.rows(text);
    let line = |row: &graven::Row| {
        let values: Vec<String> = row.values().iter().map(Value::to_string).collect();
        values.join(" ")
    };
    rows.iter().map(line).collect()
}

pub(crate) fn value(text: &str) -> String {
    social().value(text).to_string()
}

/// Code, message and hint of the error.
fn error(text: &str) -> String {
    let social = social();
    let result = social
        .db
        .connect()
        .query(text, &Params::new())
        .and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    match result {
        Ok(rows) => panic!("{text}: {} rows instead of an error", rows.len()),
        Err(error) => format!("{} {error}", error.code()),
    }
}

#[track_caller]
pub(crate) fn refused(text: &str, parts: &[&str]) {
    let error = error(text);
    for part in parts {
        assert!(error.contains(part), "{text}: no `{part}` in: {error}");
    }
}

#[test]
fn case_takes_lists_of_values_and_partial_conditions() {
    let text = "UNWIND [0, 1, 2, 3, 7, 1.5, null, 'abc', 'xyz'] AS x
                RETURN CASE x WHEN 1, 2 THEN 1
                              WHEN IS NULL THEN 2
                              WHEN IS :: STRING, IS :: BOOLEAN THEN CASE x WHEN STARTS WITH 'a' \
                              THEN 3 WHEN =~ '.*z' THEN 4 END
                              WHEN > 5, = 0 THEN 5
                              WHEN IS NOT NULL THEN 6 END AS y";
    assert_eq!(
        rows(&social(), text),
        ["5", "1", "1", "6", "5", "6", "2", "3", "4"]
    );
    assert_eq!(
        value("RETURN CASE 'ab' WHEN ENDS WITH 'b' THEN 1 ELSE 0 END"),
        "1"
    );
    // A subject that takes work is computed once, in rows that a branch before has picked out as
    // well.
    assert_eq!(
        value(
            "UNWIND range(0, 5) AS x
             RETURN sum(CASE WHEN x > 1 THEN CASE x % 3 WHEN 0 THEN 1 WHEN x - 3 THEN 10 ELSE 100 \
             END ELSE 0 END)"
        ),
        "121"
    );
    // The subject is that of the innermost CASE, and a value may hold another one.
    assert_eq!(
        value("RETURN CASE 3 WHEN CASE 1 WHEN < 2 THEN 3 END, 9 THEN 'in' ELSE 'out' END = 'in'"),
        "true"
    );
    assert_eq!(
        rows(
            &social(),
            "MATCH (p:Person) RETURN CASE count { (p)-[:KNOWS]->() } WHEN >= 2 THEN 'many' WHEN 1 \
                THEN 'one' ELSE 'none' END = 'one' AS k ORDER BY p.id"
        ),
        ["false", "true", "true", "false"]
    );
    assert_eq!(
        rows(
            &social(),
            "MATCH (p:Person) RETURN CASE p.id WHEN < 3 THEN 0 ELSE 1 END AS g, count(*) AS c \
                ORDER BY g"
        ),
        ["0 2", "1 2"]
    );
    // Words of conditions are names where no condition follows.
    assert_eq!(
        value(
            "WITH 1 AS is, 2 AS starts RETURN CASE 2 WHEN is THEN 'a' WHEN starts THEN 'b' END = \
                'b'"
        ),
        "true"
    );
    refused(
        "RETURN CASE 1 WHEN > THEN 2 END",
        &["SyntaxError.UnexpectedSyntax"],
    );
    refused(
        "RETURN CASE WHEN > 1 THEN 2 END",
        &["SyntaxError.UnexpectedSyntax"],
    );
    refused("RETURN CASE 1 WHEN 1, THEN 2 END", &["SyntaxError"]);
}

#[test]
fn options_before_a_statement_are_read() {
    assert_eq!(value("CYPHER 5 RETURN 1"), "1");
    assert_eq!(value("cypher runtime=slotted planner = cost RETURN 1"), "1");
    assert_eq!(value("CYPHER 5 replan=force USE neo4j RETURN 1"), "1");
    assert_eq!(value("USE `neo4j` RETURN 1"), "1");
    refused(
        "CYPHER wings=two EXPLAIN RETURN 1",
        &["ArgumentError.InvalidOption", "`wings`"],
    );
    refused(
        "CYPHER runtime=quick RETURN 1",
        &["ArgumentError.InvalidOption", "slotted"],
    );
    refused("CYPHER 25 RETURN 1", &["InvalidOption", "CYPHER 25"]);
    refused(
        "CYPHER debug= 'a' runtime=; RETURN 1",
        &["SyntaxError.UnexpectedSyntax"],
    );
}

#[test]
fn is_stands_for_a_colon() {
    let social = social();
    let count = |text: &str| rows(&social, text).concat();
    assert_eq!(count("MATCH (n IS Person) RETURN count(*)"), "4");
    assert_eq!(count("MATCH (IS Person|Post) RETURN count(*)"), "5");
    assert_eq!(count("MATCH (n IS Post&Message) RETURN count(*)"), "1");
    assert_eq!(
        count("MATCH (:Person)-[r IS KNOWS]->(IS Person) RETURN count(r)"),
        "4"
    );
    assert_eq!(count("MATCH ()-[IS KNOWS|LIKES]->() RETURN count(*)"), "8");
    assert_eq!(
        count("MATCH (n) WHERE n IS Person AND n.id > 1 RETURN count(*)"),
        "3"
    );
    assert_eq!(
        count("MATCH (n) WHERE NOT n IS !Person RETURN count(*)"),
        "4"
    );
    assert_eq!(
        count("MATCH (n) WHERE (n IS Person)-[:KNOWS]->() RETURN count(*)"),
        "3"
    );
    assert_eq!(
        count("MATCH (is) WHERE is IS NOT NULL RETURN count(is)"),
        "5"
    );
    assert_eq!(
        count("RETURN 1 :: INTEGER AND 'a' IS TYPED STRING AND NOT 1 :: STRING"),
        "true"
    );
    let social = self::social();
    social.rows("MATCH (n:Person {id: 1}) SET n IS Boss");
    assert_eq!(rows(&social, "MATCH (b:Boss) RETURN b.id"), ["1"]);
    social.rows("MATCH (n:Boss) REMOVE n IS Boss");
    assert_eq!(rows(&social, "MATCH (b:Boss) RETURN count(b)"), ["0"]);
}

#[test]
fn order_and_bounds_are_clauses_of_their_own() {
    let social = social();
    let ask = |text: &str| rows(&social, text);
    assert_eq!(
        ask("MATCH (p:Person) ORDER BY p.name DESC LIMIT 2 RETURN p.id"),
        ["4", "3"]
    );
    assert_eq!(
        ask("MATCH (p:Person) ORDER BY p.id SKIP 1 LIMIT 2 RETURN sum(p.id) AS s"),
        ["5"]
    );
    assert_eq!(ask("UNWIND [3, 1, 2] AS x OFFSET 2 RETURN x"), ["2"]);
    assert_eq!(
        ask("MATCH (p:Person) LIMIT 3 MATCH (p)-[:LIKES]->(m) ORDER BY p.id LIMIT 1 RETURN p.id"),
        ["1"]
    );
    assert_eq!(
        ask("UNWIND [1, 2, 3] AS x WITH x LIMIT 2 SKIP 1 RETURN x"),
        ["2"]
    );
    assert_eq!(
        ask("MATCH (p:Person) ORDER BY p.id LIMIT 1 SET p.first = true"),
        Vec::<String>::new()
    );
    assert_eq!(ask("MATCH (p {first: true}) RETURN p.id"), ["1"]);
    refused(
        "MATCH (p:Person) ORDER BY p.id LIMIT 1",
        &["InvalidClauseComposition", "RETURN"],
    );
    refused(
        "MATCH (p:Person) LIMIT p.id RETURN p",
        &["NonConstantExpression"],
    );
    for limit in ["COUNT { (:Person) }", "size([(p)-->() | 1])"] {
        refused(
            &format!("MATCH (p:Person) RETURN p LIMIT {limit}"),
            &["NonConstantExpression"],
        );
    }
    refused(
        "MATCH (p:Person) RETURN p LIMIT 1 SKIP 1",
        &["InvalidClauseComposition"],
    );
}

#[test]
fn indexes_and_constraints_say_how_to_make_them_again() {
    let social = social();
    let ask = |text: &str| rows(&social, text);
    ask("CREATE INDEX `odd ``name` FOR ()-[r:KNOWS]-() ON (r.since, r.`a b`)");
    ask("CREATE CONSTRAINT has_name FOR (p:Person) REQUIRE p.name IS NOT NULL");
    ask("CREATE CONSTRAINT likes FOR ()-[r:LIKES]-() REQUIRE r.no IS UNIQUE");
    let shown = "SHOW INDEXES YIELD createStatement AS c RETURN c ORDER BY c";
    let demanded = "SHOW CONSTRAINTS YIELD createStatement AS c RETURN c ORDER BY c";
    let (indexes, constraints) = (ask(shown), ask(demanded));
    assert!(
        indexes.iter().any(|text| text.contains(
            "CREATE RANGE INDEX `odd ``name` FOR ()-[r:`KNOWS`]-() ON (r.`since`, r.`a b`)"
        )),
        "{indexes:?}"
    );
    // What they say makes the same again.
    ask("DROP INDEX `odd ``name`");
    for name in ["has_name", "likes"] {
        ask(&format!("DROP CONSTRAINT {name}"));
    }
    let told = |row: &String| row.trim_matches('"').to_owned();
    for text in constraints.iter().chain(&indexes).map(told) {
        let result = social.db.connect().query(&text, &Params::new());
        // The index of a constraint is there with it.
        let known = |error: &graven::Error| {
            [
                "Schema.Exists",
                "Schema.SameConstraintExists",
                "Schema.ConstraintBlocksIndex",
                "Schema.IndexExists",
                "Schema.ConstraintExists",
                "Schema.IndexNameTaken",
                "Schema.ConstraintNameTaken",
            ]
            .contains(&error.code())
        };
        assert!(
            result.as_ref().is_ok() || result.as_ref().is_err_and(known),
            "{text}"
        );
    }
    assert_eq!((ask(shown), ask(demanded)), (indexes, constraints));
    assert_eq!(
        ask(
            "SHOW INDEXES YIELD name, type, options, indexProvider, failureMessage WHERE name = \
                'likes' RETURN options.indexProvider = indexProvider, failureMessage = ''"
        ),
        ["true true"]
    );
    // Columns come in the order in which they are named.
    for rest in ["", " LIMIT 1", " ORDER BY name", " WHERE name = 'likes'"] {
        let text = format!("SHOW INDEXES YIELD type, name AS a, entityType{rest}")
            .replace("BY name", "BY a")
            .replace("WHERE name", "WHERE a");
        let result = social.db.connect().query(&text, &Params::new());
        let names = result.expect(&text).columns().join(" ");
        assert_eq!(names, "type a entityType", "{text}");
    }
    let all = ask("SHOW INDEXES").len();
    assert_eq!(ask("SHOW RANGE INDEXES").len(), all);
    for kind in ["TEXT", "POINT", "FULLTEXT", "VECTOR", "LOOKUP"] {
        assert!(ask(&format!("SHOW {kind} INDEXES")).is_empty(), "{kind}");
        let text = format!("SHOW {kind} INDEXES YIELD name, options RETURN count(*)");
        assert_eq!(ask(&text), ["0"]);
    }
    refused(
        "CREATE OR REPLACE INDEX i FOR (n:A) ON (n.x)",
        &["NotAvailable.FeatureNotAvailable", "OR REPLACE", "DROP"],
    );
    refused(
        "CREATE OR REPLACE CONSTRAINT c FOR (n:A) REQUIRE n.x IS UNIQUE",
        &["NotAvailable.FeatureNotAvailable", "OR REPLACE"],
    );
}

#[test]
fn words_of_other_languages_are_told_what_to_write() {
    for (text, hint) in [
        ("SELECT * FROM t", "MATCH ... WHERE ... RETURN"),
        ("MATCH (n) RETURN n.x, count(*) GROUP BY n.x", "grouped by"),
        ("MATCH (n) RETURN count(n) HAVING count(n) > 1", "WITH"),
        (
            "MATCH (n) RETURN n ORDER BY n.x NULLS LAST",
            "null is the last",
        ),
        ("RETURN 1 == 1", "`=`"),
        ("RETURN 2 ** 3", "`^`"),
        ("RETURN 'it''s'", "`\\'`"),
    ] {
        refused(text, &["SyntaxError.UnexpectedSyntax", hint]);
    }
}

#[test]
fn finish_returns_nothing_and_runs_to_the_end() {
    let social = social();
    assert!(rows(&social, "MATCH (n) FINISH").is_empty());
    assert!(rows(&social, "MATCH (n:Person) INSERT (:Copy {id: n.id}) FINISH").is_empty());
    assert_eq!(rows(&social, "MATCH (c:Copy) RETURN count(c)"), ["4"]);
    assert_eq!(
        rows(
            &social,
            "UNWIND [1, 2] AS x CALL (x) { MATCH (c:Copy {id: x}) FINISH } RETURN x"
        ),
        ["1", "2"]
    );
    assert!(rows(&social, "MATCH (c:Copy) NODETACH DELETE c").is_empty());
    assert_eq!(rows(&social, "MATCH (c:Copy) RETURN count(c)"), ["0"]);
    refused(
        "MATCH (n) FINISH RETURN 1",
        &["InvalidClauseComposition", "FINISH"],
    );
    refused(
        "RETURN EXISTS { MATCH (n) FINISH }",
        &["InvalidClauseComposition"],
    );
    refused(
        "MATCH (p:Person) NODETACH DELETE p",
        &["ConstraintVerificationFailed.DeleteConnectedNode"],
    );
}

#[test]
fn optional_calls_keep_the_row() {
    let social = social();
    assert_eq!(
        rows(
            &social,
            "MATCH (p:Person) OPTIONAL CALL (p) { MATCH (p)-[:KNOWS]->(f) RETURN f.id AS f } \
                RETURN p.id, f ORDER BY p.id, f"
        ),
        ["1 2", "1 3", "2 3", "3 4", "4 null"]
    );
    assert_eq!(
        rows(
            &social,
            "MATCH (p:Person) OPTIONAL CALL { WITH p MATCH (p)-[:KNOWS]->(f) RETURN f ORDER BY \
                f.id LIMIT 1 } RETURN p.id, f.id ORDER BY p.id"
        ),
        ["1 2", "2 3", "3 4", "4 null"]
    );
    assert_eq!(
        rows(
            &social,
            "MATCH (p:Person) OPTIONAL CALL (p) { MATCH (p)-[:KNOWS]->(f) RETURN f } RETURN \
                count(*)"
        ),
        ["5"]
    );
    // What is found goes on being a node, and so does the null.
    assert_eq!(
        rows(
            &social,
            "MATCH (p:Person) WHERE p.id > 2 OPTIONAL CALL (p) { MATCH (p)-[:KNOWS]->(f) RETURN f \
                } OPTIONAL MATCH (f)-[:LIKES]->(m) RETURN p.id, m.length ORDER BY p.id"
        ),
        ["3 2.0", "4 null"]
    );
    // It may write, also inside another subquery.
    assert_eq!(
        rows(
            &social,
            "UNWIND [1, 2, 9] AS i CALL (i) { OPTIONAL CALL (i) { MATCH (p:Person {id: i}) SET \
                p.seen = coalesce(p.seen, 0) + 1 RETURN p.seen AS seen } RETURN seen } RETURN i, \
                seen"
        ),
        ["1 1", "2 1", "9 null"]
    );
    assert_eq!(
        rows(
            &social,
            "OPTIONAL CALL db.labels() YIELD label WHERE label = 'Nothing' RETURN label"
        ),
        ["null"]
    );
    assert_eq!(
        rows(
            &social,
            "UNWIND ['Post', 'None'] AS l OPTIONAL CALL db.labels() YIELD label AS found WHERE \
                found = l RETURN l = 'Post', found = 'Post'"
        ),
        ["true true", "false null"]
    );
    refused(
        "OPTIONAL CALL db.labels() RETURN 1",
        &["SyntaxError", "YIELD"],
    );
    refused("OPTIONAL RETURN 1", &["`MATCH` or `CALL`"]);
}

#[test]
fn constraints_are_shown_by_kind() {
    let social = social();
    social.rows("CREATE CONSTRAINT has_name FOR (p:Person) REQUIRE p.name IS NOT NULL");
    social.rows("CREATE CONSTRAINT post_key FOR (p:Post) REQUIRE p.length IS NODE KEY");
    social.rows("CREATE CONSTRAINT one_x FOR (p:Post) REQUIRE p.x IS UNIQUE");
    let names = |text: &str| rows(&social, text);
    assert_eq!(
        names("SHOW NODE KEY CONSTRAINTS YIELD name"),
        ["\"post_key\""]
    );
    assert_eq!(
        names("SHOW KEY CONSTRAINTS YIELD name AS n WHERE n <> 'post_key'").len(),
        0
    );
    assert_eq!(
        names("SHOW EXISTENCE CONSTRAINTS YIELD type, name RETURN name"),
        ["\"has_name\""]
    );
    assert_eq!(
        names("SHOW NODE PROPERTY EXISTENCE CONSTRAINTS WHERE name = 'x'").len(),
        0
    );
    assert_eq!(names("SHOW UNIQUENESS CONSTRAINTS").len(), 1);
    assert_eq!(names("SHOW REL UNIQUE CONSTRAINTS").len(), 0);
    assert_eq!(names("SHOW PROPERTY TYPE CONSTRAINTS").len(), 0);
    assert_eq!(names("SHOW CONSTRAINTS").len(), 3);
    assert_eq!(
        names("SHOW ALL CONSTRAINTS YIELD * ORDER BY name LIMIT 1").len(),
        1
    );
    refused("SHOW PROPERTY UNIQUE CONSTRAINTS", &["EXISTENCE"]);
    refused("SHOW UNIQUE INDEXES", &["SyntaxError"]);
}

#[test]
fn mistakes_are_named() {
    refused(
        "MATCH (a:Person) RETURN DISTINCT a.name AS m ORDER BY a.id",
        &["UndefinedVariable", "`a`", "after DISTINCT or aggregation"],
    );
    refused(
        "MATCH (a:Person) WITH a.name AS m, count(*) AS c ORDER BY a.id RETURN m",
        &["`a`", "after DISTINCT or aggregation"],
    );
    refused(
        "MATCH (a:Person) WITH DISTINCT a.name AS m WHERE a.id > 1 RETURN m",
        &["`a`", "after DISTINCT or aggregation"],
    );
    refused("MATCH (n) RETURN n ORDER n.id", &["expected `BY`"]);
    refused(
        "MATCH (n) CALL { WITH n.id AS q RETURN q } RETURN q",
        &["UndefinedVariable", "`n`", "plain variables only"],
    );
    refused(
        "MATCH (n) CALL { MATCH (m) WHERE m.id = n.id RETURN m } RETURN m",
        &["UndefinedVariable", "CALL (n)"],
    );
    assert_eq!(
        value("WITH 1 AS n CALL { WITH [n IN [1, 2] | n] AS l RETURN size(l) AS s } RETURN s"),
        "2"
    );
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    for (text, part) in [
        (
            "MATCH REPEATABLE ELEMENTS (a)-->(b) RETURN a",
            "REPEATABLE ELEMENTS",
        ),
        (
            "LOAD CSV FROM 'a' AS r WITH r RETURN linenumber()",
            "linenumber()",
        ),
        ("LOAD CSV FROM 'a' AS r WITH r RETURN file()", "file()"),
    ] {
        refused(text, &["NotAvailable.FeatureNotAvailable", part]);
    }
    for (text, part) in [
        ("SHOW ALL PRIVILEGES", "SHOW PRIVILEGES"),
        ("CREATE DATABASE other", "one database"),
        ("CREATE OR REPLACE DATABASE other", "one database"),
        ("DROP DATABASE other IF EXISTS", "one database"),
    ] {
        refused(text, &["NotAvailable.AdministrationCommand", part]);
    }
}

#[test]
fn the_subject_of_a_case_is_computed_once() {
    assert_eq!(
        rows(
            &social(),
            "MATCH (p:Person) RETURN CASE toUpper(p.name) + '!' WHEN 'ADA!' THEN 1 WHEN STARTS \
                WITH 'B' THEN p.id * 10 ELSE size([x IN [1, 2] | p.id]) END AS v ORDER BY p.id"
        ),
        ["1", "20", "2", "2"]
    );
    // Only where it is asked for once can the value of a random number not slip between the
    // branches.
    assert_eq!(
        value(
            "UNWIND range(1, 2000) AS i WITH CASE toInteger(rand() * 4) WHEN 0 THEN 'a' WHEN 1 \
                THEN 'b' WHEN 2 THEN 'c' WHEN 3 THEN 'd' END AS v RETURN count(*) - count(v)"
        ),
        "0"
    );
    // A copy in each branch would double the size with each level.
    let nested = (0..40).fold("toInteger('1')".to_owned(), |inner, _| {
        format!("CASE {inner} WHEN 1 THEN 2 WHEN 2 THEN 1 END")
    });
    assert_eq!(value(&format!("RETURN {nested}")), "1");
    assert_eq!(
        rows(
            &social(),
            "MATCH (p:Person) RETURN CASE count(*) + 0 WHEN 4 THEN 'four' ELSE 'other' END AS v"
        ),
        ["\"four\""]
    );
}

#[test]
fn alternatives_of_a_type_stand_in_the_order_of_the_manual() {
    assert_eq!(
        value("RETURN valueType([{a: 1}, 'a', 1, [1.5], date('2015-01-01'), true])"),
        "\"LIST<BOOLEAN NOT NULL | STRING NOT NULL | INTEGER NOT NULL | DATE NOT NULL | MAP NOT \
            NULL | LIST<FLOAT NOT NULL> NOT NULL> NOT NULL\""
    );
}

#[test]
fn the_old_way_of_naming_what_an_index_is_for_is_told_apart() {
    refused(
        "CREATE INDEX ON :Person(born)",
        &["before Neo4j 5", "FOR (n:Label) ON (n.key)"],
    );
    refused(
        "CREATE CONSTRAINT ON (p:Person) ASSERT p.x IS UNIQUE",
        &["before Neo4j 5", "REQUIRE"],
    );
}

#[test]
fn ends_of_a_shortest_path_are_no_product() {
    let social = social();
    let notices = |text: &str| {
        let result = social.db.connect().query(text, &Params::new());
        let mut result = result.expect(text);
        while result.next_row().expect(text).is_some() {}
        let notices = result.summary().notices;
        let product = |it: &&graven::Notice| it.code == "CartesianProduct";
        notices.iter().filter(product).count()
    };
    assert_eq!(
        notices("MATCH p = shortestPath((a:Person)-[*]-(b:Post)) RETURN length(p)"),
        0
    );
    assert_eq!(
        notices("MATCH p = SHORTEST 1 (a:Person)-[:KNOWS]-+(b:Post) RETURN length(p)"),
        0
    );
    assert_eq!(notices("MATCH (a:Person), (b:Post) RETURN count(*)"), 1);
    assert_eq!(
        notices("MATCH (a:Person) WITH a MATCH (a)--(), (b:Post) RETURN count(*)"),
        1
    );
}
