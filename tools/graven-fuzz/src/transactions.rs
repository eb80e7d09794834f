//! Several transactions at once, in random steps on one thread: each reads what it may, and they
//! come to what they would come to one after the other.
//!
//! # How it works
//! ```text
//! seed -> history: steps of transactions -> the library      -> rows, commits, refusals --.
//!                                       \-> models: graphs   -> rows, and what may commit --' compared step by step
//! ```
//! The interpreter answers for each transaction on a graph of its own, a copy of the committed one
//! at its beginning ([`play`]). What it changed is put on the committed graph at its commit
//! ([`merge`]); a serialisable transaction's statements are also run again there. No order of
//! commits but that in which they came is looked for: it is the one that the library promises.
//!
//! # Costs
//! A database for each history, which takes most of the time.

mod history;
mod merge;
mod play;
mod rule;
mod smaller;

use history::History;

use crate::random::Random;
use crate::seeds::{Job, each};

/// Transactions that a history begins, about.
const PER_HISTORY: u64 = 14;

/// Counts of a run.
#[derive(Debug, Default)]
pub struct Tally {
    /// Transactions begun.
    pub transactions: u64,
    /// Statements that were compared.
    pub statements: u64,
    /// Transactions committed.
    pub committed: u64,
    /// Of these, serialisable ones that changed something and were run again in the order of
    /// commits.
    pub replayed: u64,
    /// Commits refused for a conflict.
    pub refused: u64,
    /// Of these at snapshot isolation, those that changed nothing that others had changed.
    pub spare_snapshot: u64,
    /// Of these that were serialisable, those whose statements would have given the same by then.
    pub spare_serialisable: u64,
    /// Transactions that a statement or a constraint failed.
    pub failed: u64,
    /// The smallest forms of histories that differ.
    pub differences: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.transactions += other.transactions;
        self.statements += other.statements;
        self.committed += other.committed;
        self.replayed += other.replayed;
        self.refused += other.refused;
        self.spare_snapshot += other.spare_snapshot;
        self.spare_serialisable += other.spare_serialisable;
        self.failed += other.failed;
        self.differences.extend(other.differences);
    }
}

/// Plays histories of about `transactions` in all; the first has the seed `job` begins with.
///
/// # Errors
/// The machine's, such as a full disk; differences are in the tally.
pub fn transactions(job: &Job, transactions: u64) -> Result<Tally, String> {
    let histories = transactions.div_ceil(PER_HISTORY);
    let tallies = each(job, histories, |seed, tally: &mut Tally| {
        let before = tally.differences.len();
        one(seed, tally)?;
        Ok(tally.differences.len() - before)
    })?;
    let mut all = Tally::default();
    tallies.into_iter().for_each(|tally| all.add(tally));
    Ok(all)
}

/// The history of one seed.
fn one(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::new(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    let history = History::random(&mut random);
    if let Some(found) = play::play(&history, tally)? {
        let setting = history.setting;
        let small = smaller::smallest(history, found)?;
        let difference = format!("seed {seed}{setting}\n{small}");
        tally.differences.push(difference);
    }
    Ok(())
}
