//! What a trace of the library says before its accesses.

use crate::FileRow;

/// What stands before the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Bytes of a page; 0 where pages have several sizes.
    pub page_bytes: u32,
    /// One page of so many is in the trace.
    pub sampling: u32,
    /// Names of page kinds.
    pub kinds: Vec<String>,
    /// The files that pages belong to.
    pub files: Vec<FileRow>,
}
