//! A column of a file.

use crate::kind::Kind;

/// A column of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
}
