//! Which expressions may read the graph.
//!
//! # How it works
//! A writing operator does row after row, and what a later row reads has the writes of the rows
//! before it. So an expression that may read the graph is computed when its row is due; any other
//! one is computed for a whole batch.

use crate::batch::Batch;
use crate::column::Column;
use crate::expression::Compiled;
use crate::value::Value;

/// Whether computing the expression for these rows may read the graph.
pub(super) fn reads_graph(expr: &Compiled, batch: &Batch) -> bool {
    match expr {
        Compiled::Constant(_) | Compiled::Parameter(..) | Compiled::Slot(_) => false,
        Compiled::Property { base, .. } => match &**base {
            Compiled::Constant(_) | Compiled::Parameter(..) => false,
            Compiled::Slot(slot) if *slot < batch.columns().len() => {
                let holds = |v: &Value| !matches!(v, Value::Map(_) | Value::Null);
                match &**batch.column(*slot) {
                    Column::Values(values) => values.iter().any(holds),
                    Column::Constant(value, _) => holds(value),
                    _ => true,
                }
            }
            _ => true,
        },
        Compiled::List(items) => items.iter().any(|e| reads_graph(e, batch)),
        Compiled::Map(entries) => entries.iter().any(|(_, e)| reads_graph(e, batch)),
        Compiled::Unary(_, e, _) => reads_graph(e, batch),
        Compiled::Binary(_, a, b, _) => reads_graph(a, batch) || reads_graph(b, batch),
        Compiled::Call(_, args, _) => args.iter().any(|e| holds_graph(e, batch)),
        _ => true,
    }
}

/// Whether a function given this argument may read the graph.
fn holds_graph(expr: &Compiled, batch: &Batch) -> bool {
    match expr {
        Compiled::Slot(slot) if *slot < batch.columns().len() => !matches!(
            &**batch.column(*slot),
            Column::Integers(_) | Column::Floats(_) | Column::Booleans(_)
        ),
        Compiled::Slot(_) => true,
        _ => reads_graph(expr, batch),
    }
}
