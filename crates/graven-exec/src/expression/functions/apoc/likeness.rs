//! `apoc.text.jaroWinklerDistance`: how alike texts look.
//!
//! # Source
//! Winkler, "String Comparator Metrics and Enhanced Decision Rules" (1990), as Apache Commons Text
//! has it: with a weight of 0.1 for each of up to four equal first letters, where texts agree in
//! 0.7 without them.

use super::text;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;
use graven_types::told;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[Function::new(
    "apoc.text.jarowinklerdistance",
    (2, 2),
    jaro_winkler_distance,
)];

/// Pairs of letters that are compared at most.
const PAIRS_MAX: usize = 1 << 28;

fn jaro_winkler_distance(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.text.jaroWinklerDistance";
    let (Some(a), Some(b)) = (text(name, &args[0])?, text(name, &args[1])?) else {
        return Ok(Value::Null);
    };
    charge((a.len() + b.len()).saturating_mul(16))?;
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().saturating_mul(b.len()) > PAIRS_MAX {
        let (a, b) = (a.len(), b.len());
        let message = told!("{name}(): texts of {a} and {b} characters are too long");
        return Err(ExecError::Argument { message });
    }
    Ok(Value::Float(1.0 - similarity(&a, &b)?))
}

/// The similarity of Jaro and Winkler, from 0 to 1.
fn similarity(a: &[char], b: &[char]) -> Result<f64> {
    if a == b {
        return Ok(1.0);
    }
    let (short, long) = if a.len() > b.len() { (b, a) } else { (a, b) };
    // Equal letters count where they are so near.
    let reach = (long.len() / 2).saturating_sub(1);
    let mut taken = vec![false; long.len()];
    let mut matched = Vec::new();
    for (at, letter) in short.iter().enumerate() {
        let mut window = at.saturating_sub(reach)..(at + reach + 1).min(long.len());
        work(1 + window.len())?;
        let found = window.find(|other| !taken[*other] && long[*other] == *letter);
        if let Some(other) = found {
            taken[other] = true;
            matched.push(*letter);
        }
    }
    if matched.is_empty() {
        return Ok(0.0);
    }
    let others = long
        .iter()
        .zip(&taken)
        .filter(|(_, taken)| **taken)
        .map(|(letter, _)| letter);
    let moved = matched.iter().zip(others).filter(|(a, b)| a != b).count();
    let count = matched.len() as f64;
    let shares = count / a.len() as f64 + count / b.len() as f64;
    let jaro = (shares + (count - moved as f64 / 2.0) / count) / 3.0;
    let prefix = a.iter().zip(b).take(4).take_while(|(a, b)| a == b).count();
    Ok(match jaro < 0.7 {
        true => jaro,
        false => jaro + 0.1 * prefix as f64 * (1.0 - jaro),
    })
}
