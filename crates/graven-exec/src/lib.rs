//! Physical operators over batches, expressions, spilling, profile.

pub mod batch;
pub mod column;
mod dense_columns;
pub mod error;
mod execution;
mod expression;
mod gathered;
mod id_order;
mod in_transactions;
mod instantiate;
mod layout;
mod memory;
mod operator;
mod operators;
mod pattern;
pub mod procedures;
pub mod profile;
mod reachability;
mod runtime;
mod shortest;
mod spill;
mod trail;
pub mod tuning;
pub mod value;
mod writing;

pub use batch::{BATCH_ROWS, Batch};
pub use column::Column;
pub use error::{ExecError, Result};
pub use execution::{ExecContext, Execution, execute};
pub use in_transactions::{Batches, execute_in_transactions};
pub use procedures::{NoProcedures, ProcedureResult, Procedures};
pub use profile::{OperatorProfile, ProfileTree};
pub use runtime::Params;
pub use tuning::{LevelDirection, Tuning};
pub use value::{Map, Path, Value};
pub use writing::DeletedRelationships;
