//! Committed changes since the last checkpoint.

mod frozen;

pub use frozen::{Change, FrozenDelta, NodeChange, RelationshipChange};
