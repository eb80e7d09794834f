//! Pipelines that several threads run: planned once, started by each thread.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::graph::scanned;
use super::{Divided, Made, Node, Planner, project};
use crate::error::{ExecError, Result};
use crate::layout::Layout;
use crate::operators::argument::{Argument, ArgumentSlot};
use crate::operators::count_cache::SharedCounts;
use crate::operators::morsels::MorselSlot;
use crate::operators::parallel::{MakeWorker, Parallel, Slot, Source, Worker};
use crate::operators::sort::top_n_bound::SharedTopNBound;
use crate::pattern::Shape;
use crate::physical::node::Start;
use crate::profile::{ProfileCells, inputs};
use crate::query_context::QueryContext;
use graven_cypher::plan::{CountTree, Expr, Operator as P, PlanNode, VarId};

impl Planner<'_> {
    /// The bottom of the copies of a pipeline whose rows are divided.
    pub(super) fn exchange(&mut self) -> Result<Made> {
        let Some(Divided::Rows(source)) = &self.divided else {
            return Err(ExecError::Plan {
                message: "an Exchange outside of any Parallel".to_owned(),
            });
        };
        let source = Arc::clone(source);
        let layout = source.layout.clone();
        let columns: Arc<[usize]> = (0..layout.width()).collect();
        Ok(Made::new([source], layout, move |_, start| {
            let Some(Slot::Rows(slot)) = &start.divided else {
                return Err(ExecError::Plan {
                    message: "an Exchange outside of any Parallel".to_owned(),
                });
            };
            Ok(Box::new(Argument::new(slot.clone(), Arc::clone(&columns))))
        }))
    }

    /// A pipeline that several threads run, each with `computed` on top where there is any: those
    /// columns alone. It is planned once; each thread starts it. Of a pipeline over rows that are
    /// divided one copy is started at first, the others when they are wanted.
    pub(super) fn parallel(
        &mut self,
        input: &PlanNode,
        computed: Option<&[(VarId, Expr)]>,
    ) -> Result<Made> {
        let (mut bottom, mut above) = (input, None);
        while !matches!(bottom.op, P::Exchange { .. })
            && let Some(below) = inputs(&bottom.op).first()
            && !matches!(below.op, P::Unit)
        {
            above = Some(&bottom.op);
            bottom = below;
        }
        if let P::Exchange { input: source } = &bottom.op {
            if self.writes {
                return Err(ExecError::Plan {
                    message: "CY-50: a parallel pipeline in a statement that writes".to_owned(),
                });
            }
            let source = self.node(source)?;
            let divided = Divided::Rows(Arc::clone(&source));
            let pipeline = self.pipeline(input, divided, computed)?;
            let layout = pipeline.layout.clone();
            let made = Made::new([pipeline], layout, move |node, start| {
                let source = source.start(start)?;
                let pipeline = Pipeline::new(&node.inputs[0], start.cells);
                let worker = move |rt: &QueryContext| {
                    pipeline.worker(Slot::Rows(ArgumentSlot::default()), rt)
                };
                let first = worker(start.rt)?;
                let make: MakeWorker = Box::new(worker);
                let source = Source::Rows(source, make);
                Ok(Box::new(Parallel::new(vec![first], source, start.rt)))
            });
            return Ok(made.choosing(computed.is_some(), "threads compute what is read above"));
        }
        let nodes = scanned(&bottom.op, self.rt);
        let visited = above.map_or(Vec::new(), |above| visited(&bottom.op, above, self.rt));
        let pipeline = self.pipeline(input, Divided::Nodes, computed)?;
        let layout = pipeline.layout.clone();
        let made = Made::new([pipeline], layout, move |node, start| {
            let pipeline = Pipeline::new(&node.inputs[0], start.cells);
            let threads = start.rt.tuning.threads.max(1);
            let workers =
                (0..threads).map(|_| pipeline.worker(Slot::Nodes(MorselSlot::default()), start.rt));
            let workers = workers.collect::<Result<_>>()?;
            let visited = visited.iter().map(|shape| shape.adjacencies(start.rt));
            let visited = visited.collect::<Result<Vec<_>>>()?.concat();
            let source = Source::Nodes(nodes, visited);
            Ok(Box::new(Parallel::new(workers, source, start.rt)))
        });
        Ok(made.choosing(computed.is_some(), "threads compute what is read above"))
    }

    /// The pipeline that each of several threads starts.
    fn pipeline(
        &mut self,
        input: &PlanNode,
        divided: Divided,
        computed: Option<&[(VarId, Expr)]>,
    ) -> Result<Node> {
        let mut copy = Planner {
            rt: self.rt,
            nodes: self.nodes,
            is_snapshot_stable: self.is_snapshot_stable,
            writes: self.writes,
            arguments: Vec::new(),
            asked: BTreeSet::new(),
            handed_in: 1.0,
            divided: Some(divided),
            is_part: matches!(
                input.op,
                P::Aggregate { .. } | P::Distinct { runs: false, .. }
            ),
            shares_best: matches!(input.op, P::TopN { .. }),
            told: None,
        };
        let mut root = copy.node(input)?;
        if let Some(items) = computed {
            let exprs = copy.compile_all(&root.layout, items.iter().map(|(_, item)| item))?;
            let layout = Layout::new(items.iter().map(|(var, _)| *var).collect());
            root = copy.added(
                project(root, exprs, layout),
                "Project",
                input.estimated_rows,
            );
        }
        self.nodes = copy.nodes;
        Ok(root)
    }
}

/// What the threads of a parallel pipeline have in common.
struct Pipeline {
    root: Node,
    cells: Option<ProfileCells>,
    best: SharedTopNBound,
    numbers: SharedCounts,
}

impl Pipeline {
    fn new(root: &Node, cells: Option<&ProfileCells>) -> Self {
        Self {
            root: Arc::clone(root),
            cells: cells.cloned(),
            best: SharedTopNBound::default(),
            numbers: SharedCounts::default(),
        }
    }

    /// The pipeline of one thread, over what is left in the slot.
    fn worker(&self, slot: Slot, rt: &QueryContext) -> Result<Worker> {
        let rt = rt.for_worker();
        let mut start = Start::new(&rt, self.cells.as_ref());
        start.divided = Some(slot.clone());
        start.best = Some(self.best.clone());
        start.numbers = Some(self.numbers.clone());
        let root = self.root.start(&mut start)?;
        Ok(Worker::new(root, slot, rt))
    }
}

/// The patterns whose lists of the nodes of a scan the operator above it visits, all of them.
fn visited(scan: &P, above: &P, rt: &QueryContext) -> Vec<Shape> {
    let (P::LabelScan { var, .. } | P::AllNodesScan { var, .. }) = scan else {
        return Vec::new();
    };
    let whole = |pattern| Shape::of_all(pattern, rt);
    match above {
        P::Expand { from, pattern, .. } if from == var => vec![whole(pattern)],
        P::CountMatches { patterns, .. } => {
            // Degrees are found without visiting lists.
            let reads_lists = |hanging: &CountTree| {
                !hanging.branches.is_empty()
                    || !hanging.labels.is_empty()
                    || !hanging.extremes.is_empty()
            };
            let own = patterns.iter().filter(|(from, _)| from == var);
            let own = own.filter(|(_, hanging)| reads_lists(hanging));
            own.map(|(_, hanging)| whole(&hanging.pattern)).collect()
        }
        _ => Vec::new(),
    }
}
