//! A node or relationship on its way from a file into a database.

use graven::Value;
use graven_files::elements;

/// What a file holds one after the other.
pub(crate) type Element = elements::Element<Value>;

/// Properties in the order of the file.
pub(crate) type Properties = elements::Properties<Value>;
