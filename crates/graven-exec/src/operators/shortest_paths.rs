//! The shortest trails between two bound nodes: one, several, or all of the first lengths.
//!
//! # How it works
//! Each row is a search of its own (see [`crate::shortest`]); its trails are handed out as they are
//! found, so that all shortest paths of two far nodes take the memory of the search, not of the
//! paths. A null at either end, or ends that no trail joins, give no row. A row whose ends are the
//! same node gives the empty trail where the lower bound is 0; otherwise closed trails, or with
//! `shortestPath()` nothing.
//!
//! Where an operator above takes as many trails as it needs, one is handed out first, then twice
//! as many each time, so that no more than that are looked for in vain.
//!
//! Where the planner expects rows to have an end in common, the search from there is kept from row
//! to row, unless the row chooses among relationships, or the statement writes.
//!
//! Searches that do not fit go on in temporary pages.

use graven_cypher::plan::{PathCount, ShortestPaths as Wanted};
use graven_storage::RelId;

use super::row_expander::{LISTED_MAX, RowExpander, gather_with};
use super::trail_expand::TrailColumns;
use crate::batch::BATCH_ROWS;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::pattern::Pattern;
use crate::query_context::QueryContext;
use crate::reachability::Bounds;
use crate::reachability::filtered_neighbors::FilteredNeighbors;
use crate::shortest::bidirectional_bfs::{self, BidirectionalBfs, Side};
use crate::shortest::distances::Distances;
use crate::shortest::k_shortest_trails::{self, KShortestTrails};
use crate::shortest::{SearchContext, Sides};
use crate::spill::Spill;
use crate::value::Value;

/// See the file header.
pub(crate) struct ShortestPaths {
    input: RowExpander,
    pattern: Pattern,
    reversed: Pattern,
    columns: TrailColumns,
    bounds: Bounds,
    wanted: Wanted,
    memory: Memory,
    spill: Option<Spill>,
    current: Option<Current>,
    /// The search from the end that rows have in common.
    kept: Kept,
    /// Trails handed out together, at most.
    together: usize,
}

/// What a row leaves to the next one.
#[derive(Default)]
enum Kept {
    #[default]
    Nothing,
    Side(Side),
    Distances(Distances),
}

impl Kept {
    fn bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Side(side) => side.bytes(),
            Self::Distances(distances) => distances.bytes(),
        }
    }

    fn is_from(&self, origin: u64, forward: bool) -> bool {
        match self {
            Self::Nothing => false,
            Self::Side(side) => side.is_from(origin, forward),
            Self::Distances(distances) => distances.is_from(origin, forward),
        }
    }
}

/// The search of the current row.
struct Current {
    search: Search,
    /// Trails handed out, different lengths among them, and the last length.
    paths: u32,
    lengths: u32,
    last: usize,
}

enum Search {
    Nothing,
    /// The start is the end, and that is the trail.
    Empty,
    BidirectionalBfs(Box<BidirectionalBfs>),
    KShortestTrails(Box<KShortestTrails>),
}

impl ShortestPaths {
    /// Looks for trails along `pattern` between columns of `input`.
    pub(crate) fn new(
        input: BoxedOperator,
        pattern: Pattern,
        columns: TrailColumns,
        bounds: Bounds,
        wanted: Wanted,
        rt: &QueryContext,
    ) -> Self {
        Self {
            input: RowExpander::new(input),
            reversed: pattern.reversed(),
            pattern,
            columns,
            bounds,
            wanted,
            memory: rt.spilling_memory("ShortestPaths", "bound the pattern's length"),
            spill: Spill::new(rt, "ShortestPaths"),
            current: None,
            kept: Kept::Nothing,
            together: Self::first(wanted),
        }
    }

    /// Trails handed out at first: one by one where the operator above may need no more.
    fn first(wanted: Wanted) -> usize {
        match wanted.count {
            PathCount::All => 1,
            _ => BATCH_ROWS,
        }
    }

    /// Ends the search of the row at hand and goes to the next row, for which the search from the
    /// end that rows share is kept.
    fn finish_row(&mut self, search: Search, rt: &QueryContext) -> Result<()> {
        let [starts, ends] = self.wanted.sharing;
        let is_shared = starts != ends && !self.pattern.reads_the_row() && rt.writer.is_none();
        self.kept = match search {
            Search::BidirectionalBfs(meeting) if is_shared => {
                match meeting.into_side(starts > ends) {
                    Some(side) if self.memory.is_small(side.bytes()) => Kept::Side(side),
                    _ => Kept::Nothing,
                }
            }
            Search::KShortestTrails(ordered) if is_shared => {
                Kept::Distances(ordered.into_distances())
            }
            _ => Kept::Nothing,
        };
        self.input.step();
        self.memory.set(self.kept.bytes())
    }

    /// Adds trails of the current row until there are no more, which ends the row, or no more room.
    fn trails(&mut self, out: &mut Trails, rt: &QueryContext) -> Result<()> {
        let (batch, row) = (self.input.batch(), self.input.row());
        let excluded = self.pattern.excluded(batch, row)?;
        let sides = Sides {
            forward: FilteredNeighbors::new(&self.pattern, excluded.clone(), batch, row, rt)?,
            backward: FilteredNeighbors::new(&self.reversed, excluded, batch, row, rt)?,
        };
        let means = &mut SearchContext {
            memory: &mut self.memory,
            spill: self.spill.as_ref(),
            rt,
        };
        let mut current = match self.current.take() {
            Some(current) => current,
            None => {
                let node = |slot: usize| batch.column(slot).node(row);
                let ends = node(self.columns.from).zip(node(self.columns.to));
                let mut kept = std::mem::take(&mut self.kept);
                if !ends.is_some_and(|(start, end)| {
                    kept.is_from(start, true) || kept.is_from(end, false)
                }) {
                    kept = Kept::Nothing;
                }
                means.memory.set(kept.bytes())?;
                let wanted = (self.bounds, self.wanted);
                Current {
                    search: Search::start(ends, kept, wanted, &sides, means)?,
                    paths: 0,
                    lengths: 0,
                    last: usize::MAX,
                }
            }
        };
        while !out.is_full(self.together) {
            let Some(trail) = current.next(self.wanted.count, &sides, means)? else {
                return self.finish_row(current.search, rt);
            };
            out.listed += trail.len();
            let relationships = trail.into_iter().map(|r| Value::Relationship(RelId(r)));
            out.lists.push(Value::List(relationships.collect()));
        }
        self.current = Some(current);
        Ok(())
    }
}

/// Trails handed out together.
#[derive(Default)]
struct Trails {
    lists: Vec<Value>,
    /// Values in the lists.
    listed: usize,
}

impl Trails {
    fn is_full(&self, together: usize) -> bool {
        self.lists.len() >= together || self.listed >= LISTED_MAX
    }
}

impl Current {
    /// The next trail that is wanted.
    fn next(
        &mut self,
        wanted: PathCount,
        sides: &Sides<'_>,
        means: &mut SearchContext<'_>,
    ) -> Result<Option<Vec<u64>>> {
        if wanted == PathCount::Paths(self.paths) {
            return Ok(None);
        }
        let trail = match &mut self.search {
            Search::Nothing => None,
            Search::Empty => {
                self.search = Search::Nothing;
                Some(Vec::new())
            }
            Search::BidirectionalBfs(search) => search.next(sides, means.memory)?,
            Search::KShortestTrails(search) => search.next(sides, means)?,
        };
        let Some(trail) = trail else {
            return Ok(None);
        };
        if trail.len() != self.last {
            if wanted == PathCount::Lengths(self.lengths) {
                return Ok(None);
            }
            self.last = trail.len();
            self.lengths += 1;
        }
        self.paths += 1;
        Ok(Some(trail))
    }
}

impl Search {
    /// The search for a row with these ends.
    fn start(
        ends: Option<(u64, u64)>,
        kept: Kept,
        (bounds, wanted): (Bounds, Wanted),
        sides: &Sides<'_>,
        means: &mut SearchContext<'_>,
    ) -> Result<Self> {
        let Bounds { min, max, .. } = bounds;
        let Some((start, end)) = ends.filter(|_| max.is_none_or(|max| max >= min)) else {
            return Ok(Self::Nothing);
        };
        let one_length = matches!(wanted.count, PathCount::Paths(1) | PathCount::Lengths(1));
        if start == end && (!wanted.closed || min == 0 && one_length) {
            return Ok(match min {
                0 => Self::Empty,
                _ => Self::Nothing,
            });
        }
        if start != end && min <= 1 && one_length {
            let wanted = bidirectional_bfs::Wanted {
                max,
                all: wanted.count == PathCount::Lengths(1),
                sharing: wanted.sharing,
            };
            let kept = match kept {
                Kept::Side(side) => Some(side),
                _ => None,
            };
            let search = BidirectionalBfs::search((start, end), kept, wanted, sides, means)?;
            return Ok(Self::BidirectionalBfs(Box::new(search)));
        }
        // Distances are from the end that rows share, walks from the other one.
        let from_start = wanted.sharing[0] > wanted.sharing[1];
        let (near, far) = if from_start {
            (end, start)
        } else {
            (start, end)
        };
        let distances = match kept {
            Kept::Distances(distances) => distances,
            _ => Distances::new(far, from_start, sides, means)?,
        };
        let wanted = k_shortest_trails::Wanted {
            min,
            max: max.unwrap_or(u32::MAX),
            rows: wanted.sharing.into_iter().max().unwrap_or(1) as usize,
        };
        let search = KShortestTrails::new(near, distances, wanted)?;
        Ok(Self::KShortestTrails(Box::new(search)))
    }
}

impl PhysicalOperator for ShortestPaths {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let mut rows = Vec::new();
        let mut out = Trails::default();
        while self.input.advance(rt, |_| Ok(()))? {
            let row = u32::try_from(self.input.row()).expect("a batch is small");
            self.trails(&mut out, rt)?;
            rows.resize(out.lists.len(), row);
            let batch_done = self.input.row() == self.input.batch().len();
            if out.is_full(self.together) || (batch_done && !out.lists.is_empty()) {
                self.together = (2 * self.together).min(BATCH_ROWS);
                let added = self
                    .columns
                    .relationships
                    .map(|slot| (slot, Column::from_values(out.lists)));
                return Ok(Some(gather_with(self.input.batch(), &rows, added)));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.current = None;
        self.kept = Kept::Nothing;
        self.together = Self::first(self.wanted);
        self.memory.clear();
    }

    fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}
