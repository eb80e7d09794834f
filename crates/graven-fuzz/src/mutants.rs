//! Whether the comparison finds rules of the planner that lack a side condition.
//!
//! # How it works
//! The faults are those of [`graven_cypher::plan::mutant`], one at a time. Each is on for all plans of a thread, which asks
//! one graph after the other until an answer differs, the plan is not executable, or the statements are used up.
//! A mutant that stays unfound means that the comparison is blind for that side condition.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use graven_cypher::plan::mutant::Mutant;

use crate::seams::{ARE_THERE, activate};
use crate::{Grammar, Halt, Job, Report, graph};

/// What became of a mutant.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The rule that lacks something.
    pub rule: &'static str,
    /// What it lacks.
    pub mutant: String,
    /// Statements until it was found, and the seed of the graph; none where it was not.
    pub found: Option<(u64, u64)>,
    /// How it was found, or how many statements did not find it.
    pub how: String,
}

/// Looks for every mutant whose name is `wanted`, with at most so many statements; `told` gets each verdict when it is there.
///
/// # Errors
/// The machine's, such as a full disk; or the build has no such faults.
pub fn mutants(
    job: &Job,
    statements: u64,
    wanted: &(dyn Fn(&str) -> bool + Sync),
    told: &(dyn Fn(&Verdict) + Sync),
) -> Result<Vec<Verdict>, String> {
    if !ARE_THERE {
        return Err("built without the feature `mutants`: run `cargo xtask fuzz`".to_owned());
    }
    // Assertions fail as they should; what they say is in the verdicts.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(Vec::new());
    let outcome = std::thread::scope(|scope| {
        let work = || -> Result<(), String> {
            while let Some((mutant, rule)) = Mutant::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
                let name = format!("{mutant:?}");
                if !wanted(&name) {
                    continue;
                }
                let (found, how) = hunt(*mutant, job.seed, statements)?;
                let verdict = Verdict {
                    rule: rule.name(),
                    mutant: name,
                    found,
                    how,
                };
                told(&verdict);
                let mut all = verdicts.lock().map_err(|e| e.to_string())?;
                all.push(verdict);
            }
            Ok(())
        };
        let threads: Vec<_> = (0..job.threads.max(1)).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|t| {
            let done = t.join();
            done.map_err(|_| "the hunt itself panicked".to_owned())?
        });
        joined.collect::<Result<Vec<()>, String>>()
    });
    std::panic::set_hook(hook);
    outcome?;
    let mut verdicts = verdicts.into_inner().map_err(|e| e.to_string())?;
    verdicts.sort_by(|a, b| (a.rule, &a.mutant).cmp(&(b.rule, &b.mutant)));
    Ok(verdicts)
}

/// Statements and seed of the first difference that the mutant makes, and what it was.
fn hunt(
    mutant: Mutant,
    first: u64,
    statements: u64,
) -> Result<(Option<(u64, u64)>, String), String> {
    let how = (Grammar::Whole, Halt::Counted);
    let mut report = Report::default();
    let mut seed = first;
    while report.compared + report.too_large < statements {
        activate(Some(mutant));
        let done = graph(seed, &mut report, how);
        activate(None);
        done?;
        if let Some(found) = report.differences.pop() {
            let mut without = Report::default();
            graph(seed, &mut without, how)?;
            // What differs without it, too, is a finding, but not of this one.
            if without.differences.is_empty() {
                return Ok((Some((report.compared + 1, seed)), found));
            }
        }
        seed = seed.wrapping_add(1);
    }
    Ok((None, format!("not found by {} statements", report.compared)))
}
