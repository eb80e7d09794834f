//! Crash torture: a database on a disk that dies at every operation, compared with a model graph.
//!
//! # How it works
//! [`simulate`] runs a seeded workload of interleaved transactions on a data file and a log in
//! memory ([`disk`]). In front of every operation that changes a file it composes what a power cut
//! at this moment may leave, opens that, and compares the whole graph with the model ([`check`]):
//! every acknowledged commit is there, nothing is there by half, the file is sound, opening twice
//! gives the same. Some of the recovered databases work on and die again. Everything follows from a
//! seed, so a failure is a reproduction.
//!
//! [`mutants`] puts seeded faults into the code and expects the simulation to find each.
//! [`process`] does the same to a real disk with real processes that are killed.
//!
//! # Invariants
//! * The state found after a crash is one of those the model had: the last acknowledged one or a
//!   later one.

pub mod check;
pub mod disk;
pub mod fault_injection;
pub mod model;
pub mod mutants;
#[cfg(feature = "process")]
pub mod process;
pub mod simulate;
mod workload;

pub use simulate::{Options, Report, run};

/// Why a torture ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The database broke its promise.
    #[error("{context}: {what}")]
    Broken {
        /// Seed, crash point, fault.
        context: String,
        /// What was found.
        what: String,
    },
    /// The torture itself could not go on.
    #[error("{0}")]
    Setup(String),
}
