//! Makes a history that differs smaller, as long as it still differs.

use super::Tally;
use super::history::{History, Step};
use super::play::{Difference, play};
use crate::shrink::{code, ends, smaller_graphs, smaller_queries};

/// Tries at most so many smaller forms: each makes a database.
const TRIES_MAX: usize = 3000;

/// The smallest form of a history, in words.
pub(crate) fn smallest(history: History, difference: Difference) -> Result<String, String> {
    let (mut history, mut difference) = (history, difference);
    let mut tries = 0;
    'again: loop {
        for smaller in smaller(&history) {
            tries += 1;
            if tries > TRIES_MAX {
                break 'again;
            }
            // A smaller form has to differ alike.
            if let Some(other) = play(&smaller, &mut Tally::default())?
                && other.kind == difference.kind
                && code_of(&other) == code_of(&difference)
            {
                (history, difference) = (smaller, other);
                continue 'again;
            }
        }
        break;
    }
    Ok(format!("{}{}", history.text(), difference.how))
}

/// The code of the error that it is about, if it is about one.
fn code_of(difference: &Difference) -> Option<String> {
    difference.how.lines().find_map(code)
}

fn smaller(history: &History) -> Vec<History> {
    let mut all = Vec::new();
    let with = |steps: Vec<Step>| History {
        steps,
        ..history.clone()
    };
    let numbers = history.steps.iter().filter_map(|step| match step {
        Step::Begin { number, .. } => Some(*number),
        _ => None,
    });
    // Whole transactions first.
    for number in numbers {
        let steps = history.steps.iter().filter(|step| of(step) != Some(number));
        all.push(with(steps.cloned().collect()));
    }
    for at in 0..history.steps.len() {
        let mut steps = history.steps.clone();
        steps.remove(at);
        all.push(with(steps));
    }
    for at in 0..history.rules.len() {
        let mut smaller = history.clone();
        smaller.rules.remove(at);
        all.push(smaller);
    }
    if history.apart {
        // Without an index, or with less of a statement, transactions may touch the same.
        return all;
    }
    for graph in smaller_graphs(&history.graph) {
        all.push(History {
            graph,
            ..history.clone()
        });
    }
    for (at, step) in history.steps.iter().enumerate() {
        let (Step::Run(_, query) | Step::Alone(query)) = step else {
            continue;
        };
        for query in smaller_queries(query).into_iter().filter(ends) {
            let mut steps = history.steps.clone();
            if let Step::Run(_, known) | Step::Alone(known) = &mut steps[at] {
                *known = query;
            }
            all.push(with(steps));
        }
    }
    all
}

/// The transaction that a step is about.
fn of(step: &Step) -> Option<usize> {
    match step {
        Step::Begin { number, .. }
        | Step::Run(number, _)
        | Step::Commit(number)
        | Step::RollBack(number) => Some(*number),
        _ => None,
    }
}
