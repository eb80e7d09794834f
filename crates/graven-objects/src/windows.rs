//! Which parts of an object are in memory, and which is asked for next.
//!
//! # How it works
//! A read comes out of a *window*: a range whose bytes are there. Where there is none, the next
//! range is chosen by what is known:
//!
//! * The parts that a reader announced ([`Windows::expect`]), in groups: the column chunks of each
//!   row group of a Parquet file. A part is read from front to back, a window at a time. With a
//!   read in a group, windows of its other parts that have none yet are asked for, as many as there
//!   is room for, those behind the part that is read first.
//! * Else, where the read goes on behind the last one, a window twice as large as the last.
//! * Else a small one; the end of the object, where the read lies near it.
//!
//! # Invariants
//! * OB-17: windows hold no more bytes than they may, or one window that is larger alone; a part
//!   has one window, and that of the same column in the group before it is dropped when the part is
//!   first read.
//!
//! Where many columns are wanted, there is no room for a window of [`PART_MIN`] for each: windows
//! that were read to their ends go first, then those that were not read for the longest time. A
//! part that has lost its window is asked for from where its reader was.
//!
//! # Costs
//! A read looks for its part by bisection, and at no other one, but for the first of a part, and
//! for one that is to be asked for: these look at all windows, of which there are a few for each
//! column, and at most `memory / PART_MIN` of whole size.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
    /// When it was read last: a number that grows with each read; 0, if it was not.
    used: u64,
}

impl Window {
    fn of(start: u64, bytes: Bytes) -> Window {
        let used = 0;
        Window { start, bytes, used }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

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
    /// Where its reader goes on.
    at: u64,
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
    /// The parts of each group that have more to read, and no window because there was no room for
    /// it, or none was asked for.
    waiting: Vec<BTreeSet<usize>>,
    /// The windows of parts, and how many bytes these have.
    held: BTreeMap<usize, Window>,
    held_bytes: u64,
    /// Reads of parts so far.
    reads: u64,
    /// Bytes of a window of a part.
    part_bytes: u64,
    /// Windows outside of parts, the oldest first.
    loose: VecDeque<Window>,
    /// Where the last of them ends, and how long it was.
    end: u64,
    step: u64,
}

impl Windows {
    /// Of an object of so many bytes; they may take `memory`. What is asked for at once takes no
    /// more than that, either, while it comes.
    pub(crate) fn new(size: u64, memory: u64) -> Windows {
        Windows {
            size,
            memory,
            parts: Vec::new(),
            waiting: Vec::new(),
            held: BTreeMap::new(),
            held_bytes: 0,
            reads: 0,
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
        self.held_bytes = 0;
        for (group, ranges) in groups.iter().enumerate() {
            let parts = ranges.iter().enumerate().map(|(column, range)| Part {
                range: range.start..range.end.min(self.size),
                group,
                column,
                is_begun: false,
                at: range.start,
            });
            // A damaged file may announce what it does not have.
            self.parts.extend(parts.filter(|it| !it.range.is_empty()));
        }
        self.parts.sort_by_key(|part| part.range.start);
        self.waiting = vec![BTreeSet::new(); groups.len()];
        for (number, part) in self.parts.iter().enumerate() {
            self.waiting[part.group].insert(number);
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
            let window = self.held.get_mut(&at);
            let count = window.as_ref().map_or(0, |it| it.copy(offset, into));
            if let (Some(window), 1..) = (window, count) {
                self.reads += 1;
                window.used = self.reads;
                self.parts[at].at = offset + count as u64;
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
        let left = self.held.values().map(|window| window.bytes.len() as u64);
        self.held_bytes = left.sum();
    }

    /// Makes room for a window of so many bytes: drops windows outside of parts, then those of
    /// parts.
    fn make_room(&mut self, wanted: u64) {
        self.drop_loose(self.memory.saturating_sub(self.held_bytes + wanted));
        if self.held_bytes + wanted <= self.memory {
            return;
        }
        let all = self.held.iter().map(|(part, window)| {
            let is_wanted = self.parts[*part].at < window.end();
            // What was not read will be soon: it was asked for with what is read now.
            let used = match window.used {
                0 => u64::MAX - *part as u64,
                used => used,
            };
            (is_wanted, used, *part)
        });
        let mut all: Vec<(bool, u64, usize)> = all.collect();
        all.sort_unstable();
        // Half, so that several are asked for at once again.
        let most = (self.memory / 2).min(self.memory.saturating_sub(wanted));
        for (_, _, part) in all {
            if self.held_bytes <= most {
                break;
            }
            self.drop_window(part);
            let dropped = &self.parts[part];
            if dropped.at < dropped.range.end {
                self.waiting[dropped.group].insert(part);
            }
        }
    }

    /// Drops the oldest windows outside of parts, until the others have no more than `most` bytes.
    fn drop_loose(&mut self, most: u64) {
        let mut held = self.loose_bytes();
        while held > most {
            let oldest = self.loose.pop_front();
            held -= oldest.map_or(0, |it| it.bytes.len() as u64);
        }
    }

    fn loose_bytes(&self) -> u64 {
        self.loose.iter().map(|it| it.bytes.len() as u64).sum()
    }

    fn drop_window(&mut self, part: usize) {
        let dropped = self.held.remove(&part);
        self.held_bytes -= dropped.map_or(0, |window| window.bytes.len() as u64);
    }

    /// What to ask for, so that `wanted` bytes at `offset` come, of which none are there.
    pub(crate) fn next(&mut self, offset: u64, wanted: u64) -> Next {
        if let Some(at) = self.part_at(offset) {
            return Next::Parts(self.next_parts(at, offset, wanted));
        }
        let goes_on = offset == self.end;
        if !goes_on && self.size - offset <= SMALL {
            return Next::Loose(self.size.saturating_sub(SMALL)..self.size, false);
        }
        let step = if goes_on { self.grown() } else { SMALL };
        let end = offset.saturating_add(step.max(wanted)).min(self.size);
        Next::Loose(offset..end, goes_on)
    }

    /// The window of part `at` from `offset` on, and those of others in its group for which there
    /// is room.
    fn next_parts(&mut self, at: usize, offset: u64, wanted: u64) -> Vec<(usize, Range<u64>)> {
        let range = self.part_window(at, offset, wanted);
        self.drop_window(at);
        self.make_room(range.end - range.start);
        let taken = self.held_bytes + self.loose_bytes() + (range.end - range.start);
        let mut room = self.memory.saturating_sub(taken);
        let group = self.parts[at].group;
        self.waiting[group].remove(&at);
        let waiting = &self.waiting[group];
        let behind = waiting.range(at..).chain(waiting.range(..at)).copied();
        let mut ranges = vec![(at, range)];
        for other in behind {
            let window = self.part_window(other, self.parts[other].at, 0);
            let Some(left) = room.checked_sub(window.end - window.start) else {
                break;
            };
            room = left;
            ranges.push((other, window));
        }
        for (part, _) in &ranges {
            self.waiting[group].remove(part);
        }
        ranges
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

    /// Bytes that may be held.
    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    /// Keeps bytes of a part, in the place of those that it had.
    pub(crate) fn put_part(&mut self, part: usize, start: u64, bytes: Bytes) {
        self.drop_window(part);
        self.held_bytes += bytes.len() as u64;
        self.held.insert(part, Window::of(start, bytes));
    }

    /// Keeps bytes outside of parts; the oldest go where there is no room.
    pub(crate) fn put(&mut self, start: u64, bytes: Bytes) {
        self.step = bytes.len() as u64;
        self.end = start + self.step;
        self.make_room(self.step);
        self.loose.push_back(Window::of(start, bytes));
    }
}

#[cfg(test)]
mod tests {
    //! Goal: every read is answered, parts are asked for once and no further than they go, and
    //! windows take no more memory than they may.

    use super::*;

    const SIZE: u64 = 10 << 20;

    /// Reads all of a range in pieces of `piece` bytes, at most; what was asked for.
    fn read(windows: &mut Windows, range: Range<u64>, piece: usize) -> Vec<Range<u64>> {
        let (mut at, mut asked) = (range.start, Vec::new());
        let mut into = vec![0; piece];
        while at < range.end {
            let held = windows.held() as u64;
            assert!(held <= windows.memory, "OB-17: {held}");
            let most = into.len().min((range.end - at) as usize);
            let count = windows.copy(at, &mut into[..most]);
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

    /// Two groups of this many columns of `bytes` bytes each, of an object that is large enough.
    fn wide(columns: u64, bytes: u64, memory: u64) -> (Windows, Vec<Vec<Range<u64>>>) {
        let column = |group: u64| {
            let start = move |at: u64| (group * columns + at) * bytes;
            (0..columns).map(move |at| start(at)..start(at + 1))
        };
        let groups: Vec<Vec<_>> = (0..2).map(|group| column(group).collect()).collect();
        let mut windows = Windows::new(2 * columns * bytes, memory);
        windows.expect(&groups);
        (windows, groups)
    }

    #[test]
    fn many_columns_share_what_there_is() {
        // Each column needs a window of 16 KiB, all together six times as much as there is.
        for (bytes, pages) in [(9_000, 1), (40_000, 4), (5_000, 5)] {
            let (mut windows, groups) = wide(400, bytes, 1 << 20);
            let (mut asked, mut times) = (0, 0);
            for group in &groups {
                for page in 0..pages {
                    for column in group {
                        let length = bytes / pages;
                        let start = column.start + page * length;
                        let of_page = read(&mut windows, start..start + length, 5_000);
                        times += usize::from(!of_page.is_empty());
                        asked += of_page.iter().map(|it| it.end - it.start).sum::<u64>();
                    }
                }
            }
            let all = 2 * 400 * bytes;
            assert!(asked >= all && asked < 5 * all, "{asked} of {all}");
            // Many columns are asked for at once.
            let reads = 2 * 400 * pages as usize;
            assert!(times < reads / 10, "{times} of {reads}");
        }
    }

    #[test]
    fn a_large_page_is_alone() {
        let (mut windows, groups) = wide(4, 3 << 20, 1 << 20);
        read(
            &mut windows,
            groups[0][0].start..groups[0][0].start + 1000,
            1000,
        );
        let start = groups[0][1].start;
        let Next::Parts(parts) = windows.next(start, 2 << 20) else {
            panic!("it lies in a part");
        };
        assert_eq!(parts, [(1, start..start + (2 << 20))]);
        windows.put_part(1, start, vec![0; 2 << 20].into());
        assert_eq!(windows.held(), 2 << 20);
        // The part whose window had to go is asked for from where its reader is.
        assert_eq!(windows.copy(1000, &mut [0; 10]), 0);
        let Next::Parts(parts) = windows.next(1000, 10) else {
            panic!("it lies in a part");
        };
        assert_eq!(parts[0], (0, 1000..1000 + (128 << 10)));
    }
}
