//! Counts the pages that a statement touches.

use graven_pagecache::{PerKind, Scope};

/// What happened to pages, and what counts it while the statement is at work.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) pages: PerKind,
    pub(crate) scope: Scope,
}

impl Counts {
    /// Nothing yet.
    pub(crate) fn start() -> Box<Self> {
        Box::new(Counts {
            pages: PerKind::default(),
            scope: Scope::start(),
        })
    }

    /// Adds what happened since the scope was started.
    pub(crate) fn add(&mut self) {
        self.scope.add_to(&mut self.pages);
    }
}
