//! Columns of a batch: one value per row, in the tightest form the values allow.
//!
//! # How it works
//! Ids, integers, floats and booleans lie in plain vectors; anything else, and any integer, float
//! or boolean column with a null in it, is a vector of [`Value`]s. [`Column::from_values`] picks
//! the form. A column whose rows are all the same (a constant, a parameter, the outer row of an
//! apply) stores the value once.
//!
//! # Invariants
//! * EX-4 In `Nodes` and `Relationships`, [`NULL_ID`] stands for null; no store reaches that id.
//! * EX-5 `Integers`, `Floats`, `Booleans` hold no nulls.

use std::borrow::Cow;
use std::sync::Arc;

use graven_storage::{NodeId, RelId};

use crate::value::Value;

/// Null in a column of ids (EX-4).
pub const NULL_ID: u64 = u64::MAX;

/// The vectors of some columns, if all of them have this form.
macro_rules! slices {
    ($parts:expr, $form:ident) => {
        $parts
            .iter()
            .map(|part| match part {
                Column::$form(v) => Some(v.as_slice()),
                _ => None,
            })
            .collect::<Option<Vec<&[_]>>>()
    };
}

/// One column of a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Column {
    /// Node ids, [`NULL_ID`] for null.
    Nodes(Vec<u64>),
    /// Relationship ids, [`NULL_ID`] for null.
    Relationships(Vec<u64>),
    /// Integers without nulls.
    Integers(Vec<i64>),
    /// Floats without nulls.
    Floats(Vec<f64>),
    /// Booleans without nulls.
    Booleans(Vec<bool>),
    /// Anything.
    Values(Vec<Value>),
    /// The same value in each of so many rows.
    Constant(Value, usize),
}

impl Column {
    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Nodes(ids) | Self::Relationships(ids) => ids.len(),
            Self::Integers(v) => v.len(),
            Self::Floats(v) => v.len(),
            Self::Booleans(v) => v.len(),
            Self::Values(v) => v.len(),
            Self::Constant(_, len) => *len,
        }
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in `row`.
    ///
    /// # Panics
    /// If the column is shorter.
    #[must_use]
    pub fn value(&self, row: usize) -> Value {
        self.get(row).into_owned()
    }

    /// The value in `row`, borrowed where it is stored as a value.
    ///
    /// # Panics
    /// If the column is shorter.
    #[must_use]
    pub fn get(&self, row: usize) -> Cow<'_, Value> {
        match self {
            Self::Nodes(ids) => Cow::Owned(node_value(ids[row])),
            Self::Relationships(ids) => Cow::Owned(relationship_value(ids[row])),
            Self::Integers(v) => Cow::Owned(Value::Integer(v[row])),
            Self::Floats(v) => Cow::Owned(Value::Float(v[row])),
            Self::Booleans(v) => Cow::Owned(Value::Boolean(v[row])),
            Self::Values(v) => Cow::Borrowed(&v[row]),
            Self::Constant(value, len) => {
                assert!(row < *len, "row {row} of a column of {len}");
                Cow::Borrowed(value)
            }
        }
    }

    /// Whether the value in `row` is null.
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Nodes(ids) | Self::Relationships(ids) => ids[row] == NULL_ID,
            Self::Integers(_) | Self::Floats(_) | Self::Booleans(_) => false,
            Self::Values(v) => v[row].is_null(),
            Self::Constant(value, _) => value.is_null(),
        }
    }

    /// The node id in `row`; `None` for null and for anything that is no node.
    #[must_use]
    pub fn node(&self, row: usize) -> Option<u64> {
        match self {
            Self::Nodes(ids) => Some(ids[row]).filter(|id| *id != NULL_ID),
            Self::Values(v) => as_node(&v[row]),
            Self::Constant(value, _) => as_node(value),
            _ => None,
        }
    }

    /// The relationship id in `row`; `None` for null and for anything that is no relationship.
    #[must_use]
    pub fn relationship(&self, row: usize) -> Option<u64> {
        match self {
            Self::Relationships(ids) => Some(ids[row]).filter(|id| *id != NULL_ID),
            Self::Values(v) => as_relationship(&v[row]),
            Self::Constant(value, _) => as_relationship(value),
            _ => None,
        }
    }

    /// The boolean in `row`; `None` for null.
    #[must_use]
    pub fn truth(&self, row: usize) -> Option<bool> {
        match self {
            Self::Booleans(v) => Some(v[row]),
            Self::Values(v) => as_truth(&v[row]),
            Self::Constant(value, _) => as_truth(value),
            _ => None,
        }
    }

    /// The rows named by `rows`, in that order.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        fn pick<T: Clone>(from: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|&row| from[row as usize].clone()).collect()
        }
        match self {
            Self::Nodes(ids) => Self::Nodes(pick(ids, rows)),
            Self::Relationships(ids) => Self::Relationships(pick(ids, rows)),
            Self::Integers(v) => Self::Integers(pick(v, rows)),
            Self::Floats(v) => Self::Floats(pick(v, rows)),
            Self::Booleans(v) => Self::Booleans(pick(v, rows)),
            // What one row has, as a list made for a statement, is not copied for each of many.
            Self::Values(v) => match &v[..] {
                [only] if rows.len() > 1 => Self::Constant(only.clone(), rows.len()),
                _ => Self::Values(pick(v, rows)),
            },
            Self::Constant(value, _) => Self::Constant(value.clone(), rows.len()),
        }
    }

    /// The rows at `at`, each named by part and row within it, in that order.
    #[must_use]
    pub(crate) fn gather_across(parts: &[&Self], at: &[(u32, u32)]) -> Self {
        if let [only] = parts {
            let rows: Vec<u32> = at.iter().map(|(_, row)| *row).collect();
            return only.gather(&rows);
        }
        let spread = spread_beside(parts);
        let parts = spread_parts(parts, &spread);
        macro_rules! same_form {
            ($($form:ident),*) => {
                $(if let Some(slices) = slices!(parts, $form) {
                    return Self::$form(
                        at.iter()
                            .map(|(part, row)| slices[*part as usize][*row as usize])
                            .collect(),
                    );
                })*
            };
        }
        same_form!(Nodes, Relationships, Integers, Floats, Booleans);
        Self::from_values(
            at.iter()
                .map(|(part, row)| parts[*part as usize].value(*row as usize))
                .collect(),
        )
    }

    /// The columns one below the other, divided: each row goes to the column that its owner names,
    /// of which `counts` says how many rows it gets.
    #[must_use]
    pub(crate) fn divide(parts: &[&Self], owners: &[u8], counts: &[usize]) -> Vec<Self> {
        if let Some(Self::Constant(Value::Integer(all), _)) = parts.first()
            && parts
                .iter()
                .all(|part| matches!(part, Self::Constant(Value::Integer(own), _) if own == all))
        {
            let one = |rows: &usize| Self::Constant(Value::Integer(*all), *rows);
            return counts.iter().map(one).collect();
        }
        let spread = spread_beside(parts);
        let parts = spread_parts(parts, &spread);
        macro_rules! same_form {
            ($($form:ident),*) => {
                $(if let Some(slices) = slices!(parts, $form) {
                    let room = counts.iter().map(|rows| Vec::with_capacity(*rows));
                    let mut divided: Vec<Vec<_>> = room.collect();
                    for (value, owner) in slices.into_iter().flatten().zip(owners) {
                        divided[usize::from(*owner)].push(*value);
                    }
                    return divided.into_iter().map(Self::$form).collect();
                })*
            };
        }
        same_form!(Nodes, Relationships, Integers, Floats, Booleans);
        let room = counts.iter().map(|rows| Vec::with_capacity(*rows));
        let mut divided: Vec<Vec<Value>> = room.collect();
        let values = parts
            .iter()
            .flat_map(|part| (0..part.len()).map(|row| part.value(row)));
        for (value, owner) in values.zip(owners) {
            divided[usize::from(*owner)].push(value);
        }
        divided.into_iter().map(Self::from_values).collect()
    }

    /// Rows `from..to`.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        match self {
            Self::Nodes(ids) => Self::Nodes(ids[from..to].to_vec()),
            Self::Relationships(ids) => Self::Relationships(ids[from..to].to_vec()),
            Self::Integers(v) => Self::Integers(v[from..to].to_vec()),
            Self::Floats(v) => Self::Floats(v[from..to].to_vec()),
            Self::Booleans(v) => Self::Booleans(v[from..to].to_vec()),
            Self::Values(v) => Self::Values(v[from..to].to_vec()),
            Self::Constant(value, _) => Self::Constant(value.clone(), to - from),
        }
    }

    /// The tightest column for these values.
    #[must_use]
    pub fn from_values(values: Vec<Value>) -> Self {
        let Some(first) = values.iter().find(|v| !v.is_null()) else {
            return Self::Constant(Value::Null, values.len());
        };
        let tight = match first {
            Value::Node(_) => collect_ids(&values, |v| match v {
                Value::Null => Some(NULL_ID),
                _ => as_node(v),
            })
            .map(Self::Nodes),
            Value::Relationship(_) => collect_ids(&values, |v| match v {
                Value::Null => Some(NULL_ID),
                _ => as_relationship(v),
            })
            .map(Self::Relationships),
            Value::Integer(_) => values
                .iter()
                .map(|v| match v {
                    Value::Integer(i) => Some(*i),
                    _ => None,
                })
                .collect::<Option<_>>()
                .map(Self::Integers),
            Value::Float(_) => values
                .iter()
                .map(|v| match v {
                    Value::Float(f) => Some(*f),
                    _ => None,
                })
                .collect::<Option<_>>()
                .map(Self::Floats),
            Value::Boolean(_) => values
                .iter()
                .map(as_truth)
                .collect::<Option<_>>()
                .map(Self::Booleans),
            _ => None,
        };
        tight.unwrap_or(Self::Values(values))
    }

    /// The column of three-valued truths.
    #[must_use]
    pub fn from_truths(truths: Vec<Option<bool>>) -> Self {
        match truths.iter().copied().collect::<Option<Vec<bool>>>() {
            Some(known) => Self::Booleans(known),
            None => Self::Values(truths.into_iter().map(Value::from).collect()),
        }
    }

    /// A constant in the form that different values of its type have, so that it goes with columns
    /// of these.
    pub(crate) fn spread(&self) -> Option<Self> {
        let Self::Constant(value, rows) = self else {
            return None;
        };
        Some(match value {
            Value::Node(id) => Self::Nodes(vec![id.0; *rows]),
            Value::Relationship(id) => Self::Relationships(vec![id.0; *rows]),
            Value::Integer(i) => Self::Integers(vec![*i; *rows]),
            Value::Float(f) => Self::Floats(vec![*f; *rows]),
            Value::Boolean(b) => Self::Booleans(vec![*b; *rows]),
            _ => return None,
        })
    }

    /// The columns one below the other.
    #[must_use]
    pub fn concat(parts: &[&Self]) -> Self {
        if let [only] = parts {
            return (*only).clone();
        }
        if let Some(Self::Constant(value, _)) = parts.first()
            && parts.iter().all(|part| part.is_one(value))
        {
            return Self::Constant(value.clone(), parts.iter().map(|part| part.len()).sum());
        }
        let spread = spread_beside(parts);
        let parts = spread_parts(parts, &spread);
        macro_rules! same_form {
            ($($form:ident),*) => {
                $(if let Some(slices) = slices!(parts, $form) {
                    return Self::$form(slices.concat());
                })*
            };
        }
        same_form!(Nodes, Relationships, Integers, Floats, Booleans);
        Self::from_values(
            parts
                .iter()
                .flat_map(|part| (0..part.len()).map(|row| part.value(row)))
                .collect(),
        )
    }

    /// Whether it is this very list or text in all rows.
    fn is_one(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Constant(Value::List(own), _), Value::List(other)) => Arc::ptr_eq(own, other),
            (Self::Constant(Value::String(own), _), Value::String(other)) => {
                Arc::ptr_eq(own, other)
            }
            _ => false,
        }
    }

    /// Heap bytes of the column.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let held = match self {
            Self::Values(v) => bytes_together(v, &Value::Null),
            Self::Constant(value, _) => value.bytes_beside(&Value::Null),
            _ => 0,
        };
        self.array_bytes() + held
    }

    /// Heap bytes beside those of the values.
    pub(crate) fn array_bytes(&self) -> usize {
        match self {
            Self::Nodes(v) | Self::Relationships(v) => v.capacity() * 8,
            Self::Integers(v) => v.capacity() * 8,
            Self::Floats(v) => v.capacity() * 8,
            Self::Booleans(v) => v.capacity(),
            Self::Values(v) => v.capacity() * size_of::<Value>(),
            Self::Constant(..) => 0,
        }
    }
}

/// Heap bytes of values behind `before`, what each shares with the one before it counted once.
pub(crate) fn bytes_together<'v>(values: &'v [Value], mut before: &'v Value) -> usize {
    let each = values.iter().map(|value| {
        let bytes = value.bytes_beside(before);
        before = value;
        bytes
    });
    each.sum()
}

/// Constants among columns in the form of these; where they are ids, null is one.
fn spread_beside(parts: &[&Column]) -> Vec<Option<Column>> {
    let nulls = parts.iter().find_map(|part| match part {
        Column::Nodes(_) => Some(Column::Nodes as fn(Vec<u64>) -> Column),
        Column::Relationships(_) => Some(Column::Relationships as fn(Vec<u64>) -> Column),
        _ => None,
    });
    let spread = parts.iter().map(|part| match (part, nulls) {
        (Column::Constant(Value::Null, rows), Some(form)) => Some(form(vec![NULL_ID; *rows])),
        _ => part.spread(),
    });
    spread.collect()
}

/// Columns, those in place of which there is a spread one replaced.
fn spread_parts<'c>(parts: &[&'c Column], spread: &'c [Option<Column>]) -> Vec<&'c Column> {
    let parts = parts.iter().zip(spread);
    parts
        .map(|(part, spread)| spread.as_ref().unwrap_or(part))
        .collect()
}

fn collect_ids(values: &[Value], id: impl Fn(&Value) -> Option<u64>) -> Option<Vec<u64>> {
    values.iter().map(id).collect()
}

fn node_value(id: u64) -> Value {
    if id == NULL_ID {
        Value::Null
    } else {
        Value::Node(NodeId(id))
    }
}

fn relationship_value(id: u64) -> Value {
    if id == NULL_ID {
        Value::Null
    } else {
        Value::Relationship(RelId(id))
    }
}

fn as_node(value: &Value) -> Option<u64> {
    match value {
        Value::Node(id) => Some(id.0),
        _ => None,
    }
}

fn as_relationship(value: &Value) -> Option<u64> {
    match value {
        Value::Relationship(id) => Some(id.0),
        _ => None,
    }
}

fn as_truth(value: &Value) -> Option<bool> {
    match value {
        Value::Boolean(b) => Some(*b),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    //! Goal: one constant among columns of many values, such as a batch of one row, leaves all of
    //! them the form that they have.

    use super::*;
    use crate::operators::row_key::GroupTable;
    use std::sync::Arc;

    #[test]
    fn constants_take_the_form_of_their_neighbours() {
        let constant = |value| Column::Constant(value, 1);
        let parts = [
            (Column::Integers(vec![7, 8]), constant(Value::Integer(9))),
            (Column::Floats(vec![0.5, 1.5]), constant(Value::Float(2.5))),
            (
                Column::Booleans(vec![true, false]),
                constant(Value::Boolean(true)),
            ),
            (Column::Nodes(vec![1, 2]), constant(Value::Node(NodeId(3)))),
            (
                Column::Relationships(vec![1, 2]),
                constant(Value::Relationship(RelId(3))),
            ),
        ];
        for (many, one) in &parts {
            let all = Column::concat(&[many, one]);
            let picked = Column::gather_across(&[many, one], &[(1, 0), (0, 1)]);
            for column in [&all, &picked] {
                assert_eq!(std::mem::discriminant(column), std::mem::discriminant(many));
                assert!(
                    column.value(0)
                        == if column.len() == 3 {
                            many.value(0)
                        } else {
                            one.value(0)
                        }
                );
            }
            assert!(all.value(2) == one.value(0) && picked.value(1) == many.value(1));
        }
        let divided = Column::divide(&[&parts[0].0, &parts[0].1], &[1, 0, 1], &[1, 2]);
        assert!(matches!(&divided[0], Column::Integers(own) if own == &[8]));
        assert!(matches!(&divided[1], Column::Integers(own) if own == &[7, 9]));
        let mixed = Column::concat(&[&parts[0].0, &constant(Value::Null)]);
        assert!(matches!(mixed, Column::Values(_)) && mixed.value(2).is_null());
        // Ids have room for null.
        let mixed = Column::concat(&[&parts[3].0, &constant(Value::Null)]);
        assert!(matches!(mixed, Column::Nodes(_)) && mixed.value(2).is_null());
    }

    /// Goal: a list that one row had stays one for all rows made from it, and others beside it are
    /// not lost.
    #[test]
    fn what_one_row_had_stays_one() {
        let list = Value::list(vec![Value::Integer(1), Value::Null]);
        let one = Column::Values(vec![list.clone()]);
        let many = one.gather(&[0, 0, 0]);
        let all = Column::concat(&[&many, &many.slice(0, 2)]);
        assert!(matches!(&all, Column::Constant(Value::List(_), 5)));
        assert!(all.value(4) == list);
        let other = Column::Constant(Value::list(vec![Value::Integer(1), Value::Integer(2)]), 2);
        let mixed = Column::concat(&[&all, &other, &one]);
        assert_eq!(mixed.len(), 8);
        assert!(
            mixed.value(4) == list && mixed.value(5) == other.value(0) && mixed.value(7) == list
        );
    }

    #[test]
    fn constant_keys_are_numbers_beside_others() {
        let (mut table, mut numbers) = (GroupTable::default(), Vec::new());
        let many = [Arc::new(Column::Integers(vec![7, 8]))];
        let one = [Arc::new(Column::Constant(Value::Integer(8), 3))];
        assert!(table.keeps_numbers(&one));
        table.insert(&many, 2, &mut numbers);
        assert!(table.keeps_numbers(&one));
        table.insert(&one, 3, &mut numbers);
        assert!(table.keeps_numbers(&many) && table.len() == 2);
        assert_eq!(numbers[numbers.len() - 3..], [1, 1, 1]);
    }

    /// Goal: what rows share is counted once for all of them, what each has of its own for each.
    #[test]
    fn what_rows_share_is_counted_once() {
        let text = Value::text(&"x".repeat(1 << 20));
        let key: Arc<str> = Arc::from("key");
        let map = |value: &Value| Value::map(vec![(Arc::clone(&key), value.clone())]);
        let shared: Vec<Value> = (0..100).map(|_| map(&text)).collect();
        let list = Value::list(shared.clone());
        let whole = list.heap_bytes();
        assert!(whole > 100 << 20, "{whole}");
        for shared in [shared, vec![list; 100]] {
            let bytes = Column::Values(shared).heap_bytes();
            assert!(
                (1 << 20..(1 << 20) + (40 << 10)).contains(&bytes),
                "{bytes}"
            );
        }
        let own = (0..10).map(|_| map(&Value::text(&"x".repeat(1 << 20))));
        let bytes = Column::Values(own.collect()).heap_bytes();
        assert!((10 << 20..11 << 20).contains(&bytes), "{bytes}");
    }
}
