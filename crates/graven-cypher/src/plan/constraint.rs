//! What constraints demand, as statements say it.

use std::sync::Arc;

/// What a constraint demands.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// No two have the same values.
    Unique,
    /// All have the properties, and no two the same values.
    Key,
    /// All have the properties.
    Exists,
    /// The property is of the type `of`; what is new and has none gets `default`.
    Typed {
        of: Arc<str>,
        default: Option<Arc<str>>,
    },
    /// Relationships join nodes with one of these pairs of labels; at most one starts, or ends, at
    /// a node.
    Ends {
        pairs: Vec<(Arc<str>, Arc<str>)>,
        one_out: bool,
        one_in: bool,
    },
}
