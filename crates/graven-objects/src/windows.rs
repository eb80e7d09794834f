//! Which parts of an object are in memory, and which is asked for next.
//!
//! # How it works
//! A read comes out of a *window*: a range whose bytes are there. Where there is none, the next
//! range is chosen by what is known:
//!
//! * The parts that a reader announced ([`Windows::expect`]), in groups: the column chunks of each
//!   row group of a Parquet file. A part is read from front to back, a window at a time. With the
//!   first read in a group the first windows of all of its parts are asked for.
//! * Else, where the read goes on behind the last one, a window twice as large as the last.
//! * Else a small one; the end of the object, where the read lies near it.
//!
//! # Invariants
//! * OB-17: windows hold about as many bytes as they may; a part has one window, and that of the
//!   same column in the group before it is dropped when the part is first read.
//!
//! # Costs
//! A read looks for its part by bisection, and at no other one, but for the first of a part, which
//! looks at all windows: there are a few for each column.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use bytes::Bytes;

/// Bytes of the smallest window, and of the end of an object.
pub(crate) const SMALL: u64 = 64 << 10;
/// Bytes of the largest window that is read ahead.
const LARGE: u64 = 4 << 20;
/// Bytes of the smallest and the largest window of a part.
const PART_MIN: u64 = 16 << 10;
const PART_MAX: u64 = 2 << 20;

/// Bytes that are there.
#[derive(Clone, Debug)]
struct Window {
    start: u64,
    bytes: Bytes,
}

impl Window {
    fn copy(&self, offset: u64, into: &mut [u8]) -> usize {
        let Some(skip) = offset.checked_sub(self.start) else {
            return 0;
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let rest = self.bytes.get(skip..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        count
    }
}

/// A part that a reader has announced.
#[derive(Debug)]
struct Part {
    range: Range<u64>,
    group: usize,
    column: usize,
    /// Something of it was read.
    is_begun: bool,
}

/// Ranges that are to be asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// These, each with the number of its part.
    Parts(Vec<(usize, Range<u64>)>),
    /// This one; whether the one behind it will be wanted, too.
    Loose(Range<u64>, bool),
}

/// See the file header.
#[derive(Debug)]
pub(crate) struct Windows {
    size: u64,
    /// Bytes that may be held.
    memory: u64,
    /// Ascending.
    parts: Vec<Part>,
    /// The parts of each group whose first windows were not asked for.
    waiting: Vec<Vec<usize>>,
    /// The windows of parts.
    held: BTreeMap<usize, Window>,
    /// Bytes of a window of a part.
    part_bytes: u64,
    /// Windows outside of parts, the oldest first.
    loose: VecDeque<Window>,
    /// Where the last of them ends, and how long it was.
    end: u64,
    step: u64,
}

impl Windows {
    /// Of an object of so many bytes; they may take `memory`.
    pub(crate) fn new(size: u64, memory: u64) -> Windows {
        Windows {
            size,
            memory,
            parts: Vec::new(),
            waiting: Vec::new(),
            held: BTreeMap::new(),
            part_bytes: PART_MIN,
            loose: VecDeque::new(),
            end: u64::MAX,
            step: SMALL,
        }
    }

    /// These parts will be read, group by group.
    pub(crate) fn expect(&mut self, groups: &[Vec<Range<u64>>]) {
        self.parts.clear();
        self.held.clear();
        for (group, ranges) in groups.iter().enumerate() {
            let parts = ranges.iter().enumerate().map(|(column, range)| Part {
                range: range.start..range.end.min(self.size),
                group,
                column,
                is_begun: false,
            });
            // A damaged file may announce what it does not have.
            self.parts.extend(parts.filter(|it| !it.range.is_empty()));
        }
        self.parts.sort_by_key(|part| part.range.start);
        self.waiting = vec![Vec::new(); groups.len()];
        for (number, part) in self.parts.iter().enumerate() {
            self.waiting[part.group].push(number);
        }
        let columns = groups.iter().map(Vec::len).max().unwrap_or(1) as u64;
        let share = self.memory / 2 / columns.max(1);
        self.part_bytes = share.clamp(PART_MIN, PART_MAX);
    }

    /// Bytes held.
    pub(crate) fn held(&self) -> usize {
        let all = self.held.values().chain(&self.loose);
        all.map(|window| window.bytes.len()).sum()
    }

    fn part_at(&self, offset: u64) -> Option<usize> {
        let behind = self
            .parts
            .partition_point(|part| part.range.start <= offset);
        let at = behind.checked_sub(1)?;
        self.parts[at].range.contains(&offset).then_some(at)
    }

    /// Copies what is there at `offset`; how many bytes.
    pub(crate) fn copy(&mut self, offset: u64, into: &mut [u8]) -> usize {
        if let Some(at) = self.part_at(offset) {
            let window = self.held.get(&at);
            let count = window.map_or(0, |window| window.copy(offset, into));
            if count > 0 {
                self.begin(at);
                return count;
            }
        }
        let loose = self.loose.iter().rev();
        loose
            .map(|window| window.copy(offset, into))
            .find(|count| *count > 0)
            .unwrap_or(0)
    }

    /// Drops the windows that the first read of a part makes useless.
    fn begin(&mut self, at: usize) {
        if std::mem::replace(&mut self.parts[at].is_begun, true) {
            return;
        }
        let (parts, now) = (&self.parts, &self.parts[at]);
        let passed = |it: &Part| it.group < now.group && it.column == now.column;
        self.held.retain(|part, _| !passed(&parts[*part]));
    }

    /// What to ask for, so that `wanted` bytes at `offset` come, of which none are there.
    pub(crate) fn next(&mut self, offset: u64, wanted: u64) -> Next {
        if let Some(at) = self.part_at(offset) {
            let mut ranges = vec![(at, self.part_window(at, offset, wanted))];
            let others = std::mem::take(&mut self.waiting[self.parts[at].group]);
            let others = others.into_iter().filter(|other| *other != at);
            let first = |other: usize| self.part_window(other, self.parts[other].range.start, 0);
            ranges.extend(others.map(|other| (other, first(other))));
            return Next::Parts(ranges);
        }
        let goes_on = offset == self.end;
        if !goes_on && self.size - offset <= SMALL {
            return Next::Loose(self.size.saturating_sub(SMALL)..self.size, false);
        }
        let step = if goes_on { self.grown() } else { SMALL };
        let end = offset.saturating_add(step.max(wanted)).min(self.size);
        Next::Loose(offset..end, goes_on)
    }

    /// Bytes of the window behind the last one.
    fn grown(&self) -> u64 {
        let most = (self.memory / 4).clamp(SMALL, LARGE);
        self.step.saturating_mul(2).clamp(SMALL, most)
    }

    /// The range behind the last window; none at the end, and where a reader announces its parts.
    pub(crate) fn ahead(&self) -> Option<Range<u64>> {
        let end = self.end.saturating_add(self.grown()).min(self.size);
        (self.parts.is_empty() && self.end < end).then_some(self.end..end)
    }

    fn part_window(&self, part: usize, offset: u64, wanted: u64) -> Range<u64> {
        let length = self.part_bytes.max(wanted);
        offset..(offset + length).min(self.parts[part].range.end)
    }

    /// Keeps bytes of a part, in the place of those that it had.
    pub(crate) fn put_part(&mut self, part: usize, start: u64, bytes: Bytes) {
        self.held.insert(part, Window { start, bytes });
    }

    /// Keeps bytes outside of parts; the oldest go where there is no room.
    pub(crate) fn put(&mut self, start: u64, bytes: Bytes) {
        self.step = bytes.len() as u64;
        self.end = start + self.step;
        self.loose.push_back(Window { start, bytes });
        let mut held: u64 = self.loose.iter().map(|it| it.bytes.len() as u64).sum();
        while held > self.memory && self.loose.len() > 1 {
            let oldest = self.loose.pop_front();
            held -= oldest.map_or(0, |it| it.bytes.len() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Goal: every read is answered, parts are asked for once and no further than they go, and
    //! windows take no more memory than they may.

    use super::*;

    const SIZE: u64 = 10 << 20;

    /// Reads all of a range in pieces of `piece` bytes; what was asked for.
    fn read(windows: &mut Windows, range: Range<u64>, piece: usize) -> Vec<Range<u64>> {
        let (mut at, mut asked) = (range.start, Vec::new());
        let mut into = vec![0; piece];
        while at < range.end {
            let count = windows.copy(at, &mut into);
            if count > 0 {
                assert_eq!(into[0], (at % 251) as u8);
                at += count as u64;
                continue;
            }
            let bytes = |range: &Range<u64>| -> Bytes {
                range.clone().map(|at| (at % 251) as u8).collect()
            };
            match windows.next(at, piece as u64) {
                Next::Loose(range, _) => {
                    windows.put(range.start, bytes(&range));
                    asked.push(range);
                }
                Next::Parts(parts) => {
                    for (part, range) in parts {
                        windows.put_part(part, range.start, bytes(&range));
                        asked.push(range);
                    }
                }
            }
            assert!(asked.len() < 10_000);
        }
        asked
    }

    #[test]
    fn reads_from_front_to_back_grow() {
        let memory = 2 << 20;
        let mut windows = Windows::new(SIZE, memory);
        let asked = read(&mut windows, 0..SIZE, 5000);
        assert!(asked.len() < 30, "{asked:?}");
        let bytes: u64 = asked.iter().map(|it| it.end - it.start).sum();
        assert_eq!(bytes, SIZE);
        assert!(windows.held() as u64 <= memory);
        // The end is asked for as a whole.
        let mut windows = Windows::new(SIZE, memory);
        let asked = read(&mut windows, SIZE - 8..SIZE, 8);
        let last = SIZE - SMALL..SIZE;
        assert_eq!((asked.len(), &asked[0]), (1, &last));
        assert!(read(&mut windows, SIZE - 60_000..SIZE, 100).is_empty());
    }

    #[test]
    fn parts_are_asked_for_once() {
        let mut windows = Windows::new(SIZE, 1 << 20);
        let mib = 1 << 20;
        let groups = [0, 5].map(|group: u64| {
            [0, 2, 3].map(|column: u64| {
                let start = (group + column) * mib;
                start..start + 300_000
            })
        });
        windows.expect(&groups.each_ref().map(|parts| parts.to_vec()));
        // As a reader of rows does: some of each column, the groups not in step.
        let mut asked = Vec::new();
        let mut at = groups.clone().map(|parts| parts.map(|part| part.start));
        for group in 0..2 {
            for round in 1..=10 {
                for column in 0..3 {
                    let end = groups[group][column].start + round * 30_000;
                    let from = std::mem::replace(&mut at[group][column], end);
                    asked.extend(read(&mut windows, from..end, 1000));
                }
            }
        }
        let bytes: u64 = asked.iter().map(|it| it.end - it.start).sum();
        assert_eq!(bytes, 6 * 300_000);
        assert!(windows.held() <= 1 << 20);
    }
}
