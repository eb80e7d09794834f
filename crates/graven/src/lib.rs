//! The library: Database, Connection, Value, Error.

mod bytes;
mod config;
mod error;
mod memory;
mod params;
mod value;

pub use bytes::{format_bytes, parse_bytes};
pub use config::{Config, DEFAULT_POLICY, IoMode};
pub use error::Error;
pub use memory::{DEFAULT_BYTES_MAX, DEFAULT_BYTES_MIN, default_memory};
pub use params::Params;
pub use value::{Node, Path, Relationship, Value};
