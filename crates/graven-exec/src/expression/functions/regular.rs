//! Regular expressions as Java writes them: `text =~ pattern`, which the whole text must match, and
//! matches within a text.
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
//! to go beyond; a few large ones are kept in all threads together. What compiling takes, and what
//! backtracking keeps, which grows with the text, are charged to the budget.

mod java;
mod properties;

use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fancy_regex::{Input, Regex, RegexBuilder};
use graven_files::Fault;
use graven_types::told;

use crate::error::{ExecError, Result};
use crate::growth::Growth;
use crate::query_context::QueryContext;
use crate::value::Value;

/// Steps back that one match may take.
const STEPS_MAX: usize = 1_000_000;
/// Bytes of a compiled pattern, and of the states that an automaton may keep.
const PATTERN_BYTES_MAX: usize = 4 << 20;
/// Patterns that a thread keeps: of those that take more than so many bytes only the last one, and
/// none where there are as many in all threads.
const KEPT: usize = 8;
const SMALL_PATTERN_BYTES: usize = 512 << 10;
const LARGE_MAX: usize = 4;
/// Bytes of a pattern as it is written, and classes of characters in it: more are never compiled.
const WRITTEN_BYTES_MAX: usize = 1 << 20;
const CLASSES_MAX: usize = 4096;
/// Bytes that compiling takes for a byte of the pattern, and for a class of characters.
const COMPILING_BYTES: usize = 320;
const CLASS_BYTES: usize = 8 << 10;
/// Bytes that backtracking keeps for a byte of text, and at most.
const BYTES_FOR_BYTE: usize = 32;
const STACK_BYTES_MAX: usize = 32 << 20;
/// Bytes of text that make a unit of work.
const BYTES_FOR_UNIT: usize = 64;

/// Where a pattern must match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Whole,
    Anywhere,
}

/// A match: where the whole of it and each of its groups stand, those that took part.
pub(in crate::expression) type Found = Vec<Option<Range<usize>>>;

/// A compiled pattern.
struct Compiled {
    pattern: Arc<str>,
    place: Place,
    regex: Regex,
    backtracks: bool,
    large: Option<Large>,
}

/// Compiled patterns of more than [`SMALL_PATTERN_BYTES`], in all threads.
static LARGE: AtomicUsize = AtomicUsize::new(0);

/// One of them.
struct Large;

impl Large {
    fn new() -> Large {
        LARGE.fetch_add(1, Ordering::Relaxed);
        Large
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        LARGE.fetch_sub(1, Ordering::Relaxed);
    }
}

thread_local!(static LAST: RefCell<Vec<Compiled>> = const { RefCell::new(Vec::new()) });

/// Whether the whole of `text` matches `pattern`; null where one is null, or `text` is no text.
///
/// # Errors
/// A pattern that is none, or that takes too many steps.
pub(in crate::expression) fn matches(
    rt: &QueryContext,
    text: &Value,
    pattern: &Value,
) -> Result<Value> {
    let Value::String(text) = text else {
        return Ok(Value::Null);
    };
    if pattern.is_null() {
        return Ok(Value::Null);
    }
    let Value::String(pattern) = pattern else {
        return Err(ExecError::Type {
            message: told!(
                "=~ needs a String on its right, got {}",
                pattern.type_name()
            ),
        });
    };
    with(rt, pattern, Place::Whole, |compiled| {
        let found = compiled.watched(rt, text, |regex, text| regex.is_match(text));
        found.map(Value::Boolean)
    })
}

/// The matches of `pattern` in `text` from left to right, none of which meets another, until
/// `visit` says that there are enough.
///
/// # Errors
/// As [`matches`], and those of `visit`.
pub(in crate::expression) fn each_match(
    rt: &QueryContext,
    text: &str,
    pattern: &Arc<str>,
    mut visit: impl FnMut(Found) -> Result<bool>,
) -> Result<()> {
    with(rt, pattern, Place::Anywhere, |compiled| {
        let mut from = 0;
        while from <= text.len() {
            let found = compiled.watched(rt, text, |regex, text| {
                let found = regex.captures_from_pos(text, from)?;
                Ok(found.map(|groups| groups.iter().collect::<Found>()))
            })?;
            let Some(found) = found else {
                break;
            };
            let whole = found[0].clone().expect("a match is somewhere");
            // Behind an empty match the search goes on one character further.
            from = match whole.is_empty() {
                true => {
                    let next = text[whole.end..].chars().next();
                    whole.end + next.map_or(1, char::len_utf8)
                }
                false => whole.end,
            };
            if !visit(found)? {
                break;
            }
        }
        Ok(())
    })
}

/// Gives the compiled pattern, which is dropped after an error.
fn with<T>(
    rt: &QueryContext,
    pattern: &Arc<str>,
    place: Place,
    run: impl FnOnce(&Compiled) -> Result<T>,
) -> Result<T> {
    rt.check_cancelled()?;
    let kept = LAST.with_borrow_mut(|kept| {
        let same = |known: &Compiled| {
            let same = Arc::ptr_eq(&known.pattern, pattern) || known.pattern == *pattern;
            same && known.place == place
        };
        let known = kept.iter().position(same);
        known.map(|at| kept.remove(at))
    });
    let compiled = match kept {
        Some(compiled) => compiled,
        None => compile(rt, pattern, place)?,
    };
    let result = run(&compiled)?;
    let is_large = compiled.large.is_some();
    if !is_large || LARGE.load(Ordering::Relaxed) <= LARGE_MAX {
        LAST.with_borrow_mut(|kept| {
            kept.retain(|known| !is_large || known.large.is_none());
            kept.truncate(KEPT - 1);
            kept.insert(0, compiled);
        });
    }
    Ok(result)
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
    /// [`Compiled::watched`] catches it.
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
        = Range<usize>
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

    fn make_match(&self, from: usize, to: usize) -> Range<usize> {
        from..to
    }

    fn advance_position(&self, i: usize) -> usize {
        Input::advance_position(self.text, i)
    }
}

fn compile(rt: &QueryContext, pattern: &Arc<str>, place: Place) -> Result<Compiled> {
    let invalid = |why: &dyn std::fmt::Display| {
        let shown = Fault::shown(pattern);
        ExecError::Named {
            kind: "ArgumentError",
            detail: "InvalidRegularExpression",
            message: told!("invalid regular expression `{shown}`: {why}"),
        }
    };
    if pattern.len() > WRITTEN_BYTES_MAX {
        let told = told!("it has more than {WRITTEN_BYTES_MAX} bytes");
        return Err(invalid(&told));
    }
    let java::Rewritten { text, backtracks } =
        java::rewrite(pattern).map_err(|why| invalid(&why))?;
    let text = match place {
        Place::Whole => format!("\\A(?:{text})\\z"),
        Place::Anywhere => text,
    };
    let classes = text.matches("\\p").count() + text.matches("\\P").count();
    if classes > CLASSES_MAX {
        let told = told!("it has more than {CLASSES_MAX} classes of characters");
        return Err(invalid(&told));
    }
    let held = rt.growth.held();
    rt.growth
        .charge(text.len() * COMPILING_BYTES + classes * CLASS_BYTES)?;
    let built = |bytes: usize| {
        RegexBuilder::new(&text)
            .backtrack_limit(STEPS_MAX)
            .delegate_size_limit(bytes)
            .delegate_dfa_size_limit(bytes)
            .build()
    };
    let (regex, large) = match built(SMALL_PATTERN_BYTES) {
        Ok(regex) => (regex, None),
        Err(_) => {
            let regex = built(PATTERN_BYTES_MAX).map_err(|error| invalid(&error))?;
            (regex, Some(Large::new()))
        }
    };
    rt.growth.keep(held)?;
    Ok(Compiled {
        pattern: Arc::clone(pattern),
        place,
        regex,
        backtracks,
        large,
    })
}

impl Compiled {
    /// Runs the engine over a text, for the statement to end.
    fn watched<T>(
        &self,
        rt: &QueryContext,
        text: &str,
        run: impl FnOnce(&Regex, &Watched<'_>) -> fancy_regex::Result<T>,
    ) -> Result<T> {
        let held = rt.growth.held();
        if self.backtracks {
            rt.growth.charge(
                text.len()
                    .saturating_mul(BYTES_FOR_BYTE)
                    .min(STACK_BYTES_MAX),
            )?;
        }
        let watched = Watched::new(text, &rt.growth);
        // Nothing of the engine is used again after an error: `with` drops the pattern.
        let found = catch_unwind(AssertUnwindSafe(|| run(&self.regex, &watched)));
        rt.growth.keep(held)?;
        let found = match found {
            Ok(found) => found,
            Err(payload) => match payload.downcast::<ExecError>() {
                Ok(ended) => return Err(*ended),
                Err(panic) => resume_unwind(panic),
            },
        };
        found.map_err(|error| ExecError::Argument {
            message: told!(
                "matching the regular expression `{}` was given up: {error}; write a pattern with \
                    less choice",
                self.pattern
            ),
        })
    }
}
