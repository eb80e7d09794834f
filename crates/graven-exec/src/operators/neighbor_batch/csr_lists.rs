//! The lists of one part of a pattern, by place.
//!
//! # How it works
//! They lie one behind the other, each place knows where its own begins and ends. Where no place
//! has more than one neighbour they are an array of neighbours; where only relationships are asked
//! for, their ids are kept as runs.
//!
//! # Invariants
//! * EX-53 Lists by place are either all in `to_one` or all in `spans` and `neighbours`.

use std::ops::{Deref, Range};

use super::Wanted;
use crate::error::Result;
use crate::relationship_runs::RelationshipRuns;
use crate::threads::on_threads;

/// Relationships whose condition is decided together.
const PASSING_ENTRIES: usize = 8 << 10;

/// The lists of one part of a pattern.
#[derive(Default)]
pub(in crate::operators) struct CsrLists {
    /// The place of the first list; empty lists surround those that are there.
    first: usize,
    /// Where no place has more than one neighbour: that of place `first + i`, or [`NO_NEIGHBOUR`]
    /// (EX-53). Half of what spans take, and nothing to follow from there.
    to_one: Vec<u32>,
    /// Where the list of place `first + i` starts and ends.
    pub(super) spans: Vec<(u32, u32)>,
    pub(in crate::operators) neighbours: Vec<u64>,
    /// Empty if no operator asks for relationships.
    pub(in crate::operators) relationships: Vec<u64>,
    /// Those of lists that hold nothing else.
    pub(in crate::operators) runs: RelationshipRuns,
    /// Entries in the order in which their relationships were met, mostly that of their ids; empty
    /// where that is their own order.
    pub(super) order: Vec<u32>,
}

/// No neighbour in `to_one`: ids that fit 32 bits are below it.
pub(super) const NO_NEIGHBOUR: u32 = u32::MAX;

/// The neighbours of a place, ascending.
#[derive(Clone, Copy)]
pub(in crate::operators) enum Ends<'a> {
    /// They lie in memory.
    Several(&'a [u64]),
    /// There is one.
    One(u64),
}

impl Deref for Ends<'_> {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        match self {
            Self::Several(ends) => ends,
            Self::One(end) => std::slice::from_ref(end),
        }
    }
}

impl CsrLists {
    pub(super) fn with_places(first: usize, places: usize) -> Self {
        Self {
            first,
            spans: vec![(0, 0); places],
            ..Self::default()
        }
    }

    /// No list yet, for nodes by their ids from `first` on.
    pub(in crate::operators) fn of_ids(first: u64, nodes: usize, entries: usize) -> Self {
        Self {
            first: usize::try_from(first).expect("ids are narrow"),
            to_one: vec![NO_NEIGHBOUR; nodes],
            neighbours: Vec::with_capacity(entries),
            ..Self::default()
        }
    }

    /// Lists of nodes by their ids from `first` on, of these lengths one behind the other.
    pub(in crate::operators) fn of_lengths(
        first: u64,
        lengths: impl Iterator<Item = u32>,
        neighbours: Vec<u64>,
    ) -> Self {
        let mut end = 0;
        let spans = lengths.map(|length| {
            let start = end;
            end += length;
            (start, end)
        });
        Self {
            first: usize::try_from(first).expect("ids are narrow"),
            spans: spans.collect(),
            neighbours,
            ..Self::default()
        }
    }

    /// Bytes of lists of so many nodes with so many entries.
    pub(in crate::operators) fn bytes(nodes: usize, entries: usize) -> usize {
        nodes.saturating_add(entries).saturating_mul(8)
    }

    /// Adds the wanted neighbours of a place that has none yet.
    #[inline]
    pub(in crate::operators) fn put(
        &mut self,
        place: u64,
        list: &[u32],
        ends: EndRanges<'_>,
        skipped: Option<u64>,
    ) {
        let at = usize::try_from(place).map_or(usize::MAX, |at| at.wrapping_sub(self.first));
        if let ([only], Some(to_one)) = (list, self.to_one.get_mut(at)) {
            if is_wanted(ends, u64::from(*only)) && skipped != Some(u64::from(*only)) {
                *to_one = *only;
            }
            return;
        }
        self.put_several(at, list, ends, skipped);
    }

    fn put_several(&mut self, at: usize, list: &[u32], ends: EndRanges<'_>, skipped: Option<u64>) {
        if !self.to_one.is_empty() {
            let mut kept = Vec::new();
            append_wanted(list, ends, skipped, &mut kept);
            match (&kept[..], self.to_one.get_mut(at)) {
                ([], _) => return,
                ([only], Some(to_one)) => {
                    *to_one = u32::try_from(*only).expect("it came from 32 bits");
                    return;
                }
                _ => self.unfold(),
            }
        }
        let start = offset(self.neighbours.len());
        append_wanted(list, ends, skipped, &mut self.neighbours);
        if let Some(span) = self.spans.get_mut(at) {
            *span = (start, offset(self.neighbours.len()));
        }
    }

    /// Some place has several neighbours (EX-53).
    fn unfold(&mut self) {
        let to_one = std::mem::take(&mut self.to_one);
        self.spans = vec![(0, 0); to_one.len()];
        for (span, only) in self.spans.iter_mut().zip(to_one) {
            if only != NO_NEIGHBOUR {
                let start = offset(self.neighbours.len());
                self.neighbours.push(u64::from(only));
                *span = (start, start + 1);
            }
        }
    }

    /// Whether no place has more than one neighbour, as far as is known.
    pub(in crate::operators) fn is_to_one(&self) -> bool {
        !self.to_one.is_empty()
    }

    /// The only neighbour of a place by its number, if the lists are [`CsrLists::is_to_one`].
    #[inline]
    pub(super) fn only(&self, place: usize) -> u32 {
        let only = self.to_one.get(place.wrapping_sub(self.first));
        only.copied().unwrap_or(NO_NEIGHBOUR)
    }

    /// The lists of pieces that follow each other, on so many threads.
    pub(in crate::operators) fn joined(mut pieces: Vec<Self>, threads: usize) -> Self {
        if pieces.len() < 2 {
            return pieces.pop().unwrap_or_default();
        }
        if pieces.iter().all(Self::is_to_one) {
            let to_one: Vec<&[u32]> = pieces.iter().map(|piece| &piece.to_one[..]).collect();
            return Self {
                first: pieces[0].first,
                to_one: to_one.concat(),
                ..Self::default()
            };
        }
        let folded = pieces.iter_mut().filter(|piece| piece.is_to_one());
        folded.for_each(Self::unfold);
        let mut joined = Self {
            first: pieces[0].first,
            spans: vec![(0, 0); pieces.iter().map(|piece| piece.spans.len()).sum()],
            neighbours: vec![0; pieces.iter().map(|piece| piece.neighbours.len()).sum()],
            ..Self::default()
        };
        let (mut spans, mut neighbours) = (&mut joined.spans[..], &mut joined.neighbours[..]);
        let mut before = 0;
        let mut tasks = Vec::new();
        for piece in pieces {
            let (own_spans, own_neighbours);
            (own_spans, spans) = spans.split_at_mut(piece.spans.len());
            (own_neighbours, neighbours) = neighbours.split_at_mut(piece.neighbours.len());
            let shift = before;
            before += offset(piece.neighbours.len());
            tasks.push((piece, shift, own_spans, own_neighbours));
        }
        let length = tasks.len().div_ceil(threads.max(1));
        on_threads(tasks.chunks_mut(length).collect(), |tasks| {
            for (piece, shift, spans, neighbours) in tasks {
                neighbours.copy_from_slice(&piece.neighbours);
                for (to, (start, end)) in spans.iter_mut().zip(&piece.spans) {
                    *to = (start + *shift, end + *shift);
                }
            }
        });
        joined
    }

    /// Leaves out entries whose relationships `passes` refuses; it gets relationships and says
    /// which to keep.
    ///
    /// # Errors
    /// What `passes` gives.
    pub(super) fn keep_passing(
        &mut self,
        passes: &mut dyn FnMut(&[u64]) -> Result<Vec<u32>>,
    ) -> Result<()> {
        let entries = self.relationships.len();
        if self.order.is_empty() {
            self.order = (0..offset(entries)).collect();
        }
        let mut kept = vec![false; entries];
        for entries in self.order.chunks(PASSING_ENTRIES) {
            let relationships: Vec<u64> = entries
                .iter()
                .map(|at| self.relationships[*at as usize])
                .collect();
            for passed in passes(&relationships)? {
                kept[entries[passed as usize] as usize] = true;
            }
        }
        self.order = Vec::new();
        // Lists lie in the order of their places.
        let mut to = 0;
        for span in &mut self.spans {
            let from = to;
            let own = span.0 as usize..span.1 as usize;
            for (at, keep) in own.clone().zip(&kept[own]) {
                if *keep {
                    self.neighbours[to] = self.neighbours[at];
                    self.relationships[to] = self.relationships[at];
                    to += 1;
                }
            }
            *span = (offset(from), offset(to));
        }
        self.neighbours.truncate(to);
        self.relationships.truncate(to);
        Ok(())
    }

    /// Where the list of a place lies in `neighbours` or `relationships`; not of lists that may be
    /// there whole.
    #[inline]
    pub(in crate::operators) fn range(&self, place: usize) -> Range<usize> {
        let at = place.wrapping_sub(self.first);
        match self.spans.get(at) {
            Some((start, end)) => *start as usize..*end as usize,
            None => 0..0,
        }
    }

    /// Entries of all lists.
    pub(super) fn entries(&self) -> usize {
        self.neighbours.len().max(self.runs.len())
    }

    /// Entries of the list of a place, also of lists that hold relationships alone.
    #[inline]
    pub(in crate::operators) fn len(&self, place: usize) -> usize {
        match self.is_to_one() {
            true => usize::from(self.only(place) != NO_NEIGHBOUR),
            false => self.range(place).len(),
        }
    }

    /// The neighbours of a place, ascending.
    #[inline]
    pub(in crate::operators) fn list(&self, place: usize) -> Ends<'_> {
        if self.is_to_one() {
            return match self.only(place) {
                NO_NEIGHBOUR => Ends::Several(&[]),
                only => Ends::One(u64::from(only)),
            };
        }
        Ends::Several(&self.neighbours[self.range(place)])
    }

    /// Calls `visit` with the neighbours of a place, ascending.
    #[inline]
    pub(in crate::operators) fn for_each(&self, place: usize, visit: impl FnMut(u64)) {
        match self.is_to_one() {
            true => Some(self.only(place))
                .filter(|only| *only != NO_NEIGHBOUR)
                .map(u64::from)
                .into_iter()
                .for_each(visit),
            false => (self.neighbours[self.range(place)].iter().copied()).for_each(visit),
        }
    }

    /// As [`CsrLists::list`], one after the other.
    pub(in crate::operators) fn ends(&self, place: usize) -> impl Iterator<Item = u64> {
        let list = self.list(place);
        (0..list.len()).map(move |at| list[at])
    }
}

/// Appends the entries of an ascending list that lie in the ranges and are not `skipped`.
pub(super) fn append_wanted<T: Copy + Into<u64>>(
    list: &[T],
    ends: EndRanges<'_>,
    skipped: Option<u64>,
    to: &mut Vec<u64>,
) {
    match ends {
        None if skipped.is_none() => to.extend(list.iter().map(|id| (*id).into())),
        Some([(from, behind)]) if skipped.is_none() => {
            let start = list.partition_point(|id| (*id).into() < *from);
            let list = &list[start..];
            let end = list.partition_point(|id| (*id).into() < *behind);
            to.extend(list[..end].iter().map(|id| (*id).into()));
        }
        _ => {
            let mut wanted = Wanted::new(ends, skipped);
            let ids = list.iter().map(|id| (*id).into());
            to.extend(ids.filter(|id| wanted.admits(*id)));
        }
    }
}

/// # Panics
/// From 2^32 entries on, for which no caller was given memory (see [`super::charge`]).
pub(super) fn offset(entries: usize) -> u32 {
    u32::try_from(entries).expect("EX-41: fewer than 2^32 entries are laid out at once")
}

/// Which ends are laid out: ascending disjoint id ranges; all without them.
pub(in crate::operators) type EndRanges<'a> = Option<&'a [(u64, u64)]>;

/// Whether a single entry is wanted.
pub(in crate::operators) fn is_wanted(ranges: EndRanges<'_>, node: u64) -> bool {
    let Some(ranges) = ranges else {
        return true;
    };
    if let [only] = ranges {
        return (only.0..only.1).contains(&node);
    }
    let at = ranges.partition_point(|range| range.1 <= node);
    at < ranges.len() && ranges[at].0 <= node
}
