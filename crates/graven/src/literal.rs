//! A single Cypher literal in text, as `--param name=literal` has it.

use std::sync::Arc;

use graven_cypher::plan::{Expr, Literal, LoadSource, Operator, UnaryOp};
use graven_cypher::{
    IndexView, Named, ParameterNames, ProcedureView, SchemaView, SourceFault, SourceView,
    parse_and_plan,
};
use graven_exec::FileAccess;
use graven_exec::sources::{Patience, Reach};

use crate::procedures;
use crate::procedures::registered::Registry;
use crate::schema::describe;
use crate::value::Value;

/// Memory for a look at a source: that of the smallest database.
const MEMORY_MIN: u64 = 1 << 20;

impl Value {
    /// Reads a literal of the language: null, boolean, number, string, list, map.
    ///
    /// # Examples
    /// ```
    /// use graven::Value;
    /// assert_eq!(Value::parse_literal("-3"), Some(Value::Integer(-3)));
    /// assert_eq!(Value::parse_literal("['a', 1.5]").map(|v| v.to_string()).as_deref(), Some("[\"a\", 1.5]"));
    /// assert_eq!(Value::parse_literal("Ada"), None);
    /// ```
    #[must_use]
    pub fn parse_literal(text: &str) -> Option<Value> {
        // The line end keeps a comment in the text from hiding the parenthesis.
        let statement = format!("RETURN ({text}\n) AS value");
        let plan =
            parse_and_plan(&statement, &NoSchema::default(), &ParameterNames::default()).ok()?;
        let Operator::Project { input, items } = &plan.root.op else {
            return None;
        };
        match (&input.op, items.as_slice()) {
            (Operator::Unit, [(_, expression)]) => constant(expression),
            _ => None,
        }
    }
}

fn constant(expression: &Expr) -> Option<Value> {
    Some(match expression {
        Expr::Literal(Literal::Null) => Value::Null,
        Expr::Literal(Literal::Boolean(b)) => Value::Boolean(*b),
        Expr::Literal(Literal::Integer(i)) => Value::Integer(*i),
        Expr::Literal(Literal::Float(x)) => Value::Float(*x),
        Expr::Literal(Literal::String(s)) => Value::String(Arc::clone(s)),
        Expr::List(items) => Value::List(items.iter().map(constant).collect::<Option<_>>()?),
        Expr::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(k, v)| Some((Arc::clone(k), constant(v)?)));
            Value::Map(entries.collect::<Option<_>>()?)
        }
        Expr::Unary {
            op: UnaryOp::Minus,
            operand,
            ..
        } => match constant(operand)? {
            Value::Integer(i) => Value::Integer(i.checked_neg()?),
            Value::Float(x) => Value::Float(-x),
            _ => return None,
        },
        _ => return None,
    })
}

/// A database without anything in it.
#[derive(Default)]
pub(crate) struct NoSchema {
    /// Where sources of statements are looked at; nowhere, if there is nothing.
    pub(crate) files: Option<FileAccess>,
    /// What a program has registered: nothing.
    pub(crate) registry: Registry,
}

impl SchemaView for NoSchema {
    fn source(&self, source: &LoadSource) -> Result<SourceView, SourceFault> {
        match &self.files {
            Some(files) => {
                let reach = Reach {
                    files,
                    memory: MEMORY_MIN,
                    disk_budget: graven_objects::DISK_BUDGET,
                    patience: &Patience::default(),
                };
                describe(source, (reach, &Arc::default()))
            }
            None => Err(SourceFault::Wrong(format!("{source} cannot be read here"))),
        }
    }
    fn procedure(&self, name: &str) -> Option<ProcedureView> {
        procedures::view(name, &self.registry)
    }
    fn node_count(&self) -> u64 {
        0
    }
    fn label_count(&self, _: &str) -> Option<u64> {
        None
    }
    fn type_count(&self, _: &str) -> Option<u64> {
        None
    }
    fn relationship_count(&self) -> u64 {
        0
    }
    fn pattern_count(&self, _: Option<&str>, _: Option<&str>, _: Option<&str>) -> u64 {
        0
    }
    fn knows_key(&self, _: &str) -> bool {
        false
    }
    fn index(&self, _: &str, _: &str) -> Option<IndexView> {
        None
    }
    fn names(&self, _: Named) -> Vec<String> {
        Vec::new()
    }
}
