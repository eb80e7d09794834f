//! Warm sets: which segments of which stores were in memory, by ranges of ids.
//!
//! # How it works
//! A set names stores as people do (`adjacency KNOWS out`) and says which ids their resident
//! segments were responsible for, not where their pages lay: so it holds after checkpoints, in
//! backups, and in a file that was loaded anew from the same data. Loading looks the ranges up in
//! the directory as it is now, sorts the pages by their place and reads them in that order, some at
//! a time.
//!
//! Pages of chains (long lists and values) and inner pages of indexes are not in a set; they come
//! when they are asked for.
//!
//! # Invariants
//! * WS-1 loading stops before the cache is full: it evicts nothing.
//! * WS-2 stores that a file does not have are passed over.
//!
//! # Concurrency
//! Loading works on a snapshot. It pauses after a batch in which statements had faults of their
//! own.
//!
//! # Costs
//! 24 bytes a segment of the stores in the set while it is made or loaded; one sequential pass over
//! the file's part.

use crate::Result;
use crate::catalog::StoreKind;
use crate::checkpoint::page_kind;
use crate::snapshot::Snapshot;
use graven_pagecache::{PageKind, PageRef};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

const HEADER: &str = "graven warm set 1";
const BATCH: usize = 64;
/// Of the budget, this part of 16 is filled at most: evictors keep some frames free, and statements
/// need room.
const FILLED: u64 = 14;
const YIELD: Duration = Duration::from_millis(2);
/// Stands for the end of the last range of a store.
const NO_END: u64 = u64::MAX;

/// Ranges of ids by store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WarmSet {
    stores: BTreeMap<String, Vec<(u64, u64)>>,
    /// Segments that the ranges were made of.
    segments: u64,
}

/// What loading a set did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Warmed {
    /// Segments of the set that the file has.
    pub wanted: u64,
    /// Pages that are in memory now.
    pub pages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The budget ended before the set.
    pub is_full: bool,
}

impl WarmSet {
    /// Stores in it.
    #[must_use]
    pub fn stores(&self) -> usize {
        self.stores.len()
    }

    /// Ranges in it.
    #[must_use]
    pub fn ranges(&self) -> usize {
        self.stores.values().map(Vec::len).sum()
    }

    /// Segments that it was made of; 0 for one that was read.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// Whether a text begins like one.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.starts_with(HEADER)
    }

    /// The set as text: a line for each store, then a line for each range.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for (name, ranges) in &self.stores {
            let name = name.replace('\\', "\\\\").replace('\n', "\\n");
            let _ = writeln!(text, "store {name}");
            for (first, end) in ranges {
                let _ = match *end {
                    NO_END => writeln!(text, "{first} -"),
                    end => writeln!(text, "{first} {end}"),
                };
            }
        }
        text
    }

    /// Reads the text of a set.
    ///
    /// # Errors
    /// The first line that is none of a set, with its number.
    pub fn read(text: &str) -> std::result::Result<WarmSet, String> {
        let mut lines = text.lines().zip(1..);
        if lines.next().is_none_or(|(line, _)| line != HEADER) {
            return Err(format!("line 1: it is not `{HEADER}`"));
        }
        let mut set = WarmSet::default();
        let mut store: Option<&mut Vec<(u64, u64)>> = None;
        for (line, number) in lines {
            if let Some(name) = line.strip_prefix("store ") {
                store = Some(set.stores.entry(unescaped(name)).or_default());
                continue;
            }
            let wrong = || format!("line {number}: `{line}` is no range of ids and no store");
            let (first, end) = line.split_once(' ').ok_or_else(wrong)?;
            let first = first.parse().map_err(|_| wrong())?;
            let end = match end {
                "-" => NO_END,
                end => end.parse().map_err(|_| wrong())?,
            };
            match &mut store {
                Some(ranges) if first < end => ranges.push((first, end)),
                _ => return Err(wrong()),
            }
        }
        set.stores
            .values_mut()
            .for_each(|ranges| ranges.sort_unstable());
        Ok(set)
    }

    /// Whether a segment that is responsible for these ids holds some of the store's ranges.
    fn holds(ranges: &[(u64, u64)], first: u64, end: u64) -> bool {
        // The last range that begins before the segment ends.
        let at = ranges.partition_point(|range| range.0 < end);
        at > 0 && ranges[at - 1].1 > first
    }
}

fn unescaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.push(match letters.next() {
                Some('n') => '\n',
                other => other.unwrap_or('\\'),
            }),
            other => text.push(other),
        }
    }
    text
}

/// A segment of a store with the end of what it is responsible for.
struct Segment {
    kind: StoreKind,
    first: u64,
    end: u64,
    page: PageRef,
}

impl Snapshot {
    /// Every segment of the file, store by store, ids ascending.
    fn segments(&self) -> Result<Vec<Segment>> {
        let root = self.root();
        let kinds: HashMap<_, _> = root
            .catalog
            .stores
            .iter()
            .map(|store| (store.id, store.kind))
            .collect();
        let mut all: Vec<(crate::StoreId, Segment)> = Vec::new();
        root.directory
            .scan_all(&root.pages, &mut |_| (), &mut |store, entry| {
                if let Some((last, segment)) = all.last_mut()
                    && *last == store
                {
                    segment.end = entry.first;
                }
                if let Some(&kind) = kinds.get(&store) {
                    let segment = Segment {
                        kind,
                        first: entry.first,
                        end: NO_END,
                        page: entry.page,
                    };
                    all.push((store, segment));
                }
                Ok(())
            })?;
        Ok(all.into_iter().map(|(_, segment)| segment).collect())
    }

    /// What of the file is in memory.
    ///
    /// # Errors
    /// What reading the directory gives.
    pub fn warm_set(&self) -> Result<WarmSet> {
        let root = self.root();
        let resident: HashSet<u64> = root
            .pages
            .cache()
            .residents()
            .into_iter()
            .filter(|one| root.pages.holds(one.file))
            .map(|one| one.page.unit())
            .collect();
        let mut set = WarmSet::default();
        for segment in self.segments()? {
            if !resident.contains(&segment.page.unit()) {
                continue;
            }
            set.segments += 1;
            let name = root.catalog.store_name(segment.kind);
            let ranges = set.stores.entry(name).or_default();
            match ranges.last_mut() {
                Some(last) if last.1 == segment.first => last.1 = segment.end,
                _ => ranges.push((segment.first, segment.end)),
            }
        }
        Ok(set)
    }

    /// Reads what a set names and is not in memory, in the order of the file, until the budget is
    /// nearly full or `stop` says so.
    ///
    /// # Errors
    /// What reading pages gives.
    pub fn load_warm(&self, set: &WarmSet, stop: &dyn Fn() -> bool) -> Result<Warmed> {
        let root = self.root();
        let wanted = self.segments()?.into_iter().filter(|segment| {
            let ranges = set.stores.get(&root.catalog.store_name(segment.kind));
            ranges.is_some_and(|ranges| WarmSet::holds(ranges, segment.first, segment.end))
        });
        let mut pages: Vec<(PageRef, PageKind)> = wanted
            .map(|segment| (segment.page, page_kind(segment.kind)))
            .collect();
        pages.sort_unstable_by_key(|(page, _)| page.offset_bytes());
        let mut warmed = Warmed {
            wanted: pages.len() as u64,
            ..Warmed::default()
        };
        let cache = root.pages.cache();
        let budget = root.pages.budget();
        let faults = || cache.stats().per_kind.total().faults;
        for batch in pages.chunks(BATCH) {
            let bytes: u64 = batch.iter().map(|(page, _)| page.len_bytes() as u64).sum();
            if budget.used() + bytes > budget.limit() / 16 * FILLED {
                warmed.is_full = true;
                break;
            }
            if stop() {
                break;
            }
            let before = faults();
            let absent = batch
                .iter()
                .filter(|(page, _)| !root.pages.is_resident(*page))
                .count() as u64;
            for run in batch.chunk_by(|a, b| a.1 == b.1) {
                let refs: Vec<PageRef> = run.iter().map(|(page, _)| *page).collect();
                root.pages.touch_all(&refs, run[0].1)?;
            }
            warmed.pages += batch.len() as u64;
            warmed.bytes += bytes;
            if faults() > before + absent {
                std::thread::sleep(YIELD);
            }
        }
        Ok(warmed)
    }
}

/// Writes a set to a file, in place of another set but of nothing else, so that a failure leaves
/// what was there.
///
/// # Errors
/// What the system refuses; another file of that name.
pub fn write(set: &WarmSet, path: &Path) -> std::result::Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    match is_set(path) {
        Ok(false) => {
            let what = "is there and is no warm set; name another file";
            return Err(format!("{} {what}", path.display()));
        }
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
        _ => {}
    }
    let mut part = path.as_os_str().to_owned();
    part.push(format!("-part-{}", std::process::id()));
    // One that another process of that number left is in the way; a link is not followed.
    let _ = std::fs::remove_file(&part);
    let file = std::fs::File::create_new(&part).map_err(failed)?;
    let written = (&file).write_all(set.text().as_bytes());
    let renamed = written.and_then(|()| std::fs::rename(&part, path));
    renamed.map_err(|error| {
        let _ = std::fs::remove_file(&part);
        failed(error)
    })
}

/// Whether a file that is there begins as a set does; no more of it is read.
fn is_set(path: &Path) -> std::io::Result<bool> {
    if !std::fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut first = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(HEADER.len() as u64).read_to_end(&mut first)?;
    Ok(first == HEADER.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a set is read as it was written, whatever its stores are called; what is none is told
    /// by its line.
    #[test]
    fn text_is_read_as_written() {
        let mut set = WarmSet::default();
        set.stores.insert(
            "node property a\\b\nc".to_owned(),
            vec![(0, 7), (9, NO_END)],
        );
        set.stores
            .insert("adjacency KNOWS out".to_owned(), vec![(3, 4)]);
        assert_eq!(WarmSet::read(&set.text()), Ok(set.clone()));
        assert_eq!((set.stores(), set.ranges()), (2, 3));
        for (text, line) in [
            ("", "line 1"),
            ("graven warm set 1\n1 2\n", "line 2"),
            ("graven warm set 1\nstore x\n5 5\n", "line 3"),
            ("graven warm set 1\nstore x\n1 y\n", "line 3"),
        ] {
            let error = WarmSet::read(text).unwrap_err();
            assert!(error.starts_with(line), "{error}");
        }
    }

    #[test]
    fn ranges_and_segments_meet() {
        let ranges = [(10, 20), (30, 40)];
        let holds = |first, end| WarmSet::holds(&ranges, first, end);
        assert!(holds(0, 11) && holds(19, 30) && holds(15, 16) && holds(0, NO_END));
        assert!(!holds(0, 10) && !holds(20, 30) && !holds(40, NO_END));
    }
}
