//! Counts the pages that a statement touches.
//!
//! # How it works
//! Reading all counters of a thread costs as much as an operator of a small statement. So a thread
//! keeps what it read last: the next statement reads them again only if they have changed since.

use graven_pagecache::{PerKind, Scope};
use std::cell::Cell;
use std::ops::{Deref, DerefMut};

thread_local! {
    /// What the statement that ended last on this thread has left.
    static SPARE: Cell<Option<Box<State>>> = const { Cell::new(None) };
}

/// What happened to pages, and what counts it while the statement is at work.
#[derive(Debug)]
pub(crate) struct Counts(Option<Box<State>>);

/// Boxed: a result of a kilobyte and more makes the allocator clean up with every statement.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) pages: PerKind,
    pub(crate) scope: Scope,
}

impl Counts {
    /// Nothing yet.
    pub(crate) fn start() -> Self {
        let state = match SPARE.with(Cell::take) {
            Some(mut state) => {
                state.pages = PerKind::default();
                state.scope.start_again();
                state
            }
            None => Box::new(State {
                pages: PerKind::default(),
                scope: Scope::start(),
            }),
        };
        Self(Some(state))
    }

    /// Adds what happened since the scope was started.
    pub(crate) fn add(&mut self) {
        let State { pages, scope } = &mut **self;
        scope.add_to(pages);
    }
}

impl Deref for Counts {
    type Target = State;

    fn deref(&self) -> &State {
        self.0.as_deref().expect("taken by drop alone")
    }
}

impl DerefMut for Counts {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_deref_mut().expect("taken by drop alone")
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        let state = self.0.take();
        // A thread that ends keeps nothing.
        let _ = SPARE.try_with(|spare| spare.set(state));
    }
}
