//! Values in a message: numbers, texts, lists and maps, and the structures of nodes, relationships,
//! paths and stored values.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use graven::{Node, Path, Relationship, Value};

use super::{DEPTH_MAX, Reader, Unreadable, Writer};
use crate::temporal_codec;

impl Writer<'_> {
    pub(crate) fn entries(&mut self, entries: &BTreeMap<Arc<str>, Value>) {
        self.map(entries.len());
        for (key, value) in entries {
            self.text(key);
            self.value(value);
        }
    }

    pub(crate) fn value(&mut self, value: &Value) {
        if self.has_ended {
            return;
        }
        self.make_room();
        match value {
            Value::Null => self.null(),
            Value::Boolean(b) => self.boolean(*b),
            Value::Integer(i) => self.integer(*i),
            Value::Float(x) => self.float(*x),
            Value::String(text) => self.text(text),
            Value::Bytes(bytes) => self.bytes(bytes),
            Value::List(items) => {
                self.list(items.len());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Map(entries) => self.entries(entries),
            Value::Node(node) => put_node(self, node),
            Value::Relationship(relationship) => put_relationship(self, relationship),
            Value::Path(path) => put_path(self, path),
            Value::Stored(value) => temporal_codec::write(self, value),
            other => self.text(&other.to_string()),
        }
    }
}

impl Reader<'_> {
    pub(crate) fn value(&mut self) -> Result<Value, Unreadable> {
        self.nested(0)
    }

    fn nested(&mut self, depth: usize) -> Result<Value, Unreadable> {
        if depth > DEPTH_MAX {
            return Err(Unreadable::Deep);
        }
        self.left = self.left.checked_sub(1).ok_or(Unreadable::Many)?;
        Ok(match self.byte()? {
            marker @ (0..=0x7f | 0xf0..=0xff) => Value::Integer(marker.cast_signed().into()),
            0xc0 => Value::Null,
            0xc1 => Value::Float(f64::from_be_bytes(self.array()?)),
            0xc2 => Value::Boolean(false),
            0xc3 => Value::Boolean(true),
            0xc8 => Value::Integer(i8::from_be_bytes(self.array()?).into()),
            0xc9 => Value::Integer(i16::from_be_bytes(self.array()?).into()),
            0xca => Value::Integer(i32::from_be_bytes(self.array()?).into()),
            0xcb => Value::Integer(i64::from_be_bytes(self.array()?)),
            marker @ 0xcc..=0xce => {
                let size = self.size(u32::from(marker - 0xcc))?;
                Value::Bytes(Arc::from(self.take(size)?))
            }
            marker @ 0x80..=0x8f => Value::from(self.text(usize::from(marker & 15))?),
            marker @ 0xd0..=0xd2 => {
                let size = self.size(u32::from(marker - 0xd0))?;
                Value::from(self.text(size)?)
            }
            marker @ 0x90..=0x9f => self.list(usize::from(marker & 15), depth)?,
            marker @ 0xd4..=0xd6 => {
                let len = self.size(u32::from(marker - 0xd4))?;
                self.list(len, depth)?
            }
            marker @ 0xa0..=0xaf => self.map(usize::from(marker & 15), depth)?,
            marker @ 0xd8..=0xda => {
                let len = self.size(u32::from(marker - 0xd8))?;
                self.map(len, depth)?
            }
            marker @ 0xb0..=0xbf => {
                let signature = self.byte()?;
                let fields = (0..marker & 15).map(|_| self.nested(depth + 1));
                let fields = fields.collect::<Result<Vec<Value>, Unreadable>>()?;
                temporal_codec::read(signature, &fields)?
            }
            marker => return Err(Unreadable::Marker(marker)),
        })
    }

    fn list(&mut self, len: usize, depth: usize) -> Result<Value, Unreadable> {
        // A value takes a byte at least: a length beyond that is found out before memory is taken
        // for it (BO-1).
        if len > self.rest.len() {
            return Err(Unreadable::Ends);
        }
        let items = (0..len).map(|_| self.nested(depth + 1));
        Ok(Value::List(items.collect::<Result<_, _>>()?))
    }

    fn map(&mut self, len: usize, depth: usize) -> Result<Value, Unreadable> {
        let mut entries = BTreeMap::new();
        for _ in 0..len {
            let Value::String(key) = self.nested(depth + 1)? else {
                return Err(Unreadable::Wanted("a text as the key of a map"));
            };
            entries.insert(key, self.nested(depth + 1)?);
        }
        Ok(Value::Map(entries))
    }
}

const NODE: u8 = 0x4e;
const RELATIONSHIP: u8 = 0x52;
/// A relationship within a path, which knows its ends.
const UNBOUND: u8 = 0x72;
const PATH: u8 = 0x50;

/// Ids are numbers, and from version 5 on texts as well: what `elementId()` says.
fn element_id(to: &mut Writer<'_>, kind: char, id: u64) {
    let text = format!("{}:{kind}:{id}", to.store);
    to.text(&text);
}

fn put_node(to: &mut Writer<'_>, node: &Node) {
    to.make_room();
    to.structure(NODE, if to.version.is_5() { 4 } else { 3 });
    to.integer(node.id.cast_signed());
    to.list(node.labels.len());
    node.labels.iter().for_each(|label| to.text(label));
    to.entries(&node.properties);
    if to.version.is_5() {
        element_id(to, 'n', node.id);
    }
}

fn put_relationship(to: &mut Writer<'_>, it: &Relationship) {
    to.structure(RELATIONSHIP, if to.version.is_5() { 8 } else { 5 });
    for id in [it.id, it.start, it.end] {
        to.integer(id.cast_signed());
    }
    to.text(&it.rel_type);
    to.entries(&it.properties);
    if to.version.is_5() {
        element_id(to, 'r', it.id);
        element_id(to, 'n', it.start);
        element_id(to, 'n', it.end);
    }
}

/// A path names each node and each relationship once; then the steps, as places in these lists: of
/// a relationship from 1 on, negative where it is travelled backwards, and of the node behind it
/// from 0 on.
fn put_path(to: &mut Writer<'_>, path: &Path) {
    /// Those that differ, and the place of each by its id.
    struct Once<'a, T>(Vec<&'a T>, HashMap<u64, i64>);
    impl<'a, T> Once<'a, T> {
        fn place(&mut self, id: u64, it: &'a T) -> i64 {
            *self.1.entry(id).or_insert_with(|| {
                self.0.push(it);
                i64::try_from(self.0.len() - 1).expect("a path is in memory")
            })
        }
    }
    let mut nodes: Once<'_, Node> = Once(Vec::new(), HashMap::new());
    let mut relationships: Once<'_, Relationship> = Once(Vec::new(), HashMap::new());
    let mut steps = Vec::new();
    let mut ends = path.nodes.iter();
    let mut at = ends.next().map(|first| {
        nodes.place(first.id, first);
        first.id
    });
    for (relationship, end) in path.relationships.iter().zip(ends) {
        let number = 1 + relationships.place(relationship.id, relationship);
        let forwards = at == Some(relationship.start) && relationship.end == end.id;
        steps.push(if forwards { number } else { -number });
        steps.push(nodes.place(end.id, end));
        at = Some(end.id);
    }
    let (nodes, relationships) = (nodes.0, relationships.0);
    to.structure(PATH, 3);
    to.list(nodes.len());
    nodes.iter().for_each(|it| put_node(to, it));
    to.list(relationships.len());
    for it in relationships {
        to.make_room();
        to.structure(UNBOUND, if to.version.is_5() { 4 } else { 3 });
        to.integer(it.id.cast_signed());
        to.text(&it.rel_type);
        to.entries(&it.properties);
        if to.version.is_5() {
            element_id(to, 'r', it.id);
        }
    }
    to.list(steps.len());
    for step in steps {
        to.make_room();
        to.integer(step);
    }
}
