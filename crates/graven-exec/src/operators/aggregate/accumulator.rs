//! States of the aggregate functions, one per group.
//!
//! # How it works
//! Null arguments are skipped by every function; `count(*)` has no argument. With `DISTINCT` a
//! group also keeps the set of values seen.
//!
//! Counts, and sums and extremes as long as they are all of integers, are plain arrays
//! ([`numbers`]); everything else is a [`State`] for each group.
//!
//! A state can be written as a value and merged into another state later, in any grouping of the
//! rows. With `DISTINCT` the values are what is written, and the state is computed again from their
//! union.

mod numbers;
mod state;

use graven_cypher::Span;
use graven_cypher::plan::AggregateFunction as F;
use graven_types::told;

use super::Call;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::operators::row_key::ValueSet;
use crate::spill::{Out, put_list};
use crate::value::Value;
use crate::value::arithmetic::as_float;
use numbers::Numbers;
use state::{State, finish, fresh, merge, put_state, shared_bytes, update};

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

/// The share of the values that a percentile is above.
fn share_of(parameter: &Value) -> Result<f64> {
    let share = as_float(parameter).ok_or_else(|| ExecError::Type {
        message: told!(
            "the share of a percentile must be a number, got {}: {parameter}",
            parameter.type_name()
        ),
    })?;
    if F::takes_share(share) {
        return Ok(share);
    }
    Err(ExecError::Named {
        kind: "ArgumentError",
        detail: "NumberOutOfRange",
        message: told!("a percentile lies between 0.0 and 1.0, got {parameter}"),
    })
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
                share_of(&parameter).map_err(|error| error.at(call.at))?
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
                    bytes -= shared_bytes(&states[group]);
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
                bytes -= shared_bytes(&states[group]);
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
