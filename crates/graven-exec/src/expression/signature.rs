//! What a scalar function is to the table of functions, and how it is called.

use std::ops::Deref;

use graven_cypher::functions::{self, Argument, Kind};
use graven_types::told;

use crate::error::{ExecError, Result};
use crate::growth::Items;
use crate::query_context::QueryContext;
use crate::value::Value;

/// A scalar function.
pub(crate) struct Function {
    /// Lower-case name.
    pub(crate) name: &'static str,
    /// Fewest and most arguments.
    pub(crate) arity: (usize, usize),
    /// What it computes from as many values.
    pub(crate) body: fn(&QueryContext, &[Value]) -> Result<Value>,
}

impl Function {
    /// One row of a table.
    pub(in crate::expression) const fn new(
        name: &'static str,
        arity: (usize, usize),
        body: fn(&QueryContext, &[Value]) -> Result<Value>,
    ) -> Self {
        Self { name, arity, body }
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Any number of arguments.
pub(in crate::expression) const MANY: usize = usize::MAX;

/// A function with what is known of its arguments.
pub(crate) struct Callable {
    function: &'static Function,
    /// None where the body looks at the arguments itself.
    arguments: &'static [Argument],
    display: &'static str,
}

impl Deref for Callable {
    type Target = Function;

    fn deref(&self) -> &Function {
        self.function
    }
}

impl std::fmt::Debug for Callable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Callable {
    pub(in crate::expression) fn of(function: &'static Function) -> Self {
        let known = functions::find(function.name);
        Self {
            function,
            arguments: known.map_or(&[], |known| known.arguments),
            display: known.map_or(function.name, |known| known.display),
        }
    }

    /// Its value. A library function has its arguments made what it takes first, and any other
    /// error is one of the call.
    pub(crate) fn call(&self, rt: &QueryContext, args: &mut [Value]) -> Result<Value> {
        if self.arguments.is_empty() {
            return (self.body)(rt, args);
        }
        for (argument, arg) in self.arguments.iter().zip(args.iter_mut()) {
            if arg.is_null() && !argument.takes_null {
                return Err(ExecError::Function {
                    name: self.display.to_owned(),
                    message: told!("argument `{}` is null", argument.name),
                });
            }
            if let Some(made) = made(rt, argument.kind, arg).map_err(|got| match got {
                Refusal::Of(got) => ExecError::Type {
                    message: told!(
                        "argument `{}` of {}() is {}, this is {}: {got}",
                        argument.name,
                        self.display,
                        argument.kind,
                        got.type_name()
                    ),
                },
                Refusal::Error(error) => error,
            })? {
                *arg = made;
            }
        }
        (self.body)(rt, args).map_err(|error| match error {
            error @ (ExecError::Type { .. }
            | ExecError::Value { .. }
            | ExecError::Named { .. }
            | ExecError::Argument { .. }
            | ExecError::Arithmetic { .. }) => {
                // The name is told once.
                let text = error.to_string();
                let named = text.strip_prefix(self.display);
                let rest = named.and_then(|rest| rest.strip_prefix("()"));
                let message = rest.map_or(&*text, |rest| rest.trim_start_matches([':', ' ']));
                ExecError::Function {
                    name: self.display.to_owned(),
                    message: message.to_owned(),
                }
            }
            other => other,
        })
    }
}

/// Why a value cannot be made what a function takes.
enum Refusal {
    /// This one, or this one in it, is of another kind.
    Of(Value),
    Error(ExecError),
}

impl From<ExecError> for Refusal {
    fn from(error: ExecError) -> Self {
        Self::Error(error)
    }
}

/// A value as one of a kind; none if it is one already.
fn made(rt: &QueryContext, kind: Kind, value: &Value) -> Result<Option<Value>, Refusal> {
    let is_one = match (kind, value) {
        (_, Value::Null) | (Kind::Any, _) => true,
        (Kind::Integer, Value::Float(given)) => return Ok(Some(Value::Integer(*given as i64))),
        (Kind::Float, Value::Integer(given)) => return Ok(Some(Value::Float(*given as f64))),
        (Kind::Map, Value::Node(id)) => {
            return Ok(Some(Value::map(rt.all_node_properties(id.0)?)));
        }
        (Kind::Map, Value::Relationship(id)) => {
            return Ok(Some(Value::map(rt.all_relationship_properties(id.0)?)));
        }
        (Kind::Integer, Value::Integer(_)) | (Kind::Float, Value::Float(_)) => true,
        (Kind::Number, Value::Integer(_) | Value::Float(_)) => true,
        (Kind::String, Value::String(_)) | (Kind::Boolean, Value::Boolean(_)) => true,
        (Kind::Map, Value::Map(_)) | (Kind::Path, Value::Path(_)) => true,
        // One that is only shown is a map besides.
        (Kind::Node, one) if one.type_name() == "Node" => true,
        (Kind::Relationship, one) if one.type_name() == "Relationship" => true,
        (Kind::Bytes, Value::Bytes(_) | Value::List(_)) => true,
        (kind, Value::List(items)) => match kind.element() {
            Some(Kind::Any) => true,
            Some(kind) => return elements(rt, kind, items),
            None => false,
        },
        _ => false,
    };
    match is_one {
        true => Ok(None),
        false => Err(Refusal::Of(value.clone())),
    }
}

/// A list with its elements made one kind; `None` if they are of it already.
fn elements(rt: &QueryContext, kind: Kind, items: &[Value]) -> Result<Option<Value>, Refusal> {
    let mut new: Option<Items> = None;
    for (at, item) in items.iter().enumerate() {
        let changed = made(rt, kind, item)?;
        if changed.is_some() && new.is_none() {
            let mut before = Items::with_room(items.len())?;
            for item in items.iter().take(at) {
                before.push(item.clone())?;
            }
            new = Some(before);
        }
        if let Some(new) = &mut new {
            new.push(changed.unwrap_or_else(|| item.clone()))?;
        }
    }
    Ok(new.map(Items::value).transpose()?)
}
