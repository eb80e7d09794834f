//! The program from outside: what a person types, what a program pipes in, what comes back, with
//! which exit code.

mod bench;
mod completions;
mod export;
mod forecast;
mod import;
mod lab;
mod lab_reports;
mod maintenance;
mod processes;
mod program;
mod published;
mod query;
mod serve;
mod shell;
mod terminal;
