//! The `graven` package for Node.js: the library behind classes of JavaScript, with the names that
//! programs for Kuzu use.
//!
//! # How it works
//! ```text
//! package/index.js     what programs import; index.d.ts has its types
//! package/values.js    nodes, relationships, paths, moments, durations, points: plain classes
//! package/*.js         Database, Connection, Transaction, PreparedStatement, QueryResult
//! graven.node          this crate: the same without comforts, one handle for each of them
//! ```
//! A call that may wait becomes a job on a thread of this crate ([`threads`]), and a promise that
//! the job settles ([`promise`]). Rows come batch by batch; they become objects of JavaScript when
//! the program takes them, on its own thread, for objects can be made nowhere else.
//!
//! # Invariants
//! * ND-1 No value is changed on the way: an integer beyond 2^53 is a BigInt, and what a `Date`
//!   cannot hold (a type, nanoseconds, a zone) stands beside it. What goes back is what came, but
//!   for a float that is whole: as a parameter that is an integer, unless it is given as a `Float`.
//! * ND-2 No statement runs and no file is opened on the thread of JavaScript, but by methods that
//!   say so: those that end in `Sync`, `getNumTuples`, and `hasNext` where no row is at hand.
//! * ND-3 After a database was closed nothing of it is open: closing waits for the statements that
//!   run, then ends results and rolls back transactions. A database that the program forgets is
//!   closed when its object is collected, or when the process or the worker ends.
//! * ND-4 A job waits for no job that has not begun: with any number of threads all end.
//!
//! # Concurrency
//! Each worker thread of JavaScript has objects of its own. A result, and a transaction, belongs to
//! one job at a time: others wait.

mod connection;
mod database;
mod exit;
mod input;
mod js;
mod opened;
mod output;
mod promise;
mod result;
mod session;
mod settings;
mod statement;
mod temporal;
mod threads;
mod told;
mod transaction;
