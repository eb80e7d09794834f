//! The library behind functions of C: `graven.h` and `libgraven`, for programs in C and for
//! packages of other languages.
//!
//! # How it works
//! ```text
//! graven_open -> graven_connect -> graven_query ------> graven_result_next, graven_result_value
//!                               -> graven_prepare, graven_bind_*, graven_execute
//!                               -> graven_begin, graven_transaction_query, graven_commit
//! ```
//! Each function is in the header, which cbindgen makes of this crate; a test compares them.
//! Handles are opaque. Arguments are references or boxes of Rust that may be absent, which have
//! the form of C's pointers: a null pointer is an error with a name, and what is freed is what was
//! made. The conventions are those of sqlite3.h and duckdb.h where these agree; errors are objects
//! as in leveldb's and GLib's interfaces, because a message of the last error per connection is
//! not safe with threads.
//!
//! # Invariants
//! * CA-1 No panic leaves a function: it becomes the error `Internal.Panic`, or the answer of a
//!   value that is not there.
//! * CA-2 A program hands over handles that this library made and that were not freed, texts that
//!   end in a zero byte, and pointers to as many bytes as it says. Everything else is checked.
//! * CA-3 A handle keeps alive what it needs: handles may be freed in any order.
//! * CA-4 A value that a result or another value holds is borrowed from it, until the next row or
//!   until that is freed. What a function says is to be freed belongs to the program.
//!
//! # Concurrency
//! Databases and connections may be used by several threads at once. Statements, transactions,
//! results and values belong to one thread at a time.
#![expect(
    unsafe_code,
    reason = "texts and bytes of C are pointers, and functions have their names for the linker"
)]
// CA-2 is what all functions ask for; in the header it stands once.
#![expect(
    clippy::missing_safety_doc,
    reason = "CA-2, stated once for all functions"
)]

pub mod config;
pub mod connection;
pub mod database;
pub mod entity;
pub mod error;
pub mod make;
mod parameters;
pub mod result;
pub mod statement;
pub mod stream;
pub mod temporal;
pub mod text;
pub mod transaction;
pub mod value;
pub mod version;
