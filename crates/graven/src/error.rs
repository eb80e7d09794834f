//! The one error type of the library: a stable code for programs, a message for people.
//!
//! # How it works
//! A code has two parts, an area and a detail: `SyntaxError.UndefinedVariable`, `Memory.Limit`.
//! Errors of a statement use the names of the openCypher vocabulary and carry the place in the
//! text, those met while it runs too where an expression or a clause is their cause. Every crate
//! below has an error type of its own; the conversions here give each of them its code.

use std::borrow::Cow;
use std::fmt;

use graven_cypher::{Diagnostic, Excerpt};
use graven_exec::ExecError;
use graven_io::OwnerProcess;
use graven_pagecache::BudgetError;
use graven_storage::Durable;
use graven_types::told;

/// What went wrong. The message is for people and may change; programs look at [`Error::code`].
///
/// # Examples
/// ```
/// let error = graven::parse_bytes("much").unwrap_err();
/// assert_eq!(error.code(), "Config.Invalid");
/// assert!(!error.is_retryable());
/// ```
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    code: Cow<'static, str>,
    message: String,
    retry: Retry,
    place: Option<Place>,
    durable: Option<Durable>,
}

/// The code of errors that a new attempt may not meet again.
const CONFLICT: &str = "Transaction.Conflict";

/// The code where a session or transaction that only reads was to change something.
pub(crate) const READ_MODE: &str = "Security.ReadMode";

/// The code where another process has the database.
pub(crate) const LOCKED: &str = "Database.InUse";
/// Code of an error about a file that is not there.
pub(crate) const NOT_FOUND: &str = "Database.NotFound";

/// The code of a violated uniqueness constraint.
const DUPLICATE: &str = "ConstraintValidationFailed.Duplicate";

/// Where in the text of a statement.
#[derive(Clone, Debug)]
struct Place {
    line: u32,
    column: u32,
    rendered: String,
    /// The text alone told: nothing had run.
    of_text: bool,
}

/// Whether the same request may succeed later without a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Retry {
    /// It may: memory or another user's work was in the way.
    MayHelp,
    /// It will fail again.
    IsUseless,
}

/// An error as it travels between processes.
pub(crate) struct WireError {
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: String,
    pub(crate) retryable: bool,
    pub(crate) place: Option<(u32, u32, String, bool)>,
    pub(crate) durable: Option<Durable>,
}

impl Error {
    pub(crate) fn sent(&self) -> WireError {
        let inner = &*self.0;
        let place = inner.place.as_ref();
        WireError {
            code: inner.code.clone(),
            message: inner.message.clone(),
            retryable: self.is_retryable(),
            place: place.map(|p| (p.line, p.column, p.rendered.clone(), p.of_text)),
            durable: inner.durable,
        }
    }

    pub(crate) fn received(sent: WireError) -> Self {
        Error(Box::new(Inner {
            code: sent.code,
            message: sent.message,
            retry: match sent.retryable {
                true => Retry::MayHelp,
                false => Retry::IsUseless,
            },
            place: sent.place.map(|(line, column, rendered, of_text)| Place {
                line,
                column,
                rendered,
                of_text,
            }),
            durable: sent.durable,
        }))
    }

    /// What was opened in `home` does nothing in another process (AT-6).
    pub(crate) fn unless_at(home: OwnerProcess) -> Result<(), Error> {
        match home.is_here() {
            true => Ok(()),
            false => Err(Error::forked(home)),
        }
    }

    #[cold]
    pub(crate) fn forked(home: OwnerProcess) -> Self {
        Error::new(
            "Database.Forked",
            format!(
                "process {} opened this database and this process was forked from it: open it \
                    again here",
                home.process()
            ),
        )
    }

    pub(crate) fn read_only() -> Self {
        Error::new(
            "Database.ReadOnly",
            "the database was opened read-only: open it without --read-only to write",
        )
    }

    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Error::with_retry(code, message, Retry::IsUseless)
    }

    pub(crate) fn with_retry(code: &'static str, message: impl Into<String>, retry: Retry) -> Self {
        Error(Box::new(Inner {
            code: Cow::Borrowed(code),
            message: told::cut(message.into()),
            retry,
            place: None,
            durable: None,
        }))
    }

    /// The error where rows of a result are to be kept and do not fit, for programs around the
    /// library: they will not fit next time either.
    #[must_use]
    pub fn of_kept_rows(refused: BudgetError) -> Self {
        let message = format!("the rows of the result are to be kept and do not fit: {refused}");
        Error::new("Memory.Limit", message)
    }

    /// The error of a request that makes no sense where it stands, for programs around the library.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new("Request.Invalid", message)
    }

    /// An error about the databases of a server, for programs that serve several; the code is one
    /// of those that the reference lists.
    #[must_use]
    pub fn of_database_manager(code: &'static str, message: impl Into<String>) -> Self {
        Error::new(code, message)
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Error::new("Config.Invalid", message)
    }

    /// Stable name of the error: area, point, detail.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// Whether the same request may succeed later without a change.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retry == Retry::MayHelp
    }

    /// Whether the commit that failed is in the log for good; `None` where no commit failed at the
    /// log: nothing of the transaction is durable then.
    #[must_use]
    pub fn durable(&self) -> Option<Durable> {
        self.0.durable
    }

    /// The same, saying whether the commit is durable.
    pub(crate) fn with_durable(mut self, durable: Durable) -> Self {
        self.0.durable = Some(durable);
        self
    }

    /// The same, where a new attempt could do twice what may be done.
    pub(crate) fn not_to_be_repeated(mut self, durable: Durable) -> Self {
        let what = match durable {
            Durable::Yes => "what the statement wrote is committed",
            _ => "the outcome is unknown: the statement may have committed; check before retrying",
        };
        self.0.message = format!("{}; {what}", self.0.message);
        self.0.retry = Retry::IsUseless;
        self.with_durable(durable)
    }

    /// What went wrong while the statement of this text ran, with its place there if it has one.
    pub(crate) fn running(error: ExecError, text: &str) -> Self {
        let ExecError::At { place, error } = error else {
            return error.into();
        };
        let of_text = matches!(*error, ExecError::ParameterKind { .. });
        let mut placed = Error::from(*error);
        let excerpt = Excerpt::of(text, place);
        let name = placed.code().split_once('.').unwrap_or((placed.code(), ""));
        placed.0.place = Some(Place {
            line: excerpt.line,
            column: excerpt.column,
            rendered: excerpt.render(name, placed.message(), None),
            of_text,
        });
        placed
    }

    /// Whether another transaction was in the way.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code() == CONFLICT
    }

    /// Whether a uniqueness constraint was violated.
    pub(crate) fn is_duplicate(&self) -> bool {
        self.code() == DUPLICATE
    }

    /// One sentence without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// 1-based line and column in the statement's text, for errors that have a place there.
    #[must_use]
    pub fn position(&self) -> Option<(u32, u32)> {
        self.0.place.as_ref().map(|p| (p.line, p.column))
    }

    /// Whether the text of a statement and the names and kinds of its parameters were enough to
    /// find the error: nothing of it has run.
    #[must_use]
    pub fn is_of_text(&self) -> bool {
        self.0.place.as_ref().is_some_and(|p| p.of_text)
    }

    /// The error for a terminal: with the line it is about, a caret and a hint where it has a
    /// place, the message alone otherwise. Without a line end.
    #[must_use]
    pub fn render(&self) -> &str {
        self.0
            .place
            .as_ref()
            .map_or(self.message(), |p| p.rendered.trim_end())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match self.position() {
            Some((line, column)) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        let code = format!(
            "{}.{}",
            diagnostic.code.category(),
            diagnostic.code.detail()
        );
        let mut message = diagnostic.message.clone();
        if let Some(hint) = &diagnostic.hint {
            message.push_str("; ");
            message.push_str(hint);
        }
        Error(Box::new(Inner {
            code: Cow::Owned(code),
            message,
            retry: Retry::IsUseless,
            place: Some(Place {
                line: diagnostic.line,
                column: diagnostic.column,
                rendered: diagnostic.render(),
                of_text: true,
            }),
            durable: None,
        }))
    }
}

impl From<graven_io::Error> for Error {
    fn from(error: graven_io::Error) -> Self {
        match error.is_storage_full() {
            true => disk_full(&error),
            false => Error::new("Io.Failed", error.to_string()),
        }
    }
}

impl From<graven_pagecache::BudgetError> for Error {
    fn from(error: graven_pagecache::BudgetError) -> Self {
        // What asked for more and holds the better part of the limit would do so again.
        let mut holders = error.holders.iter();
        let alone = holders.any(|h| h.tag == error.tag && h.bytes > error.limit / 2);
        let retry = match alone {
            true => Retry::IsUseless,
            false => Retry::MayHelp,
        };
        Error::with_retry("Memory.Limit", error.to_string(), retry)
    }
}

impl From<graven_pagecache::Error> for Error {
    fn from(error: graven_pagecache::Error) -> Self {
        use graven_pagecache::Error as Cache;
        let code = match &error {
            Cache::Damaged { .. } | Cache::BeyondEnd { .. } => return damaged(&error),
            Cache::Io { .. } if error.is_storage_full() => return disk_full(&error),
            Cache::Io { .. } | Cache::Queue { .. } => "Io.Failed",
            Cache::Policy { .. } | Cache::Pools(_) | Cache::TooSmall { .. } => "Config.Invalid",
            Cache::AllPinned { .. }
            | Cache::Budget(_)
            | Cache::CannotShrink { .. }
            | Cache::Map { .. } => "Memory.Limit",
            _ => "Internal.PageCache",
        };
        let retry = if error.is_retryable() {
            Retry::MayHelp
        } else {
            Retry::IsUseless
        };
        Error::with_retry(code, error.to_string(), retry)
    }
}

/// There is no room on the disk: nothing of what asked for it is done.
fn disk_full(error: &dyn std::error::Error) -> Error {
    let message = format!("the disk is full: {error}; free space and run it again");
    Error::with_retry("Database.DiskFull", message, Retry::MayHelp)
}

/// The file is damaged: what can be done is said, unless the message does so.
fn damaged(error: &dyn std::error::Error) -> Error {
    let mut message = error.to_string();
    if !message.contains("graven salvage") {
        message.push_str(
            "; `graven check` lists all damage; restore a backup, or copy what is readable with \
                `graven salvage`",
        );
    }
    Error::new("Database.Damaged", message)
}

/// A node or relationship that has unique values already, in Neo4j's words: object mappers look for
/// them.
fn duplicate(
    constraint: &str,
    entity: &str,
    keys: &str,
    values: &[String],
    holder: &str,
) -> String {
    let (kind, id) = holder.split_once(' ').unwrap_or((holder, "?"));
    let (kind, of) = match kind {
        "relationship" => ("Relationship", "type"),
        _ => ("Node", "label"),
    };
    let each = keys.split(", ").zip(values);
    let each: Vec<String> = each
        .map(|(key, value)| format!("`{key}` = {value}"))
        .collect();
    let property = if each.len() == 1 {
        "property"
    } else {
        "properties"
    };
    let each = each.join(", ");
    format!(
        "{kind}({id}) already exists with {of} `{entity}` and {property} {each} (constraint \
            {constraint})"
    )
}

impl From<graven_storage::Error> for Error {
    fn from(error: graven_storage::Error) -> Self {
        use graven_storage::{Error as Storage, SchemaClash};
        let durable = error.durable();
        let mut converted = match error {
            Storage::Io(error) => error.into(),
            Storage::Cache(error) => error.into(),
            Storage::Budget(error) => error.into(),
            Storage::Empty { .. }
            | Storage::Foreign { .. }
            | Storage::Format { .. }
            | Storage::UnknownFeature { .. } => {
                Error::new("Database.NotADatabase", error.to_string())
            }
            Storage::Truncated { .. }
            | Storage::Superblocks { .. }
            | Storage::Damaged { .. }
            | Storage::Inconsistent { .. } => damaged(&error),
            Storage::Conflict { .. } => {
                Error::with_retry(CONFLICT, error.to_string(), Retry::MayHelp)
            }
            Storage::Duplicate {
                constraint,
                entity,
                keys,
                values,
                holder,
            } => {
                let values = values.into_iter().map(graven_exec::Value::from);
                let values: Vec<String> = values.map(|value| value.to_string()).collect();
                Error::new(
                    DUPLICATE,
                    duplicate(&constraint, &entity, &keys, &values, &holder),
                )
            }
            Storage::MissingProperty { .. } => {
                let message = error.to_string();
                Error::new("ConstraintValidationFailed.MissingProperty", message)
            }
            Storage::WrongType { .. } => {
                let message = error.to_string();
                Error::new("ConstraintValidationFailed.PropertyType", message)
            }
            Storage::WrongEnds { .. } => {
                let message = error.to_string();
                Error::new("ConstraintValidationFailed.RelationshipEnds", message)
            }
            Storage::NodeHasRelationships { .. } => {
                let message = error.to_string();
                Error::new("ConstraintVerificationFailed.DeleteConnectedNode", message)
            }
            Storage::NoSuchNode { .. } | Storage::NoSuchRelationship { .. } => {
                Error::new("EntityNotFound.DeletedEntityAccess", error.to_string())
            }
            Storage::SchemaExists { what, clash, .. } => {
                let code = match (what, clash) {
                    ("user", _) => "Schema.UserExists",
                    ("constraint", SchemaClash::Name) => "Schema.ConstraintNameTaken",
                    ("index", SchemaClash::Name) => "Schema.IndexNameTaken",
                    ("constraint", SchemaClash::Rule | SchemaClash::Kind) => {
                        "Schema.ConstraintExists"
                    }
                    ("index", SchemaClash::Rule) => "Schema.IndexExists",
                    ("constraint", SchemaClash::Both) => "Schema.SameConstraintExists",
                    ("constraint", SchemaClash::Demand) => "Schema.ConstraintConflicts",
                    ("constraint", SchemaClash::Sort) => "Schema.ConstraintBlocksIndex",
                    ("index", SchemaClash::Sort) => "Schema.IndexBlocksConstraint",
                    _ => "Schema.Exists",
                };
                Error::new(code, error.to_string())
            }
            Storage::NoSuchSchema { what, .. } => {
                let code = match what {
                    "constraint" => "Schema.ConstraintNotFound",
                    "user" => "Schema.UserNotFound",
                    _ => "Schema.NotFound",
                };
                Error::new(code, error.to_string())
            }
            Storage::Nesting { .. } => {
                Error::new("TypeError.InvalidPropertyType", error.to_string())
            }
            Storage::RepeatedProperty { what: "an index" } => {
                Error::new("Schema.IndexRepeatsProperty", error.to_string())
            }
            Storage::RepeatedProperty { .. } => {
                Error::new("Schema.ConstraintRepeatsProperty", error.to_string())
            }
            Storage::IndexOfConstraint { .. } => {
                Error::new("Schema.IndexOfConstraint", error.to_string())
            }
            Storage::InvalidName { .. } => Error::new("Schema.InvalidName", error.to_string()),
            Storage::InvalidSchema { .. } => Error::new("Schema.Invalid", error.to_string()),
            Storage::ReadOnly { .. } => Error::new("Database.ReadOnly", error.to_string()),
            Storage::Locked { .. } => Error::with_retry(LOCKED, error.to_string(), Retry::MayHelp),
            Storage::LogMissing { .. } => Error::new("Database.LogMissing", error.to_string()),
            Storage::LogOccupied { .. } => Error::new("Database.LogOccupied", error.to_string()),
            Storage::Log { .. } | Storage::LabelsLost { .. } | Storage::CatalogueLost { .. } => {
                damaged(&error)
            }
            Storage::TransactionEnded { .. } => Error::new("Transaction.Ended", error.to_string()),
            Storage::TransactionTooLarge { .. }
            | Storage::TooManyNames { .. }
            | Storage::SchemaTooLarge { .. } => Error::new("Memory.Limit", error.to_string()),
            Storage::LogFailed { .. } | Storage::CheckpointsStopped { .. } => {
                Error::new("Database.WritesRefused", error.to_string())
            }
            Storage::DiskFull { .. } => {
                Error::with_retry("Database.DiskFull", error.to_string(), Retry::MayHelp)
            }
            other => Error::new("Internal.Storage", other.to_string()),
        };
        converted.0.durable = durable;
        converted
    }
}

impl From<ExecError> for Error {
    fn from(error: ExecError) -> Self {
        use ExecError as Exec;
        let code = match error {
            Exec::Storage(error) => return error.into(),
            Exec::ConstraintNotMet(violation) => {
                let mut told = Error::from(*violation);
                let detail = told.code().split_once('.').map_or("", |(_, detail)| detail);
                told.0.code = Cow::Owned(format!("ConstraintCreationFailed.{detail}"));
                told.0.message = format!("the constraint cannot be made: {}", told.0.message);
                return told;
            }
            Exec::At { error, .. } => return Error::from(*error),
            Exec::Type { .. } => "TypeError.InvalidArgumentType",
            Exec::Value { .. } => "TypeError.InvalidArgumentValue",
            Exec::Named {
                kind,
                detail,
                message,
            } => {
                let mut named = Error::new(kind, message);
                named.0.code = Cow::Owned(format!("{kind}.{detail}"));
                return named;
            }
            Exec::Statement { code, message } => {
                let mut named = Error::new("Procedure.Failed", message);
                named.0.code = Cow::Owned(code.clone());
                return named;
            }
            Exec::ParameterKind { .. } => "SyntaxError.InvalidArgumentType",
            Exec::Argument { .. } => "ArgumentError.InvalidArgumentValue",
            Exec::PropertyType { .. } => "TypeError.InvalidPropertyType",
            Exec::DeletedEntity { .. } => "EntityNotFound.DeletedEntityAccess",
            Exec::MergeNull { .. } => "SemanticError.MergeReadOwnWrites",
            Exec::Arithmetic { .. } => "ArithmeticError.InvalidValue",
            Exec::MissingParameter { .. } => "ParameterMissing.MissingParameter",
            Exec::Memory { alone, .. } => {
                let retry = match alone {
                    true => Retry::IsUseless,
                    false => Retry::MayHelp,
                };
                return Error::with_retry("Memory.Limit", error.to_string(), retry);
            }
            Exec::Spill { ref source, .. } => {
                let mut told = Error::from((**source).clone());
                told.0.message = error.to_string();
                return told;
            }
            Exec::SchemaChanged => {
                return Error::with_retry(CONFLICT, error.to_string(), Retry::MayHelp);
            }
            Exec::Cancelled => "Statement.Cancelled",
            Exec::TimedOut { .. } => {
                return Error::with_retry("Statement.TimedOut", error.to_string(), Retry::MayHelp);
            }
            Exec::UnknownProcedure { .. } => "ProcedureError.ProcedureNotFound",
            Exec::Procedure { .. } => "ProcedureError.ProcedureFailed",
            Exec::Function { .. } => "Function.Failed",
            Exec::Forbidden { .. } => "Security.Forbidden",
            Exec::ReadMode { .. } => READ_MODE,
            Exec::NoTransaction => "SyntaxError.InvalidClauseComposition",
            _ => "Internal.Execution",
        };
        Error::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    //! Goal: a full disk has one code, whichever part met it; other failures to spill keep theirs.

    use super::*;
    use std::sync::Arc;

    fn failed_write(code: i32) -> graven_pagecache::Error {
        graven_pagecache::Error::Io {
            file: "a.graven-tmp".into(),
            page: graven_pagecache::PageRef::new(graven_pagecache::SizeClass::MIN, 7),
            operation: "write",
            source: Arc::new(graven_io::Error::Os {
                operation: graven_io::Operation::Write,
                path: "a.graven-tmp".into(),
                offset: 28_672,
                length: 4096,
                source: std::io::Error::from_raw_os_error(code),
            }),
        }
    }

    #[test]
    fn a_full_disk_is_told_by_its_code() {
        let spill = |code| ExecError::Spill {
            operator: "Sort",
            source: Box::new(failed_write(code)),
        };
        for code in [libc::ENOSPC, libc::EDQUOT, libc::EFBIG] {
            let sorting = Error::from(spill(code));
            let sealing = Error::from(graven_storage::Error::Cache(failed_write(code)));
            for error in [sorting, sealing] {
                assert_eq!(error.code(), "Database.DiskFull", "{error}");
                assert!(error.is_retryable());
                assert!(error.to_string().contains("free"), "{error}");
            }
        }
        assert_eq!(Error::from(spill(libc::EIO)).code(), "Io.Failed");
    }
}
