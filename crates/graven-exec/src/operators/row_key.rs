//! Keys of hash tables: rows over some columns, equal when all values are equivalent.
//!
//! # How it works
//! A single column of ids or integers without nulls is keyed by its 64-bit numbers; everything else by a boxed
//! slice of values. A table that has started with numbers and meets another form moves its keys over once.

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
}

/// Bytes of a place in a table of numbers or values.
const NUMBER_BYTES: usize = 16 + 1;
const VALUES_BYTES: usize = 24 + 1;

/// A hash table from rows of key columns to dense numbers in order of first appearance.
pub(crate) struct KeyTable {
    numbers: HashMap<u64, u32, RandomState>,
    number: Option<Number>,
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
        self.heap + self.numbers.capacity() * NUMBER_BYTES + self.values.capacity() * VALUES_BYTES
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
        } else {
            grown(self.values.len(), self.values.capacity(), VALUES_BYTES)
                + rows * width * size_of::<Value>()
        };
        self.bytes() + more
    }

    /// The number of each row's key, adding unknown keys.
    pub(crate) fn insert(&mut self, keys: &[Arc<Column>], rows: usize, out: &mut Vec<u32>) {
        out.clear();
        if let Some((kind, numbers)) = self.as_numbers(keys) {
            self.number = Some(kind);
            for key in numbers {
                let next = self.len;
                let index = *self.numbers.entry(key).or_insert(next);
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
        match (self.number, key) {
            (Some(Number::Node), [Value::Node(id)]) => self.numbers.get(&id.0).copied(),
            (Some(Number::Relationship), [Value::Relationship(id)]) => {
                self.numbers.get(&id.0).copied()
            }
            (Some(Number::Integer), [Value::Integer(i)]) => {
                self.numbers.get(&i.cast_unsigned()).copied()
            }
            (Some(Number::Integer), [Value::Float(f)]) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "only used if equivalent to the float"
                )]
                let whole = *f as i64;
                let index = self.numbers.get(&whole.cast_unsigned())?;
                (Value::Integer(whole) == Value::Float(*f)).then_some(*index)
            }
            (Some(_), _) => None,
            (None, key) => self.values.get(key).copied(),
        }
    }

    /// Key columns as numbers, if this table is or can be keyed by numbers.
    fn as_numbers(&self, keys: &[Arc<Column>]) -> Option<(Number, Vec<u64>)> {
        let [column] = keys else { return None };
        let (kind, numbers) = match &**column {
            Column::Nodes(ids) if !ids.contains(&NULL_ID) => (Number::Node, ids.clone()),
            Column::Relationships(ids) if !ids.contains(&NULL_ID) => {
                (Number::Relationship, ids.clone())
            }
            Column::Integers(v) => (
                Number::Integer,
                v.iter().map(|i| i.cast_unsigned()).collect(),
            ),
            _ => return None,
        };
        let fits = match self.number {
            Some(own) => own == kind,
            None => self.values.is_empty(),
        };
        fits.then_some((kind, numbers))
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
