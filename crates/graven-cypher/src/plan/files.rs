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

impl std::fmt::Display for LoadSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.files {
            FileNames::Parameter(name) => write!(f, "${name}"),
            FileNames::Texts(names) => match names.as_slice() {
                [only] => write!(f, "'{only}'"),
                [first, rest @ ..] => write!(f, "'{first}' and {} more", rest.len()),
                [] => f.write_str("nothing"),
            },
        }
    }
}
