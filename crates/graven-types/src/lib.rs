//! Types that every layer shares: values of properties, names and types in statements, and seeded
//! random numbers.
//!
//! A crate that makes or reads values (files, temporal functions, drivers) needs this crate and not
//! the storage.

pub mod name;
pub mod rng;
pub mod type_text;
mod value;
pub mod vector;

pub use value::{DateTime, Duration, LocalDateTime, Point, PropertyValue, Time};
pub use vector::Vector;
