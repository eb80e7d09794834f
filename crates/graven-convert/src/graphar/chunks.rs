//! Rows into chunks: files of so many rows each, numbered from 0.
//!
//! # How it works
//! A file is made when its first row comes, so that no chunk is empty. Rows wait until there are
//! enough of them for a batch.
//!
//! # Costs
//! A batch, and a row group of the file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use graven_files::{Cells, Datum, Format, Options, Shape, Sink};

use super::layout::chunk;
use crate::error::{Error, Result};

/// Rows of a batch.
const ROWS: usize = 1024;
/// About the bytes after which a batch ends.
const BYTES: usize = 1 << 20;

/// See the file header.
pub(super) struct Chunks {
    folder: PathBuf,
    columns: Vec<(String, Shape)>,
    /// Bytes that a null of each column takes beside its own.
    null_bytes: Vec<usize>,
    /// Rows of a chunk.
    size: u64,
    /// The number of the next chunk.
    next: u64,
    sink: Option<Sink>,
    /// Rows of the open chunk, with those that wait.
    rows: u64,
    waiting: Vec<Vec<Datum>>,
    bytes: usize,
}

impl Chunks {
    /// Of the rows that have these columns, in a folder that need not be there.
    pub(super) fn new(folder: PathBuf, columns: Vec<(String, Shape)>, size: u64) -> Chunks {
        Chunks {
            folder,
            waiting: vec![Vec::new(); columns.len()],
            null_bytes: (columns.iter().map(|(_, shape)| shape.kind().null_bytes())).collect(),
            columns,
            size,
            next: 0,
            sink: None,
            rows: 0,
            bytes: 0,
        }
    }

    /// Ends the open chunk; the next rows are chunks of another folder, numbered from 0.
    pub(super) fn begin(&mut self, folder: PathBuf) -> Result<()> {
        self.end()?;
        self.folder = folder;
        self.next = 0;
        Ok(())
    }

    /// Appends a row.
    pub(super) fn push(&mut self, row: impl IntoIterator<Item = Datum>) -> Result<()> {
        let columns = self.waiting.iter_mut().zip(&self.null_bytes);
        for ((column, null_bytes), datum) in columns.zip(row) {
            self.bytes += datum.bytes();
            if datum.is_null() {
                self.bytes += null_bytes;
            }
            column.push(datum);
        }
        self.rows += 1;
        let waiting = self.waiting.first().map_or(0, Vec::len);
        if self.rows == self.size {
            return self.end();
        }
        if waiting >= ROWS || self.bytes >= BYTES {
            return self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let count = self.waiting.first().map_or(0, Vec::len);
        if count == 0 {
            return Ok(());
        }
        let sink = match &mut self.sink {
            Some(sink) => sink,
            none => {
                fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder))?;
                let path = self.folder.join(chunk(self.next));
                let file = File::create_new(&path).map_err(Error::io(&path))?;
                let options = Options {
                    format: Some(Format::Parquet),
                    ..Options::default()
                };
                let columns = self.columns.clone();
                none.insert(Sink::create(
                    &path.to_string_lossy(),
                    file,
                    &options,
                    columns,
                )?)
            }
        };
        let cells = self.waiting.iter_mut();
        let cells: Vec<Cells> = cells
            .map(|data| Cells::Data(std::mem::take(data)))
            .collect();
        self.bytes = 0;
        Ok(sink.write(&cells, count)?)
    }

    /// Ends the open chunk.
    pub(super) fn end(&mut self) -> Result<()> {
        self.flush()?;
        self.rows = 0;
        if let Some(sink) = self.sink.take() {
            sink.finish()?;
            self.next += 1;
        }
        Ok(())
    }
}

/// A number of GraphAr's own: of a vertex, or of an edge.
pub(super) fn number(number: u64) -> Datum {
    Datum::Value(i64::try_from(number).unwrap_or(i64::MAX).into())
}

/// Writes a count, as eight bytes from the lowest on.
pub(super) fn write_count(path: &Path, count: u64) -> Result<()> {
    write(path, &count.to_le_bytes())
}

/// Writes a file, and the folders that it is in; it is on the disk then.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
    }
    let written = fs::write(path, bytes).and_then(|()| File::open(path)?.sync_all());
    written.map_err(Error::io(path))
}
