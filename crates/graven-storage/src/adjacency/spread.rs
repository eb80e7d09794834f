//! How the entries of an adjacency are spread over the nodes, without reading its lists.
//!
//! # How it works
//! The directory says how many entries a segment has; a segment that has more than is asked for
//! says it for each group of 64 nodes, and of a group that has more the lists are counted.
//! Everything is as the file was written: changes since then, and relationships that a checkpoint
//! put between others, are left out. So the numbers serve to divide work, not to answer.
//!
//! # Costs
//! A look-up a segment; a pin for those that are divided.

use super::Adjacency;
use crate::Result;
use crate::ids::Direction;
use crate::segment_map::Located;
use graven_pagecache::PageKind;
use std::ops::Range;

impl Adjacency {
    /// Calls `visit` with ranges of nodes among `nodes`, which ascend and do not meet, and about
    /// how many entries their lists have: more than `most` for a single node, a long list or what
    /// begins outside of `nodes` at most. Nodes that no range holds have none.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    pub fn spread(
        &self,
        nodes: Range<u64>,
        most: u64,
        mut visit: impl FnMut(Range<u64>, u64),
    ) -> Result<()> {
        let Some(map) = &self.inner.map else {
            return Ok(());
        };
        let context = self.context();
        let mut within = |found: Range<u64>, entries: u64| {
            let from = found.start.max(nodes.start);
            let to = found.end.min(nodes.end).min(context.limit);
            if from < to && entries > 0 {
                visit(from..to, entries);
            }
        };
        let mut next = map.floor(&context.pages, nodes.start)?;
        loop {
            let located = match next {
                Ok(located) => located,
                Err(u64::MAX) => return Ok(()),
                Err(first) => match map.floor(&context.pages, first)? {
                    Ok(located) => located,
                    Err(_) => return Ok(()),
                },
            };
            if located.first >= nodes.end {
                return Ok(());
            }
            let behind = match located.end {
                u64::MAX => None,
                end => Some(map.floor(&context.pages, end)?),
            };
            let entries = self.entries_of(&located, behind.and_then(|behind| behind.ok()));
            if entries > most {
                let pin = context.pages.pin(located.page, PageKind::Adjacency)?;
                let segment = context.checked(located.page, context.segment(&pin))?;
                let spread = segment.spread(most, &mut within);
                context.checked(located.page, spread)?;
            } else {
                within(located.first..located.end, entries);
            }
            let Some(behind) = behind else {
                return Ok(());
            };
            next = behind;
        }
    }

    /// About how many entries a segment has, as the directory knows it.
    fn entries_of(&self, located: &Located, behind: Option<Located>) -> u64 {
        match self.direction() {
            Direction::In => located.extra,
            // Only the first id is known; the last segment may be any.
            Direction::Out => match behind {
                Some(behind) => behind.extra.saturating_sub(located.extra),
                None => u64::MAX,
            }
            .min(self.relationships),
        }
    }
}
