//! Errors under the names that drivers know: what they retry, and which exception they raise, follows from these.

use graven::Error;

use crate::admission::Full;

/// Something that was refused or failed, as the client hears it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Failure {
    /// A message that makes no sense where it came.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Failure {
            code: "Neo.ClientError.Request.Invalid",
            message: message.into(),
        }
    }

    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Failure {
            code: "Neo.ClientError.Security.Unauthorized",
            message: message.into(),
        }
    }

    pub(crate) fn too_many_attempts() -> Self {
        Failure {
            code: "Neo.ClientError.Security.AuthenticationRateLimit",
            message: "too many attempts with a wrong name or password came from there; try again in some seconds"
                .to_owned(),
        }
    }

    /// All places are taken.
    pub(crate) fn full(full: Full) -> Self {
        let whose = match full.of_network {
            true => "of one network",
            false => "that this server has",
        };
        Failure {
            code: "Neo.TransientError.Request.NoThreadsAvailable",
            message: format!(
                "the server is full: all {} connections {whose} are open; close some, or raise --connections",
                full.places
            ),
        }
    }

    /// A message that is longer than messages may be.
    pub(crate) fn too_long(most: usize) -> Self {
        Failure::request(format!(
            "a message of more than {most} bytes: send fewer or smaller parameters at a time"
        ))
    }

    /// A message for which there is no memory.
    pub(crate) fn no_memory(why: &str) -> Self {
        Failure {
            code: "Neo.ClientError.General.MemoryPoolOutOfMemoryError",
            message: format!("there is no memory for this message: {why} [Memory.Limit]"),
        }
    }

    /// Whether a new attempt may go well once others have got further.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code == CONFLICT
    }

    /// Another server, or this one when it is back, may do it.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Failure {
            code: "Neo.TransientError.General.DatabaseUnavailable",
            message: message.into(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure {
            code: match (error.is_retryable(), error.code()) {
                (true, "Transaction.OwnerLost") => CONFLICT,
                (false, code) if code.starts_with("Memory.") => {
                    "Neo.ClientError.General.MemoryPoolOutOfMemoryError"
                }
                // The text alone told that a value has the wrong type.
                (_, code) if error.is_of_text() && code.starts_with("TypeError.") => SYNTAX_ERROR,
                (_, code) => self::code(code),
            },
            // Programs that know Graven find its own name of the error here.
            message: format!("{} [{}]", error.render(), error.code()),
        }
    }
}

/// A statement that cannot be run as it is written.
const SYNTAX_ERROR: &str = "Neo.ClientError.Statement.SyntaxError";

/// What drivers run a transaction again for.
const CONFLICT: &str = "Neo.TransientError.Transaction.Outdated";

/// A statement that was stopped.
pub(crate) const STOPPED: &str = "Neo.ClientError.Transaction.Terminated";

/// Neo4j's name for one of Graven's. Those that begin with `Neo.TransientError` are tried again by drivers.
fn code(own: &str) -> &'static str {
    let (area, detail) = own.split_once('.').unwrap_or((own, ""));
    match (area, detail) {
        ("Transaction", "Conflict") => CONFLICT,
        ("Transaction", _) => "Neo.ClientError.Transaction.TransactionNotFound",
        ("Memory", _) => "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
        ("SyntaxError", _) => SYNTAX_ERROR,
        ("SemanticError", _) => "Neo.ClientError.Statement.SemanticError",
        ("TypeError", _) => "Neo.ClientError.Statement.TypeError",
        ("ArgumentError", "InvalidTemporalText" | "InvalidPoint") => SYNTAX_ERROR,
        ("ArgumentError", "InvalidRegularExpression") => "Neo.ClientError.Statement.SemanticError",
        ("ArgumentError", _) => "Neo.ClientError.Statement.ArgumentError",
        ("ArithmeticError", _) => "Neo.ClientError.Statement.ArithmeticError",
        ("ParameterMissing", _) => "Neo.ClientError.Statement.ParameterMissing",
        ("EntityNotFound", _) => "Neo.ClientError.Statement.EntityNotFound",
        ("ConstraintValidationFailed" | "ConstraintVerificationFailed", _) => {
            "Neo.ClientError.Schema.ConstraintValidationFailed"
        }
        ("ProcedureError", "ProcedureNotFound") => "Neo.ClientError.Procedure.ProcedureNotFound",
        ("ProcedureError", _) => "Neo.ClientError.Procedure.ProcedureCallFailed",
        ("Schema", "Exists") => "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
        ("Schema", "NotFound") => "Neo.ClientError.Schema.IndexNotFound",
        ("Schema", _) => "Neo.ClientError.Statement.ArgumentError",
        ("NotAvailable", "DatabaseNotFound") => "Neo.ClientError.Database.DatabaseNotFound",
        ("NotAvailable", _) => SYNTAX_ERROR,
        ("Statement", "TimedOut") => "Neo.ClientError.Transaction.TransactionTimedOut",
        ("Statement", _) => STOPPED,
        ("Security", "ReadMode") => "Neo.ClientError.Statement.AccessMode",
        ("Security", "CredentialsExpired") => "Neo.ClientError.Security.CredentialsExpired",
        ("Security", _) => "Neo.ClientError.Security.Forbidden",
        ("Database", "ReadOnly") => "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
        ("Request" | "Config", _) => "Neo.ClientError.Request.Invalid",
        _ => "Neo.DatabaseError.General.UnknownError",
    }
}
