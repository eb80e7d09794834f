//! Goal: statements whose answers Neo4j 5 gave answer the same here: headings, cells, codes of
//! errors. They lie beside the repository, in the folder `shared`.

use graven::{Config, Connection, Database, Params, Value};
use serde_json::Value as Json;

use crate::failure::Failure;

/// Share of the cases that must agree.
const AGREE_MIN: f64 = 0.95;

/// What a statement gave: headings and rows, or the code of an error.
type Outcome = Result<(Vec<String>, Vec<Vec<String>>), String>;

/// A cell as the cases write it, in the form in which Graven shows it. It is computed by a
/// statement of its own, from the same value written in Cypher.
fn shown(connection: &Connection, cell: &str) -> String {
    let within = |kind: &str| {
        cell.strip_prefix(kind)?
            .strip_prefix('(')?
            .strip_suffix(')')
    };
    let float = |text: &str| text.strip_prefix('f')?.parse::<f64>().ok();
    let number = |text: &str| match float(text) {
        Some(float) => format!("{float:?}"),
        None => text.to_owned(),
    };
    let list = |text: &str| text.split(',').map(number).collect::<Vec<_>>();
    let value = if let Some(date) = within("Date") {
        format!("date('{date}')")
    } else if let Some(time) = within("DateTime") {
        format!("datetime('{time}')")
    } else if let Some(parts) = within("dur") {
        let [months, days, seconds, nanos] = &list(parts)[..] else {
            panic!("not a duration: {cell}");
        };
        format!(
            "duration({{months: {months}, days: {days}, seconds: {seconds}, nanoseconds: {nanos}}})"
        )
    } else if let Some(parts) = within("point7203") {
        format!("point({{x: {}, y: {}}})", list(parts)[0], list(parts)[1])
    } else if cell == "Inf" {
        "Infinity".to_owned()
    } else if cell == "[:]" {
        // A relationship that is gone has no type left to show.
        return "[:]".to_owned();
    } else {
        number(cell)
    };
    let text = format!("RETURN {value} AS c");
    let rows = connection.query(&text, &Params::new());
    let mut rows = rows.unwrap_or_else(|error| panic!("{text}: {error}"));
    let row = rows.next_row().expect("a literal").expect("one row");
    row.values()[0].to_string()
}

/// What Graven gives, within a transaction that ends without a commit.
fn given(connection: &Connection, case: &Json) -> Outcome {
    let code = |error| Failure::from(error).code.to_owned();
    let none = Params::new();
    let mut transaction = connection.begin().map_err(code)?;
    for before in case["setup"].as_array().expect("a list") {
        let before = before.as_str().expect("a statement");
        transaction.query(before, &none).map_err(code)?;
    }
    let statement = case["statement"].as_str().expect("a statement");
    let mut result = transaction.query(statement, &none).map_err(code)?;
    let columns = result.columns().to_vec();
    let mut rows = Vec::new();
    while let Some(row) = result.next_row().map_err(code)? {
        let cell = |value: &Value| match value {
            Value::Relationship(_) => "[:]".to_owned(),
            other => other.to_string(),
        };
        rows.push(row.values().iter().map(cell).collect());
    }
    rows.sort();
    drop(result);
    transaction.rollback();
    Ok((columns, rows))
}

/// What Neo4j gave.
fn expected(connection: &Connection, case: &Json) -> Outcome {
    let neo4j = &case["neo4j"];
    if let Some(code) = neo4j["error"].as_str() {
        return Err(code.to_owned());
    }
    let texts = |list: &Json| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        list.map(|text| text.as_str().expect("a text").to_owned())
            .collect()
    };
    let row = |row: &Json| -> Vec<String> {
        let cells = texts(row).into_iter();
        cells.map(|cell| shown(connection, &cell)).collect()
    };
    let rows = neo4j["rows"].as_array().expect("rows").iter();
    let mut rows: Vec<_> = rows.map(row).collect();
    rows.sort();
    Ok((texts(&neo4j["columns"]), rows))
}

#[test]
fn statements_answer_as_neo4j_does() {
    let shared = std::env::var_os("GRAVEN_SHARED").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        std::path::PathBuf::from,
    );
    let file = shared.join("repro/neo4j-cases.jsonl");
    let Ok(cases) = std::fs::read_to_string(&file) else {
        eprintln!("SKIPPED: no {}; set GRAVEN_SHARED", file.display());
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let open = |name: &str| {
        let mut config = Config::default();
        config.create = true;
        Database::open(folder.path().join(name), config).expect("opens")
    };
    let literals = open("literals.graven");
    let literals = literals.connect();
    let (mut all, mut differ) = (0, Vec::new());
    for line in cases.lines() {
        let case: Json = serde_json::from_str(line).expect("JSON");
        if case["right"] != "neo4j" {
            continue;
        }
        all += 1;
        assert!(case["params"].is_null(), "no case had parameters so far");
        let id = case["id"].as_str().expect("an id");
        let db = open(&format!("{id}.graven"));
        let (given, expected) = (given(&db.connect(), &case), expected(&literals, &case));
        if given != expected {
            differ.push(format!("{id}: {given:?} instead of {expected:?}"));
        }
    }
    let agree = f64::from(all) - differ.len() as f64;
    println!(
        "{agree} of {all} agree; these do not:\n{}",
        differ.join("\n")
    );
    assert!(all > 0, "{} has no cases", file.display());
    assert!(
        agree >= AGREE_MIN * f64::from(all),
        "{agree} of {all} agree; these do not:\n{}",
        differ.join("\n")
    );
}
