//! Integration tests of the page cache: what it promises, and the pitfalls other projects met.
#![allow(missing_docs, clippy::missing_panics_doc, reason = "tests")]

mod basics;
mod memory;
mod pools;
mod pressure;
mod regressions;
mod simulator_is_engine;
mod support;
mod temporary;
