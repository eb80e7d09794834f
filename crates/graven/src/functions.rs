//! Functions that the program adds to a connection, for the expressions of its statements.
//!
//! # How it works
//! A connection and its clones share a table of functions ([`graven_exec::UserFunctions`]), which
//! is replaced as a whole. A statement is planned with the table that is there, and runs with just
//! that; no plan with such a function is kept for other connections, and a prepared statement plans
//! anew when the table was replaced.
//!
//! # Concurrency
//! A statement on several threads calls its functions from all of them.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use graven_exec::{UserFunctions, Value as Inner};

use crate::error::Error;
use crate::materialise::{to_inner, without_parts};
use crate::value::Value;

/// A function of the program: what [`Connection::create_function`] takes.
pub struct Function {
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) returns: String,
    pub(crate) takes_nulls: bool,
    pub(crate) body: Box<graven_exec::Body>,
}

impl Function {
    /// A function that takes arguments of these types, and returns a value of that type. Types are
    /// those of `cast`, such as `INT64`, `DATE[]` or `MAP(STRING, DOUBLE)`, or `ANY`. What `body`
    /// returns as an error is the error of the statement.
    ///
    /// Where an argument is null the function is not called, and is null; see
    /// [`Function::with_nulls`]. It may be called more than once for a row, or for rows that do not
    /// come into the result.
    #[must_use]
    pub fn new(
        name: &str,
        arguments: &[&str],
        returns: &str,
        body: impl Fn(&[Value]) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Function {
        Function {
            name: name.to_owned(),
            arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
            returns: returns.to_owned(),
            takes_nulls: false,
            body: Box::new(move |args| {
                let args = args.iter().map(complete);
                let args = args.collect::<Result<Vec<Value>, String>>()?;
                let made = body(&args)?;
                match is_of_graph(&made) {
                    true => Err("it gave a node, relationship or path, which none may".to_owned()),
                    false => Ok(to_inner(&made)),
                }
            }),
        }
    }

    /// The same function, which is called with nulls, too.
    #[must_use]
    pub fn with_nulls(mut self) -> Function {
        self.takes_nulls = true;
        self
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name)
            .field("arguments", &self.arguments)
            .field("returns", &self.returns)
            .finish_non_exhaustive()
    }
}

/// A value of the executor that holds no part of the graph.
fn complete(value: &Inner) -> Result<Value, String> {
    Ok(match without_parts(value.clone()) {
        Ok(complete) => complete,
        Err(Inner::List(items)) => {
            Value::List(items.iter().map(complete).collect::<Result<_, _>>()?)
        }
        Err(Inner::Map(map)) => {
            let entries = map.entries().iter();
            let entries = entries.map(|(key, value)| Ok((Arc::clone(key), complete(value)?)));
            Value::Map(entries.collect::<Result<_, String>>()?)
        }
        Err(other) => {
            return Err(format!(
                "it takes no {}: give it what it needs of that, properties(n) for example",
                other.type_name()
            ));
        }
    })
}

fn is_of_graph(value: &Value) -> bool {
    match value {
        Value::Node(_) | Value::Relationship(_) | Value::Path(_) => true,
        Value::List(items) => items.iter().any(is_of_graph),
        Value::Map(entries) => entries.values().any(is_of_graph),
        _ => false,
    }
}

/// The functions of a connection and its clones.
#[derive(Debug, Default)]
pub(crate) struct Functions(RwLock<Arc<UserFunctions>>);

impl Functions {
    /// Those that there are now.
    pub(crate) fn now(&self) -> Arc<UserFunctions> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces them.
    pub(crate) fn change(
        &self,
        change: impl FnOnce(&UserFunctions) -> Result<UserFunctions, Error>,
    ) -> Result<(), Error> {
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let changed = Arc::new(change(&now)?);
        let before = std::mem::replace(&mut *now, changed);
        // What its functions hold may be dropped now, which is none of the lock's time.
        drop(now);
        drop(before);
        Ok(())
    }
}
