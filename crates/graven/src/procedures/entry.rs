//! What an entry in the table of procedures says: what a procedure takes and gives, and what runs
//! it.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, MoreRows, Value, of_element_id};
use graven_storage::{NodeId, RelId, Store};
use graven_types::told;

use super::inner::Call;
use super::{DatabaseProcedures, Rows};
use crate::instance::Instance;
use crate::right::Right;

/// A name with its kind.
pub(super) type Field = (&'static str, TypeSet);

/// What runs a procedure.
pub(super) enum Body {
    /// It asks the database alone.
    OfDatabase(fn(&Arc<Instance>, &[Value]) -> Result<Rows, String>),
    /// It is given its caller, too.
    OfCaller(fn(&DatabaseProcedures, &[Value]) -> Result<Rows, ExecError>),
    /// It runs statements within the one that calls it.
    OfCall(fn(&Call<'_>, &[Value]) -> Result<Rows, ExecError>),
    /// It is a statement, whose parameters are the arguments.
    Statement(&'static str),
    /// It is a statement that is made of the arguments, which are its parameters, too.
    Made(fn(&Named<'_>) -> Result<String, String>),
    /// As [`Body::OfCall`], with rows that are made when they are asked for.
    Streams(Streams),
}

/// Makes the rows of a procedure when they are asked for.
pub(super) type Streams = fn(&Call<'_>, &[Value]) -> Result<Box<dyn MoreRows>, ExecError>;

/// Arguments by name.
pub(super) struct Named<'a>(pub(super) &'a [(Arc<str>, Value)]);

impl Named<'_> {
    /// The argument of this name; null if it was left out.
    pub(super) fn get(&self, name: &str) -> &Value {
        let found = self.0.iter().find(|(known, _)| **known == *name);
        found.map_or(&Value::Null, |(_, value)| value)
    }
}

/// One procedure.
pub(super) struct Procedure {
    pub(super) name: &'static str,
    /// What it does, in a few words.
    pub(super) about: &'static str,
    pub(super) arguments: &'static [Field],
    /// Last arguments that may be left out.
    pub(super) optional: usize,
    /// What it needs.
    pub(super) right: Right,
    pub(super) columns: &'static [Field],
    pub(super) run: Body,
}

/// A procedure whose last arguments, after the first `needed`, may be left out.
pub(super) const fn procedure(
    name: &'static str,
    about: &'static str,
    (arguments, needed): (&'static [Field], usize),
    right: Right,
    columns: &'static [Field],
    run: Body,
) -> Procedure {
    Procedure {
        name,
        about,
        arguments,
        optional: arguments.len() - needed,
        right,
        columns,
        run,
    }
}

/// Arguments that may be one entity or a list of them.
const ONE_OR_MORE: &[&str] = &["nodes", "rels"];

impl Procedure {
    /// Whether it changes the graph, in the transaction of the statement that calls it.
    pub(super) fn writes(&self) -> bool {
        let own = matches!(self.run, Body::OfDatabase(_) | Body::OfCaller(_));
        self.right == Right::Write && !own
    }

    /// The arguments by name, with null for those that were left out; nodes and relationships may
    /// be named by their ids in this store.
    pub(super) fn named(
        &self,
        args: &[Value],
        store: &Store,
    ) -> Result<Vec<(Arc<str>, Value)>, ExecError> {
        let mut named = Vec::with_capacity(self.arguments.len());
        for (at, (name, _)) in self.arguments.iter().enumerate() {
            let given = args.get(at);
            let value = match ONE_OR_MORE.contains(name) {
                // Left out, it means all; a null or a list of nulls means none.
                true if at >= self.arguments.len() - self.optional => {
                    let given = given.cloned().unwrap_or(Value::list(Vec::new()));
                    let named = self.entities(name, given.clone(), store)?;
                    let of_nulls = match &given {
                        Value::List(items) => !items.is_empty(),
                        other => other.is_null(),
                    };
                    match &named {
                        Value::List(known) if known.is_empty() && of_nulls => {
                            Value::list(vec![Value::Null])
                        }
                        _ => named,
                    }
                }
                true => self.entities(name, given.cloned().unwrap_or_default(), store)?,
                false => given.cloned().unwrap_or_default(),
            };
            named.push((Arc::from(*name), value));
        }
        Ok(named)
    }

    /// A list of nodes or relationships: given as such, as one of them, or by ids.
    fn entities(&self, name: &str, given: Value, store: &Store) -> Result<Value, ExecError> {
        let by_text = |text: &str| match name {
            "nodes" => of_element_id(&store.uuid(), 'n', text).map(|id| Value::Node(NodeId(id))),
            _ => {
                let id = of_element_id(&store.uuid(), 'r', text);
                id.map(|id| Value::Relationship(RelId(id)))
            }
        };
        let one = |value: &Value| match value {
            Value::Integer(id) if name == "nodes" => Ok(Value::Node(NodeId(id.cast_unsigned()))),
            Value::Integer(id) => Ok(Value::Relationship(RelId(id.cast_unsigned()))),
            Value::Node(_) | Value::Relationship(_) => Ok(value.clone()),
            Value::String(text) => by_text(text).ok_or_else(|| ExecError::Argument {
                message: told!("{}: `{text}` is no element id of this database", self.name),
            }),
            other => Err(ExecError::Argument {
                message: told!(
                    "{}: `{name}` is a Node or Relationship, an id, or a list of them, not {}",
                    self.name,
                    other.type_name()
                ),
            }),
        };
        let list = match &given {
            Value::Null => Vec::new(),
            Value::List(items) => {
                let known = items.iter().filter(|item| !item.is_null());
                known.map(one).collect::<Result<_, _>>()?
            }
            single => vec![one(single)?],
        };
        Ok(Value::list(list))
    }
}
