//! Indexes and constraints as they are asked for and as the catalogue lists them.
//!
//! # How it works
//! Uniqueness and node-key constraints own a unique index of the same keys; node-key and existence
//! constraints also demand the properties. Names are unique over indexes and constraints together.
//! A table of another database is a label or a type with constraints on the types of its
//! properties, in the order in which they were made, and on the ends of its relationships.

mod property_type;

use crate::delta::change::ColumnOf;
use crate::ids::{KeyId, LabelId, TypeId};
use std::sync::Arc;

pub use property_type::PropertyType;

/// What an index or a constraint is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum SchemaEntity {
    /// Nodes with a label.
    Node(LabelId),
    /// Relationships of a type.
    Relationship(TypeId),
}

impl SchemaEntity {
    /// Where one of its properties is kept.
    pub(crate) fn column(self, key: KeyId) -> ColumnOf {
        match self {
            SchemaEntity::Node(_) => ColumnOf::Node(key),
            SchemaEntity::Relationship(rel_type) => ColumnOf::Relationship(rel_type, key),
        }
    }
}

/// An index to be created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexSpec {
    /// Its name; `None` makes one from label and keys.
    pub name: Option<String>,
    /// What is indexed.
    pub entity: SchemaEntity,
    /// The properties that make the key, in order. Only entities that have them all are in the
    /// index.
    pub keys: Vec<KeyId>,
    /// At most one entity per key.
    pub unique: bool,
    /// What it was made as.
    pub kind: IndexKind,
}

/// What an index was made as. All kinds are kept and used alike; each may be there once on the same
/// keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[non_exhaustive]
pub enum IndexKind {
    /// `RANGE`.
    #[default]
    Range,
    /// `TEXT`.
    Text,
    /// `POINT`.
    Point,
}

impl IndexKind {
    /// All kinds, each at the place of its number.
    pub(crate) const ALL: [IndexKind; 3] = [IndexKind::Range, IndexKind::Text, IndexKind::Point];

    /// Its name in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            IndexKind::Range => "RANGE",
            IndexKind::Text => "TEXT",
            IndexKind::Point => "POINT",
        }
    }
}

/// What a constraint demands.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConstraintKind {
    /// No two entities have the same values.
    Unique,
    /// Every entity has all properties, and no two have the same values.
    NodeKey,
    /// Every entity has all properties.
    Exists,
    /// The property, where it is there, is of a type.
    Typed {
        /// The type, which may also demand that the property is there.
        of: PropertyType,
        /// What the property of something new is where a statement gives none: an expression of
        /// the language. The store keeps it and does not read it.
        default: Option<Arc<str>>,
    },
    /// Relationships of a type join nodes with certain labels.
    Ends(RelationshipEnds),
}

impl ConstraintKind {
    /// Whether every entity must have the properties.
    #[must_use]
    pub fn is_required(&self) -> bool {
        match self {
            ConstraintKind::NodeKey | ConstraintKind::Exists => true,
            ConstraintKind::Typed { of, .. } => of.is_required(),
            ConstraintKind::Unique | ConstraintKind::Ends(_) => false,
        }
    }

    /// Whether it owns a unique index.
    pub(crate) fn has_index(&self) -> bool {
        matches!(self, ConstraintKind::Unique | ConstraintKind::NodeKey)
    }

    /// Whether builds of format 1 before this one do not know it.
    pub(crate) fn is_of_types(&self) -> bool {
        matches!(self, ConstraintKind::Typed { .. } | ConstraintKind::Ends(_))
    }

    /// Whether it says something of vectors, which builds before them do not know.
    pub(crate) fn is_of_vectors(&self) -> bool {
        matches!(self, ConstraintKind::Typed { of, .. } if of.names_vectors())
    }
}

/// Which nodes the relationships of a type join.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RelationshipEnds {
    /// Labels of the start and of the end, of which one pair has to fit.
    pub pairs: Vec<(LabelId, LabelId)>,
    /// At most one relationship starts at a node.
    pub one_out: bool,
    /// At most one relationship ends at a node.
    pub one_in: bool,
}

/// A constraint to be created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstraintSpec {
    /// Its name; `None` makes one from label, keys and kind.
    pub name: Option<String>,
    /// What it demands.
    pub kind: ConstraintKind,
    /// Of what.
    pub entity: SchemaEntity,
    /// The properties; none of a constraint on ends.
    pub keys: Vec<KeyId>,
}

/// A constraint as the catalogue lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstraintDescription {
    /// Its name.
    pub name: Arc<str>,
    /// What it demands.
    pub kind: ConstraintKind,
    /// Of what.
    pub entity: SchemaEntity,
    /// The properties.
    pub keys: Vec<KeyId>,
    /// Number of the index that enforces uniqueness.
    pub index: Option<u32>,
}
