//! The range of nodes that an adjacency can say anything about.

use super::Adjacency;
use crate::Result;
use crate::error::Error;
use graven_pagecache::PageKind;
use std::ops::Range;

impl Adjacency {
    /// A range of ids that holds every node with a list in this direction: from the first segment's
    /// first node to the last segment's last, and the nodes whose lists changed. Nodes of one label
    /// have neighbouring ids, so it is often far shorter than all ids; empty if there are no
    /// relationships.
    ///
    /// # Errors
    /// What pinning gives; [`Error::Damaged`].
    pub fn node_span(&self) -> Result<Range<u64>> {
        let stored = self.base_span()?;
        let changed = match &self.overlay {
            None => None,
            Some(overlay) => overlay.span()?,
        };
        let Some(changed) = changed else {
            return Ok(stored);
        };
        if stored.is_empty() {
            return Ok(changed);
        }
        Ok(stored.start.min(changed.start)..stored.end.max(changed.end))
    }

    fn base_span(&self) -> Result<Range<u64>> {
        if let Some(span) = self.inner.span.get() {
            return Ok(span.clone());
        }
        let found = self.stored_span()?;
        Ok(self.inner.span.get_or_init(|| found).clone())
    }

    /// The span of the lists in the file.
    fn stored_span(&self) -> Result<Range<u64>> {
        let Some(map) = &self.inner.map else {
            return Ok(0..0);
        };
        let context = self.context();
        let first = match map.floor(&context.pages, 0)? {
            Ok(located) => located.first,
            Err(u64::MAX) => return Ok(0..0),
            Err(first) => first,
        };
        let Ok(last) = map.floor(&context.pages, u64::MAX - 1)? else {
            return Ok(0..0);
        };
        let pin = context.pages.pin(last.page, PageKind::Adjacency)?;
        let segment = context.checked(last.page, context.segment(&pin))?;
        Ok(first..segment.end_node().min(context.limit).max(first))
    }

    /// The error for a list that names a node outside of the span of the other direction.
    #[must_use]
    pub fn stray_neighbour(&self, node: u64) -> Error {
        Error::Inconsistent {
            path: self.context().pages.path().to_path_buf(),
            store: format!("adjacency of type {}", self.inner.rel_type),
            what: format!("node {node} is a neighbour but has no list in the other direction"),
        }
    }
}
