//! What one group keeps of its rows, for every aggregate function.
//!
//! # How it works
//! Sums of integers stay integers and fail on overflow; the average and the standard deviations are
//! updated incrementally (Welford), so they do not overflow. A state is written as a value and
//! merged into another one: counts and sums add up, moments combine, lists follow each other.
//!
//! # Source
//! Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
//! variances", 1979.

use std::cmp::Ordering;

use graven_cypher::plan::AggregateFunction as F;
use graven_types::PropertyValue;
use graven_types::told;

use crate::column::bytes_together;
use crate::error::{ExecError, Result};
use crate::spill::{Out, put_list, put_value};
use crate::value::arithmetic::{add, as_float};
use crate::value::order::total_order;
use crate::value::{Value, arithmetic};

/// What a sum is multiplied by that is beyond the floats: 2^-64.
const SCALE: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// What one group keeps.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Count(i64),
    Sum(Value),
    Best(Option<Value>),
    /// Number of values, mean, sum of squared distances from the mean; for an average the number,
    /// the sum, and what the sum lost to rounding (Neumaier's summation), so that the average of
    /// integers is what division gives.
    Moments(u64, f64, f64),
    /// Number, sum and loss of an average with a sum beyond the floats: both are multiplied by
    /// [`SCALE`].
    Scaled(u64, f64, f64),
    /// Number and sum of durations, for their average.
    Durations(i64, Value),
    Values(Vec<Value>),
}

/// The state of a group without rows.
pub(super) fn fresh(function: F) -> State {
    match function {
        F::CountStar | F::Count => State::Count(0),
        F::Sum => State::Sum(Value::Integer(0)),
        F::Min | F::Max => State::Best(None),
        F::Avg | F::StDev | F::StDevP => State::Moments(0, 0.0, 0.0),
        F::Collect | F::PercentileCont | F::PercentileDisc => State::Values(Vec::new()),
    }
}

/// Adds `x` to `sum` and to `lost` what that addition rounds away.
fn add_exactly(sum: &mut f64, lost: &mut f64, x: f64) {
    let total = *sum + x;
    *lost += if sum.abs() >= x.abs() {
        (*sum - total) + x
    } else {
        (x - total) + *sum
    };
    *sum = total;
}

/// Adds so many numbers with their sum, and what that has lost, to an average.
fn add_to_average(state: &mut State, (m, their, their_lost): (u64, f64, f64), is_scaled: bool) {
    if let State::Moments(n, sum, lost) = state {
        let (mut all, mut all_lost) = (*sum, *lost + their_lost);
        add_exactly(&mut all, &mut all_lost, their);
        let is_beyond = !all.is_finite() && sum.is_finite() && their.is_finite();
        if !is_scaled && !is_beyond {
            (*n, *sum, *lost) = (*n + m, all, all_lost);
            return;
        }
        *state = State::Scaled(*n, *sum * SCALE, *lost * SCALE);
    }
    if let State::Scaled(n, sum, lost) = state {
        let scale = if is_scaled { 1.0 } else { SCALE };
        *n += m;
        add_exactly(sum, lost, their * scale);
        *lost += their_lost * scale;
    }
}

/// Writes a state as a value.
pub(super) fn put_state(state: &State, out: &mut impl Out) {
    match state {
        State::Count(n) => put_value(out, &Value::Integer(*n)),
        State::Sum(sum) => put_value(out, sum),
        State::Best(best) => put_value(out, best.as_ref().unwrap_or(&Value::Null)),
        State::Moments(n, mean, squares) => {
            let n = Value::Integer(n.cast_signed());
            put_list(out, &[n, Value::Float(*mean), Value::Float(*squares)]);
        }
        State::Scaled(n, sum, lost) => {
            let n = Value::Integer(n.cast_signed());
            let scaled = Value::Boolean(true);
            put_list(out, &[n, Value::Float(*sum), Value::Float(*lost), scaled]);
        }
        State::Durations(n, sum) => put_list(out, &[Value::Integer(*n), sum.clone()]),
        State::Values(values) => put_list(out, values),
    }
}

/// Merges a written state into another; returns the bytes kept.
///
/// # Errors
/// As [`update`].
pub(super) fn merge(function: F, state: &mut State, written: &Value) -> Result<usize> {
    match (&mut *state, written) {
        (State::Count(n), Value::Integer(more)) => *n += more,
        // A sum of nothing is 0, also where the others are durations.
        (State::Sum(sum), Value::Integer(0)) if is_duration(sum) => {}
        (State::Sum(sum @ Value::Integer(0)), more) if is_duration(more) => *sum = more.clone(),
        (State::Sum(sum), more) => *sum = add(sum, more)?,
        (State::Moments(0, ..), Value::List(written)) if written.len() == 2 => {
            if let [Value::Integer(m), more] = &written[..] {
                *state = State::Durations(*m, more.clone());
            }
        }
        (State::Durations(n, sum), Value::List(written)) => match &written[..] {
            [Value::Integer(m), more] => {
                *n += m;
                *sum = add(sum, more)?;
            }
            [Value::Integer(m), mean, _] if *m > 0 => *sum = add(sum, mean)?,
            _ => {}
        },
        (State::Best(_), Value::Null) => {}
        (State::Best(_), value) => return update(function, state, value),
        (State::Values(values), Value::List(more)) => {
            let before = values.capacity();
            let heap = bytes_together(more, values.last().unwrap_or(&Value::Null));
            values.extend(more.iter().cloned());
            return Ok((values.capacity() - before) * size_of::<Value>() + heap);
        }
        (State::Moments(..) | State::Scaled(..), Value::List(written)) if function == F::Avg => {
            if let [
                Value::Integer(m),
                Value::Float(sum),
                Value::Float(lost),
                scaled @ ..,
            ] = &written[..]
            {
                let part = (m.cast_unsigned(), *sum, *lost);
                add_to_average(state, part, !scaled.is_empty());
            }
        }
        (State::Moments(n, mean, squares), Value::List(written)) => {
            let [Value::Integer(m), Value::Float(their), Value::Float(more)] = &written[..] else {
                return Ok(0);
            };
            let m = m.cast_unsigned();
            if m > 0 {
                #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
                let (ours, theirs, all) = (*n as f64, m as f64, (*n + m) as f64);
                let apart = their - *mean;
                *squares += more + apart * apart * ours * theirs / all;
                *mean += apart * theirs / all;
                *n += m;
            }
        }
        _ => {}
    }
    Ok(0)
}

/// Takes an argument that is not null; returns the bytes kept.
///
/// # Errors
/// An argument of a type the function does not take; overflow of an integer sum.
pub(super) fn update(function: F, state: &mut State, value: &Value) -> Result<usize> {
    match state {
        State::Count(n) => *n += 1,
        State::Sum(sum) => {
            if is_duration(value) && matches!(sum, Value::Integer(0)) {
                *sum = value.clone();
            } else {
                if !is_duration(value) {
                    number(function, value)?;
                }
                *sum = add(sum, value)?;
            }
        }
        State::Best(best) => {
            let wanted = if function == F::Min {
                Ordering::Less
            } else {
                Ordering::Greater
            };
            if best
                .as_ref()
                .is_none_or(|b| total_order(value, b) == wanted)
            {
                *best = Some(value.clone());
            }
        }
        State::Moments(0, ..) if function == F::Avg && is_duration(value) => {
            *state = State::Durations(1, value.clone());
        }
        State::Durations(n, sum) => {
            *n += 1;
            *sum = add(sum, value)?;
        }
        State::Moments(..) | State::Scaled(..) if function == F::Avg => {
            let x = number(function, value)?;
            add_to_average(state, (1, x, 0.0), false);
        }
        State::Scaled(..) => {}
        State::Moments(n, mean, squares) => {
            let x = number(function, value)?;
            *n += 1;
            let before = x - *mean;
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            {
                *mean += before / *n as f64;
            }
            *squares += before * (x - *mean);
        }
        State::Values(values) => {
            if function != F::Collect {
                number(function, value)?;
            }
            let before = values.capacity();
            let heap = value.bytes_beside(values.last().unwrap_or(&Value::Null));
            values.push(value.clone());
            return Ok((values.capacity() - before) * size_of::<Value>() + heap);
        }
    }
    Ok(0)
}

/// What [`update`] has counted for the value that it took last, where the set of values seen keeps
/// it as well.
pub(super) fn shared_bytes(state: &State) -> usize {
    match state {
        State::Values(values) => match &values[..] {
            [.., before, last] => last.bytes_beside(before),
            [only] => only.bytes_beside(&Value::Null),
            [] => 0,
        },
        _ => 0,
    }
}

fn is_duration(value: &Value) -> bool {
    matches!(value, Value::Stored(stored) if matches!(**stored, PropertyValue::Duration(_)))
}

fn number(function: F, value: &Value) -> Result<f64> {
    arithmetic::as_float(value).ok_or_else(|| ExecError::Type {
        message: told!(
            "{function:?} needs numbers, got {}: {value}",
            value.type_name()
        ),
    })
}

/// The value that a state comes to.
///
/// # Errors
/// Overflow, as of the average of durations.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn finish(function: F, fraction: f64, state: State) -> Result<Value> {
    Ok(match state {
        State::Count(n) => Value::Integer(n),
        State::Sum(sum) => sum,
        State::Best(best) => best.unwrap_or_default(),
        State::Durations(n, sum) => arithmetic::mean(&sum, n)?,
        State::Moments(0, ..) => Value::Null,
        State::Moments(n, sum, lost) if function == F::Avg => {
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            let n = n as f64;
            // Once the sum is infinite, what it lost is no number.
            let lost = if sum.is_finite() { lost } else { 0.0 };
            Value::Float(quotient(sum, lost, n))
        }
        State::Scaled(n, sum, lost) => {
            let lost = if sum.is_finite() { lost } else { 0.0 };
            Value::Float(quotient(sum, lost, n as f64) / SCALE)
        }
        State::Moments(1, ..) => Value::Float(0.0),
        State::Moments(n, _, squares) => {
            let divisor = if function == F::StDev { n - 1 } else { n };
            Value::Float((squares / divisor as f64).sqrt())
        }
        State::Values(values) if function == F::Collect => Value::list(values),
        State::Values(values) => percentile(function, fraction, values),
    })
}

/// `(sum + lost) / n`: what the sum cannot hold counts for the last digit of the quotient.
fn quotient(sum: f64, lost: f64, n: f64) -> f64 {
    let first = (sum + lost) / n;
    let rest = first.mul_add(-n, sum) + lost;
    match rest.is_finite() {
        true => first + rest / n,
        false => first,
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positions within a list"
)]
fn percentile(function: F, fraction: f64, mut values: Vec<Value>) -> Value {
    if values.is_empty() {
        return Value::Null;
    }
    values.sort_by(total_order);
    let last = values.len() - 1;
    if function == F::PercentileDisc {
        // The smallest value with at least this fraction of all values at or below it.
        let rank = (fraction * values.len() as f64).ceil() as usize;
        return values[rank.saturating_sub(1).min(last)].clone();
    }
    let at = fraction * last as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    let float = |i: usize| as_float(&values[i]).unwrap_or(f64::NAN);
    Value::Float(match low == high {
        true => float(low),
        false => float(low) * (at.ceil() - at) + float(high) * (at - at.floor()),
    })
}
