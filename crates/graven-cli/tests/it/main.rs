//! The program from outside: what a person types, what a program pipes in, what comes back, with
//! which exit code.

mod bench;
mod care;
mod export;
mod import;
mod lab;
mod processes;
mod program;
mod query;
mod serve;
mod shell;
mod terminal;
