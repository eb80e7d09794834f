//! Files that a statement reads or writes.

use std::sync::Arc;

use super::expression::{BinaryOp, Expr, Literal};

/// Where the rows of `LOAD FROM` and `COPY ... FROM` come from.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSource {
    /// Names of files, or what stands for them.
    pub files: FileNames,
    /// `(HEADER = true, DELIM = ';')`.
    pub options: Vec<(Arc<str>, OptionValue)>,
    /// Declared columns: names and types.
    pub columns: Option<Vec<(Arc<str>, Arc<str>)>>,
}

/// Names of files; each may be a pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum FileNames {
    /// As the text or a parameter has them.
    Texts(Vec<Arc<str>>),
    /// A parameter that holds no text: a frame of the program.
    Parameter(Arc<str>),
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A literal.
    One(Literal),
    /// Literals in brackets.
    List(Vec<Literal>),
}

/// A condition on a column that the file can use: `column < value`.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnBound {
    /// Name of the column.
    pub column: Arc<str>,
    /// `=`, `<`, `<=`, `>`, `>=`.
    pub op: BinaryOp,
    /// A literal or a parameter.
    pub value: Expr,
}

/// The name without the query of a URL, which may hold a signature.
fn shown(name: &str) -> String {
    let is_of_web = |it: &str| {
        let scheme = it.split("://").next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    };
    match name.split_once('?') {
        Some((path, _)) if is_of_web(path) => format!("{path}?..."),
        _ => name.to_owned(),
    }
}

impl std::fmt::Display for LoadSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.files {
            FileNames::Parameter(name) => write!(f, "${name}"),
            FileNames::Texts(names) => match names.as_slice() {
                [only] => write!(f, "'{}'", shown(only)),
                [first, rest @ ..] => write!(f, "'{}' and {} more", shown(first), rest.len()),
                [] => f.write_str("nothing"),
            },
        }
    }
}
