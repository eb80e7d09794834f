//! Functions that the program adds to the language: a name, types, and what computes a value.
//!
//! # How it works
//! The binder sees names and types ([`UserFunctions::view`] gives them), the compiler of
//! expressions looks the function up, and each row is a call of [`Body`]. An argument must be of
//! the kind that its type has, and comes as a value of just this type: a float for `DOUBLE` where
//! an integer was given. So does the result. Nodes, relationships and paths are no arguments.
//!
//! A table of functions never changes: a connection that adds one makes another table, so that a
//! statement runs with the functions that it was planned with.
//!
//! # Costs
//! A look at the deadline for each row beside the call itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use graven_cypher::{FunctionView, TypeSet};
use graven_storage::PropertyValue;
use graven_types::told;

use crate::cast_target::Target;
use crate::error::{ExecError, Result};
use crate::value::Value;

/// Computes a value; an error says why there is none.
pub type Body = dyn Fn(&[Value]) -> Result<Value, String> + Send + Sync;

/// What arguments may be at most.
const ANY: TypeSet = TypeSet::STORED.or(TypeSet::MAP);

/// The type of an argument or a result.
#[derive(Clone, Debug)]
pub struct ValueType {
    text: Arc<str>,
    /// None: any.
    target: Option<Target>,
    /// A map of plain values may be given as two lists, `{key: [...], value: [...]}`.
    takes_lists: bool,
}

impl ValueType {
    /// The type that a text names, as `cast` has them, or `ANY`; none if there is no such type.
    #[must_use]
    pub fn parse(text: &str) -> Option<ValueType> {
        let upper = text.trim().to_ascii_uppercase();
        let is_any = upper == "ANY" || upper.starts_with("UNION");
        let target = match is_any {
            true => None,
            false => Some(Target::read(text)?),
        };
        let inside = upper.strip_prefix("MAP").map(|rest| rest.trim_start());
        let entry = inside.and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
        let value = entry.and_then(|entry| entry.split_once(','));
        Some(ValueType {
            text: Arc::from(text.trim()),
            target,
            takes_lists: value.is_some_and(|(_, value)| !value.trim_end().ends_with(']')),
        })
    }

    /// What its values may be, to the planner.
    #[must_use]
    pub fn kinds(&self) -> TypeSet {
        let kinds = self.target.as_ref().map_or(ANY, Target::kinds);
        if kinds == TypeSet::ANY { ANY } else { kinds }
    }

    /// The value as one of this type; none if it is of another kind, or beyond its range.
    fn of(&self, value: &Value) -> Option<Value> {
        if !kind(value).may_be(self.kinds()) && !matches!(value, Value::Bytes(_)) {
            return None;
        }
        match (&self.target, value) {
            (_, Value::Map(entries)) if self.takes_lists => {
                Some(map_of_lists(entries.entries()).unwrap_or_else(|| value.clone()))
            }
            (Some(target), _) => target.of(value),
            (None, _) => Some(value.clone()),
        }
    }
}

/// The map whose keys and values are the two lists that these entries are.
fn map_of_lists(entries: &[(Arc<str>, Value)]) -> Option<Value> {
    let [(key, Value::List(keys)), (value, Value::List(values))] = entries else {
        return None;
    };
    if &**key != "key" || &**value != "value" || keys.len() != values.len() {
        return None;
    }
    let pairs = keys.iter().zip(&**values).map(|(key, value)| match key {
        Value::String(key) => Some((Arc::clone(key), value.clone())),
        Value::Null | Value::List(_) | Value::Map(_) => None,
        other => Some((Arc::from(other.to_string()), value.clone())),
    });
    pairs.collect::<Option<Vec<_>>>().map(Value::map)
}

/// What a value is.
pub(crate) fn kind(value: &Value) -> TypeSet {
    match value {
        Value::Null => TypeSet::NULL,
        Value::Boolean(_) => TypeSet::BOOLEAN,
        Value::Integer(_) => TypeSet::INTEGER,
        Value::Float(_) => TypeSet::FLOAT,
        Value::String(_) => TypeSet::STRING,
        Value::List(_) => TypeSet::LIST,
        Value::Map(_) => TypeSet::MAP,
        Value::Node(_) => TypeSet::NODE,
        Value::Relationship(_) => TypeSet::RELATIONSHIP,
        Value::Path(_) => TypeSet::PATH,
        Value::Stored(stored) => match &**stored {
            PropertyValue::Duration(_) => TypeSet::DURATION,
            PropertyValue::Point(_) => TypeSet::POINT,
            PropertyValue::Vector(_) => TypeSet::VECTOR,
            _ => TypeSet::TEMPORAL,
        },
        _ => TypeSet::ANY,
    }
}

/// A function of the program.
pub struct UserFunction {
    /// In lower case.
    name: Arc<str>,
    arguments: Vec<ValueType>,
    returns: ValueType,
    takes_nulls: bool,
    body: Box<Body>,
}

impl UserFunction {
    /// A function of this name, in any case. `takes_nulls`: it is called with nulls, too; else it
    /// is null where an argument is.
    #[must_use]
    pub fn new(
        name: &str,
        arguments: Vec<ValueType>,
        returns: ValueType,
        takes_nulls: bool,
        body: Box<Body>,
    ) -> Self {
        UserFunction {
            name: Arc::from(name.to_ascii_lowercase()),
            arguments,
            returns,
            takes_nulls,
            body,
        }
    }

    /// Its name, in lower case.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value for as many arguments as it has.
    pub(crate) fn call(&self, args: &[Value]) -> Result<Value> {
        if !self.takes_nulls && args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let wanted = self.arguments.iter().zip(args).enumerate();
        let given = wanted.map(|(at, (wanted, arg))| {
            wanted.of(arg).ok_or_else(|| ExecError::Value {
                message: told!(
                    "argument {} of `{}` is {arg} ({}), no {}: convert it, with cast() for example",
                    at + 1,
                    self.name,
                    arg.type_name(),
                    wanted.text
                ),
            })
        });
        let given = given.collect::<Result<Vec<Value>>>()?;
        let made = (self.body)(&given).map_err(|message| ExecError::Function {
            name: self.name.to_string(),
            message,
        })?;
        let value = self.returns.of(&made);
        value.ok_or_else(|| ExecError::Function {
            name: self.name.to_string(),
            message: told!(
                "it gave {made} ({}), and is declared to give {}",
                made.type_name(),
                self.returns.text
            ),
        })
    }
}

impl std::fmt::Debug for UserFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserFunction")
            .field("name", &self.name)
            .field("arguments", &self.arguments)
            .field("returns", &self.returns)
            .finish_non_exhaustive()
    }
}

/// Functions by their names.
#[derive(Clone, Debug, Default)]
pub struct UserFunctions(BTreeMap<Arc<str>, Arc<UserFunction>>);

impl UserFunctions {
    /// The function of this name in lower case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<UserFunction>> {
        self.0.get(name)
    }

    /// The function of this name, in any case, as the binder sees it.
    #[must_use]
    pub fn view(&self, name: &str) -> Option<FunctionView> {
        if self.0.is_empty() {
            return None;
        }
        let function = self.0.get(&*name.to_ascii_lowercase())?;
        Some(FunctionView {
            name: Arc::clone(&function.name),
            arguments: function.arguments.iter().map(ValueType::kinds).collect(),
            returns: function.returns.kinds(),
        })
    }

    /// These and another one; none if there is one of that name.
    #[must_use]
    pub fn with(&self, function: UserFunction) -> Option<UserFunctions> {
        let mut all = self.clone();
        let name = Arc::clone(&function.name);
        let before = all.0.insert(name, Arc::new(function));
        before.is_none().then_some(all)
    }

    /// These without the one of this name, in any case; none if there is none.
    #[must_use]
    pub fn without(&self, name: &str) -> Option<UserFunctions> {
        let mut all = self.clone();
        all.0.remove(&*name.to_ascii_lowercase())?;
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str, value: &Value) -> Option<Value> {
        ValueType::parse(kind)
            .unwrap_or_else(|| panic!("{kind}"))
            .of(value)
    }

    /// Goal: values come as the type that was declared, and no other kind of value is taken for it.
    #[test]
    fn arguments_are_of_their_types() {
        assert_eq!(of("DOUBLE", &Value::Integer(2)), Some(Value::Float(2.0)));
        assert_eq!(of("INT64", &Value::Float(2.0)), None);
        assert_eq!(of("INT8", &Value::Integer(200)), None);
        assert_eq!(of("STRING", &Value::Integer(2)), None);
        assert_eq!(of("any", &Value::Integer(2)), Some(Value::Integer(2)));
        assert_eq!(of("DATE", &Value::Null), Some(Value::Null));
        assert_eq!(of("ANY", &Value::Node(graven_storage::NodeId(1))), None);
        assert!(ValueType::parse("WHOLE").is_none());
    }

    /// Goal: two lists are a map where a map of plain values is wanted, and nowhere else.
    #[test]
    fn two_lists_are_a_map() {
        let list = |values: &[Value]| Value::list(values.to_vec());
        let pair = |keys: Value, values: Value| {
            Value::map(vec![("key".into(), keys), ("value".into(), values)])
        };
        let given = pair(list(&[Value::text("a")]), list(&[Value::Integer(1)]));
        let map = Value::map(vec![("a".into(), Value::Integer(1))]);
        assert_eq!(of("MAP(STRING, INT64)", &given), Some(map));
        let lists = pair(list(&[Value::Integer(2)]), list(&[Value::Integer(1)]));
        let of_lists = of("MAP(STRING, INT64[])", &lists);
        assert_eq!(of_lists, Some(lists.clone()));
        let fields = of("STRUCT(key STRING[], value INT64[])", &given);
        assert_eq!(fields, Some(given.clone()));
        let uneven = pair(list(&[Value::text("a")]), list(&[]));
        assert_eq!(of("MAP(STRING, INT64)", &uneven), Some(uneven.clone()));
    }
}
