//! A node or relationship on its way from a file into a database.

use graven::Value;

/// Properties in the order of the file.
pub(crate) type Properties = Vec<(String, Value)>;

/// What a file holds one after the other. Ids are the file's own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Element {
    Node {
        id: String,
        labels: Vec<String>,
        properties: Properties,
    },
    Relationship {
        start: String,
        end: String,
        name: String,
        properties: Properties,
    },
}

/// Labels as `:A:B` or `A:B` names them; a label in backquotes may hold colons.
pub(crate) fn labels(text: &str) -> Vec<String> {
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
