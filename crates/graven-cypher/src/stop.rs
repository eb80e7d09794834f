//! Stops the parsing and planning of a text from outside: the caller decides when its result is no
//! longer wanted.
//!
//! # How it works
//! [`parse_and_plan_until`](crate::parse_and_plan_until) leaves its question with the thread. The
//! lexer counts tokens, parser and binder the names and expressions that they come by ([`tick`]),
//! and they ask from time to time; the planner asks before each of its rules. So a text of any
//! length ends soon.

use std::cell::{Cell, RefCell};
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
pub(crate) struct Asking(Option<Stop>);

impl Asking {
    pub(crate) fn begin(stop: Stop) -> Self {
        Self(STOP.replace(Some(stop)))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        STOP.set(self.0.take());
    }
}

/// Counts a token, a name or an expression.
///
/// # Errors
/// The work is not wanted any more.
pub(crate) fn tick(text: &str) -> Result<(), Diagnostic> {
    let count = COUNT.get() + 1;
    COUNT.set(count % EVERY);
    match count < EVERY {
        true => Ok(()),
        false => ask(text),
    }
}

/// Asks at once.
///
/// # Errors
/// As [`tick`].
pub(crate) fn ask(text: &str) -> Result<(), Diagnostic> {
    let stop = STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop()));
    match stop {
        false => Ok(()),
        true => {
            let message = "the work on the statement was stopped before it was planned";
            let place = Span::default();
            Err(Diagnostic::new(
                text,
                place,
                Code::StatementTooLong,
                message,
            ))
        }
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
        let asking = Asking::begin(Rc::new(move || {
            count.set(count.get() + 1);
            count.get() >= 3
        }));
        let error = crate::parser::parse(&text).expect_err("given up");
        assert!(error.message.contains("stopped"), "{}", error.message);
        assert_eq!(asked.get(), 3);
        drop(asking);
        assert!(crate::parser::parse(&text).is_ok());
        assert_eq!(asked.get(), 3);
    }
}
