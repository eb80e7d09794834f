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

/// A hash table from rows of key columns to dense numbers in order of first appearance.
pub(crate) struct KeyTable {
    numbers: HashMap<u64, u32, RandomState>,
    number: Option<Number>,
    values: HashMap<Box<[Value]>, u32, RandomState>,
    len: u32,
}

impl Default for KeyTable {
    fn default() -> Self {
        Self {
            numbers: HashMap::with_hasher(RandomState::default()),
            number: None,
            values: HashMap::with_hasher(RandomState::default()),
            len: 0,
        }
    }
}

impl KeyTable {
    /// Distinct keys so far.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// The number of each row's key, adding unknown keys; returns the bytes that the new keys take.
    pub(crate) fn insert(
        &mut self,
        keys: &[Arc<Column>],
        rows: usize,
        out: &mut Vec<u32>,
    ) -> usize {
        out.clear();
        let before = self.bytes_of_tables();
        let mut heap = 0;
        if let Some((kind, numbers)) = self.as_numbers(keys) {
            self.number = Some(kind);
            for key in numbers {
                let next = self.len;
                let index = *self.numbers.entry(key).or_insert(next);
                self.len += u32::from(index == next);
                out.push(index);
            }
        } else {
            self.leave_numbers();
            let mut scratch = Vec::with_capacity(keys.len());
            for row in 0..rows {
                scratch.clear();
                scratch.extend(keys.iter().map(|k| k.value(row)));
                if let Some(index) = self.values.get(scratch.as_slice()) {
                    out.push(*index);
                    continue;
                }
                heap += key_bytes(&scratch);
                self.values.insert(scratch.as_slice().into(), self.len);
                out.push(self.len);
                self.len += 1;
            }
        }
        heap + self.bytes_of_tables().saturating_sub(before)
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
        match (self.number, scratch.as_slice()) {
            (Some(Number::Node), [Value::Node(id)]) => self.numbers.get(&id.0).copied(),
            (Some(Number::Relationship), [Value::Relationship(id)]) => {
                self.numbers.get(&id.0).copied()
            }
            (Some(Number::Integer), [Value::Integer(i)]) => {
                self.numbers.get(&i.cast_unsigned()).copied()
            }
            (Some(Number::Integer), [Value::Float(f)]) => self
                .numbers
                .keys()
                .find(|k| Value::Integer(k.cast_signed()) == Value::Float(*f))
                .and_then(|k| self.numbers.get(k))
                .copied(),
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
                self.values
                    .insert(vec![number.value(key)].into_boxed_slice(), index);
            }
            self.numbers.shrink_to_fit();
        }
    }

    fn bytes_of_tables(&self) -> usize {
        self.numbers.capacity() * (16 + 1) + self.values.capacity() * (24 + 1)
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
}
