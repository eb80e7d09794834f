//! Tests of the library from outside, on small files written for each test.

mod attach;
mod counting;
mod database;
mod errors;
mod graph;
mod in_transactions;
mod procedures;
mod results;
mod writing;
