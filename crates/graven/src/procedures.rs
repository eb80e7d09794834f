//! The procedures of `CALL`: the page cache's settings and counters, what the database holds, and what runs.
//!
//! # How it works
//! One table ([`table`]) says what each procedure takes, what it gives, and which function runs it; the binder checks
//! calls against the same table that runs them. Procedures that the program adds are in [`registered`].

mod cache;
mod contents;
mod log;
pub(crate) mod registered;
mod schema_list;
mod show;
mod table;

use std::path::Path;
use std::sync::Arc;

use graven_cypher::ProcedureView;
use graven_exec::{ExecError, ProcedureResult, Procedures, Value};

use crate::bytes::parse_bytes;
use crate::care;
use crate::database::Inner;
use crate::materialise::{Materialiser, to_inner};
use registered::Registry;

use table::{Field, TABLE};

/// Rows of values.
type Rows = Vec<Vec<Value>>;

/// What the binder needs to know of a procedure.
pub(crate) fn view(name: &str, registry: &Registry) -> Option<ProcedureView> {
    let Some(procedure) = find(name) else {
        return registry.find(name).map(|found| found.view);
    };
    let fields = |list: &[Field]| list.iter().map(|(n, t)| ((*n).to_owned(), *t)).collect();
    Some(ProcedureView {
        arguments: fields(procedure.arguments),
        optional: procedure.optional,
        columns: fields(procedure.columns),
    })
}

fn find(name: &str) -> Option<&'static table::Procedure> {
    TABLE.iter().find(|p| p.name == name)
}

/// Runs procedures on one database.
pub(crate) struct OnDatabase {
    pub(crate) database: Arc<Inner>,
    /// Where relative names of files count from; none: the process's working directory.
    pub(crate) folder: Option<Arc<Path>>,
}

impl Procedures for OnDatabase {
    fn call(&self, name: &str, args: &[Value]) -> Result<ProcedureResult, ExecError> {
        let Some(procedure) = find(name) else {
            return call_registered(&self.database, name, args);
        };
        let failed = |message| ExecError::Procedure {
            name: name.to_owned(),
            message,
        };
        let rows = match &self.folder {
            Some(folder) if procedure.names_files => {
                let args: Result<Vec<_>, _> = args.iter().map(|arg| whole(arg, folder)).collect();
                (procedure.run)(&self.database, &args.map_err(failed)?)
            }
            _ => (procedure.run)(&self.database, args),
        };
        let rows = rows.map_err(failed)?;
        let columns = procedure
            .columns
            .iter()
            .map(|(name, _)| Arc::from(*name))
            .collect();
        Ok(ProcedureResult { columns, rows })
    }
}

/// The whole name of a file, if this is a relative one.
fn whole(arg: &Value, folder: &Path) -> Result<Value, String> {
    let Value::String(name) = arg else {
        return Ok(arg.clone());
    };
    let place = folder.join(&**name);
    match place.to_str() {
        Some(text) => Ok(Value::text(text)),
        None => Err(format!(
            "{} is no text; name the file with its whole path",
            place.display()
        )),
    }
}

/// Runs a procedure that the program added.
fn call_registered(db: &Inner, name: &str, args: &[Value]) -> Result<ProcedureResult, ExecError> {
    let unknown = || ExecError::UnknownProcedure {
        name: name.to_owned(),
    };
    let failed = |message| ExecError::Procedure {
        name: name.to_owned(),
        message,
    };
    let found = db.registered.find(name).ok_or_else(unknown)?;
    let mut outside = Materialiser::new(db.store.snapshot());
    let args: Result<Vec<_>, _> = args.iter().map(|v| outside.value(v.clone())).collect();
    let args = args.map_err(|e| failed(e.to_string()))?;
    let rows = (found.body)(&args).map_err(failed)?;
    let width = found.view.columns.len();
    if let Some(row) = rows.iter().find(|row| row.len() != width) {
        return Err(failed(format!(
            "gave a row of {} values, not {width}",
            row.len()
        )));
    }
    let columns = found.view.columns.iter();
    Ok(ProcedureResult {
        columns: columns.map(|(name, _)| Arc::from(name.as_str())).collect(),
        rows: rows
            .iter()
            .map(|row| row.iter().map(to_inner).collect())
            .collect(),
    })
}

fn resize(db: &Arc<Inner>, args: &[Value]) -> Result<Rows, String> {
    let bytes = match args {
        [Value::String(text)] => parse_bytes(text).map_err(|e| e.to_string())?,
        [Value::Integer(bytes)] if *bytes > 0 => bytes.unsigned_abs(),
        _ => return Err("give the size as text, for example '64MiB', or in bytes".to_owned()),
    };
    let before = db.budget.limit();
    db.cache.resize(bytes).map_err(|e| e.to_string())?;
    Ok(vec![vec![integer(before), integer(db.budget.limit())]])
}

/// A copy, whole or from an earlier one: its length, and bytes that were not in that.
fn backup(db: &Arc<Inner>, args: &[Value]) -> Result<Rows, String> {
    let done = match args {
        [Value::String(file)] | [Value::String(file), Value::Null] => {
            care::backup(&db.store, Path::new(&**file)).map(|bytes| (bytes, bytes))
        }
        [Value::String(file), Value::String(since)] => {
            care::backup_since(&db.store, Path::new(&**file), Path::new(&**since))
        }
        _ => {
            return Err(
                "give the new file as text, and perhaps that of an earlier backup".to_owned(),
            );
        }
    };
    let (bytes, changed) = done.map_err(|e| e.to_string())?;
    Ok(vec![vec![integer(bytes), integer(changed)]])
}

fn set_policy(db: &Arc<Inner>, args: &[Value]) -> Result<Rows, String> {
    let [Value::String(spec)] = args else {
        return Err("give the policy as text, for example 'lru' or 'gclock:max=7'".to_owned());
    };
    let before = db.cache.stats().policy;
    db.cache.set_policy(spec).map_err(|e| e.to_string())?;
    Ok(vec![vec![
        Value::text(&before),
        Value::text(&db.cache.stats().policy),
    ]])
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn stats(db: &Arc<Inner>, _: &[Value]) -> Result<Rows, String> {
    let stats = db.cache.stats();
    let rows = stats.per_kind.iter().map(|(kind, pages)| {
        vec![
            Value::text(&kind.to_string()),
            integer(pages.hits),
            integer(pages.faults),
            Value::Float(pages.hit_ratio()),
            integer(pages.evictions_background),
            integer(pages.evictions_cooperative),
            Value::Float(pages.wait_ns as f64 / 1e6),
            integer(pages.bytes_read),
        ]
    });
    Ok(rows.collect())
}

fn names(list: &[Arc<str>]) -> Vec<Vec<Value>> {
    list.iter()
        .map(|name| vec![Value::String(Arc::clone(name))])
        .collect()
}

/// Name, signature and meaning of every procedure of this table.
fn described() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    let fields = |list: &[Field]| {
        list.iter()
            .map(|(name, kind)| format!("{name} :: {kind}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let signature = move |p: &table::Procedure| {
        format!(
            "{}({}) :: ({})",
            p.name,
            fields(p.arguments),
            fields(p.columns)
        )
    };
    TABLE.iter().map(move |p| (p.name, signature(p), p.about))
}

fn list() -> Vec<Vec<Value>> {
    described()
        .map(|(name, signature, _)| vec![Value::text(name), Value::text(&signature)])
        .collect()
}

fn integer(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}
