//! What becomes of a row that cannot be taken: the end of the import, or a line in a report.
//!
//! # On disk
//! The report is CSV with the header `file,line,column,value,reason`, fields in double quotes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{ImportError, RowError};

/// Takes bad rows.
#[derive(Debug)]
pub(crate) struct BadRows {
    report: Option<(PathBuf, BufWriter<File>)>,
    count: u64,
}

impl BadRows {
    /// With a path bad rows go to that file, else the first one is an error.
    pub(crate) fn new(path: Option<&Path>) -> Result<Self, ImportError> {
        let report = match path {
            None => None,
            Some(path) => {
                let file = File::create(path).map_err(|e| ImportError::io(path, "create", e))?;
                let mut out = BufWriter::new(file);
                writeln!(out, "file,line,column,value,reason")
                    .map_err(|e| ImportError::io(path, "write", e))?;
                Some((path.to_path_buf(), out))
            }
        };
        Ok(Self { report, count: 0 })
    }

    /// Reports the row.
    ///
    /// # Errors
    /// The row itself if rows are not to be skipped, or a failure to write the report.
    pub(crate) fn take(&mut self, row: RowError) -> Result<(), ImportError> {
        let Some((path, out)) = &mut self.report else {
            return Err(ImportError::Row(Box::new(row)));
        };
        self.count += 1;
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        writeln!(
            out,
            "{},{},{},{},{}",
            quoted(&row.file.display().to_string()),
            row.line,
            quoted(&row.column),
            quoted(&row.value),
            quoted(&row.reason)
        )
        .map_err(|e| ImportError::io(path, "write", e))
    }

    /// Rows reported; the report is flushed.
    pub(crate) fn finish(mut self) -> Result<u64, ImportError> {
        if let Some((path, out)) = &mut self.report {
            out.flush().map_err(|e| ImportError::io(path, "write", e))?;
        }
        Ok(self.count)
    }
}
