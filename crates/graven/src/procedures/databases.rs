//! What `SHOW DATABASES`, `SHOW HOME DATABASE`, `SHOW DEFAULT DATABASE` and `SHOW ALIASES FOR
//! DATABASE` list, and whether `USE` names this database.
//!
//! # How it works
//! A file holds one database. Clients see two: that of the file, which `neo4j` means as well, and
//! `system`, which is the same one under the name by which they ask for users.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};

use super::entry::{Body, Field, Procedure, procedure};
use super::{DatabaseProcedures, integer};
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
        ]
    };
}

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "graven.database.check",
        "USE graph.byName(name): fails unless the name is this database's",
        (&[("name", TypeSet::STRING)], 1),
        Right::Read,
        &[],
        Body::OfCaller(check),
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
        Body::OfDatabase(aliases),
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
        Body::OfDatabase(databases),
    ),
    procedure(
        "graven.show.homeDatabase",
        "SHOW HOME DATABASE and SHOW DEFAULT DATABASE",
        (&[], 0),
        Right::Read,
        columns!(),
        Body::OfDatabase(home),
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
        [other, ..] => Err(format!("the name of a database is text, not {other}")),
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
    ]);
    row
}

fn databases(db: &Arc<Instance>, args: &[Value]) -> Result<Rows, String> {
    let mut rows = Vec::new();
    let own: Vec<Value> = [name(db)].into_iter().chain(alias(db)).collect();
    if is_wanted(args, &own)? {
        rows.push(row(db, name(db), Some(true)));
    }
    let system = Value::text(SYSTEM);
    if is_wanted(args, std::slice::from_ref(&system))? {
        rows.push(row(db, system, Some(false)));
    }
    Ok(rows)
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn home(db: &Arc<Instance>, _: &[Value]) -> Result<Rows, String> {
    Ok(vec![row(db, name(db), None)])
}

fn aliases(db: &Arc<Instance>, args: &[Value]) -> Result<Rows, String> {
    let mut rows = Vec::new();
    if let Some(alias) = alias(db)
        && is_wanted(args, std::slice::from_ref(&alias))?
    {
        let mut row = vec![alias, Value::Null, name(db), Value::text("local")];
        row.resize(8, Value::Null);
        row[7] = Value::map(Vec::new());
        rows.push(row);
    }
    Ok(rows)
}

fn check(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    match args {
        [Value::String(name)] if names::is_of_file(name, &caller.database.path) => Ok(Vec::new()),
        [Value::String(name)] => Err(ExecError::Named {
            kind: "NotAvailable",
            detail: "DatabaseNotFound",
            message: format!(
                "there is no database `{name}` here to `USE`: give one of the names that SHOW \
                    DATABASES lists"
            ),
        }),
        other => {
            let given = other.first().unwrap_or(&Value::Null);
            let message = format!("`USE graph.byName` takes the name as text, not {given}");
            Err(ExecError::Argument { message })
        }
    }
}
