//! The data file: segments, adjacency, columns, indexes, catalogue, bulk import, check.

mod bitpack;
mod bytes;
pub mod ids;
pub mod value;

pub use ids::{Direction, KeyId, LabelId, NodeId, RelId, StoreId, TypeId};
pub use value::PropertyValue;
