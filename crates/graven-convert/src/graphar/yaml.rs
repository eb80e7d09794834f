//! Text of YAML, in the plain form that all of GraphAr's libraries read.
//!
//! # How it works
//! Blocks, a scalar a line. Names that are more than letters, digits and a few marks stand in
//! quotes, with characters beyond ASCII as escapes: GraphAr's C++ library refuses a file with such
//! characters, and shows their escapes.

/// A text that is being made.
#[derive(Default)]
pub(super) struct Yaml {
    pub(super) text: String,
}

/// A scalar that is read as this text.
pub(super) fn scalar(text: &str) -> String {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
    // What YAML 1.1 or 1.2 reads as something else than text.
    let is_word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    if starts && !is_word && text.chars().all(plain) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            ' '..='~' => out.push(c),
            c if u32::from(c) > 0xffff => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

impl Yaml {
    /// A line of so many levels.
    pub(super) fn line(&mut self, level: usize, text: &str) {
        self.text.push_str(&"  ".repeat(level));
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// A key with a text.
    pub(super) fn entry(&mut self, level: usize, key: &str, value: &str) {
        self.line(level, &format!("{key}: {}", scalar(value)));
    }

    /// A key with a value that needs no quotes: a number, a truth value, a type, a version.
    pub(super) fn plain(&mut self, level: usize, key: &str, value: impl std::fmt::Display) {
        self.line(level, &format!("{key}: {value}"));
    }

    /// A key with a list of texts.
    pub(super) fn list(&mut self, level: usize, key: &str, items: &[impl AsRef<str>]) {
        if items.is_empty() {
            return self.plain(level, key, "[]");
        }
        self.line(level, &format!("{key}:"));
        for item in items {
            self.line(level + 1, &format!("- {}", scalar(item.as_ref())));
        }
    }
}

#[cfg(test)]
mod tests {
    //! Goal: a YAML reader gives back what was written.

    use super::*;

    #[test]
    fn scalars_are_read_back() {
        for text in [
            "Person",
            "knows_2",
            "true",
            "No",
            "12",
            "1.5",
            "-",
            "",
            " blank ",
            "a: b",
            "# no comment",
            "say \"hi\" \\ it's",
            "gr\u{fc}n \u{1F600}",
            "line\nfeed\ttab\u{1}",
            "list<int64>",
            "~",
            "@x",
        ] {
            let mut yaml = Yaml::default();
            yaml.list(0, "key", &[text]);
            let read: std::collections::BTreeMap<String, Vec<String>> =
                serde_saphyr::from_str(&yaml.text).expect(&yaml.text);
            assert_eq!(read["key"], [text], "{}", yaml.text);
            assert!(yaml.text.is_ascii());
        }
    }
}
