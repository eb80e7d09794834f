//! Names in a database, and the names that it has itself.

use std::path::Path;

/// The name under which drivers know a database, and the one they ask for unless told otherwise.
pub(crate) const USUAL: &str = "neo4j";

/// The name under which drivers ask for users and databases, and whether they may log in.
pub(crate) const SYSTEM: &str = "system";

/// The name of the database of a file: the file's, without its ending.
pub(crate) fn of_file(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Whether both are the same name of a database: letters may be large or small.
pub(crate) fn is_same(name: &str, other: &str) -> bool {
    name == other || name.to_lowercase() == other.to_lowercase()
}

/// Whether the database of this file is meant by the name.
pub(crate) fn is_of_file(name: &str, path: &Path) -> bool {
    [USUAL, SYSTEM, &of_file(path)]
        .iter()
        .any(|own| is_same(own, name))
}

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
