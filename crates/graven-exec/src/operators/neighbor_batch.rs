//! The lists of the nodes of some rows, laid out in memory one behind the other.
//!
//! # How it works
//! The distinct nodes of the rows are visited in id order, part by part of the pattern, so that
//! each page is pinned once; each row knows the place of its node. Ends outside of the wanted id
//! ranges are left out while lists are decoded. Where many lists of an adjacency were visited
//! already, all of them may be there ([`super::adjacency_cache`]); the place of a node is its id
//! then, and where no node has more than one neighbour they are an array of neighbours.
//!
//! # Invariants
//! * EX-41 Fewer than 2^32 entries are laid out at once; more are refused like memory that is not
//!   there.

pub(super) mod csr_lists;
mod decode_lists;

use std::ops::Range;
use std::sync::Arc;

pub(super) use decode_lists::decode_lists;

use csr_lists::{CsrLists, EndRanges, NO_NEIGHBOUR, append_wanted, offset};

use super::adjacency_cache::Visit;
use crate::column::Column;
use crate::error::Result;
use crate::id_sort::IdOrder;
use crate::memory::Memory;
use crate::pattern::PatternPart;
use crate::query_context::QueryContext;
use crate::tuning::ListAccess;

/// What of each entry is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entries {
    /// The neighbour.
    Ends,
    /// The neighbour and the relationship.
    Both,
    /// The relationship, whatever the end: for lists that know their ids, and parts that leave
    /// nothing out. They are told as runs.
    Relationships,
}

/// Fewer rows are no case for [`super::adjacency_cache`].
const REPORTED_ROWS: usize = 32;

/// See the file header.
#[derive(Default)]
pub(super) struct NeighborBatch {
    places: Places,
    first_row: usize,
    pub(super) parts: Vec<Arc<CsrLists>>,
}

/// Whose lists are wanted.
pub(super) struct ListsOfRows<'a> {
    /// Holds the nodes, of these rows.
    pub(super) column: &'a Arc<Column>,
    pub(super) rows: Range<usize>,
    /// Rows expected in all, these among them.
    pub(super) expected: f64,
    /// What of each entry.
    pub(super) entries: Entries,
    pub(super) ends: EndRanges<'a>,
}

/// Where the list of the node of a row is found.
enum Places {
    /// Among those of the rows, in id order.
    Of(IdOrder),
    /// All lists are there: at the id of the node, which is in this column, for so many rows.
    Ids(Arc<Column>, usize),
}

impl Default for Places {
    fn default() -> Self {
        Self::Of(IdOrder::default())
    }
}

/// See [`Ids::find`].
fn find_among<T: Copy + Into<u64>>(
    list: &[T],
    nodes: &[u64],
    visit: &mut impl FnMut(usize, usize) -> bool,
) {
    for (place, node) in nodes.iter().enumerate() {
        let first = list.partition_point(|id| (*id).into() < *node);
        let same = (first..list.len()).take_while(|rank| list[*rank].into() == *node);
        for rank in same {
            if !visit(place, rank) {
                break;
            }
        }
    }
}

/// Charges for `more` entries of `bytes` each behind `entries` others.
fn charge(memory: &mut Memory, entries: usize, more: usize, bytes: usize) -> Result<()> {
    // More than can be counted is more than can be had.
    let bytes = match u32::try_from(entries.saturating_add(more)) {
        Ok(_) => more * bytes,
        Err(_) => usize::MAX >> 1,
    };
    memory.charge(bytes)
}

impl NeighborBatch {
    /// Lays out the lists of the nodes of some rows.
    ///
    /// # Errors
    /// What reading gives; [`crate::error::ExecError::Memory`] where they do not fit.
    pub(super) fn of_rows(
        parts: &[PatternPart],
        wanted: ListsOfRows<'_>,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<Self> {
        let ListsOfRows {
            column,
            rows,
            expected,
            entries,
            ends,
        } = wanted;
        let first_row = rows.start;
        let access = rt.tuning.list_access;
        let many = rows.len() >= REPORTED_ROWS || access == ListAccess::Whole;
        let many = many && entries == Entries::Ends && access != ListAccess::Stored;
        let whole = rt.shared.adjacency_cache.as_ref().filter(|_| many);
        if let Some(whole) = whole {
            let all = parts
                .iter()
                .map(|part| whole.get(part, ends, expected, rt))
                .collect::<Result<Option<Vec<_>>>>()?;
            if let Some(parts) = all {
                return Ok(Self::by_ids(column, &rows, parts));
            }
        }
        let nodes = IdOrder::of_nodes(column, rows);
        let mut laid_out = Vec::with_capacity(parts.len());
        for part in parts {
            let lists = decode_lists(part, &nodes.distinct, entries, ends, memory)?;
            if let (Some(whole), Some(first), Some(last)) =
                (whole, nodes.distinct.first(), nodes.distinct.last())
            {
                let visit = Visit {
                    nodes: nodes.distinct.len(),
                    first: *first,
                    last: *last,
                    entries: lists.neighbours.len(),
                };
                whole.visited(part, ends, &visit)?;
            }
            laid_out.push(Arc::new(lists));
        }
        Ok(Self {
            places: Places::Of(nodes),
            first_row,
            parts: laid_out,
        })
    }

    /// Leaves out entries whose relationships `passes` refuses; it gets some relationships at a
    /// time, mostly ascending, and says which of them to keep. Only for lists with relationships.
    ///
    /// # Errors
    /// What `passes` gives.
    pub(super) fn keep_passing(
        &mut self,
        mut passes: impl FnMut(&[u64]) -> Result<Vec<u32>>,
    ) -> Result<()> {
        for part in &mut self.parts {
            let part = Arc::get_mut(part).expect("lists with relationships are not shared");
            part.keep_passing(&mut passes)?;
        }
        Ok(())
    }

    /// Whether all lists of the pattern are there, whatever rows come.
    pub(super) fn are_whole(&self) -> bool {
        matches!(self.places, Places::Ids(..))
    }

    /// Place of the node of a row; `None` where it is null.
    #[inline]
    pub(super) fn place(&self, row: usize) -> Option<usize> {
        match &self.places {
            Places::Of(nodes) => nodes.place(row - self.first_row),
            Places::Ids(column, _) => column.node(row).and_then(|id| usize::try_from(id).ok()),
        }
    }

    /// Loads the beginnings of the lists of some rows together, as rows one by one would wait for
    /// each of them; gives nothing.
    pub(super) fn load_ahead(&self, rows: Range<usize>) {
        if let Places::Ids(column, _) = &self.places {
            let mut seen = 0;
            for part in &self.parts {
                let places = rows.clone().filter_map(|row| column.node(row));
                let places = places.map(|place| usize::try_from(place).unwrap_or(usize::MAX));
                match part.is_to_one() {
                    true => places.for_each(|place| seen ^= u64::from(part.only(place))),
                    false => places.for_each(|place| {
                        let first = part.neighbours.get(part.range(place).start);
                        seen ^= first.copied().unwrap_or(0);
                    }),
                }
            }
            std::hint::black_box(seen);
        }
    }

    /// Appends the rows of `span` whose nodes have an end, and that end, where no node has more
    /// than one; `false` if some may.
    pub(super) fn append_sole(
        &self,
        span: Range<usize>,
        rows: &mut Vec<u32>,
        to: &mut Vec<u64>,
    ) -> bool {
        let (Some(part), Some(nodes)) = (self.sole_part(), self.nodes_by_id()) else {
            return false;
        };
        let mut kept = to.len();
        rows.resize(kept + span.len(), 0);
        to.resize(kept + span.len(), 0);
        let first = u32::try_from(span.start).expect("a batch is small");
        // Without a branch, so that many rows are waited for at once.
        for (row, node) in (first..).zip(&nodes[span]) {
            let only = part.only(usize::try_from(*node).unwrap_or(usize::MAX));
            rows[kept] = row;
            to[kept] = u64::from(only);
            kept += usize::from(only != NO_NEIGHBOUR);
        }
        rows.truncate(kept);
        to.truncate(kept);
        true
    }

    /// The lists, if there is one part and no node has more than one neighbour.
    fn sole_part(&self) -> Option<&CsrLists> {
        match &self.parts[..] {
            [part] if self.are_whole() && part.is_to_one() => Some(part),
            _ => None,
        }
    }

    /// The nodes of all rows of the batch, if places are their ids and they are plain numbers.
    fn nodes_by_id(&self) -> Option<&[u64]> {
        match &self.places {
            Places::Ids(column, _) => match &**column {
                Column::Nodes(nodes) => Some(nodes),
                _ => None,
            },
            Places::Of(_) => None,
        }
    }

    /// The nodes of rows, where none has more than one neighbour.
    pub(super) fn nodes_of_sole(&self, span: Range<usize>) -> Option<&[u64]> {
        self.sole_part()?;
        Some(&self.nodes_by_id()?[span])
    }

    /// The only ends of rows, where no node has more than one; `None` if some may.
    #[inline]
    pub(super) fn sole_ends(
        &self,
        span: Range<usize>,
    ) -> Option<impl Iterator<Item = Option<u64>>> {
        let (part, nodes) = (self.sole_part()?, self.nodes_by_id()?);
        let ends = nodes[span].iter().map(|node| {
            let only = part.only(usize::try_from(*node).unwrap_or(usize::MAX));
            (only != NO_NEIGHBOUR).then_some(u64::from(only))
        });
        Some(ends)
    }

    /// Lists found by id.
    pub(super) fn by_ids(
        column: &Arc<Column>,
        rows: &Range<usize>,
        parts: Vec<Arc<CsrLists>>,
    ) -> Self {
        Self {
            places: Places::Ids(Arc::clone(column), rows.len()),
            first_row: rows.start,
            parts,
        }
    }

    /// The lists of other rows with no other nodes than those of these, which are few.
    pub(super) fn of_same_nodes(&self, column: &Column, rows: Range<usize>) -> Option<Self> {
        let Places::Of(nodes) = &self.places else {
            return None;
        };
        Some(Self {
            first_row: rows.start,
            places: Places::Of(nodes.of_same_nodes(column, rows)?),
            parts: self.parts.clone(),
        })
    }

    /// The node at a place.
    pub(super) fn node(&self, place: usize) -> u64 {
        match &self.places {
            Places::Of(nodes) => nodes.distinct[place],
            Places::Ids(..) => place as u64,
        }
    }

    /// Entries of the lists of all rows; rows of the same node may share its list.
    pub(super) fn entries(&self) -> usize {
        let mut entries = 0;
        match &self.places {
            Places::Of(_) => {
                for part in &self.parts {
                    entries += part.entries();
                }
            }
            Places::Ids(..) => self.for_each_list(|list| entries += list.len()),
        }
        entries
    }

    /// Calls `visit` with pieces that hold every entry of the lists of the rows.
    pub(super) fn for_each_list(&self, mut visit: impl FnMut(&[u64])) {
        match &self.places {
            Places::Of(_) => (self.parts.iter()).for_each(|part| visit(&part.neighbours)),
            Places::Ids(_, rows) => {
                if self.parts.is_empty() {
                    return;
                }
                let rows = self.first_row..self.first_row + rows;
                for place in rows.filter_map(|row| self.place(row)) {
                    (self.parts.iter()).for_each(|part| visit(&part.list(place)));
                }
            }
        }
    }
}

/// The distinct ids among some, ascending.
pub(super) fn distinct_ids(ids: &[u64]) -> Vec<u64> {
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
        return Vec::new();
    };
    let words = (last - first) / 64 + 1;
    // A bitmap is read through in the time that sorting a few ids takes.
    let words = usize::try_from(words).ok().filter(|w| *w <= ids.len());
    let Some(words) = words else {
        let mut distinct = ids.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        return distinct;
    };
    let mut bits = vec![0_u64; words];
    for id in ids {
        let at = id - first;
        bits[usize::try_from(at / 64).expect("one of the words")] |= 1 << (at % 64);
    }
    let mut distinct = Vec::with_capacity(ids.len());
    for (word, start) in bits.iter().zip((*first..).step_by(64)) {
        let mut left = *word;
        while left != 0 {
            distinct.push(start + u64::from(left.trailing_zeros()));
            left &= left - 1;
        }
    }
    distinct
}

/// Judges the ascending entries of a list.
pub(super) struct Wanted<'a> {
    ranges: EndRanges<'a>,
    at: usize,
    /// The node itself, where loops are met in another part.
    skipped: Option<u64>,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(ranges: EndRanges<'a>, skipped: Option<u64>) -> Self {
        Self {
            ranges,
            at: 0,
            skipped,
        }
    }

    #[inline]
    pub(super) fn admits(&mut self, node: u64) -> bool {
        if self.skipped == Some(node) {
            return false;
        }
        let Some(ranges) = self.ranges else {
            return true;
        };
        if self.at < ranges.len() && ranges[self.at].1 <= node {
            self.at += ranges[self.at..].partition_point(|range| range.1 <= node);
        }
        self.at < ranges.len() && ranges[self.at].0 <= node
    }
}

/// Decodes lists of narrow or wide ids.
pub(super) struct Ids {
    narrow: bool,
    scratch: Vec<u32>,
    wide: Vec<u64>,
}

impl Ids {
    /// For the lists of `part`.
    pub(super) fn new(part: &PatternPart) -> Self {
        Self {
            narrow: part.adjacency.ids_fit_u32(),
            scratch: Vec::new(),
            wide: Vec::new(),
        }
    }

    /// Calls `visit` for each neighbour, ascending.
    pub(super) fn for_each(
        &mut self,
        list: &graven_storage::List<'_>,
        mut visit: impl FnMut(u64),
    ) -> graven_storage::Result<()> {
        if self.narrow {
            for id in list.decode(&mut self.scratch)? {
                visit(u64::from(*id));
            }
        } else {
            for id in list.decode_wide(&mut self.wide)? {
                visit(*id);
            }
        }
        Ok(())
    }

    /// Calls `visit` with the place and the rank of the first entry of the list that leads to each
    /// of `nodes`, which ascend, and with those that follow it as long as that gives true.
    fn find(
        &mut self,
        list: &graven_storage::List<'_>,
        nodes: &[u64],
        visit: &mut impl FnMut(usize, usize) -> bool,
    ) -> graven_storage::Result<()> {
        if self.narrow {
            find_among(list.decode(&mut self.scratch)?, nodes, visit);
        } else {
            find_among(list.decode_wide(&mut self.wide)?, nodes, visit);
        }
        Ok(())
    }

    /// Appends the wanted neighbours, ascending.
    fn append(
        &mut self,
        list: &graven_storage::List<'_>,
        ends: EndRanges<'_>,
        skipped: Option<u64>,
        to: &mut Vec<u64>,
    ) -> graven_storage::Result<()> {
        if self.narrow {
            append_wanted(list.decode(&mut self.scratch)?, ends, skipped, to);
        } else {
            append_wanted(list.decode_wide(&mut self.wide)?, ends, skipped, to);
        }
        Ok(())
    }
}
