//! Operators on one and two columns: logic, comparisons, membership, arithmetic, text.

use crate::column::Column;
use crate::column::NULL_ID;
use crate::error::Result;
use crate::expression::rows::as_list;
use crate::expression::rows::truth;
use crate::expression::rows::values;
use crate::growth;
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic;
use crate::value::equality;
use crate::value::order::Comparison;
use crate::value::order::compare;
use graven_cypher::plan::BinaryOp;
use graven_cypher::plan::UnaryOp;
use std::cmp::Ordering;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Or,
}

pub(super) fn binary(
    op: BinaryOp,
    a: &Column,
    b: &Column,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let result = match op {
        BinaryOp::In => tight_membership(a, b),
        _ => tight_comparison(op, a, b),
    };
    if let Some(result) = result {
        return Ok(Arc::new(result));
    }
    map2(a, b, rt, |x, y| scalar(op, x, y, rt))
}

/// Comparison of an integer or id column with another one or with a constant, as a plain loop.
fn tight_comparison(op: BinaryOp, a: &Column, b: &Column) -> Option<Column> {
    let truths = match (a, b) {
        (Column::Integers(a), Column::Integers(b)) => {
            compared(op, a.iter().copied().zip(b.iter().copied()))?
        }
        (Column::Integers(a), Column::Constant(Value::Integer(y), _)) => {
            compared(op, a.iter().map(|x| (*x, *y)))?
        }
        (Column::Constant(Value::Integer(x), _), Column::Integers(b)) => {
            compared(op, b.iter().map(|y| (*x, *y)))?
        }
        (Column::Nodes(a), Column::Nodes(b))
        | (Column::Relationships(a), Column::Relationships(b))
            if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual)
                && !a.contains(&NULL_ID)
                && !b.contains(&NULL_ID) =>
        {
            compared(op, a.iter().copied().zip(b.iter().copied()))?
        }
        _ => return None,
    };
    Some(Column::Booleans(truths))
}

/// Fewer rows go through a list one by one.
const ROWS_FROM: usize = 64;

/// Whether ids or integers are in a constant list of the same, by search; where there are many, as
/// the list is sorted for that.
fn tight_membership(a: &Column, list: &Column) -> Option<Column> {
    let Column::Constant(Value::List(items), _) = list else {
        return None;
    };
    if a.len() < ROWS_FROM {
        return None;
    }
    let items = items.iter();
    let truths = match a {
        Column::Nodes(ids) if !ids.contains(&NULL_ID) => {
            let known = items.map(|item| match item {
                Value::Node(id) => Some(id.0),
                _ => None,
            });
            are_among(ids, known.collect::<Option<_>>()?)
        }
        Column::Integers(numbers) => {
            let known = items.map(|item| match item {
                Value::Integer(number) => Some(*number),
                _ => None,
            });
            are_among(numbers, known.collect::<Option<_>>()?)
        }
        _ => return None,
    };
    Some(Column::Booleans(truths))
}

fn are_among<T: Ord>(values: &[T], mut known: Vec<T>) -> Vec<bool> {
    known.sort_unstable();
    let is_known = |value| known.binary_search(value).is_ok();
    values.iter().map(is_known).collect()
}

/// The truths of a comparison, each operator a loop of its own; `None` if `op` is none.
fn compared<T: Ord>(op: BinaryOp, pairs: impl Iterator<Item = (T, T)>) -> Option<Vec<bool>> {
    Some(match op {
        BinaryOp::Equal => pairs.map(|(x, y)| x == y).collect(),
        BinaryOp::NotEqual => pairs.map(|(x, y)| x != y).collect(),
        BinaryOp::Less => pairs.map(|(x, y)| x < y).collect(),
        BinaryOp::LessOrEqual => pairs.map(|(x, y)| x <= y).collect(),
        BinaryOp::Greater => pairs.map(|(x, y)| x > y).collect(),
        BinaryOp::GreaterOrEqual => pairs.map(|(x, y)| x >= y).collect(),
        _ => return None,
    })
}

/// One binary operation on two values.
fn scalar(op: BinaryOp, a: &Value, b: &Value, rt: &QueryContext) -> Result<Value> {
    Ok(match op {
        BinaryOp::Equal => equality::equals(a, b).into(),
        BinaryOp::NotEqual => equality::equals(a, b).map(|t| !t).into(),
        BinaryOp::Less => ordered(a, b, Ordering::is_lt),
        BinaryOp::LessOrEqual => ordered(a, b, Ordering::is_le),
        BinaryOp::Greater => ordered(a, b, Ordering::is_gt),
        BinaryOp::GreaterOrEqual => ordered(a, b, Ordering::is_ge),
        BinaryOp::Add => arithmetic::add(a, b)?,
        BinaryOp::Subtract => arithmetic::subtract(a, b)?,
        BinaryOp::Multiply => arithmetic::multiply(a, b)?,
        BinaryOp::Divide => arithmetic::divide(a, b)?,
        BinaryOp::Modulo => arithmetic::modulo(a, b)?,
        BinaryOp::Power => arithmetic::power(a, b)?,
        BinaryOp::And => equality::and(operand_truth(a)?, operand_truth(b)?).into(),
        BinaryOp::Or => equality::or(operand_truth(a)?, operand_truth(b)?).into(),
        BinaryOp::Xor => equality::xor(operand_truth(a)?, operand_truth(b)?).into(),
        BinaryOp::In => match as_list(b) {
            None => Value::Null,
            Some(items) => equality::contains(items, a).into(),
        },
        BinaryOp::StartsWith => text(a, b, |x, y| x.starts_with(y)),
        BinaryOp::EndsWith => text(a, b, |x, y| x.ends_with(y)),
        BinaryOp::Contains => text(a, b, |x, y| x.contains(y)),
        BinaryOp::RegexMatch => super::functions::regular::matches(rt, a, b)?,
    })
}

fn ordered(a: &Value, b: &Value, test: fn(Ordering) -> bool) -> Value {
    match compare(a, b) {
        Comparison::Ordered(ordering) => Value::Boolean(test(ordering)),
        Comparison::Unordered => Value::Boolean(false),
        Comparison::Unknown => Value::Null,
    }
}

fn text(a: &Value, b: &Value, test: impl Fn(&str, &str) -> bool) -> Value {
    match (a, b) {
        (Value::String(x), Value::String(y)) => Value::Boolean(test(x, y)),
        _ => Value::Null,
    }
}

fn operand_truth(value: &Value) -> Result<Option<bool>> {
    truth(&Column::Constant(value.clone(), 1), 0)
}

pub(super) fn map2(
    a: &Column,
    b: &Column,
    rt: &QueryContext,
    f: impl Fn(&Value, &Value) -> Result<Value>,
) -> Result<Arc<Column>> {
    let f = |x: &Value, y: &Value| {
        rt.growth.work(growth::units(x) + growth::units(y))?;
        f(x, y)
    };
    if let (Column::Constant(x, n), Column::Constant(y, _)) = (a, b) {
        // Nothing is computed for no rows: a division by zero in a dead branch stays silent.
        return Ok(Arc::new(if *n == 0 {
            Column::Constant(Value::Null, 0)
        } else {
            Column::Constant(f(x, y)?, *n)
        }));
    }
    values(rt, (0..a.len()).map(|row| f(&a.get(row), &b.get(row))))
}

pub(super) fn unary(op: UnaryOp, operand: &Column, rt: &QueryContext) -> Result<Arc<Column>> {
    let n = operand.len();
    Ok(match op {
        UnaryOp::IsNull => Arc::new(Column::Booleans(
            (0..n).map(|r| operand.is_null(r)).collect(),
        )),
        UnaryOp::IsNotNull => Arc::new(Column::Booleans(
            (0..n).map(|r| !operand.is_null(r)).collect(),
        )),
        UnaryOp::Not => {
            let truths = (0..n)
                .map(|row| Ok(truth(operand, row)?.map(|b| !b)))
                .collect::<Result<_>>()?;
            Arc::new(Column::from_truths(truths))
        }
        UnaryOp::Minus => values(rt, (0..n).map(|row| arithmetic::negate(&operand.get(row))))?,
        // The value as it is: where the text shows that it is no number it is refused.
        UnaryOp::Plus => values(rt, (0..n).map(|row| Ok(operand.get(row).into_owned())))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a list is sorted for many rows only, and gives what each row gives by itself.
    #[test]
    fn few_rows_go_through_a_list_one_by_one() {
        let items: Vec<Value> = (0..40).map(|n| Value::Integer(n * 37 % 101)).collect();
        let list = Value::list(items.clone());
        for rows in [0, 1, ROWS_FROM - 1, ROWS_FROM, 2 * ROWS_FROM] {
            let wanted = 0..i64::try_from(rows).unwrap();
            let constant = Column::Constant(list.clone(), rows);
            let found = tight_membership(&Column::Integers(wanted.clone().collect()), &constant);
            assert_eq!(found.is_some(), rows >= ROWS_FROM, "{rows} rows");
            let Some(found) = found else { continue };
            for (row, number) in wanted.enumerate() {
                let among = items.contains(&Value::Integer(number));
                assert_eq!(found.value(row), Value::Boolean(among), "{number}");
            }
        }
        let mixed = Value::list(vec![Value::Integer(1), Value::Null]);
        let mixed = Column::Constant(mixed, ROWS_FROM);
        let numbers = Column::Integers(vec![7; ROWS_FROM]);
        assert!(
            tight_membership(&numbers, &mixed).is_none(),
            "null is not known"
        );
    }
}
