//! Which segment of a store holds an id: in memory where that is affordable, else through the
//! directory.
//!
//! # How it works
//! When a store is first used its directory entries are read into three arrays, charged to the
//! budget. Where the arrays would take more than a sixteenth of the memory limit, look-ups go
//! through the directory's pages instead; sweeps and gathers ask once per segment, so both are
//! cheap there.
//!
//! # Costs
//! 24 bytes a segment in memory; a bisection per look-up.

use crate::Result;
use crate::directory::{Directory, SegmentEntry};
use crate::ids::StoreId;
use crate::pages::Pages;
use graven_pagecache::{PageRef, Reservation};
use std::sync::OnceLock;

const ENTRY_BYTES: u64 = 24;
/// The arrays of one store may take this part of the memory limit.
const LIMIT_SHARE: u64 = 16;

/// A segment and the ids it is responsible for: those from `first` to before `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Located {
    pub(crate) first: u64,
    pub(crate) end: u64,
    pub(crate) page: PageRef,
    pub(crate) extra: u64,
}

#[derive(Debug)]
enum Form {
    Resident {
        first: Box<[u64]>,
        page: Box<[PageRef]>,
        extra: Box<[u64]>,
        _reservation: Reservation,
    },
    Paged,
}

/// The segments of one store.
#[derive(Debug)]
pub(crate) struct SegmentMap {
    store: StoreId,
    directory: Directory,
    segments: u64,
    form: OnceLock<Form>,
}

impl SegmentMap {
    pub(crate) fn new(directory: Directory, store: StoreId, segments: u64) -> SegmentMap {
        SegmentMap {
            store,
            directory,
            segments,
            form: OnceLock::new(),
        }
    }

    /// What look-ups use, made when the first one comes.
    #[inline]
    fn form(&self, pages: &Pages) -> Result<&Form> {
        if let Some(form) = self.form.get() {
            return Ok(form);
        }
        let loaded = match Self::load(pages, self.directory, self.store, self.segments) {
            Ok(loaded) => loaded,
            // A damaged page of the directory keeps only from what stands in it.
            Err(error) if error.is_damage() => None,
            Err(error) => return Err(error),
        };
        Ok(self.form.get_or_init(|| loaded.unwrap_or(Form::Paged)))
    }

    fn load(
        pages: &Pages,
        directory: Directory,
        store: StoreId,
        segments: u64,
    ) -> Result<Option<Form>> {
        let bytes = segments.saturating_mul(ENTRY_BYTES);
        if bytes > pages.budget().limit() / LIMIT_SHARE {
            return Ok(None);
        }
        let Ok(reservation) = pages.budget().reserve("segment map", bytes) else {
            return Ok(None);
        };
        let room = usize::try_from(segments).unwrap_or(0);
        let (mut first, mut page, mut extra) = (
            Vec::with_capacity(room),
            Vec::with_capacity(room),
            Vec::with_capacity(room),
        );
        directory.scan(pages, store, &mut |entry| {
            first.push(entry.first);
            page.push(entry.page);
            extra.push(entry.extra);
            Ok(())
        })?;
        Ok(Some(Form::Resident {
            first: first.into(),
            page: page.into(),
            extra: extra.into(),
            _reservation: reservation,
        }))
    }

    /// The segment that is responsible for `id`; `Err` holds the first id that has one, beyond
    /// `id`.
    #[inline]
    pub(crate) fn floor(&self, pages: &Pages, id: u64) -> Result<Result<Located, u64>> {
        match self.form(pages)? {
            Form::Resident {
                first, page, extra, ..
            } => {
                let behind = first.partition_point(|first| *first <= id);
                let end = first.get(behind).copied().unwrap_or(u64::MAX);
                Ok(match behind.checked_sub(1) {
                    None => Err(end),
                    Some(at) => Ok(Located {
                        first: first[at],
                        end,
                        page: page[at],
                        extra: extra[at],
                    }),
                })
            }
            Form::Paged => {
                let (entry, end) = self.directory.floor(pages, self.store, id)?;
                Ok(
                    entry.map_or(Err(end), |SegmentEntry { first, page, extra }| {
                        Ok(Located {
                            first,
                            end,
                            page,
                            extra,
                        })
                    }),
                )
            }
        }
    }

    /// Calls `visit` with every segment in order until it returns `false`.
    pub(crate) fn for_each(
        &self,
        pages: &Pages,
        mut visit: impl FnMut(Located) -> Result<bool>,
    ) -> Result<()> {
        let mut next = 0;
        loop {
            let located = match self.floor(pages, next)? {
                Ok(located) => located,
                Err(u64::MAX) => return Ok(()),
                Err(first) => {
                    next = first;
                    continue;
                }
            };
            if !visit(located)? || located.end == u64::MAX {
                return Ok(());
            }
            next = located.end;
        }
    }

    /// The last segment whose `extra` is at most `value`, where `extra` ascends (forward adjacency
    /// as loaded).
    pub(crate) fn floor_by_extra(&self, pages: &Pages, value: u64) -> Result<Option<Located>> {
        if let Form::Resident {
            first, page, extra, ..
        } = self.form(pages)?
        {
            let behind = extra.partition_point(|extra| *extra <= value);
            return Ok(behind.checked_sub(1).map(|at| Located {
                first: first[at],
                end: first.get(behind).copied().unwrap_or(u64::MAX),
                page: page[at],
                extra: extra[at],
            }));
        }
        let mut found = None;
        self.for_each(pages, |located| {
            let before = located.extra <= value;
            if before {
                found = Some(located);
            }
            Ok(before)
        })?;
        Ok(found)
    }
}
