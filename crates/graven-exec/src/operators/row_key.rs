//! Keys of hash tables: rows over some columns, equal when all values are equivalent.
//!
//! # How it works
//! One or two columns of ids or integers without nulls are keyed by their 64-bit numbers; everything else by a boxed
//! slice of values. A table that has started with numbers and meets another form moves its keys over once.

use std::borrow::Cow;
use std::sync::Arc;

use foldhash::fast::RandomState;
use std::collections::HashMap;

use crate::column::{Column, NULL_ID};
use crate::value::Value;

/// What kind of 64-bit number a numeric table is keyed by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Number {
    Node,
    Relationship,
    Integer,
}

impl Number {
    fn value(self, key: u64) -> Value {
        match self {
            Self::Node => Value::Node(graven_storage::NodeId(key)),
            Self::Relationship => Value::Relationship(graven_storage::RelId(key)),
            Self::Integer => Value::Integer(key.cast_signed()),
        }
    }

    /// The number that stands for a value equal to this one.
    fn key(self, value: &Value) -> Option<u64> {
        match (self, value) {
            (Self::Node, Value::Node(id)) => Some(id.0),
            (Self::Relationship, Value::Relationship(id)) => Some(id.0),
            (Self::Integer, Value::Integer(i)) => Some(i.cast_unsigned()),
            (Self::Integer, Value::Float(f)) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "only used if equivalent to the float"
                )]
                let whole = *f as i64;
                (Value::Integer(whole) == Value::Float(*f)).then_some(whole.cast_unsigned())
            }
            _ => None,
        }
    }

    /// A column as numbers, if all of it can be one kind of them.
    fn of(column: &Column) -> Option<(Self, Cow<'_, [u64]>)> {
        Some(match column {
            Column::Nodes(ids) if !ids.contains(&NULL_ID) => (Self::Node, ids.into()),
            Column::Relationships(ids) if !ids.contains(&NULL_ID) => {
                (Self::Relationship, ids.into())
            }
            Column::Integers(v) => {
                let numbers: Vec<u64> = v.iter().map(|i| i.cast_unsigned()).collect();
                (Self::Integer, numbers.into())
            }
            _ => return None,
        })
    }
}

/// Bytes of a place in a table of numbers or values.
const NUMBER_BYTES: usize = 16 + 1;
const PAIR_BYTES: usize = 24 + 1;
const VALUES_BYTES: usize = 24 + 1;

/// A hash table from rows of key columns to dense numbers in order of first appearance.
pub(crate) struct KeyTable {
    numbers: HashMap<u64, u32, RandomState>,
    number: Option<Number>,
    pairs: HashMap<(u64, u64), u32, RandomState>,
    pair: Option<(Number, Number)>,
    values: HashMap<Box<[Value]>, u32, RandomState>,
    len: u32,
    /// Heap bytes of keys in `values`.
    heap: usize,
}

impl Default for KeyTable {
    fn default() -> Self {
        Self {
            numbers: HashMap::with_hasher(RandomState::default()),
            number: None,
            pairs: HashMap::with_hasher(RandomState::default()),
            pair: None,
            values: HashMap::with_hasher(RandomState::default()),
            len: 0,
            heap: 0,
        }
    }
}

impl KeyTable {
    /// Distinct keys so far.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes of the table and its keys.
    pub(crate) fn bytes(&self) -> usize {
        self.heap
            + self.numbers.capacity() * NUMBER_BYTES
            + self.pairs.capacity() * PAIR_BYTES
            + self.values.capacity() * VALUES_BYTES
    }

    /// Bytes of the table and its keys while and after `rows` more keys of `width` columns are added, the heap
    /// bytes of the new keys' values left out.
    pub(crate) fn bytes_with(&self, rows: usize, width: usize) -> usize {
        let grown = |len: usize, capacity: usize, bytes: usize| {
            // While a table grows the old one stays.
            if len + rows > capacity {
                ((len + rows) * 8 / 7).next_power_of_two() * bytes
            } else {
                0
            }
        };
        let more = if self.number.is_some() || self.len == 0 && width == 1 {
            grown(self.numbers.len(), self.numbers.capacity(), NUMBER_BYTES)
        } else if self.pair.is_some() || self.len == 0 && width == 2 {
            grown(self.pairs.len(), self.pairs.capacity(), PAIR_BYTES)
        } else {
            grown(self.values.len(), self.values.capacity(), VALUES_BYTES)
                + rows * width * size_of::<Value>()
        };
        self.bytes() + more
    }

    /// The number of each row's key, adding unknown keys.
    pub(crate) fn insert(&mut self, keys: &[Arc<Column>], rows: usize, out: &mut Vec<u32>) {
        out.clear();
        if let [column] = keys
            && let Some((kind, numbers)) = Number::of(column)
            && self.number.map_or(self.len == 0, |own| own == kind)
        {
            self.number = Some(kind);
            for key in numbers.iter() {
                let next = self.len;
                let index = *self.numbers.entry(*key).or_insert(next);
                self.len += u32::from(index == next);
                out.push(index);
            }
            return;
        }
        if let [first, second] = keys
            && let Some((kind, numbers)) = Number::of(first)
            && let Some((other_kind, others)) = Number::of(second)
            && self
                .pair
                .map_or(self.len == 0, |own| own == (kind, other_kind))
        {
            self.pair = Some((kind, other_kind));
            for key in numbers.iter().copied().zip(others.iter().copied()) {
                let next = self.len;
                let index = *self.pairs.entry(key).or_insert(next);
                self.len += u32::from(index == next);
                out.push(index);
            }
            return;
        }
        self.leave_numbers();
        let mut scratch = Vec::with_capacity(keys.len());
        for row in 0..rows {
            scratch.clear();
            scratch.extend(keys.iter().map(|k| k.value(row)));
            if let Some(index) = self.values.get(scratch.as_slice()) {
                out.push(*index);
                continue;
            }
            self.heap += key_bytes(&scratch);
            self.values.insert(scratch.as_slice().into(), self.len);
            out.push(self.len);
            self.len += 1;
        }
    }

    /// The number of the key in `row`, nulls being keys like others; `None` if it is unknown.
    pub(crate) fn number_of(
        &self,
        keys: &[Arc<Column>],
        row: usize,
        scratch: &mut Vec<Value>,
    ) -> Option<u32> {
        scratch.clear();
        scratch.extend(keys.iter().map(|k| k.value(row)));
        self.look_up(scratch)
    }

    /// The number of each row's key, `None` for unknown keys and for rows with a null in the key.
    pub(crate) fn find(
        &self,
        keys: &[Arc<Column>],
        row: usize,
        scratch: &mut Vec<Value>,
    ) -> Option<u32> {
        scratch.clear();
        scratch.extend(keys.iter().map(|k| k.value(row)));
        if scratch.iter().any(Value::is_null) {
            return None;
        }
        self.look_up(scratch)
    }

    fn look_up(&self, key: &[Value]) -> Option<u32> {
        match (self.number, self.pair, key) {
            (Some(kind), _, [value]) => self.numbers.get(&kind.key(value)?).copied(),
            (_, Some((kind, other)), [value, second]) => {
                let key = (kind.key(value)?, other.key(second)?);
                self.pairs.get(&key).copied()
            }
            (None, None, key) => self.values.get(key).copied(),
            _ => None,
        }
    }

    /// Moves numeric keys into the table of values.
    fn leave_numbers(&mut self) {
        if let Some(number) = self.number.take() {
            for (key, index) in self.numbers.drain() {
                self.heap += size_of::<Value>();
                self.values
                    .insert(vec![number.value(key)].into_boxed_slice(), index);
            }
            self.numbers.shrink_to_fit();
        }
        if let Some((kind, other)) = self.pair.take() {
            for ((key, second), index) in self.pairs.drain() {
                self.heap += 2 * size_of::<Value>();
                let key = vec![kind.value(key), other.value(second)];
                self.values.insert(key.into_boxed_slice(), index);
            }
            self.pairs.shrink_to_fit();
        }
    }
}

fn key_bytes(key: &[Value]) -> usize {
    size_of_val(key) + key.iter().map(Value::heap_bytes).sum::<usize>()
}

/// A set of values, for `DISTINCT` inside aggregates.
#[derive(Default)]
pub(crate) struct ValueSet {
    set: std::collections::HashSet<Value, RandomState>,
}

impl ValueSet {
    /// Adds the value; whether it is new, and the bytes it takes then.
    pub(crate) fn insert(&mut self, value: &Value) -> Option<usize> {
        let before = self.set.capacity();
        if !self.set.insert(value.clone()) {
            return None;
        }
        let grown = self.set.capacity() - before;
        Some(value.heap_bytes() + grown * (size_of::<Value>() + 1))
    }

    /// Takes all values out.
    pub(crate) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.set).into_iter().collect()
    }
}
