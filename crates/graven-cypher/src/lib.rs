//! Cypher: text in, plan out. Knows no storage; defines the [`SchemaView`] it reads.

pub mod plan;
pub mod schema_view;

pub use plan::Plan;
pub use schema_view::{IndexView, SchemaView};
