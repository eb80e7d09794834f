//! What other engines ask that compute on the same graph: the logical plan of a statement, and
//! which state of which database they read.
//!
//! # Invariants
//! * SK-3 Two answers of `graven.snapshot` for one file are equal only if the graph is the same:
//!   the database by its identity, the state by the place of its newest commit in the order of all
//!   commits. That place grows with each commit; opened anew, a state may have a larger one.

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};

use super::Rows;
use super::entry::{Body, Procedure, procedure};
use super::inner::Call;
use super::integer;
use crate::right::Right;

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "graven.logicalPlan",
        "the plan of a statement for another engine, as JSON",
        (&[("statement", TypeSet::STRING)], 1),
        Right::Read,
        &[("plan", TypeSet::STRING)],
        Body::OfCall(logical_plan),
    ),
    procedure(
        "graven.snapshot",
        "which state of which database this statement reads",
        (&[], 0),
        Right::Read,
        &[
            ("database", TypeSet::STRING),
            ("position", TypeSet::INTEGER),
        ],
        Body::OfCall(snapshot),
    ),
];

/// One row.
fn logical_plan(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let Some(Value::String(text)) = args.first() else {
        return Err(call.failed("the statement is a text"));
    };
    Ok(vec![vec![Value::text(&call.logical_plan(text)?)]])
}

/// One row.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn snapshot(call: &Call<'_>, _: &[Value]) -> Result<Rows, ExecError> {
    let uuid = call.on.database.store.uuid();
    let database: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let position = integer(call.caller.snapshot.timestamp());
    Ok(vec![vec![Value::text(&database), position]])
}
