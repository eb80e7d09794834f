//! What `SHOW TRANSACTIONS`, `SHOW PROCEDURES`, `SHOW FUNCTIONS` and `SHOW DATABASES` list, and `TERMINATE TRANSACTIONS`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use graven_cypher::functions::{Availability, FUNCTIONS};
use graven_exec::Value;
use graven_storage::PropertyValue;
use graven_storage::value::{DateTime, Duration};

use super::described;
use crate::database::Inner;

type Rows = Result<Vec<Vec<Value>>, String>;

/// The name of a database: that of its file.
fn name(db: &Inner) -> Value {
    let stem = db.path.file_stem().unwrap_or_default();
    Value::text(&stem.to_string_lossy())
}

/// The ids given: texts, or lists of them.
fn ids(args: &[Value]) -> Result<Vec<Arc<str>>, String> {
    let mut ids = Vec::new();
    for arg in args {
        match arg {
            Value::String(id) => ids.push(Arc::clone(id)),
            Value::List(items) => ids.extend(self::ids(items)?),
            other => return Err(format!("the id of a transaction is text, not {other}")),
        }
    }
    Ok(ids)
}

fn moment(time: SystemTime) -> Value {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Value::from(PropertyValue::DateTime(DateTime {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanoseconds: since.subsec_nanos(),
        offset_seconds: 0,
        zone: None,
    }))
}

pub(super) fn transactions(db: &Arc<Inner>, args: &[Value]) -> Rows {
    let wanted = ids(args)?;
    let mut rows = Vec::new();
    for occupant in db.statements.list() {
        let id = occupant.id();
        if !wanted.is_empty() && !wanted.iter().any(|w| **w == *id) {
            continue;
        }
        let elapsed = occupant.begun.elapsed();
        let at = SystemTime::now() - elapsed;
        let elapsed = PropertyValue::Duration(Duration {
            months: 0,
            days: 0,
            seconds: i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: elapsed.subsec_nanos(),
        });
        let memory = occupant.memory.load(Ordering::Relaxed);
        rows.push(vec![
            name(db),
            Value::text(&id),
            Value::String(occupant.text()),
            moment(at),
            Value::text(occupant.status()),
            Value::from(elapsed),
            super::integer(memory),
        ]);
    }
    Ok(rows)
}

pub(super) fn terminate(db: &Arc<Inner>, args: &[Value]) -> Rows {
    let told = ids(args)?.into_iter().map(|id| {
        let message = match db.statements.terminate(&id) {
            true => "Transaction terminated.",
            false => "Transaction not found.",
        };
        vec![Value::String(id), Value::Null, Value::text(message)]
    });
    Ok(told.collect())
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn procedures(_: &Arc<Inner>, _: &[Value]) -> Rows {
    let rows = described().map(|(name, signature, about)| {
        let mode = match name {
            "graven.cache.resize" | "graven.cache.setPolicy" | "graven.terminate.transactions" => {
                "DBMS"
            }
            _ => "READ",
        };
        let text = |text: &str| Value::text(text);
        let on_system = Value::Boolean(false);
        vec![
            text(name),
            text(about),
            text(mode),
            on_system,
            text(&signature),
        ]
    });
    Ok(rows.collect())
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn functions(_: &Arc<Inner>, _: &[Value]) -> Rows {
    let row = |name: &str, signature: String, aggregating: bool| {
        let category = if aggregating { "Aggregating" } else { "Scalar" };
        vec![
            Value::text(name),
            Value::text(category),
            Value::text(&signature),
            Value::text(&signature),
            Value::Boolean(aggregating),
            Value::Boolean(true),
            Value::Boolean(false),
        ]
    };
    let available = FUNCTIONS
        .iter()
        .filter(|f| f.availability == Availability::Available);
    let mut rows: Vec<Vec<Value>> = available
        .map(|f| {
            let arguments = match (f.args_min, f.args_max) {
                (min, 255) => format!("at least {min} arguments"),
                (min, max) if min == max => format!("{min} arguments"),
                (min, max) => format!("{min} to {max} arguments"),
            };
            row(
                f.display,
                format!("{}({arguments}) :: {}", f.display, f.returns),
                false,
            )
        })
        .collect();
    let aggregates = graven_cypher::functions::AGGREGATES;
    rows.extend(
        aggregates
            .iter()
            .map(|name| row(name, format!("{name}(value)"), true)),
    );
    Ok(rows)
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn databases(db: &Arc<Inner>, _: &[Value]) -> Rows {
    let (yes, text) = (Value::Boolean(true), |text: &str| Value::text(text));
    let writer = db.store.read_only().is_none();
    Ok(vec![vec![
        name(db),
        text("standard"),
        Value::list(Vec::new()),
        text(if writer { "read-write" } else { "read-only" }),
        text(""),
        text("primary"),
        Value::Boolean(writer),
        text("online"),
        text("online"),
        text(""),
        yes.clone(),
        yes,
        Value::list(Vec::new()),
    ]])
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn info(db: &Arc<Inner>, _: &[Value]) -> Rows {
    let id: String = db
        .store
        .uuid()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(vec![vec![Value::text(&id), name(db), Value::Null]])
}
