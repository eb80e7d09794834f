//! Types in the text of a statement, taken apart: `STRUCT(a INT64, b MAP(STRING, INT64))`.

use std::borrow::Cow;

/// What stands between commas, but for those within brackets or backticks.
#[must_use]
pub fn parts(inside: &str) -> Vec<&str> {
    let (mut depth, mut is_quoted) = (0_u32, false);
    inside
        .split(|c: char| {
            match c {
                '`' => is_quoted = !is_quoted,
                '(' | '<' if !is_quoted => depth += 1,
                ')' | '>' if !is_quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0 && !is_quoted
        })
        .collect()
}

/// The name, without its backticks, and the type of `name TYPE`.
#[must_use]
pub fn field(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let Some(quoted) = text.trim().strip_prefix('`') else {
        let (name, of) = text.trim().split_once(char::is_whitespace)?;
        return Some((name.into(), of));
    };
    let mut from = 0;
    loop {
        let end = from + quoted[from..].find('`')?;
        match quoted[end + 1..].strip_prefix('`') {
            // Two of them stand for one.
            Some(_) => from = end + 2,
            None => return Some((quoted[..end].replace("``", "`").into(), &quoted[end + 1..])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{field, parts};

    /// Goal: brackets and commas within a name between backticks are part of it.
    #[test]
    fn names_between_backticks_are_whole() {
        let fields = "a INT64, `b), (``c` STRUCT(d DECIMAL(5, 2), e LIST<STRING>), f MAP(A, B)[]";
        let found: Vec<_> = parts(fields).into_iter().map(field).collect();
        let wanted = [
            ("a", "INT64"),
            ("b), (`c", "STRUCT(d DECIMAL(5, 2), e LIST<STRING>)"),
            ("f", "MAP(A, B)[]"),
        ];
        assert_eq!(found.len(), wanted.len());
        for (found, (name, of)) in found.into_iter().zip(wanted) {
            let (is, of_is) = found.expect("a field");
            assert_eq!((&*is, of_is.trim()), (name, of));
        }
        for none in ["", "a", "`a", "`a``"] {
            assert_eq!(field(none), None, "{none}");
        }
    }
}
