//! Making values: for parameters.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::Arc;

use graven::{Error, Value as Inner};

use crate::error::{Error as ErrorHandle, guard, there};
use crate::text::{bytes_of, text, text_of};
use crate::value::Value;

/// Lists and maps within each other, at most.
const DEPTH_MAX: usize = 100;

/// Refuses a value that nests too deep to be put into another one.
fn check_depth(value: &Inner, left: usize) -> Result<(), Error> {
    if left == 0 {
        return Err(Error::usage(format!(
            "lists and maps nest more than {DEPTH_MAX} levels deep"
        )));
    }
    match value {
        Inner::List(items) => items.iter().try_for_each(|it| check_depth(it, left - 1)),
        Inner::Map(entries) => entries
            .values()
            .try_for_each(|it| check_depth(it, left - 1)),
        _ => Ok(()),
    }
}

/// Null. What all functions of this kind give belongs to the program: it is freed with
/// graven_value_free(), or given away to a list or map.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_new_null() -> Box<Value> {
    Value::owned(Inner::Null)
}

/// A boolean.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_new_bool(value: bool) -> Box<Value> {
    Value::owned(Inner::Boolean(value))
}

/// An integer.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_new_int64(value: i64) -> Box<Value> {
    Value::owned(Inner::Integer(value))
}

/// A float.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_new_double(value: f64) -> Box<Value> {
    Value::owned(Inner::Float(value))
}

/// Text, which is copied: so many bytes, or GRAVEN_TO_ZERO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_value_new_text(
    value: *const c_char,
    length: usize,
    error: Option<&mut *mut ErrorHandle>,
) -> Option<Box<Value>> {
    guard(error, || {
        // SAFETY: CA-2.
        let text = unsafe { text_of(value, length, "text") }?;
        Ok(Value::owned(Inner::from(text)))
    })
}

/// Bytes, which are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_value_new_bytes(
    value: *const u8,
    length: usize,
    error: Option<&mut *mut ErrorHandle>,
) -> Option<Box<Value>> {
    guard(error, || {
        // SAFETY: CA-2.
        let bytes = unsafe { bytes_of(value, length, "value") }?;
        Ok(Value::owned(Inner::Bytes(Arc::from(bytes))))
    })
}

/// An empty list, for graven_list_append().
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_new_list() -> Box<Value> {
    Value::owned(Inner::List(Vec::new()))
}

/// An empty map, for graven_map_set(): also what graven_query() takes as its parameters.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_new_map() -> Box<Value> {
    Value::owned(Inner::Map(BTreeMap::new()))
}

/// The value that another one takes, and that one: an error where both are the same, which stays.
///
/// # Safety
/// `holder` is null or a handle (CA-2).
unsafe fn apart<'a>(
    (holder, holds): (*mut Value, &str),
    (taken, named): (Option<Box<Value>>, &str),
) -> Result<(&'a mut Value, Inner), Error> {
    let taken = there(taken, named)?;
    if std::ptr::eq(holder, &raw const *taken) {
        // It was not taken: the program has it still.
        let _ = Box::into_raw(taken);
        return Err(Error::usage(format!("a {holds} cannot hold itself")));
    }
    // SAFETY: the caller hands over null or a handle, and nothing else refers to it meanwhile.
    let holder = unsafe { holder.as_mut() };
    Ok((there(holder, holds)?, taken.0))
}

/// Appends to a list and takes `item`, which is freed in every case, but not where it is the list
/// itself. Whether it was appended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_list_append(
    list: *mut Value,
    item: Option<Box<Value>>,
    error: Option<&mut *mut ErrorHandle>,
) -> bool {
    let done = guard(error, || {
        // SAFETY: CA-2.
        let (list, item) = unsafe { apart((list, "list"), (item, "item")) }?;
        match &mut list.0 {
            Inner::List(items) => {
                check_depth(&item, DEPTH_MAX)?;
                items.push(item);
                Ok(())
            }
            other => Err(Error::usage(format!("{other} is not a list"))),
        }
    });
    done.is_some()
}

/// Sets an entry of a map and takes `value`, which is freed in every case, but not where it is the
/// map itself. A parameter's name stands without `$`. Whether it was set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_map_set(
    map: *mut Value,
    key: *const c_char,
    value: Option<Box<Value>>,
    error: Option<&mut *mut ErrorHandle>,
) -> bool {
    let done = guard(error, || {
        // SAFETY: CA-2.
        let (map, value) = unsafe { apart((map, "map"), (value, "value")) }?;
        // SAFETY: CA-2.
        let key = unsafe { text(key, "key") }?;
        match &mut map.0 {
            Inner::Map(entries) => {
                check_depth(&value, DEPTH_MAX)?;
                entries.insert(Arc::from(key), value);
                Ok(())
            }
            other => Err(Error::usage(format!("{other} is not a map"))),
        }
    });
    done.is_some()
}
