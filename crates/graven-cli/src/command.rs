//! The commands, one file each. A command is a struct of its arguments with a `run` method.
//!
//! The laboratory (`bench`, `demo`, `lab`, `torture`) is the feature `lab`, which is on by default.

pub(crate) mod backup;
#[cfg(feature = "lab")]
pub(crate) mod bench;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod checkpoint;
pub(crate) mod completions;
mod copying;
#[cfg(feature = "lab")]
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod gc;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod inspect;
#[cfg(feature = "lab")]
pub(crate) mod lab;
pub(crate) mod publish;
pub(crate) mod query;
pub(crate) mod salvage;
pub(crate) mod serve;
pub(crate) mod shell;
#[cfg(feature = "lab")]
pub(crate) mod torture;
pub(crate) mod upgrade;
pub(crate) mod write_test;
