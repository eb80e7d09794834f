//! `text =~ pattern`: the whole text must match a regular expression as Java writes them.
//!
//! # How it works
//! [`java`] rewrites the pattern for the engine. Patterns without look-around, back-references and atomic groups are matched by
//! automata, in time linear in the text; others by backtracking, of which each match may do [`STEPS_MAX`] steps. Whether the
//! statement is cancelled is looked at before each match. The patterns used last are kept compiled, for each thread.
//!
//! # Costs
//! A compiled pattern takes up to some megabytes ([`PATTERN_BYTES_MAX`]), which the engine refuses to go beyond. What
//! backtracking keeps grows with the text and is charged to the budget.

mod java;
mod properties;

use std::cell::RefCell;
use std::sync::Arc;

use fancy_regex::{Regex, RegexBuilder};

use crate::error::{ExecError, Result};
use crate::runtime::Runtime;
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
pub(in crate::expression) fn matches(rt: &Runtime, text: &Value, pattern: &Value) -> Result<Value> {
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
        kept[0].matches(rt, text).map(Value::Boolean)
    })
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
    fn matches(&self, rt: &Runtime, text: &str) -> Result<bool> {
        let held = rt.growth.held();
        if self.backtracks {
            rt.growth.charge(
                text.len()
                    .saturating_mul(BYTES_FOR_BYTE)
                    .min(STACK_BYTES_MAX),
            )?;
        }
        let found = self.regex.is_match(text);
        rt.growth.keep(held)?;
        found.map_err(|error| ExecError::Argument {
            message: format!(
                "matching the regular expression `{}` was given up: {error}; write a pattern with less choice",
                self.pattern
            ),
        })
    }
}
