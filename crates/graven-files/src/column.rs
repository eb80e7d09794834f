//! A column of a file.

use crate::kind::Kind;

/// Columns that a source may have.
pub(crate) const COLUMNS_MAX: usize = 10_000;
/// What to do about more.
pub(crate) const AS_LIST: &str = "LOAD CSV gives a record as one list";

/// A column of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
    /// The type that the file states, where the kind says less of it: `DECIMAL(5, 2)`.
    pub stated: Option<String>,
}
