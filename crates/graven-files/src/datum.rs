//! Values on their way between files and the language.

use std::sync::Arc;

use graven_types::PropertyValue;

/// A value: what properties hold, and maps and lists of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// Null, a scalar, or a list of such.
    Value(PropertyValue),
    /// A list in which maps may stand.
    List(Vec<Datum>),
    /// A map, in the order of the file.
    Map(Vec<(Arc<str>, Datum)>),
}

impl Datum {
    /// Null.
    pub const NULL: Datum = Datum::Value(PropertyValue::Null);

    /// Text.
    #[must_use]
    pub fn text(text: &str) -> Datum {
        Datum::Value(PropertyValue::String(text.into()))
    }

    /// A list of these: of stored values where it can be.
    #[must_use]
    pub fn list(items: Vec<Datum>) -> Datum {
        let plain = |item: &Datum| matches!(item, Datum::Value(_));
        if !items.iter().all(plain) {
            return Datum::List(items);
        }
        let items = items.into_iter().map(|item| match item {
            Datum::Value(value) => value,
            _ => unreachable!("all are plain"),
        });
        Datum::Value(PropertyValue::List(items.collect()))
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Value(PropertyValue::Null))
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        fn stored(value: &PropertyValue) -> usize {
            match value {
                PropertyValue::String(text) => 16 + text.len(),
                PropertyValue::Bytes(bytes) => 16 + bytes.len(),
                PropertyValue::Vector(vector) => 16 + vector.bytes().len(),
                PropertyValue::List(items) => {
                    16 + items.iter().map(|v| 32 + stored(v)).sum::<usize>()
                }
                _ => 0,
            }
        }
        size_of::<Datum>()
            + match self {
                Datum::Value(value) => stored(value),
                Datum::List(items) => items.iter().map(Datum::bytes).sum(),
                Datum::Map(entries) => entries.iter().map(|(k, v)| 32 + k.len() + v.bytes()).sum(),
            }
    }
}

/// One column of some rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Integers without nulls.
    Integers(Vec<i64>),
    /// Floats without nulls.
    Floats(Vec<f64>),
    /// Anything.
    Data(Vec<Datum>),
}

impl Cells {
    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Cells::Integers(values) => values.len(),
            Cells::Floats(values) => values.len(),
            Cells::Data(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Cells::Integers(_) | Cells::Floats(_) => 8 * self.len(),
            Cells::Data(values) => values.iter().map(Datum::bytes).sum(),
        }
    }

    /// Only the rows of this range.
    pub(crate) fn keep(&mut self, rows: std::ops::Range<usize>) {
        fn cut<T>(values: &mut Vec<T>, rows: std::ops::Range<usize>) {
            values.truncate(rows.end);
            values.drain(..rows.start);
        }
        match self {
            Cells::Integers(values) => cut(values, rows),
            Cells::Floats(values) => cut(values, rows),
            Cells::Data(values) => cut(values, rows),
        }
    }

    /// The value in `row`.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn get(&self, row: usize) -> Datum {
        match self {
            Cells::Integers(values) => Datum::Value(PropertyValue::Integer(values[row])),
            Cells::Floats(values) => Datum::Value(PropertyValue::Float(values[row])),
            Cells::Data(values) => values[row].clone(),
        }
    }
}
