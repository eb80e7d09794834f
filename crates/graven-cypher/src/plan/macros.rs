//! Commands about macros: expressions with names and parameters.

use std::fmt;
use std::sync::Arc;

/// A macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Macro {
    /// Its name.
    pub name: Arc<str>,
    /// Names of its parameters, with the texts of their defaults.
    pub parameters: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// The text of its expression.
    pub body: Arc<str>,
}

/// One command. `lenient`: nothing is wrong if it is there already, or is not there.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MacroCommand {
    /// `CREATE MACRO name(a, b := 3) AS a + b`.
    Create { made: Macro, lenient: bool },
    /// `DROP MACRO name`.
    Drop { name: Arc<str>, lenient: bool },
}

impl fmt::Display for MacroCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MacroCommand::Create { made, .. } => write!(f, "create macro {}", made.name),
            MacroCommand::Drop { name, .. } => write!(f, "drop macro {name}"),
        }
    }
}
