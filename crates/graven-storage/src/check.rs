//! Verifying everything reachable in a file: `graven check`.
//!
//! # How it works
//! Every store is read page by page through the page cache, which verifies checksums and that a
//! page is the one that the reference to it was made for; each decoder's findings, the order of
//! ids, counts of the catalogue, both directions of every adjacency against each other, indexes
//! against their column and all pages against the free space are compared. A finding does not end
//! the check: it becomes a [`Problem`] and the next segment is read.
//!
//! # Costs
//! Reads the file once, columns of indexes twice. Memory: 16 bytes a page, charged to the budget.

mod adjacency;
mod columns;
mod extents;

use crate::catalog::{StoreDescription, StoreKind};
use crate::data_file::FileRoot;
use crate::directory::SegmentEntry;
use crate::free_space::{Extent, FreeSpace};
use crate::ids::StoreId;
use crate::overflow_pages;
use crate::store::Store;
use crate::superblock::Found;
use crate::{Error, Result};
use adjacency::Later;
use extents::UsedExtents;
use graven_pagecache::{PageKind, PageRef};
use std::collections::BTreeMap;
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

/// A check while it runs.
struct Check<'s> {
    root: &'s Arc<FileRoot>,
    found: Found,
    report: Report,
    used: UsedExtents,
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
        let _no_checkpoint = self.checkpointer().pause();
        let root = &self.newest_root();
        let mut check = Check {
            root,
            found: self.superblock(),
            report: Report::default(),
            used: UsedExtents::new(root.pages.budget().empty_reservation("check")),
        };
        check.superblocks();
        let segments = check.directory()?;
        for store in root.catalog.stores.iter() {
            let listed = segments.get(&store.id).map_or(&[][..], Vec::as_slice);
            check.store(store, listed)?;
        }
        let mut later = Some(Later::default());
        for rel_type in 0..root.catalog.types().len() as u32 {
            let found = check.directions(crate::TypeId(rel_type))?;
            later = later.zip(found).map(|(sum, found)| sum.with(found));
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

impl Check<'_> {
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

    fn chain(&mut self, place: &str, head: PageRef, kind: PageKind) -> Result<Option<Vec<u8>>> {
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

    /// The directory's entries by store.
    fn directory(&mut self) -> Result<BTreeMap<StoreId, Vec<SegmentEntry>>> {
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
        Ok(segments)
    }

    fn store(&mut self, store: &StoreDescription, segments: &[SegmentEntry]) -> Result<()> {
        let name = self.root.catalog.store_name(store.kind);
        let mut entries = 0;
        for (at, segment) in segments.iter().enumerate() {
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
            self.problem(name, what);
        }
        Ok(())
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
