//! What is computed only where it is needed: `coalesce`, and the operands of `AND`, `OR` and of
//! chained comparisons beside an operand that decides.
//!
//! # How it works
//! `coalesce` computes each argument for the rows that the arguments before have left open. Logical
//! operators compute their operands column by column; where that meets an error of a value, they
//! start again row by row: an operand that decides the row hides the error of another one, as
//! `x = 0 OR 1 / x > 2` does wherever its first operand stands. So an error costs time, and nothing
//! else does.

use std::sync::Arc;

use graven_cypher::plan::BinaryOp;

use super::binary::{Logic, binary};
use super::rows::{row_number, truth};
use super::{Compiled, Rows};
use crate::column::Column;
use crate::error::Result;
use crate::query_context::QueryContext;
use crate::value::{Value, equality};

/// `coalesce(a, b, ...)`
pub(super) fn coalesce(
    args: &[Compiled],
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let Some((first, others)) = args.split_first() else {
        return Ok(Arc::new(Column::Constant(Value::Null, rows.len())));
    };
    let first = first.held_column(rows, rt)?;
    let is_open = |row: &u32| first.is_null(*row as usize);
    let mut open: Vec<u32> = (0..row_number(rows.len())).filter(is_open).collect();
    if open.is_empty() {
        return Ok(first);
    }
    let mut result: Vec<Value> = (0..rows.len()).map(|row| first.value(row)).collect();
    for arg in others {
        if open.is_empty() {
            break;
        }
        let selection = rows.compose(&open);
        let part = arg.held_column(rows.select(&selection), rt)?;
        for (at, row) in open.iter().enumerate() {
            result[*row as usize] = part.value(at);
        }
        open.retain(|row| result[*row as usize].is_null());
    }
    Ok(Arc::new(Column::from_values(result)))
}

/// The outcome, or that of `by_row` where there are several rows and a value is the cause of an
/// error. Of one row alone it is final, so that expressions within one another are not computed
/// twice at every level.
pub(super) fn or_by_row<T>(
    outcome: Result<T>,
    rows: Rows<'_>,
    rt: &QueryContext,
    held: u64,
    by_row: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match outcome {
        Err(error) if rows.len() > 1 && error.is_of_value() => {
            rt.growth.keep(held)?;
            by_row()
        }
        other => other,
    }
}

/// Calls `one` with each row alone; what it charges is given back before the next.
fn each_row<T>(
    rows: Rows<'_>,
    rt: &QueryContext,
    mut one: impl FnMut(Rows<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut results = Vec::with_capacity(rows.len());
    let held = rt.growth.held();
    for row in 0..row_number(rows.len()) {
        rt.check_cancelled()?;
        let selection = rows.compose(&[row]);
        results.push(one(rows.select(&selection))?);
        rt.growth.keep(held)?;
    }
    Ok(results)
}

/// `AND`, `OR` row by row.
pub(super) fn logical(
    logic: Logic,
    operands: &[&Compiled],
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let truths = each_row(rows, rt, |row| {
        let truths = operands
            .iter()
            .map(|operand| truth(&*operand.held_column(row, rt)?, 0));
        decided(logic, truths)
    })?;
    Ok(Arc::new(Column::from_truths(truths)))
}

/// `a < b <= c` row by row: a conjunction of its comparisons.
pub(super) fn chain(
    first: &Compiled,
    rest: &[(BinaryOp, Compiled)],
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let truths = each_row(rows, rt, |row| {
        // An operand is computed once; none is left where that has failed, which has been said
        // then.
        let (mut left, failed) = match first.held_column(row, rt) {
            Ok(column) => (Some(column), None),
            Err(error) => (None, Some(Err(error))),
        };
        let steps = rest.iter().map(|(op, right)| {
            let before = left.take();
            let right = left.insert(right.held_column(row, rt)?);
            match before {
                Some(before) => truth(&*binary(*op, &before, right, rt)?, 0),
                None => Ok(None),
            }
        });
        decided(Logic::And, failed.into_iter().chain(steps))
    })?;
    Ok(Arc::new(Column::from_truths(truths)))
}

/// The truth of operands: the one that decides, whatever the others are; an error of a value where
/// none does.
fn decided(
    logic: Logic,
    operands: impl Iterator<Item = Result<Option<bool>>>,
) -> Result<Option<bool>> {
    let deciding = Some(logic == Logic::Or);
    let mut result = Some(logic == Logic::And);
    let mut failed = None;
    for operand in operands {
        match operand {
            Ok(truth) if truth == deciding => return Ok(truth),
            Ok(truth) => {
                result = match logic {
                    Logic::And => equality::and(result, truth),
                    Logic::Or => equality::or(result, truth),
                }
            }
            Err(error) if error.is_of_value() => failed = failed.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    failed.map_or(Ok(result), Err)
}
