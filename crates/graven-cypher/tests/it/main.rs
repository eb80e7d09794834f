//! Tests of the whole crate: text in, plan or error out.

mod check;
mod fuzz;
mod plans;
mod schema;
mod tck;
