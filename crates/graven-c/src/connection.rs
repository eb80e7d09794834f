//! `graven_connection`: where statements are run.

use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use graven::{CancelHandle, Durability};
use graven_binding::Folder;

use crate::database::Database;
use crate::error::{Error, guard, quiet, there};
use crate::parameters::params;
use crate::result::QueryResult;
use crate::statement::Statement;
use crate::text::text;
use crate::transaction::Transaction;
use crate::value::Value;
use graven_binding::{ConnectionOptions, set_connection};

/// Where statements are run. One for each thread is usual; it may be shared.
pub struct Connection {
    state: Mutex<(graven::Connection, ConnectionOptions)>,
    cancel: CancelHandle,
    folder: Folder,
}

impl Connection {
    fn current(&self) -> graven::Connection {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.clone()
    }
}

/// A new connection, to be freed with graven_disconnect().
#[unsafe(no_mangle)]
pub extern "C" fn graven_connect(
    database: Option<&Database>,
    error: Option<&mut *mut Error>,
) -> Option<Box<Connection>> {
    guard(error, || {
        let database = there(database, "database")?;
        let mut options = ConnectionOptions::default();
        if database.folder.is_temporary() {
            // What ends with the program need not wait for the device.
            options = options.durability(Durability::Off);
        }
        let connection = options.apply(database.database.connect());
        Ok(Box::new(Connection {
            cancel: connection.cancel_handle(),
            state: Mutex::new((connection, options)),
            folder: database.folder.clone(),
        }))
    })
}

/// Frees a connection; its results and transactions go on. A null pointer is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn graven_disconnect(connection: Option<Box<Connection>>) {
    quiet((), || drop(connection));
}

/// Sets for the statements that begin from now on: "isolation" ("snapshot" or "serializable"),
/// "durability" ("full", "relaxed", "relaxed:MILLISECONDS" or "off"), "timeout_ms" (0: as long as
/// it takes). Whether it was set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_set(
    connection: Option<&Connection>,
    name: *const c_char,
    value: *const c_char,
    error: Option<&mut *mut Error>,
) -> bool {
    let set = guard(error, || {
        let connection = there(connection, "connection")?;
        // SAFETY: CA-2.
        let (name, value) = unsafe { (text(name, "name")?, text(value, "value")?) };
        let mut state = connection
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (current, mut options) = (state.0.clone(), state.1);
        *state = (set_connection(current, &mut options, name, value)?, options);
        Ok(())
    });
    set.is_some()
}

/// Stops the statements of the connection that run now: they end with `Statement.Cancelled`. May
/// be called by any thread, while others use the connection.
#[unsafe(no_mangle)]
pub extern "C" fn graven_interrupt(connection: Option<&Connection>) {
    quiet((), || {
        if let Some(connection) = connection {
            connection.cancel.cancel();
        }
    });
}

/// Runs a statement up to its first rows. One that writes is committed when this returns, and as
/// durable as asked for. `parameters` is a map, or null. The result is to be freed with
/// graven_result_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_query(
    connection: Option<&Connection>,
    statement: *const c_char,
    parameters: Option<&Value>,
    error: Option<&mut *mut Error>,
) -> Option<Box<QueryResult>> {
    guard(error, || {
        let connection = there(connection, "connection")?;
        // SAFETY: CA-2.
        let statement = unsafe { text(statement, "statement") }?;
        let params = params(parameters)?;
        let result = connection.current().query(statement, &params)?;
        QueryResult::begin(result, connection.folder.clone())
    })
}

/// Checks and plans a statement; its parameters are bound later. To be freed with
/// graven_statement_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_prepare(
    connection: Option<&Connection>,
    statement: *const c_char,
    error: Option<&mut *mut Error>,
) -> Option<Box<Statement>> {
    guard(error, || {
        let connection = there(connection, "connection")?;
        // SAFETY: CA-2.
        let statement = unsafe { text(statement, "statement") }?;
        let current = connection.current();
        let prepared = current.prepare(statement)?;
        let made = Statement::new(prepared, connection.folder.clone());
        Ok(Box::new(made))
    })
}

/// Begins a transaction. It ends with graven_commit() or graven_rollback().
#[unsafe(no_mangle)]
pub extern "C" fn graven_begin(
    connection: Option<&Connection>,
    error: Option<&mut *mut Error>,
) -> Option<Box<Transaction>> {
    guard(error, || {
        let connection = there(connection, "connection")?;
        let transaction = connection.current().begin()?;
        Ok(Box::new(Transaction::new(
            transaction,
            connection.folder.clone(),
        )))
    })
}
