//! Times statements in one process, warm:
//! `time_queries DB RUNS [--threads N] [--profile NAME] FILE.cypher...`, or
//! `--cases CASES.jsonl DIR` for statements with parameters.
//!
//! # How it works
//! Every statement is prepared, run once to warm up and then RUNS times; the fastest run counts.
//! With cases (a JSON object a line: `query`, `params`) all cases of a query are one sample, and
//! answers are compared with the `rows` of a case, if it has any. `--profile NAME` prints the
//! profile of that one, run a second time.

use std::collections::BTreeMap;
use std::time::Instant;

use graven::{Config, Connection, Database, Params, Value};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
type Rows = Vec<Vec<Value>>;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let usage = "time_queries DB RUNS [--profile NAME] FILE... | --cases CASES DIR";
    let (Some(path), Some(runs)) = (args.next(), args.next()) else {
        return Err(usage.into());
    };
    let runs: u32 = runs.parse()?;
    let mut config = Config::default();
    config.read_only = true;
    config.attach = false;
    let (mut profiled, mut files, mut cases) = (None, Vec::new(), None);
    while let Some(arg) = args.next() {
        match &*arg {
            "--profile" => profiled = args.next(),
            "--threads" => config.threads = args.next().ok_or(usage)?.parse()?,
            "--cases" => cases = args.next(),
            _ => files.push(arg),
        }
    }
    let db = Database::open(path, config)?;
    let connection = db.connect();
    let mut groups: BTreeMap<String, (String, Vec<Params>)> = BTreeMap::new();
    let mut expected: BTreeMap<String, Vec<Rows>> = BTreeMap::new();
    match cases {
        None => {
            for file in files {
                let name = std::path::Path::new(&file).file_stem();
                let name = name.unwrap_or_default().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(&file)?;
                groups.insert(name, (text, vec![Params::new()]));
            }
        }
        Some(cases) => {
            let folder = files.pop().ok_or(usage)?;
            for line in std::fs::read_to_string(cases)?.lines() {
                let case: serde_json::Value = serde_json::from_str(line)?;
                let name = case["query"].as_str().ok_or("a case names a query")?;
                if !groups.contains_key(name) {
                    let text = std::fs::read_to_string(format!("{folder}/{name}.cypher"))?;
                    groups.insert(name.to_owned(), (text, Vec::new()));
                }
                let mut params = Params::new();
                for (key, value) in case["params"].as_object().ok_or("params are an object")? {
                    params.set(&**key, json(value)?);
                }
                groups.get_mut(name).expect("inserted").1.push(params);
                if let Some(rows) = case["rows"].as_array() {
                    let of_row = |row: &serde_json::Value| match json(row)? {
                        Value::List(row) => Ok(row),
                        other => Err(format!("{other:?} is no row").into()),
                    };
                    let rows = rows.iter().map(of_row).collect::<Outcome<_>>()?;
                    expected.entry(name.to_owned()).or_default().push(rows);
                }
            }
        }
    }
    for (name, (text, params)) in groups {
        if profiled.as_ref() == Some(&name) {
            let text = format!("PROFILE {text}");
            let mut first = connection.query(&text, params.first().unwrap_or(&Params::new()))?;
            while first.next_row()?.is_some() {}
            let mut result = connection.query(&text, params.first().unwrap_or(&Params::new()))?;
            while result.next_row()?.is_some() {}
            println!("{}", result.plan().unwrap_or_default());
            continue;
        }
        if profiled.is_some() {
            continue;
        }
        time(&connection, &name, &text, &params, runs)?;
        if let Some(expected) = expected.get(&name) {
            compare(&connection, &name, &text, &params, expected)?;
        }
    }
    Ok(())
}

/// A list with its items in an order of their own: that in which they were collected says nothing.
fn in_any_order(value: Value) -> Value {
    match value {
        Value::List(items) => {
            let mut items: Vec<Value> = items.iter().cloned().map(in_any_order).collect();
            items.sort_by_cached_key(|item| format!("{item:?}"));
            Value::List(items)
        }
        other => other,
    }
}

/// Tells which cases have other rows than they should.
fn compare(
    connection: &Connection,
    name: &str,
    text: &str,
    params: &[Params],
    expected: &[Rows],
) -> Outcome<()> {
    for (number, (params, expected)) in params.iter().zip(expected).enumerate() {
        let mut result = connection.query(text, params)?;
        let mut rows: Rows = Vec::new();
        while let Some(row) = result.next_row()? {
            rows.push(row.values().iter().cloned().map(in_any_order).collect());
        }
        let expected: Rows = (expected.iter())
            .map(|row| row.iter().cloned().map(in_any_order).collect())
            .collect();
        if rows != expected {
            println!("{name} case {number} differs: {rows:?}\nexpected {expected:?}");
        }
    }
    Ok(())
}

fn time(
    connection: &Connection,
    name: &str,
    text: &str,
    params: &[Params],
    runs: u32,
) -> Outcome<()> {
    let prepared = connection.prepare(text)?;
    let mut best = f64::MAX;
    let mut rows = 0;
    let mut first = None;
    for _ in 0..=runs {
        let started = Instant::now();
        rows = 0;
        for params in params {
            let mut result = prepared.query(params)?;
            while let Some(row) = result.next_row()? {
                rows += 1;
                first = first.or_else(|| row.get(0).cloned());
            }
        }
        best = best.min(started.elapsed().as_secs_f64() / params.len().max(1) as f64);
    }
    let first = first.map(|v| format!("{v:?}").chars().take(40).collect::<String>());
    println!(
        "{name:5} {:10.3} ms  {rows} rows  first {}",
        best * 1e3,
        first.unwrap_or_default()
    );
    Ok(())
}

fn json(value: &serde_json::Value) -> Outcome<Value> {
    Ok(match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(b) => Value::Boolean(*b),
        serde_json::Value::Number(n) => match n.as_i64() {
            Some(i) => Value::Integer(i),
            None => Value::Float(n.as_f64().ok_or("a number")?),
        },
        serde_json::Value::String(s) => Value::String((&**s).into()),
        serde_json::Value::Array(items) => {
            Value::List(items.iter().map(json).collect::<Outcome<_>>()?)
        }
        serde_json::Value::Object(_) => return Err("no parameter is an object here".into()),
    })
}
