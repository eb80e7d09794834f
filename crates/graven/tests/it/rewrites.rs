//! Goal: what the planner makes of a statement answers as the statement reads; cases that generated
//! queries found.

use graven::{Config, Connection, Database, Params};

fn rows(connection: &Connection, text: &str) -> Vec<String> {
    let result = connection.query(text, &Params::new());
    let result = result.unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    let shown = result.map(|row| {
        let row = row.unwrap_or_else(|e| panic!("{text}: {e}"));
        let cells = row.values().iter().map(ToString::to_string);
        cells.collect::<Vec<_>>().join(" ")
    });
    shown.collect()
}

#[test]
fn statements_answer_as_they_read() {
    let folder = tempfile::tempdir().expect("folder");
    let mut config = Config::default();
    (config.memory, config.create) = (16 << 20, true);
    let db = Database::open(folder.path().join("test.graven"), config).expect("opens");
    let connection = db.connect();
    // A loop, and two ways from 1 to 3.
    rows(
        &connection,
        "CREATE (a:N {n: 1})-[:R {w: 1}]->(b:N {n: 2})-[:R {w: 1}]->(c:N {n: 3}), (a)-[:R {w: \
            2}]->(c), (a)-[:R {w: 1}]->(a)",
    );
    for (text, expected) in [
        // What writes does so for every way, though min ignores repeated rows.
        (
            "MATCH (a {n: 1})-[:R*1..2]->(b:N) CREATE (:X) RETURN min(b.n)",
            "1",
        ),
        ("MATCH (x:X) RETURN count(x)", "6"),
        (
            "MATCH (a {n: 1})-[:R*1..2]->(b:N) CALL (b) { CREATE (:Y) } RETURN max(b.n)",
            "3",
        ),
        ("MATCH (y:Y) RETURN count(y)", "6"),
        // What is imported stands beside an aggregate over what hangs on another import.
        (
            "UNWIND [2, 5] AS i MATCH (n:N {n: 1}) CALL (n, i) { MATCH (n)-[:R]->(m) RETURN \
                count(m) * i AS c } RETURN sum(c)",
            "21",
        ),
        (
            "UNWIND [2, 5] AS i MATCH (n:N {n: 1}) CALL (n, i) { MATCH \
                (n)((x)-[:R]->(y:N)){1,1}(m) RETURN count(m) * i AS c } RETURN sum(c)",
            "21",
        ),
        // Two names of one relationship: they differ in no match, and are found each by itself.
        (
            "MATCH (:N {n: 1})-[r]->() WITH r AS a, r AS b MATCH ()-[a]-()-[b]-() RETURN count(*)",
            "0",
        ),
        (
            "MATCH (:N {n: 2})-[r]->() WITH r AS a, [r] AS list UNWIND list AS b MATCH ()-[a]->(), \
                ()-[b]->() RETURN count(*)",
            "0",
        ),
        // What hangs on an optional variable is not counted below it.
        (
            "MATCH (a:N) OPTIONAL MATCH (a)-[:R]->(b:N {n: 3}) MATCH (b)<-[:R]-(c:N) RETURN \
                count(*)",
            "4",
        ),
        (
            "MATCH (:N {n: 2})-[r]->() CALL (r) { RETURN r AS a, r AS b } OPTIONAL MATCH \
                (x)-[a]-(), ()-[b]-() RETURN count(*), x",
            "1 null",
        ),
        (
            "MATCH (:N {n: 2})-[r]->() WITH r AS a, r AS b MATCH ()-[a]->() MATCH ()-[b]->() \
                RETURN count(*)",
            "1",
        ),
        // Any type at all, and none.
        ("MATCH (:N)-[r:%]->(:N) RETURN count(r)", "4"),
        ("MATCH (:N)-[r:!%]->(:N) RETURN count(r)", "0"),
        ("MATCH (:N)-[r:R|%]->(:N) WHERE r:% RETURN count(r)", "4"),
        ("MATCH (:N {n: 2})-[:%*1..2]->(b) RETURN count(b)", "1"),
        ("MATCH (n:%) WHERE n:!% RETURN count(n)", "0"),
        // A column that is a subquery, and a condition on it.
        (
            "WITH EXISTS { MATCH (n:N) } AS found WHERE found RETURN found",
            "true",
        ),
        (
            "MATCH (n:N) WITH EXISTS { (n)-->(:N {n: 2}) } AS e, n.n AS k WHERE NOT e RETURN \
                collect(k), any(x IN collect(e) WHERE x)",
            "[2, 3] false",
        ),
        (
            "WITH COUNT { MATCH (n:N) } AS c WHERE EXISTS { RETURN c AS d } RETURN c",
            "3",
        ),
        (
            "WITH COUNT { MATCH (n:N) } AS c RETURN COUNT { UNWIND range(1, c) AS i RETURN i } AS \
                d",
            "3",
        ),
        // Properties of a repeated relationship that name it mean each one.
        (
            "MATCH (a {n: 2}) ((x)-[r:R {w: r.w}]->(y)){1,2} (b) RETURN count(*)",
            "1",
        ),
        // A condition inside a variable-length relationship that looks at another relationship.
        (
            "MATCH (a {n: 1})-[r:R {w: 1}]->(b)-[q:R*1..2 {w: r.w}]->(c) WHERE b <> a RETURN \
                count(*), sum(size(q))",
            "1 1",
        ),
        (
            "MATCH (a {n: 1})<-[q:R*0..1 {w: r.w}]-(c), (a)-[r:R {w: 2}]->() RETURN count(*), \
                sum(size(q))",
            "1 0",
        ),
    ] {
        assert_eq!(rows(&connection, text), [expected], "{text}");
    }
    let twice = "MATCH ()-[r:R]->() MATCH (a)-[r]->(b)<-[r]-(c) RETURN a";
    let error = connection
        .query(twice, &Params::new())
        .expect_err("refused");
    assert_eq!(error.code(), "SyntaxError.RelationshipUniquenessViolation");
}

#[test]
fn hints_choose_among_ways_to_find_a_node() {
    let folder = tempfile::tempdir().expect("folder");
    let mut config = Config::default();
    (config.memory, config.create) = (16 << 20, true);
    let db = Database::open(folder.path().join("test.graven"), config).expect("opens");
    let connection = db.connect();
    rows(&connection, "CREATE INDEX FOR (n:A) ON (n.x)");
    rows(&connection, "CREATE INDEX FOR (n:A) ON (n.y)");
    rows(
        &connection,
        "UNWIND range(1, 500) AS i CREATE (:A {x: i, y: i % 5})",
    );
    for (hint, operator) in [
        ("", "x"),
        ("USING INDEX n:A(x)", "x"),
        ("USING RANGE INDEX SEEK n:A(y)", "y"),
        ("using index seek n:A(y)", "y"),
        ("USING INDEX n:A(x) USING INDEX n:A(y)", "x"),
        ("USING SCAN n:A", "LabelScan"),
    ] {
        let text = format!("MATCH (n:A) {hint} WHERE n.x = 7 AND n.y = 2 RETURN n.x");
        let explained = connection.query(&format!("EXPLAIN {text}"), &Params::new());
        let plan = explained.map(|r| r.plan().expect("a plan"));
        let plan = plan.unwrap_or_else(|e| panic!("{text}: {}", e.render()));
        let used = match operator {
            "LabelScan" => plan.contains("LabelScan"),
            key => plan.contains("IndexSeek") && plan.contains(&format!("(n:A) {key} =")),
        };
        assert!(used, "{text}\n{plan}");
        assert_eq!(rows(&connection, &text), ["7"], "{text}");
    }
    for (hint, code) in [
        ("USING INDEX m:A(x)", "SyntaxError.UndefinedVariable"),
        ("USING INDEX n:A", "SyntaxError.UnexpectedSyntax"),
        ("USING LUCK n:A(x)", "SyntaxError.UnexpectedSyntax"),
        ("USING INDEX n:A(z)", "SyntaxError.UnexpectedSyntax"),
        ("USING SCAN n:B", "SyntaxError.UnexpectedSyntax"),
        ("USING JOIN ON n", "SyntaxError.UnexpectedSyntax"),
    ] {
        let text = format!("MATCH (n:A) {hint} WHERE n.x = 7 RETURN n");
        let error = connection.query(&text, &Params::new()).err();
        assert_eq!(error.expect("refused").code(), code, "{text}");
    }
}

#[test]
fn rows_do_not_carry_the_list_they_were_unwound_from() {
    // Within 4 MiB: each of 3000 rows would be taken for as large as the list of all.
    let social = crate::graph::social();
    let list = "WITH [x IN range(1, 3000) | toString(x)] AS l";
    for (rest, found) in [
        (
            "UNWIND l AS x WITH x ORDER BY x RETURN count(*), toInteger(min(x))",
            "3000 1",
        ),
        (
            "WITH l, size(l) AS n UNWIND l AS x WITH x, n ORDER BY x DESC SKIP 1 RETURN count(*), \
                max(n)",
            "2999 3000",
        ),
        // Here an operator above reads it.
        (
            "UNWIND l AS x WITH x, l ORDER BY x LIMIT 2 RETURN count(*), min(size(l))",
            "2 3000",
        ),
        ("UNWIND l AS x RETURN count(*), size(l)", "3000 3000"),
        (
            "UNWIND l AS x WITH l, x WHERE x = l[1] RETURN count(*), toInteger(x)",
            "1 2",
        ),
        (
            "UNWIND l[..2] AS x UNWIND l[..3] AS y RETURN count(*), toInteger(min(x))",
            "6 1",
        ),
        (
            "CALL (l) { UNWIND l AS x WITH x ORDER BY x LIMIT 2 RETURN collect(x) AS least } \
                RETURN size(l), toInteger(least[1])",
            "3000 10",
        ),
        (
            "WITH l LIMIT 1 OPTIONAL MATCH (n:Nobody) UNWIND l AS x WITH x, n WHERE x < '11' \
                RETURN count(n), count(*)",
            "0 112",
        ),
        (
            "RETURN COUNT { UNWIND l AS x RETURN DISTINCT x } AS n, toInteger(last(l))",
            "3000 3000",
        ),
    ] {
        let text = format!("{list} {rest}");
        assert_eq!(crate::neo4j_compat::rows(&social, &text), [found], "{text}");
    }
}
