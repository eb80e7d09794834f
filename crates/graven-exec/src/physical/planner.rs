//! Makes physical nodes of plan nodes: columns are assigned, names resolved, expressions compiled,
//! and what the logical plan leaves open is chosen.
//!
//! # How it works
//! Each node gets the layout of its input and has its own. The inner trees of apply, optional and
//! semi-apply are *row-wise* if every operator in them treats rows one by one in order; such a tree
//! is given whole batches and carries a hidden variable, the number of the input row (see
//! [`crate::operators::apply`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::node::{Made, PhysicalNode};
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Compiler};
use crate::layout::Layout;
use crate::operators::apply::{Apply, InnerTree, Mode};
use crate::operators::argument::Argument;
use crate::operators::cartesian_product::CartesianProduct;
use crate::operators::computed_label_scan::ComputedLabelScan;
use crate::operators::creation::Creation;
use crate::operators::foreach::Foreach;
use crate::operators::hash_join::{HashJoin, JoinColumns};
use crate::operators::merge::{Merge, MergeParts};
use crate::operators::project::Project;
use crate::operators::repeat::{Ends, Repeat, Repetition};
use crate::operators::schema::Schema;
use crate::operators::set::Items;
use crate::operators::subquery_memo::{SubqueryMemo, gives_one_number};
use crate::operators::union::Union;
use crate::operators::unit::Unit;
use crate::query_context::QueryContext;
use graven_cypher::plan::{
    Expr, InTransactions, Operator as P, Plan, PlanNode, Repeat as PlanRepeat, VarId,
};
use graven_types::told;

mod files;
mod graph;
mod grouping;
mod parallel;
mod row_by_row;
mod row_wise;
mod sorting;

/// A node of the physical plan.
pub(super) type Node = Arc<PhysicalNode>;

/// What the copies of a parallel pipeline that is being planned read.
enum Divided {
    /// Parts of a scan.
    Nodes,
    /// The rows of this node.
    Rows(Node),
}

/// See the file header.
pub(super) struct Planner<'a> {
    rt: &'a QueryContext,
    /// Nodes made so far.
    nodes: u32,
    /// Nothing that the tree being planned sees changes while it runs.
    is_snapshot_stable: bool,
    /// The tree being planned is part of one that writes.
    writes: bool,
    /// Layouts of the rows that enclosing applies hand in, the innermost last.
    arguments: Vec<Layout>,
    /// Columns of these that inner trees read, by how many applies enclose the tree.
    asked: BTreeSet<(usize, usize)>,
    /// Rows that enclosing applies are expected to hand in, all in all.
    handed_in: f64,
    /// Of a parallel pipeline: what its copies read.
    divided: Option<Divided>,
    /// Whether the root is one of several parts of an aggregation.
    is_part: bool,
    /// Whether the root is a top-n that shares what it knows with those of other copies.
    shares_best: bool,
    /// A top-n above tells the expansion to this variable what it wants.
    told: Option<VarId>,
}

/// Variables from here on are hidden row numbers.
const HIDDEN: u32 = u32::MAX - 1024;

fn is_hidden(var: VarId) -> bool {
    var.0 >= HIDDEN
}

impl<'a> Planner<'a> {
    /// The root of the physical plan, and how many nodes it has.
    pub(super) fn plan(plan: &Plan, rt: &'a QueryContext) -> Result<(Node, u32)> {
        // What lies outside of a subquery in transactions reads what is committed.
        let outside = plan.root.in_transactions().is_some();
        let writes = !outside && plan.writes();
        let mut planner = Self {
            rt,
            nodes: 0,
            is_snapshot_stable: outside || rt.is_snapshot_stable && !writes,
            writes,
            arguments: Vec::new(),
            asked: BTreeSet::new(),
            handed_in: 1.0,
            divided: None,
            is_part: false,
            shares_best: false,
            told: None,
        };
        let root = planner.node(&plan.root)?;
        Ok((root, planner.nodes))
    }

    fn number(&mut self) -> u32 {
        self.nodes += 1;
        self.nodes - 1
    }

    fn node(&mut self, node: &PlanNode) -> Result<Node> {
        if let P::Exchange { input } = &node.op
            && !matches!(self.divided, Some(Divided::Rows(_)))
        {
            return self.node(input);
        }
        let made = self.operator(node)?;
        Ok(self.finish(made, node))
    }

    /// The node that stands for `node`.
    fn finish(&mut self, made: Made, node: &PlanNode) -> Node {
        let id = self.number();
        made.finish(node.op.name(), Some(node), node.estimated_rows, id)
    }

    /// A node that the logical plan has not.
    fn added(&mut self, made: Made, name: &'static str, rows: f64) -> Node {
        let id = self.number();
        made.finish(name, None, rows, id)
    }

    fn operator(&mut self, node: &PlanNode) -> Result<Made> {
        let op = &node.op;
        match op {
            P::Unit => Ok(Made::new([], Layout::default(), |_, _| {
                Ok(Box::new(Unit::default()))
            })),
            P::Argument { vars } => self.argument(vars),
            P::AllNodesScan { .. }
            | P::LabelScan { .. }
            | P::IndexSeek { .. }
            | P::IndexRange { .. }
            | P::NodeByIdSeek { .. }
            | P::RelationshipByIdSeek { .. } => self.nodes(op),
            P::IndexScan { .. } => self.index_scan(op),
            P::ComputedLabelScan {
                input,
                var,
                names,
                equal,
            } => {
                let input = self.node(input)?;
                let mut layout = input.layout.clone();
                let names = self.compile(&layout, names)?;
                let equal = equal
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.compiled(&layout, value)?)));
                let equal: Arc<[_]> = equal.collect::<Result<_>>()?;
                let slot = layout.slot_or_add(*var);
                Ok(Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    let (names, equal) = (Arc::clone(&names), Arc::clone(&equal));
                    let scan = ComputedLabelScan::new(input, slot, names, equal, start.rt);
                    Ok(Box::new(scan))
                }))
            }
            P::Repeat {
                input,
                inner,
                repeat,
            } => self.repeat(input, inner, repeat),
            P::Expand { .. } | P::ExpandInto { .. } => self.expand(op),
            P::VarExpand { .. } | P::ReachableCount { .. } => self.var_expand(op),
            P::CountMatches {
                input,
                patterns,
                count,
            } => self.pattern_count(input, patterns, *count),
            P::Apply { input, inner } => self.apply(input, inner, Mode::Apply),
            P::Optional { input, inner, .. } => self.apply(input, inner, Mode::Optional),
            P::SemiApply { input, inner, anti } => {
                let mode = if *anti { Mode::Anti } else { Mode::Semi };
                self.apply(input, inner, mode)
            }
            P::Parallel { input } => self.parallel(input, None),
            P::Exchange { .. } => self.exchange(),
            P::HashJoin { input, build, on } => self.hash_join(input, build, on),
            P::CartesianProduct { input, inner } => self.cartesian_product(input, inner),
            P::Union { inputs } => self.union(inputs),
            P::Project { .. } | P::Aggregate { .. } | P::Distinct { .. } => self.reshape(node),
            P::Merge { .. } => self.merge(op),
            P::Schema { input, command } => {
                let input = self.node(input)?;
                let command = Arc::new(command.clone());
                Ok(Made::new([input], Layout::default(), move |node, start| {
                    let input = node.input(0, start)?;
                    Ok(Box::new(Schema::new(input, Arc::clone(&command))))
                }))
            }
            P::Foreach {
                input,
                inner,
                list,
                var,
                ..
            } => self.foreach(input, inner, list, *var),
            P::InTransactions {
                input,
                inner,
                batches,
            } => self.in_transactions(input, inner, batches),
            _ => self.row_by_row(op),
        }
    }

    fn argument(&mut self, vars: &[VarId]) -> Result<Made> {
        let given = self.arguments.last().ok_or_else(|| ExecError::Plan {
            message: "an Argument outside of any Apply".to_owned(),
        })?;
        let mut vars = vars.to_vec();
        // The number of the input row comes last, if this Apply hands it in.
        vars.extend(given.vars().last().filter(|v| is_hidden(**v)));
        let columns = vars
            .iter()
            .map(|v| self::slot(given, *v))
            .collect::<Result<Arc<[usize]>>>()?;
        let depth = self.arguments.len();
        self.asked
            .extend(columns.iter().map(|column| (depth, *column)));
        Ok(Made::new([], Layout::new(vars), move |_, start| {
            let slot = start.arguments.last().ok_or_else(|| ExecError::Plan {
                message: "an Argument outside of any Apply".to_owned(),
            })?;
            Ok(Box::new(Argument::new(slot.clone(), Arc::clone(&columns))))
        }))
    }

    fn compiled(&self, layout: &Layout, expr: &Expr) -> Result<Compiled> {
        Compiler::new(layout, self.rt).compile(expr)
    }

    fn compile(&self, layout: &Layout, expr: &Expr) -> Result<Arc<Compiled>> {
        self.compiled(layout, expr).map(Arc::new)
    }

    /// All of these.
    fn compile_all<'e>(
        &self,
        layout: &Layout,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> Result<Arc<[Compiled]>> {
        let exprs = exprs.into_iter();
        exprs.map(|expr| self.compiled(layout, expr)).collect()
    }

    /// A tree that runs for rows of this layout.
    fn inner(&mut self, inner: &PlanNode, row: Layout) -> Result<Node> {
        self.arguments.push(row);
        let node = self.node(inner);
        self.arguments.pop();
        node
    }

    fn apply(&mut self, input: &PlanNode, inner: &PlanNode, mode: Mode) -> Result<Made> {
        let handed_in = self.handed_in;
        let rows = input.estimated_rows.max(1.0);
        let input = self.node(input)?;
        let mut layout = input.layout.clone();
        let depth = u32::try_from(self.arguments.len()).unwrap_or(u32::MAX);
        let hidden = self.is_row_wise(inner).then(|| VarId(u32::MAX - depth));
        let mut handed = layout.vars().to_vec();
        handed.extend(hidden);
        self.handed_in *= rows;
        let within = self.arguments.len() + 1;
        self.asked.split_off(&(within, 0));
        let root = self.inner(inner, Layout::new(handed));
        let reads = self.asked.split_off(&(within, 0));
        self.handed_in = handed_in;
        let root = root?;
        let ordinal = hidden.map(|h| self::slot(&root.layout, h)).transpose()?;
        let mut added = Vec::new();
        if matches!(mode, Mode::Apply | Mode::Optional) {
            added = add_columns(&mut layout, &root.layout);
        }
        let added: Arc<[usize]> = added.into();
        let repeats = mode == Mode::Apply && self.is_snapshot_stable && gives_one_number(inner);
        let repeated: Option<Vec<usize>> = repeats.then(|| {
            let own = reads.into_iter().filter(|(depth, _)| *depth == within);
            own.map(|(_, column)| column).collect()
        });
        let made = Made::new([input, root], layout, move |node, start| {
            let input = node.input(0, start)?;
            let (root, slot) = node.inner(1, start)?;
            let repeated = repeated.as_ref();
            let repeated =
                repeated.map(|reads| SubqueryMemo::new(reads.clone(), added.len(), start.rt));
            let inner = InnerTree {
                root,
                slot,
                ordinal,
                added: Arc::clone(&added),
                repeated,
            };
            Ok(Box::new(Apply::new(input, inner, mode)))
        });
        Ok(made
            .choosing(repeats, "once for rows alike")
            .choosing(!repeats && ordinal.is_none(), "row by row"))
    }

    fn repeat(&mut self, input: &PlanNode, inner: &PlanNode, repeat: &PlanRepeat) -> Result<Made> {
        let input = self.node(input)?;
        let mut layout = input.layout.clone();
        let depth = u32::try_from(self.arguments.len()).unwrap_or(u32::MAX);
        let hidden = self.is_row_wise(inner).then(|| VarId(u32::MAX - depth));
        let mut handed = layout.vars().to_vec();
        handed.push(repeat.entry);
        handed.extend(hidden);
        let root = self.inner(inner, Layout::new(handed))?;
        let own = &root.layout;
        let slots = |vars: &mut dyn Iterator<Item = VarId>, layout: &Layout| {
            vars.map(|var| slot(layout, var))
                .collect::<Result<Vec<usize>>>()
        };
        let repetition = Arc::new(Repetition {
            ordinal: hidden.map(|h| slot(own, h)).transpose()?,
            exit: slot(own, repeat.exit)?,
            rels: slots(&mut repeat.rels.iter().copied(), own)?,
            groups: slots(&mut repeat.groups.iter().map(|(inner, _)| *inner), own)?,
        });
        let apart = repeat.distinct_from.iter().chain(&repeat.disjoint_from);
        let lists = repeat.groups.iter().map(|(_, list)| *list);
        let ends = Arc::new(Ends {
            from: slot(&layout, repeat.from)?,
            apart: slots(&mut apart.copied(), &layout)?,
            to: match repeat.into {
                true => slot(&layout, repeat.to)?,
                false => layout.slot_or_add(repeat.to),
            },
            into: repeat.into,
            min: repeat.min,
            max: repeat.max,
            path: layout.slot_or_add(repeat.path),
            lists: lists.map(|list| layout.slot_or_add(list)).collect(),
            reversed: repeat.reversed,
        });
        let row_by_row = repetition.ordinal.is_none();
        let made = Made::new([input, root], layout, move |node, start| {
            let input = node.input(0, start)?;
            let inner = node.inner(1, start)?;
            let shape = (Arc::clone(&repetition), Arc::clone(&ends));
            Ok(Box::new(Repeat::new(input, inner, shape, start.rt)))
        });
        Ok(made.choosing(row_by_row, "way by way"))
    }

    fn in_transactions(
        &mut self,
        input: &PlanNode,
        inner: &PlanNode,
        batches: &InTransactions,
    ) -> Result<Made> {
        let input = self.node(input)?;
        let row = input.layout.clone();
        let outside = (self.is_snapshot_stable, self.writes);
        (self.is_snapshot_stable, self.writes) = (false, inner.writes());
        let inner = self.inner(inner, row);
        (self.is_snapshot_stable, self.writes) = outside;
        let mut vars = input.layout.vars().to_vec();
        vars.extend(batches.columns.iter().chain(&batches.status));
        Ok(Made::new([input, inner?], Layout::new(vars), |_, start| {
            start.ready.take().ok_or_else(|| ExecError::Plan {
                message: "a subquery in transactions has not run".to_owned(),
            })
        }))
    }

    fn merge(&mut self, op: &P) -> Result<Made> {
        let P::Merge {
            input,
            inner,
            creation,
            on_create,
            on_match,
            created: flag,
        } = op
        else {
            unreachable!("only merges")
        };
        let input = self.written_from(input)?;
        let mut layout = input.layout.clone();
        let inner = self.inner(inner, layout.clone())?;
        let creation = Arc::new(Creation::new(creation, &layout, self.rt)?);
        // What the search has computed besides stays there.
        let (mut added, mut created) = (Vec::new(), Vec::new());
        for (at, var) in inner.layout.vars().iter().enumerate() {
            let own = creation.variables().position(|v| v == *var);
            if let Some(own) = own.filter(|_| layout.slot(*var).is_none()) {
                layout.slot_or_add(*var);
                added.push(at);
                created.push(own);
            }
        }
        if let Some(flag) = flag {
            layout.slot_or_add(*flag);
        }
        let (added, created): (Arc<[usize]>, Arc<[usize]>) = (added.into(), created.into());
        let tells = flag.is_some();
        let on_create = Arc::new(Items::new(on_create, &layout, self.rt)?);
        let on_match = Arc::new(Items::new(on_match, &layout, self.rt)?);
        Ok(Made::new([input, inner], layout, move |node, start| {
            let input = node.input(0, start)?;
            let (inner, slot) = node.inner(1, start)?;
            let parts = MergeParts {
                inner,
                slot,
                added: Arc::clone(&added),
                creation: Arc::clone(&creation),
                created: Arc::clone(&created),
                tells,
                on_create: Arc::clone(&on_create),
                on_match: Arc::clone(&on_match),
            };
            Ok(Box::new(Merge::new(input, parts)))
        }))
    }

    fn foreach(
        &mut self,
        input: &PlanNode,
        inner: &PlanNode,
        list: &Expr,
        var: VarId,
    ) -> Result<Made> {
        let input = self.node(input)?;
        let layout = input.layout.clone();
        let list = self.compile(&layout, list)?;
        let mut row = layout.vars().to_vec();
        row.push(var);
        let inner = self.inner(inner, Layout::new(row))?;
        Ok(Made::new([input, inner], layout, move |node, start| {
            let input = node.input(0, start)?;
            let (inner, slot) = node.inner(1, start)?;
            Ok(Box::new(Foreach::new(
                input,
                inner,
                slot,
                Arc::clone(&list),
            )))
        }))
    }

    fn hash_join(&mut self, input: &PlanNode, build_plan: &PlanNode, on: &[VarId]) -> Result<Made> {
        let input = self.node(input)?;
        let mut layout = input.layout.clone();
        let build = self.node(build_plan)?;
        let slots = |layout: &Layout| on.iter().map(|v| slot(layout, *v)).collect::<Result<_>>();
        let mut columns = JoinColumns {
            input_keys: slots(&layout)?,
            build_keys: slots(&build.layout)?,
            width: layout.width(),
            added: Vec::new(),
        };
        columns.added = add_columns(&mut layout, &build.layout);
        let columns = Arc::new(columns);
        let keeps = !self.arguments.is_empty() && self.stands_alone(build_plan);
        let made = Made::new([input, build], layout, move |node, start| {
            let (input, build) = (node.input(0, start)?, node.input(1, start)?);
            let join = HashJoin::new(input, build, Arc::clone(&columns), start.rt);
            Ok(Box::new(join.keeping(keeps)))
        });
        Ok(made.choosing(keeps, "keeps its table"))
    }

    fn cartesian_product(&mut self, input: &PlanNode, inner: &PlanNode) -> Result<Made> {
        let input = self.node(input)?;
        let mut layout = input.layout.clone();
        let inner = self.node(inner)?;
        let added: Arc<[usize]> = add_columns(&mut layout, &inner.layout).into();
        Ok(Made::new([input, inner], layout, move |node, start| {
            let (input, inner) = (node.input(0, start)?, node.input(1, start)?);
            let added = Arc::clone(&added);
            let product = CartesianProduct::new(input, inner, added, &start.rt.budget);
            Ok(Box::new(product))
        }))
    }

    fn union(&mut self, inputs: &[PlanNode]) -> Result<Made> {
        let mut nodes: Vec<Node> = Vec::with_capacity(inputs.len());
        let mut columns: Vec<Arc<[usize]>> = Vec::with_capacity(inputs.len());
        for input in inputs {
            let node = self.node(input)?;
            let layout = nodes.first().map_or(&node.layout, |first| &first.layout);
            let slots = layout.vars().iter().map(|v| slot(&node.layout, *v));
            columns.push(slots.collect::<Result<_>>()?);
            nodes.push(node);
        }
        let layout = nodes.first().map(|first| first.layout.clone());
        let mut made = Made::new([], layout.unwrap_or_default(), move |node, start| {
            let inputs = columns.iter().enumerate();
            let inputs = inputs.map(|(at, slots)| Ok((node.input(at, start)?, Arc::clone(slots))));
            Ok(Box::new(Union::new(inputs.collect::<Result<_>>()?)))
        });
        made.inputs = nodes;
        Ok(made)
    }
}

/// A projection of `input`.
fn project(input: Node, items: Arc<[Compiled]>, layout: Layout) -> Made {
    Made::new([input], layout, move |node, start| {
        let input = node.input(0, start)?;
        Ok(Box::new(Project::new(input, Arc::clone(&items), start.rt)))
    })
}

fn slot(layout: &Layout, var: VarId) -> Result<usize> {
    layout.slot(var).ok_or_else(|| ExecError::Plan {
        message: told!("variable {} is not produced below its use (CY-1)", var.0),
    })
}

/// Adds the variables of `other` that `layout` lacks; their columns in `other`.
fn add_columns(layout: &mut Layout, other: &Layout) -> Vec<usize> {
    let mut added = Vec::new();
    for (at, var) in other.vars().iter().enumerate() {
        if !is_hidden(*var) && layout.slot(*var).is_none() {
            layout.slot_or_add(*var);
            added.push(at);
        }
    }
    added
}
