//! The shortest trails between two bound nodes: one, several, or all of the first lengths.
//!
//! # How it works
//! Each row is a search of its own (see [`crate::shortest`]); its trails are handed out as they are found, so that all
//! shortest paths of two far nodes take the memory of the search, not of the paths. A null at either end, or
//! ends that no trail joins, give no row. A row whose ends are the same node gives the empty trail where the lower
//! bound is 0; otherwise closed trails, or with `shortestPath()` nothing.
//!
//! Where the planner expects rows to have an end in common, the search from there is kept from row to row, unless the row chooses
//! among relationships, or the statement writes.

use graven_cypher::plan::{PathCount, ShortestPaths as Wanted};
use graven_storage::RelId;

use super::fan_out::{FanOut, widen};
use super::trail_expand::TrailColumns;
use crate::batch::BATCH_ROWS;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::pattern::Pattern;
use crate::reachability::Bounds;
use crate::reachability::edges::Edges;
use crate::runtime::Runtime;
use crate::shortest::Sides;
use crate::shortest::meeting::{self, Meeting, Side};
use crate::shortest::ordered::Ordered;
use crate::value::Value;

/// See the file header.
pub(crate) struct ShortestPaths {
    input: FanOut,
    pattern: Pattern,
    reversed: Pattern,
    columns: TrailColumns,
    bounds: Bounds,
    wanted: Wanted,
    memory: Memory,
    current: Option<Current>,
    /// The search from the end that rows have in common.
    kept: Option<Side>,
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
    Meeting(Box<Meeting>),
    Ordered(Box<Ordered>),
}

impl ShortestPaths {
    /// Looks for trails along `pattern` between columns of `input`.
    pub(crate) fn new(
        input: BoxedOperator,
        pattern: Pattern,
        columns: TrailColumns,
        bounds: Bounds,
        wanted: Wanted,
        rt: &Runtime,
    ) -> Self {
        Self {
            input: FanOut::new(input),
            reversed: pattern.reversed(),
            pattern,
            columns,
            bounds,
            wanted,
            memory: Memory::new(&rt.budget, "ShortestPaths", "bound the pattern's length"),
            current: None,
            kept: None,
        }
    }

    /// Ends the search of the row at hand and goes to the next row, for which the search from the end that rows share is kept.
    fn finish_row(&mut self, search: Search, rt: &Runtime) -> Result<()> {
        let [starts, ends] = self.wanted.sharing;
        if let Search::Meeting(meeting) = search
            && starts != ends
            && !self.pattern.reads_the_row()
            && rt.writer.is_none()
        {
            let side = meeting.into_side(starts > ends);
            self.kept = Some(side).filter(|side| self.memory.is_small(side.bytes()));
        }
        self.input.step();
        self.memory.set(self.kept.as_ref().map_or(0, Side::bytes))
    }

    /// Adds trails of the current row until there are no more, which ends the row, or no more room.
    fn trails(&mut self, lists: &mut Vec<Value>, rt: &Runtime) -> Result<()> {
        let (batch, row) = (self.input.batch(), self.input.row());
        let excluded = self.pattern.excluded(batch, row)?;
        let sides = Sides {
            forward: Edges::new(&self.pattern, excluded.clone(), batch, row, rt)?,
            backward: Edges::new(&self.reversed, excluded, batch, row, rt)?,
        };
        let memory = &mut self.memory;
        let mut current = match self.current.take() {
            Some(current) => current,
            None => {
                let node = |slot: usize| batch.column(slot).node(row);
                let ends = node(self.columns.from).zip(node(self.columns.to));
                let is_own = |side: &Side, (start, end)| {
                    side.is_from(start, true) || side.is_from(end, false)
                };
                let kept = self.kept.take();
                let kept = kept.filter(|side| ends.is_some_and(|ends| is_own(side, ends)));
                memory.set(kept.as_ref().map_or(0, Side::bytes))?;
                let wanted = (self.bounds, self.wanted);
                Current {
                    search: Search::start(ends, kept, wanted, &sides, memory, rt)?,
                    paths: 0,
                    lengths: 0,
                    last: usize::MAX,
                }
            }
        };
        while lists.len() < BATCH_ROWS {
            let Some(trail) = current.next(self.wanted.count, &sides, memory, rt)? else {
                return self.finish_row(current.search, rt);
            };
            let relationships = trail.into_iter().map(|r| Value::Relationship(RelId(r)));
            lists.push(Value::List(relationships.collect()));
        }
        self.current = Some(current);
        Ok(())
    }
}

impl Current {
    /// The next trail that is wanted.
    fn next(
        &mut self,
        wanted: PathCount,
        sides: &Sides<'_>,
        memory: &mut Memory,
        rt: &Runtime,
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
            Search::Meeting(search) => search.next(sides)?,
            Search::Ordered(search) => search.next(sides, memory, rt)?,
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
        kept: Option<Side>,
        (bounds, wanted): (Bounds, Wanted),
        sides: &Sides<'_>,
        memory: &mut Memory,
        rt: &Runtime,
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
            let wanted = meeting::Wanted {
                max,
                all: wanted.count == PathCount::Lengths(1),
                sharing: wanted.sharing,
            };
            let search = Meeting::search((start, end), kept, wanted, sides, memory, rt)?;
            return Ok(Self::Meeting(Box::new(search)));
        }
        let search = Ordered::new(start, end, (min, max), sides, memory, rt)?;
        Ok(Self::Ordered(Box::new(search)))
    }
}

impl Operator for ShortestPaths {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        let mut rows = Vec::new();
        let mut lists = Vec::new();
        while self.input.advance(rt, |_| Ok(()))? {
            let row = u32::try_from(self.input.row()).expect("a batch is small");
            self.trails(&mut lists, rt)?;
            rows.resize(lists.len(), row);
            let batch_done = self.input.row() == self.input.batch().len();
            if lists.len() == BATCH_ROWS || (batch_done && !lists.is_empty()) {
                let added = self
                    .columns
                    .relationships
                    .map(|slot| (slot, Column::from_values(lists)));
                return Ok(Some(widen(self.input.batch(), &rows, added)));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.current = None;
        self.kept = None;
        self.memory.clear();
    }
}
