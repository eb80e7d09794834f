//! What can go wrong while a statement runs.

use std::time::Duration;

use graven_cypher::Span;
use thiserror::Error;

/// Result of an execution step.
pub type Result<T, E = ExecError> = std::result::Result<T, E>;

/// A run-time error of a statement.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The store could not be read.
    #[error(transparent)]
    Storage(#[from] graven_storage::Error),
    /// A constraint that is to be made is not met by what is there.
    #[error("the constraint cannot be made: {0}")]
    ConstraintNotMet(Box<graven_storage::Error>),
    /// A value of the wrong type.
    #[error("{message}")]
    Type {
        /// What was wrong, with the types.
        message: String,
    },
    /// A function was given a value that it does not take.
    #[error("{message}")]
    Value {
        /// What was wrong, with the function and the value.
        message: String,
    },
    /// An error for which openCypher has a name of its own.
    #[error("{message}")]
    Named {
        /// Type of the error, for example `TypeError`.
        kind: &'static str,
        /// Its detail, for example `MapElementAccessByNonString`.
        detail: &'static str,
        /// What was wrong, with the values.
        message: String,
    },
    /// A parameter of a kind that its place in the text does not take: nothing has run.
    #[error("{message}")]
    ParameterKind {
        /// The parameter, and what its place takes.
        message: String,
    },
    /// A value of the right type that is not allowed here.
    #[error("{message}")]
    Argument {
        /// What was wrong, with the value.
        message: String,
    },
    /// A value that no property can hold.
    #[error("{message}")]
    PropertyType {
        /// What was to be stored, and where.
        message: String,
    },
    /// A deleted node or relationship was read or changed.
    #[error("{entity} was deleted by this statement: it cannot be read or changed any more")]
    DeletedEntity {
        /// Which.
        entity: String,
    },
    /// `MERGE` on a property that is null or NaN.
    #[error(
        "MERGE cannot look for the property {key} that is null or NaN: these equal nothing; filter \
            the row out before"
    )]
    MergeNull {
        /// The property.
        key: String,
    },
    /// A writing statement was started without a transaction.
    #[error(
        "this part of the statement writes and has no transaction: beside `CALL {{ ... }} IN \
            TRANSACTIONS` nothing else may write or take a `nextval`; do that within the subquery"
    )]
    NoTransaction,
    /// A computed relationship type was new, and the statement follows relationships of any type:
    /// what follows them was made before. The type is there now.
    #[error(
        "a relationship type was created while this statement matched untyped relationships; retry \
            the statement"
    )]
    SchemaChanged,
    /// Overflow or division by zero.
    #[error("{message}")]
    Arithmetic {
        /// What was computed.
        message: String,
    },
    /// The statement uses a parameter that was not given.
    #[error("parameter ${name} is missing: give it a value with the statement")]
    MissingParameter {
        /// Its name.
        name: String,
    },
    /// An operator needs more memory than the budget has left.
    #[error(
        "{operator} needs {bytes} bytes more but the memory budget is spent ({detail}): raise \
            --memory, or {remedy}"
    )]
    Memory {
        /// The statement holds most of the budget itself: it will fail again.
        alone: bool,
        /// Which operator.
        operator: &'static str,
        /// Bytes it asked for.
        bytes: usize,
        /// The holders of the budget.
        detail: String,
        /// What would need less.
        remedy: &'static str,
    },
    /// Rows could not be written to, or read back from, the temporary file.
    #[error("{operator} could not spill: {source}; free disk space or raise --memory")]
    Spill {
        /// Which operator.
        operator: &'static str,
        /// What the page cache said.
        source: Box<graven_pagecache::Error>,
    },
    /// The statement was cancelled.
    #[error("the statement was cancelled")]
    Cancelled,
    /// The statement ran for longer than it may.
    #[error(
        "the statement was ended after its timeout of {}; allow it more time, or let it read \
            less", in_words(*timeout)
    )]
    TimedOut {
        /// How long it may run.
        timeout: Duration,
    },
    /// No such procedure.
    #[error("no procedure is named {name}; CALL graven.procedures() lists them")]
    UnknownProcedure {
        /// The name called.
        name: String,
    },
    /// The user of the statement may not run it.
    #[error("{message}")]
    Forbidden {
        /// What was refused, and which users may do it.
        message: String,
    },
    /// A session or transaction that only reads was to change something.
    #[error("{message}")]
    ReadMode {
        /// What would have changed.
        message: String,
    },
    /// A procedure failed.
    #[error("{name}: {message}")]
    Procedure {
        /// The name called.
        name: String,
        /// Why it failed.
        message: String,
    },
    /// A statement failed that a procedure of this one ran.
    #[error("{message}")]
    Statement {
        /// Its code.
        code: String,
        /// Which procedure, and why it failed.
        message: String,
    },
    /// A function of the program failed.
    #[error("{name}() failed: {message}")]
    Function {
        /// The name called.
        name: String,
        /// Why it failed.
        message: String,
    },
    /// One of the errors above that a value has caused, and the place in the text of what was
    /// computed or done.
    #[error("{error}")]
    At {
        /// Bytes of the statement's text.
        place: Span,
        /// What happened there.
        error: Box<ExecError>,
    },
    /// The plan cannot be run: a defect of the planner, reported instead of a wrong answer.
    #[error("the plan is not executable: {message}")]
    Plan {
        /// What is wrong with it.
        message: String,
    },
}

impl ExecError {
    /// The error, saying that it happened at `place`, where values are its cause and it does not
    /// say a place already.
    pub(crate) fn at(self, place: Span) -> Self {
        match self {
            Self::Type { .. }
            | Self::Value { .. }
            | Self::Named { .. }
            | Self::ParameterKind { .. }
            | Self::Argument { .. }
            | Self::PropertyType { .. }
            | Self::DeletedEntity { .. }
            | Self::MergeNull { .. }
            | Self::Arithmetic { .. }
            | Self::MissingParameter { .. }
            | Self::UnknownProcedure { .. }
            | Self::Procedure { .. }
            | Self::Function { .. }
            | Self::Forbidden { .. }
            | Self::ReadMode { .. }
                if !place.is_empty() =>
            {
                Self::At {
                    place,
                    error: Box::new(self),
                }
            }
            other => other,
        }
    }

    /// Whether a value that an expression met is the cause: another row may have another outcome.
    pub(crate) fn is_of_value(&self) -> bool {
        matches!(
            self.what(),
            Self::Type { .. }
                | Self::Value { .. }
                | Self::Named { .. }
                | Self::Argument { .. }
                | Self::Arithmetic { .. }
                | Self::Function { .. }
        )
    }

    /// Whether there was no room in the budget.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self.what(), Self::Memory { .. })
    }

    /// What happened, wherever.
    pub(crate) fn what(&self) -> &ExecError {
        match self {
            Self::At { error, .. } => error,
            other => other,
        }
    }

    /// Stable code of the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Storage(_) => "StorageError",
            Self::ConstraintNotMet(_) => "ConstraintCreationFailed",
            Self::Type { .. } | Self::Value { .. } => "TypeError",
            Self::Named { kind, .. } => kind,
            Self::ParameterKind { .. } => "SyntaxError",
            Self::Argument { .. } => "ArgumentError",
            Self::PropertyType { .. } => "PropertyTypeError",
            Self::DeletedEntity { .. } => "EntityNotFound",
            Self::MergeNull { .. } => "SemanticError",
            Self::NoTransaction => "NoTransaction",
            Self::SchemaChanged => "Conflict",
            Self::Arithmetic { .. } => "ArithmeticError",
            Self::MissingParameter { .. } => "ParameterMissing",
            Self::Forbidden { .. } => "Forbidden",
            Self::ReadMode { .. } => "ReadMode",
            Self::Memory { .. } => "OutOfMemory",
            Self::Spill { .. } => "SpillFailed",
            Self::Cancelled => "Cancelled",
            Self::TimedOut { .. } => "TimedOut",
            Self::UnknownProcedure { .. } => "ProcedureNotFound",
            Self::Procedure { .. } | Self::Statement { .. } => "ProcedureCallFailed",
            Self::Function { .. } => "FunctionCallFailed",
            Self::At { error, .. } => error.code(),
            Self::Plan { .. } => "PlanError",
        }
    }
}

/// A time as people say it.
fn in_words(time: Duration) -> String {
    match time.as_millis() {
        millis if millis % 1000 == 0 => format!("{} s", millis / 1000),
        millis => format!("{millis} ms"),
    }
}

impl From<graven_temporal::Error> for ExecError {
    fn from(error: graven_temporal::Error) -> Self {
        use graven_temporal::Error;
        let message = error.to_string();
        match error {
            Error::Text { .. } | Error::Content { .. } => Self::Named {
                kind: "ArgumentError",
                detail: "InvalidTemporalText",
                message,
            },
            Error::Lacks(_) => Self::Value { message },
            Error::Arithmetic(_) => Self::Arithmetic { message },
            _ => Self::Argument { message },
        }
    }
}
