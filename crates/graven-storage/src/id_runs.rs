//! Which number every id has, in little memory however short the runs of one number are.
//!
//! # How it works
//! Ids with one number come in runs, so a list of runs says it all. Where the runs are short, as
//! for nodes that are created with one label and another in turn, a list takes more than the
//! numbers: there a *window* of up to [`WINDOW`] ids becomes a palette of the numbers in it and a
//! few bits for every id. Each window is kept in whichever way is smaller. The newest runs wait
//! until a window is full.
//!
//! # Invariants
//! * ST-13: what [`IdRuns::runs`] hands out depends on the ids and numbers alone, not on how they
//!   were pushed: ascending, disjoint, neighbours of one number in one run.
//!
//! # Costs
//! 32 bytes for a run, and never more than that and the bits of its window: two numbers in turn are
//! a bit for every id. A look-up is a bisection of runs and windows.

use std::ops::Range;

/// Ids that a window covers at most.
const WINDOW: u64 = 2048;
/// What a window takes beside its palette and its bits.
const WINDOW_BYTES: usize = size_of::<Piece>() + size_of::<Window>() + 48;
/// Stands in a palette for ids without a number.
const NONE: u32 = u32::MAX;

/// Ids `first..first + count` have this number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) count: u64,
    pub(crate) number: u32,
}

impl Run {
    pub(crate) fn end(&self) -> u64 {
        self.first + self.count
    }

    pub(crate) fn ids(&self) -> Range<u64> {
        self.first..self.end()
    }
}

/// Ids whose numbers differ.
#[derive(Clone, Debug)]
struct Window {
    palette: Box<[u32]>,
    /// Bits of an id's place in the palette.
    width: u32,
    words: Box<[u64]>,
}

impl Window {
    fn of(runs: &[Run], first: u64, end: u64, palette: Vec<u32>, width: u32) -> Window {
        let gap = palette.len() - 1;
        let mut words = vec![0u64; ((end - first) * u64::from(width)).div_ceil(64) as usize];
        let mut put = |ids: Range<u64>, place: usize| {
            for id in ids {
                let bit = (id - first) * u64::from(width);
                let (word, shift) = ((bit / 64) as usize, bit % 64);
                words[word] |= (place as u64) << shift;
                if shift + u64::from(width) > 64 {
                    words[word + 1] |= place as u64 >> (64 - shift);
                }
            }
        };
        let mut behind = first;
        for run in runs {
            put(behind..run.first, gap);
            let place = palette.binary_search(&run.number);
            put(run.ids(), place.expect("the palette has every number"));
            behind = run.end();
        }
        Window {
            palette: palette.into(),
            width,
            words: words.into(),
        }
    }

    #[inline]
    fn number(&self, at: u64) -> u32 {
        let bit = at * u64::from(self.width);
        let (word, shift) = ((bit / 64) as usize, bit % 64);
        let mut place = self.words[word] >> shift;
        if shift + u64::from(self.width) > 64 {
            place |= self.words[word + 1] << (64 - shift);
        }
        self.palette[(place & ((1 << self.width) - 1)) as usize]
    }

    fn heap_bytes(&self) -> usize {
        WINDOW_BYTES - size_of::<Piece>() + 4 * self.palette.len() + 8 * self.words.len()
    }
}

#[derive(Clone, Debug)]
enum Numbers {
    /// All ids have this one.
    One(u32),
    Window(Box<Window>),
}

/// Neighbouring ids.
#[derive(Clone, Debug)]
struct Piece {
    first: u64,
    end: u64,
    numbers: Numbers,
}

impl Piece {
    /// Ids of it that have this number, if it is one.
    fn part(&self, ids: Range<u64>, number: u32) -> Option<Run> {
        (number != NONE).then_some(Run {
            first: ids.start,
            count: ids.end - ids.start,
            number,
        })
    }
}

/// See the file header.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdRuns {
    /// Ascending.
    pieces: Vec<Piece>,
    /// Behind all pieces, ascending; within one window, but for a single run.
    waiting: Vec<Run>,
    /// What windows take outside of `pieces`.
    window_bytes: usize,
}

impl PartialEq for IdRuns {
    fn eq(&self, other: &IdRuns) -> bool {
        self.runs().eq(other.runs())
    }
}

impl Eq for IdRuns {}

impl IdRuns {
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.waiting.is_empty()
    }

    /// Behind the last id.
    pub(crate) fn end(&self) -> u64 {
        let piece = || self.pieces.last().map_or(0, |piece| piece.end);
        self.waiting.last().map_or_else(piece, Run::end)
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let pieces = self.pieces.capacity() * size_of::<Piece>();
        (pieces + self.waiting.capacity() * size_of::<Run>() + self.window_bytes) as u64
    }

    /// Appends ids behind all others.
    pub(crate) fn push(&mut self, run: Run) {
        assert!(self.end() <= run.first, "ids ascend");
        assert!(run.number != NONE, "a number beyond those there are");
        if run.count == 0 {
            return;
        }
        if (self.waiting.first()).is_some_and(|first| run.end() - first.first > WINDOW) {
            self.settle();
        }
        match (self.waiting.last_mut(), self.pieces.last_mut()) {
            (Some(last), _) if last.end() == run.first && last.number == run.number => {
                last.count += run.count;
            }
            (None, Some(last))
                if last.end == run.first
                    && matches!(last.numbers, Numbers::One(number) if number == run.number) =>
            {
                last.end = run.end();
            }
            _ => self.waiting.push(run),
        }
    }

    /// Makes pieces of the runs that wait.
    fn settle(&mut self) {
        let (Some(first), Some(last)) = (self.waiting.first(), self.waiting.last()) else {
            return;
        };
        let (first, end) = (first.first, last.end());
        let mut palette: Vec<u32> = self.waiting.iter().map(|run| run.number).collect();
        palette.sort_unstable();
        palette.dedup();
        if self.waiting.iter().map(|run| run.count).sum::<u64>() < end - first {
            palette.push(NONE);
        }
        let width = usize::BITS - (palette.len() - 1).leading_zeros();
        let bits = (end - first).saturating_mul(u64::from(width)) / 8;
        let window = bits.saturating_add((WINDOW_BYTES + 4 * palette.len()) as u64);
        if window >= (self.waiting.len() * size_of::<Piece>()) as u64 {
            let ones = self.waiting.drain(..).map(|run| Piece {
                first: run.first,
                end: run.end(),
                numbers: Numbers::One(run.number),
            });
            self.pieces.extend(ones);
            return;
        }
        let window = Window::of(&self.waiting, first, end, palette, width);
        self.window_bytes += window.heap_bytes();
        self.pieces.push(Piece {
            first,
            end,
            numbers: Numbers::Window(Box::new(window)),
        });
        self.waiting.clear();
    }

    /// Gives back the memory that further runs would need.
    pub(crate) fn finish(&mut self) {
        self.settle();
        self.waiting = Vec::new();
        self.pieces.shrink_to_fit();
    }

    /// The number of `id`, if it has one.
    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<u32> {
        if self.waiting.first().is_some_and(|first| first.first <= id) {
            let behind = self.waiting.partition_point(|run| run.first <= id);
            let run = self.waiting[behind - 1];
            return (id < run.end()).then_some(run.number);
        }
        let behind = self.pieces.partition_point(|piece| piece.first <= id);
        let piece = self.pieces.get(behind.checked_sub(1)?)?;
        if id >= piece.end {
            return None;
        }
        match &piece.numbers {
            Numbers::One(number) => Some(*number),
            Numbers::Window(window) => {
                let number = window.number(id - piece.first);
                (number != NONE).then_some(number)
            }
        }
    }

    /// The run that holds `id`, or a part of it.
    #[inline]
    pub(crate) fn run_at(&self, id: u64) -> Option<Run> {
        if self.waiting.first().is_some_and(|first| first.first <= id) {
            let behind = self.waiting.partition_point(|run| run.first <= id);
            return Some(self.waiting[behind - 1]).filter(|run| id < run.end());
        }
        let behind = self.pieces.partition_point(|piece| piece.first <= id);
        let piece = self.pieces.get(behind.checked_sub(1)?)?;
        let part = match &piece.numbers {
            Numbers::One(number) => piece.part(piece.first..piece.end, *number),
            Numbers::Window(window) if id < piece.end => {
                let number = window.number(id - piece.first);
                let same = |id: &u64| window.number(*id - piece.first) == number;
                let below = (piece.first..id).rev().take_while(same).count() as u64;
                let above = (id + 1..piece.end).take_while(same).count() as u64;
                piece.part(id - below..id + 1 + above, number)
            }
            Numbers::Window(_) => return None,
        };
        part.filter(|run| id < run.end())
    }

    /// All runs, ascending.
    pub(crate) fn runs(&self) -> Runs<'_> {
        self.runs_from(0)
    }

    /// The runs of the ids from `first` on.
    pub(crate) fn runs_from(&self, first: u64) -> Runs<'_> {
        let mut runs = Runs {
            of: self,
            piece: self.pieces.partition_point(|piece| piece.end <= first),
            waiting: self.waiting.partition_point(|run| run.end() <= first),
            at: first,
            ahead: None,
        };
        runs.ahead = runs.part();
        runs
    }
}

/// See [`IdRuns::runs`].
#[derive(Clone, Debug)]
pub(crate) struct Runs<'a> {
    of: &'a IdRuns,
    piece: usize,
    waiting: usize,
    /// No id below this is left.
    at: u64,
    /// Read and not handed out: the next one may go on.
    ahead: Option<Run>,
}

impl Runs<'_> {
    /// The next run, or a part of it.
    fn part(&mut self) -> Option<Run> {
        while let Some(piece) = self.of.pieces.get(self.piece) {
            let first = self.at.max(piece.first);
            let (end, number) = match &piece.numbers {
                Numbers::One(number) => (piece.end, *number),
                Numbers::Window(window) => {
                    let number = window.number(first - piece.first);
                    let same = |id: &u64| window.number(*id - piece.first) == number;
                    let more = (first + 1..piece.end).take_while(same).count() as u64;
                    (first + 1 + more, number)
                }
            };
            self.at = end;
            self.piece += usize::from(end == piece.end);
            if let Some(part) = piece.part(first..end, number) {
                return Some(part);
            }
        }
        let run = self.of.waiting.get(self.waiting)?;
        self.waiting += 1;
        let first = self.at.max(run.first);
        let count = run.end() - first;
        Some(Run {
            first,
            count,
            ..*run
        })
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let mut run = self.ahead.take()?;
        while let Some(part) = self.part() {
            if part.first != run.end() || part.number != run.number {
                self.ahead = Some(part);
                break;
            }
            run.count += part.count;
        }
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    //! Goal: runs of any length say what a list of a number for every id says, and memory is
    //! bounded by the shorter form.

    use super::*;
    use proptest::prelude::*;

    /// Runs from steps of gap, count and number.
    fn of(steps: &[(u64, u64, u32)]) -> (IdRuns, Vec<Option<u32>>) {
        let (mut runs, mut model) = (IdRuns::default(), Vec::new());
        for &(gap, count, number) in steps {
            model.extend((0..gap).map(|_| None));
            let first = model.len() as u64;
            runs.push(Run {
                first,
                count,
                number,
            });
            model.extend((0..count).map(|_| Some(number)));
        }
        (runs, model)
    }

    /// A few long steps among many short ones.
    fn steps() -> impl Strategy<Value = Vec<(u64, u64, u32)>> {
        let gap = prop_oneof![20 => 0u64..2, 1 => 0u64..9000];
        let count = prop_oneof![20 => 0u64..4, 1 => 0u64..9000];
        let numbers = prop_oneof![10 => 0u32..3, 1 => 0u32..3000];
        proptest::collection::vec((gap, count, numbers), 0..6000)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn runs_of_any_length_agree_with_a_list(steps in steps()) {
            let (runs, model) = of(&steps);
            let mut run_of = vec![0; model.len()];
            for run in runs.runs() {
                run_of[run.first as usize..run.end() as usize].fill(run.first + 1);
            }
            for (id, number) in model.iter().enumerate() {
                prop_assert_eq!(runs.get(id as u64), *number);
                let part = runs.run_at(id as u64);
                prop_assert_eq!(part.map(|part| part.number), *number);
                prop_assert!(part.is_none_or(|part| part.ids().contains(&(id as u64))));
                // Its ids are those of a run, or some of them.
                let last = part.map_or(id as u64, |part| part.end() - 1);
                prop_assert!(run_of[id] == run_of[last as usize]);
            }
            prop_assert_eq!(runs.get(model.len() as u64), None);
            let mut listed = vec![None; model.len()];
            let mut last: Option<Run> = None;
            for run in runs.runs() {
                prop_assert!(last.is_none_or(|last| last.end() < run.first
                    || last.end() == run.first && last.number != run.number));
                listed[run.first as usize..run.end() as usize].fill(Some(run.number));
                last = Some(run);
            }
            prop_assert_eq!(&listed, &model);
            prop_assert_eq!(runs.end(), last.map_or(0, |last| last.end()));
            for from in (0..model.len() + 9).step_by(model.len() / 20 + 1) {
                let tail = runs.runs_from(from as u64).flat_map(|run| run.ids());
                let wanted = (from..model.len()).filter(|id| model[*id].is_some());
                prop_assert!(tail.eq(wanted.map(|id| id as u64)));
            }
            // However they were pushed.
            let mut again = IdRuns::default();
            runs.runs().for_each(|run| again.push(run));
            prop_assert_eq!(&again, &runs);
            again.finish();
            prop_assert!(again.memory_bytes() <= runs.memory_bytes() + 4096);
            prop_assert_eq!(again, runs);
        }
    }

    #[test]
    fn two_numbers_in_turn_take_a_bit_for_every_id() {
        let (mut turns, mut long) = (IdRuns::default(), IdRuns::default());
        for first in 0..1_000_000 {
            turns.push(Run {
                first,
                count: 1,
                number: (first % 2) as u32,
            });
            long.push(Run {
                first,
                count: 1,
                number: (first / 100_000) as u32,
            });
        }
        assert!(turns.memory_bytes() < 300_000, "{}", turns.memory_bytes());
        assert!(long.memory_bytes() < 1000, "{}", long.memory_bytes());
    }
}
