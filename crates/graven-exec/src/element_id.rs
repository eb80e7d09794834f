//! The texts by which other programs name nodes and relationships.
//!
//! # How it works
//! The identity of the store in hexadecimal digits, a letter for the kind and the id, between
//! colons: programs for Neo4j keep such texts and send them back, so one of another store is none.

use std::fmt::Write as _;

/// The text for a node (`n`) or relationship (`r`) of the store with this identity.
#[must_use]
pub fn element_id(store: &[u8; 16], kind: char, id: u64) -> String {
    let mut text = String::with_capacity(48);
    for byte in store {
        let _ = write!(text, "{byte:02x}");
    }
    let _ = write!(text, ":{kind}:{id}");
    text
}

/// The id in a text that [`element_id`] gives; none for any other text, or one of another store.
#[must_use]
pub fn of_element_id(store: &[u8; 16], kind: char, text: &str) -> Option<u64> {
    let (_, id) = text.rsplit_once(':')?;
    let id = id.parse().ok()?;
    (element_id(store, kind, id) == text).then_some(id)
}
