//! Everything that can go wrong in the data file.

use crate::value::PropertyValue;
use graven_pagecache::PageRef;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] graven_io::Error),
    /// The page cache could not deliver a page: damaged, unreadable, or no memory for it.
    #[error(transparent)]
    Cache(#[from] graven_pagecache::Error),
    /// The memory limit is reached.
    #[error(transparent)]
    Budget(#[from] graven_pagecache::BudgetError),
    /// The file has no content.
    #[error("{}: the file is empty, not a Graven database", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: not a Graven database (it starts with {found:02x?})", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first bytes.
        found: Vec<u8>,
    },
    /// The file was written in another format.
    #[error(
        "{}: data file format {found}, this build reads {known}; export it with the build that wrote it (graven export) and import it again",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format number.
        found: u32,
        /// The format number of this build.
        known: u32,
    },
    /// The file uses a feature that this build does not know.
    #[error("{}: the file uses features {unknown:#x} that this build does not know; open it with a newer one", path.display())]
    UnknownFeature {
        /// The file.
        path: PathBuf,
        /// Bits of the incompatible features unknown here.
        unknown: u64,
    },
    /// The file is shorter than its superblock says.
    #[error("{}: the file has {found} bytes, its superblock says {expected}: it was cut off", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Length according to the superblock, bytes.
        expected: u64,
        /// Length found, bytes.
        found: u64,
    },
    /// Neither superblock is intact.
    #[error("{}: both superblocks are damaged (first: {first}; second: {second})", path.display())]
    Superblocks {
        /// The file.
        path: PathBuf,
        /// What is wrong with the first.
        first: String,
        /// What is wrong with the second.
        second: String,
    },
    /// A page is intact by its checksum but its content makes no sense.
    #[error("{}: damaged {kind} page {page}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The page.
        page: PageRef,
        /// Kind of the page.
        kind: &'static str,
        /// What was found.
        what: String,
    },
    /// The stored structures contradict each other.
    #[error("{}: inconsistent {store}: {what}", path.display())]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// The store.
        store: String,
        /// What was found.
        what: String,
    },
    /// A node id does not exist.
    #[error("node {node} does not exist, the store has ids below {limit}")]
    NoSuchNode {
        /// The id.
        node: u64,
        /// Ids are below this.
        limit: u64,
    },
    /// A relationship id does not exist.
    #[error("relationship {relationship} does not exist")]
    NoSuchRelationship {
        /// The id.
        relationship: u64,
    },
    /// Bulk writing got ids or keys out of order.
    #[error("{store}: entry {got} pushed after {last}, bulk writing needs ascending order")]
    Order {
        /// The store.
        store: String,
        /// What was pushed last.
        last: String,
        /// What came then.
        got: String,
    },
    /// Two nodes have the same value in a unique index.
    #[error("index {index}: value {value:?} of node {second} already belongs to node {first}")]
    NotUnique {
        /// The index.
        index: String,
        /// The value.
        value: PropertyValue,
        /// Node that has it.
        first: u64,
        /// Node that wants it as well.
        second: u64,
    },
    /// A limit of the format.
    #[error("{what} is {value}, the format allows {limit}")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        value: u64,
        /// How large it may be.
        limit: u64,
    },
    /// A node id does not fit 32 bits where the caller asked for 32-bit ids.
    #[error("node ids of this store need more than 32 bits: decode lists as 64-bit ids")]
    Wide,
    /// Bulk writing ended with something left out or contradictory.
    #[error("bulk writing of {store}: {what}")]
    Incomplete {
        /// The store.
        store: String,
        /// What is wrong.
        what: String,
    },
}
