//! Values as they leave and enter the library: complete, owned, without ties to the page cache.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use graven_cypher::token::written_name;
use graven_storage::PropertyValue;

/// A value of the language.
///
/// # Examples
/// ```
/// use graven::Value;
/// assert_eq!(Value::from(3), Value::Integer(3));
/// assert_eq!(Value::from("Ada").to_string(), "\"Ada\"");
/// assert_eq!(Value::from(vec![1, 2]).to_string(), "[1, 2]");
/// assert_eq!(Value::Float(2.0).to_string(), "2.0");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Absent or unknown.
    #[default]
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// 64-bit signed integer.
    Integer(i64),
    /// 64-bit float.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// List.
    List(Vec<Value>),
    /// Map, by ascending key.
    Map(BTreeMap<Arc<str>, Value>),
    /// A node with its labels and properties.
    Node(Arc<Node>),
    /// A relationship with its type, ends and properties.
    Relationship(Arc<Relationship>),
    /// A path.
    Path(Arc<Path>),
    /// A date, time, duration or point.
    Stored(Arc<PropertyValue>),
}

/// A node as a result holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Stable id within the database.
    pub id: u64,
    /// Labels, by name.
    pub labels: Vec<Arc<str>>,
    /// Properties, by key; absent ones are left out.
    pub properties: BTreeMap<Arc<str>, Value>,
}

/// A relationship as a result holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Relationship {
    /// Stable id within the database.
    pub id: u64,
    /// Name of the type.
    pub rel_type: Arc<str>,
    /// Id of the node it starts at.
    pub start: u64,
    /// Id of the node it ends at.
    pub end: u64,
    /// Properties, by key; absent ones are left out.
    pub properties: BTreeMap<Arc<str>, Value>,
}

/// A path: one node more than relationships, in order of travel.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Nodes in order; at least one.
    pub nodes: Vec<Arc<Node>>,
    /// Relationships in order, each between the nodes of its index and the next.
    pub relationships: Vec<Arc<Relationship>>,
}

impl Value {
    /// Bytes of the value with all it holds, counted as if nothing were shared.
    pub(crate) fn bytes(&self) -> usize {
        /// An entry of a map beside its key and value.
        const ENTRY: usize = 48;
        let map = |entries: &BTreeMap<Arc<str>, Value>| -> usize {
            entries
                .iter()
                .map(|(k, v)| ENTRY + k.len() + v.bytes())
                .sum()
        };
        let node = |node: &Node| 96 + node.labels.len() * 16 + map(&node.properties);
        let relationship = |r: &Relationship| 112 + map(&r.properties);
        size_of::<Value>()
            + match self {
                Value::Null | Value::Boolean(_) | Value::Integer(_) | Value::Float(_) => 0,
                Value::String(text) => text.len() + 16,
                Value::Bytes(bytes) => bytes.len() + 16,
                Value::List(items) => items.iter().map(Value::bytes).sum(),
                Value::Map(entries) => map(entries),
                Value::Node(n) => node(n),
                Value::Relationship(r) => relationship(r),
                Value::Path(path) => {
                    path.nodes.iter().map(|n| node(n)).sum::<usize>()
                        + path
                            .relationships
                            .iter()
                            .map(|r| relationship(r))
                            .sum::<usize>()
                }
                Value::Stored(stored) => 64 + stored.heap_bytes() as usize,
            }
    }

    /// The integer, if it is one.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Integer(i) => Some(*i),
            _ => None,
        }
    }

    /// The number as a float, if it is a number.
    #[must_use]
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(f) => Some(*f),
            Value::Integer(i) => Some(*i as f64),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    #[must_use]
    pub fn as_boolean(&self) -> Option<bool> {
        match self {
            Value::Boolean(b) => Some(*b),
            _ => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

macro_rules! from {
    ($($type:ty => $make:expr;)*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                ($make)(value)
            }
        })*
    };
}

from! {
    bool => Value::Boolean;
    i64 => Value::Integer;
    i32 => |v| Value::Integer(i64::from(v));
    u32 => |v| Value::Integer(i64::from(v));
    f64 => Value::Float;
    &str => |v| Value::String(Arc::from(v));
    String => |v: String| Value::String(Arc::from(v));
    BTreeMap<Arc<str>, Value> => Value::Map;
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// As the language writes it: strings quoted, nodes as `(:Label {key: value})`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Boolean(b) => write!(f, "{b}"),
            Value::Integer(i) => write!(f, "{i}"),
            Value::Float(x) => write!(f, "{x:?}"),
            Value::String(s) => quoted(f, s),
            Value::Bytes(bytes) => hexadecimal(f, bytes),
            Value::List(items) => {
                f.write_str("[")?;
                separated(f, items, |f, item| write!(f, "{item}"))?;
                f.write_str("]")
            }
            Value::Map(entries) => properties(f, entries),
            Value::Node(node) => write!(f, "{node}"),
            Value::Relationship(relationship) => write!(f, "{relationship}"),
            Value::Path(path) => write!(f, "{path}"),
            Value::Stored(stored) => {
                write!(f, "{}", graven_exec::Value::Stored(Arc::clone(stored)))
            }
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for label in &self.labels {
            write!(f, ":{}", written_name(label))?;
        }
        if !self.properties.is_empty() {
            if !self.labels.is_empty() {
                f.write_str(" ")?;
            }
            properties(f, &self.properties)?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Relationship {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[:{}", written_name(&self.rel_type))?;
        if !self.properties.is_empty() {
            f.write_str(" ")?;
            properties(f, &self.properties)?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut nodes = self.nodes.iter();
        let Some(first) = nodes.next() else {
            return Ok(());
        };
        write!(f, "{first}")?;
        let mut at = first.id;
        for (relationship, node) in self.relationships.iter().zip(nodes) {
            if relationship.start == at && (relationship.end == node.id) {
                write!(f, "-{relationship}->{node}")?;
            } else {
                write!(f, "<-{relationship}-{node}")?;
            }
            at = node.id;
        }
        Ok(())
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c.is_control() => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

fn hexadecimal(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("0x")?;
    bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
}

fn properties(f: &mut fmt::Formatter<'_>, entries: &BTreeMap<Arc<str>, Value>) -> fmt::Result {
    f.write_str("{")?;
    separated(f, entries, |f, (key, value)| {
        write!(f, "{}: {value}", written_name(key))
    })?;
    f.write_str("}")
}

fn separated<T>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u64, name: &str) -> Arc<Node> {
        let properties = [(Arc::from("name"), Value::from(name))].into();
        Arc::new(Node {
            id,
            labels: vec![Arc::from("Person")],
            properties,
        })
    }

    #[test]
    fn paths_show_the_direction_of_each_relationship() {
        let knows = |id, start, end| {
            let rel_type = Arc::from("KNOWS");
            Arc::new(Relationship {
                id,
                rel_type,
                start,
                end,
                properties: BTreeMap::new(),
            })
        };
        let path = Path {
            nodes: vec![node(1, "A"), node(2, "B"), node(1, "A")],
            relationships: vec![knows(0, 1, 2), knows(1, 1, 2)],
        };
        assert_eq!(
            Value::Path(Arc::new(path)).to_string(),
            "(:Person {name: \"A\"})-[:KNOWS]->(:Person {name: \"B\"})<-[:KNOWS]-(:Person \
                {name: \"A\"})"
        );
    }

    #[test]
    fn names_that_need_backticks_have_them() {
        let node = Node {
            id: 1,
            labels: vec![Arc::from("My Label"), Arc::from("A")],
            properties: [(Arc::from("a`b"), Value::from(1))].into(),
        };
        assert_eq!(
            Value::Node(Arc::new(node)).to_string(),
            "(:`My Label`:A {`a``b`: 1})"
        );
    }

    #[test]
    fn text_is_quoted_so_that_it_can_be_read_back() {
        assert_eq!(
            Value::from("a\"\\\n\u{1}").to_string(),
            "\"a\\\"\\\\\\n\\u0001\""
        );
        assert_eq!(Value::Null.to_string(), "null");
        assert_eq!(Value::Float(1e300).to_string(), "1e300");
        assert_eq!(Value::Bytes(Arc::from([1u8, 255])).to_string(), "0x01ff");
    }
}
