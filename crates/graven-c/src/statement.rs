//! `graven_statement`: a statement that is planned once, with the parameters bound to it.

use std::ffi::c_char;
use std::sync::Arc;

use graven::{Params, Prepared};
use graven_binding::Folder;

use crate::error::{Error, guard, quiet, there};
use crate::result::QueryResult;
use crate::text::{bytes_of, text, text_of};
use crate::value::Value;

/// A statement that is checked and planned, and what is bound to its parameters.
pub struct Statement {
    prepared: Prepared,
    params: Params,
    folder: Folder,
}

impl Statement {
    pub(crate) fn new(prepared: Prepared, folder: Folder) -> Self {
        Statement {
            prepared,
            params: Params::new(),
            folder,
        }
    }
}

/// Binds what `value` gives to a parameter; the name may begin with `$`.
///
/// # Safety
/// CA-2 for the name.
unsafe fn bind(
    statement: Option<&mut Statement>,
    name: *const c_char,
    error: Option<&mut *mut Error>,
    value: impl FnOnce() -> Result<graven::Value, graven::Error>,
) -> bool {
    let bound = guard(error, || {
        let statement = there(statement, "statement")?;
        // SAFETY: as the caller says.
        let name = unsafe { text(name, "name of the parameter") }?;
        let name = name.strip_prefix('$').unwrap_or(name);
        statement.params.set(name, value()?);
        Ok(())
    });
    bound.is_some()
}

/// Binds null to the parameter of this name. Whether it was bound, as with all that follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_bind_null(
    statement: Option<&mut Statement>,
    name: *const c_char,
    error: Option<&mut *mut Error>,
) -> bool {
    // SAFETY: CA-2.
    unsafe { bind(statement, name, error, || Ok(graven::Value::Null)) }
}

/// Binds a boolean.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_bind_bool(
    statement: Option<&mut Statement>,
    name: *const c_char,
    value: bool,
    error: Option<&mut *mut Error>,
) -> bool {
    // SAFETY: CA-2.
    unsafe { bind(statement, name, error, || Ok(value.into())) }
}

/// Binds an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_bind_int64(
    statement: Option<&mut Statement>,
    name: *const c_char,
    value: i64,
    error: Option<&mut *mut Error>,
) -> bool {
    // SAFETY: CA-2.
    unsafe { bind(statement, name, error, || Ok(value.into())) }
}

/// Binds a float.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_bind_double(
    statement: Option<&mut Statement>,
    name: *const c_char,
    value: f64,
    error: Option<&mut *mut Error>,
) -> bool {
    // SAFETY: CA-2.
    unsafe { bind(statement, name, error, || Ok(value.into())) }
}

/// Binds text, which is copied: so many bytes, or GRAVEN_TO_ZERO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_bind_text(
    statement: Option<&mut Statement>,
    name: *const c_char,
    value: *const c_char,
    length: usize,
    error: Option<&mut *mut Error>,
) -> bool {
    // SAFETY: CA-2.
    unsafe {
        bind(statement, name, error, || {
            text_of(value, length, "text").map(graven::Value::from)
        })
    }
}

/// Binds bytes, which are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_bind_bytes(
    statement: Option<&mut Statement>,
    name: *const c_char,
    value: *const u8,
    length: usize,
    error: Option<&mut *mut Error>,
) -> bool {
    // SAFETY: CA-2.
    unsafe {
        bind(statement, name, error, || {
            bytes_of(value, length, "value").map(|bytes| graven::Value::Bytes(Arc::from(bytes)))
        })
    }
}

/// Binds a value of any type, which is copied: a list, a map, a date.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_bind_value(
    statement: Option<&mut Statement>,
    name: *const c_char,
    value: Option<&Value>,
    error: Option<&mut *mut Error>,
) -> bool {
    // SAFETY: CA-2.
    unsafe {
        bind(statement, name, error, || {
            Ok(there(value, "value")?.0.clone())
        })
    }
}

/// Binds nothing any more.
#[unsafe(no_mangle)]
pub extern "C" fn graven_clear_bindings(statement: Option<&mut Statement>) {
    quiet((), || {
        if let Some(statement) = statement {
            statement.params = Params::new();
        }
    });
}

/// Runs it with what is bound, as graven_query() does; what is bound stays.
#[unsafe(no_mangle)]
pub extern "C" fn graven_execute(
    statement: Option<&Statement>,
    error: Option<&mut *mut Error>,
) -> Option<Box<QueryResult>> {
    guard(error, || {
        let statement = there(statement, "statement")?;
        let result = statement.prepared.query(&statement.params)?;
        QueryResult::begin(result, statement.folder.clone())
    })
}

/// Frees a statement; its results go on. A null pointer is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn graven_statement_free(statement: Option<Box<Statement>>) {
    quiet((), || drop(statement));
}
