//! Dates, times, durations and time zones of the language: reading, making, taking apart,
//! computing, writing.
//!
//! # How it works
//! Values are those of the store ([`graven_types::PropertyValue`] and its parts). Everything but
//! durations is taken apart into [`Parts`] (day, time of day, zone) and put together again as one
//! [`Kind`]; so each rule is written once. [`text`] reads and writes ISO 8601 forms, [`fields`]
//! makes values of maps, [`truncate`], [`between`], [`arithmetic`] and [`component`] are the
//! functions of their names; [`zone`] knows the world's time zones, from a database built into the
//! program.
//!
//! # Invariants
//! * TM-1 A date lies between the years -999,999,999 and 999,999,999 of the proleptic Gregorian
//!   calendar.
//! * TM-2 A duration's nanoseconds are 0..10^9; its sign is that of the seconds.
//! * TM-3 A moment in a named zone has an offset that the zone has at that moment.
//!
//! # Source
//! openCypher CIP2015-08-06 "Date and time"; ISO 8601 for forms and week dates; RFC 8536 for the
//! zones' data.

pub mod arithmetic;
pub mod between;
pub mod calendar;
pub mod component;
pub mod duration;
mod field_name;
pub mod fields;
pub mod parts;
pub mod pattern;
pub mod text;
pub mod truncate;
pub mod zone;

pub use fields::{Clock, Field, Fields, make};
pub use graven_types::PropertyValue;
pub use parts::{Kind, Parts};
pub use zone::Zone;

/// Nanoseconds of a second.
pub const SECOND: i64 = 1_000_000_000;
/// Nanoseconds of a day.
pub const DAY: i64 = 86_400 * SECOND;

/// What cannot be read or made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Text in no form of its type.
    #[error("`{text}` is not a {what}")]
    Text {
        /// What was wanted.
        what: &'static str,
        /// What was there.
        text: String,
    },
    /// Text in a form of its type that names no day, time or zone.
    #[error("`{text}`: {why}")]
    Content {
        /// What was there.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A part was read from a value, or given to one, and its type does not have that part.
    #[error("{0}")]
    Lacks(String),
    /// A sum beyond the calendar; a division by zero.
    #[error("{0}")]
    Arithmetic(&'static str),
    /// A field that is missing, unknown, or has a value that it cannot have.
    #[error("{0}")]
    Field(String),
    /// Parts of a text that do not go together, such as a zone and an offset that it never has.
    #[error("{0}")]
    Mismatch(String),
    /// A result beyond what can be held.
    #[error("{0} is out of range")]
    Range(&'static str),
}

/// Outcome of a temporal function.
pub type Result<T> = std::result::Result<T, Error>;
