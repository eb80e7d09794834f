//! Whether the comparison finds rules of the planner that lack a side condition.
//!
//! # How it works
//! The faults are those of [`graven_cypher::plan::mutant`]. A statement that both sides answered
//! alike is tried again with each fault that its plan asked for and that is not found yet: if the
//! plan becomes another one, the statement is run with the fault on a database of its own. The
//! fault is found where the answers differ, or the plan is not executable. One that stays unfound
//! means that the comparison is blind for that side condition.
//!
//! # Costs
//! A plan for each fault that is asked for, and a database for each other plan, until the fault is
//! found.

use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, Once, PoisonError};

use graven_cypher::plan::mutant::Mutant;

use crate::Place;
use crate::compare::{self, Pair};
use crate::graph::Graph;
use crate::library::Setting;
use crate::query::Query;
use crate::seams::{ARE_THERE, activate, plans};
use crate::spelling::spelled;

thread_local! {
    /// Panics of this thread are expected, and told otherwise.
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// What became of a mutant.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The rule that lacks something.
    pub rule: &'static str,
    /// What it lacks.
    pub mutant: String,
    /// The seed of the graph and the number of the statement; none where it was not found.
    pub found: Option<(u64, u64)>,
    /// Statements that had another plan with it.
    pub tried: u64,
    /// How it was found, with the statement; or the last statement that did not find it.
    pub how: String,
}

/// Looks for all mutants at once.
#[derive(Debug)]
pub struct Hunt {
    verdicts: Mutex<Vec<Verdict>>,
}

/// A statement that both sides answer alike.
pub(crate) struct Case<'a> {
    pub(crate) place: Place,
    /// The graph that it was asked of.
    pub(crate) graph: &'a Graph,
    pub(crate) setting: Setting,
    pub(crate) query: &'a Query,
    pub(crate) spelling: u64,
    /// Faults that its plan asked for.
    pub(crate) asked: Vec<usize>,
}

impl Hunt {
    /// A hunt that has found nothing yet.
    ///
    /// # Errors
    /// The build has no such faults.
    pub fn new() -> Result<Hunt, String> {
        if !ARE_THERE {
            return Err("built without the feature `mutants`: run `cargo xtask fuzz`".to_owned());
        }
        let verdicts = Mutant::ALL.map(|(mutant, rule)| Verdict {
            rule: rule.name(),
            mutant: format!("{mutant:?}"),
            found: None,
            tried: 0,
            how: String::new(),
        });
        Ok(Hunt {
            verdicts: Mutex::new(verdicts.to_vec()),
        })
    }

    /// What became of all of them so far.
    #[must_use]
    pub fn verdicts(&self) -> Vec<Verdict> {
        self.with(|verdicts| verdicts.to_vec())
    }

    /// Whether all are found.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.with(|verdicts| verdicts.iter().all(|verdict| verdict.found.is_some()))
    }

    fn with<T>(&self, look: impl FnOnce(&mut Vec<Verdict>) -> T) -> T {
        look(&mut self.verdicts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tries the statement with the faults that its plan asked for and that are not found yet.
    pub(crate) fn with_faults(&self, case: &Case<'_>, pair: &Pair) -> Result<(), String> {
        let open = self.with(|verdicts| {
            let asked = case.asked.iter().copied();
            let open = asked.filter(|at| verdicts[*at].found.is_none());
            open.collect::<Vec<usize>>()
        });
        if open.is_empty() {
            return Ok(());
        }
        quietly();
        let statement = spelled(case.query, case.spelling, false);
        let plain = plan(pair, "as it is", &statement, None);
        for at in open {
            let mutant = Mutant::ALL[at].0;
            let other = plan(pair, &format!("{mutant:?}"), &statement, Some(mutant));
            if other == plain {
                continue;
            }
            self.with(|verdicts| {
                verdicts[at].tried += 1;
                if verdicts[at].found.is_none() {
                    verdicts[at].how.clone_from(&statement);
                }
            });
            let Some(how) = difference(case, Some(mutant))? else {
                continue;
            };
            // What differs without it, too, is a finding, but not of this one.
            if difference(case, None)?.is_some() {
                continue;
            }
            self.with(|verdicts| {
                let verdict = &mut verdicts[at];
                if verdict.found.is_none_or(|found| found > case.place) {
                    verdict.found = Some(case.place);
                    verdict.how = format!("{how}\n{statement}");
                }
            });
        }
        Ok(())
    }
}

/// The plan in words; none where planning fails an assertion.
fn plan(pair: &Pair, label: &str, statement: &str, mutant: Option<Mutant>) -> Option<String> {
    // Plans are kept by their texts, and know the places of their words in them.
    let text = format!("EXPLAIN /* {label:40} */ {statement}");
    let _ = plans();
    let asked = with(mutant, || pair.asked(&text));
    asked.is_some().then(plans)
}

/// How the answers differ with the fault, on a database of its own.
fn difference(case: &Case<'_>, mutant: Option<Mutant>) -> Result<Option<String>, String> {
    let mut pair = Pair::new(case.graph.clone(), case.setting)?;
    let compared = with(mutant, || pair.compare(case.query, case.spelling));
    match compared {
        None => Ok(Some("the library panicked".to_owned())),
        Some(verdict) => Ok(match verdict? {
            compare::Verdict::Different(how) => Some(how),
            _ => None,
        }),
    }
}

/// Does something with the fault switched on; none where that panics.
fn with<T>(mutant: Option<Mutant>, work: impl FnOnce() -> T) -> Option<T> {
    activate(mutant);
    QUIET.set(mutant.is_some());
    let done = std::panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    activate(None);
    done.ok()
}

/// Keeps the messages of threads silent that try a fault: assertions fail as they should.
fn quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
}
