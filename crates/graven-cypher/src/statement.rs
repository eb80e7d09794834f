//! Cuts a text into statements at semicolons that stand outside strings, quoted names and comments.

/// What the splitter is inside of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Inside {
    Code,
    Quoted(char),
    LineComment,
    BlockComment,
}

/// A text cut into statements.
#[derive(Debug, PartialEq, Eq)]
pub struct Statements<'a> {
    /// Complete ones, without their semicolons and the space around them, blank ones left out.
    pub complete: Vec<&'a str>,
    /// What follows the last semicolon.
    pub rest: &'a str,
}

/// Cuts the text.
pub fn split(text: &str) -> Statements<'_> {
    let mut complete = Vec::new();
    let mut start = 0;
    let mut inside = Inside::Code;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, c)| *c);
        match inside {
            Inside::Code => match (c, next) {
                (';', _) => {
                    complete.push(text[start..at].trim());
                    start = at + 1;
                }
                ('\'' | '"' | '`', _) => inside = Inside::Quoted(c),
                ('/', Some('/')) => inside = Inside::LineComment,
                ('/', Some('*')) => {
                    chars.next();
                    inside = Inside::BlockComment;
                }
                _ => {}
            },
            Inside::Quoted(quote) => {
                if c == '\\' && quote != '`' {
                    chars.next();
                } else if c == quote {
                    // A doubled quote ends and begins again, which comes to the same.
                    inside = Inside::Code;
                }
            }
            Inside::LineComment => {
                if matches!(c, '\n' | '\r') {
                    inside = Inside::Code;
                }
            }
            Inside::BlockComment => {
                if (c, next) == ('*', Some('/')) {
                    chars.next();
                    inside = Inside::Code;
                }
            }
        }
    }
    complete.retain(|s| !is_blank(s));
    Statements {
        complete,
        rest: &text[start..],
    }
}

/// The line of `text` in which its part `statement` begins, from 1 on.
pub fn line_of(text: &str, statement: &str) -> usize {
    let blank = statement.len() - statement.trim_start().len();
    let start = (statement.as_ptr() as usize + blank).saturating_sub(text.as_ptr() as usize);
    1 + text.bytes().take(start).filter(|b| *b == b'\n').count()
}

/// Whether there is nothing but space and comments.
pub fn is_blank(text: &str) -> bool {
    without_comments(text).is_empty()
}

/// What follows the space and the comments in front of a statement.
pub fn without_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment
                .split_once(['\n', '\r'])
                .map_or("", |(_, after)| after);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else {
            return rest;
        }
        rest = rest.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_in_strings_names_and_comments_do_not_end_a_statement() {
        let text = "RETURN ';' AS `a;b`; // no; end\rRETURN \"\\\";\" /* ; */ AS x;\n RETURN 3";
        let cut = split(text);
        assert_eq!(
            cut.complete,
            [
                "RETURN ';' AS `a;b`",
                "// no; end\rRETURN \"\\\";\" /* ; */ AS x"
            ]
        );
        assert_eq!(cut.rest, "\n RETURN 3");
    }

    #[test]
    fn blank_statements_are_left_out() {
        let cut = split(";; /* nothing */ ; // also nothing");
        assert!(cut.complete.is_empty());
        assert!(is_blank(cut.rest));
        assert!(!is_blank("/ 2"));
        assert!(!is_blank("// nothing\r2"));
    }

    #[test]
    fn an_open_string_keeps_the_rest_open() {
        let cut = split("RETURN 'a; b");
        assert!(cut.complete.is_empty());
        assert_eq!(cut.rest, "RETURN 'a; b");
    }
}
