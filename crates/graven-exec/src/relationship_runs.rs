//! Ids of relationships one behind the other, as runs that count up: those of a stretch of lists of
//! a bulk load are one.

use std::ops::Range;

/// See the file header.
#[derive(Default)]
pub(crate) struct RelationshipRuns {
    /// Each with the position of its first id.
    runs: Vec<(usize, Range<u64>)>,
    len: usize,
}

impl RelationshipRuns {
    /// What a run takes.
    pub(crate) const RUN_BYTES: usize = size_of::<(usize, Range<u64>)>();

    /// Puts ids behind the others.
    pub(crate) fn push(&mut self, ids: Range<u64>) {
        let start = self.len;
        self.len += usize::try_from(ids.end - ids.start).unwrap_or(usize::MAX);
        match self.runs.last_mut() {
            Some((_, last)) if last.end == ids.start => last.end = ids.end,
            _ => self.runs.push((start, ids)),
        }
    }

    /// Whether ids that begin with this one would be a run of their own.
    pub(crate) fn breaks_at(&self, id: u64) -> bool {
        self.runs.last().is_none_or(|(_, last)| last.end != id)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The runs, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Range<u64>> {
        self.runs.iter().map(|(_, ids)| ids.clone())
    }

    /// The id at a position.
    ///
    /// # Panics
    /// Behind the last one.
    pub(crate) fn id(&self, position: usize) -> u64 {
        let behind = self.runs.partition_point(|(start, _)| *start <= position);
        let (start, ids) = &self.runs[behind - 1];
        let id = ids.start + (position - start) as u64;
        assert!(id < ids.end, "position {position} of {}", self.len);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: runs that follow each other are one, and every position finds its id.
    #[test]
    fn positions_find_their_ids() {
        let mut runs = RelationshipRuns::default();
        for ids in [5..9, 9..12, 40..41, 7..9] {
            assert_eq!(runs.breaks_at(ids.start), ids.start != 9);
            runs.push(ids);
        }
        let all: Vec<u64> = runs.iter().flatten().collect();
        assert_eq!(runs.iter().len(), 3);
        assert_eq!(all, [5, 6, 7, 8, 9, 10, 11, 40, 7, 8]);
        assert!((0..runs.len()).map(|at| runs.id(at)).eq(all));
    }
}
