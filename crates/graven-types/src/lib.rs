//! Types that every layer shares: values of properties, names and types in statements, seeded
//! random numbers, and messages of errors.
//!
//! A crate that makes or reads values (files, temporal functions, drivers) needs this crate and not
//! the storage.

pub mod name;
pub mod rng;
pub mod told;
pub mod type_text;
mod value;
pub mod vector;

pub use value::{DateTime, Duration, LocalDateTime, Point, PropertyValue, Time};
pub use vector::Vector;
