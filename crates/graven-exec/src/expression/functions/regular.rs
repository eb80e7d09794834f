//! `text =~ pattern`: the whole text must match a regular expression as Java writes them.
//!
//! # How it works
//! [`java`] rewrites the pattern for the engine. Patterns without look-around, back-references and
//! atomic groups are matched by automata, in time linear in the text; others by backtracking, of
//! which each match may do [`STEPS_MAX`] steps. A step may look through the whole text. The engine
//! reads the text through [`Watched`], which counts work for each look and ends a match whose
//! statement is cancelled or has no time left. The patterns used last are kept compiled, for each
//! thread.
//!
//! # Costs
//! A compiled pattern takes up to some megabytes ([`PATTERN_BYTES_MAX`]), which the engine refuses
//! to go beyond. What backtracking keeps grows with the text and is charged to the budget.

mod java;
mod properties;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use fancy_regex::{Input, Regex, RegexBuilder};

use crate::error::{ExecError, Result};
use crate::growth::Growth;
use crate::query_context::QueryContext;
use crate::value::Value;

/// Steps back that one match may take.
const STEPS_MAX: usize = 1_000_000;
/// Bytes of a compiled pattern, and of the states that an automaton may keep.
const PATTERN_BYTES_MAX: usize = 4 << 20;
/// Patterns that a thread keeps.
const KEPT: usize = 8;
/// Bytes that backtracking keeps for a byte of text, and at most.
const BYTES_FOR_BYTE: usize = 32;
const STACK_BYTES_MAX: usize = 32 << 20;
/// Bytes of text that make a unit of work.
const BYTES_FOR_UNIT: usize = 64;

/// A compiled pattern.
struct Compiled {
    pattern: Arc<str>,
    regex: Regex,
    backtracks: bool,
}

thread_local!(static LAST: RefCell<Vec<Compiled>> = const { RefCell::new(Vec::new()) });

/// Whether the whole of `text` matches `pattern`; null unless both are texts.
///
/// # Errors
/// A pattern that is none, or that takes too many steps.
pub(in crate::expression) fn matches(
    rt: &QueryContext,
    text: &Value,
    pattern: &Value,
) -> Result<Value> {
    let (Value::String(text), Value::String(pattern)) = (text, pattern) else {
        return Ok(Value::Null);
    };
    rt.check_cancelled()?;
    LAST.with_borrow_mut(|kept| {
        let known = kept
            .iter()
            .position(|known| Arc::ptr_eq(&known.pattern, pattern) || known.pattern == *pattern);
        let at = match known {
            Some(at) => at,
            None => {
                let compiled = compile(pattern)?;
                kept.truncate(KEPT - 1);
                kept.insert(0, compiled);
                0
            }
        };
        kept[..=at].rotate_right(1);
        let found = kept[0].matches(rt, text);
        if found.is_err() {
            kept.remove(0);
        }
        found.map(Value::Boolean)
    })
}

/// A text whose readers do work for the statement.
struct Watched<'a> {
    text: &'a str,
    growth: &'a Growth,
    /// Of one look at the text, which may go through all of it.
    units: usize,
}

impl<'a> Watched<'a> {
    fn new(text: &'a str, growth: &'a Growth) -> Self {
        let units = 1 + text.len() / BYTES_FOR_UNIT;
        Self {
            text,
            growth,
            units,
        }
    }

    /// Counts a look. The engine has no way to end a match: an error unwinds its frames, and
    /// [`Compiled::matches`] catches it.
    fn look(&self) {
        if cfg!(panic = "unwind")
            && let Err(error) = self.growth.work(self.units)
        {
            resume_unwind(Box::new(error));
        }
    }
}

impl Input for Watched<'_> {
    type Match<'t>
        = ()
    where
        Self: 't;

    fn len(&self) -> usize {
        self.text.len()
    }

    fn as_bytes(&self) -> &[u8] {
        self.look();
        self.text.as_bytes()
    }

    fn is_char_boundary(&self, ix: usize) -> bool {
        self.text.is_char_boundary(ix)
    }

    fn is_ascii(&self) -> bool {
        self.text.is_ascii()
    }

    fn prev_codepoint_ix(&self, i: usize) -> usize {
        self.look();
        Input::prev_codepoint_ix(self.text, i)
    }

    fn make_match(&self, _: usize, _: usize) {}

    fn advance_position(&self, i: usize) -> usize {
        Input::advance_position(self.text, i)
    }
}

fn compile(pattern: &Arc<str>) -> Result<Compiled> {
    let invalid = |why: &dyn std::fmt::Display| ExecError::Named {
        kind: "ArgumentError",
        detail: "InvalidRegularExpression",
        message: format!("invalid regular expression `{pattern}`: {why}"),
    };
    let java::Rewritten { text, backtracks } =
        java::rewrite(pattern).map_err(|why| invalid(&why))?;
    let regex = RegexBuilder::new(&format!("\\A(?:{text})\\z"))
        .backtrack_limit(STEPS_MAX)
        .delegate_size_limit(PATTERN_BYTES_MAX)
        .delegate_dfa_size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|error| invalid(&error))?;
    Ok(Compiled {
        pattern: Arc::clone(pattern),
        regex,
        backtracks,
    })
}

impl Compiled {
    fn matches(&self, rt: &QueryContext, text: &str) -> Result<bool> {
        let held = rt.growth.held();
        if self.backtracks {
            rt.growth.charge(
                text.len()
                    .saturating_mul(BYTES_FOR_BYTE)
                    .min(STACK_BYTES_MAX),
            )?;
        }
        let watched = Watched::new(text, &rt.growth);
        // Nothing of the engine is used again after an error: the caller drops the pattern.
        let found = catch_unwind(AssertUnwindSafe(|| self.regex.is_match(&watched)));
        rt.growth.keep(held)?;
        let found = match found {
            Ok(found) => found,
            Err(payload) => match payload.downcast::<ExecError>() {
                Ok(ended) => return Err(*ended),
                Err(panic) => resume_unwind(panic),
            },
        };
        found.map_err(|error| ExecError::Argument {
            message: format!(
                "matching the regular expression `{}` was given up: {error}; write a pattern with \
                    less choice",
                self.pattern
            ),
        })
    }
}
