//! The `graven` package for Python: the library behind classes of Python, with the names that
//! programs for Kuzu use.
//!
//! # How it works
//! ```text
//! graven/__init__.py    what programs import
//! graven/values.py      nodes, relationships, paths, durations, points, errors: plain classes of Python
//! graven/functions.py   types of functions of Python that statements call
//! graven/lab.py         replacement policies simulated on traces, also policies of Python
//! graven/kuzu/          the classes again, with values in the form of Kuzu's package
//! graven/spark/         frames of a graph on Apache Spark, and Cypher with Spark's operators
//! graven/frames.py      results as pandas, Polars, Arrow and NetworkX objects
//! graven._graven        this crate: Database, Connection, Transaction, PreparedStatement, QueryResult
//! ```
//! Everything that may wait or work for long runs without the interpreter's lock: other threads of
//! Python go on meanwhile. Rows come batch by batch as they are asked for, and become objects of
//! Python one by one.
//!
//! # Invariants
//! * PY-1 No value is changed on the way: what Python's own types cannot hold (nanoseconds, years
//!   beyond 9999, months of a duration) comes in types of the package, and goes back as what it
//!   was.
//! * PY-2 The interpreter's lock is never held while a statement runs. The library waits for it
//!   only where it calls a function of Python, or reads a frame, and holds no lock then that a
//!   thread with the interpreter's lock would wait for.
//!
//! * SK-4 Frames on Spark have exactly the properties of the graph; their types come from a sample,
//!   and a value of another type is an error, never changed (`spark/frames.py`).
//! * SK-5 A filter of Spark is taken only where a condition selects exactly the same rows
//!   (`spark/conditions.py`).
//! * SK-6 All parts of a frame are of one state of the database (`spark/reader.py`).
//! * SK-7 The rows of a write are there all, each once, or none is (`spark/writer.py`).
//! * SK-8 Columns by which the rows of a subquery find those around it stay in every row of it
//!   (`spark/rows.py`).
//! * SK-9 Null, truth, division and NaN are the language's, not Spark's (`spark/expressions.py`).
//! * SK-10 A property of a node is read by a join before the expression that reads it is translated
//!   (`spark/expressions.py`).
//! * SK-11 What is not translated is refused by name before a job runs (`spark/operators.py`).
//! * SK-12 A trail holds no relationship twice; a node is an end of a search exactly where a trail
//!   leads to it (`spark/trails.py`).
//! * SK-13 A walk over a list of nodes that reads their properties reads them through one join for
//!   each such list; nulls and the order of the list stay.
//! * SK-14 Each of all shortest paths is a row: from its end every relationship is followed back
//!   that leads to a node one step nearer to the start.
//!
//! # Concurrency
//! All classes may be shared by threads. A result belongs to one thread at a time: others wait.

mod classes;
mod connection;
mod database;
mod error;
mod function;
mod interrupt;
mod lab;
mod options;
mod parameter;
mod result;
mod temporal;
mod transaction;
mod value;

use pyo3::prelude::*;

/// The compiled part of the package.
#[pymodule]
fn _graven(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("storage_version", graven::STORAGE_FORMAT)?;
    module.add_class::<database::Database>()?;
    module.add_class::<connection::Connection>()?;
    module.add_class::<connection::PreparedStatement>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<result::QueryResult>()?;
    module.add_class::<lab::Trace>()
}
