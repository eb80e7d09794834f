//! Goal: errors have a stable code, a place in the text, and a rendering with line, caret and hint;
//! names that do not exist are notices.

use graven::Params;

use crate::graph::social;

#[test]
fn errors_of_the_text_show_the_place() {
    let social = social();
    let connection = social.db.connect();
    let text = "MATCH (p:Person)\nRETURN q.name";
    let error = connection
        .query(text, &Params::new())
        .expect_err("q is not defined");
    assert_eq!(error.code(), "SyntaxError.UndefinedVariable");
    assert_eq!(error.position(), Some((2, 8)));
    assert!(error.is_of_text(), "nothing has run");
    assert!(
        error.render().contains("RETURN q.name\n"),
        "{}",
        error.render()
    );
    assert!(
        error
            .render()
            .lines()
            .any(|l| l.trim_start_matches(['|', ' ']) == "^"),
        "{}",
        error.render()
    );
    assert!(!error.is_retryable());
    // The connection is as good as new.
    assert_eq!(social.rows("RETURN 1").len(), 1);
}

#[test]
fn a_missing_parameter_is_named() {
    let social = social();
    let connection = social.db.connect();
    let text = "MATCH (p:Person {id: $id}) RETURN p";
    let error = connection
        .query(text, &Params::new().with("idd", 1))
        .and_then(|result| result.collect::<Result<Vec<_>, _>>())
        .expect_err("$id is missing");
    assert!(
        error.code().starts_with("ParameterMissing"),
        "{}",
        error.code()
    );
    assert!(error.message().contains("id"), "{error}");
    // The plan of one set of names is not used for another.
    assert!(connection.query(text, &Params::new().with("id", 1)).is_ok());
    assert!(connection.query(text, &Params::new()).is_err());
}

#[test]
fn run_time_errors_end_the_result() {
    let social = social();
    let mut result = social
        .db
        .connect()
        .query("UNWIND [1, 0] AS x RETURN 1 / x", &Params::new());
    let mut failed = None;
    if let Ok(result) = &mut result {
        loop {
            match result.next_row() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    failed = Some(error);
                    assert!(
                        matches!(result.next_row(), Ok(None)),
                        "nothing after an error"
                    );
                    break;
                }
            }
        }
    }
    let error = failed.or_else(|| result.err()).expect("division by zero");
    assert_eq!(error.code(), "ArithmeticError.InvalidValue");
}

/// The error that a statement ends with while it runs, and what stands at its place.
fn failure<'t>(text: &'t str, params: &Params) -> (graven::Error, &'t str) {
    let social = social();
    let result = social.db.connect().query(text, params);
    let error = result
        .and_then(|result| result.collect::<Result<Vec<_>, _>>())
        .expect_err(text);
    let (line, column) = error
        .position()
        .unwrap_or_else(|| panic!("{text}: {error}"));
    let shown = text.lines().nth(line as usize - 1).expect("a line of it");
    let carets = error.render().lines().last().expect("lines");
    let count = carets.chars().filter(|c| *c == '^').count();
    let from = column as usize - 1;
    (error, &shown[from..from + count])
}

#[test]
fn run_time_errors_show_the_place() {
    let file = "'file:///no/such/file.csv'";
    let load = format!("LOAD CSV FROM {file} AS row RETURN row");
    let cases = [
        (
            "UNWIND [1, 0] AS x RETURN 10 / x",
            "ArithmeticError",
            "10 / x",
        ),
        (
            "UNWIND [1, 0] AS x\nRETURN 1,\n  x + 10 % x",
            "ArithmeticError",
            "10 % x",
        ),
        (
            "RETURN 9223372036854775807 + $one",
            "ArithmeticError",
            "9223372036854775807 + $one",
        ),
        (
            "RETURN 2 * toInteger([[1], 1][0])",
            "TypeError",
            "toInteger([[1], 1][0])",
        ),
        ("UNWIND [$word] AS x RETURN x.key", "TypeError", "x.key"),
        ("UNWIND [$map] AS x RETURN x[1]", "TypeError", "x[1]"),
        (
            "UNWIND [$word] AS x RETURN [1, 2][x]",
            "TypeError",
            "[1, 2][x]",
        ),
        (
            "UNWIND [$word] AS x RETURN [1, 2][0..x]",
            "TypeError",
            "[1, 2][0..x]",
        ),
        (
            "UNWIND [$one] AS x RETURN [y IN x | y / 0]",
            "ArithmeticError",
            "y / 0",
        ),
        (
            "UNWIND [$one] AS x RETURN all(y IN x.a WHERE y)",
            "TypeError",
            "x.a",
        ),
        (
            "UNWIND [$one] AS x RETURN reduce(s = 0, y IN [1] | s + date(x + y).year)",
            "",
            "date(x + y)",
        ),
        ("UNWIND [$word] AS x RETURN NOT x", "TypeError", "NOT x"),
        (
            "UNWIND [$word] AS x RETURN CASE WHEN x THEN 1 END",
            "TypeError",
            "CASE WHEN x THEN 1 END",
        ),
        (
            "UNWIND [$word] AS x RETURN 1 < 2 AND x",
            "TypeError",
            "1 < 2 AND x",
        ),
        (
            "RETURN date('2020-13-01')",
            "ArgumentError",
            "date('2020-13-01')",
        ),
        (
            "MATCH (n:Person) WHERE n.name + 1 = duration(n.name) RETURN n",
            "ArgumentError",
            "duration(n.name)",
        ),
        (
            "MATCH (n:Person) WITH n ORDER BY 1 / (n.id - n.id) RETURN n",
            "ArithmeticError",
            "1 / (n.id - n.id)",
        ),
        (
            "MATCH (n:Person) RETURN avg(n.name)",
            "TypeError",
            "avg(n.name)",
        ),
        (
            "MATCH (n:Person) RETURN count(*), 1 + sum(1 / (n.id - n.id))",
            "ArithmeticError",
            "1 / (n.id - n.id)",
        ),
        (
            "MATCH (n:Person) RETURN percentileCont(n.id, [2.0][0])",
            "ArgumentError",
            "percentileCont(n.id, [2.0][0])",
        ),
        ("RETURN 1 LIMIT $minus", "SyntaxError", "$minus"),
        (
            "RETURN 1 SKIP toInteger('x')",
            "TypeError",
            "toInteger('x')",
        ),
        (
            "MATCH (n:Person) SET n.a = {b: 1}",
            "TypeError",
            "n.a = {b: 1}",
        ),
        (
            "MATCH (n:Person) SET n += {b: {c: 1}}",
            "TypeError",
            "n += {b: {c: 1}}",
        ),
        (
            "CREATE (:A), (n:B {a: [[1], {b: 1}]})",
            "TypeError",
            "(n:B {a: [[1], {b: 1}]})",
        ),
        (
            "CREATE (:A)-[:R {a: {b: 1}}]->(:B)",
            "TypeError",
            "-[:R {a: {b: 1}}]->",
        ),
        (
            "UNWIND [null] AS x MERGE (n:Q {a: x})",
            "SemanticError",
            "(n:Q {a: x})",
        ),
        ("UNWIND [$one] AS x DELETE x", "TypeError", "x"),
        (
            "UNWIND [$one] AS x FOREACH (y IN [x / 0] | CREATE ())",
            "ArithmeticError",
            "x / 0",
        ),
        (
            "MATCH (n:Person) DELETE n CREATE (:A {a: n.name})",
            "EntityNotFound",
            "n.name",
        ),
        (&*load, "ArgumentError", file),
        (
            "UNWIND [0] AS x CALL (x) { CREATE (:A {a: 1 / x}) } IN TRANSACTIONS",
            "ArithmeticError",
            "1 / x",
        ),
        (
            "UNWIND [$one] AS x RETURN {a: [x / 0]}",
            "ArithmeticError",
            "x / 0",
        ),
        (
            "MATCH (n:Person) RETURN n {.name, z: 1 / (n.id - n.id)}",
            "ArithmeticError",
            "1 / (n.id - n.id)",
        ),
    ];
    let params = Params::new()
        .with("one", 1)
        .with("minus", -1)
        .with("word", "a")
        .with("map", graven::Value::Map(Default::default()));
    for (text, category, place) in cases {
        let (error, found) = failure(text, &params);
        assert!(error.code().starts_with(category), "{text}: {error}");
        assert!(!error.is_of_text(), "{text}: it ran");
        assert_eq!(found, place, "{text}: {}", error.render());
        assert!(error.render().contains(error.message()), "{text}");
    }
}

#[test]
fn a_place_belongs_to_the_text_that_was_run() {
    let social = social();
    let connection = social.db.connect();
    let prepared = connection.prepare("RETURN 1 / $x").expect("valid");
    let fails = |x: i64| {
        let result = prepared.query(&Params::new().with("x", x));
        result.and_then(|rows| rows.collect::<Result<Vec<_>, _>>())
    };
    assert!(fails(1).is_ok());
    let error = fails(0).expect_err("by zero");
    assert_eq!(error.position(), Some((1, 8)));
    let mut transaction = connection.begin().expect("begins");
    let error = transaction
        .query("PROFILE UNWIND [0] AS x\nRETURN 1 / x", &Params::new())
        .expect_err("by zero");
    assert_eq!(error.position(), Some((2, 8)));
}

#[test]
fn unknown_names_are_notices() {
    let social = social();
    for (text, name) in [
        ("MATCH (p:Persn) RETURN p", "Persn"),
        ("MATCH (:Person)-[:KNOW]-(b) RETURN b", "KNOW"),
        ("MATCH (p:Person) WHERE p.nam = 'Ada' RETURN p", "nam"),
    ] {
        let mut result = social
            .db
            .connect()
            .query(text, &Params::new())
            .expect("valid");
        assert!(result.next_row().expect("runs").is_none(), "{text}");
        let notices = result.summary().notices;
        assert!(
            notices.iter().any(|n| n.message.contains(name)),
            "{text}: {notices:?}"
        );
        assert!(notices.iter().all(|n| !n.code.is_empty()));
    }
}
