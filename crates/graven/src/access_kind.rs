//! What a statement asks of a database that is not there yet.

use graven_cypher::plan::Operator;
use graven_cypher::{Code, ParameterNames, parse_and_plan};
use graven_exec::FileAccess;

use crate::error::Error;
use crate::literal::NoSchema;
use crate::procedures;

/// What a statement does with what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Touches {
    /// It writes.
    Writes,
    /// It reads only.
    Reads,
    /// Neither, as `RETURN 1 + 1`.
    Nothing,
}

/// What a statement does with a database, told without one.
///
/// # Errors
/// `SyntaxError.*` and other errors of the text, with their place.
///
/// # Examples
/// ```
/// use graven::{Touches, touches};
/// assert_eq!(touches("MATCH (n) RETURN count(n)")?, Touches::Reads);
/// assert_eq!(touches("CREATE (:Person)")?, Touches::Writes);
/// assert_eq!(touches("RETURN 1 + 1")?, Touches::Nothing);
/// # Ok::<(), graven::Error>(())
/// ```
pub fn touches(text: &str) -> Result<Touches, Error> {
    let schema = NoSchema {
        files: Some(FileAccess::default()),
        ..NoSchema::default()
    };
    let plan = match parse_and_plan(text, &schema, &ParameterNames::Any) {
        Ok(plan) => plan,
        // A program registers procedures with a database, and only a database has names.
        // A macro is found in a database, too.
        Err(error)
            if matches!(
                error.code,
                Code::ProcedureNotFound | Code::DatabaseNotFound | Code::UnknownFunction
            ) =>
        {
            return Ok(Touches::Reads);
        }
        Err(error) => return Err(error.into()),
    };
    let reads = |op: &Operator| {
        matches!(
            op,
            Operator::AllNodesScan { .. }
                | Operator::LabelScan { .. }
                | Operator::ComputedLabelScan { .. }
                | Operator::NodeByIdSeek { .. }
                | Operator::RelationshipByIdSeek { .. }
                | Operator::Procedure { .. }
        )
    };
    let fills = |op: &Operator| match op {
        Operator::Procedure { name, .. } => **name == *procedures::IMPORT,
        _ => false,
    };
    Ok(if plan.writes() || plan.root.any(&fills) {
        Touches::Writes
    } else if plan.root.any(&reads) {
        Touches::Reads
    } else {
        Touches::Nothing
    })
}
