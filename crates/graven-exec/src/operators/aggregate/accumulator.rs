//! States of the aggregate functions, one per group.
//!
//! # How it works
//! Null arguments are skipped by every function; `count(*)` has no argument. With `DISTINCT` a group also keeps
//! the set of values seen. Sums of integers stay integers and fail on overflow; the average and the standard
//! deviations are updated incrementally (Welford), so they do not overflow.

use std::cmp::Ordering;

use graven_cypher::plan::AggregateFunction as F;

use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::operators::row_key::ValueSet;
use crate::value::arithmetic::{add, as_float};
use crate::value::order::total_order;
use crate::value::{Value, arithmetic};

/// One aggregate over all groups.
pub(crate) struct Accumulator {
    function: F,
    distinct: bool,
    /// The fraction of a percentile.
    fraction: f64,
    states: Vec<State>,
    seen: Vec<ValueSet>,
}

/// What one group keeps.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Count(i64),
    Sum(Value),
    Best(Option<Value>),
    /// Number of values, mean, sum of squared distances from the mean.
    Moments(u64, f64, f64),
    Values(Vec<Value>),
}

impl Accumulator {
    /// An aggregate without groups.
    ///
    /// # Errors
    /// If the percentile's fraction is missing or outside 0..1.
    pub(crate) fn new(function: F, distinct: bool, parameter: Option<Value>) -> Result<Self> {
        let fraction = match function {
            F::PercentileCont | F::PercentileDisc => {
                let parameter = parameter.unwrap_or_default();
                as_float(&parameter)
                    .filter(|f| (0.0..=1.0).contains(f))
                    .ok_or_else(|| ExecError::Named {
                        kind: "ArgumentError",
                        detail: "NumberOutOfRange",
                        message: format!("a percentile lies between 0.0 and 1.0, got {parameter}"),
                    })?
            }
            _ => 0.0,
        };
        Ok(Self {
            function,
            distinct,
            fraction,
            states: Vec::new(),
            seen: Vec::new(),
        })
    }

    /// Makes room for so many groups.
    pub(crate) fn grow(&mut self, groups: usize) {
        let fresh = match self.function {
            F::CountStar | F::Count => State::Count(0),
            F::Sum => State::Sum(Value::Integer(0)),
            F::Min | F::Max => State::Best(None),
            F::Avg | F::StDev | F::StDevP => State::Moments(0, 0.0, 0.0),
            F::Collect | F::PercentileCont | F::PercentileDisc => State::Values(Vec::new()),
        };
        self.states.resize(groups, fresh);
        if self.distinct {
            self.seen.resize_with(groups, ValueSet::default);
        }
    }

    /// Takes one argument per row, `groups` naming each row's group; returns the bytes kept.
    ///
    /// # Errors
    /// Arguments of a type the function does not take; overflow of an integer sum.
    pub(crate) fn add(&mut self, groups: &[u32], argument: Option<&Column>) -> Result<usize> {
        let Some(argument) = argument else {
            for group in groups {
                if let State::Count(n) = &mut self.states[*group as usize] {
                    *n += 1;
                }
            }
            return Ok(0);
        };
        let mut bytes = 0;
        for (row, group) in groups.iter().enumerate() {
            let group = *group as usize;
            if argument.is_null(row) {
                continue;
            }
            if self.function == F::Count && !self.distinct {
                if let State::Count(n) = &mut self.states[group] {
                    *n += 1;
                }
                continue;
            }
            let value = argument.get(row);
            if self.distinct {
                match self.seen[group].insert(&value) {
                    Some(kept) => bytes += kept,
                    None => continue,
                }
            }
            bytes += update(self.function, &mut self.states[group], &value)?;
        }
        Ok(bytes)
    }

    /// The value of each group.
    ///
    /// # Errors
    /// Percentiles of values that are no numbers.
    pub(crate) fn finish(self) -> Result<Vec<Value>> {
        let (function, fraction) = (self.function, self.fraction);
        self.states
            .into_iter()
            .map(|state| finish(function, fraction, state))
            .collect()
    }
}

fn update(function: F, state: &mut State, value: &Value) -> Result<usize> {
    match state {
        State::Count(n) => *n += 1,
        State::Sum(sum) => {
            number(function, value)?;
            *sum = add(sum, value)?;
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
            values.push(value.clone());
            return Ok((values.capacity() - before) * size_of::<Value>() + value.heap_bytes());
        }
    }
    Ok(0)
}

fn number(function: F, value: &Value) -> Result<f64> {
    arithmetic::as_float(value).ok_or_else(|| ExecError::Type {
        message: format!(
            "{function:?} needs numbers, got {}: {value}",
            value.type_name()
        ),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn finish(function: F, fraction: f64, state: State) -> Result<Value> {
    Ok(match state {
        State::Count(n) => Value::Integer(n),
        State::Sum(sum) => sum,
        State::Best(best) => best.unwrap_or_default(),
        State::Moments(0, ..) if function == F::Avg => Value::Null,
        State::Moments(_, mean, _) if function == F::Avg => Value::Float(mean),
        State::Moments(0 | 1, ..) => Value::Float(0.0),
        State::Moments(n, _, squares) => {
            let divisor = if function == F::StDev { n - 1 } else { n };
            Value::Float((squares / divisor as f64).sqrt())
        }
        State::Values(values) if function == F::Collect => Value::list(values),
        State::Values(values) => percentile(function, fraction, values),
    })
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
    Value::Float(float(low) + (float(high) - float(low)) * (at - at.floor()))
}
