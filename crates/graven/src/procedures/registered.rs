//! Procedures that the program adds to a database: a signature as text, the right that a call
//! needs, and a function.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use graven_cypher::{ProcedureView, TypeSet};

use crate::error::Error;
use crate::right::Right;
use crate::value::Value;

type Body = dyn Fn(&[Value]) -> Result<Vec<Vec<Value>>, String> + Send + Sync;

/// A procedure of the program.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) view: ProcedureView,
    /// What a call needs.
    pub(crate) right: Right,
    pub(crate) body: Arc<Body>,
}

/// The procedures a program has added, by name.
#[derive(Default)]
pub(crate) struct Registry(RwLock<BTreeMap<String, Registered>>);

impl Registry {
    pub(crate) fn find(&self, name: &str) -> Option<Registered> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        table.get(name).cloned()
    }

    /// All of them, in the order of their names.
    pub(crate) fn all(&self) -> Vec<(String, Registered)> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let all = table.iter();
        all.map(|(name, it)| (name.clone(), it.clone())).collect()
    }

    pub(crate) fn add(&self, signature: &str, right: Right, body: Arc<Body>) -> Result<(), Error> {
        let (name, view) = parse(signature).ok_or_else(|| {
            let form = "name(argument :: TYPE, ...) :: (column :: TYPE, ...)";
            Error::config(format!(
                "`{signature}` is not a procedure's signature: {form}"
            ))
        })?;
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        table.insert(name, Registered { view, right, body });
        Ok(())
    }
}

/// `name(a :: TYPE?, ...) :: (b :: TYPE?, ...)`; a procedure without columns may leave out their
/// parentheses or write `VOID`.
fn parse(signature: &str) -> Option<(String, ProcedureView)> {
    let (name, rest) = signature.split_once('(')?;
    let (arguments, rest) = rest.split_once(')')?;
    let columns = rest.trim().trim_start_matches("::").trim();
    let columns = match columns.strip_prefix('(') {
        Some(columns) => columns.strip_suffix(')')?,
        None if columns.is_empty() || columns == "VOID" => "",
        None => return None,
    };
    let view = ProcedureView {
        writes: false,
        arguments: fields(arguments)?,
        optional: 0,
        columns: fields(columns)?,
    };
    let name = name.trim();
    (!name.is_empty()).then(|| (name.to_owned(), view))
}

fn fields(list: &str) -> Option<Vec<(String, TypeSet)>> {
    let list = list.split(',').map(str::trim).filter(|f| !f.is_empty());
    list.map(|field| {
        let (name, kind) = field.split_once("::")?;
        Some((
            name.trim().to_owned(),
            kind_named(kind.trim().trim_end_matches('?'))?,
        ))
    })
    .collect()
}

fn kind_named(name: &str) -> Option<TypeSet> {
    Some(match name.to_ascii_uppercase().as_str() {
        "ANY" => TypeSet::ANY,
        "BOOLEAN" => TypeSet::BOOLEAN,
        "INTEGER" => TypeSet::INTEGER,
        // An integer is taken where a float is wanted.
        "FLOAT" | "NUMBER" => TypeSet::NUMBER,
        "STRING" => TypeSet::STRING,
        "MAP" => TypeSet::MAP,
        "NODE" => TypeSet::NODE,
        "RELATIONSHIP" => TypeSet::RELATIONSHIP,
        "PATH" => TypeSet::PATH,
        name if name.starts_with("LIST") => TypeSet::LIST,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_read() {
        let (name, view) =
            parse("a.b(x :: STRING?, y :: FLOAT) :: (z :: INTEGER?)").expect("reads");
        assert_eq!(name, "a.b");
        assert_eq!(view.arguments[1], ("y".to_owned(), TypeSet::NUMBER));
        assert_eq!(view.columns, [("z".to_owned(), TypeSet::INTEGER)]);
        assert!(parse("a.b() :: VOID").is_some_and(|(_, v)| v.columns.is_empty()));
        assert!(parse("a.b() :: ()").is_some());
        assert!(parse("a.b(x)").is_none());
    }
}
