//! Operators that keep the variables of their input and may add some.

use std::sync::Arc;

use super::{Made, Planner, files, slot, sorting};
use crate::error::{ExecError, Result};
use crate::operators::build_path::BuildPath;
use crate::operators::create::Create;
use crate::operators::creation::Creation;
use crate::operators::delete::Delete;
use crate::operators::eager::{Eager, EmptyResult};
use crate::operators::filter::Filter;
use crate::operators::limit::{Limit, Skip};
use crate::operators::load_csv::{LoadCsv, Slots, Source};
use crate::operators::procedure::Procedure;
use crate::operators::project::Extend;
use crate::operators::select_paths::{SelectPaths, Selection};
use crate::operators::set::{Items, Set};
use crate::operators::sort::Sort;
use crate::operators::unwind::Unwind;
use crate::profile::inputs;
use graven_cypher::plan::{Expr, Operator as P, VarId};
use graven_types::told;

impl Planner<'_> {
    /// Operators that keep the variables of their input and may add some.
    pub(super) fn row_by_row(&mut self, op: &P) -> Result<Made> {
        let below = inputs(op);
        let [below] = below.as_slice() else {
            return Err(ExecError::Plan {
                message: told!("no operator for {op:?}"),
            });
        };
        let tells = match op {
            P::TopN { input, keys, .. } => self.tell(input, keys),
            _ => None,
        };
        let shares = matches!(op, P::TopN { .. }) && std::mem::take(&mut self.shares_best);
        let exhaustive = below.writes();
        let input = match op {
            P::Create { .. } | P::Set { .. } | P::Delete { .. } => self.written_from(below)?,
            _ => self.node(below)?,
        };
        let mut layout = input.layout.clone();
        Ok(match op {
            P::Filter { predicate, .. } => {
                let predicate = self.compile(&layout, predicate)?;
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    Ok(Box::new(Filter::new(input, Arc::clone(&predicate))))
                })
            }
            P::Extend { items, .. } => {
                let compiled = items
                    .iter()
                    .map(|(v, e)| Ok((*v, self.compiled(&layout, e)?)))
                    .collect::<Result<Vec<_>>>()?;
                let items: Arc<[_]> = compiled
                    .into_iter()
                    .map(|(v, e)| (layout.slot_or_add(v), e))
                    .collect();
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    Ok(Box::new(Extend::new(input, Arc::clone(&items), start.rt)))
                })
            }
            P::Sort { keys, .. } => {
                let plan = Arc::new(self.sort(&layout, keys, None)?);
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    Ok(Box::new(Sort::new(input, Arc::clone(&plan), start.rt)))
                })
            }
            P::TopN { keys, limit, .. } => {
                let plan = Arc::new(self.sort(&layout, keys, Some(limit))?);
                sorting::top_n(input, layout, plan, (tells, shares, exhaustive))
            }
            P::Skip { count, .. } => {
                let count = self.compile(&layout, count)?;
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    Ok(Box::new(Skip::new(input, Arc::clone(&count))))
                })
            }
            P::Limit { count, .. } => {
                let count = self.compile(&layout, count)?;
                let made = Made::new([input], layout, move |node, start| {
                    let (input, count) = (node.input(0, start)?, Arc::clone(&count));
                    Ok(Box::new(match exhaustive {
                        true => Limit::exhaustive(input, count),
                        false => Limit::new(input, count),
                    }))
                });
                made.choosing(exhaustive, "runs its input to the end")
            }
            P::Create { creation, .. } => {
                let creation = Arc::new(Creation::new(creation, &layout, self.rt)?);
                let slots = creation.variables().map(|v| layout.slot_or_add(v));
                let slots: Arc<[usize]> = slots.collect();
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    let (creation, slots) = (Arc::clone(&creation), Arc::clone(&slots));
                    Ok(Box::new(Create::new(input, creation, slots)))
                })
            }
            P::Set { items, .. } => {
                let items = Arc::new(Items::new(items, &layout, self.rt)?);
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    Ok(Box::new(Set::new(input, Arc::clone(&items))))
                })
            }
            P::Delete {
                targets,
                detach,
                at,
                ..
            } => {
                let targets = self.compile_all(&layout, targets)?;
                let (detach, at) = (*detach, *at);
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    Ok(Box::new(Delete::new(
                        input,
                        Arc::clone(&targets),
                        detach,
                        at,
                    )))
                })
            }
            P::Eager { .. } => Made::new([input], layout, |node, start| {
                let input = node.input(0, start)?;
                Ok(Box::new(Eager::new(input, start.rt)))
            }),
            P::EmptyResult { .. } => Made::new([input], layout, |node, start| {
                Ok(Box::new(EmptyResult::new(node.input(0, start)?)))
            }),
            P::LoadCsv {
                url,
                headers,
                terminator,
                var,
                line,
                file,
                at,
                ..
            } => {
                let terminator = terminator.as_ref();
                let source = Arc::new(Source {
                    url: self.compiled(&layout, url)?,
                    headers: *headers,
                    at: *at,
                    terminator: terminator.map(|t| self.compiled(&layout, t)).transpose()?,
                });
                let mut slot = |var: &VarId| layout.slot_or_add(*var);
                let slots = Slots {
                    record: slot(var),
                    line: line.as_ref().map(&mut slot),
                    file: file.as_ref().map(slot),
                };
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    let load = LoadCsv::new(input, Arc::clone(&source), slots, start.rt);
                    Ok(Box::new(load))
                })
            }
            P::LoadFrom { .. } => self.load_from(op, input, layout)?,
            P::CopyTo { .. } => files::copy_to(op, input, layout)?,
            P::Unwind {
                list, var, last, ..
            } => {
                let gone = match list {
                    Expr::Variable(list) if *last => Some(slot(&layout, *list)?),
                    _ => None,
                };
                let list = self.compile(&layout, list)?;
                let slot = layout.slot_or_add(*var);
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    let list = Arc::clone(&list);
                    Ok(Box::new(Unwind::new(input, list, (slot, gone), start.rt)))
                })
            }
            P::SelectPaths {
                from,
                to,
                lengths,
                count,
                ordered,
                ..
            } => {
                let selection = Arc::new(Selection {
                    from: slot(&layout, *from)?,
                    to: slot(&layout, *to)?,
                    lengths: lengths
                        .iter()
                        .map(|v| slot(&layout, *v))
                        .collect::<Result<_>>()?,
                    count: *count,
                    ordered: *ordered,
                });
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    let select = SelectPaths::new(input, Arc::clone(&selection), start.rt);
                    Ok(Box::new(select))
                })
            }
            P::BuildPath { path, parts, .. } => {
                let parts = parts.iter().map(|v| slot(&layout, *v));
                let parts: Arc<[usize]> = parts.collect::<Result<_>>()?;
                let slot = layout.slot_or_add(*path);
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    Ok(Box::new(BuildPath::new(input, Arc::clone(&parts), slot)))
                })
            }
            P::Procedure {
                name,
                args,
                yields,
                writes,
                at,
                ..
            } => {
                let args = self.compile_all(&layout, args)?;
                let yields = yields.iter();
                let yields = yields.map(|(column, v)| (column.clone(), layout.slot_or_add(*v)));
                let yields: Arc<[_]> = yields.collect();
                let (name, at, writes) = (name.clone(), *at, *writes);
                Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    let (args, yields) = (Arc::clone(&args), Arc::clone(&yields));
                    let procedure = Procedure::new(input, (name.clone(), at), args, yields, writes);
                    Ok(Box::new(procedure))
                })
            }
            other => {
                return Err(ExecError::Plan {
                    message: told!("no operator for {other:?}"),
                });
            }
        })
    }
}
