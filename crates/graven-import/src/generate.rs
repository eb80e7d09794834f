//! Deterministic data generators: the same options give the same bytes on every machine.

mod random;
mod social;

pub use social::{Compression, Social, SocialOptions, SocialReport, social};

pub(crate) use social::made;
