//! Tests of the whole crate: text in, plan or error out.

mod fuzz;
mod plans;
mod schema;
mod tck;
#[cfg(debug_assertions)]
mod watched;
