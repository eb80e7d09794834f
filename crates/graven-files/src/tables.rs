//! Parquet, Arrow's IPC and streams of Arrow: batches of columns, of which only those that are
//! wanted are read.
//!
//! # How it works
//! A Parquet file's row groups are passed over where the statistics of a column show that no value
//! in them can meet a condition ([`Bound`]). What a condition leaves is still to be filtered by
//! rows.
//!
//! # Invariants
//! * FI-4 A damaged file is an error: what the libraries panic about is caught.

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::arrow_in;
use crate::bound::Bound;
use crate::column::Column;
use crate::datum::{Cells, Datum};
use crate::error::{Error, Result};
use crate::options::Format;

/// A stream of Arrow's batches that a program hands over, to be read once.
#[derive(Clone)]
pub struct Frame {
    schema: SchemaRef,
    batches: Arc<Mutex<Option<Box<dyn RecordBatchReader + Send>>>>,
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.batches, &other.batches)
    }
}

impl Frame {
    /// Of these batches.
    #[must_use]
    pub fn new(batches: Box<dyn RecordBatchReader + Send>) -> Frame {
        Frame {
            schema: batches.schema(),
            batches: Arc::new(Mutex::new(Some(batches))),
        }
    }

    /// Its columns.
    ///
    /// # Errors
    /// A type that cannot be read.
    pub fn columns(&self) -> Result<Vec<Column>> {
        columns("the frame", &self.schema)
    }

    fn take(&self) -> Option<Box<dyn RecordBatchReader + Send>> {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        batches.take()
    }
}

fn columns(name: &str, schema: &SchemaRef) -> Result<Vec<Column>> {
    let columns = schema.fields().iter().map(|field| arrow_in::column(field));
    columns
        .collect::<Result<_, _>>()
        .map_err(|why| file_error(name, why))
}

fn file_error(name: &str, why: impl std::fmt::Display) -> Error {
    Error::File {
        file: name.to_owned(),
        why: why.to_string(),
    }
}

/// Runs what reads a file; a panic about what stands in it is an error.
fn guarded<T>(name: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(file_error(name, "is damaged: it cannot be decoded")))
}

/// The columns of a file, and its rows where it says so.
pub(crate) fn describe(
    name: &str,
    file: File,
    format: Format,
) -> Result<(Vec<Column>, Option<u64>)> {
    guarded(name, || match format {
        Format::Parquet => {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file);
            let builder = builder.map_err(|error| file_error(name, error))?;
            let rows = builder.metadata().file_metadata().num_rows();
            Ok((columns(name, builder.schema())?, u64::try_from(rows).ok()))
        }
        _ => Ok((columns(name, &ipc(name, file, None)?.schema())?, None)),
    })
}

/// The batches of an IPC file or stream.
fn ipc(
    name: &str,
    mut file: File,
    projection: Option<Vec<usize>>,
) -> Result<Box<dyn RecordBatchReader + Send>> {
    let mut magic = [0; 6];
    let io = |source| Error::Io {
        file: name.to_owned(),
        source,
    };
    let wrong = |error: ArrowError| file_error(name, format!("is no Arrow IPC file: {error}"));
    // Descriptors of one file share their place in it.
    file.rewind().map_err(io)?;
    let is_file = file.read_exact(&mut magic).is_ok() && magic == *b"ARROW1";
    file.rewind().map_err(io)?;
    let file = BufReader::with_capacity(256 << 10, file);
    Ok(match is_file {
        true => Box::new(FileReader::try_new(file, projection).map_err(wrong)?),
        false => Box::new(StreamReader::try_new(file, projection).map_err(wrong)?),
    })
}

enum Batches {
    Parquet(ParquetRecordBatchReader),
    Others(Box<dyn RecordBatchReader + Send>),
}

/// Batches of the wanted columns.
pub(crate) struct Tables {
    name: String,
    batches: Batches,
    /// The batch that is being handed out, and how many of its rows are.
    current: Option<(RecordBatch, usize)>,
    /// Place of each wanted column in the batches, and whether it holds UUIDs.
    places: Vec<(usize, bool)>,
    /// Rows of the batches before the current one.
    before: u64,
    held: usize,
    /// Row groups read and passed over.
    pub(crate) groups: (usize, usize),
}

impl Tables {
    pub(crate) fn open(
        name: &str,
        file: File,
        format: Format,
        (wanted, bounds): (&[String], &[Bound]),
        rows: usize,
    ) -> Result<Self> {
        guarded(name, || match format {
            Format::Parquet => Self::parquet(name, file, wanted, bounds, rows),
            _ => {
                let schema = ipc(
                    name,
                    file.try_clone().map_err(|e| file_error(name, e))?,
                    None,
                )?;
                let places = places(name, &schema.schema(), wanted)?;
                let projection = places.iter().map(|(at, _)| *at).collect();
                let batches = ipc(name, file, Some(projection))?;
                Self::of(name, Batches::Others(batches), wanted)
            }
        })
    }

    /// The tables of a frame, which may be read once.
    pub(crate) fn of_frame(name: &str, frame: &Frame, wanted: &[String]) -> Result<Self> {
        let taken = frame.take().ok_or_else(|| {
            file_error(
                name,
                "has been read before: a stream can be read once; give a new one",
            )
        })?;
        Self::of(name, Batches::Others(taken), wanted)
    }

    fn of(name: &str, batches: Batches, wanted: &[String]) -> Result<Self> {
        let schema = match &batches {
            Batches::Parquet(batches) => batches.schema(),
            Batches::Others(batches) => batches.schema(),
        };
        Ok(Tables {
            name: name.to_owned(),
            places: places(name, &schema, wanted)?,
            batches,
            current: None,
            before: 0,
            held: 0,
            groups: (0, 0),
        })
    }

    fn parquet(
        name: &str,
        file: File,
        wanted: &[String],
        bounds: &[Bound],
        rows: usize,
    ) -> Result<Self> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file);
        let builder = builder.map_err(|error| file_error(name, error))?;
        let places = places(name, builder.schema(), wanted)?;
        let all = builder.metadata().num_row_groups();
        let kept = kept_groups(&builder, bounds);
        let roots = places.iter().map(|(at, _)| *at);
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
        let held = kept.iter().map(|group| {
            let columns = builder
                .metadata()
                .row_group(*group)
                .columns()
                .iter()
                .enumerate();
            let read = columns.filter(|(leaf, _)| mask.leaf_included(*leaf));
            // A page is read at a time, packed and unpacked.
            read.map(|(_, c)| 2 * c.uncompressed_size().clamp(0, 1 << 20))
                .sum::<i64>()
        });
        let held = usize::try_from(held.max().unwrap_or(0)).unwrap_or(0);
        let groups = (kept.len(), all - kept.len());
        let batches = builder
            .with_row_groups(kept)
            .with_projection(mask)
            .with_batch_size(rows)
            .build()
            .map_err(|error| file_error(name, error))?;
        let mut tables = Self::of(name, Batches::Parquet(batches), wanted)?;
        tables.held = held;
        tables.groups = groups;
        Ok(tables)
    }

    /// About how many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        let current = self.current.as_ref();
        self.held + current.map_or(0, |(batch, _)| batch.get_array_memory_size())
    }

    fn advance(&mut self) -> Result<bool> {
        let name = self.name.clone();
        loop {
            if let Some((batch, done)) = &self.current {
                if *done < batch.num_rows() {
                    return Ok(true);
                }
                self.before += batch.num_rows() as u64;
                self.current = None;
            }
            let batches = &mut self.batches;
            let next = guarded(&name, || {
                let next = match batches {
                    Batches::Parquet(batches) => batches.next(),
                    Batches::Others(batches) => batches.next(),
                };
                next.transpose().map_err(|error| file_error(&name, error))
            })?;
            match next {
                None => return Ok(false),
                Some(batch) => self.current = Some((batch, 0)),
            }
        }
    }

    /// Up to so many rows; none at the end. Next to them the number of the row before the first.
    pub(crate) fn next(&mut self, rows: usize) -> Result<Option<(Vec<Cells>, usize, u64)>> {
        if !self.advance()? {
            return Ok(None);
        }
        let (batch, done) = self.current.as_mut().expect("advanced");
        let count = rows.min(batch.num_rows() - *done);
        let before = self.before + *done as u64;
        let part = batch.slice(*done, count);
        *done += count;
        let name = &self.name;
        let cells = self.places.iter().map(|(at, is_uuid)| {
            let array: &ArrayRef = part.column(*at);
            arrow_in::cells(array, *is_uuid).map_err(|(row, why)| {
                Error::from(crate::Fault {
                    file: name.clone(),
                    row: before + row as u64 + 1,
                    line: None,
                    column: Some(part.schema().field(*at).name().clone()),
                    value: None,
                    why,
                })
            })
        });
        let cells = guarded(&self.name, || cells.collect::<Result<Vec<_>>>())?;
        Ok(Some((cells, count, before)))
    }
}

fn places(name: &str, schema: &SchemaRef, wanted: &[String]) -> Result<Vec<(usize, bool)>> {
    let place = |column: &String| {
        let (at, field) = schema.column_with_name(column).ok_or_else(|| {
            let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            file_error(
                name,
                format!("has no column {column}; it has {}", names.join(", ")),
            )
        })?;
        Ok((at, field.extension_type_name() == Some("arrow.uuid")))
    };
    wanted.iter().map(place).collect()
}

/// Row groups in which values may meet all conditions.
fn kept_groups(builder: &ParquetRecordBatchReaderBuilder<File>, bounds: &[Bound]) -> Vec<usize> {
    let groups = builder.metadata().row_groups();
    let mut keeps = vec![true; groups.len()];
    for bound in bounds {
        let converter =
            StatisticsConverter::try_new(&bound.column, builder.schema(), builder.parquet_schema());
        let Ok(converter) = converter else {
            continue;
        };
        let values = |array: Result<ArrayRef, _>| -> Option<Cells> {
            let array: ArrayRef = array.ok()?;
            (array.len() == groups.len()).then_some(())?;
            arrow_in::cells(&array, false).ok()
        };
        let (Some(lowest), Some(highest)) = (
            values(converter.row_group_mins(groups)),
            values(converter.row_group_maxes(groups)),
        ) else {
            continue;
        };
        for (group, keep) in keeps.iter_mut().enumerate() {
            let (low, high): (Datum, Datum) = (lowest.get(group), highest.get(group));
            *keep &= bound.may_hold(&low, &high);
        }
    }
    (0..groups.len()).filter(|group| keeps[*group]).collect()
}
