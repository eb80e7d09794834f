//! Bytes of values in temporary pages.
//!
//! # How it works
//! Every value is a tag and its content; numbers are variable-length. The format lives as long as
//! the statement: nothing else reads it.
//!
//! | tag | value | content |
//! | --- | --- | --- |
//! | 0 | null | |
//! | 1, 2 | false, true | |
//! | 3 | integer | zigzag varint |
//! | 4 | float | 8 bytes |
//! | 5, 6 | string, bytes | varint length, bytes |
//! | 7 | list | varint count, values |
//! | 8 | map | varint count, for each: varint length, key, value |
//! | 9, 10 | node, relationship | varint id |
//! | 11 | path | varint relationships, node ids, relationship ids |
//! | 12 | stored value | as storage writes it |

use std::sync::Arc;

use graven_storage::{NodeId, RelId};

use crate::column::{Column, NULL_ID};
use crate::value::{Map, Path, Standing, Value};

/// Where the bytes of values go.
pub(crate) trait Out {
    /// Appends a byte.
    fn push(&mut self, byte: u8);

    /// Appends bytes.
    fn extend_from_slice(&mut self, bytes: &[u8]);
}

impl Out for Vec<u8> {
    fn push(&mut self, byte: u8) {
        Vec::push(self, byte);
    }

    fn extend_from_slice(&mut self, bytes: &[u8]) {
        Vec::extend_from_slice(self, bytes);
    }
}

/// Appends a varint.
pub(super) fn put_number(out: &mut impl Out, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_tagged(out: &mut impl Out, tag: u8, number: u64) {
    out.push(tag);
    put_number(out, number);
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Appends a value.
pub(crate) fn put_value(out: &mut impl Out, value: &Value) {
    match value {
        Value::Null => out.push(0),
        Value::Boolean(b) => out.push(1 + u8::from(*b)),
        Value::Integer(i) => put_tagged(out, 3, zigzag(*i)),
        Value::Float(f) => {
            out.push(4);
            out.extend_from_slice(&f.to_le_bytes());
        }
        Value::String(s) => {
            put_tagged(out, 5, s.len() as u64);
            out.extend_from_slice(s.as_bytes());
        }
        Value::Bytes(b) => {
            put_tagged(out, 6, b.len() as u64);
            out.extend_from_slice(b);
        }
        Value::List(items) => put_list(out, items),
        Value::Map(map) => {
            if let Some(standing) = map.standing() {
                out.push(13);
                put_list(out, &standing.to_parts());
            }
            put_tagged(out, 8, map.entries().len() as u64);
            for (key, value) in map.entries() {
                put_number(out, key.len() as u64);
                out.extend_from_slice(key.as_bytes());
                put_value(out, value);
            }
        }
        Value::Node(id) => put_tagged(out, 9, id.0),
        Value::Relationship(id) => put_tagged(out, 10, id.0),
        Value::Path(path) => {
            put_tagged(out, 11, path.relationships.len() as u64);
            path.nodes.iter().for_each(|id| put_number(out, id.0));
            path.relationships
                .iter()
                .for_each(|id| put_number(out, id.0));
        }
        Value::Stored(stored) => {
            out.push(12);
            let mut bytes = Vec::new();
            graven_storage::value::encode(stored, &mut bytes);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a list of these values.
pub(crate) fn put_list(out: &mut impl Out, items: &[Value]) {
    put_tagged(out, 7, items.len() as u64);
    items.iter().for_each(|item| put_value(out, item));
}

/// Appends the value in one row of a column.
pub(super) fn put_column_value(out: &mut impl Out, column: &Column, row: usize) {
    match column {
        Column::Nodes(ids) if ids[row] != NULL_ID => put_tagged(out, 9, ids[row]),
        Column::Relationships(ids) if ids[row] != NULL_ID => put_tagged(out, 10, ids[row]),
        Column::Integers(v) => put_tagged(out, 3, zigzag(v[row])),
        other => put_value(out, &other.get(row)),
    }
}

/// Takes values off bytes that [`put_value`] wrote.
pub(super) struct Take<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Take<'a> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn text(&mut self) -> Option<Arc<str>> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?).ok().map(Arc::from)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// The next value; `None` if the bytes are not what was written.
    pub(super) fn value(&mut self) -> Option<Value> {
        Some(match self.byte()? {
            0 => Value::Null,
            1 => Value::Boolean(false),
            2 => Value::Boolean(true),
            3 => Value::Integer(unzigzag(self.number()?)),
            4 => Value::Float(f64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            5 => Value::String(self.text()?),
            6 => {
                let length = self.length()?;
                Value::Bytes(Arc::from(self.take(length)?))
            }
            7 => {
                let count = self.length()?;
                Value::List((0..count).map(|_| self.value()).collect::<Option<_>>()?)
            }
            8 => {
                let count = self.length()?;
                let entry = |_| Some((self.text()?, self.value()?));
                Value::Map(Arc::new(Map::new(
                    (0..count).map(entry).collect::<Option<_>>()?,
                )))
            }
            9 => Value::Node(NodeId(self.number()?)),
            10 => Value::Relationship(RelId(self.number()?)),
            11 => {
                let count = self.length()?;
                let nodes = (0..=count).map(|_| self.number().map(NodeId));
                let nodes = nodes.collect::<Option<_>>()?;
                let relationships = (0..count).map(|_| self.number().map(RelId));
                let relationships = relationships.collect::<Option<_>>()?;
                Value::Path(Arc::new(Path {
                    nodes,
                    relationships,
                }))
            }
            12 => {
                let (stored, length) = graven_storage::value::decode(self.bytes).ok()?;
                self.take(length)?;
                Value::Stored(Arc::new(stored))
            }
            13 => match (self.value()?, self.value()?) {
                (Value::List(parts), Value::Map(map)) => {
                    let standing = Standing::from_parts(&parts)?;
                    let map = Map::standing_for(standing, map.entries().to_vec());
                    Value::Map(Arc::new(map))
                }
                _ => return None,
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graven_types::PropertyValue;
    use graven_types::vector::{CoordinateType, Number, Vector};

    /// Goal: every kind of value comes back as it was, and cut bytes are no value.
    #[test]
    fn values_come_back() {
        let path = Path {
            nodes: vec![NodeId(1), NodeId(500), NodeId(1)],
            relationships: vec![RelId(7), RelId(u64::MAX - 1)],
        };
        let values = [
            Value::Null,
            Value::Boolean(true),
            Value::Boolean(false),
            Value::Integer(i64::MIN),
            Value::Integer(-1),
            Value::Integer(i64::MAX),
            Value::Float(f64::NAN),
            Value::Float(-0.5),
            Value::text("caf\u{e9}"),
            Value::Bytes(Arc::from([0_u8, 255].as_slice())),
            Value::list(vec![Value::Null, Value::list(vec![Value::Integer(3)])]),
            Value::map(vec![(Arc::from("k"), Value::text("v"))]),
            Value::Node(NodeId(1 << 40)),
            Value::Relationship(RelId(0)),
            Value::Path(Arc::new(path)),
            Value::Stored(Arc::new(PropertyValue::Date(-40))),
            Value::Stored(Arc::new(PropertyValue::Vector(
                Vector::new(CoordinateType::Integer8, [Number::Integer(-3)]).unwrap(),
            ))),
        ];
        let mut bytes = Vec::new();
        values.iter().for_each(|value| put_value(&mut bytes, value));
        let mut take = Take { bytes: &bytes };
        for value in &values {
            assert_eq!(take.value().as_ref(), Some(value));
        }
        assert!(take.bytes.is_empty());
        for value in &values[1..] {
            bytes.clear();
            put_value(&mut bytes, value);
            let mut cut = Take {
                bytes: &bytes[..bytes.len() - 1],
            };
            assert_eq!(cut.value(), None, "{value:?}");
        }
    }
}
