//! What a run of a statement leaves for the next one.

use graven_exec::Resting;
use graven_io::Local;
use graven_pagecache::{PerKind, Scope};
use std::sync::Mutex;

/// What is kept of a run for the next one.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) operators: Resting,
    pub(crate) counts: Box<Counts>,
}

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

    /// Starts anew.
    pub(crate) fn restart(&mut self) {
        self.pages = PerKind::default();
        self.scope.start_again();
    }

    /// Adds what happened since the scope was started.
    pub(crate) fn add(&mut self) {
        self.scope.add_to(&mut self.pages);
    }
}

/// Where the operators of a prepared statement wait for its next run.
pub(crate) type Keep = Local<Mutex<Option<Kept>>>;
