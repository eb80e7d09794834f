//! The data file: segments, adjacency, columns, indexes, catalogue, bulk import, check.

mod bitpack;
mod bytes;
pub mod catalog;
mod column_segment;
mod contract;
mod error;
pub mod ids;
mod key;
pub mod value;

pub use catalog::Catalog;
pub use contract::*;
pub use error::{Error, Result};
pub use ids::{Direction, KeyId, LabelId, NodeId, RelId, StoreId, TypeId};
pub use value::PropertyValue;
