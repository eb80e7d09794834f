//! Errors of a statement: a stable code, where it is, what to do.
//!
//! # How it works
//! [`Code`] names follow the openCypher error vocabulary: a category (`SyntaxError`, `TypeError`,
//! ...) and a detail (`UndefinedVariable`, ...). [`Diagnostic::render`] shows the line with a caret
//! under the place; [`Excerpt`] does so for errors that are met while a statement runs. Lines and
//! columns are 1-based; a column counts characters, not bytes.

use std::fmt;
use std::sync::Arc;

use graven_types::told;
use unicode_width::UnicodeWidthChar as _;

use crate::token::Span;

macro_rules! detail {
    ($name:ident) => {
        stringify!($name)
    };
    ($name:ident $detail:literal) => {
        $detail
    };
}

macro_rules! codes {
    ($($category:literal { $($name:ident $(as $detail:literal)?,)* })*) => {
        /// What is wrong, by openCypher's names.
        #[expect(missing_docs, reason = "each variant is the error of its name")]
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[non_exhaustive]
        pub enum Code { $($($name,)*)* }

        impl Code {
            /// The openCypher error type, for example `SyntaxError`.
            #[must_use]
            pub fn category(self) -> &'static str {
                match self { $($(Code::$name => $category,)*)* }
            }

            /// The openCypher detail, for example `UndefinedVariable`.
            #[must_use]
            pub fn detail(self) -> &'static str {
                match self { $($(Code::$name => detail!($name $($detail)?),)*)* }
            }

            /// All codes, for the reference.
            pub const ALL: &'static [Code] = &[$($(Code::$name,)*)*];
        }
    };
}

codes! {
    "SyntaxError" {
        AmbiguousAggregationExpression, ColumnNameConflict, CreatingVarLength, DifferentColumnsInUnion, FloatingPointOverflow,
        IntegerOverflow, InvalidAggregation, InvalidArgumentPassingMode, InvalidArgumentType, InvalidArgumentValue,
        InvalidClauseComposition, InvalidDelete, InvalidNumberLiteral, InvalidNumberOfArguments,
        InvalidParameterUse, InvalidRelationshipPattern, InvalidUnicodeCharacter, InvalidUnicodeLiteral,
        NegativeIntegerArgument, NestedAggregation, NestingTooDeep, NoExpressionAlias, NoSingleRelationshipType,
        NoVariablesInScope, NonConstantExpression, RelationshipUniquenessViolation, RequiresDirectedRelationship,
        StatementTooLong, UndefinedVariable, UnexpectedSyntax, UnknownFunction,
        VariableAlreadyBound, VariableTypeConflict,
    }
    "SemanticError" { MergeReadOwnWrites, }
    "TypeError" { ImpossibleAccess as "InvalidArgumentType", }
    "ParameterMissing" { MissingParameter, }
    "ProcedureError" { ProcedureNotFound, }
    "NotAvailable" { FeatureNotAvailable, DatabaseNotFound, AdministrationCommand, }
    "ArgumentError" { InvalidOption, InvalidSource, }
    "Security" { FileForbidden as "Forbidden", }
    "Schema" { InvalidIndexOption, }
}

/// One error of a statement, with its place.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Diagnostic {
    /// What is wrong.
    pub code: Code,
    /// One sentence, lower case, with the names involved.
    pub message: String,
    /// 1-based line of the place.
    pub line: u32,
    /// 1-based column of the place, in characters.
    pub column: u32,
    /// Byte range of the place in the text.
    pub span: Span,
    /// What to do, where something can be said.
    pub hint: Option<String>,
    excerpt: Excerpt,
}

/// A place of a statement, and the line it stands on.
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt {
    /// 1-based line of the place.
    pub line: u32,
    /// 1-based column of the place, in characters.
    pub column: u32,
    /// What is shown of the line.
    shown: Arc<str>,
    /// Characters of it before the place.
    before: usize,
    /// Whether the line begins earlier.
    is_cut: bool,
    /// Characters of the place, at least one.
    characters: usize,
}

impl Diagnostic {
    /// An error at `span` of `text`.
    pub(crate) fn new(
        text: &str,
        span: Span,
        code: Code,
        message: impl Into<String>,
    ) -> Diagnostic {
        let excerpt = Excerpt::of(text, span);
        Diagnostic {
            code,
            message: told::cut(message.into()),
            line: excerpt.line,
            column: excerpt.column,
            span,
            hint: None,
            excerpt,
        }
    }

    /// The same error without anything of the text.
    #[must_use]
    pub(crate) fn without_text(self) -> Diagnostic {
        let excerpt = Excerpt {
            shown: "".into(),
            ..self.excerpt
        };
        Diagnostic {
            message: "unexpected text, which is not shown, for it may hold a password".to_owned(),
            hint: Some(
                "CREATE USER name SET PASSWORD 'text' [CHANGE NOT REQUIRED] [SET STATUS \
                ACTIVE] [SET ROLE writer]"
                    .to_owned(),
            ),
            excerpt,
            ..self
        }
    }

    /// The same error with advice.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }

    /// The error with its line and carets under the place:
    ///
    /// ```text
    /// SyntaxError (UndefinedVariable): variable `m` is not defined
    ///  --> line 1, column 18
    ///   |
    /// 1 | MATCH (n) RETURN m
    ///   |                  ^
    /// hint: did you mean `n`?
    /// ```
    #[must_use]
    pub fn render(&self) -> String {
        let name = (self.code.category(), self.code.detail());
        let hint = self.hint.as_deref();
        self.excerpt.render(name, &self.message, hint)
    }
}

impl Excerpt {
    /// What stands at `span` of `text`.
    #[must_use]
    pub fn of(text: &str, span: Span) -> Excerpt {
        const BEFORE: usize = 60;
        const SHOWN: usize = 120;
        let (line, column) = position(text, span.start);
        let whole = text.lines().nth(line as usize - 1).unwrap_or("");
        let skip = (column as usize - 1).saturating_sub(BEFORE);
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        let shown = whole.chars().skip(skip).take(SHOWN).map(clean);
        Excerpt {
            line,
            column,
            shown: shown.collect::<String>().into(),
            before: column as usize - 1 - skip,
            is_cut: skip > 0,
            characters: text
                .get(span.start as usize..span.end as usize)
                .map_or(1, |place| place.chars().count().max(1)),
        }
    }

    /// An error at this place, as [`Diagnostic::render`] shows it; `name` is its category and its
    /// detail.
    #[must_use]
    pub fn render(&self, name: (&str, &str), message: &str, hint: Option<&str>) -> String {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let (before, shown) = (self.before, &*self.shown);
        let cut = if self.is_cut { "..." } else { "" };
        // In columns of a terminal, on which some characters take two and others none.
        let width = |from: usize, count: usize| -> usize {
            let part = shown.chars().skip(from).take(count);
            part.map(|c| c.width().unwrap_or(1)).sum()
        };
        let carets = width(before, self.characters).max(1);
        let mut out = format!(
            "{} ({}): {}\n{gutter}--> line {}, column {}\n{gutter} |\n{number} | \
                {cut}{shown}\n{gutter} | {}{}{}\n",
            name.0,
            name.1,
            message,
            self.line,
            self.column,
            " ".repeat(cut.len()),
            " ".repeat(width(0, before)),
            "^".repeat(carets),
        );
        if let Some(hint) = hint {
            out.push_str("hint: ");
            out.push_str(hint);
            out.push('\n');
        }
        out
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}) at line {}, column {}: {}",
            self.code.category(),
            self.code.detail(),
            self.line,
            self.column,
            self.message
        )?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// 1-based line and column of a byte offset.
pub(crate) fn position(text: &str, offset: u32) -> (u32, u32) {
    let mut end = (offset as usize).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |idx| idx + 1);
    let line = before.bytes().filter(|&b| b == b'\n').count() as u32 + 1;
    let column = before[line_start..].chars().count() as u32 + 1;
    (line, column)
}

/// The candidate that `name` is most likely a misspelling of.
pub(crate) fn closest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let letters = name.chars().count();
    // Another letter in place of the only one is another name.
    let limit = (1 + letters / 5).min(letters.saturating_sub(1));
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edit distance (insert, delete, replace, swap neighbours), letters compared without case.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(64).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(64).collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// A notice at a place of the text.
pub(crate) fn notice(text: &str, span: Span, code: &'static str, message: String) -> Notice {
    Notice {
        code,
        message,
        position: Some(position(text, span.start)),
    }
}

/// Something worth telling about a valid statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Stable code, for example `UnknownLabel`.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// Where, when it has a place in the text: 1-based line and column.
    pub position: Option<(u32, u32)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caret_stands_under_the_place() {
        let text = "MATCH (n)\nRETURN n, missing";
        let start = text.find("missing").unwrap() as u32;
        let diagnostic = Diagnostic::new(
            text,
            Span::new(start, start + 7),
            Code::UndefinedVariable,
            "variable `missing` is not defined",
        )
        .with_hint("did you mean `n`?");
        assert_eq!((diagnostic.line, diagnostic.column), (2, 11));
        let rendered = diagnostic.render();
        let lines: Vec<&str> = rendered.lines().collect();
        assert_eq!(lines[3], "2 | RETURN n, missing");
        assert_eq!(lines[4], "  |           ^^^^^^^");
        assert_eq!(lines[5], "hint: did you mean `n`?");
    }

    #[test]
    fn caret_counts_the_columns_that_characters_take() {
        // Two wide characters before it, one of no width, and two that are wide beneath it.
        let text = "RETURN '\u{4e2d}\u{1f600}e\u{301}', \u{6587}\u{5b57}";
        let start = text.find('\u{6587}').unwrap() as u32;
        let span = Span::new(start, text.len() as u32);
        let diagnostic = Diagnostic::new(text, span, Code::UndefinedVariable, "not defined");
        assert_eq!(diagnostic.column, 16);
        let rendered = diagnostic.render();
        let carets = format!("  | {}^^^^", " ".repeat(16));
        assert_eq!(rendered.lines().nth(4), Some(&*carets));
    }

    #[test]
    fn misspelt_names_find_their_neighbour() {
        assert_eq!(
            closest("Persn", ["Post", "Person", "Place"]),
            Some("Person")
        );
        assert_eq!(closest("knows", ["KNOWS", "LIKES"]), Some("KNOWS"));
        assert_eq!(closest("Zebra", ["Post", "Person"]), None);
        assert_eq!(closest("i", ["Q", "I"]), Some("I"));
        assert_eq!(closest("i", ["Q", "id"]), None);
        assert_eq!(closest("", ["Q"]), None);
    }
}
