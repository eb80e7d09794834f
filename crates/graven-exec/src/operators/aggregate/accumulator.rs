//! States of the aggregate functions, one per group.
//!
//! # How it works
//! Null arguments are skipped by every function; `count(*)` has no argument. With `DISTINCT` a
//! group also keeps the set of values seen. Sums of integers stay integers and fail on overflow;
//! the average and the standard deviations are updated incrementally (Welford), so they do not
//! overflow.
//!
//! A state can be written as a value and merged into another state later, in any grouping of the
//! rows: counts and sums add up, moments combine, lists follow each other. With `DISTINCT` the
//! values are what is written, and the state is computed again from their union.
//!
//! Counts, and sums and extremes as long as they are all of integers, are plain arrays
//! ([`numbers`]); everything else is a [`State`] for each group.
//!
//! # Source
//! Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
//! variances", 1979.

mod numbers;

use std::cmp::Ordering;

use graven_cypher::Span;
use graven_cypher::plan::AggregateFunction as F;
use graven_types::PropertyValue;

use super::Call;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::operators::row_key::ValueSet;
use crate::spill::{Out, put_list, put_value};
use crate::value::arithmetic::{add, as_float};
use crate::value::order::total_order;
use crate::value::{Value, arithmetic};
use numbers::Numbers;

/// One aggregate over all groups.
pub(crate) struct Accumulator {
    function: F,
    at: Span,
    distinct: bool,
    /// The fraction of a percentile.
    fraction: f64,
    states: States,
    seen: Vec<ValueSet>,
    /// The list being written, and how much of it has been.
    writing: (Vec<Value>, usize),
}

/// What a sum is multiplied by that is beyond the floats: 2^-64.
const SCALE: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// Elements of a list that one written row takes, and their bytes, unless one has more.
const CHUNK: usize = 1024;
const CHUNK_BYTES: usize = 64 << 10;

/// What all groups keep.
#[derive(Debug)]
enum States {
    Numbers(Numbers),
    Each(Vec<State>),
}

impl States {
    fn new(function: F, distinct: bool) -> Self {
        match Numbers::of(function) {
            Some(numbers) if !distinct => Self::Numbers(numbers),
            _ => Self::Each(Vec::new()),
        }
    }

    /// The states one by one.
    fn each(&mut self) -> &mut Vec<State> {
        if let Self::Numbers(numbers) = self {
            *self = Self::Each(numbers.states());
        }
        match self {
            Self::Each(states) => states,
            Self::Numbers(_) => unreachable!("replaced above"),
        }
    }
}

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
    /// Number, sum and loss of an average whose sum is beyond the floats: both are multiplied by
    /// [`SCALE`].
    Scaled(u64, f64, f64),
    /// Number and sum of durations, for their average.
    Durations(i64, Value),
    Values(Vec<Value>),
}

impl Accumulator {
    /// An aggregate without groups.
    ///
    /// # Errors
    /// If the percentile's fraction is missing or outside 0..1.
    pub(crate) fn new(call: &Call, parameter: Option<Value>) -> Result<Self> {
        let (function, distinct) = (call.function, call.distinct);
        let fraction = match function {
            F::PercentileCont | F::PercentileDisc => {
                let parameter = parameter.unwrap_or_default();
                as_float(&parameter)
                    .filter(|f| (0.0..=1.0).contains(f))
                    .ok_or_else(|| ExecError::Named {
                        kind: "ArgumentError",
                        detail: "NumberOutOfRange",
                        message: format!("a percentile lies between 0.0 and 1.0, got {parameter}"),
                    })
                    .map_err(|error| error.at(call.at))?
            }
            _ => 0.0,
        };
        Ok(Self {
            function,
            at: call.at,
            distinct,
            fraction,
            states: States::new(function, distinct),
            seen: Vec::new(),
            writing: (Vec::new(), 0),
        })
    }

    /// Bytes of one state before it keeps anything.
    pub(crate) fn state_bytes(&self) -> usize {
        let state = match &self.states {
            States::Numbers(numbers) => numbers.state_bytes(),
            States::Each(_) => size_of::<State>(),
        };
        let set = if self.distinct {
            size_of::<ValueSet>()
        } else {
            0
        };
        state + set
    }

    /// So many groups more are expected.
    pub(crate) fn reserve(&mut self, groups: usize) {
        if let States::Numbers(numbers) = &mut self.states {
            numbers.reserve(groups);
        }
    }

    /// Makes room for so many groups.
    pub(crate) fn grow(&mut self, groups: usize) {
        match &mut self.states {
            States::Numbers(numbers) => numbers.grow(groups),
            States::Each(states) => states.resize(groups, fresh(self.function)),
        }
        if self.distinct {
            self.seen.resize_with(groups, ValueSet::default);
        }
    }

    /// Adds the groups of another accumulator of the same aggregate behind its own.
    pub(crate) fn append(&mut self, mut other: Self) {
        let both = match (&mut self.states, &other.states) {
            (States::Numbers(own), States::Numbers(more)) => own.append(more),
            _ => false,
        };
        if !both {
            self.states.each().append(other.states.each());
        }
        self.seen.append(&mut other.seen);
    }

    /// Forgets all groups.
    pub(crate) fn clear(&mut self) {
        self.states = States::new(self.function, self.distinct);
        self.seen = Vec::new();
    }

    /// Writes a group's state as a value; whether there is more of it, to be written into another
    /// row.
    pub(crate) fn put(&mut self, group: usize, out: &mut impl Out) -> bool {
        let states = match &mut self.states {
            States::Numbers(numbers) => {
                put_state(&numbers.take(group), out);
                return false;
            }
            States::Each(states) => states,
        };
        let (values, done) = &mut self.writing;
        if *done == 0 {
            let state = std::mem::replace(&mut states[group], fresh(self.function));
            *values = match state {
                // Distinct ones in the order in which they came.
                State::Values(values) => values,
                _ if self.distinct => self.seen[group].take(),
                state => {
                    put_state(&state, out);
                    return false;
                }
            };
        }
        let mut bytes = 0;
        let fits = |value: &&Value| {
            let before = bytes;
            bytes += value.heap_bytes();
            before < CHUNK_BYTES
        };
        let left = values[*done..].iter().take(CHUNK);
        let count = left.take_while(fits).count();
        let part = &values[*done..*done + count];
        put_list(out, part);
        *done += part.len();
        let more = *done < values.len();
        if !more {
            self.writing = (Vec::new(), 0);
        }
        more
    }

    /// Merges written states, one per row, into the states of `groups`; returns the bytes kept.
    ///
    /// # Errors
    /// As [`Accumulator::add`].
    pub(crate) fn merge(&mut self, groups: &[u32], written: &Column) -> Result<usize> {
        let merged = self.merge_rows(groups, written);
        merged.map_err(|error| error.at(self.at))
    }

    fn merge_rows(&mut self, groups: &[u32], written: &Column) -> Result<usize> {
        if let States::Numbers(numbers) = &mut self.states
            && numbers.merge(groups, written)
        {
            return Ok(0);
        }
        let states = self.states.each();
        let mut bytes = 0;
        for (row, group) in groups.iter().enumerate() {
            let group = *group as usize;
            let written = written.get(row);
            if !self.distinct {
                bytes += merge(self.function, &mut states[group], &written)?;
                continue;
            }
            let Value::List(values) = &*written else {
                continue;
            };
            for value in values.iter() {
                if let Some(kept) = self.seen[group].insert(value) {
                    bytes += kept + update(self.function, &mut states[group], value)?;
                    bytes -= shared_bytes(&states[group], value);
                }
            }
        }
        Ok(bytes)
    }

    /// Whether the distinct values of a group are wanted for nothing but to be told apart.
    pub(super) fn counts_distinct(&self) -> bool {
        let keeps = [F::Collect, F::PercentileCont, F::PercentileDisc];
        self.distinct && !keeps.contains(&self.function)
    }

    /// Whether the first group has seen the value.
    pub(super) fn has_seen(&self, value: &Value) -> bool {
        self.seen[0].contains(value)
    }

    /// Takes a value into the first group, if it has not seen it; the bytes kept then.
    ///
    /// # Errors
    /// As [`Accumulator::add`].
    pub(super) fn add_distinct(&mut self, value: &Value) -> Result<usize> {
        let Some(kept) = self.seen[0].insert(value) else {
            return Ok(0);
        };
        let added = update(self.function, &mut self.states.each()[0], value);
        Ok(kept + added.map_err(|error| error.at(self.at))?)
    }

    /// Takes the values out that the first group has seen, and forgets what they add up to.
    pub(super) fn take_seen(&mut self) -> Vec<Value> {
        self.states.each()[0] = fresh(self.function);
        std::mem::take(&mut self.seen[0]).take()
    }

    /// The first group forgets which values it has seen, not what they add up to; the bytes freed.
    pub(super) fn forget_seen(&mut self) -> usize {
        std::mem::take(&mut self.seen[0]).bytes()
    }

    /// Bytes of the values that the first group has seen.
    pub(super) fn seen_bytes(&self) -> usize {
        self.seen.first().map_or(0, ValueSet::bytes)
    }

    /// Takes one argument per row, `groups` naming each row's group; returns the bytes kept.
    ///
    /// # Errors
    /// Arguments of a type the function does not take; overflow of an integer sum.
    pub(crate) fn add(&mut self, groups: &[u32], argument: Option<&Column>) -> Result<usize> {
        let added = self.add_rows(groups, argument);
        added.map_err(|error| error.at(self.at))
    }

    fn add_rows(&mut self, groups: &[u32], argument: Option<&Column>) -> Result<usize> {
        let spread = argument.and_then(Column::spread);
        let argument = spread.as_ref().or(argument);
        if let States::Numbers(numbers) = &mut self.states
            && numbers.add(groups, argument)
        {
            return Ok(0);
        }
        let states = self.states.each();
        let Some(argument) = argument else {
            for group in groups {
                if let State::Count(n) = &mut states[*group as usize] {
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
            let value = argument.get(row);
            if !self.distinct {
                bytes += update(self.function, &mut states[group], &value)?;
                continue;
            }
            if let Some(kept) = self.seen[group].insert(&value) {
                bytes += kept + update(self.function, &mut states[group], &value)?;
                bytes -= shared_bytes(&states[group], &value);
            }
        }
        Ok(bytes)
    }

    /// The values of all groups, one after the other.
    pub(crate) fn finish(self) -> Results {
        Results {
            function: self.function,
            at: self.at,
            fraction: self.fraction,
            states: self.states,
            next: 0,
        }
    }
}

/// Values of groups in order; an error for percentiles of values that are no numbers.
pub(crate) struct Results {
    function: F,
    at: Span,
    fraction: f64,
    states: States,
    next: usize,
}

impl Results {
    /// The values of the next `groups` groups.
    pub(crate) fn next(&mut self, groups: usize) -> Result<Column> {
        let range = self.next..self.next + groups;
        self.next = range.end;
        match &mut self.states {
            States::Numbers(numbers) => Ok(numbers.column(range)),
            States::Each(states) => {
                let states = states[range].iter_mut();
                let values = states.map(|state| {
                    let state = std::mem::replace(state, State::Count(0));
                    finish(self.function, self.fraction, state)
                });
                let values: Result<_> = values.collect();
                let values = values.map_err(|error| error.at(self.at))?;
                Ok(Column::from_values(values))
            }
        }
    }
}

fn fresh(function: F) -> State {
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

fn put_state(state: &State, out: &mut impl Out) {
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

fn merge(function: F, state: &mut State, written: &Value) -> Result<usize> {
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
            values.extend(more.iter().cloned());
            let heap: usize = more.iter().map(Value::heap_bytes).sum();
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

fn update(function: F, state: &mut State, value: &Value) -> Result<usize> {
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
            values.push(value.clone());
            return Ok((values.capacity() - before) * size_of::<Value>() + value.heap_bytes());
        }
    }
    Ok(0)
}

/// What a value takes that a state keeps, where the set of values seen keeps it as well.
fn shared_bytes(state: &State, value: &Value) -> usize {
    match state {
        State::Values(_) => value.heap_bytes(),
        _ => 0,
    }
}

fn is_duration(value: &Value) -> bool {
    matches!(value, Value::Stored(stored) if matches!(**stored, PropertyValue::Duration(_)))
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
        State::Durations(n, sum) => arithmetic::divide(&sum, &Value::Integer(n))?,
        State::Moments(0, ..) => Value::Null,
        State::Moments(n, sum, lost) if function == F::Avg => {
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            let n = n as f64;
            // Once the sum is infinite, what it lost is no number.
            let lost = if sum.is_finite() { lost } else { 0.0 };
            Value::Float((sum + lost) / n)
        }
        State::Scaled(n, sum, lost) => {
            let lost = if sum.is_finite() { lost } else { 0.0 };
            Value::Float((sum + lost) / n as f64 / SCALE)
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
