//! Errors of the library on their way to JavaScript.
//!
//! # How it works
//! An error of Node-API has a text. Here that is what `package/errors.js` makes a `GravenError` of:
//! JSON with code, message, place, whether to try again. A panic within a job is an error, too: it
//! would end the process otherwise.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use graven::Error;
use graven_binding::{DEFECT, message_of_panic};
use napi::Status;
use serde_json::json;

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Told {
    code: String,
    message: String,
    position: Option<(u32, u32)>,
    retryable: bool,
    durable: Option<String>,
    of_text: bool,
}

impl Told {
    fn new(code: &str, message: String) -> Told {
        Told {
            code: code.to_owned(),
            message,
            position: None,
            retryable: false,
            durable: None,
            of_text: false,
        }
    }

    /// The error of a request that makes no sense where it stands.
    pub(crate) fn usage(message: impl Into<String>) -> Told {
        Error::usage(message).into()
    }

    /// The error of whatever is done with a database after it was closed.
    pub(crate) fn closed(path: &Path) -> Told {
        let message = format!("{} was closed; open it again", path.display());
        Told::new("Database.Closed", message)
    }

    fn of_panic(panic: &(dyn Any + Send)) -> Told {
        Told::new(DEFECT, message_of_panic(panic))
    }

    /// The same about a parameter.
    pub(crate) fn of_parameter(mut self, name: &str) -> Told {
        self.message = format!("parameter `{name}`: {}", self.message);
        self
    }
}

impl From<Error> for Told {
    fn from(error: Error) -> Told {
        Told {
            code: error.code().to_owned(),
            message: error.render().to_owned(),
            position: error.position(),
            retryable: error.is_retryable(),
            durable: error.durable().map(|it| it.to_string()),
            of_text: error.is_of_text(),
        }
    }
}

/// Node-API has failed: JavaScript has thrown, or the environment is ending.
impl From<napi::Error> for Told {
    fn from(error: napi::Error) -> Told {
        Told::usage(format!("a value could not be read: {}", error.reason))
    }
}

impl From<Told> for napi::Error {
    fn from(told: Told) -> napi::Error {
        let (line, column) = told.position.unzip();
        let text = json!({
            "graven": told.code,
            "message": told.message,
            "line": line,
            "column": column,
            "retryable": told.retryable,
            "durable": told.durable,
            "ofText": told.of_text,
        });
        napi::Error::new(Status::GenericFailure, text.to_string())
    }
}

/// Does `work`; a panic is an error.
pub(crate) fn guard<T>(work: impl FnOnce() -> Result<T, Told>) -> Result<T, Told> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Told::of_panic(&*panic)))
}

/// As [`guard`], for a method that JavaScript waits for.
pub(crate) fn sync<T>(work: impl FnOnce() -> Result<T, Told>) -> napi::Result<T> {
    Ok(guard(work)?)
}
