//! The library: Database, Connection, Value, Error.
