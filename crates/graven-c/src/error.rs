//! `graven_error`, and how a function ends in one.

use std::any::Any;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use graven::Durable;
use graven_binding::{DEFECT, message_of_panic};

use crate::text::c_string;

/// What went wrong. Its code is stable and for programs, its message is for people.
pub struct Error {
    code: CString,
    message: CString,
    rendered: CString,
    retryable: bool,
    durable: i32,
    line: u32,
    column: u32,
}

/// The commit that failed left nothing.
pub const DURABLE_NO: i32 = 0;
/// The commit is durable, whatever failed after it.
pub const DURABLE_YES: i32 = 1;
/// It is not known whether the commit is durable.
pub const DURABLE_UNKNOWN: i32 = 2;

impl From<&graven::Error> for Error {
    fn from(error: &graven::Error) -> Self {
        let (line, column) = error.position().unwrap_or_default();
        Error {
            code: c_string(error.code()),
            message: c_string(error.message()),
            rendered: c_string(error.render()),
            retryable: error.is_retryable(),
            durable: match error.durable() {
                Some(Durable::Yes) => DURABLE_YES,
                Some(Durable::Unknown) => DURABLE_UNKNOWN,
                _ => DURABLE_NO,
            },
            line,
            column,
        }
    }
}

impl Error {
    /// A defect, reported instead of the end of the program.
    fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let message = message_of_panic(panic);
        Error {
            code: c_string(DEFECT),
            rendered: c_string(&message),
            message: c_string(&message),
            retryable: false,
            durable: DURABLE_UNKNOWN,
            line: 0,
            column: 0,
        }
    }
}

/// Runs what a function does (CA-1). None where it failed; the error is left where the program
/// asked for it, and a null pointer where there is none.
pub(crate) fn guard<T>(
    out: Option<&mut *mut Error>,
    work: impl FnOnce() -> Result<T, graven::Error>,
) -> Option<T> {
    let done = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| Error::from(&error)),
        Err(panic) => Err(Error::of_panic(&*panic)),
    };
    let (value, left) = match done {
        Ok(value) => (Some(value), std::ptr::null_mut()),
        Err(error) => (None, Box::into_raw(Box::new(error))),
    };
    match out {
        Some(out) => *out = left,
        // SAFETY: it was made above, and nothing else has it.
        None if !left.is_null() => drop(unsafe { Box::from_raw(left) }),
        None => {}
    }
    value
}

/// Runs what cannot fail, but for a defect (CA-1).
pub(crate) fn quiet<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

/// What a handle points to, or the error that it points to nothing.
pub(crate) fn there<T>(handle: Option<T>, what: &str) -> Result<T, graven::Error> {
    handle.ok_or_else(|| graven::Error::usage(format!("the {what} is a null pointer")))
}

/// Stable name of the error, such as `Memory.Limit`.
#[unsafe(no_mangle)]
pub extern "C" fn graven_error_code(error: Option<&Error>) -> *const c_char {
    error.map_or(c"".as_ptr(), |error| error.code.as_ptr())
}

/// One sentence for people; it may change.
#[unsafe(no_mangle)]
pub extern "C" fn graven_error_message(error: Option<&Error>) -> *const c_char {
    error.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// The message with the line of the statement that it is about, and a caret, where there is one.
#[unsafe(no_mangle)]
pub extern "C" fn graven_error_rendered(error: Option<&Error>) -> *const c_char {
    error.map_or(c"".as_ptr(), |error| error.rendered.as_ptr())
}

/// Whether the same statement or transaction may succeed when it is run again.
#[unsafe(no_mangle)]
pub extern "C" fn graven_error_retryable(error: Option<&Error>) -> bool {
    error.is_some_and(|error| error.retryable)
}

/// For a commit that failed: GRAVEN_DURABLE_NO, GRAVEN_DURABLE_YES or GRAVEN_DURABLE_UNKNOWN.
#[unsafe(no_mangle)]
pub extern "C" fn graven_error_durable(error: Option<&Error>) -> i32 {
    error.map_or(DURABLE_NO, |error| error.durable)
}

/// Line in the statement, from 1; 0 where the error has no place there.
#[unsafe(no_mangle)]
pub extern "C" fn graven_error_line(error: Option<&Error>) -> u32 {
    error.map_or(0, |error| error.line)
}

/// Column in the line, from 1; 0 where the error has no place there.
#[unsafe(no_mangle)]
pub extern "C" fn graven_error_column(error: Option<&Error>) -> u32 {
    error.map_or(0, |error| error.column)
}

/// Frees an error; a null pointer is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn graven_error_free(error: Option<Box<Error>>) {
    drop(error);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    /// Goal: CA-1, a panic becomes an error with a message, and is no panic where none is asked
    /// for.
    #[test]
    fn a_panic_is_an_error() {
        let mut error = std::ptr::null_mut();
        let failed: Option<()> = guard(Some(&mut error), || panic!("a broken invariant"));
        assert!(failed.is_none());
        // SAFETY: `guard` has left an error.
        let error = unsafe { Box::from_raw(error) };
        // SAFETY: messages end in a zero byte.
        let message = unsafe { CStr::from_ptr(graven_error_message(Some(&error))) };
        let message = message.to_str().expect("UTF-8");
        assert!(message.contains("a broken invariant"), "{message}");
        assert_eq!(error.code.to_str(), Ok("Internal.Panic"));
        let failed: Option<()> = guard(None, || panic!("no error is asked for"));
        assert!(failed.is_none());
        assert_eq!(quiet(3, || panic!("at a getter")), 3);
    }
}
