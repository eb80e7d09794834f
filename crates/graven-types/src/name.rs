//! Names in the text of a statement.

/// A name between backticks, as a statement reads it back.
#[must_use]
pub fn quoted(name: &str) -> String {
    let name = name.replace('`', "``");
    // A backslash before this letter would begin the number of a character.
    format!("`{}`", name.replace("\\u", "\\u005cu"))
}
