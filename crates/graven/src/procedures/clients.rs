//! `dbms.listConnections`, `dbms.killConnection` and `dbms.showCurrentUser`: connections of a
//! server's clients.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_types::told;

use super::entry::{Body, Field, Procedure, procedure};
use super::show::told_moment;
use super::{DatabaseProcedures, Rows, user};
use crate::clients::ClientConnection;
use crate::right::Right;

const ENDED: &[Field] = &[
    ("connectionId", TypeSet::STRING),
    ("username", TypeSet::STRING),
    ("message", TypeSet::STRING),
];

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "dbms.killConnection",
        "ends a connection of a client: one of the own user, or any if an admin asks",
        (&[("id", TypeSet::STRING)], 1),
        Right::Read,
        ENDED,
        Body::OfCaller(end),
    ),
    procedure(
        "dbms.killConnections",
        "ends connections of clients",
        (&[("ids", TypeSet::LIST)], 1),
        Right::Read,
        ENDED,
        Body::OfCaller(end),
    ),
    procedure(
        "dbms.listCapabilities",
        "nothing: capabilities are those of this build",
        (&[], 0),
        Right::Read,
        &[
            ("name", TypeSet::STRING),
            ("description", TypeSet::STRING),
            ("value", TypeSet::ANY),
        ],
        Body::OfDatabase(|_, _| Ok(Vec::new())),
    ),
    procedure(
        "dbms.listConnections",
        "connections of clients: those of the own user, or all if an admin asks",
        (&[], 0),
        Right::Read,
        &[
            ("connectionId", TypeSet::STRING),
            ("connectTime", TypeSet::STRING),
            ("connector", TypeSet::STRING),
            ("username", TypeSet::STRING),
            ("userAgent", TypeSet::STRING),
            ("serverAddress", TypeSet::STRING),
            ("clientAddress", TypeSet::STRING),
        ],
        Body::OfCaller(list),
    ),
    procedure(
        "dbms.showCurrentUser",
        "the user that asks, and the role",
        (&[], 0),
        Right::Read,
        &[
            ("username", TypeSet::STRING),
            ("roles", TypeSet::LIST),
            ("flags", TypeSet::LIST),
        ],
        Body::OfCaller(current_user),
    ),
];

/// The connections that the caller may see and end.
fn seen(caller: &DatabaseProcedures) -> Vec<ClientConnection> {
    let access = caller.access();
    let all = access.is_admin(&caller.database.store);
    let known = caller.connection.clients();
    let known = known.map_or_else(Vec::new, |clients| clients.connections());
    let concerns =
        |known: &ClientConnection| all || access.user.is_some() && access.user == known.user;
    known.into_iter().filter(concerns).collect()
}

fn name(user: Option<Arc<str>>) -> Value {
    Value::String(user.unwrap_or_default())
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn list(caller: &DatabaseProcedures, _: &[Value]) -> Result<Rows, ExecError> {
    let rows = seen(caller).into_iter().map(|known| {
        vec![
            Value::text(&known.id),
            told_moment(known.since),
            Value::text("bolt"),
            name(known.user),
            Value::text(&known.agent),
            Value::text(&known.server),
            Value::text(&known.client),
        ]
    });
    Ok(rows.collect())
}

fn end(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let ids = match &args[0] {
        Value::List(ids) => &ids[..],
        one => std::slice::from_ref(one),
    };
    let seen = seen(caller);
    let mut rows = Rows::new();
    for id in ids {
        let Value::String(id) = id else {
            let message = told!("the id of a connection is text, not {}", id.type_name());
            return Err(ExecError::Argument { message });
        };
        let known = seen.iter().find(|known| known.id == **id);
        let ended = caller.connection.clients().zip(known);
        let ended = ended.filter(|(clients, known)| clients.end(&known.id));
        rows.push(match ended {
            Some((_, known)) => vec![
                Value::String(Arc::clone(id)),
                name(known.user.clone()),
                Value::text("Connection found"),
            ],
            None => vec![
                Value::String(Arc::clone(id)),
                Value::text("n/a"),
                Value::text("No connection found with this id"),
            ],
        });
    }
    Ok(rows)
}

fn current_user(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let rows = user::current(caller, args)?.into_iter();
    let row = |row: Vec<Value>| {
        let mut flags = Vec::new();
        for (at, flag) in [(2, "password_change_required"), (3, "is_suspended")] {
            if row.get(at) == Some(&Value::Boolean(true)) {
                flags.push(Value::text(flag));
            }
        }
        let mut row: Vec<Value> = row.into_iter().take(2).collect();
        row.push(Value::list(flags));
        row
    };
    Ok(rows.map(row).collect())
}
