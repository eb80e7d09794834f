//! The ends of an expansion row by row, as far as the conditions on them let them through.
//!
//! # How it works
//! Labels leave entries out while lists are laid out. What depends on the row is decided on the
//! sorted lists: a node that the end must not be, relationships that end between the same nodes,
//! and *joins*, relationships between the end and another node of the row ([`join`]). Groups of
//! joins of which one is enough have marks each.

mod count;
mod join;
mod plan;

use std::ops::Range;
use std::sync::Arc;

use graven_cypher::plan::{Expr, JoinKind};

use graven_storage::Direction as Stored;

use join::{Join, NodeMarks};

use super::adjacency_cache::FilteredAdjacency;
use super::label_ranges::end_ranges;
use super::neighbor_batch::{Entries, ListsOfRows, NeighborBatch};
use super::reverse_probe::{ProbeSpec, ReverseProbe, SharedProbe};
use crate::batch::Batch;
use crate::error::Result;
use crate::memory::Memory;
use crate::pattern::{Pattern, PatternPart};
use crate::query_context::QueryContext;
pub(crate) use plan::NeighborFilterPlan;

/// Rows whose lists are loaded together.
pub(super) const AHEAD_ROWS: usize = 64;

/// See the file header.
pub(crate) struct NeighborFilter {
    pub(super) pattern: Pattern,
    from: usize,
    labels: Vec<Arc<str>>,
    /// All ends have them, as far as this run sees.
    labels_are_certain: bool,
    /// Id ranges of nodes with the labels, once known.
    ranges: Option<Vec<(u64, u64)>>,
    not_equal: Vec<usize>,
    joins: Vec<Join>,
    /// Of each group one is enough.
    semi_join_groups: Vec<Vec<Join>>,
    pub(super) lists: NeighborBatch,
    /// Ends that one relationship less leads to, and those that are not wanted.
    taken: Vec<u64>,
    others: Vec<u64>,
    /// Rows that are expected in all.
    pub(super) expected: f64,
    /// The ends of the loaded rows, where they were found from the nodes of the only join.
    reached: Option<ReverseProbe>,
    /// The condition on relationships, where it alone decides which count and no operator reads
    /// them otherwise.
    condition: Option<Arc<Expr>>,
    /// The loaded lists hold what satisfies it, without relationships.
    pub(super) decided: bool,
}

impl NeighborFilter {
    /// Forgets labels that all ends of the pattern's relationships have anyway: those of a range of
    /// nodes that holds all ends.
    ///
    /// # Errors
    /// What reading gives.
    pub(super) fn leave_out_certain_labels(&mut self, rt: &QueryContext) -> Result<()> {
        for label in std::mem::take(&mut self.labels) {
            if !self.is_certain(&label, rt)? {
                self.labels.push(label);
            }
        }
        Ok(())
    }

    fn is_certain(&self, label: &str, rt: &QueryContext) -> Result<bool> {
        let Some(extents) = rt.label_id(label).and_then(|label| rt.extents_of(label)) else {
            return Ok(false);
        };
        for part in &self.pattern.parts {
            let ends = part.reversed.node_span()?;
            let holds = |range: Range<u64>| range.start <= ends.start && ends.end <= range.end;
            if !ends.is_empty() && !extents.ranges_from(ends.start).next().is_some_and(holds) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether all entries of a list are ends, and its relationships can be had without them.
    pub(super) fn lets_all_through(&self) -> bool {
        let plain = |part: &PatternPart| part.direction == Stored::Out && !part.skip_loops;
        (self.labels.is_empty() || self.labels_are_certain)
            && !self.looks_at_the_row()
            && !self.pattern.needs_ids()
            && !self.pattern.goes_by_ends()
            && matches!(self.pattern.parts.as_slice(), [part] if plain(part))
    }

    /// Whether all lists that rows may want are there.
    pub(super) fn are_whole(&self) -> bool {
        let joins = self
            .joins
            .iter()
            .chain(self.semi_join_groups.iter().flatten());
        self.lists.are_whole() && joins.into_iter().all(|join| join.lists.are_whole())
    }

    /// Whether anything besides labels is decided.
    pub(super) fn looks_at_the_row(&self) -> bool {
        !(self.not_equal.is_empty() && self.joins.is_empty() && self.semi_join_groups.is_empty())
    }

    /// Lays out the lists of some rows of a batch.
    ///
    /// # Errors
    /// What reading gives; [`ExecError::Memory`] where they do not fit.
    pub(super) fn load(
        &mut self,
        batch: &Batch,
        rows: Range<usize>,
        wanted: Entries,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<()> {
        self.find_ranges(rt)?;
        self.reached = None;
        self.decided = false;
        if wanted == Entries::Both
            && let Some(lists) = self.passing_lists(batch, &rows, rt)?
        {
            self.lists = lists;
            self.decided = true;
            return Ok(());
        }
        let expected = self.expected;
        for join in self.all_joins() {
            join.load(batch, rows.clone(), expected, memory, rt)?;
        }
        let column = batch.column(self.from);
        let mut joined: Option<SharedProbe> = None;
        if let ([part], [join]) = (&self.pattern.parts[..], &self.joins[..])
            && self.semi_join_groups.is_empty()
            && join.kind != JoinKind::Anti
            && join.pattern.parts.len() == 1
            && wanted == Entries::Ends
        {
            let sought = ProbeSpec {
                part,
                ends: self.ranges.as_deref(),
                probe_node: &join.lists,
                expected,
            };
            joined = SharedProbe::of_rows(&join.lists, &rows, rt);
            if let Some(few) = &joined
                && few.are_few(part, &rows)?
            {
                self.reached = ReverseProbe::find(few, &sought, memory, rt)?;
            }
            if self.reached.is_some() {
                self.lists = NeighborBatch::by_ids(column, &rows, Vec::new());
                return Ok(());
            }
        }
        let of_rows = ListsOfRows {
            column,
            rows: rows.clone(),
            expected,
            entries: wanted,
            ends: self.ranges.as_deref(),
        };
        self.lists = NeighborBatch::of_rows(&self.pattern.parts, of_rows, memory, rt)?;
        if let ([part], [join], Some(joined)) = (&self.pattern.parts[..], &self.joins[..], joined)
            && joined.are_shorter(&self.lists, rows.clone(), rt)
        {
            let sought = ProbeSpec {
                part,
                ends: self.ranges.as_deref(),
                probe_node: &join.lists,
                expected,
            };
            self.reached = ReverseProbe::find(&joined, &sought, memory, rt)?;
            if self.reached.is_some() {
                self.lists = NeighborBatch::by_ids(column, &rows, Vec::new());
            }
        }
        Ok(())
    }

    /// Looks up which nodes have the labels, if that is not known; where the statement writes it
    /// may be others each time.
    fn find_ranges(&mut self, rt: &QueryContext) -> Result<()> {
        if rt.writer.is_some() {
            (self.ranges, self.labels_are_certain) = (None, false);
        }
        if self.ranges.is_some() || self.labels.is_empty() || self.labels_are_certain {
            return Ok(());
        }
        let ranges = end_ranges(&self.labels, rt)?;
        // Labels that all ends have say nothing.
        self.labels_are_certain = self.pattern.ends_lie_in(&ranges)?;
        self.ranges = (!self.labels_are_certain).then_some(ranges);
        Ok(())
    }

    /// The lists of the rows without what the condition on relationships refuses, where they are
    /// laid out for all nodes at once.
    fn passing_lists(
        &self,
        batch: &Batch,
        rows: &Range<usize>,
        rt: &QueryContext,
    ) -> Result<Option<NeighborBatch>> {
        let (Some(condition), Some(whole), [part]) = (
            self.condition.as_deref(),
            rt.shared.adjacency_cache.as_ref(),
            &self.pattern.parts[..],
        ) else {
            return Ok(None);
        };
        let column = batch.column(self.from);
        let nodes = rows.clone().map(|row| column.node(row));
        let passing = FilteredAdjacency {
            part,
            ends: self.ranges.as_deref(),
            pattern: &self.pattern,
            condition,
        };
        let lists = whole.passing(&passing, nodes, rt)?;
        Ok(lists.map(|lists| NeighborBatch::by_ids(column, rows, vec![lists])))
    }

    /// Calls `visit` with pieces that hold every possible end of the rows.
    pub(super) fn for_each_list(&self, mut visit: impl FnMut(&[u64])) {
        match &self.reached {
            Some(reached) => reached.all_ends().for_each(|end| visit(&[end])),
            None => self.lists.for_each_list(visit),
        }
    }

    /// Entries of the lists of all rows, or the ends of all rows where they are known.
    pub(super) fn entries(&self) -> usize {
        match &self.reached {
            Some(reached) => reached.len(),
            None => self.lists.entries(),
        }
    }

    /// Loads what the next rows look at, a few of them together; to be asked for each row.
    #[inline]
    pub(super) fn look_ahead(&self, row: usize, end: usize) {
        if row.is_multiple_of(AHEAD_ROWS) && self.reached.is_none() {
            let rows = row..end.min(row + AHEAD_ROWS);
            self.lists.load_ahead(rows.clone());
            for join in &self.joins {
                join.lists.load_ahead(rows.clone());
            }
        }
    }

    /// The ends of a row that was loaded, in the order of its lists.
    ///
    /// # Errors
    /// A damaged list.
    pub(super) fn select(&mut self, batch: &Batch, row: usize, ends: &mut Vec<u64>) -> Result<()> {
        ends.clear();
        let Some(place) = self.lists.place(row) else {
            return Ok(());
        };
        let entries = match &self.reached {
            Some(reached) if !reached.may_hold(self.lists.node(place)) => return Ok(()),
            Some(_) => 0,
            None => self.lists.parts.iter().map(|p| p.list(place).len()).sum(),
        };
        for join in &mut self.joins {
            let probe_node = join.seek(row, entries)?;
            if probe_node.is_none() && join.kind != JoinKind::Anti {
                // Nothing is joined to null.
                return Ok(());
            }
        }
        // No end is unlike null.
        self.others.clear();
        for slot in &self.not_equal {
            match batch.column(*slot).node(row) {
                Some(other) => self.others.push(other),
                None => return Ok(()),
            }
        }
        if self.pattern.goes_by_ends() {
            let node = self.lists.node(place);
            self.pattern.taken_ends(batch, row, node, &mut self.taken);
        }
        if self.joins.is_empty() && self.semi_join_groups.is_empty() && !self.pattern.goes_by_ends()
        {
            for part in &self.lists.parts {
                let list = part.list(place);
                ends.extend(list.iter().filter(|end| !self.others.contains(end)));
            }
            return Ok(());
        }
        // One set of marks is asked while entries are copied.
        let mut first = self.joins.iter().position(|join| join.marks.marked);
        if self.reached.is_some() {
            first = Some(0);
        }
        let parts = if self.reached.is_some() {
            1
        } else {
            self.lists.parts.len()
        };
        for number in 0..parts {
            let start = ends.len();
            let marking = first.map(|first| &self.joins[first]);
            match (&self.reached, marking) {
                (Some(reached), Some(join)) => {
                    let joined = join.current.unwrap_or(usize::MAX);
                    ends.extend(reached.ends(self.lists.node(place), joined));
                }
                (_, None) => ends.extend_from_slice(&self.lists.parts[number].list(place)),
                (None, Some(join)) => {
                    let wanted = join.kind != JoinKind::Anti;
                    let list = self.lists.parts[number].list(place);
                    append_marked(&list, &join.marks, wanted, ends);
                }
            }
            leave_out_taken(start, &mut self.taken, ends);
            for other in &self.others {
                let from = start + ends[start..].partition_point(|end| end < other);
                let count = ends[from..].iter().take_while(|end| *end == other).count();
                ends.drain(from..from + count);
            }
        }
        for (number, join) in self.joins.iter().enumerate() {
            if first != Some(number) {
                join.filter(ends);
            }
        }
        for group in &mut self.semi_join_groups {
            for join in &mut *group {
                join.seek(row, ends.len())?;
            }
            ends.retain(|end| group.iter().any(|join| join.contains(*end)));
        }
        for join in &mut self.joins {
            join.repeat(batch, row, ends);
        }
        Ok(())
    }

    /// Whether the only join decides if an end counts at all, and if so whether those that are
    /// joined do.
    pub(super) fn masks(&self) -> Option<bool> {
        match &self.joins[..] {
            _ if !self.semi_join_groups.is_empty() => None,
            [only] if only.kind != JoinKind::Inner => Some(only.kind == JoinKind::Semi),
            [only] if only.distinct_ends.is_empty() => Some(true),
            _ => None,
        }
    }

    /// Whether the ends of the loaded rows are known but for what else rules them out.
    pub(super) fn are_reached(&self) -> bool {
        self.reached.is_some()
    }

    /// The first of `rows`, which were loaded, that may have ends; their end if none has.
    pub(super) fn next_with_ends(&self, mut rows: Range<usize>) -> usize {
        let end = rows.end;
        let Some(reached) = &self.reached else {
            return rows.start;
        };
        let may = |row: &usize| {
            let place = self.lists.place(*row);
            place.is_some_and(|place| reached.may_hold(self.lists.node(place)))
        };
        rows.find(may).unwrap_or(end)
    }

    /// Makes the node of the row the current one of the only join, for so many entries to be looked
    /// for; its place, if its list is marked and has each node once or need not.
    ///
    /// # Errors
    /// A damaged list.
    pub(super) fn go_to_marks(&mut self, row: usize, entries: usize) -> Result<Option<usize>> {
        let Some(join) = self.joins.first_mut() else {
            return Ok(None);
        };
        let probe_node = join.seek(row, entries)?;
        let NodeMarks {
            marked, repeated, ..
        } = join.marks;
        Ok(probe_node.filter(|_| marked && !(repeated && join.kind == JoinKind::Inner)))
    }

    /// Whether nothing but a single join and relationships used already decide on ends.
    pub(super) fn judges_by_join_alone(&self) -> bool {
        self.not_equal.is_empty() && self.semi_join_groups.is_empty() && self.joins.len() == 1
    }

    /// The first of `rows`, which were loaded, that share the node of the only join.
    pub(super) fn joined_alike(&self, rows: Range<usize>) -> Range<usize> {
        let Some(join) = self.joins.first() else {
            return rows;
        };
        let place = join.lists.place(rows.start);
        let mut others = rows.start + 1..rows.end;
        let end = others.find(|row| join.lists.place(*row) != place);
        rows.start..end.unwrap_or(rows.end)
    }

    /// The list of the only join's node at a place.
    pub(super) fn joined_list(&self, place: usize) -> impl Iterator<Item = u64> {
        let parts = self.joins.first().map(|join| &join.lists.parts);
        let lists = parts.into_iter().flatten();
        lists.flat_map(move |part| part.ends(place))
    }

    /// Forgets the lists of rows; other rows of the same statement come.
    pub(super) fn clear_rows(&mut self) {
        self.lists = NeighborBatch::default();
        self.reached = None;
    }

    /// Forgets the lists; which nodes have the labels does not change in a statement that only
    /// reads.
    pub(super) fn clear(&mut self) {
        self.lists = NeighborBatch::default();
        self.reached = None;
        for join in self.all_joins() {
            join.forget();
            join.lists = NeighborBatch::default();
            join.marks = NodeMarks::default();
        }
    }

    fn all_joins(&mut self) -> impl Iterator<Item = &mut Join> {
        self.joins
            .iter_mut()
            .chain(self.semi_join_groups.iter_mut().flatten())
    }
}

/// Appends the entries of a sorted list but one for each of `taken`, which is taken out there.
pub(super) fn append_others(list: &[u64], taken: &mut Vec<u64>, to: &mut Vec<u64>) {
    let start = to.len();
    to.extend_from_slice(list);
    leave_out_taken(start, taken, to);
}

/// Takes one entry for each of `taken` out of those from `start` on, which ascend.
fn leave_out_taken(start: usize, taken: &mut Vec<u64>, ends: &mut Vec<u64>) {
    taken.retain(|node| {
        let at = start + ends[start..].partition_point(|other| other < node);
        let found = ends.get(at) == Some(node);
        if found {
            ends.remove(at);
        }
        !found
    });
}

/// Appends the entries that are marked, or are not.
fn append_marked(list: &[u64], marks: &NodeMarks, wanted: bool, to: &mut Vec<u64>) {
    let start = to.len();
    to.resize(start + list.len(), 0);
    let mut kept = start;
    for node in list {
        to[kept] = *node;
        kept += usize::from(marks.contains(*node) == wanted);
    }
    to.truncate(kept);
}
