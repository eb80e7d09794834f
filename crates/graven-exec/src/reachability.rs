//! Reachability: which nodes lie at the end of a trail of `min..=max` relationships from a start node.
//!
//! # How it works
//! A trail may not use a relationship twice but may come back to a node. For an end other than the start a
//! shortest walk repeats nothing, so it is a trail, and breadth-first search decides; `min` of 0 or 1 changes
//! nothing there. The start itself is an end of length 0 if `min` is 0, and otherwise exactly if a closed trail of at
//! most `max` relationships passes through it:
//! * directed patterns: the search meets the start again;
//! * undirected patterns: a loop (length 1), two parallel relationships (2), a triangle (3), in general the
//!   shortest cycle through the start ([`closed_trail`]).
//!
//! Lower bounds above 1 have no such shortcut: [`ends_of_trails`] walks the trails and keeps only their ends.
//!
//! The search goes level by level over a set of marks ([`marks`]): a byte per node, two bits per node or a hash table,
//! by the size of the graph and what the budget allows. A level's frontier is in id order and is swept up and down in
//! turn, the turn being remembered by the thread from statement to statement, because a cyclic sweep in one
//! direction is the worst case of every recency policy. A level runs *top-down* (mark all neighbours of the frontier)
//! or *bottom-up* (look from each unreached node for one reached neighbour), whichever [`Search::choose`] estimates
//! cheaper.
//!
//! Up to 64 starts of one batch share their sweeps, one bit lane each: [`lanes`].
//!
//! # Invariants
//! * EX-13 After a search exactly the ends of trails within the bounds are marked.
//! * EX-14 The bytes of marks and frontiers are charged to the budget before they are allocated.
//!
//! # Source
//! Direction switching: Beamer, Asanovic, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012. Bit lanes:
//! Then et al., "The More the Merrier: Efficient Multi-Source Graph Traversal", VLDB 2014.

mod closed_trail;
pub(crate) mod edges;
mod ends_of_trails;
pub(crate) mod lanes;
pub(crate) mod marks;
pub(crate) mod node_order;
pub(crate) mod turn;

use std::ops::ControlFlow;
use std::sync::Arc;

use graven_cypher::plan::Direction as PlanDirection;

use crate::batch::Batch;
use crate::error::Result;
use crate::memory::Memory;
use crate::pattern::Pattern;
use crate::runtime::Runtime;
use crate::tuning::LevelDirection;
use edges::Edges;
use marks::{Dense, Form, Frontier, Marks, Stop};
use node_order::Nodes;

/// How long a trail may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub(crate) min: u32,
    /// `None`: any length.
    pub(crate) max: Option<u32>,
    /// The planner vouches that breadth-first search is exact.
    pub(crate) proven: bool,
}

impl Bounds {
    /// Whether breadth-first search answers these bounds.
    pub(crate) fn by_search(self) -> bool {
        self.proven && self.min <= 1
    }

    fn allows(self, length: u32) -> bool {
        self.max.is_none_or(|max| length <= max)
    }
}

/// Searches from one start after the other; memory is kept between them.
pub(crate) struct Search {
    pattern: Arc<Pattern>,
    bounds: Bounds,
    marks: Marks,
    memory: Memory,
    frontier: Frontier,
    /// Bitmap of the nodes a bottom-up level visits.
    unreached: Vec<u64>,
}

/// What one level found besides marks.
#[derive(Default)]
struct Level {
    /// List entries met.
    entries: u64,
    /// Shortest closed trail seen through the start, where the level can tell.
    closed: bool,
}

impl Search {
    /// A search along `pattern`.
    pub(crate) fn new(
        pattern: Pattern,
        bounds: Bounds,
        rt: &Runtime,
        operator: &'static str,
    ) -> Self {
        Self {
            marks: Marks::new(rt.tuning),
            memory: Memory::new(
                &rt.budget,
                operator,
                "bound the pattern's length or start from fewer nodes",
            ),
            pattern: Arc::new(pattern),
            bounds,
            frontier: Frontier::default(),
            unreached: Vec::new(),
        }
    }

    /// The pattern searched along.
    pub(crate) fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// The bounds searched within.
    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The marks left by the last run.
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Gives all memory back.
    pub(crate) fn clear(&mut self) {
        self.marks.release();
        self.frontier = Frontier::default();
        self.unreached = Vec::new();
        self.memory.clear();
    }

    /// Marks all ends of trails from `start` for row `row` of `batch`.
    ///
    /// # Errors
    /// Storage errors, errors of the relationships' condition, no memory, cancelled.
    pub(crate) fn run(
        &mut self,
        start: u64,
        batch: &Batch,
        row: usize,
        rt: &Runtime,
    ) -> Result<()> {
        let span = self.pattern.span()?;
        if self.marks.must_start_anew(&span) {
            self.clear();
        }
        self.marks.reset(span, &mut self.memory)?;
        let excluded = self.pattern.excluded(batch, row)?;
        let pattern = Arc::clone(&self.pattern);
        let edges = Edges::new(&pattern, excluded, batch, row, rt)?;
        if self.bounds.by_search() {
            return self.levels(&edges, start);
        }
        ends_of_trails::mark(
            &edges,
            start,
            self.bounds,
            &mut self.marks,
            &mut self.memory,
        )
    }

    fn levels(&mut self, edges: &Edges<'_>, start: u64) -> Result<()> {
        let undirected = edges.pattern().direction == PlanDirection::Both;
        let mut closed = false;
        let mut length = 0;
        let mut mean_degree = 0.0_f64;
        self.frontier.start_at(start);
        while self.frontier.len() > 0 && self.bounds.allows(length + 1) {
            length += 1;
            edges.rt().check_cancelled()?;
            let last = !self.bounds.allows(length + 1);
            let frontier_len = self.frontier.len();
            let watch = self.watch(edges, length);
            let is_free = watch == Watch::Nothing;
            let level = if is_free && length > 1 && self.choose(edges, mean_degree) {
                self.bottom_up(edges)?
            } else if is_free && last {
                self.top_down(edges, start, Watch::Last)?
            } else {
                self.top_down(edges, start, watch)?
            };
            if let Some(node) = self.marks.stray() {
                return Err(self.pattern.stray(node));
            }
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            if level.entries > 0 {
                mean_degree = level.entries as f64 / frontier_len as f64;
            }
            closed |= level.closed;
            if undirected {
                // The start is no end yet; whether it becomes one is decided below.
                self.marks.unmark(start);
            }
            if last {
                break;
            }
            self.marks.settle(&mut self.frontier, &mut self.memory)?;
        }
        if undirected && !closed && self.bounds.allows(4) {
            closed = closed_trail::exists(edges, start, self.bounds.max, &mut self.memory)?;
        }
        if self.bounds.min == 0 || (undirected && closed) {
            self.marks.mark(start, &mut self.memory)?;
        }
        Ok(())
    }

    /// Whether the next level is estimated cheaper from the unreached side.
    ///
    /// Top-down costs about one unit per list entry of the frontier. The frontier's mean degree lies between that of
    /// the level before (hubs are reached first) and that of the whole graph; their geometric mean is taken.
    /// Bottom-up costs a visit to each unreached node and as many entries as it takes to meet a reached neighbour.
    fn choose(&self, edges: &Edges<'_>, mean_degree: f64) -> bool {
        /// Cost of visiting a node's lists from the unreached side, in list entries.
        const VISIT: f64 = 64.0;
        if !edges.is_plain() || !self.marks.is_dense() {
            return false;
        }
        match edges.rt().tuning.level_direction {
            LevelDirection::Cheaper => {}
            LevelDirection::TopDown => return false,
            LevelDirection::BottomUp => return true,
        }
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let (frontier, nodes) = (self.frontier.len() as f64, self.marks.node_limit() as f64);
        let entries = frontier * (mean_degree * self.pattern.mean_degree(nodes)).sqrt();
        entries > (nodes - frontier).max(nodes / 64.0) * VISIT
    }

    /// The first two levels of an undirected search see loops, parallel relationships and triangles.
    fn watch(&self, edges: &Edges<'_>, length: u32) -> Watch {
        match (edges.pattern().direction, length) {
            (PlanDirection::Both, 1) => Watch::Parallel {
                two: self.bounds.allows(2),
            },
            (PlanDirection::Both, 2) if self.bounds.allows(3) => Watch::Triangle,
            _ => Watch::Nothing,
        }
    }

    /// Marks all neighbours of the frontier.
    fn top_down(&mut self, edges: &Edges<'_>, start: u64, watch: Watch) -> Result<Level> {
        let mut level = Level::default();
        loop {
            let nodes = self.frontier.nodes();
            let stop = match self.marks.form() {
                Form::Bytes(bytes) => {
                    expand(edges, nodes, bytes, watch, start, &mut level)?;
                    Stop::Done
                }
                Form::Bits(bits) => {
                    expand(edges, nodes, bits, watch, start, &mut level)?;
                    Stop::Done
                }
                Form::Sparse(sparse) => {
                    sparse.expand(edges, nodes, |marks, node, skip_loops, ids| {
                        level.entries += ids.len() as u64;
                        mark_list(
                            marks,
                            watch,
                            start,
                            node,
                            skip_loops,
                            ids,
                            &mut level.closed,
                        );
                    })?
                }
            };
            match stop {
                Stop::Done => return Ok(level),
                Stop::Full => {
                    // Too many nodes for the hash table: the level runs again on a larger one or on dense marks.
                    // Visiting lists again marks nothing new, but must not be taken for parallel relationships.
                    if matches!(watch, Watch::Parallel { .. }) {
                        self.marks.forget_fresh();
                    }
                    level.entries = 0;
                    self.marks.make_dense(&mut self.memory)?;
                }
            }
        }
    }

    /// Marks the unreached nodes that have a reached neighbour.
    fn bottom_up(&mut self, edges: &Edges<'_>) -> Result<Level> {
        if self.unreached.capacity() == 0 {
            let bytes = self.marks.node_limit() / 8 + 8;
            self.memory
                .charge(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        }
        match self.marks.form() {
            Form::Bytes(bytes) => look_back(edges, bytes, &mut self.unreached)?,
            Form::Bits(bits) => look_back(edges, bits, &mut self.unreached)?,
            Form::Sparse(_) => unreachable!("chosen on dense marks only"),
        }
        Ok(Level::default())
    }
}

/// What a level watches for besides marking.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    Nothing,
    /// Nothing, and nobody will ask which level reached a node.
    Last,
    /// Loops and, with `two`, parallel relationships at the start.
    Parallel {
        two: bool,
    },
    /// A relationship between two neighbours of the start.
    Triangle,
}

fn expand<D: Dense>(
    edges: &Edges<'_>,
    nodes: Nodes<'_>,
    marks: &mut D,
    watch: Watch,
    start: u64,
    level: &mut Level,
) -> Result<()> {
    edges.visit(nodes, |node, skip_loops, ids| {
        level.entries += ids.len() as u64;
        mark_list(
            marks,
            watch,
            start,
            node,
            skip_loops,
            ids,
            &mut level.closed,
        );
        ControlFlow::Continue(())
    })
}

/// Marks one list.
#[inline]
fn mark_list<D: Dense>(
    marks: &mut D,
    watch: Watch,
    start: u64,
    node: u64,
    skip_loops: bool,
    ids: edges::Neighbours<'_>,
    closed: &mut bool,
) {
    match watch {
        Watch::Nothing => ids.for_each(|other| marks.mark_fresh(other)),
        Watch::Last => ids.for_each(|other| marks.mark_last(other)),
        Watch::Parallel { two } => ids.for_each(|other| {
            if other == start {
                *closed |= !skip_loops;
            } else {
                *closed |= two && marks.is_fresh(other);
                marks.mark_fresh(other);
            }
        }),
        Watch::Triangle => {
            let mut triangle = false;
            ids.for_each(|other| {
                triangle |= marks.is_old(other) & (other != node);
                marks.mark_fresh(other);
            });
            *closed |= triangle;
        }
    }
}

/// Bottom-up level over dense marks.
fn look_back<D: Dense>(edges: &Edges<'_>, marks: &mut D, unreached: &mut Vec<u64>) -> Result<()> {
    let mut wide = Vec::new();
    for part in &edges.pattern().parts {
        let nodes = Nodes::Bits(marks.unreached(unreached));
        let narrow = part.reversed.ids_fit_u32();
        edges.visit_reversed(part, nodes, |node, list| {
            let mut found = false;
            if narrow {
                let _stopped = list.for_each_block(|block| {
                    found |= block.iter().any(|other| marks.is_old(u64::from(*other)));
                    if found {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })?;
            } else {
                found = list
                    .decode_wide(&mut wide)?
                    .iter()
                    .any(|other| marks.is_old(*other));
            }
            if found {
                marks.mark_fresh(node);
            }
            Ok(())
        })?;
    }
    Ok(())
}
