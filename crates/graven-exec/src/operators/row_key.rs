//! Keys of hash tables: rows over some columns, equal when all values are equivalent.
//!
//! # How it works
//! One or two columns of ids or integers without nulls are keyed by their 64-bit numbers
//! ([`number_table`], [`clustered_pair_table`]); everything else by a boxed slice of values. A
//! table that has started with numbers and meets another form moves its keys over once.

mod clustered_pair_table;
mod number_table;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use std::collections::HashMap;

use crate::column::{Column, NULL_ID};
use crate::value::Value;
use clustered_pair_table::ClusteredPairTable;
use number_table::NumberTable;

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

    /// A column of these numbers.
    fn column(self, keys: impl Iterator<Item = u64>) -> Column {
        match self {
            Self::Node => Column::Nodes(keys.collect()),
            Self::Relationship => Column::Relationships(keys.collect()),
            Self::Integer => Column::Integers(keys.map(u64::cast_signed).collect()),
        }
    }

    /// What a column can be as numbers.
    fn kind(column: &Column) -> Option<Self> {
        match column {
            Column::Nodes(ids) if !ids.contains(&NULL_ID) => Some(Self::Node),
            Column::Relationships(ids) if !ids.contains(&NULL_ID) => Some(Self::Relationship),
            Column::Integers(_) | Column::Constant(Value::Integer(_), _) => Some(Self::Integer),
            Column::Constant(Value::Node(_), _) => Some(Self::Node),
            Column::Constant(Value::Relationship(_), _) => Some(Self::Relationship),
            _ => None,
        }
    }

    /// A column as numbers, if all of it can be one kind of them.
    fn of(column: &Column) -> Option<(Self, Cow<'_, [u64]>)> {
        let kind = Self::kind(column)?;
        let numbers = match column {
            Column::Nodes(ids) | Column::Relationships(ids) => ids.into(),
            Column::Integers(v) => v.iter().map(|i| i.cast_unsigned()).collect(),
            Column::Constant(value, rows) => vec![kind.key(value)?; *rows].into(),
            _ => return None,
        };
        Some((kind, numbers))
    }
}

/// Bytes of a place in a table of values.
const VALUES_BYTES: usize = 24 + 1;

/// A hash table from rows of key columns to dense numbers in order of first appearance.
#[derive(Default)]
pub(crate) struct GroupTable {
    keys: Keys,
    values: HashMap<Box<[Value]>, u32, RandomState>,
    /// Heap bytes of keys in `values`.
    heap: usize,
    /// Keys that are expected, and memory for them.
    expected: Option<(usize, Vec<u64>)>,
    /// Pairs that there is memory for from the beginning.
    pairs: usize,
    /// Keys are added and numbered, but not looked for.
    only_inserts: bool,
}

/// What rows are keyed by.
#[derive(Default)]
enum Keys {
    /// There are no rows yet.
    #[default]
    None,
    One(Number, NumberTable<1>),
    Two([Number; 2], ClusteredPairTable),
    /// Anything, in `values`.
    Values,
}

/// Columns as rows of numbers, if they can be.
fn numbers<const N: usize>(columns: &[Arc<Column>]) -> Option<([Number; N], Vec<[u64; N]>)> {
    let columns: &[Arc<Column>; N] = columns.try_into().ok()?;
    let mut kinds = [Number::Integer; N];
    let mut rows = vec![[0; N]; columns[0].len()];
    for (at, column) in columns.iter().enumerate() {
        let (kind, numbers) = Number::of(column)?;
        kinds[at] = kind;
        for (row, number) in rows.iter_mut().zip(numbers.iter()) {
            row[at] = *number;
        }
    }
    Some((kinds, rows))
}

impl GroupTable {
    /// One whose keys are added and numbered, but not looked for.
    pub(crate) fn of_groups() -> Self {
        Self {
            only_inserts: true,
            ..Self::default()
        }
    }

    /// As [`GroupTable::of_groups`], with memory for so many pairs.
    pub(crate) fn of_pairs(pairs: usize) -> Self {
        Self {
            pairs,
            ..Self::of_groups()
        }
    }

    /// Whether keys are pairs of numbers that come in runs, as far as these rows tell.
    pub(crate) fn come_in_runs(columns: &[Arc<Column>]) -> bool {
        let mut table = ClusteredPairTable::default();
        numbers::<2>(columns).is_some_and(|(_, pairs)| {
            table.insert(&pairs, &mut Vec::new());
            table.has_runs()
        })
    }

    /// Whether all keys are pairs of numbers that came in runs.
    pub(crate) fn has_runs(&self) -> bool {
        matches!(&self.keys, Keys::Two(_, table) if table.has_runs())
    }

    /// Adds the keys of other tables, all of which have pairs of the same kind, none of them known.
    pub(crate) fn append(&mut self, others: impl Iterator<Item = Self>) {
        let Keys::Two(_, own) = &mut self.keys else {
            unreachable!("EX-64: chunks have pairs");
        };
        own.append(others.filter_map(|other| match other.keys {
            Keys::Two(_, pairs) => Some(pairs),
            _ => None,
        }));
    }

    /// Distinct keys so far.
    pub(crate) fn len(&self) -> usize {
        match &self.keys {
            Keys::None => 0,
            Keys::One(_, table) => table.len(),
            Keys::Two(_, table) => table.len(),
            Keys::Values => self.values.len(),
        }
    }

    /// Bytes of the table and its keys.
    pub(crate) fn bytes(&self) -> usize {
        let numbers = match &self.keys {
            Keys::None | Keys::Values => 0,
            Keys::One(_, table) => table.bytes(),
            Keys::Two(_, table) => table.bytes(),
        };
        numbers + self.heap + self.values.capacity() * VALUES_BYTES
    }

    /// Bytes of the table and its keys while and after `rows` more keys of `width` columns are
    /// added, the heap bytes of the new keys' values left out.
    pub(crate) fn bytes_with(&self, rows: usize, width: usize) -> usize {
        match (&self.keys, width) {
            (Keys::One(_, table), _) => table.bytes_with(rows),
            (Keys::Two(_, table), _) => table.bytes_with(rows),
            (Keys::None, 1) => NumberTable::<1>::default().bytes_with(rows),
            (Keys::None, 2) => self.clustered_pair_table().bytes_with(rows),
            _ => {
                let places = self.values.len() + rows;
                // While a table grows the old one stays.
                let grown = if places > self.values.capacity() {
                    (places * 8 / 7).next_power_of_two() * VALUES_BYTES
                } else {
                    0
                };
                self.bytes() + grown + rows * width * size_of::<Value>()
            }
        }
    }

    /// Whether all keys so far are numbers, and those of these columns can be numbers beside them.
    pub(crate) fn keeps_numbers(&self, columns: &[Arc<Column>]) -> bool {
        let mut kinds = columns.iter().map(|column| Number::kind(column));
        let mut is = |number: &Number| kinds.next() == Some(Some(*number));
        match &self.keys {
            Keys::Values => false,
            Keys::None => columns.len() <= 2 && kinds.all(|kind| kind.is_some()),
            Keys::One(number, _) => is(number),
            Keys::Two(numbers, _) => numbers.iter().all(is),
        }
    }

    /// The keys with these numbers, in columns; none if they are not all numbers.
    pub(crate) fn columns(&self, numbers: Range<usize>) -> Vec<Column> {
        match &self.keys {
            Keys::None | Keys::Values => Vec::new(),
            Keys::One(kind, table) => {
                let keys = &table.keys()[numbers];
                vec![kind.column(keys.iter().map(|[key]| *key))]
            }
            Keys::Two([kind, other], table) => {
                let keys = &table.keys()[numbers];
                vec![
                    kind.column(keys.iter().map(|[key, _]| *key)),
                    other.column(keys.iter().map(|[_, key]| *key)),
                ]
            }
        }
    }

    /// No keys are looked up any more: keeps nothing but those that are numbers. Memory for another
    /// table comes back.
    pub(crate) fn end(&mut self) -> Vec<u64> {
        match &mut self.keys {
            Keys::None | Keys::Values => Vec::new(),
            Keys::One(_, table) => table.end(),
            Keys::Two(_, table) => table.end(),
        }
    }

    /// At most so many keys more are coming; `memory` is what another table has left.
    pub(crate) fn expect(&mut self, rows: usize, memory: Vec<u64>) {
        match &mut self.keys {
            Keys::None => self.expected = Some((rows, memory)),
            Keys::Values => {}
            Keys::One(_, table) => table.expect(rows, memory),
            Keys::Two(_, table) => table.expect(rows, memory),
        }
    }

    /// A first table of single keys.
    fn first_table(&mut self) -> NumberTable<1> {
        let mut table = NumberTable::default();
        if let Some((rows, memory)) = self.expected.take() {
            table.expect(rows, memory);
        }
        table
    }

    /// A first table of pairs.
    fn first_pairs(&mut self) -> ClusteredPairTable {
        let mut table = self.clustered_pair_table();
        table.reserve(self.pairs);
        if let Some((rows, memory)) = self.expected.take() {
            table.expect(rows, memory);
        }
        table
    }

    fn clustered_pair_table(&self) -> ClusteredPairTable {
        match self.only_inserts {
            true => ClusteredPairTable::default(),
            false => ClusteredPairTable::in_slots(),
        }
    }

    /// The number of each row's key, adding unknown keys.
    pub(crate) fn insert(&mut self, keys: &[Arc<Column>], rows: usize, out: &mut Vec<u32>) {
        out.clear();
        if rows == 0 {
            return;
        }
        if let Some((kinds, keys)) = numbers::<1>(keys) {
            if let Keys::None = self.keys {
                self.keys = Keys::One(kinds[0], self.first_table());
            }
            if let Keys::One(own, table) = &mut self.keys
                && *own == kinds[0]
            {
                return table.insert(&keys, out);
            }
        }
        if let Some((kinds, keys)) = numbers::<2>(keys) {
            if let Keys::None = self.keys {
                self.keys = Keys::Two(kinds, self.first_pairs());
            }
            if let Keys::Two(own, table) = &mut self.keys
                && *own == kinds
            {
                return table.insert(&keys, out);
            }
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
            let next = u32::try_from(self.values.len()).expect("fewer than 2^32 keys");
            self.values.insert(scratch.as_slice().into(), next);
            out.push(next);
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
        match (&self.keys, key) {
            (Keys::One(kind, table), [value]) => table.find(&[kind.key(value)?]),
            (Keys::Two([kind, other], table), [value, second]) => {
                table.find(&[kind.key(value)?, other.key(second)?])
            }
            (Keys::Values, key) => self.values.get(key).copied(),
            _ => None,
        }
    }

    /// Moves numeric keys into the table of values.
    fn leave_numbers(&mut self) {
        match std::mem::replace(&mut self.keys, Keys::Values) {
            Keys::None | Keys::Values => {}
            Keys::One(kind, table) => self.take_over(table.keys(), |[key]| vec![kind.value(*key)]),
            Keys::Two([kind, other], table) => self.take_over(table.keys(), |[key, second]| {
                vec![kind.value(*key), other.value(*second)]
            }),
        }
    }

    fn take_over<const N: usize>(
        &mut self,
        keys: &[[u64; N]],
        values: impl Fn(&[u64; N]) -> Vec<Value>,
    ) {
        for (number, key) in (0..).zip(keys) {
            let key = values(key);
            self.heap += key_bytes(&key);
            self.values.insert(key.into_boxed_slice(), number);
        }
    }
}

fn key_bytes(key: &[Value]) -> usize {
    size_of_val(key) + key.iter().map(Value::heap_bytes).sum::<usize>()
}

/// The first parts of the pairs of several tables.
#[derive(Default)]
pub(crate) struct ClusterKeys {
    kinds: Option<[Number; 2]>,
    known: NumberTable<1>,
    numbers: Vec<u32>,
}

impl ClusterKeys {
    /// Adds those of a table; whether its pairs came in runs, are of the same kind as those of the
    /// tables before and none of their first parts was known.
    pub(crate) fn add(&mut self, table: &GroupTable) -> bool {
        let Keys::Two(kinds, pairs) = &table.keys else {
            return false;
        };
        let Some(firsts) = pairs.firsts() else {
            return false;
        };
        let before = self.known.len();
        self.known.insert(firsts, &mut self.numbers);
        let new = self.known.len() - before;
        *self.kinds.get_or_insert(*kinds) == *kinds && new == firsts.len()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.known.bytes()
    }
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

    /// Whether the value is there.
    pub(crate) fn contains(&self, value: &Value) -> bool {
        self.set.contains(value)
    }

    /// Bytes of it and its values.
    pub(crate) fn bytes(&self) -> usize {
        let values = self.set.iter().map(Value::heap_bytes).sum::<usize>();
        values + self.set.capacity() * (size_of::<Value>() + 1)
    }

    /// Takes all values out.
    pub(crate) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.set).into_iter().collect()
    }
}
