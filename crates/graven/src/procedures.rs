//! The procedures of `CALL`: the page cache's settings and counters, what the database holds, and
//! what runs.
//!
//! # How it works
//! One table ([`table`]) says what each procedure takes, what it gives, and which function runs it;
//! the binder checks calls against the same table that runs them. Procedures that the program adds
//! are in [`registered`]; statements that procedures run, in [`inner`].

mod apoc;
mod cache;
mod clients;
mod columns;
mod compatible;
mod contents;
mod databases;
mod described;
mod engines;
mod entry;
mod inner;
mod kuzu;
mod log;
mod maintenance;
mod patterns;
pub(crate) mod registered;
mod schema_list;
mod show;
mod statistics;
mod table;
mod user;
mod vector;
mod warm;
mod weighted;

use std::path::Path;
use std::sync::{Arc, PoisonError};

use graven_cypher::ProcedureView;
use graven_exec::{
    Caller, Deadline, ExecContext, ExecError, FileAccess, MoreRows, ProcedureResult, Procedures,
    Refused, Value,
};
use graven_files::{Datum, Fault};
use graven_types::told;

use crate::access::Access;
use crate::bytes::parse_bytes;
use crate::connection::Connection;
use crate::database_manager::DatabaseManager;
use crate::error::{Error, READ_MODE};
use crate::export;
use crate::instance::Instance;
use crate::maintenance::{backup as copy, backup_since};
use crate::materialise::{Materialiser, to_inner};
use crate::objects::publish as send;
use crate::right::Right;
use crate::statements::RunningStatement;
use registered::Registry;

pub(crate) use described::kind;
use entry::{Body, Field, Named};
use inner::Call;
use table::TABLE;

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
        writes: procedure.writes(),
    })
}

/// The procedure behind `IMPORT DATABASE`: it fills a database.
pub(crate) const IMPORT: &str = "graven.importDatabase";

/// All procedures of this build.
fn all() -> impl Iterator<Item = &'static entry::Procedure> {
    let own = TABLE
        .iter()
        .chain(cache::TABLE)
        .chain(show::TABLE)
        .chain(compatible::TABLE)
        .chain(statistics::TABLE);
    let own = own.chain(vector::TABLE).chain(databases::TABLE);
    let own = own.chain(engines::TABLE).chain(kuzu::TABLE);
    let own = own.chain(weighted::TABLE).chain(clients::TABLE);
    own.chain(apoc::TABLES.iter().copied().flatten())
}

/// The names of all procedures that statements may call.
pub(crate) fn names(registry: &Registry) -> Vec<String> {
    let own = all().map(|procedure| procedure.name.to_owned());
    let added = registry.all().into_iter().map(|(name, _)| name);
    own.chain(added).collect()
}

/// Whether a procedure does something besides giving rows.
pub(crate) fn acts(name: &str, registry: &Registry) -> bool {
    match find(name) {
        // An export needs its right for the file that it writes, which its arguments name.
        Some(procedure) if procedure.name.starts_with("apoc.export.") => true,
        Some(procedure) => procedure.right > Right::Read && !procedure.writes(),
        None => (registry.find(name)).is_some_and(|procedure| procedure.right > Right::Read),
    }
}

fn find(name: &str) -> Option<&'static entry::Procedure> {
    all().find(|p| p.name == name)
}

/// Runs procedures on one database.
pub(crate) struct DatabaseProcedures {
    pub(crate) database: Arc<Instance>,
    /// That of the statement that calls.
    pub(crate) connection: Connection,
    /// What that statement runs with.
    pub(crate) context: ExecContext,
    /// Its place among those that run, or that of its transaction.
    pub(crate) running: Arc<RunningStatement>,
    /// How many statements it lies within.
    pub(crate) depth: usize,
}

impl Procedures for DatabaseProcedures {
    fn call(
        &self,
        name: &str,
        args: &[Value],
        caller: &Caller<'_>,
    ) -> Result<ProcedureResult, ExecError> {
        let Some(procedure) = find(name) else {
            return self.call_registered(name, args);
        };
        let failed = |message| ExecError::Procedure {
            name: name.to_owned(),
            message,
        };
        self.check(procedure.right, name)?;
        let call = Call {
            on: self,
            caller,
            name,
            right: procedure.right,
        };
        let (mut rows, mut more) = (Rows::new(), None);
        match procedure.run {
            Body::OfDatabase(run) => rows = run(&self.database, args).map_err(failed)?,
            Body::OfCaller(run) => rows = run(self, args)?,
            Body::OfCall(run) => rows = run(&call, args)?,
            Body::Statement(text) => {
                let started = call.start(text, procedure.named(args, &self.database.store)?)?;
                more = Some(Box::new(started) as Box<dyn MoreRows>);
            }
            Body::Made(make) => {
                let params = procedure.named(args, &self.database.store)?;
                let (text, _room) = call.made(&params, || make(&Named(&params)))?;
                more = Some(Box::new(call.start(&text, params)?));
            }
            Body::Streams(run) => more = Some(run(&call, args)?),
        }
        let columns = procedure.columns.iter().map(|(name, _)| Arc::from(*name));
        Ok(ProcedureResult {
            columns: columns.collect(),
            rows,
            more,
        })
    }
}

impl DatabaseProcedures {
    /// What its statements may do.
    fn access(&self) -> &Access {
        self.connection.access()
    }

    /// The databases of the server, if it is one of several.
    fn database_manager(&self) -> Option<&dyn DatabaseManager> {
        self.connection
            .database_manager()
            .map(|database_manager| &**database_manager)
    }

    /// The same, for statements that end at this moment unless they end before.
    fn until(&self, end: Option<Deadline>) -> Self {
        let mut same = self.deeper();
        same.depth = self.depth;
        let own = same.context.deadline;
        let is_earlier = |end: &Deadline| own.is_none_or(|own| end.left() < own.left());
        same.context.deadline = end.filter(is_earlier).or(own);
        same
    }

    /// For the procedures that a statement within this one calls.
    fn deeper(&self) -> Self {
        DatabaseProcedures {
            database: Arc::clone(&self.database),
            // A name behind USE belongs to the outer text alone.
            connection: self.connection.clone().with_used_name(None),
            context: self.context.clone(),
            running: Arc::clone(&self.running),
            depth: self.depth + 1,
        }
    }

    /// Whether the statement may call a procedure that needs this right.
    fn check(&self, right: Right, name: &str) -> Result<(), ExecError> {
        if self.access().is_unbounded() {
            return Ok(());
        }
        let user = || self.access().listed_user(&self.database.store);
        let what = told!("the procedure {name}");
        let checked = self.access().check(user, (right, false), &what);
        checked.map_err(|error| {
            let message = error.message().to_owned();
            match error.code() {
                READ_MODE => ExecError::ReadMode { message },
                _ => ExecError::Forbidden { message },
            }
        })
    }

    /// Runs a procedure that the program added.
    fn call_registered(&self, name: &str, args: &[Value]) -> Result<ProcedureResult, ExecError> {
        let db = &*self.database;
        let unknown = || ExecError::UnknownProcedure {
            name: name.to_owned(),
        };
        let failed = |message| ExecError::Procedure {
            name: name.to_owned(),
            message,
        };
        let found = db.registered.find(name).ok_or_else(unknown)?;
        self.check(found.right, name)?;
        let mut outside = Materialiser::new(db.store.snapshot());
        let args: Result<Vec<_>, _> = args.iter().map(|v| outside.value(v.clone())).collect();
        let args = args.map_err(|e| failed(e.to_string()))?;
        let rows = (found.body)(&args).map_err(failed)?;
        let width = found.view.columns.len();
        if let Some(row) = rows.iter().find(|row| row.len() != width) {
            return Err(failed(told!(
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
            more: None,
        })
    }
}

fn resize(db: &Arc<Instance>, args: &[Value]) -> Result<Rows, String> {
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
fn backup(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let failed = |message: String| ExecError::Procedure {
        name: "graven.backup".to_owned(),
        message,
    };
    let (file, since) = match args {
        [Value::String(file)] | [Value::String(file), Value::Null] => (file, None),
        [Value::String(file), Value::String(since)] => (file, Some(since)),
        _ => {
            let what = "give the new file as text, and perhaps that of an earlier backup";
            return Err(failed(what.to_owned()));
        }
    };
    let files = &caller.access().files;
    let refused = |name: &str| {
        let name = name.to_owned();
        move |refused: Refused| match refused {
            Refused::Policy(why) => ExecError::Forbidden {
                message: told!("graven.backup: {name}: {why}"),
            },
            Refused::System(why) => failed(told!("{name} cannot be read: {why}")),
        }
    };
    let to = files.new_file(Path::new(&**file)).map_err(refused(file))?;
    let store = &caller.database.store;
    let until = maintenance::until(caller);
    let since = match since {
        None => None,
        Some(name) => {
            let found = files.existing(Path::new(&**name)).map_err(refused(name))?;
            Some((name, found))
        }
    };
    let done = match &since {
        None => copy(store, to.path(), &until).map(|bytes| (bytes, bytes)),
        Some((_, since)) => backup_since(store, to.path(), since.path(), &until),
    };
    let told = |error: Error| {
        if let Err(ended) = maintenance::ended(caller) {
            return ended;
        }
        let message = named_as(error.to_string(), to.path(), file);
        failed(match &since {
            Some((name, since)) => named_as(message, since.path(), name),
            None => message,
        })
    };
    let (bytes, changed) = done.map_err(told)?;
    Ok(vec![vec![integer(bytes), integer(changed)]])
}

/// A message with the name of a file as the statement gives it, in the place of where that leads.
fn named_as(message: String, place: &Path, name: &str) -> String {
    let real = place.canonicalize().or_else(|_| {
        let folder = place.parent().unwrap_or(Path::new("."));
        let real = folder.canonicalize()?;
        Ok::<_, std::io::Error>(real.join(place.file_name().unwrap_or_default()))
    });
    let real = real.ok().map(|real| real.display().to_string());
    let places = real.into_iter().chain([place.display().to_string()]);
    places.fold(message, |text, place| text.replace(&place, name))
}

/// A snapshot in object storage: what it holds and what was sent.
fn publish(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let failed = |message: String| ExecError::Procedure {
        name: "graven.publish".to_owned(),
        message,
    };
    let (url, chunk) = match args {
        [Value::String(url)] | [Value::String(url), Value::Null] => (url, None),
        [Value::String(url), Value::Integer(chunk)] => (url, Some(chunk.unsigned_abs())),
        _ => {
            return Err(failed(
                "give a URL such as s3://bucket/graph/ as text".to_owned(),
            ));
        }
    };
    // With a URL the server would ask any host it can reach, with its own credentials.
    if !matches!(caller.access().files, FileAccess::Any(_)) {
        return Err(ExecError::Forbidden {
            message: "graven.publish: a server's clients may not make it send requests; publish \
                      with `graven publish` beside it"
                .to_owned(),
        });
    }
    let until = maintenance::until(caller);
    let done = send(&caller.database.store, url, chunk, &until);
    let done = done.map_err(|error| match maintenance::ended(caller) {
        Ok(()) => failed(error.to_string()),
        Err(ended) => ended,
    })?;
    Ok(vec![vec![
        integer(done.checkpoint),
        integer(done.length),
        integer(done.chunks),
        integer(done.sent_chunks),
        integer(done.sent_bytes),
        Value::Boolean(done.unchanged),
    ]])
}

/// Writes the database to a folder: the files, and how many rows they have.
fn export_database(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let mut options = export::ExportOptions::default();
    let folder = match args {
        [Value::String(folder)] => folder,
        [Value::String(folder), Value::Map(given)] => {
            for (name, value) in given.entries() {
                let value = graven_exec::sources::datum(value).unwrap_or(Datum::NULL);
                options
                    .set(name, &value)
                    .map_err(|why| ExecError::Argument {
                        message: told!("EXPORT DATABASE: {why}"),
                    })?;
            }
            folder
        }
        _ => return Err(no_folder("EXPORT DATABASE")),
    };
    let connection = inner_connection(caller, "EXPORT DATABASE")?;
    let deadline = caller.context.deadline;
    let written = export::export(&connection, deadline, folder, &options);
    let written = written.map_err(|error| inside(caller, "EXPORT DATABASE", &error))?;
    let rows = written
        .iter()
        .map(|(file, rows)| vec![Value::text(file), integer(*rows)]);
    Ok(rows.collect())
}

/// Loads what was exported into a database without nodes: how many statements that took.
fn import_database(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let [Value::String(folder), ..] = args else {
        return Err(no_folder("IMPORT DATABASE"));
    };
    let connection = inner_connection(caller, "IMPORT DATABASE")?;
    let deadline = caller.context.deadline;
    let run = export::import(&connection, deadline, folder);
    let run = run.map_err(|error| inside(caller, "IMPORT DATABASE", &error))?;
    Ok(vec![vec![integer(run)]])
}

fn no_folder(what: &str) -> ExecError {
    let message = told!("{what}: give the folder as text");
    ExecError::Argument { message }
}

fn inner_connection(caller: &DatabaseProcedures, what: &str) -> Result<Connection, ExecError> {
    inner::own_connection(caller).map_err(|why| ExecError::Argument {
        message: told!("{what}: {why}"),
    })
}

/// An error of a statement within another.
fn inside(caller: &DatabaseProcedures, what: &str, error: &Error) -> ExecError {
    let context = &caller.context;
    if let Err(stopped) = graven_exec::Deadline::check(context.deadline, &context.cancel) {
        return stopped;
    }
    let message = told!("{what}: {}", error.message());
    ExecError::Statement {
        code: error.code().to_owned(),
        message,
    }
}

/// What a statement of the same user has left out last, a row for each.
fn left_out(caller: &DatabaseProcedures, row: impl FnMut(&Fault) -> Vec<Value>) -> Rows {
    let noted = &caller.database.left_out;
    let noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
    match noted.user == caller.access().user {
        true => noted.faults.iter().map(row).collect(),
        false => Rows::new(),
    }
}

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::text)
}

/// `CALL graven.loadErrors()`.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn load_errors(caller: &DatabaseProcedures, _: &[Value]) -> Result<Rows, ExecError> {
    Ok(left_out(caller, |fault| {
        let row = Some(fault.row).filter(|row| *row > 0);
        vec![
            Value::text(&fault.file),
            row.map_or(Value::Null, integer),
            fault.line.map_or(Value::Null, integer),
            text_or_null(fault.column.as_deref()),
            text_or_null(fault.value.as_deref()),
            Value::text(&fault.why),
        ]
    }))
}

/// `CALL show_warnings()`.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn kuzu_warnings(caller: &DatabaseProcedures, _: &[Value]) -> Result<Rows, ExecError> {
    Ok(left_out(caller, |fault| {
        vec![
            Value::Null,
            Value::text(&fault.why),
            Value::text(&fault.file),
            fault.line.map_or(Value::Null, integer),
            text_or_null(fault.value.as_deref()),
        ]
    }))
}

/// `CALL clear_warnings()`: those of the user that calls it.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn clear_warnings(caller: &DatabaseProcedures, _: &[Value]) -> Result<Rows, ExecError> {
    let noted = &caller.database.left_out;
    let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
    if noted.user == caller.access().user {
        noted.faults.clear();
        noted.count = 0;
    }
    Ok(Rows::new())
}

fn set_policy(db: &Arc<Instance>, args: &[Value]) -> Result<Rows, String> {
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
fn stats(db: &Arc<Instance>, _: &[Value]) -> Result<Rows, String> {
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

fn integer(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::all;

    /// Goal: a call of a procedure that changes the graph in the calling statement is taken for
    /// one, by its name alone.
    #[test]
    fn names_tell_which_procedures_change_the_graph() {
        for procedure in all().filter(|it| it.writes()) {
            let text = format!("CALL {}()", procedure.name);
            assert!(!graven_cypher::only_reads(&text), "{text}");
        }
        assert!(!graven_cypher::only_reads("IMPORT DATABASE 'folder'"));
        assert!(graven_cypher::only_reads("CALL graven.info()"));
    }
}
