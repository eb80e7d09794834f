//! Failures as GQL has them, from version 5.7 on: a status for each of Neo4j's codes, and what it
//! says by itself.
//!
//! # Source
//! ISO/IEC 39075, clause 23 (GQLSTATUS); Neo4j 5.26: GQLSTATUS codes of errors.

use crate::failure::Failure;
use crate::message::{Map, entry};
use crate::notification::{position, record};

/// Status and description of an error that has none of its own.
const OTHER: (&str, &str) = (
    "50N42",
    "error: general processing exception - unexpected error. Unexpected error has occurred. See \
        debug log for details.",
);

/// Neo4j's code from its category on, the status, and its description.
const STATUSES: &[(&str, &str, &str)] = &[
    (
        "Statement.SyntaxError",
        "42001",
        "error: syntax error or access rule violation - invalid syntax",
    ),
    (
        "Statement.SemanticError",
        "42001",
        "error: syntax error or access rule violation - invalid syntax",
    ),
    (
        "Statement.ParameterMissing",
        "42N51",
        "error: syntax error or access rule violation - invalid parameter",
    ),
    (
        "Statement.AccessMode",
        "25G03",
        "error: invalid transaction state - read-only GQL-transaction",
    ),
    (
        "Statement.TypeError",
        "22G03",
        "error: data exception - invalid value type",
    ),
    ("Statement.ArgumentError", "22000", "error: data exception"),
    (
        "Statement.ArithmeticError",
        "22000",
        "error: data exception",
    ),
    ("Statement.EntityNotFound", "22000", "error: data exception"),
    (
        "Statement.ExternalResourceFailed",
        "22N43",
        "error: data exception - could not load external resource",
    ),
    (
        "Statement.UnsupportedAdministrationCommand",
        "51N27",
        "error: system configuration or operation exception - not supported in this edition",
    ),
    (
        "Schema.ConstraintValidationFailed",
        "22N79",
        "error: data exception - property uniqueness constraint violated",
    ),
    (
        "Schema.EquivalentSchemaRuleAlreadyExists",
        "22N70",
        "error: data exception - equivalent index already exists",
    ),
    (
        "Schema.IndexAlreadyExists",
        "22N70",
        "error: data exception - equivalent index already exists",
    ),
    (
        "Schema.ConstraintAlreadyExists",
        "22N65",
        "error: data exception - equivalent constraint already exists",
    ),
    (
        "Schema.ConstraintWithNameAlreadyExists",
        "22N67",
        "error: data exception - duplicated constraint name",
    ),
    (
        "Schema.IndexWithNameAlreadyExists",
        "22N71",
        "error: data exception - index with such name already exists",
    ),
    (
        "Schema.IndexDropFailed",
        "22N69",
        "error: data exception - no such index",
    ),
    (
        "Schema.ConstraintDropFailed",
        "22N64",
        "error: data exception - no such constraint",
    ),
    (
        "Procedure.ProcedureNotFound",
        "42N08",
        "error: syntax error or access rule violation - no such procedure",
    ),
    (
        "Procedure.ProcedureCallFailed",
        "52N37",
        "error: procedure exception - procedure execution error",
    ),
    (
        "Database.DatabaseNotFound",
        "22N51",
        "error: data exception - database not found",
    ),
    (
        "Security.Unauthorized",
        "42NFF",
        "error: syntax error or access rule violation - permission/access denied. Access denied, \
            see the security logs for details.",
    ),
    (
        "Security.Forbidden",
        "42NFF",
        "error: syntax error or access rule violation - permission/access denied. Access denied, \
            see the security logs for details.",
    ),
    (
        "Security.CredentialsExpired",
        "42NFD",
        "error: syntax error or access rule violation - credentials expired. Permission denied. \
            The credentials you provided were valid, but must be changed before you can use this \
            instance.",
    ),
    (
        "Transaction.Terminated",
        "25N05",
        "error: invalid transaction state - transaction terminated or closed. The transaction has \
            been terminated or closed.",
    ),
    (
        "Transaction.TransactionTimedOut",
        "25N05",
        "error: invalid transaction state - transaction terminated or closed. The transaction has \
            been terminated or closed.",
    ),
    (
        "Transaction.TransactionTimedOutClientConfiguration",
        "25N05",
        "error: invalid transaction state - transaction terminated or closed. The transaction has \
            been terminated or closed.",
    ),
    (
        "Transaction.TransactionNotFound",
        "25N05",
        "error: invalid transaction state - transaction terminated or closed. The transaction has \
            been terminated or closed.",
    ),
    (
        "Transaction.Outdated",
        "40000",
        "error: transaction rollback",
    ),
    (
        "Request.Invalid",
        "08N06",
        "error: connection exception - protocol error. General network protocol error.",
    ),
    (
        "General.MemoryPoolOutOfMemoryError",
        "51N56",
        "error: system configuration or operation exception - memory limit exceeded",
    ),
    (
        "General.TransactionOutOfMemoryError",
        "51N56",
        "error: system configuration or operation exception - memory limit exceeded",
    ),
];

/// A failure as it is told from version 5.7 on.
pub(crate) fn failure(failure: &Failure) -> Map {
    let (kind, rest) = failure
        .code
        .trim_start_matches("Neo.")
        .split_once('.')
        .unwrap_or_default();
    let known = STATUSES.iter().find(|(code, ..)| *code == rest);
    let (status, description) = known.map_or(OTHER, |(_, status, said)| (*status, *said));
    let mut about = record();
    let classification = match kind {
        "ClientError" => "CLIENT_ERROR",
        "TransientError" => "TRANSIENT_ERROR",
        _ => "DATABASE_ERROR",
    };
    about.extend([entry("_classification", classification)]);
    if let Some((text, at)) = &failure.place {
        about.extend([entry("_position", position(text, *at))]);
    }
    Map::from([
        entry("neo4j_code", failure.code),
        entry("message", failure.message.as_str()),
        entry("gql_status", status),
        entry("description", description),
        entry("diagnostic_record", about),
    ])
}
