//! Compiles bound expressions: names to columns, ids and function pointers.

use std::sync::Arc;

use graven_cypher::Span;
use graven_cypher::plan::expression::{Expr, Literal};
use graven_cypher::plan::{UnaryOp, VarId};
use graven_types::told;

use super::{Compiled, ListScope, function};
use crate::error::{ExecError, Result};
use crate::layout::Layout;
use crate::query_context::QueryContext;
use crate::value::Value;

/// Compiles expressions over one layout.
pub(crate) struct Compiler<'a> {
    layout: &'a Layout,
    rt: &'a QueryContext,
    /// Variables of enclosing list scopes; the i-th lies in column `layout.width() + i`.
    locals: Vec<VarId>,
}

impl<'a> Compiler<'a> {
    /// A compiler for rows of this layout.
    pub(crate) fn new(layout: &'a Layout, rt: &'a QueryContext) -> Self {
        Self {
            layout,
            rt,
            locals: Vec::new(),
        }
    }

    /// Compiles one expression.
    ///
    /// # Errors
    /// A variable that the layout lacks, an unknown function, a missing parameter.
    pub(crate) fn compile(&mut self, expr: &Expr) -> Result<Compiled> {
        self.rt.growth.work(1)?;
        Ok(match expr {
            Expr::Literal(literal) => Compiled::Constant(literal_value(literal)),
            Expr::Parameter(name, at) => {
                // A plan is run with parameters of the same names as it was made for.
                self.rt.parameter(name).map_err(|error| error.at(*at))?;
                Compiled::Parameter(name.clone(), *at)
            }
            Expr::Variable(var) => Compiled::Slot(self.slot(*var)?),
            Expr::Property { base, key, at } => Compiled::Property {
                base: self.boxed(base)?,
                key: key.clone(),
                key_id: self.rt.key_id(key),
                at: *at,
            },
            Expr::Index { base, index, at } => {
                Compiled::Index(self.boxed(base)?, self.boxed(index)?, *at)
            }
            Expr::Slice { base, from, to, at } => Compiled::Slice {
                at: *at,
                base: self.boxed(base)?,
                from: self.optional(from.as_deref())?,
                to: self.optional(to.as_deref())?,
            },
            Expr::List(items) => self.list(items)?,
            Expr::Map(entries) => Compiled::Map(
                entries
                    .iter()
                    .map(|(key, e)| Ok((key.clone(), self.compile(e)?)))
                    .collect::<Result<_>>()?,
            ),
            Expr::Unary { op, operand, at } => match (op, self.compile(operand)?) {
                (UnaryOp::Minus, Compiled::Constant(Value::Integer(i))) if i != i64::MIN => {
                    Compiled::Constant(Value::Integer(-i))
                }
                (op, operand) => Compiled::Unary(*op, Box::new(operand), *at),
            },
            Expr::Binary {
                op,
                left,
                right,
                at,
            } => Compiled::Binary(*op, self.boxed(left)?, self.boxed(right)?, *at),
            Expr::Chain { first, rest, at } => Compiled::Chain(
                self.boxed(first)?,
                rest.iter()
                    .map(|(op, e)| Ok((*op, self.compile(e)?)))
                    .collect::<Result<_>>()?,
                *at,
            ),
            Expr::HasLabels { base, labels, at } => Compiled::HasLabels {
                at: *at,
                base: self.boxed(base)?,
                labels: labels.iter().map(|l| self.rt.label_id(l)).collect(),
                types: labels.iter().map(|l| self.rt.type_id(l)).collect(),
            },
            Expr::Call { name, args, at } => self.call(name, args, *at)?,
            Expr::Case {
                branches,
                otherwise,
                at,
            } => Compiled::Case {
                at: *at,
                branches: branches
                    .iter()
                    .map(|(when, then)| Ok((self.compile(when)?, self.compile(then)?)))
                    .collect::<Result<_>>()?,
                otherwise: self.optional(otherwise.as_deref())?,
            },
            Expr::Let { var, value, body } => {
                let value = self.boxed(value)?;
                self.scoped(*var, |c| {
                    let body = c.boxed(body)?;
                    let scope = c.list_scope(value, &[&body], 1);
                    Ok(Compiled::Let { scope, body })
                })?
            }
            Expr::ListComprehension {
                var,
                list,
                filter,
                map,
                at,
            } => {
                let list = self.boxed(list)?;
                self.scoped(*var, |c| {
                    let filter = c.optional(filter.as_deref())?;
                    let map = c.optional(map.as_deref())?;
                    let bodies: Vec<&Compiled> =
                        filter.iter().chain(map.iter()).map(|b| &**b).collect();
                    let scope = c.list_scope(list, &bodies, 1);
                    Ok(Compiled::ListComprehension {
                        scope,
                        filter,
                        map,
                        at: *at,
                    })
                })?
            }
            Expr::Quantifier {
                kind,
                var,
                list,
                predicate,
                at,
            } => {
                let list = self.boxed(list)?;
                self.scoped(*var, |c| {
                    let predicate = c.boxed(predicate)?;
                    let scope = c.list_scope(list, &[&predicate], 1);
                    Ok(Compiled::Quantifier {
                        kind: *kind,
                        scope,
                        predicate,
                        at: *at,
                    })
                })?
            }
            Expr::Reduce {
                accumulator,
                init,
                var,
                list,
                step,
                at,
            } => {
                let list = self.boxed(list)?;
                let init = self.boxed(init)?;
                self.scoped(*accumulator, |c| {
                    let accumulator = c.layout.width() + c.locals.len() - 1;
                    c.scoped(*var, |c| {
                        let step = c.boxed(step)?;
                        let scope = c.list_scope(list, &[&step], 2);
                        Ok(Compiled::Reduce {
                            scope,
                            accumulator,
                            init,
                            step,
                            at: *at,
                        })
                    })
                })?
            }
        })
    }

    fn call(&mut self, name: &str, args: &[Expr], at: Span) -> Result<Compiled> {
        let Some(function) = function::lookup(name) else {
            let own = self.rt.functions.as_ref().and_then(|known| known.get(name));
            let own = own.ok_or_else(|| ExecError::Plan {
                message: told!("unknown function {name}"),
            })?;
            return Ok(Compiled::UserCall(Arc::clone(own), self.all(args)?, at));
        };
        if args.len() < function.arity.0 || args.len() > function.arity.1 {
            let error = ExecError::Argument {
                message: told!(
                    "{name} takes {} to {} arguments, {} were given",
                    function.arity.0,
                    function.arity.1,
                    args.len()
                ),
            };
            return Err(error.at(at));
        }
        Ok(Compiled::Call(function, self.all(args)?, at))
    }

    /// A list of literals is a constant.
    fn list(&mut self, items: &[Expr]) -> Result<Compiled> {
        let items = self.all(items)?;
        let value = |item: &Compiled| match item {
            Compiled::Constant(value) => Some(value.clone()),
            _ => None,
        };
        let values = items.iter().map(value).collect::<Option<Vec<Value>>>();
        Ok(match values {
            Some(values) => Compiled::Constant(Value::list(values)),
            None => Compiled::List(items),
        })
    }

    fn slot(&self, var: VarId) -> Result<usize> {
        if let Some(i) = self.locals.iter().rposition(|v| *v == var) {
            return Ok(self.layout.width() + i);
        }
        self.layout.slot(var).ok_or_else(|| ExecError::Plan {
            message: told!("variable {} is not produced below its use (CY-1)", var.0),
        })
    }

    fn boxed(&mut self, expr: &Expr) -> Result<Box<Compiled>> {
        Ok(Box::new(self.compile(expr)?))
    }

    fn optional(&mut self, expr: Option<&Expr>) -> Result<Option<Box<Compiled>>> {
        expr.map(|e| self.boxed(e)).transpose()
    }

    fn all(&mut self, exprs: &[Expr]) -> Result<Vec<Compiled>> {
        exprs.iter().map(|e| self.compile(e)).collect()
    }

    fn scoped<T>(&mut self, var: VarId, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.locals.push(var);
        let result = body(self);
        self.locals.pop();
        result
    }

    /// The scope whose own variables are the last `own` locals.
    fn list_scope(&self, list: Box<Compiled>, bodies: &[&Compiled], own: usize) -> ListScope {
        let width = self.layout.width() + self.locals.len();
        let mut captured = Vec::new();
        for body in bodies {
            body.slots(&mut captured);
        }
        captured.retain(|slot| *slot < width - own);
        ListScope {
            var: width - 1,
            list,
            captured,
            width,
        }
    }
}

fn literal_value(literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Boolean(b) => Value::Boolean(*b),
        Literal::Integer(i) => Value::Integer(*i),
        Literal::Float(f) => Value::Float(*f),
        Literal::String(s) => Value::String(s.clone()),
    }
}
