//! Values of the language while a statement runs.
//!
//! # How it works
//! A [`Value`] is 24 bytes: scalars in place, everything larger behind an `Arc`, so copying a value
//! never copies text, lists or maps. Nodes and relationships are ids; their labels and properties
//! are fetched through the snapshot when an expression or the result asks for them.
//!
//! The language has three different notions of sameness, each in its own file:
//! * equality (`=`, three-valued, null is unknown): [`equality`];
//! * equivalence (`DISTINCT`, grouping; null equals null, NaN equals NaN): [`equality`] and
//!   [`hash`];
//! * order (`<` within comparable types: [`order::compare`]; over all values:
//!   [`order::total_order`]).
//!
//! # Invariants
//! * EX-1 A [`Map`] is sorted by key and has no duplicate keys.
//! * EX-2 Equivalent values have equal hashes ([`hash`]); `1` and `1.0` are equivalent.
//! * EX-3 A value never borrows from the page cache.

pub mod arithmetic;
pub mod convert;
pub(crate) mod coordinate_system;
pub mod equality;
pub mod format;
pub mod hash;
pub mod order;
pub(crate) mod standing;

use std::sync::Arc;

pub use standing::Standing;

use graven_storage::{NodeId, PropertyValue, RelId};
use graven_types::Vector;

/// A value of the language.
#[derive(Clone, Debug, Default)]
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
    /// Bytes; stored and returned, the language has no literal for them.
    Bytes(Arc<[u8]>),
    /// List.
    List(Arc<[Value]>),
    /// Map from text to values.
    Map(Arc<Map>),
    /// A node, by id.
    Node(NodeId),
    /// A relationship, by id.
    Relationship(RelId),
    /// A path.
    Path(Arc<Path>),
    /// A stored value of a type that stands in no other variant: dates, times, durations, points,
    /// vectors. Never one of the types above.
    Stored(Arc<PropertyValue>),
}

/// A map value: entries sorted by key, keys unique (EX-1).
#[derive(Clone, Debug, Default)]
pub struct Map {
    entries: Vec<(Arc<str>, Value)>,
    /// What it stands for; none: it is a map and nothing else.
    standing: Option<Box<Standing>>,
}

impl Map {
    /// The map of these entries; of two entries with one key the later wins.
    #[must_use]
    pub fn new(mut entries: Vec<(Arc<str>, Value)>) -> Self {
        // A stable sort keeps the written order of equal keys, so the last one of a run is the
        // latest.
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = std::mem::take(&mut later.1);
            }
            same
        });
        Self {
            entries,
            standing: None,
        }
    }

    /// The map of these properties, which stands for a node, relationship or path.
    #[must_use]
    pub fn standing_for(standing: Standing, properties: Vec<(Arc<str>, Value)>) -> Self {
        Self {
            standing: Some(Box::new(standing)),
            ..Self::new(properties)
        }
    }

    /// What it stands for, if anything.
    #[must_use]
    pub fn standing(&self) -> Option<&Standing> {
        self.standing.as_deref()
    }

    /// The value under `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries
            .binary_search_by(|(k, _)| (**k).cmp(key))
            .ok()
            .map(|i| &self.entries[i].1)
    }

    /// All entries, by ascending key.
    #[must_use]
    pub fn entries(&self) -> &[(Arc<str>, Value)] {
        &self.entries
    }
}

/// A path: one node more than relationships, in order of travel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// Nodes in order; at least one.
    pub nodes: Vec<NodeId>,
    /// Relationships in order; `relationships[i]` joins `nodes[i]` and `nodes[i + 1]`, in either
    /// direction.
    pub relationships: Vec<RelId>,
}

impl Value {
    /// A text value.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::String(Arc::from(text))
    }

    /// A list value.
    #[must_use]
    pub fn list(values: Vec<Value>) -> Self {
        Self::List(Arc::from(values))
    }

    /// A map value.
    #[must_use]
    pub fn map(entries: Vec<(Arc<str>, Value)>) -> Self {
        Self::Map(Arc::new(Map::new(entries)))
    }

    /// Whether this is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The vector, if it is one.
    pub(crate) fn as_vector(&self) -> Option<&Vector> {
        match self {
            Self::Stored(stored) => match &**stored {
                PropertyValue::Vector(vector) => Some(vector),
                _ => None,
            },
            _ => None,
        }
    }

    /// Name of the type as messages give it.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "Null",
            Self::Boolean(_) => "Boolean",
            Self::Integer(_) => "Integer",
            Self::Float(_) => "Float",
            Self::String(_) => "String",
            Self::Bytes(_) => "Bytes",
            Self::List(_) => "List",
            Self::Map(map) => match map.standing() {
                None => "Map",
                Some(Standing::Node { .. }) => "Node",
                Some(Standing::Relationship { .. }) => "Relationship",
                Some(Standing::Path { .. }) => "Path",
            },
            Self::Node(_) => "Node",
            Self::Relationship(_) => "Relationship",
            Self::Path(_) => "Path",
            Self::Stored(stored) => convert::stored_type_name(stored),
        }
    }

    /// Heap bytes behind this value, counted as if nothing were shared: what a buffering operator
    /// reserves.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let held = match self {
            Self::List(items) => items.iter().map(Value::heap_bytes).sum(),
            Self::Map(map) => {
                let entries = map.entries().iter();
                entries
                    .map(|(key, value)| key_bytes(key) + value.heap_bytes())
                    .sum()
            }
            _ => 0,
        };
        self.own_bytes() + held
    }

    /// Heap bytes that the value takes beside another one, which stays with it: what is the same in
    /// both is there once. So is what the items of a list have from those before them.
    pub(crate) fn bytes_beside(&self, other: &Value) -> usize {
        if self.is_same(other) {
            return 0;
        }
        let held = match (self, other) {
            (Self::List(items), other) => {
                let others: &[Value] = match other {
                    Self::List(others) => others,
                    _ => &[],
                };
                let mut before = &Self::Null;
                let each = items.iter().enumerate().map(|(at, item)| {
                    let beside = match others.get(at) {
                        Some(other) if !item.is_same(before) => other,
                        _ => before,
                    };
                    before = item;
                    item.bytes_beside(beside)
                });
                each.sum()
            }
            (Self::Map(map), other) => {
                let others: &[(Arc<str>, Value)] = match other {
                    Self::Map(others) => others.entries(),
                    _ => &[],
                };
                let each = map.entries().iter().enumerate().map(|(at, (key, value))| {
                    let (known, beside) = match others.get(at) {
                        Some((of, other)) if of == key => (Arc::ptr_eq(of, key), other),
                        _ => (false, &Self::Null),
                    };
                    let own = if known { 0 } else { key_bytes(key) };
                    own + value.bytes_beside(beside)
                });
                each.sum()
            }
            _ => 0,
        };
        self.own_bytes() + held
    }

    /// Whether both are one on the heap.
    fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Self::String(one), Self::String(other)) => Arc::ptr_eq(one, other),
            (Self::Bytes(one), Self::Bytes(other)) => Arc::ptr_eq(one, other),
            (Self::List(one), Self::List(other)) => Arc::ptr_eq(one, other),
            (Self::Map(one), Self::Map(other)) => Arc::ptr_eq(one, other),
            (Self::Path(one), Self::Path(other)) => Arc::ptr_eq(one, other),
            (Self::Stored(one), Self::Stored(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Heap bytes of the value beside those of the keys and values in it.
    pub(crate) fn own_bytes(&self) -> usize {
        let counted = |bytes: usize| piece(COUNTS + bytes);
        match self {
            Self::String(text) => counted(text.len()),
            Self::Bytes(bytes) => counted(bytes.len()),
            Self::List(items) => counted(size_of_val(&**items)),
            Self::Map(map) => {
                counted(size_of::<Map>())
                    + piece(size_of_val(map.entries()))
                    + map.standing().map_or(0, Standing::heap_bytes)
            }
            Self::Path(path) => {
                counted(size_of::<Path>())
                    + piece(8 * path.nodes.len())
                    + piece(8 * path.relationships.len())
            }
            Self::Stored(stored) => {
                let held = match &**stored {
                    PropertyValue::Vector(vector) => counted(vector.bytes().len()),
                    _ => 0,
                };
                counted(size_of::<PropertyValue>()) + held
            }
            Self::Null
            | Self::Boolean(_)
            | Self::Integer(_)
            | Self::Float(_)
            | Self::Node(_)
            | Self::Relationship(_) => 0,
        }
    }
}

/// Bytes in front of what an [`Arc`] holds: the numbers of its holders.
const COUNTS: usize = 16;

/// About what the allocator takes for a piece of so many bytes, its own head included: maps and
/// texts of a few bytes take a third more than their content.
pub(crate) const fn piece(bytes: usize) -> usize {
    const UNIT: usize = 16;
    match bytes {
        0 => 0,
        bytes if bytes <= UNIT + 8 => 2 * UNIT,
        bytes => (bytes + 8).next_multiple_of(UNIT),
    }
}

/// Heap bytes of a key of a map.
pub(crate) fn key_bytes(key: &str) -> usize {
    piece(COUNTS + key.len())
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::text(value)
    }
}

impl From<Option<bool>> for Value {
    /// Three-valued logic: `None` is unknown, thus null.
    fn from(value: Option<bool>) -> Self {
        value.map_or(Self::Null, Self::Boolean)
    }
}

/// Equivalence, not the language's `=`: null equals null and NaN equals NaN. See
/// [`equality::equals`] for `=`.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        equality::equivalent(self, other)
    }
}

impl Eq for Value {}
