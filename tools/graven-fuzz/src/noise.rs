//! Damaged statements and random rows of tokens: the parser, the binder and the planner answer, and
//! never panic.
//!
//! # How it works
//! The statements of the openCypher kit are cut into tokens. A case takes one of them and drops,
//! doubles, swaps and exchanges tokens with those of another, or strings tokens of all of them
//! together. Preparing it plans it too.

use std::panic::AssertUnwindSafe;
use std::path::Path;

use graven::{Config, Connection, Database, Params};
use graven_tck::feature::{Step, read_folder};

use crate::random::Random;

/// What came of it.
#[derive(Debug, Default)]
pub struct NoiseReport {
    /// Statements that were tried.
    pub tried: u64,
    /// Of these, the ones that have a plan.
    pub planned: u64,
    /// Statements at which the library panicked.
    pub panics: Vec<String>,
}

/// Tries `count` statements made of those below `features`.
///
/// # Errors
/// The kit cannot be read, or a database cannot be made.
pub fn noise(features: &Path, count: u64, seed: u64) -> Result<NoiseReport, String> {
    let mut texts = Vec::new();
    for scenario in read_folder(features)? {
        for step in scenario.steps {
            if let Step::Executed(text) | Step::Query(text) | Step::Control(text) = step {
                texts.push(tokens(&text));
            }
        }
    }
    if texts.is_empty() {
        return Err(format!("{}: there is no statement", features.display()));
    }
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut config = Config::default();
    config.create = true;
    config.attach = false;
    let db = Database::open(folder.path().join("noise.graven"), config);
    let connection = db.map_err(|e| e.to_string())?.connect();
    for statement in [
        "CREATE INDEX FOR (n:A) ON (n.name)",
        "CREATE (:A {name: 'a'})-[:KNOWS {since: 1}]->(:B {num: 2})",
    ] {
        let made = connection.query(statement, &Params::new());
        made.map_err(|e| e.to_string())?;
    }
    let mut random = Random::new(seed);
    let mut report = NoiseReport::default();
    for _ in 0..count {
        let text = statement(&mut random, &texts);
        report.tried += 1;
        match std::panic::catch_unwind(AssertUnwindSafe(|| plans(&connection, &text))) {
            Ok(planned) => report.planned += u64::from(planned),
            Err(_) => report.panics.push(text),
        }
    }
    Ok(report)
}

fn plans(connection: &Connection, text: &str) -> bool {
    match connection.prepare(text) {
        Ok(_) => {
            // The plan as text is a walk over all of it.
            let explained = connection.query(&format!("EXPLAIN {text}"), &Params::new());
            explained.is_ok_and(|result| result.plan().is_some())
        }
        Err(error) => {
            assert!(!error.render().is_empty(), "an error has a message");
            false
        }
    }
}

/// Words, numbers, strings and single signs, with the spaces between them.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut quote = None;
    let mut word = false;
    for c in text.chars() {
        let part = c.is_alphanumeric() || c == '_';
        match (quote, tokens.last_mut()) {
            (Some(open), Some(last)) => {
                last.push(c);
                if c == open {
                    quote = None;
                }
                word = false;
                continue;
            }
            (None, Some(last)) if word && part => last.push(c),
            _ => tokens.push(c.to_string()),
        }
        word = part;
        if matches!(c, '\'' | '"' | '`') {
            quote = Some(c);
        }
    }
    tokens
}

fn statement(random: &mut Random, texts: &[Vec<String>]) -> String {
    if random.chance(20) {
        let count = 1 + random.below(25);
        let tokens = (0..count).map(|_| {
            let from = random.pick(texts);
            match from.is_empty() {
                true => String::new(),
                false => random.pick(from).clone(),
            }
        });
        let tokens: Vec<String> = tokens.collect();
        return tokens.join(if random.chance(50) { " " } else { "" });
    }
    let mut text = random.pick(texts).clone();
    let other = random.pick(texts);
    for _ in 0..=random.below(3) {
        if text.is_empty() || other.is_empty() {
            break;
        }
        let at = random.below(text.len());
        match random.below(6) {
            0 => drop(text.remove(at)),
            1 => text.insert(at, text[at].clone()),
            2 => text[at].clone_from(random.pick(other)),
            3 => {
                let to = random.below(text.len());
                text.swap(at, to);
            }
            4 => {
                // A stretch of the other statement.
                let from = random.below(other.len());
                let to = (from + 1 + random.below(8)).min(other.len());
                text.splice(at..at, other[from..to].iter().cloned());
            }
            _ => text.truncate(at),
        }
    }
    text.concat()
}
