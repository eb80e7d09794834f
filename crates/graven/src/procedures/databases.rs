//! What `SHOW DATABASES`, `SHOW HOME DATABASE`, `SHOW DEFAULT DATABASE` and `SHOW ALIASES FOR
//! DATABASE` list, and whether `USE` names this database.
//!
//! # How it works
//! A file holds one database. Clients see two: that of the file, which `neo4j` means as well, and
//! `system`, which is the same one under the name by which they ask for users. The clients of a
//! server with several see those of its [`DatabaseManager`], which is also what changes them.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_types::told;

use super::entry::{Body, Field, Procedure, procedure};
use super::{DatabaseProcedures, integer};
use crate::database_manager::{Change, DatabaseManager, Listed, is_meant};
use crate::error::Error;
use crate::instance::Instance;
use crate::names::{self, SYSTEM, USUAL, is_same};
use crate::right::Right;

type Rows = Vec<Vec<Value>>;

/// The name of what is asked for; null: all.
const WANTED: (&[Field], usize) = (&[("name", TypeSet::STRING)], 0);

/// Columns that say whether a database is the one of clients that name none.
const IS_FIRST: [&str; 2] = ["default", "home"];

macro_rules! columns {
    ($($first:expr),*) => {
        &[
            ("name", TypeSet::STRING),
            ("type", TypeSet::STRING),
            ("aliases", TypeSet::LIST),
            ("access", TypeSet::STRING),
            ("databaseID", TypeSet::STRING),
            ("serverID", TypeSet::STRING),
            ("address", TypeSet::STRING),
            ("role", TypeSet::STRING),
            ("writer", TypeSet::BOOLEAN),
            ("requestedStatus", TypeSet::STRING),
            ("currentStatus", TypeSet::STRING),
            ("statusMessage", TypeSet::STRING),
            $($first,)*
            ("currentPrimariesCount", TypeSet::INTEGER),
            ("currentSecondariesCount", TypeSet::INTEGER),
            ("requestedPrimariesCount", TypeSet::INTEGER),
            ("requestedSecondariesCount", TypeSet::INTEGER),
            ("creationTime", TypeSet::TEMPORAL),
            ("lastStartTime", TypeSet::TEMPORAL),
            ("lastStopTime", TypeSet::TEMPORAL),
            ("store", TypeSet::STRING),
            ("lastCommittedTxn", TypeSet::INTEGER),
            ("replicationLag", TypeSet::INTEGER),
            ("constituents", TypeSet::LIST),
            ("options", TypeSet::MAP),
        ]
    };
}

/// What a change is about: the command, the name, and what else it says.
const CHANGED: (&[Field], usize) = (
    &[
        ("command", TypeSet::STRING),
        ("name", TypeSet::STRING),
        ("says", TypeSet::MAP),
    ],
    3,
);

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "graven.database.check",
        "USE graph.byName(name): fails unless the name is this database's",
        (&[("name", TypeSet::STRING), ("place", TypeSet::INTEGER)], 1),
        Right::Read,
        &[],
        Body::OfCaller(check),
    ),
    procedure(
        "graven.databases.change",
        "CREATE DATABASE and the like: changes the databases of a server",
        CHANGED,
        Right::Admin,
        &[],
        Body::OfCaller(change),
    ),
    procedure(
        "graven.databases.changeAndWait",
        "CREATE DATABASE name WAIT and the like",
        CHANGED,
        Right::Admin,
        &[
            ("address", TypeSet::STRING),
            ("state", TypeSet::STRING),
            ("message", TypeSet::STRING),
            ("success", TypeSet::BOOLEAN),
        ],
        Body::OfCaller(change_and_wait),
    ),
    procedure(
        "graven.databases.checkHome",
        "ALTER USER user SET HOME DATABASE name: fails unless there is one of this name",
        (&[("name", TypeSet::STRING)], 1),
        Right::Admin,
        &[],
        Body::OfCaller(check_home),
    ),
    procedure(
        "graven.show.aliases",
        "SHOW ALIASES FOR DATABASE",
        WANTED,
        Right::Read,
        &[
            ("name", TypeSet::STRING),
            ("composite", TypeSet::STRING),
            ("database", TypeSet::STRING),
            ("location", TypeSet::STRING),
            ("url", TypeSet::STRING),
            ("user", TypeSet::STRING),
            ("driver", TypeSet::MAP),
            ("properties", TypeSet::MAP),
        ],
        Body::OfCaller(aliases),
    ),
    procedure(
        "graven.show.databases",
        "SHOW DATABASES",
        WANTED,
        Right::Read,
        columns!(
            (IS_FIRST[0], TypeSet::BOOLEAN),
            (IS_FIRST[1], TypeSet::BOOLEAN)
        ),
        Body::OfCaller(databases),
    ),
    procedure(
        "graven.show.defaultDatabase",
        "SHOW DEFAULT DATABASE",
        (&[], 0),
        Right::Read,
        columns!(),
        Body::OfCaller(default),
    ),
    procedure(
        "graven.show.homeDatabase",
        "SHOW HOME DATABASE",
        (&[], 0),
        Right::Read,
        columns!(),
        Body::OfCaller(home),
    ),
];

/// The name of a database: that of its file.
pub(super) fn name(db: &Instance) -> Value {
    Value::text(&names::of_file(&db.path))
}

/// The id of a database: that of its file.
pub(super) fn id(db: &Instance) -> Value {
    let bytes = db.store.uuid();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Value::text(&digits)
}

/// Its other name, if it has one: what drivers ask for unless told otherwise.
fn alias(db: &Instance) -> Option<Value> {
    let own = names::of_file(&db.path);
    (!is_same(&own, USUAL)).then(|| Value::text(USUAL))
}

/// Whether this is one of those asked for.
fn is_wanted(wanted: &[Value], own: &[Value]) -> Result<bool, String> {
    match wanted {
        [] | [Value::Null] => Ok(true),
        [Value::String(name)] => Ok(own
            .iter()
            .any(|own| matches!(own, Value::String(own) if is_same(own, name)))),
        [other, ..] => Err(told!("the name of a database is text, not {other}")),
    }
}

/// What is known of the database under one of its names; `is_first`: whether it is the one that a
/// client gets without naming any, where that is said.
fn row(db: &Instance, name: Value, is_first: Option<bool>) -> Vec<Value> {
    let text = |text: &str| Value::text(text);
    let writer = db.store.read_only().is_none();
    let is_system = matches!(&name, Value::String(name) if &**name == SYSTEM);
    let aliases = alias(db).filter(|_| !is_system);
    let mut row = vec![
        name,
        text(if is_system { "system" } else { "standard" }),
        Value::list(aliases.into_iter().collect()),
        text(if writer { "read-write" } else { "read-only" }),
        id(db),
        id(db),
        text(""),
        text("primary"),
        Value::Boolean(writer),
        text("online"),
        text("online"),
        text(""),
    ];
    for _ in IS_FIRST {
        row.extend(is_first.map(Value::Boolean));
    }
    row.extend([1, 0, 1, 0].map(integer));
    row.extend([Value::Null, Value::Null, Value::Null]);
    row.extend([
        text("graven"),
        integer(db.store.snapshot().timestamp()),
        integer(0),
        Value::list(Vec::new()),
        Value::map(Vec::new()),
    ]);
    row
}

/// What the database manager knows of a database. What is asked of the file is null where it is not
/// open.
fn listed_row(
    database_manager: &dyn DatabaseManager,
    listed: &Listed,
    is_first: Option<[bool; 2]>,
) -> Vec<Value> {
    let text = |text: &str| Value::text(text);
    let open = listed.database.as_ref().and_then(|it| it.inner().ok());
    let is_system = listed.name == SYSTEM;
    let status = |is_online: bool| text(if is_online { "online" } else { "offline" });
    let writes = !listed.reads_only && open.is_some_and(|it| it.store.read_only().is_none());
    let id_of = |db: &Arc<Instance>| id(db);
    let own = open.map_or(Value::Null, id_of);
    let mut server = database_manager.databases().into_iter();
    let server = server
        .find(|it| it.name == SYSTEM)
        .and_then(|it| it.database);
    let server = server.and_then(|it| it.inner().ok().map(id_of));
    let aliases = listed.aliases.iter().map(|alias| Value::text(alias));
    let mut row = vec![
        text(&listed.name),
        text(if is_system { "system" } else { "standard" }),
        Value::list(aliases.collect()),
        text(if listed.reads_only {
            "read-only"
        } else {
            "read-write"
        }),
        own,
        server.unwrap_or_default(),
        text(&database_manager.address()),
        text("primary"),
        Value::Boolean(writes),
        status(listed.is_wanted),
        status(open.is_some()),
        text(&listed.message),
    ];
    row.extend(is_first.into_iter().flatten().map(Value::Boolean));
    row.extend([1, 0, 1, 0].map(integer));
    row.extend([Value::Null, Value::Null, Value::Null]);
    row.extend([
        text("graven"),
        open.map_or(Value::Null, |it| integer(it.store.snapshot().timestamp())),
        integer(0),
        Value::list(Vec::new()),
        Value::map(Vec::new()),
    ]);
    row
}

/// An error of the database manager as one of the statement.
pub(super) fn told(error: Error) -> ExecError {
    ExecError::Statement {
        code: error.code().to_owned(),
        message: error.message().to_owned(),
    }
}

fn argument(message: String) -> ExecError {
    ExecError::Argument { message }
}

fn databases(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let mut rows = Vec::new();
    if let Some(database_manager) = caller.connection.database_manager() {
        let home = home_of(caller, &**database_manager);
        let default = database_manager.default_name();
        for listed in database_manager.databases() {
            let names = [&listed.name].into_iter().chain(&listed.aliases);
            let names: Vec<Value> = names.map(|name| Value::text(name)).collect();
            if is_wanted(args, &names).map_err(argument)? {
                let is_first = [listed.name == default, listed.name == home];
                rows.push(listed_row(&**database_manager, &listed, Some(is_first)));
            }
        }
        return Ok(rows);
    }
    let db = &caller.database;
    let own: Vec<Value> = [name(db)].into_iter().chain(alias(db)).collect();
    if is_wanted(args, &own).map_err(argument)? {
        rows.push(row(db, name(db), Some(true)));
    }
    let system = Value::text(SYSTEM);
    if is_wanted(args, std::slice::from_ref(&system)).map_err(argument)? {
        rows.push(row(db, system, Some(false)));
    }
    Ok(rows)
}

fn home(caller: &DatabaseProcedures, _: &[Value]) -> Result<Rows, ExecError> {
    one(caller, |database_manager| home_of(caller, database_manager))
}

/// The database of a caller that names none.
fn home_of(caller: &DatabaseProcedures, database_manager: &dyn DatabaseManager) -> String {
    let user = caller.access().listed_user(&caller.database.store);
    match user.and_then(|user| user.home) {
        // An alias means what it stands for now.
        Some(home) => {
            let resolved = database_manager.resolve(&home);
            resolved.unwrap_or_else(|| home.to_string())
        }
        None => database_manager.default_name(),
    }
}

fn default(caller: &DatabaseProcedures, _: &[Value]) -> Result<Rows, ExecError> {
    fn name(database_manager: &dyn DatabaseManager) -> String {
        database_manager.default_name()
    }
    one(caller, name)
}

/// The database of this name, if it is there.
fn one(
    caller: &DatabaseProcedures,
    wanted: impl FnOnce(&dyn DatabaseManager) -> String,
) -> Result<Rows, ExecError> {
    let Some(database_manager) = caller.connection.database_manager() else {
        let db = &caller.database;
        return Ok(vec![row(db, name(db), None)]);
    };
    let wanted = wanted(&**database_manager);
    let all = database_manager.databases().into_iter();
    let found = all.filter(|listed| listed.name == wanted);
    Ok(found
        .map(|listed| listed_row(&**database_manager, &listed, None))
        .collect())
}

fn aliases(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let db = &caller.database;
    let all: Vec<(Value, Value)> = match caller.connection.database_manager() {
        None => alias(db)
            .map(|alias| (alias, name(db)))
            .into_iter()
            .collect(),
        Some(database_manager) => {
            let databases = database_manager.databases();
            let pairs = databases.iter().flat_map(|listed| {
                let target = Value::text(&listed.name);
                let aliases = listed.aliases.iter();
                aliases.map(move |alias| (Value::text(alias), target.clone()))
            });
            pairs.collect()
        }
    };
    let mut rows = Vec::new();
    for (alias, target) in all {
        if is_wanted(args, std::slice::from_ref(&alias)).map_err(argument)? {
            let mut row = vec![alias, Value::Null, target, Value::text("local")];
            row.resize(8, Value::Null);
            row[7] = Value::map(Vec::new());
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The databases of the server, which a single file does not have.
fn database_manager<'a>(
    caller: &'a DatabaseProcedures,
    what: &str,
) -> Result<&'a Arc<dyn DatabaseManager>, ExecError> {
    caller.connection.database_manager().ok_or_else(|| {
        let file = names::of_file(&caller.database.path);
        ExecError::Named {
            kind: "NotAvailable",
            detail: "AdministrationCommand",
            message: told!(
                "{what} needs a server of several databases, and `{file}` is one database in one \
                    file: start `graven serve --databases DIR`"
            ),
        }
    })
}

fn change(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let [Value::String(command), name, says] = args else {
        return Err(argument("give a command, a name and a map".to_owned()));
    };
    let database_manager = database_manager(caller, command)?;
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.to_string()),
        other => Err(argument(told!(
            "{command}: the name of a database is text, not {other}"
        ))),
    };
    let name = text(name)?;
    let said = |wanted: &str| match says {
        Value::Map(map) => {
            let mut entries = map.entries().iter();
            entries
                .find(|(known, _)| **known == *wanted)
                .map(|(_, value)| value)
        }
        _ => None,
    };
    let is = |wanted: &str| matches!(said(wanted), Some(Value::Boolean(true)));
    let condition = is("if");
    let alias = |name: String, is_new: bool, replaces: bool| {
        Ok::<_, ExecError>(Change::SetAlias {
            name,
            target: text(said("target").unwrap_or(&Value::Null))?,
            is_new,
            replaces,
            condition,
        })
    };
    let change = match &**command {
        "CREATE DATABASE" | "REPLACE DATABASE" => Change::Create {
            name,
            replaces: command.starts_with("REPLACE"),
            if_missing: condition,
        },
        "DROP DATABASE" => Change::Drop {
            name,
            if_exists: condition,
            cascades: is("cascade"),
            dumps: is("dump"),
        },
        "ALTER DATABASE" => Change::SetAccess {
            name,
            if_exists: condition,
            reads_only: is("readOnly"),
        },
        "START DATABASE" | "STOP DATABASE" => Change::SetWanted {
            name,
            is_wanted: command.starts_with("START"),
        },
        "CREATE ALIAS" => alias(name, true, false)?,
        "REPLACE ALIAS" => alias(name, true, true)?,
        "ALTER ALIAS" => alias(name, false, false)?,
        "DROP ALIAS" => Change::DropAlias {
            name,
            if_exists: condition,
        },
        other => return Err(argument(told!("there is no command {other}"))),
    };
    database_manager.change(change).map_err(told)?;
    Ok(Vec::new())
}

fn change_and_wait(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    change(caller, args)?;
    let address = caller.connection.database_manager().map(|it| it.address());
    Ok(vec![vec![
        Value::text(&address.unwrap_or_default()),
        Value::text("CaughtUp"),
        Value::text("caught up"),
        Value::Boolean(true),
    ]])
}

fn check_home(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let database_manager = database_manager(caller, "SET HOME DATABASE")?;
    match args {
        [Value::Null] => Ok(Vec::new()),
        [Value::String(name)] if database_manager.resolve(name).is_some() => Ok(Vec::new()),
        [Value::String(name)] => Err(ExecError::Named {
            kind: "NotAvailable",
            detail: "DatabaseNotFound",
            message: told!(
                "there is no database `{name}` on this server to be a home; SHOW DATABASES lists \
                    them"
            ),
        }),
        _ => Err(argument("give the name of a database as text".to_owned())),
    }
}

fn check(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let chosen = match args.get(1) {
        Some(Value::Integer(place)) => caller.connection.used_name(*place),
        _ => None,
    };
    let given = chosen.map(|name| Value::String(Arc::clone(name)));
    match given.as_ref().or_else(|| args.first()) {
        Some(Value::String(name))
            if is_meant(name, (&caller.database.path, caller.database_manager())) =>
        {
            Ok(Vec::new())
        }
        Some(Value::String(name)) => Err(ExecError::Named {
            kind: "NotAvailable",
            detail: "DatabaseNotFound",
            message: told!(
                "there is no database `{name}` here to `USE`: give one of the names that SHOW \
                    DATABASES lists"
            ),
        }),
        other => {
            let given = other.unwrap_or(&Value::Null);
            let message = told!("`USE graph.byName` takes the name as text, not {given}");
            Err(ExecError::Argument { message })
        }
    }
}
