//! Physical nodes, and what their operators are made with.
//!
//! # How it works
//! A node has a function that makes its operator from those of its inputs. The function holds what
//! all runs share; what belongs to one run comes with [`Start`]. See [`crate::physical`].

use std::sync::Arc;

use graven_cypher::explain::Step;
use graven_cypher::plan::{Plan, PlanNode};

use crate::error::Result;
use crate::layout::Layout;
use crate::operator::BoxedOperator;
use crate::operators::argument::ArgumentSlot;
use crate::operators::count_cache::SharedCounts;
use crate::operators::parallel::Slot;
use crate::operators::sort::top_n_bound::{SharedTopNBound, TopNBound};
use crate::profile::{ProfileCells, Profiled};
use crate::query_context::QueryContext;

/// Makes the operator of a node, with those of its inputs.
type Make = Box<dyn Fn(&PhysicalNode, &mut Start<'_>) -> Result<BoxedOperator> + Send + Sync>;

/// One operator of a physical plan.
pub(crate) struct PhysicalNode {
    /// Its number in the physical plan.
    pub(crate) id: u32,
    /// The node of the logical plan that it stands for; none if it was added.
    pub(crate) logical: Option<u32>,
    pub(crate) name: &'static str,
    /// What was chosen, beside what the logical plan says.
    choices: Vec<&'static str>,
    estimated_rows: f64,
    pub(crate) inputs: Vec<Arc<PhysicalNode>>,
    /// The columns of its rows.
    pub(crate) layout: Layout,
    make: Make,
}

/// What the operators of one run, or of one thread of a pipeline, are made with.
pub(crate) struct Start<'a> {
    pub(crate) rt: &'a QueryContext,
    pub(crate) cells: Option<&'a ProfileCells>,
    /// Where the enclosing applies leave rows, the innermost last.
    pub(crate) arguments: Vec<ArgumentSlot>,
    /// Of a thread of a parallel pipeline: where its bottom is told its morsel.
    pub(crate) divided: Option<Slot>,
    /// What the top-n of a pipeline shares with those of other threads.
    pub(crate) best: Option<SharedTopNBound>,
    /// Numbers of matches that the threads of a pipeline share.
    pub(crate) numbers: Option<SharedCounts>,
    /// What the top-n above wants of the relationships of an expansion.
    pub(crate) threshold: Option<TopNBound>,
    /// The rows of a subquery in transactions that has run.
    pub(crate) ready: Option<BoxedOperator>,
}

impl<'a> Start<'a> {
    /// For the root of a tree.
    pub(crate) fn new(rt: &'a QueryContext, cells: Option<&'a ProfileCells>) -> Self {
        Self {
            rt,
            cells,
            arguments: Vec::new(),
            divided: None,
            best: None,
            numbers: None,
            threshold: None,
            ready: None,
        }
    }
}

impl PhysicalNode {
    /// The operator of this node and those below it, for one run.
    ///
    /// # Errors
    /// What reading gives; a plan that cannot be run.
    pub(crate) fn start(&self, start: &mut Start<'_>) -> Result<BoxedOperator> {
        let operator = (self.make)(self, start)?;
        Ok(match start.cells {
            Some(cells) => Box::new(Profiled::new(operator, cells.clone(), self.id)),
            None => operator,
        })
    }

    /// The operator of an input.
    pub(crate) fn input(&self, at: usize, start: &mut Start<'_>) -> Result<BoxedOperator> {
        self.inputs[at].start(start)
    }

    /// The operator of an input that runs for rows left in a slot.
    pub(crate) fn inner(
        &self,
        at: usize,
        start: &mut Start<'_>,
    ) -> Result<(BoxedOperator, ArgumentSlot)> {
        let slot = ArgumentSlot::default();
        start.arguments.push(slot.clone());
        let inner = self.inputs[at].start(start);
        start.arguments.pop();
        Ok((inner?, slot))
    }

    /// The node that stands for this one of the logical plan.
    pub(crate) fn find(self: &Arc<Self>, logical: u32) -> Option<&Arc<Self>> {
        if self.logical == Some(logical) {
            return Some(self);
        }
        let mut inputs = self.inputs.iter();
        inputs.find_map(|input| input.find(logical))
    }

    /// What `EXPLAIN` shows of it and those below it.
    pub(super) fn step(&self, plan: &Plan) -> Step {
        let logical = self.logical.and_then(|id| plan.root.find(id));
        let described = logical.map(|node| plan.describe(&node.op));
        Step {
            id: self.id,
            node: self.logical,
            operator: self.name,
            details: described.unwrap_or_default(),
            choices: self.choices.clone(),
            estimated_rows: self.estimated_rows,
            inputs: self.inputs.iter().map(|input| input.step(plan)).collect(),
        }
    }
}

/// A physical node that is not numbered yet.
pub(crate) struct Made {
    choices: Vec<&'static str>,
    pub(super) inputs: Vec<Arc<PhysicalNode>>,
    layout: Layout,
    make: Make,
}

impl Made {
    pub(super) fn new<const N: usize>(
        inputs: [Arc<PhysicalNode>; N],
        layout: Layout,
        make: impl Fn(&PhysicalNode, &mut Start<'_>) -> Result<BoxedOperator> + Send + Sync + 'static,
    ) -> Self {
        Self {
            choices: Vec::new(),
            inputs: Vec::from(inputs),
            layout,
            make: Box::new(make),
        }
    }

    /// The same; `EXPLAIN` says so if the choice was made.
    pub(super) fn choosing(mut self, is_chosen: bool, choice: &'static str) -> Self {
        if is_chosen {
            self.choices.push(choice);
        }
        self
    }

    /// The node, numbered; `logical` is what it stands for.
    pub(super) fn finish(
        self,
        name: &'static str,
        logical: Option<&PlanNode>,
        rows: f64,
        id: u32,
    ) -> Arc<PhysicalNode> {
        Arc::new(PhysicalNode {
            id,
            logical: logical.map(|node| node.id),
            name,
            choices: self.choices,
            estimated_rows: rows,
            inputs: self.inputs,
            layout: self.layout,
            make: self.make,
        })
    }
}
