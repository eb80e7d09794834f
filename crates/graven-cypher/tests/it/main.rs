//! Tests of the whole crate: text in, plan or error out.

mod fuzz;
mod logical;
mod plans;
mod schema;
mod stop;
mod tck;
#[cfg(debug_assertions)]
mod watched;
