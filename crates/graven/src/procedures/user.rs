//! `SHOW USERS`, `SHOW CURRENT USER`, `SHOW ROLES`, and whether a password is right.

use std::sync::Arc;

use graven_exec::{ExecError, Value};
use graven_storage::{Role, UserDescription};

use super::{DatabaseProcedures, Rows};
use crate::instance::Instance;

fn row(name: Value, role: Role, known: Option<&UserDescription>) -> Vec<Value> {
    let flag = |is_set: fn(&UserDescription) -> bool| {
        known.map_or(Value::Null, |user| Value::Boolean(is_set(user)))
    };
    let home = known.and_then(|user| user.home.clone());
    vec![
        name,
        Value::list(vec![Value::text(role.name())]),
        flag(|user| user.change_required),
        flag(|user| user.suspended),
        home.map_or(Value::Null, Value::String),
    ]
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn users(caller: &DatabaseProcedures, _: &[Value]) -> Result<Rows, ExecError> {
    let snapshot = caller.access().users_of(&caller.database.store).snapshot();
    let users = snapshot.users().iter();
    let rows = users.map(|user| {
        let name = Value::String(Arc::clone(&user.name));
        row(name, user.role, Some(user))
    });
    Ok(rows.collect())
}

/// Likewise, with what each logs in by.
pub(super) fn users_with_auth(
    caller: &DatabaseProcedures,
    args: &[Value],
) -> Result<Rows, ExecError> {
    let mut rows = users(caller, args)?;
    for row in &mut rows {
        let auth = vec![
            (Arc::from("password"), Value::text("***")),
            (Arc::from("changeRequired"), row[2].clone()),
        ];
        row.extend([Value::text("native"), Value::map(auth)]);
    }
    Ok(rows)
}

/// One row: without a name where the user is unknown.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn current(caller: &DatabaseProcedures, _: &[Value]) -> Result<Rows, ExecError> {
    let access = caller.access();
    let listed = access
        .listed
        .then(|| access.listed_user(&caller.database.store))
        .flatten();
    let role = listed.as_ref().map_or(access.role, |user| user.role);
    let name = access
        .user
        .clone()
        .map_or_else(|| Value::text(""), Value::String);
    Ok(vec![row(name, role, listed.as_ref())])
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn roles(_: &Arc<Instance>, _: &[Value]) -> Result<Rows, String> {
    let roles = Role::ALL.into_iter();
    Ok(roles.map(|role| vec![Value::text(role.name())]).collect())
}

pub(super) fn is_password(db: &Arc<Instance>, args: &[Value]) -> Result<Rows, String> {
    let [Value::String(name), Value::String(password)] = args else {
        return Err("give the name of a user and a password as texts".to_owned());
    };
    let snapshot = db.store.snapshot();
    let user = snapshot.users().iter().find(|user| user.name == *name);
    let right = db.passwords.is_right(user, password) && user.is_some_and(|user| !user.suspended);
    Ok(vec![vec![Value::Boolean(right)]])
}
