//! Tests of the library from outside, on small files written for each test.

mod attach;
mod computed_labels;
mod counting;
mod database;
mod dialect;
mod errors;
mod estimates;
mod graph;
mod in_transactions;
mod index_order;
mod kept_writers;
mod long_statements;
mod path_selection;
mod prepared;
mod procedures;
mod quantified;
mod results;
mod rewrites;
mod scans;
mod serialisable;
mod small_memory;
mod timeouts;
mod writing;
