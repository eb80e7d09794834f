//! A text of several statements, cut into statements that know their places.

use graven::statement::{is_blank, split};

/// The statements of a text, if there are several: each with blanks for what stands before it, so
/// that errors name its place in the text. None for a single statement, which is the text itself.
///
/// # Examples
/// ```
/// assert!(graven_binding::several("RETURN ';'").is_empty());
/// assert_eq!(graven_binding::several("RETURN 1; RETURN 2"), ["RETURN 1", "          RETURN 2"]);
/// ```
#[must_use]
pub fn several(text: &str) -> Vec<String> {
    if !text.contains(';') {
        return Vec::new();
    }
    let cut = split(text);
    let mut parts = cut.complete;
    if !is_blank(cut.rest) {
        parts.push(cut.rest);
    }
    if parts.len() < 2 {
        return Vec::new();
    }
    let placed = parts.into_iter().map(|part| {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        let before = text[..start].chars();
        let blanks = before.map(|c| if c == '\n' { c } else { ' ' });
        blanks.chain(part.chars()).collect()
    });
    placed.collect()
}
