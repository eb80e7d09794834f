//! Graven: an embedded property-graph database that stays fast when the graph does not fit in
//! memory.
//!
//! One file, plain Cypher, a memory budget that holds, and a page cache that can be looked into and
//! changed while queries run.
//!
//! # How it works
//! ```text
//! Connection::query -> plan (cached by text) -> executor over a snapshot -> batches -> rows
//!                                            -> executor in a transaction -> rows kept -> commit -> rows
//! ```
//! A [`Database`] is a file with its page cache; a [`Connection`] runs statements; a
//! [`QueryResult`] hands out rows while the statement runs. Values are complete and owned: nothing
//! a program keeps holds a page.
//!
//! # Examples
//! ```no_run
//! use graven::{Config, Database, Params};
//!
//! let db = Database::open("social.graven", Config::default())?;
//! let connection = db.connect();
//! let persons = connection.query("MATCH (p:Person) RETURN count(p) AS n", &Params::new())?.next_row()?;
//! println!("{:?}", persons.and_then(|row| row.get_by_name("n").cloned()));
//! # Ok::<(), graven::Error>(())
//! ```
//!
//! # Concurrency
//! [`Database`] and [`Connection`] are `Send + Sync` and cheap to clone. A [`QueryResult`] belongs
//! to one thread at a time. [`CancelHandle::cancel`] may be called from anywhere.

mod access;
mod access_kind;
mod arrow;
mod bytes;
mod call_in_transactions;
mod cancel;
mod charged_text;
mod check;
mod clients;
mod config;
mod connection;
mod counts;
mod database;
mod database_manager;
mod error;
mod export;
mod files;
mod folded_duplicate;
mod functions;
mod info;
mod instance;
mod jobs;
mod literal;
mod maintenance;
mod materialise;
mod memory;
mod names;
mod objects;
mod owner_reports;
mod params;
mod passwords;
mod plan_cache;
mod plan_steps;
mod plan_text;
mod procedures;
mod published;
mod query_result;
mod random;
mod remote;
mod result;
mod right;
mod row;
mod rows;
mod schema;
mod statements;
mod summary;
mod tables;
mod transaction;
mod users;
mod value;
mod warm;
mod within;

pub use access::Access;
pub use access_kind::{Touches, touches};
pub use bytes::{format_bytes, parse_bytes};
pub use cancel::CancelHandle;
pub use check::CheckReport;
pub use clients::{ClientConnection, Clients};
pub use config::{Config, DEFAULT_POLICY, IoMode};
pub use connection::{Connection, Prepared};
pub use database::Database;
pub use database_manager::{Change, DatabaseManager, Listed};
pub use error::Error;
pub use functions::Function;
pub use graven_cypher::{Address, statement};
pub use graven_exec::sources::inspect;
pub use graven_files::{Frame, RecordBatchReader};
pub use graven_pagecache as pagecache;
pub use graven_storage::superblock::FORMAT as STORAGE_FORMAT;
pub use graven_storage::{CheckpointReport, Lost, SalvageReport};
pub use graven_storage::{
    Durability, Durable, Isolation, PropertyValue, Role, TransactionOptions,
    WriteCounters as Counters,
};
pub use graven_wal::{HistogramView, LogStats};
pub use info::{Info, Reading, StoreInfo, TypeInfo};
pub use memory::{DEFAULT_BYTES_MAX, DEFAULT_BYTES_MIN, default_memory};
pub use names::Names;
pub use objects::{Collected, Published, TrafficCounts, collect_garbage, is_url};
pub use params::Params;
pub use passwords::generated_password;
pub use plan_steps::{PlanStep, StepDid};
pub use query_result::QueryResult;
pub use right::Right;
pub use row::Row;
pub use rows::{ColumnSlice, Rows};
pub use summary::Commit;
pub use summary::{Notice, StatementKind, Summary};
pub use transaction::Transaction;
pub use value::{Node, Path, Relationship, Value};
