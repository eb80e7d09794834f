//! Where the log of a store is, and how it is made.

use std::path::PathBuf;
use std::sync::Arc;

use graven_io::File;
use graven_wal::LogOptions;

use crate::Result;

/// Where the log of a store is, or how to make it when the first commit needs it.
pub trait LogPlace: Send + Sync + std::fmt::Debug {
    /// Where it is or will be.
    fn path(&self) -> PathBuf;

    /// The log's file, if it is there.
    ///
    /// # Errors
    /// It cannot be opened.
    fn existing(&self) -> Result<Option<Arc<dyn File>>>;

    /// The file for a new log, durable in its folder; what is in it is looked at before it is
    /// overwritten.
    ///
    /// # Errors
    /// It cannot be made.
    fn create(&self) -> Result<Arc<dyn File>>;

    /// Removes the file. One that stays does no harm: nothing needs it.
    fn remove(&self);
}

/// A log that is part of the store's state.
#[derive(Debug)]
pub(crate) struct LogSetup {
    pub(crate) place: Box<dyn LogPlace>,
    pub(crate) options: LogOptions,
}
