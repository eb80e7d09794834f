//! Stops the parsing and planning of a text from outside: the caller decides when its result is no
//! longer wanted.
//!
//! # How it works
//! [`run`] leaves the caller's question with the thread. Lexer, parser and binder count the tokens,
//! names and expressions that they come by ([`tick`]); so does every walk over expressions, in the
//! planner, too. Each [`EVERY`] of them the question is asked. If the work is not wanted any more,
//! it is left by unwinding, up to [`run`]: so a text of any length ends soon, wherever the time
//! goes, and the functions on the way have no errors of their own for that.
//!
//! # Invariants
//! * CY-75 What a stopped work has made is dropped: [`run`] gives an error, whatever the work was.
//!   Without [`run`] nothing unwinds.
//!
//! # Cost
//! A count that belongs to the thread for each expression that a walk meets.
//!
//! # Source
//! Salsa, the framework of rust-analyzer, leaves queries that are out of date in the same way.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use crate::diagnostic::{Code, Diagnostic};
use crate::token::Span;

/// Tokens, names and expressions between two questions.
const EVERY: u32 = 512;

/// Whether the work is to stop.
pub type Stop = Rc<dyn Fn() -> bool>;

thread_local! {
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
    static COUNT: Cell<u32> = const { Cell::new(0) };
}

/// While this lives, the thread asks.
struct Asking(Option<Stop>);

impl Asking {
    fn begin(stop: Stop) -> Self {
        Self(STOP.replace(Some(stop)))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        STOP.set(self.0.take());
    }
}

/// What unwinds from a work that is not wanted any more.
struct Stopped;

/// Does the work on a text until `stop` says that it is not wanted any more.
///
/// # Errors
/// Those of the work; that it was stopped.
pub(crate) fn run<T>(
    text: &str,
    stop: Stop,
    work: impl FnOnce() -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let _asking = Asking::begin(stop);
    // What the work leaves half done is its own, and goes with it (CY-75).
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        if !panic.is::<Stopped>() {
            resume_unwind(panic);
        }
        let message = "the work on the statement was stopped before it was planned";
        let place = Span::default();
        Err(Diagnostic::new(
            text,
            place,
            Code::StatementTooLong,
            message,
        ))
    })
}

/// Counts a token, a name or an expression.
#[inline]
pub(crate) fn tick() {
    let count = COUNT.get() + 1;
    COUNT.set(count % EVERY);
    if count == EVERY {
        ask();
    }
}

/// Asks at once.
#[cold]
pub(crate) fn ask() {
    let stop = STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop()));
    if stop && !std::thread::panicking() {
        resume_unwind(Box::new(Stopped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a long text is given up soon after it is not wanted any more, counted in questions;
    /// the next one is read whole.
    #[test]
    fn a_long_text_is_given_up() {
        let text = format!("RETURN [{}]", vec!["1"; 50_000].join(","));
        let asked = Rc::new(Cell::new(0));
        let count = Rc::clone(&asked);
        let stop = Rc::new(move || {
            count.set(count.get() + 1);
            count.get() >= 3
        });
        let error = run(&text, stop, || crate::parser::parse(&text)).expect_err("given up");
        assert!(error.message.contains("stopped"), "{}", error.message);
        assert_eq!(asked.get(), 3);
        assert!(crate::parser::parse(&text).is_ok());
        assert_eq!(asked.get(), 3);
    }

    /// Goal: a panic that is a fault stays one.
    #[test]
    fn other_panics_go_on() {
        let work = || {
            run("", Rc::new(|| false), || -> Result<(), _> {
                panic!("a fault")
            })
        };
        let panic = catch_unwind(work).expect_err("it goes on");
        assert_eq!(panic.downcast_ref(), Some(&"a fault"));
    }
}
