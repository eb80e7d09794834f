//! The state of a database as JSON, for the page: what the server did, the holders of memory, pages
//! by kind, the log; what is in memory; the graph's labels and types.
//!
//! # Costs
//! [`state`] reads counters only. [`contents`] costs what `CALL graven.cache.contents()`
//! costs, which is asked for it; [`graph`] reads statistics that the last checkpoint wrote.

use std::sync::atomic::Ordering;

use graven::{Database, Error, Params, Value};
use serde_json::{Map, json};

use super::Counters;

/// Counters, as they are now. Where another process owns the file, those of cache, memory and log
/// are its, and left out.
pub(crate) fn state(database: &Database, counters: &Counters, open: usize) -> Result<Json, Error> {
    let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let path = database.path();
    let file = std::fs::metadata(path);
    let mut about = json!({
        "name": path.file_name().unwrap_or_default().to_string_lossy(),
        "path": path.to_string_lossy(),
        "fileBytes": file.map_or(0, |file| file.len()),
    });
    let mut state = json!({
        "server": {
            "connections": open,
            "statements": of(&counters.statements),
            "failures": of(&counters.failures),
            "rows": of(&counters.rows),
        },
    });
    if let Ok(cache) = database.cache() {
        let info = database.info()?;
        about["nodes"] = json!(info.nodes);
        about["relationships"] = json!(info.relationships);
        about["policy"] = json!(info.policy);
        about["reading"] = json!(info.reading.mode);
        let budget = cache.budget();
        let holders = budget.holders();
        let holder = |it: &graven::pagecache::Holder| json!({"holder": it.tag, "bytes": it.bytes});
        state["memory"] = json!({
            "limit": budget.limit(),
            "used": budget.used(),
            "peak": budget.peak(),
            "holders": holders.iter().map(holder).collect::<Json>(),
        });
        state["cache"] = rows(database, "CALL graven.cache.stats()")?;
        state["log"] = rows(database, "CALL graven.log.stats()")?[0].take();
    }
    state["database"] = about;
    Ok(state)
}

/// What is in memory, part by part.
pub(crate) fn contents(database: &Database) -> Result<Json, Error> {
    rows(database, "CALL graven.cache.contents()")
}

/// Labels with their nodes, and which types lead from which label to which.
pub(crate) fn graph(database: &Database) -> Result<Json, Error> {
    let label = |(name, nodes): &(String, u64)| json!({"name": name, "nodes": nodes});
    let labels: Json = database.info()?.labels.iter().map(label).collect();
    let ends = rows(
        database,
        "CALL db.schema.visualization() YIELD relationships UNWIND relationships AS r
         RETURN startNode(r).name AS start, type(r) AS type, endNode(r).name AS end",
    )?;
    Ok(json!({"labels": labels, "ends": ends}))
}

pub(crate) type Json = serde_json::Value;

/// The rows of a statement, each a map by the names of its columns.
fn rows(database: &Database, statement: &str) -> Result<Json, Error> {
    let mut result = database.connect().query(statement, &Params::new())?;
    let columns = result.columns().to_vec();
    let mut rows = Vec::new();
    while let Some(row) = result.next_row()? {
        let named = columns.iter().cloned().zip(row.values().iter().map(scalar));
        rows.push(Json::Object(named.collect::<Map<_, _>>()));
    }
    Ok(Json::Array(rows))
}

fn scalar(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(it) => json!(it),
        Value::Integer(it) => json!(it),
        Value::Float(it) => json!(it),
        Value::String(it) => json!(&**it),
        other => json!(other.to_string()),
    }
}
