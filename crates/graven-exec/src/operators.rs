//! Physical operators, one kind per file.

pub(crate) mod aggregate;
pub(crate) mod apply;
pub(crate) mod argument;
pub(crate) mod build_path;
pub(crate) mod cartesian_product;
pub(crate) mod distinct;
pub(crate) mod expand;
pub(crate) mod expand_into;
mod fan_out;
pub(crate) mod filter;
pub(crate) mod hash_join;
pub(crate) mod limit;
pub(crate) mod procedure;
pub(crate) mod project;
pub(crate) mod reachable_count;
pub(crate) mod reachable_expand;
mod row_key;
pub(crate) mod scan;
pub(crate) mod seek;
pub(crate) mod sort;
pub(crate) mod trail_expand;
pub(crate) mod union;
pub(crate) mod unit;
pub(crate) mod unwind;
