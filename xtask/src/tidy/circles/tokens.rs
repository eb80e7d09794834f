//! Rust text as tokens, as far as paths need it: names and punctuation, without comments, literals
//! and items that only tests compile.

/// A name, `::`, or one character of punctuation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    PathSeparator,
    Mark(char),
}

impl Token {
    pub(super) fn is(&self, mark: char) -> bool {
        *self == Self::Mark(mark)
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// The tokens of a file that a build without tests sees.
pub(super) fn of_product(text: &str) -> Vec<Token> {
    without_tests(&of(text))
}

fn of(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let first = bytes[at];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += block_comment(rest);
        } else if let Some(length) = raw_string(rest) {
            at += length;
        } else if first == b'"' || rest.starts_with("b\"") || rest.starts_with("c\"") {
            at += rest.find('"').unwrap_or(0);
            at += quoted(&text[at..], b'"');
        } else if rest.starts_with("b'") {
            at += 1 + quoted(&rest[1..], b'\'');
        } else if first == b'\'' {
            at += lifetime_or_character(rest);
        } else if first == b'_' || first.is_ascii_alphabetic() {
            let length = word(rest);
            tokens.push(Token::Name(rest[..length].to_owned()));
            at += length;
        } else if first.is_ascii_digit() {
            at += word(rest);
        } else if rest.starts_with("::") {
            tokens.push(Token::PathSeparator);
            at += 2;
        } else {
            if first.is_ascii_punctuation() {
                tokens.push(Token::Mark(char::from(first)));
            }
            at += 1;
        }
    }
    tokens
}

fn word(text: &str) -> usize {
    text.bytes()
        .position(|b| b != b'_' && !b.is_ascii_alphanumeric())
        .unwrap_or(text.len())
}

/// Length of a block comment; they nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// Length of a raw string, if the text starts with one.
fn raw_string(text: &str) -> Option<usize> {
    let start = ["r", "br", "cr"].iter().find_map(|prefix| {
        let rest = text.strip_prefix(prefix)?;
        rest.trim_start_matches('#')
            .starts_with('"')
            .then_some(prefix.len())
    })?;
    let hashes = text[start..].bytes().take_while(|&b| b == b'#').count();
    let body = start + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = text[body..].find(&end)?;
    Some(body + length + end.len())
}

/// Length of a literal between two `quote`s, the first of which starts the text.
fn quoted(text: &str, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// `'a` has no second quote after one character; `'x'`, `'\n'` have.
fn lifetime_or_character(text: &str) -> usize {
    let mut characters = text.chars().skip(1);
    match (characters.next(), characters.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => quoted(text, b'\''),
        _ => 1 + word(&text[1..]),
    }
}

/// Leaves out every item whose attribute is `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if is_attribute(tokens, at) {
            let end = at + 1 + closed(&tokens[at + 1..]);
            if is_of_tests(&tokens[at..end]) {
                at = end + item(&tokens[end..]);
                continue;
            }
            at = end; // attributes hold no path of the module graph
            continue;
        }
        kept.push(tokens[at].clone());
        at += 1;
    }
    kept
}

fn is_attribute(tokens: &[Token], at: usize) -> bool {
    tokens[at].is('#') && tokens.get(at + 1).is_some_and(|t| t.is('['))
}

fn is_of_tests(attribute: &[Token]) -> bool {
    let names: Vec<&str> = attribute.iter().filter_map(Token::name).collect();
    matches!(
        names.as_slice(),
        ["cfg", "test"] | ["cfg", "all", "test", ..]
    )
}

/// Length of a bracketed group that starts here, its closing bracket included.
pub(super) fn closed(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if let Token::Mark(mark) = token {
            match mark {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
    }
    tokens.len()
}

/// Length of an item: to its `;` or `,`, or to the end of its braces.
fn item(tokens: &[Token]) -> usize {
    let mut at = 0;
    while at < tokens.len() {
        if is_attribute(tokens, at) {
            at += 1 + closed(&tokens[at + 1..]);
        } else if tokens[at].is('{') {
            return at + closed(&tokens[at..]);
        } else if tokens[at].is('(') || tokens[at].is('[') {
            at += closed(&tokens[at..]);
        } else if tokens[at].is(';') || tokens[at].is(',') {
            return at + 1;
        } else {
            at += 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        of_product(text)
            .iter()
            .filter_map(|t| t.name().map(str::to_owned))
            .collect()
    }

    #[test]
    fn comments_literals_and_lifetimes_are_no_names() {
        let text = "fn f<'a>(x: &'a str) { /* one /* two */ */ g(\"h::i\", 'j', '\\'', \
            r#\"k\"l\"#, 1u8) } // m";
        assert_eq!(names(text), ["fn", "f", "x", "str", "g"]);
    }

    #[test]
    fn items_of_tests_are_left_out() {
        let text = "#[cfg(test)]\n#[allow(x)]\nmod tests { use a::b; }\n#[derive(Debug)]\nstruct \
            S;\n\
                    #[cfg(test)] use c::d;\n#[cfg(all(test, feature = \"m\"))] mod \
                    m;\n#[cfg(unix)] fn f() {}";
        assert_eq!(names(text), ["struct", "S", "fn", "f"]);
    }
}
