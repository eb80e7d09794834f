//! What an argument of a library function is: its name, its kind, and what it is if it is left out.

use std::fmt;

use super::Function;
use crate::types::TypeSet;

/// The kind of an argument, after the value that was given is made one of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Anything.
    Any,
    /// An integer; a float is cut.
    Integer,
    /// A float; an integer becomes one.
    Float,
    /// An integer or a float.
    Number,
    /// A text.
    String,
    /// A truth value.
    Boolean,
    /// A map; a node or relationship is that of its properties.
    Map,
    /// A node.
    Node,
    /// A relationship.
    Relationship,
    /// A path.
    Path,
    /// Bytes.
    Bytes,
    /// A list of anything.
    List,
    /// A list of texts.
    Strings,
    /// A list of numbers.
    Numbers,
    /// A list of floats.
    Floats,
    /// A list of maps.
    Maps,
    /// A list of lists.
    Lists,
    /// A list of nodes.
    Nodes,
    /// A list of relationships.
    Relationships,
}

impl Kind {
    /// What the elements are, if it is a list.
    #[must_use]
    pub const fn element(self) -> Option<Kind> {
        match self {
            Kind::List => Some(Kind::Any),
            Kind::Strings => Some(Kind::String),
            Kind::Numbers => Some(Kind::Number),
            Kind::Floats => Some(Kind::Float),
            Kind::Maps => Some(Kind::Map),
            Kind::Lists => Some(Kind::List),
            Kind::Nodes => Some(Kind::Node),
            Kind::Relationships => Some(Kind::Relationship),
            _ => None,
        }
    }

    /// What an expression that is given may be.
    #[must_use]
    pub const fn given(self) -> TypeSet {
        match self {
            Kind::Any | Kind::Bytes => TypeSet::ANY,
            Kind::Integer => TypeSet::INTEGER,
            Kind::Float | Kind::Number => TypeSet::NUMBER,
            Kind::String => TypeSet::STRING,
            Kind::Boolean => TypeSet::BOOLEAN,
            Kind::Map => TypeSet::MAP.or(TypeSet::ENTITY),
            Kind::Node => TypeSet::NODE,
            Kind::Relationship => TypeSet::RELATIONSHIP,
            Kind::Path => TypeSet::PATH,
            _ => TypeSet::LIST,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Kind::Any => "ANY",
            Kind::Integer => "INTEGER",
            Kind::Float => "FLOAT",
            Kind::Number => "INTEGER | FLOAT",
            Kind::String => "STRING",
            Kind::Boolean => "BOOLEAN",
            Kind::Map => "MAP",
            Kind::Node => "NODE",
            Kind::Relationship => "RELATIONSHIP",
            Kind::Path => "PATH",
            Kind::Bytes => "BYTEARRAY",
            Kind::List => "LIST<ANY>",
            Kind::Strings => "LIST<STRING>",
            Kind::Numbers => "LIST<INTEGER | FLOAT>",
            Kind::Floats => "LIST<FLOAT>",
            Kind::Maps => "LIST<MAP>",
            Kind::Lists => "LIST<LIST<ANY>>",
            Kind::Nodes => "LIST<NODE>",
            Kind::Relationships => "LIST<RELATIONSHIP>",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Whether null may be given.
    pub takes_null: bool,
    /// What it is if it is left out, as documented; none if it must be given.
    pub default: Option<&'static str>,
}

impl Function {
    /// The function with these arguments.
    pub(super) const fn with_arguments(mut self, arguments: &'static [Argument]) -> Self {
        let mut needed = 0;
        let mut at = 0;
        while at < arguments.len() {
            if arguments[at].default.is_none() {
                needed += 1;
            }
            at += 1;
        }
        self.args_min = needed;
        self.args_max = arguments.len() as u8;
        self.arguments = arguments;
        self
    }

    /// What a parameter at this place may be: it is made what the function takes.
    #[must_use]
    pub fn parameter(&self, idx: usize) -> TypeSet {
        match self.arguments.get(idx) {
            Some(argument) if argument.kind == Kind::Integer => TypeSet::NUMBER,
            _ => self.argument(idx),
        }
    }

    /// What the elements of a list at this place may be.
    #[must_use]
    pub fn elements_of(&self, idx: usize) -> TypeSet {
        match self.arguments.get(idx).map(|argument| argument.kind) {
            Some(Kind::Numbers | Kind::Floats) => TypeSet::NUMBER,
            _ => TypeSet::ANY,
        }
    }

    /// Its arguments and what it returns, as lists of functions tell it.
    #[must_use]
    pub fn signature(&self) -> String {
        let told = |argument: &Argument| {
            let default = argument.default.map(|value| format!(" = {value}"));
            let default = default.unwrap_or_default();
            format!("{}{default} :: {}", argument.name, argument.kind)
        };
        let arguments = match (self.args_min, self.args_max) {
            (_, 0) => String::new(),
            _ if !self.arguments.is_empty() => {
                let all: Vec<String> = self.arguments.iter().map(told).collect();
                all.join(", ")
            }
            (min, 255) => format!("at least {min} arguments"),
            (min, max) if min == max => format!("{min} arguments"),
            (min, max) => format!("{min} to {max} arguments"),
        };
        format!("{}({arguments}) :: {}", self.display, self.returns)
    }
}
