//! Rows in and out of files: CSV, Parquet, JSON, Arrow IPC, NumPy's arrays, and frames that a
//! program hands over.
//!
//! # How it works
//! [`describe`] looks at a source and says its columns ([`Column`]); [`Reader`] hands over batches
//! of those that are wanted. A [`Sink`] writes rows to a file; which types its columns have is
//! found out beforehand ([`Shape`]). Values are [`Datum`]s on the way: what properties hold, and
//! maps and lists of them. Text in which every value keeps its type is a [`literal`] of the
//! language.
//!
//! Parquet and Arrow are read and written by the crates of Arrow's project; delimited text and JSON
//! by this one, so that an error can name line, column and value, and memory stays bounded
//! ([docs/internals/files.md](../../../docs/internals/files.md)).
//!
//! # Concurrency
//! None: a reader or sink belongs to one thread at a time.
//!
//! # Cost
//! One copy of each value that is wanted; columns that are not are neither decoded nor, in Parquet,
//! read.
//!
//! [`elements`] reads whole graphs, node by node, as other programs export them; [`xml`] reads XML.
//!
//! This crate opens no file: the caller hands over a function that opens files ([`Ranges`]), local
//! ones or objects, and knows what the statement may name.

mod arrow_in;
mod arrow_out;
mod arrow_rows;
mod bound;
mod cast;
mod column;
mod csv;
mod csv_dialect;
mod csv_records;
mod datum;
pub mod decimal;
pub mod elements;
mod error;
mod foreign;
mod ipc_blocks;
mod ipc_size;
mod json;
mod json_text;
mod kind;
pub mod literal;
mod npy;
mod npy_columns;
mod options;
mod parquet_pages;
mod parquet_schema;
pub mod plain;
mod ranges;
mod shape;
mod sink;
mod source;
mod tables;
pub mod xml;

pub use arrow_array::{RecordBatchReader, ffi_stream};
pub use arrow_rows::ArrowRows;
pub use bound::{Bound, Comparison};
pub use cast::cast;
pub use column::Column;
pub use datum::{Cells, Datum};
pub use error::{Error, Fault, Result};
pub use json_text::JsonText;
pub use kind::Kind;
pub use options::{Format, Options};
pub use ranges::{Cursor, Input, Ranges, open_local};
pub use shape::Shape;
pub use sink::{Output, Sink};
pub use source::{Chunk, Description, FAULTS_MAX, Open, Reader, Source, describe};
pub use tables::Frame;
