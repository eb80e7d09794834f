//! Opening an operating system file with the mode that its file system allows.

use std::path::Path;
use std::sync::Arc;

use crate::options::OpenOptions;
use crate::os_file::OsFile;
use crate::{File, Result};

/// Opens `path`.
///
/// # Errors
/// The system refuses, or `options.mode` is a mode that no operating system file has.
pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Arc<dyn File>> {
    Ok(Arc::new(OsFile::open(path.as_ref(), options)?))
}
