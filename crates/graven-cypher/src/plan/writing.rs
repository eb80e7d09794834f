//! Writing clauses to operators.
//!
//! # How it works
//! What a clause computes by subqueries is attached below it. `MERGE` and `FOREACH` get inner trees
//! over the row; the barriers between clauses are put in later, by `plan/rules/eager.rs`.

use super::builder::{Builder, Partial, node};
use super::{Operator, VarId};
use crate::bind::graph::{Branch, Merge, Step};

impl Builder<'_> {
    /// Puts a writing clause on top.
    pub(crate) fn write(&mut self, partial: &mut Partial, step: Step) {
        let rows = partial.rows();
        match step {
            Step::Create {
                mut creation,
                paths,
            } => {
                self.attach(partial, creation.exprs_mut());
                partial.bound.extend(creation.variables());
                for created in &creation.nodes {
                    self.labels.insert(created.var, created.labels.clone());
                }
                partial.push(rows, |input| Operator::Create { input, creation });
                self.paths(partial, paths);
            }
            Step::Merge(merge) => self.merge(partial, *merge),
            Step::Set(mut items) => {
                let exprs = items.iter_mut().flat_map(|item| item.exprs_mut());
                self.attach(partial, exprs);
                partial.push(rows, |input| Operator::Set { input, items });
            }
            Step::Delete {
                mut targets,
                detach,
                at,
            } => {
                self.attach(partial, targets.iter_mut());
                partial.push(rows, |input| Operator::Delete {
                    input,
                    targets,
                    detach,
                    at,
                });
            }
            Step::Foreach {
                mut list,
                var,
                body,
                imports,
                at,
            } => {
                self.attach(partial, [&mut list]);
                let inner = self.body(body, var, imports);
                partial.push(rows, |input| Operator::Foreach {
                    input,
                    inner: Box::new(inner.root),
                    list,
                    var,
                    at,
                });
            }
            _ => unreachable!("only writing clauses"),
        }
    }

    fn merge(&mut self, partial: &mut Partial, merge: Merge) {
        let Merge {
            graph,
            mut creation,
            on_create,
            on_match,
            created,
            paths,
        } = merge;
        self.attach(partial, creation.exprs_mut());
        let mut inner = self.inner(partial, &graph);
        self.for_rows(partial.rows(), |own| own.pattern(&mut inner, graph));
        partial.bound.extend(creation.variables().chain(created));
        let rows = partial.rows() * inner.rows().max(1.0);
        partial.push(rows, |input| Operator::Merge {
            input,
            inner: Box::new(inner.root),
            creation,
            on_create,
            on_match,
            created,
        });
        self.paths(partial, paths);
    }

    fn body(&mut self, body: Branch, var: VarId, imports: Vec<VarId>) -> Partial {
        let mut vars = imports;
        vars.push(var);
        let mut inner = Partial {
            root: node(Operator::Argument { vars: vars.clone() }, 1.0),
            bound: vars.iter().copied().collect(),
        };
        for step in body.steps {
            self.step(&mut inner, step, &vars);
        }
        inner
    }

    fn paths(&mut self, partial: &mut Partial, paths: Vec<(VarId, Vec<VarId>)>) {
        for (path, parts) in paths {
            let rows = partial.rows();
            partial.push(rows, |input| Operator::BuildPath { input, path, parts });
            partial.bound.insert(path);
        }
    }
}
