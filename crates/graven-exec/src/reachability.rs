//! Reachability: which nodes lie at the end of a trail of `min..=max` relationships from a start
//! node.
//!
//! # How it works
//! A trail may not use a relationship twice but may come back to a node. For an end other than the
//! start a shortest walk repeats nothing, so it is a trail, and breadth-first search decides; `min`
//! of 0 or 1 changes nothing there. The start itself is an end of length 0 if `min` is 0, and
//! otherwise exactly if a closed trail of at most `max` relationships passes through it:
//! * directed patterns: the search meets the start again;
//! * undirected patterns: a loop (length 1), two parallel relationships (2), a triangle (3), in
//!   general the shortest cycle through the start ([`closed_trail`]).
//!
//! Lower bounds above 1 have no such shortcut: [`trail_ends`] walks the trails and keeps only
//! their ends.
//!
//! The search goes level by level over a set of marks ([`visited_set`]): a byte per node, two bits
//! per node or a hash table, by the size of the graph and what the budget allows. A level's
//! frontier is in id order and is swept up and down in turn, the turn being remembered by the
//! thread from statement to statement, because a cyclic sweep in one direction is the worst case of
//! every recency policy. A level runs *top-down* (mark all neighbours of the frontier), *bottom-up*
//! (look from each unreached node for one neighbour in the frontier), or first one and then the
//! other ([`Search::free_level`]): where hubs have the smallest ids, the first hundreds of a
//! frontier reach nearly everything, and asking the few nodes that are left is far less than the
//! thousands of lists of the rest.
//!
//! Up to 64 starts of one batch share their sweeps, one bit lane each: [`multi_source_bfs`].
//!
//! # Invariants
//! * EX-13 After a search exactly the ends of trails within the bounds are marked.
//! * EX-14 The bytes of marks and frontiers are charged to the budget before they are allocated.
//!
//! # Source
//! Direction switching: Beamer, Asanovic, Patterson, "Direction-Optimizing Breadth-First Search",
//! SC 2012. Bit lanes: Then et al., "The More the Merrier: Efficient Multi-Source Graph Traversal",
//! VLDB 2014.

mod closed_trail;
pub(crate) mod filtered_neighbors;
mod frontier;
pub(crate) mod multi_source_bfs;
pub(crate) mod node_order;
pub(crate) mod scan_direction;
mod trail_ends;
pub(crate) mod visited_set;

use std::ops::ControlFlow;
use std::sync::Arc;

use graven_cypher::plan::Direction as PlanDirection;
use graven_storage::{NodeId, NodeSet};

use crate::batch::Batch;
use crate::error::Result;
use crate::memory::Memory;
use crate::pattern::Pattern;
use crate::query_context::QueryContext;
use crate::tuning::LevelDirection;
use filtered_neighbors::FilteredNeighbors;
use frontier::Frontier;
use node_order::Nodes;
use visited_set::{Dense, Form, Stop, VisitedSet};

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
        self.proven
    }

    fn allows(self, length: u32) -> bool {
        self.max.is_none_or(|max| length <= max)
    }
}

/// Searches from one start after the other; memory is kept between them.
pub(crate) struct Search {
    pattern: Arc<Pattern>,
    bounds: Bounds,
    marks: VisitedSet,
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
        rt: &QueryContext,
        operator: &'static str,
    ) -> Self {
        Self {
            marks: VisitedSet::new(rt.tuning),
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
    pub(crate) fn marks(&self) -> &VisitedSet {
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
        rt: &QueryContext,
    ) -> Result<()> {
        let span = self.pattern.span()?;
        if self.marks.must_start_anew(&span) {
            self.clear();
        }
        self.marks.reset(span, &mut self.memory)?;
        let excluded = self.pattern.excluded(batch, row)?;
        let pattern = Arc::clone(&self.pattern);
        let edges = FilteredNeighbors::new(&pattern, excluded, batch, row, rt)?;
        if self.bounds.by_search() {
            return self.levels(&edges, start);
        }
        trail_ends::mark(
            &edges,
            start,
            self.bounds,
            &mut self.marks,
            &mut self.memory,
        )
    }

    fn levels(&mut self, edges: &FilteredNeighbors<'_>, start: u64) -> Result<()> {
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
            let level = match (is_free, last) {
                (false, _) => self.top_down(edges, start, watch)?,
                (true, true) => self.free_level(edges, start, Watch::Last, mean_degree)?,
                (true, false) => self.free_level(edges, start, watch, mean_degree)?,
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
            self.marks
                .advance_level(&mut self.frontier, &mut self.memory)?;
        }
        if undirected && !closed && self.bounds.allows(4) {
            closed = closed_trail::exists(edges, start, self.bounds.max, &mut self.memory)?;
        }
        if self.bounds.min == 0 || (undirected && closed) {
            self.marks.mark(start, &mut self.memory)?;
        }
        Ok(())
    }

    /// A level that watches for nothing: from the frontier as long as that reaches many nodes, then
    /// from whichever side is cheaper.
    fn free_level(
        &mut self,
        edges: &FilteredNeighbors<'_>,
        start: u64,
        watch: Watch,
        mean_degree: f64,
    ) -> Result<Level> {
        let direction = edges.rt().tuning.level_direction;
        let by_bitmap = edges.is_plain() && self.frontier.bitmap().is_some();
        match direction {
            _ if !by_bitmap => return self.top_down(edges, start, watch),
            LevelDirection::TopDown => return self.top_down(edges, start, watch),
            LevelDirection::BottomUp => return self.bottom_up(edges).map(|()| Level::default()),
            LevelDirection::Cheaper | LevelDirection::Switching => {}
        }
        let forced = direction == LevelDirection::Switching;
        let nodes = self.marks.node_limit() as f64;
        let graph_mean = self.pattern.mean_degree(nodes);
        // The frontier's mean degree lies between that of the level before (hubs are reached first)
        // and that of the whole graph.
        let rest = |left: u64, mean: f64| left as f64 * (mean * graph_mean).sqrt();
        let mut left = self.frontier.len();
        if !forced && rest(left, mean_degree) < nodes {
            // Less than it takes to look for unreached nodes.
            return self.top_down(edges, start, watch);
        }
        let mut level = Level::default();
        let mut unreached = self.count_unreached()?;
        let mut portion = if forced {
            1
        } else {
            FIRST_PORTION.max(left / 64)
        };
        let mut next = 0;
        while left > 0 {
            let before = level.entries;
            let Some((set, taken, end)) = self.frontier.portion(next, portion) else {
                break;
            };
            expand_free(
                edges,
                Nodes::Bits(set),
                self.marks.form(),
                watch,
                &mut level,
            )?;
            (next, left) = (end, left - taken);
            if left == 0 {
                break;
            }
            let reached = unreached;
            unreached = self.count_unreached()?;
            let reached = (reached - unreached) as f64;
            let entries = (level.entries - before) as f64;
            if !forced && entries < reached * LOOK_BACK {
                portion *= 2;
            } else if forced || rest(left, entries / taken as f64) > unreached as f64 * LOOK_BACK {
                self.bottom_up(edges)?;
                break;
            } else {
                portion = left;
            }
        }
        Ok(level)
    }

    /// Nodes that no level has reached yet; their bitmap is left behind.
    fn count_unreached(&mut self) -> Result<u64> {
        if self.unreached.capacity() == 0 {
            let words = self.marks.node_limit().div_ceil(64) as usize;
            self.memory.charge(8 * words)?;
            self.unreached.reserve_exact(words);
        }
        let set = self.marks.unreached(&mut self.unreached);
        Ok(set.map_or(0, |set| count(set.words())))
    }

    /// The first two levels of an undirected search see loops, parallel relationships and
    /// triangles.
    fn watch(&self, edges: &FilteredNeighbors<'_>, length: u32) -> Watch {
        match (edges.pattern().direction, length) {
            (PlanDirection::Both, 1) => Watch::Parallel {
                two: self.bounds.allows(2),
            },
            (PlanDirection::Both, 2) if self.bounds.allows(3) => Watch::Triangle,
            _ => Watch::Nothing,
        }
    }

    /// Marks all neighbours of the frontier.
    fn top_down(
        &mut self,
        edges: &FilteredNeighbors<'_>,
        start: u64,
        watch: Watch,
    ) -> Result<Level> {
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
                    // Too many nodes for the hash table: the level runs again on a larger one or on
                    // dense marks. Visiting lists again marks nothing new, but must not be taken
                    // for parallel relationships.
                    if matches!(watch, Watch::Parallel { .. }) {
                        self.marks.forget_fresh();
                    }
                    level.entries = 0;
                    self.marks.make_dense(&mut self.memory)?;
                }
            }
        }
    }

    /// Marks the unreached nodes that have a neighbour in the frontier. Neighbours of earlier
    /// levels are reached.
    fn bottom_up(&mut self, edges: &FilteredNeighbors<'_>) -> Result<()> {
        for part in &edges.pattern().parts {
            if self.count_unreached()? == 0 {
                break;
            }
            let (Some(targets), first) = (self.frontier.bitmap(), self.marks.first()) else {
                unreachable!("chosen on dense marks only");
            };
            let nodes = NodeSet::new(NodeId(first), &self.unreached);
            match self.marks.form() {
                Form::Bytes(marks) => {
                    edges.bottom_up(part, nodes, targets, |node| marks.mark_fresh(node))?;
                }
                Form::Bits(marks) => {
                    edges.bottom_up(part, nodes, targets, |node| marks.mark_fresh(node))?;
                }
                Form::Sparse(_) => unreachable!("chosen on dense marks only"),
            }
        }
        Ok(())
    }
}

/// Nodes of the frontier after which a level first looks what it has reached.
const FIRST_PORTION: u64 = 128;
/// Cost of looking from an unreached node for a reached neighbour, in list entries of the frontier.
/// Measured.
const LOOK_BACK: f64 = 24.0;

fn count(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// What a level watches for besides marking.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    Nothing,
    /// Nothing, and which level reached a node is never read.
    Last,
    /// Loops and, with `two`, parallel relationships at the start.
    Parallel {
        two: bool,
    },
    /// A relationship between two neighbours of the start.
    Triangle,
}

fn expand<D: Dense>(
    edges: &FilteredNeighbors<'_>,
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

/// As [`expand`] for dense marks and a level that watches for nothing.
fn expand_free(
    edges: &FilteredNeighbors<'_>,
    nodes: Nodes<'_>,
    form: &mut Form,
    watch: Watch,
    level: &mut Level,
) -> Result<()> {
    // Nothing is compared with the start.
    match form {
        Form::Bytes(marks) => expand(edges, nodes, marks, watch, u64::MAX, level),
        Form::Bits(marks) => expand(edges, nodes, marks, watch, u64::MAX, level),
        Form::Sparse(_) => unreachable!("frontiers are bitmaps on dense marks only"),
    }
}

/// Marks one list.
#[inline]
fn mark_list<D: Dense>(
    marks: &mut D,
    watch: Watch,
    start: u64,
    node: u64,
    skip_loops: bool,
    ids: filtered_neighbors::Neighbours<'_>,
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
