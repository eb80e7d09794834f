//! The data file: segments, adjacency, columns, indexes, catalogue, bulk writing, check.

mod adjacency;
mod backup;
mod bitpack;
mod builder;
mod bytes;
pub mod catalog;
mod check;
pub mod checkpoint;
mod column;
pub mod contents;
mod data_file;
mod delta;
mod directory;
mod error;
mod expected_counts;
mod free_space;
mod id_runs;
pub mod ids;
mod index;
mod info;
mod labels;
mod log_place;
mod long_bytes;
pub mod macros;
pub mod notes;
mod overflow_pages;
mod page_output;
mod pages;
mod recovery;
mod salvage;
pub mod schema;
mod segment_map;
pub mod sequences;
mod sink;
mod snapshot;
mod snapshot_file;
mod store;
pub mod superblock;
mod transaction;
mod until;
pub mod users;
pub mod value;
mod version;
pub mod warm;
mod writer;

pub use crate::log_place::LogPlace;
pub use adjacency::writer::{AdjacencyWriter, ForwardWriter, ReverseWriter};
pub use adjacency::{Adjacency, IdCursor, List, Neighbour, NodeSet, Sweep};
pub use backup::BackupReport;
pub use builder::GraphBuilder;
pub use catalog::{
    Catalog, IndexDescription, RelationshipPart, StoreDescription, StoreKind, TypeStatistics,
    ValueStatistics, grown,
};
pub use check::{Problem, Report};
pub use checkpoint::{CheckpointOptions, CheckpointReport};
pub use column::writer::ColumnWriter;
pub use column::{Column, is_consecutive};
pub use error::{Error, Result, SchemaClash};
pub use free_space::{Extent, FreeSpace};
pub use graven_types::PropertyValue;
pub use ids::{Direction, KeyId, LabelId, NodeId, RelId, StoreId, TypeId};
pub use index::key::key_bytes;
pub use index::writer::IndexWriter;
pub use index::{FoundEach, HashedKeys, Index, IndexPart, IndexRange, IndexStep};
pub use info::{Info, StoreInfo};
pub use labels::NodeRanges;
pub use macros::MacroDescription;
pub use notes::{Note, NoteKind};
pub use recovery::{FOLD_ON_CLOSE, OpenOptions};
pub use salvage::{Lost, SalvageReport};
pub use schema::{
    ConstraintDescription, ConstraintKind, ConstraintSpec, IndexKind, IndexSpec, PropertyType,
    RelationshipEnds, SchemaEntity,
};
pub use sequences::SequenceDescription;
pub use snapshot::Snapshot;
pub use snapshot_file::{PageWalk, SnapshotFile};
pub use store::Store;
pub use superblock::{BEGINNING_BYTES, is_of_database};
pub use transaction::Transaction;
pub use transaction::counters::WriteCounters;
pub use transaction::options::{Committed, Durability, Durable, Isolation, TransactionOptions};
pub use until::Until;
pub use users::{Role, UserDescription};
pub use writer::{StoreWriter, Uniqueness, WriterOptions};
