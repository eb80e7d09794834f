//! Nodes and relationships in the files that other programs export, one after the other.
//!
//! # How it works
//! A reader is an iterator over a text: [`Json`] for the lines of APOC's exports, [`GraphMl`] for
//! GraphML. Each element comes with the line on which it ends. After an error it is not read on.

mod graphml;
mod json;

use graven_types::PropertyValue;

pub use graphml::GraphMl;
pub use json::Json;

/// Properties in the order of the file.
pub type Properties<V = PropertyValue> = Vec<(String, V)>;

/// A node or relationship. Ids are the file's own.
#[derive(Clone, Debug, PartialEq)]
pub enum Element<V = PropertyValue> {
    /// A node.
    Node {
        /// Its id.
        id: String,
        /// Its labels.
        labels: Vec<String>,
        /// Its properties.
        properties: Properties<V>,
    },
    /// A relationship.
    Relationship {
        /// The id of the node where it starts.
        start: String,
        /// The id of the node where it ends.
        end: String,
        /// Its type.
        name: String,
        /// Its properties.
        properties: Properties<V>,
    },
}

impl<V> Element<V> {
    /// The same with other values.
    pub fn with_values<U>(self, value: impl Fn(V) -> U) -> Element<U> {
        let all = |properties: Properties<V>| {
            let properties = properties.into_iter();
            properties.map(|(key, own)| (key, value(own))).collect()
        };
        match self {
            Element::Node {
                id,
                labels,
                properties,
            } => Element::Node {
                id,
                labels,
                properties: all(properties),
            },
            Element::Relationship {
                start,
                end,
                name,
                properties,
            } => Element::Relationship {
                start,
                end,
                name,
                properties: all(properties),
            },
        }
    }
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Line of the file, from 1.
    pub line: u64,
    /// What is wrong, as the end of a sentence, and what to do.
    pub message: String,
}

/// Labels as `:A:B` or `A:B` names them; a label in backquotes may hold colons.
#[must_use]
pub fn labels(text: &str) -> Vec<String> {
    let mut labels = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        rest = rest.strip_prefix(':').unwrap_or(rest);
        let (mut label, mut end) = (String::new(), rest.len());
        let mut quoted = false;
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '`' if quoted && chars.peek().is_some_and(|(_, next)| *next == '`') => {
                    chars.next();
                    label.push('`');
                }
                '`' => quoted = !quoted,
                ':' if !quoted => {
                    end = at;
                    break;
                }
                c => label.push(c),
            }
        }
        if !label.is_empty() {
            labels.push(label);
        }
        rest = &rest[end..];
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_cut_at_colons_outside_backquotes() {
        assert_eq!(labels(":A:B"), ["A", "B"]);
        assert_eq!(labels("A"), ["A"]);
        assert_eq!(labels(""), Vec::<String>::new());
        assert_eq!(labels(":`a:b`:`q``x`"), ["a:b", "q`x"]);
    }
}
