//! Names in a database.

/// Names in a database, for completion and overviews.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Labels.
    pub labels: Vec<String>,
    /// Relationship types.
    pub types: Vec<String>,
    /// Property keys.
    pub keys: Vec<String>,
}
