//! Failures as GQL has them, from version 5.7 on: a status for each of Neo4j's codes, and what it
//! says by itself.
//!
//! # How it works
//! Some codes of Neo4j stand for several statuses: there Graven's own code, which says more, comes
//! first ([`OF_OWN`]).
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

/// Graven's code, the status, and its description.
const OF_OWN: &[(&str, &str, &str)] = &[
    (
        "SyntaxError.InvalidArgumentType",
        "22G03",
        "error: data exception - invalid value type",
    ),
    (
        "ArgumentError.InvalidTemporalText",
        "22007",
        "error: data exception - invalid date, time, or datetime format",
    ),
    (
        "Schema.SameConstraintExists",
        "22N65",
        "error: data exception - equivalent constraint already exists",
    ),
    (
        "Schema.ConstraintConflicts",
        "22N66",
        "error: data exception - conflicting constraint already exists",
    ),
    (
        "Schema.IndexBlocksConstraint",
        "22N73",
        "error: data exception - constraint conflicts with existing index",
    ),
    (
        "Schema.ConstraintBlocksIndex",
        "22N74",
        "error: data exception - index conflicts with existing constraint",
    ),
    (
        "Schema.ConstraintRepeatsProperty",
        "22N75",
        "error: data exception - constraint contains duplicated tokens",
    ),
    (
        "Schema.IndexRepeatsProperty",
        "22N76",
        "error: data exception - index contains duplicated tokens",
    ),
    (
        "ConstraintValidationFailed.MissingProperty",
        "22N77",
        "error: data exception - property presence verification failed",
    ),
    (
        "ConstraintValidationFailed.PropertyType",
        "22N78",
        "error: data exception - property type verification failed",
    ),
    (
        "ConstraintValidationFailed.RelationshipEnds",
        "50N14",
        "error: general processing exception - database constraint violated",
    ),
    (
        "ConstraintVerificationFailed.DeleteConnectedNode",
        "G1001",
        "error: dependent object error - edges still exist",
    ),
    (
        "Schema.IndexOfConstraint",
        "50N10",
        "error: general processing exception - index drop failed",
    ),
    (
        "Schema.UserNotFound",
        "42N09",
        "error: syntax error or access rule violation - no such user",
    ),
    (
        "Schema.UserExists",
        "42N12",
        "error: syntax error or access rule violation - user already exists",
    ),
];

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
        "Schema.ConstraintCreationFailed",
        "50N11",
        "error: general processing exception - constraint creation failed",
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
        "Database.DatabaseNotFound",
        "22N51",
        "error: data exception - database not found",
    ),
    (
        "Database.ExistingDatabaseFound",
        "42N11",
        "error: syntax error or access rule violation - database or alias already exists",
    ),
    (
        "Database.ExistingAliasFound",
        "42N11",
        "error: syntax error or access rule violation - database or alias already exists",
    ),
    (
        "General.DatabaseUnavailable",
        "08N09",
        "error: connection exception - database unavailable",
    ),
    (
        "General.ForbiddenOnReadOnlyDatabase",
        "08N08",
        "error: connection exception - database is read only. This database is read only on this \
            server.",
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
        "Transaction.TransactionStartFailed",
        "25N06",
        "error: invalid transaction state - transaction start failed. Failed to start \
            transaction. See debug log for details.",
    ),
    (
        "Transaction.TransactionCommitFailed",
        "2DN01",
        "error: invalid transaction termination - commit failed. Failed to commit transaction. \
            See debug log for details.",
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
    let of_own = OF_OWN.iter().find(|(code, ..)| *code == failure.own);
    let known = of_own.or_else(|| STATUSES.iter().find(|(code, ..)| *code == rest));
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
