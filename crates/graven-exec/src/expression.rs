//! Expressions, compiled against a layout and evaluated a batch at a time.
//!
//! # How it works
//! [`compile`] turns a bound expression into a [`Compiled`] tree: variables become column numbers,
//! names of labels, types and keys become ids of the snapshot's
//! catalogue, functions become function pointers. [`evaluate`] computes a whole column at a time. A
//! *selection* (row numbers) travels with the batch, so that the branches of `CASE`, the right side
//! of `AND` and the filters of comprehensions are computed only for rows that need them:
//! `CASE WHEN x = 0 THEN 0 ELSE 1 / x END` never divides by zero ([`lazy`]).
//!
//! Variables of comprehensions, quantifiers and `reduce` get column numbers behind those of the
//! batch; their bodies run over a batch of the list elements (see [`list_scope`]).
//!
//! An error of a value takes the place of the innermost expression that has one
//! ([`Compiled::place`]); only where there is an error is it looked at.
//!
//! # Invariants
//! * EX-8 Evaluating an expression on a selection of `n` rows gives a column of `n` rows, in that
//!   order.

mod binary;
mod compile;
mod evaluate;
pub(crate) mod function;
mod functions;
mod lazy;
mod list_scope;
mod property;
mod rows;
mod signature;

use std::sync::Arc;

use graven_cypher::Span;
use graven_cypher::plan::{BinaryOp, UnaryOp, expression::Quantifier};
use graven_storage::{KeyId, LabelId, TypeId};

pub(crate) use compile::Compiler;
pub(crate) use functions::list::Range;
pub(crate) use rows::as_list;

use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::growth::{Held, Share};
use crate::query_context::QueryContext;
use crate::user_function::UserFunction;
use crate::value::Value;

/// An expression ready to run.
#[derive(Clone, Debug)]
pub(crate) enum Compiled {
    /// A literal, or a list of literals.
    Constant(Value),
    /// A parameter, which each run gives a value.
    Parameter(Arc<str>, Span),
    /// A column of the batch, or a variable of an enclosing list scope.
    Slot(usize),
    /// `base.key`
    Property {
        base: Box<Compiled>,
        key: Arc<str>,
        key_id: Option<KeyId>,
        at: Span,
    },
    /// `base[index]`
    Index(Box<Compiled>, Box<Compiled>, Span),
    /// `base[from..to]`
    Slice {
        base: Box<Compiled>,
        from: Option<Box<Compiled>>,
        to: Option<Box<Compiled>>,
        at: Span,
    },
    /// `[a, b]`
    List(Vec<Compiled>),
    /// `{a: 1}`
    Map(Vec<(Arc<str>, Compiled)>),
    /// Unary operator.
    Unary(UnaryOp, Box<Compiled>, Span),
    /// Binary operator.
    Binary(BinaryOp, Box<Compiled>, Box<Compiled>, Span),
    /// `a < b <= c`
    Chain(Box<Compiled>, Vec<(BinaryOp, Compiled)>, Span),
    /// `n:A:B` or `r:T`; `None`: a name the catalogue does not know.
    HasLabels {
        base: Box<Compiled>,
        labels: Vec<Option<LabelId>>,
        types: Vec<Option<TypeId>>,
        at: Span,
    },
    /// A function of the registry.
    Call(&'static signature::Callable, Vec<Compiled>, Span),
    /// A function of the program.
    UserCall(Arc<UserFunction>, Vec<Compiled>, Span),
    /// `CASE`
    Case {
        branches: Vec<(Compiled, Compiled)>,
        otherwise: Option<Box<Compiled>>,
        at: Span,
    },
    /// A value with a name for one expression; it stands where a scope has its list.
    Let {
        scope: ListScope,
        body: Box<Compiled>,
    },
    /// `[x IN list WHERE p | e]`
    ListComprehension {
        scope: ListScope,
        filter: Option<Box<Compiled>>,
        map: Option<Box<Compiled>>,
        at: Span,
    },
    /// `all|any|none|single(x IN list WHERE p)`
    Quantifier {
        kind: Quantifier,
        scope: ListScope,
        predicate: Box<Compiled>,
        at: Span,
    },
    /// `reduce(acc = init, x IN list | e)`
    Reduce {
        scope: ListScope,
        accumulator: usize,
        init: Box<Compiled>,
        step: Box<Compiled>,
        at: Span,
    },
}

/// What the body of a comprehension, quantifier, `reduce` or of a named value runs over.
#[derive(Clone, Debug)]
pub(crate) struct ListScope {
    /// Column of the element variable.
    var: usize,
    /// The list, or the value that is named.
    list: Box<Compiled>,
    /// Outer columns the body reads.
    captured: Vec<usize>,
    /// Columns in all while the body runs.
    width: usize,
}

/// The rows an expression is computed for.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    columns: &'a [Arc<Column>],
    len: usize,
    selection: Option<&'a [u32]>,
}

impl<'a> Rows<'a> {
    /// All rows of the batch.
    pub(crate) fn all(batch: &'a Batch) -> Self {
        Self {
            columns: batch.columns(),
            len: batch.len(),
            selection: None,
        }
    }

    /// All rows of these columns.
    pub(crate) fn of_columns(columns: &'a [Arc<Column>], len: usize) -> Self {
        Self {
            columns,
            len,
            selection: None,
        }
    }

    /// The rows named by `selection` of the columns.
    fn select(self, selection: &'a [u32]) -> Self {
        Self {
            columns: self.columns,
            len: selection.len(),
            selection: Some(selection),
        }
    }

    /// Rows in all.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A column as these rows see it.
    fn column(&self, slot: usize) -> Arc<Column> {
        match self.selection {
            None => Arc::clone(&self.columns[slot]),
            Some(rows) => Arc::new(self.columns[slot].gather(rows)),
        }
    }

    /// Row numbers of the columns.
    fn numbers(&self) -> Vec<u32> {
        match self.selection {
            None => (0..rows::row_number(self.len)).collect(),
            Some(selection) => selection.to_vec(),
        }
    }

    /// The rows of the columns that have these numbers.
    fn part<'p>(&self, numbers: &'p [u32]) -> Rows<'p>
    where
        'a: 'p,
    {
        Rows {
            columns: self.columns,
            len: numbers.len(),
            selection: Some(numbers),
        }
    }

    /// Translates row numbers among these rows into row numbers of the columns.
    fn compose(&self, rows: &[u32]) -> Vec<u32> {
        match self.selection {
            None => rows.to_vec(),
            Some(selection) => rows.iter().map(|&r| selection[r as usize]).collect(),
        }
    }
}

impl Compiled {
    /// The column of this expression's values for `rows`.
    ///
    /// # Errors
    /// What the expression's operators and functions raise; storage errors of property reads.
    pub(crate) fn column(&self, rows: Rows<'_>, rt: &QueryContext) -> Result<Arc<Column>> {
        let _entered = rt.growth.enter();
        let held = rt.growth.held();
        let column = self.held_column(rows, rt);
        rt.growth.keep(held)?;
        column
    }

    /// As [`Compiled::column`]; what the column holds stays charged until `held` is dropped.
    ///
    /// # Errors
    /// As [`Compiled::column`].
    pub(crate) fn column_for(
        &self,
        _held: &Held,
        rows: Rows<'_>,
        rt: &QueryContext,
    ) -> Result<Arc<Column>> {
        self.held_column(rows, rt)
    }

    /// As [`Compiled::column`]; what the column holds stays charged to the expression that it is a
    /// part of. Where there is no room for what all rows need on the way, some are done after the
    /// others.
    fn held_column(&self, rows: Rows<'_>, rt: &QueryContext) -> Result<Arc<Column>> {
        let held = rt.growth.held();
        match evaluate::column(self, rows, rt) {
            Err(error) => {
                rt.growth.keep(held)?;
                if !error.is_of_memory() || rows.len() < 2 {
                    return Err(error);
                }
            }
            done => return done,
        }
        let all = rows.numbers();
        let (first, second) = all.split_at(all.len() / 2);
        let first = self.held_column(rows.part(first), rt)?;
        let second = self.held_column(rows.part(second), rt)?;
        let column = Arc::new(Column::concat(&[&first, &second]));
        drop((first, second));
        let share = Share::default().of_column(&column) as u64;
        rt.growth.keep(held + share)?;
        Ok(column)
    }

    /// The rows (of all `rows`) for which this predicate is true.
    ///
    /// # Errors
    /// As [`Compiled::column`]; a predicate that is neither boolean nor null.
    pub(crate) fn true_rows(&self, rows: Rows<'_>, rt: &QueryContext) -> Result<Vec<u32>> {
        let _entered = rt.growth.enter();
        let held = rt.growth.held();
        let kept = evaluate::true_rows(self, rows, rt);
        rt.growth.keep(held)?;
        match kept {
            Err(error) if error.is_of_memory() && rows.len() > 1 => {}
            kept => return kept,
        }
        let all = rows.numbers();
        let (first, second) = all.split_at(all.len() / 2);
        let mut kept = self.true_rows(rows.part(first), rt)?;
        let before = rows::row_number(first.len());
        let more = self.true_rows(rows.part(second), rt)?;
        kept.extend(more.into_iter().map(|row| before + row));
        Ok(kept)
    }

    /// Whether both read the same property of the same column.
    fn is_same_property(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Property {
                    base,
                    key,
                    key_id: _,
                    at: _,
                },
                Self::Property {
                    base: other,
                    key: other_key,
                    key_id: _,
                    at: _,
                },
            ) => {
                key == other_key
                    && matches!((&**base, &**other), (Self::Slot(a), Self::Slot(b)) if a == b)
            }
            _ => false,
        }
    }

    /// Whether it is a literal or a parameter.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self, Self::Constant(_) | Self::Parameter(..))
    }

    /// The value of a literal or a parameter, the same for all rows of a run.
    ///
    /// # Errors
    /// A missing parameter.
    pub(crate) fn known<'a>(&'a self, rt: &'a QueryContext) -> Result<Option<&'a Value>> {
        match self {
            Self::Constant(value) => Ok(Some(value)),
            Self::Parameter(name, at) => {
                let value = rt.parameter(name).map_err(|error| error.at(*at))?;
                Ok(Some(value))
            }
            _ => Ok(None),
        }
    }

    /// The value of an expression that reads no columns.
    ///
    /// # Errors
    /// As [`Compiled::column`].
    pub(crate) fn constant(&self, rt: &QueryContext) -> Result<Value> {
        let rows = Rows::of_columns(&[], 1);
        Ok(self.column(rows, rt)?.value(0))
    }

    /// Where it stands in the text of the statement; empty where nothing says so.
    pub(crate) fn place(&self) -> Span {
        match self {
            Self::Constant(_) | Self::Slot(_) | Self::List(_) | Self::Map(_) | Self::Let { .. } => {
                Span::default()
            }
            Self::Parameter(_, at)
            | Self::Property { at, .. }
            | Self::Index(_, _, at)
            | Self::Slice { at, .. }
            | Self::Unary(_, _, at)
            | Self::Binary(_, _, _, at)
            | Self::Chain(_, _, at)
            | Self::HasLabels { at, .. }
            | Self::Call(_, _, at)
            | Self::UserCall(_, _, at)
            | Self::Case { at, .. }
            | Self::ListComprehension { at, .. }
            | Self::Quantifier { at, .. }
            | Self::Reduce { at, .. } => *at,
        }
    }

    /// Adds the columns this expression reads to `slots`.
    pub(crate) fn slots(&self, slots: &mut Vec<usize>) {
        let mut add = |e: &Compiled| e.slots(slots);
        match self {
            Self::Constant(_) | Self::Parameter(..) => {}
            Self::Slot(slot) => {
                if !slots.contains(slot) {
                    slots.push(*slot);
                }
            }
            Self::Property { base, .. } | Self::HasLabels { base, .. } => add(base),
            Self::Index(a, b, _) | Self::Binary(_, a, b, _) => {
                add(a);
                add(b);
            }
            Self::Slice { base, from, to, .. } => {
                add(base);
                from.iter().for_each(|e| add(e));
                to.iter().for_each(|e| add(e));
            }
            Self::List(items) | Self::Call(_, items, _) | Self::UserCall(_, items, _) => {
                items.iter().for_each(add);
            }
            Self::Map(entries) => entries.iter().for_each(|(_, e)| add(e)),
            Self::Unary(_, e, _) => add(e),
            Self::Chain(first, rest, _) => {
                add(first);
                rest.iter().for_each(|(_, e)| add(e));
            }
            Self::Case {
                branches,
                otherwise,
                ..
            } => {
                for (when, then) in branches {
                    add(when);
                    add(then);
                }
                otherwise.iter().for_each(|e| add(e));
            }
            Self::Let { scope, body } => {
                add(&scope.list);
                add(body);
            }
            Self::ListComprehension {
                scope, filter, map, ..
            } => {
                add(&scope.list);
                filter.iter().for_each(|e| add(e));
                map.iter().for_each(|e| add(e));
            }
            Self::Quantifier {
                scope, predicate, ..
            } => {
                add(&scope.list);
                add(predicate);
            }
            Self::Reduce {
                scope, init, step, ..
            } => {
                add(&scope.list);
                add(init);
                add(step);
            }
        }
    }
}
