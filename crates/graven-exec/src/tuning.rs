//! Thresholds of the reachability search, of spilling and of threads, so that tests and experiments
//! can force either side of a choice.

use std::time::Duration;

use crate::batch::BATCH_ROWS;

/// How a level of a search is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum LevelDirection {
    /// Whichever is estimated cheaper.
    #[default]
    Cheaper,
    /// Always from the frontier.
    TopDown,
    /// From the unreached nodes wherever that is possible.
    BottomUp,
    /// From as little of the frontier as can be, then from the unreached nodes, wherever that is
    /// possible.
    Switching,
}

/// Where expansions find lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum ListAccess {
    /// In the store until laying out all lists of a type is cheaper.
    #[default]
    Cheaper,
    /// All lists are laid out at once wherever they fit.
    Whole,
    /// In the store.
    Stored,
}

/// See the file header. The defaults are measured; see `docs/internals/execution.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Tuning {
    /// Graphs up to this many nodes are searched on dense marks from the start.
    pub dense_nodes: u64,
    /// A hash table of marks may hold one node in so many before it is left for dense marks.
    pub sparse_share: u64,
    /// Dense marks of graphs up to this many nodes take a byte per node, of larger ones two bits.
    pub byte_nodes: u64,
    /// How levels are run.
    pub level_direction: LevelDirection,
    /// Input rows from which searches share their sweeps.
    pub lanes_min: usize,
    /// Searches share sweeps in graphs up to this many nodes.
    pub lanes_nodes: u64,
    /// Bytes from which an operator that can spill does so; without it, half of the budget.
    pub spill_at: Option<u64>,
    /// Where expansions find lists.
    pub list_access: ListAccess,
    /// Rows whose joins share a node find their ends from there if their lists are so many times
    /// longer.
    pub reached_longer: usize,
    /// Threads of a statement whose plan is for several.
    pub threads: usize,
    /// Plans are for several wherever they can be, not only where that is worth it.
    pub force_parallel: bool,
    /// Joins and rewrites that pay for many rows are made for few, too.
    pub join_always: bool,
    /// Fewest nodes that a thread scans at a time.
    pub morsel_nodes: u64,
    /// One thread works on rows that might be divided for so long before others help: some times
    /// what waking them and making their operators takes.
    pub parallel_after: Duration,
    /// Others do not help with rows that seem to take one thread no longer than this.
    pub parallel_min_remaining: Duration,
    /// Most rows that what makes rows hands out at once: with one, every clause meets what the ones
    /// behind it have done for the rows before, unless a barrier lies between.
    pub batch_rows: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            dense_nodes: 256 << 10,
            sparse_share: 64,
            byte_nodes: 4 << 20,
            level_direction: LevelDirection::Cheaper,
            lanes_min: 8,
            lanes_nodes: 16 << 20,
            spill_at: None,
            list_access: ListAccess::Cheaper,
            reached_longer: 4,
            threads: 1,
            force_parallel: false,
            join_always: false,
            morsel_nodes: 4,
            parallel_after: Duration::from_micros(200),
            parallel_min_remaining: Duration::from_micros(1500),
            batch_rows: BATCH_ROWS,
        }
    }
}
