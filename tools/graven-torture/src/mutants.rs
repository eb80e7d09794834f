//! Faults that the torture must find: put into the code, or between the code and its disk.
//!
//! # How it works
//! [`FaultInjection`] changes what the disk does; the others are switches in the code under test,
//! compiled in by the feature `mutants` alone. Each runs the simulation until it is caught; one
//! that is not means that the torture is blind there.

use crate::fault_injection::FaultInjection;

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Its name.
    pub mutant: String,
    /// How it was caught; `None` if it was not.
    pub caught: Option<String>,
}

/// Runs every mutant for at most `points` crash points.
///
/// # Errors
/// The torture itself fails.
pub fn run_all(points: u64) -> Result<Vec<Verdict>, crate::Failure> {
    let mut verdicts = Vec::new();
    for injection in FaultInjection::ALL {
        verdicts.push(judge(format!("{injection:?}"), points, Some(injection))?);
    }
    #[cfg(feature = "mutants")]
    for mutant in graven_wal::mutant::Mutant::ALL {
        graven_wal::mutant::activate(Some(mutant));
        let verdict = judge(format!("log: {mutant:?}"), points, None);
        graven_wal::mutant::activate(None);
        verdicts.push(verdict?);
    }
    Ok(verdicts)
}

fn judge(
    mutant: String,
    points: u64,
    injection: Option<FaultInjection>,
) -> Result<Verdict, crate::Failure> {
    let options = crate::Options {
        points,
        injection,
        ..crate::Options::default()
    };
    // A mutant may also run into an assertion: that is being caught too.
    let outcome = std::panic::catch_unwind(|| crate::run(&options));
    let caught = match outcome {
        Ok(Ok(_)) => None,
        Ok(Err(failure)) => Some(failure.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            Some(format!("panic: {}", text.unwrap_or_default()))
        }
    };
    Ok(Verdict { mutant, caught })
}
