//! What the packages for other languages share, so that they do the same under the same names.
//!
//! # How it works
//! ```text
//! location     where a database is: a file, or a folder for temporary files if it has no name
//! settings     settings by their names and as text
//! statements   a text of several statements, cut into statements that know their places
//! reading      rows that were read ahead, and the first ones again
//! defect       panics as errors
//! column_type  types of columns, by the names that programs for Kuzu know
//! ```
//! Each package makes objects of its language of these; this crate knows no language.
//!
//! # Invariants
//! * BI-1 A database without a name lives as long as one handle that holds its folder: each object
//!   that a package makes of the database, a connection or a result too, holds it.
//!
//! # Concurrency
//! A [`Reading`] belongs to one thread at a time; all else is plain values.

mod column_type;
mod defect;
mod location;
mod reading;
mod settings;
mod statements;

pub use column_type::ColumnType;
pub use defect::{DEFECT, message_of_panic};
pub use location::{Folder, Location};
pub use reading::{KEPT, Reading};
pub use settings::{ConnectionOptions, set_config, set_connection};
pub use statements::several;
