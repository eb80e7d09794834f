//! Goal: errors have a stable code, a place in the text, and a rendering with line, caret and hint; names that
//! do not exist are notices.

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
