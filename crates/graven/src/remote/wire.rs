//! Bytes of values on the way between an attached process and the owner.
//!
//! # How it works
//! Integers are little-endian and fixed, texts and lists carry a 32-bit count, a value begins with
//! a tag. Both ends are the same protocol number ([`super::message::PROTOCOL`]), so nothing is
//! optional. Whatever arrives is checked: lengths against what is there, nesting against
//! [`DEPTH_MAX`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::value::{Node, Path, Relationship, Value};

/// Lists and maps nest at most this deep in a message.
const DEPTH_MAX: u32 = 512;

/// Items that a list has room for before they are read.
const ITEMS_AHEAD: usize = 1024;

/// A message that cannot be read; says what was found.
#[derive(Debug)]
pub(super) struct Malformed(pub(super) String);

pub(super) type Decoded<T> = Result<T, Malformed>;

/// Appends to a message.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).expect("a message holds less than 2^32 of anything"));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut put: impl FnMut(&mut Self, T),
    ) {
        self.count(items.len());
        items.for_each(|item| put(self, item));
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            put(self, value);
        }
    }

    fn map(&mut self, entries: &BTreeMap<Arc<str>, Value>) {
        self.list(entries.iter(), |w, (key, value)| {
            w.text(key);
            w.value(value);
        });
    }

    fn node(&mut self, node: &Node) {
        self.u64(node.id);
        self.list(node.labels.iter(), |w, label| w.text(label));
        self.map(&node.properties);
    }

    fn relationship(&mut self, relationship: &Relationship) {
        self.u64(relationship.id);
        self.text(&relationship.rel_type);
        self.u64(relationship.start);
        self.u64(relationship.end);
        self.map(&relationship.properties);
    }

    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.u8(0),
            Value::Boolean(value) => self.u8(1 + u8::from(*value)),
            Value::Integer(value) => {
                self.u8(3);
                self.raw(&value.to_le_bytes());
            }
            Value::Float(value) => {
                self.u8(4);
                self.raw(&value.to_le_bytes());
            }
            Value::String(text) => {
                self.u8(5);
                self.text(text);
            }
            Value::Bytes(bytes) => {
                self.u8(6);
                self.bytes(bytes);
            }
            Value::List(items) => {
                self.u8(7);
                self.list(items.iter(), |w, item| w.value(item));
            }
            Value::Map(entries) => {
                self.u8(8);
                self.map(entries);
            }
            Value::Node(node) => {
                self.u8(9);
                self.node(node);
            }
            Value::Relationship(relationship) => {
                self.u8(10);
                self.relationship(relationship);
            }
            Value::Path(path) => {
                self.u8(11);
                self.list(path.nodes.iter(), |w, node| w.node(node));
                self.list(path.relationships.iter(), |w, r| w.relationship(r));
            }
            Value::Stored(stored) => {
                self.u8(12);
                let mut bytes = Vec::new();
                graven_storage::value::encode(stored, &mut bytes);
                self.bytes(&bytes);
            }
        }
    }
}

/// Reads a message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    depth: u32,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Reader {
            rest: bytes,
            depth: 0,
        }
    }

    pub(super) fn take(&mut self, count: usize) -> Decoded<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            let what = format!("{count} bytes wanted, {} left", self.rest.len());
            return Err(Malformed(what));
        };
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("as many as asked for"))
    }

    pub(super) fn u8(&mut self) -> Decoded<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn bool(&mut self) -> Decoded<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Malformed(format!("{other} is no truth value"))),
        }
    }

    pub(super) fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Decoded<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn bytes(&mut self) -> Decoded<&'a [u8]> {
        let count = self.u32()? as usize;
        self.take(count)
    }

    pub(super) fn text(&mut self) -> Decoded<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|e| Malformed(format!("a text: {e}")))
    }

    pub(super) fn shared(&mut self) -> Decoded<Arc<str>> {
        Ok(Arc::from(self.text()?))
    }

    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Decoded<T>,
    ) -> Decoded<Vec<T>> {
        let count = self.u32()? as usize;
        // A count may lie; what is really there decides how much memory is taken.
        let mut items = Vec::with_capacity(count.min(self.rest.len()).min(ITEMS_AHEAD));
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }

    pub(super) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Decoded<T>,
    ) -> Decoded<Option<T>> {
        if self.bool()? {
            Ok(Some(read(self)?))
        } else {
            Ok(None)
        }
    }

    /// All has been read.
    pub(super) fn end(self) -> Decoded<()> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(Malformed(format!("{more} bytes too many"))),
        }
    }

    fn map(&mut self) -> Decoded<BTreeMap<Arc<str>, Value>> {
        let entries = self.list(|r| Ok((r.shared()?, r.value()?)))?;
        Ok(entries.into_iter().collect())
    }

    fn node(&mut self) -> Decoded<Node> {
        Ok(Node {
            id: self.u64()?,
            labels: self.list(Self::shared)?,
            properties: self.map()?,
        })
    }

    fn relationship(&mut self) -> Decoded<Relationship> {
        Ok(Relationship {
            id: self.u64()?,
            rel_type: self.shared()?,
            start: self.u64()?,
            end: self.u64()?,
            properties: self.map()?,
        })
    }

    pub(super) fn value(&mut self) -> Decoded<Value> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Malformed(format!("values nest deeper than {DEPTH_MAX}")));
        }
        let value = match self.u8()? {
            0 => Value::Null,
            1 => Value::Boolean(false),
            2 => Value::Boolean(true),
            3 => Value::Integer(i64::from_le_bytes(self.array()?)),
            4 => Value::Float(f64::from_le_bytes(self.array()?)),
            5 => Value::String(self.shared()?),
            6 => Value::Bytes(Arc::from(self.bytes()?)),
            7 => Value::List(self.list(Self::value)?),
            8 => Value::Map(self.map()?),
            9 => Value::Node(Arc::new(self.node()?)),
            10 => Value::Relationship(Arc::new(self.relationship()?)),
            11 => {
                let nodes = self.list(|r| Ok(Arc::new(r.node()?)))?;
                let relationships = self.list(|r| Ok(Arc::new(r.relationship()?)))?;
                if nodes.len() != relationships.len() + 1 {
                    let what = format!("{} nodes in a path", nodes.len());
                    return Err(Malformed(what));
                }
                Value::Path(Arc::new(Path {
                    nodes,
                    relationships,
                }))
            }
            12 => {
                let bytes = self.bytes()?;
                let (stored, length) = graven_storage::value::decode(bytes).map_err(Malformed)?;
                if length != bytes.len() {
                    let what = format!("{} bytes too many", bytes.len() - length);
                    return Err(Malformed(what));
                }
                Value::Stored(Arc::new(stored))
            }
            other => return Err(Malformed(format!("{other} is no tag of a value"))),
        };
        self.depth -= 1;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    //! Goal: every kind of value arrives as it was sent, and no cut or changed message panics.

    use super::*;
    use graven_types::vector::{CoordinateType, Number, Vector};

    fn one_of_each() -> Value {
        let node = |id: u64| {
            Arc::new(Node {
                id,
                labels: vec![Arc::from("A"), Arc::from("B")],
                properties: BTreeMap::from([(Arc::from("k"), Value::from("v"))]),
            })
        };
        let relationship = Arc::new(Relationship {
            id: 7,
            rel_type: Arc::from("T"),
            start: 1,
            end: 2,
            properties: BTreeMap::new(),
        });
        Value::List(vec![
            Value::Null,
            Value::from(true),
            Value::from(false),
            Value::Integer(i64::MIN),
            Value::Float(-0.5),
            Value::from("\u{e9}"),
            Value::Bytes(Arc::from([0_u8, 255])),
            Value::Map(BTreeMap::from([(Arc::from(""), Value::List(vec![]))])),
            Value::Node(node(3)),
            Value::Relationship(Arc::clone(&relationship)),
            Value::Path(Arc::new(Path {
                nodes: vec![node(1), node(2)],
                relationships: vec![relationship],
            })),
            Value::Stored(Arc::new(graven_types::PropertyValue::Date(-3))),
            Value::Stored(Arc::new(graven_types::PropertyValue::Vector(
                Vector::new(CoordinateType::Float32, [Number::Float(0.5)]).unwrap(),
            ))),
        ])
    }

    #[test]
    fn values_arrive_as_they_were_sent() {
        let sent = one_of_each();
        let mut writer = Writer::default();
        writer.value(&sent);
        let mut reader = Reader::new(&writer.0);
        assert_eq!(reader.value().expect("readable"), sent);
        reader.end().expect("read to its end");
    }

    #[test]
    fn cut_and_changed_messages_are_refused_or_read_as_something_else() {
        let mut writer = Writer::default();
        writer.value(&one_of_each());
        let bytes = writer.0;
        for end in 0..bytes.len() {
            assert!(Reader::new(&bytes[..end]).value().is_err(), "cut at {end}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            // Either is fine; a panic or an allocation of gigabytes is not.
            let _ = Reader::new(&changed).value();
        }
        let deep = vec![[7, 1, 0, 0, 0]; 600].concat();
        assert!(Reader::new(&deep).value().is_err());
    }
}
