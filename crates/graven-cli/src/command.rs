//! The commands, one file each. A command is a struct of its arguments with a `run` method.

pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod checkpoint;
mod copying;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod inspect;
pub(crate) mod lab;
pub(crate) mod query;
pub(crate) mod salvage;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod torture;
pub(crate) mod upgrade;
pub(crate) mod write_test;
