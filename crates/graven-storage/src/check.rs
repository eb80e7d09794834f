//! Verifying everything reachable in a file: `graven check`.
//!
//! # How it works
//! Every store is read page by page through the page cache, which verifies checksums and that a
//! page is the one that the reference to it was made for; each decoder's findings, the order of
//! ids, counts of the catalogue, both directions of every adjacency against each other, indexes
//! against their column and all pages against the free space are compared. A finding does not end
//! the check: it becomes a [`Problem`] and the next segment is read.
//!
//! # Concurrency
//! A few threads read the segments of a store, some at a time; what they find is put together in
//! the order of the segments, so that the report does not depend on the number of threads.
//!
//! # Costs
//! Reads the file once, columns of indexes twice. Memory: 16 bytes a page, charged to the budget.

mod adjacency;
mod columns;
mod extents;

use crate::catalog::{StoreDescription, StoreKind};
use crate::data_file::FileRoot;
use crate::delta::work_sharing::share;
use crate::directory::SegmentEntry;
use crate::free_space::{Extent, FreeSpace};
use crate::ids::{Direction, StoreId};
use crate::long_bytes::LongBytes;
use crate::overflow_pages;
use crate::store::Store;
use crate::superblock::Found;
use crate::{Error, Result};
use adjacency::{Compared, Later};
use extents::UsedExtents;
use graven_pagecache::{PageKind, PageRef};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Something wrong in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where: a store, or a part of the file.
    pub place: String,
    /// What.
    pub what: String,
}

/// What a check read and found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Pages read.
    pub pages: u64,
    /// Bytes of those pages.
    pub bytes: u64,
    /// Entries: values, relationships in both directions, index entries, nodes.
    pub entries: u64,
    /// Everything wrong; empty for an intact file.
    pub problems: Vec<Problem>,
}

/// Problems of one file are cut off at this number.
const PROBLEMS_MAX: usize = 1000;
/// Segments that a thread reads before it takes others.
const AT_ONCE: usize = 64;
/// A thread is used for each part of the memory limit of this size.
const MEMORY_EACH: u64 = 16 << 20;

/// A check while it runs.
struct Check<'s> {
    root: &'s Arc<FileRoot>,
    found: Found,
    report: Report,
    used: UsedExtents,
    /// What the lists of each type and direction add up to.
    lists: BTreeMap<(crate::TypeId, Direction), Compared>,
    threads: usize,
    /// Whether it is not wanted any more.
    stop: &'s (dyn Fn() -> bool + Sync),
}

impl Store {
    /// The units that the newest superblock does not reach.
    ///
    /// # Errors
    /// What pinning gives; [`Error::Damaged`].
    pub fn free_space(&self) -> Result<Vec<Extent>> {
        let _no_checkpoint = self.checkpointer().pause();
        let block = self.superblock().superblock;
        let root = self.newest_root();
        let bytes =
            overflow_pages::read(&root.pages, block.free_space, PageKind::FreeSpace, |_| ())?;
        let decoded = FreeSpace::decode_both(&bytes, block.file_units);
        let (mut free, later) =
            (root.pages).checked(block.free_space, PageKind::FreeSpace, decoded)?;
        later.into_iter().for_each(|extent| free.free(extent));
        Ok(free.extents().collect())
    }

    /// Reads everything in the file that is reachable and reports what is wrong. What was committed
    /// since the last checkpoint is not in the file; there is no checkpoint meanwhile.
    ///
    /// # Errors
    /// [`Error::Budget`], and what keeps the check itself from running; damage is reported, not
    /// returned.
    pub fn check(&self) -> Result<Report> {
        self.check_until(&|| false)
    }

    /// As [`Store::check`], as long as `stop` does not say that it is not wanted any more.
    ///
    /// # Errors
    /// As [`Store::check`]; [`Error::Stopped`].
    pub fn check_until(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Report> {
        let _no_checkpoint = self.checkpointer().pause();
        let root = &self.newest_root();
        let budget = root.pages.budget();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (budget.limit() / MEMORY_EACH).clamp(1, cores as u64);
        let mut check = Check {
            root,
            found: self.superblock(),
            report: Report::default(),
            used: UsedExtents::with_superblocks(budget.empty_reservation("check")),
            lists: BTreeMap::new(),
            threads: threads as usize,
            stop,
        };
        check.superblocks();
        let (segments, complete) = check.directory()?;
        for store in root.catalog.stores.iter() {
            let listed = segments.get(&store.id).map_or(&[][..], Vec::as_slice);
            check.store(store, listed)?;
        }
        // Without a part of the directory there is nothing to compare.
        let mut later = complete.then(Later::default);
        for rel_type in 0..root.catalog.types().len() as u32 {
            if complete {
                let found = check.directions(crate::TypeId(rel_type));
                later = later.zip(found).map(|(sum, found)| sum.with(found));
            }
        }
        if let Some(later) = later {
            check.later_relationships(later)?;
        }
        for index in &root.catalog.indexes {
            check.index(index)?;
        }
        check.free_space()?;
        Ok(check.report)
    }
}

impl<'s> Check<'s> {
    /// A check of a part, with nothing found yet.
    fn part(&self) -> Check<'s> {
        Check {
            root: self.root,
            found: self.found.clone(),
            report: Report::default(),
            used: UsedExtents::new(self.root.pages.budget().empty_reservation("check")),
            lists: BTreeMap::new(),
            threads: 1,
            stop: self.stop,
        }
    }

    /// Takes what a part has found.
    fn join(&mut self, part: Check<'_>) -> Result<()> {
        self.report.pages += part.report.pages;
        self.report.bytes += part.report.bytes;
        let room = PROBLEMS_MAX - self.report.problems.len();
        let problems = part.report.problems.into_iter().take(room);
        self.report.problems.extend(problems);
        for (of, found) in part.lists {
            self.lists.entry(of).or_default().add(found);
        }
        self.used.join(part.used)
    }

    fn problem(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.report.problems.len() < PROBLEMS_MAX {
            self.report.problems.push(Problem {
                place: place.into(),
                what: what.into(),
            });
        }
    }

    /// Turns damage into a problem; what is no property of the file stays an error.
    fn note(&mut self, place: &str, result: Result<()>) -> Result<()> {
        match result {
            Ok(()) => Ok(()),
            Err(
                error @ (Error::Damaged { .. }
                | Error::Inconsistent { .. }
                | Error::NoSuchNode { .. }
                | Error::Cache(
                    graven_pagecache::Error::Damaged { .. } | graven_pagecache::Error::Io { .. },
                )),
            ) if error.is_damage() || matches!(error, Error::NoSuchNode { .. }) => {
                self.problem(place, error.to_string());
                Ok(())
            }
            Err(other) => Err(other),
        }
    }

    /// Counts a page as used.
    fn page(&mut self, page: PageRef) -> Result<()> {
        if page.seal().is_none() {
            self.problem(
                page.to_string(),
                "what refers to it does not know its content",
            );
        }
        self.report.pages += 1;
        self.report.bytes += page.len_bytes() as u64;
        self.used.add(page)
    }

    fn chain(&mut self, place: &str, head: PageRef, kind: PageKind) -> Result<Option<LongBytes>> {
        let mut pages = Vec::new();
        let read = overflow_pages::read(&self.root.pages, head, kind, |page| pages.push(page));
        pages.into_iter().try_for_each(|page| self.page(page))?;
        let mut bytes = None;
        let noted = read.map(|read| bytes = Some(read));
        self.note(place, noted)?;
        Ok(bytes)
    }

    fn superblocks(&mut self) {
        if let Some(what) = self.found.other_damage.clone() {
            self.problem(
                "superblocks",
                format!("one of the two cannot be used: {what}"),
            );
        }
    }

    /// The directory's entries by store, and whether all of it can be read.
    fn directory(&mut self) -> Result<(BTreeMap<StoreId, Vec<SegmentEntry>>, bool)> {
        let mut segments: BTreeMap<StoreId, Vec<SegmentEntry>> = BTreeMap::new();
        let mut pages = Vec::new();
        let scanned = self.root.directory.scan_all(
            &self.root.pages,
            &mut |page| pages.push(page),
            &mut |store, entry| {
                segments.entry(store).or_default().push(entry);
                Ok(())
            },
        );
        let complete = scanned.is_ok();
        self.note("segment directory", scanned)?;
        pages.into_iter().try_for_each(|page| self.page(page))?;
        let unknown = segments.keys().find(|id| {
            !self
                .root
                .catalog
                .stores
                .iter()
                .any(|store| store.id == **id)
        });
        if let Some(id) = unknown.copied() {
            self.problem(
                "segment directory",
                format!("store {id} is not in the catalogue"),
            );
        }
        self.chain(
            "catalogue",
            self.root.found.superblock.catalogue,
            PageKind::Catalogue,
        )?;
        Ok((segments, complete))
    }

    fn store(&mut self, store: &StoreDescription, segments: &[SegmentEntry]) -> Result<()> {
        let name = self.root.catalog.store_name(store.kind);
        let entries = self.segments(store, segments)?;
        if matches!(store.kind, StoreKind::Index(_)) {
            return Ok(());
        }
        self.report.entries += entries;
        if entries != store.entries || segments.len() as u64 != store.segments {
            let what = format!(
                "{entries} entries in {} segments, the catalogue says {} in {}",
                segments.len(),
                store.entries,
                store.segments
            );
            self.problem(&name, what);
        }
        let ascend = || segments.is_sorted_by_key(|segment| segment.extra);
        if matches!(store.kind, StoreKind::Adjacency(_, Direction::Out)) && !ascend() {
            self.problem(name, "first relationship ids of segments do not ascend");
        }
        Ok(())
    }

    /// Reads the segments of a store; their entries.
    fn segments(&mut self, store: &StoreDescription, segments: &[SegmentEntry]) -> Result<u64> {
        if self.threads == 1 || segments.len() <= AT_ONCE {
            return self.some_segments(store, segments, 0..segments.len());
        }
        let starts: Vec<usize> = (0..segments.len()).step_by(AT_ONCE).collect();
        let found = Mutex::new(Vec::new());
        let check = &*self;
        share(starts, self.threads, |start| -> Result<()> {
            let mut part = check.part();
            let end = segments.len().min(start + AT_ONCE);
            let entries = part.some_segments(store, segments, start..end)?;
            found.lock().push((start, entries, part));
            Ok(())
        })?;
        let mut found = found.into_inner();
        found.sort_unstable_by_key(|(start, ..)| *start);
        let mut sum = 0;
        for (_, entries, part) in found {
            sum += entries;
            self.join(part)?;
        }
        Ok(sum)
    }

    fn some_segments(
        &mut self,
        store: &StoreDescription,
        segments: &[SegmentEntry],
        range: Range<usize>,
    ) -> Result<u64> {
        let name = self.root.catalog.store_name(store.kind);
        let mut entries = 0;
        for at in range {
            if (self.stop)() {
                return Err(Error::Stopped);
            }
            let segment = &segments[at];
            self.page(segment.page)?;
            let end = segments.get(at + 1).map_or(u64::MAX, |next| next.first);
            let read = match store.kind {
                StoreKind::NodeLabels => self.label_segment(segment),
                StoreKind::NodeColumn(_) => self.column_segment(PageKind::NodeColumn, segment, end),
                StoreKind::RelationshipColumn(..) | StoreKind::Relationships(_) => {
                    self.column_segment(PageKind::RelationshipColumn, segment, end)
                }
                StoreKind::Adjacency(rel_type, direction) => {
                    self.adjacency_segment((rel_type, direction), segment, end)
                }
                StoreKind::Index(_) => Ok(0),
            };
            let noted = read.map(|count| entries += count);
            self.note(&name, noted)?;
        }
        Ok(entries)
    }

    /// All pages and all free extents together must be the file, each unit once.
    fn free_space(&mut self) -> Result<()> {
        let place = "free space";
        let block = &self.found.superblock;
        let (head, file_units) = (block.free_space, block.file_units);
        let Some(bytes) = self.chain(place, head, PageKind::FreeSpace)? else {
            return Ok(());
        };
        let decoded = FreeSpace::decode_both(&bytes, file_units);
        match self.root.pages.checked(head, PageKind::FreeSpace, decoded) {
            Err(error) => self.note(place, Err(error))?,
            Ok((mut space, later)) => {
                later.into_iter().for_each(|extent| space.free(extent));
                let findings = self.used.compare(&space, file_units);
                findings
                    .into_iter()
                    .for_each(|what| self.problem(place, what));
            }
        }
        Ok(())
    }
}
