//! Errors under the names that drivers know: what they retry, and which exception they raise,
//! follows from these.

use std::sync::Arc;

use graven::Error;

use crate::admission::Full;

/// Something that was refused or failed, as the client hears it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    /// Graven's own code, where the database has one.
    pub(crate) own: String,
    pub(crate) message: String,
    /// Line and column in the text of the statement that it is about, and that text, where it is
    /// known.
    pub(crate) place: Option<(Arc<str>, (u32, u32))>,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Failure {
            code,
            own: String::new(),
            message: message.into(),
            place: None,
        }
    }

    /// The same, about this statement.
    pub(crate) fn of(mut self, statement: &Arc<str>) -> Self {
        if let Some((text, _)) = &mut self.place {
            *text = Arc::clone(statement);
        }
        self
    }

    /// A message that makes no sense where it came.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Failure::new("Neo.ClientError.Request.Invalid", message)
    }

    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Failure::new("Neo.ClientError.Security.Unauthorized", message)
    }

    pub(crate) fn too_many_attempts() -> Self {
        let message = "too many failed logins from this address; retry in a few seconds".to_owned();
        Failure::new("Neo.ClientError.Security.AuthenticationRateLimit", message)
    }

    /// All places are taken.
    pub(crate) fn full(full: Full) -> Self {
        let owner = match full.of_network {
            true => "of one network",
            false => "that this server has",
        };
        Failure::new(
            "Neo.TransientError.Request.NoThreadsAvailable",
            format!(
                "the server is full: all {} connections {owner} are open; close some, or raise \
                    --connections",
                full.places
            ),
        )
    }

    /// A message that is longer than messages may be.
    pub(crate) fn too_long(most: usize) -> Self {
        Failure::request(format!(
            "a message of more than {most} bytes, the server's limit: send fewer or smaller \
                parameters at a time, or raise \
             --message-limit"
        ))
    }

    /// A message for which there is no memory.
    pub(crate) fn no_memory(why: &str) -> Self {
        Failure::new(
            "Neo.ClientError.General.MemoryPoolOutOfMemoryError",
            format!("there is no memory for this message: {why} [Memory.Limit]"),
        )
    }

    /// Whether a new attempt may go well once others have got further.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code == CONFLICT
    }

    /// Whether a statement or a transaction was ended from outside.
    pub(crate) fn is_of_end(&self) -> bool {
        self.code == STOPPED || self.code == UNAVAILABLE || self.code == NO_TRANSACTION
    }

    /// Whether something was to be changed where only reading is allowed.
    pub(crate) fn is_of_mode(&self) -> bool {
        self.code == READ_MODE
    }

    /// Another server, or this one when it is back, may do it.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Failure::new(UNAVAILABLE, message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match (error.is_retryable(), error.code()) {
            (true, "Transaction.OwnerLost" | "Statement.OwnerLost") => CONFLICT,
            (false, code) if code.starts_with("Memory.") => {
                "Neo.ClientError.General.MemoryPoolOutOfMemoryError"
            }
            // The text alone told that a value has the wrong type.
            (_, code) if error.is_of_text() && code.starts_with("TypeError.") => SYNTAX_ERROR,
            // A number of rows that was computed, or given as a parameter.
            (_, "SyntaxError.NegativeIntegerArgument" | "SyntaxError.InvalidArgumentType")
                if !error.is_of_text() =>
            {
                ARGUMENT_ERROR
            }
            (_, code) => self::code(code),
        };
        Failure {
            code,
            own: error.code().to_owned(),
            // Programs that know Graven find its own name of the error here.
            message: format!("{} [{}]", error.render(), error.code()),
            place: error.position().map(|at| (Arc::from(""), at)),
        }
    }
}

/// A value that cannot be taken where it stands.
const ARGUMENT_ERROR: &str = "Neo.ClientError.Statement.ArgumentError";

/// A statement that cannot be run as it is written.
const SYNTAX_ERROR: &str = "Neo.ClientError.Statement.SyntaxError";

/// What drivers run a transaction again for.
const CONFLICT: &str = "Neo.TransientError.Transaction.Outdated";

/// A statement that was stopped.
pub(crate) const STOPPED: &str = "Neo.ClientError.Transaction.Terminated";

/// A transaction that lasted longer than the server, or its client, allows.
pub(crate) const TIMED_OUT: &str = "Neo.ClientError.Transaction.TransactionTimedOut";
pub(crate) const TIMED_OUT_AS_WANTED: &str =
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration";

/// A change where only reading is allowed.
const READ_MODE: &str = "Neo.ClientError.Statement.AccessMode";

/// A transaction that has ended.
const NO_TRANSACTION: &str = "Neo.ClientError.Transaction.TransactionNotFound";

/// What cannot be reached now, and may be later.
const UNAVAILABLE: &str = "Neo.TransientError.General.DatabaseUnavailable";

/// Neo4j's name for one of Graven's. Those that begin with `Neo.TransientError` are tried again by
/// drivers.
fn code(own: &str) -> &'static str {
    let (area, detail) = own.split_once('.').unwrap_or((own, ""));
    match (area, detail) {
        ("Transaction", "Conflict") => CONFLICT,
        ("Transaction", "Terminated") => STOPPED,
        ("Transaction", "ImplicitOnly") => "Neo.DatabaseError.Transaction.TransactionStartFailed",
        ("Transaction", "OutcomeUnknown") => {
            "Neo.DatabaseError.Transaction.TransactionCommitFailed"
        }
        ("Transaction", _) => NO_TRANSACTION,
        ("Memory", _) => "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
        ("SyntaxError", _) => SYNTAX_ERROR,
        ("SemanticError", _) => "Neo.ClientError.Statement.SemanticError",
        ("TypeError", "InvalidCallSignature") => "Neo.ClientError.Procedure.ProcedureCallFailed",
        ("TypeError", _) => "Neo.ClientError.Statement.TypeError",
        ("ArgumentError", "InvalidTemporalText") => SYNTAX_ERROR,
        ("ArgumentError", "InvalidRegularExpression") => "Neo.ClientError.Statement.SemanticError",
        ("ArgumentError", "InvalidTransactionId") => "Neo.ClientError.General.InvalidArguments",
        ("ArgumentError", "FileNotReadable") => "Neo.ClientError.Statement.ExternalResourceFailed",
        ("ArgumentError", _) => "Neo.ClientError.Statement.ArgumentError",
        ("ArithmeticError", _) => "Neo.ClientError.Statement.ArithmeticError",
        ("ParameterMissing", _) => "Neo.ClientError.Statement.ParameterMissing",
        ("EntityNotFound", _) => "Neo.ClientError.Statement.EntityNotFound",
        ("ConstraintValidationFailed" | "ConstraintVerificationFailed", _) => {
            "Neo.ClientError.Schema.ConstraintValidationFailed"
        }
        ("ProcedureError", "ProcedureNotFound") => "Neo.ClientError.Procedure.ProcedureNotFound",
        ("ProcedureError" | "Function", _) => "Neo.ClientError.Procedure.ProcedureCallFailed",
        ("ConstraintCreationFailed", _) => "Neo.DatabaseError.Schema.ConstraintCreationFailed",
        ("Schema", "Exists" | "SameConstraintExists") => {
            "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"
        }
        ("Schema", "IndexExists" | "IndexBlocksConstraint") => {
            "Neo.ClientError.Schema.IndexAlreadyExists"
        }
        ("Schema", "ConstraintExists" | "ConstraintConflicts" | "ConstraintBlocksIndex") => {
            "Neo.ClientError.Schema.ConstraintAlreadyExists"
        }
        ("Schema", "IndexRepeatsProperty" | "ConstraintRepeatsProperty") => {
            "Neo.ClientError.Schema.RepeatedPropertyInCompositeSchema"
        }
        ("Schema", "InvalidIndexOption") => "Neo.ClientError.General.InvalidArguments",
        ("Schema", "NoSuchIndex") => "Neo.ClientError.Schema.IndexNotFound",
        ("Schema", "InvalidName") => "Neo.ClientError.Schema.TokenNameError",
        ("Schema", "IndexNameTaken") => "Neo.ClientError.Schema.IndexWithNameAlreadyExists",
        ("Schema", "ConstraintNameTaken") => {
            "Neo.ClientError.Schema.ConstraintWithNameAlreadyExists"
        }
        ("Schema", "NotFound" | "IndexOfConstraint") => "Neo.DatabaseError.Schema.IndexDropFailed",
        ("Schema", "ConstraintNotFound") => "Neo.DatabaseError.Schema.ConstraintDropFailed",
        ("Schema", _) => "Neo.ClientError.Statement.ArgumentError",
        ("NotAvailable", "DatabaseNotFound") => "Neo.ClientError.Database.DatabaseNotFound",
        ("NotAvailable", "AdministrationCommand") => {
            "Neo.ClientError.Statement.UnsupportedAdministrationCommand"
        }
        ("NotAvailable", _) => SYNTAX_ERROR,
        ("Statement", "TimedOut") => TIMED_OUT,
        ("Statement", _) => STOPPED,
        ("Security", "ReadMode") => READ_MODE,
        ("Security", "CredentialsExpired") => "Neo.ClientError.Security.CredentialsExpired",
        ("Security", _) => "Neo.ClientError.Security.Forbidden",
        ("Database", "ReadOnly" | "WritesRefused") => {
            "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase"
        }
        ("Database", "Exists") => "Neo.ClientError.Database.ExistingDatabaseFound",
        ("Database", "AliasExists") => "Neo.ClientError.Database.ExistingAliasFound",
        ("Database", "Closed" | "DiskFull" | "InUse" | "Attached" | "NotFound") => UNAVAILABLE,
        ("Request" | "Config", _) => "Neo.ClientError.Request.Invalid",
        _ => "Neo.DatabaseError.General.UnknownError",
    }
}
