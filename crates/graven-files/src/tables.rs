//! Parquet, Arrow's IPC and streams of Arrow: batches of columns, of which only those that are
//! wanted are read.
//!
//! # How it works
//! A record batch or a page is read as a whole where it fits the memory limit ([`ipc_size`],
//! [`crate::parquet_pages`]) and handed out in parts whose values take at most so many bytes. Texts
//! stay in the pages they stand in until then: a thousand rows may have the same large one.
//!
//! A Parquet file's row groups are passed over where the statistics of a column show that no value
//! in them can meet a condition ([`Bound`]). What a condition leaves is still to be filtered by
//! rows.
//!
//! # Invariants
//! * FI-4 A damaged file is an error: what the libraries panic about is caught.

use std::io::{BufReader, Seek as _};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use graven_types::told;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::ParquetMetaData;

use crate::arrow_in;
use crate::bound::Bound;
use crate::column::Column;
use crate::datum::{Cells, Datum};
use crate::error::{Error, Result};
use crate::ipc_blocks::Blocks;
use crate::ipc_size::{self, Refused, Summary};
use crate::options::Format;
use crate::parquet_pages::Pages;
use crate::ranges::{Cursor, Input};

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
    let why = why.to_string();
    // The libraries say so of what a file itself answers.
    let own = ["External: ", "Io error: "];
    let own = own.iter().find_map(|mark| why.split_once(mark));
    Error::File {
        file: name.to_owned(),
        why: own.map_or(why.as_str(), |(_, why)| why).to_owned(),
    }
}

/// Runs what reads a file; a panic about what stands in it is an error.
fn guarded<T>(name: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(file_error(name, "is damaged: it cannot be decoded")))
}

/// The columns of a file, and its rows where it says so; at most `limit` bytes are read at a time.
pub(crate) fn describe(
    name: &str,
    file: Input,
    format: Format,
    limit: usize,
) -> Result<(Vec<Column>, Option<u64>)> {
    guarded(name, || match format {
        Format::Parquet => {
            let builder = Pages::new(file, limit as u64).and_then(|pages| {
                pages.check_columns()?;
                ParquetRecordBatchReaderBuilder::try_new(pages)
            });
            let builder = builder.map_err(|error| file_error(name, error))?;
            let rows = builder.metadata().file_metadata().num_rows();
            Ok((columns(name, builder.schema())?, u64::try_from(rows).ok()))
        }
        _ => {
            let summary = ipc_summary(name, &file, limit)?;
            Ok((columns(name, &summary.schema)?, None))
        }
    })
}

/// Why an IPC file is not read.
fn ipc_refused(name: &str, refused: Refused) -> Error {
    match refused {
        Refused::Io(source) => Error::Io {
            file: name.to_owned(),
            source,
        },
        Refused::Why(why) => file_error(name, why),
    }
}

/// What an IPC file or stream says of itself.
fn ipc_summary(name: &str, file: &Input, limit: usize) -> Result<Summary> {
    let summary = ipc_size::summary(&mut Cursor::new(file.clone(), 0), limit as u64);
    summary.map_err(|refused| ipc_refused(name, refused))
}

/// The batches of an IPC file or stream, and the bytes that reading them takes, which may become
/// more.
fn ipc(
    name: &str,
    file: &Input,
    (summary, projection): (Summary, Vec<usize>),
    limit: usize,
) -> Result<(Box<dyn RecordBatchReader + Send>, Arc<AtomicU64>)> {
    let io = |source| Error::Io {
        file: name.to_owned(),
        source,
    };
    if summary.is_file {
        let blocks = Blocks::new(file.clone(), summary, projection.clone(), limit as u64);
        let (blocks, held) = blocks.map_err(|refused| ipc_refused(name, refused))?;
        let batches = FileReader::try_new(blocks, Some(projection));
        let batches = batches.map_err(|error| not_ipc(name, error))?;
        return Ok((Box::new(batches), held));
    }
    // Sizes stand all over a stream.
    let mut file = Cursor::new(Arc::new(file.local().map_err(io)?), 0);
    let held = ipc_size::held(&mut file, limit as u64);
    let held = held.map_err(|refused| ipc_refused(name, refused))?;
    file.rewind().map_err(io)?;
    let file = BufReader::with_capacity(256 << 10, file);
    let batches = StreamReader::try_new(file, Some(projection));
    let batches = batches.map_err(|error| not_ipc(name, error))?;
    Ok((Box::new(batches), Arc::new(AtomicU64::new(held))))
}

fn not_ipc(name: &str, error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => file_error(name, error),
        other => file_error(name, told!("is no Arrow IPC file: {other}")),
    }
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
    /// Bytes that reading takes, besides the current batch; or with it.
    held: usize,
    with_batch: Option<Arc<AtomicU64>>,
    /// Bytes that are read at a time, and that a row may take.
    limit: usize,
    /// Row groups read and passed over.
    pub(crate) groups: (usize, usize),
}

impl Tables {
    /// The tables of a file; at most `limit` bytes of it are read at a time.
    pub(crate) fn open(
        name: &str,
        file: Input,
        format: Format,
        (wanted, bounds): (&[String], &[Bound]),
        (rows, limit): (usize, usize),
    ) -> Result<Self> {
        guarded(name, || match format {
            Format::Parquet => Self::parquet(name, file, (wanted, bounds), (rows, limit)),
            _ => {
                let summary = ipc_summary(name, &file, limit)?;
                let places = places(name, &summary.schema, wanted)?;
                let projection = places.iter().map(|(at, _)| *at).collect();
                let (batches, held) = ipc(name, &file, (summary, projection), limit)?;
                let mut tables = Self::of(name, Batches::Others(batches), wanted, limit)?;
                tables.with_batch = Some(held);
                Ok(tables)
            }
        })
    }

    /// The tables of a frame, which may be read once.
    pub(crate) fn of_frame(
        name: &str,
        frame: &Frame,
        wanted: &[String],
        limit: usize,
    ) -> Result<Self> {
        let taken = frame.take().ok_or_else(|| {
            file_error(
                name,
                "has been read before: a stream can be read once; give a new one",
            )
        })?;
        Self::of(name, Batches::Others(taken), wanted, limit)
    }

    fn of(name: &str, batches: Batches, wanted: &[String], limit: usize) -> Result<Self> {
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
            with_batch: None,
            limit,
            groups: (0, 0),
        })
    }

    fn parquet(
        name: &str,
        file: Input,
        (wanted, bounds): (&[String], &[Bound]),
        (rows, limit): (usize, usize),
    ) -> Result<Self> {
        let failed = |error: parquet::errors::ParquetError| file_error(name, error);
        let mut pages = Pages::new(file, limit as u64).map_err(failed)?;
        pages.check_columns().map_err(failed)?;
        let found = ArrowReaderMetadata::load(&pages, ArrowReaderOptions::new());
        let found = found.map_err(failed)?;
        let places = places(name, found.schema(), wanted)?;
        let fields = places.iter().map(|(at, _)| found.schema().field(*at));
        pages.nested = fields.into_iter().any(|it| it.data_type().is_nested());
        let views = ArrowReaderOptions::new().with_schema(read_as(&found));
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), views);
        let metadata = metadata.map_err(failed)?;
        let announced = pages.clone();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(pages, metadata);
        let all = builder.metadata().num_row_groups();
        let kept = kept_groups(&builder, bounds);
        let roots = places.iter().map(|(at, _)| *at);
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
        announced.expect(&chunks(builder.metadata(), &kept, &mask));
        // Unpacked bytes of the wanted columns of each group.
        let sizes = |group: usize| {
            let columns = builder.metadata().row_group(group).columns();
            let read = columns.iter().enumerate();
            let read = read.filter(|(leaf, _)| mask.leaf_included(*leaf));
            let size = |it: i64| usize::try_from(it).unwrap_or(0);
            read.map(move |(_, it)| size(it.uncompressed_size()))
                .collect::<Vec<_>>()
        };
        // A page is read at a time, packed and unpacked.
        let held = |group: &usize| {
            let sizes = sizes(*group).into_iter();
            sizes.map(|bytes| 2 * bytes.min(1 << 20)).sum::<usize>()
        };
        let rows_of = |group: &usize| {
            let rows = builder.metadata().row_group(*group).num_rows();
            let rows = usize::try_from(rows).unwrap_or(0).max(1);
            let of_row = sizes(*group).into_iter().sum::<usize>() / rows;
            (limit / 2 / of_row.max(1)).max(1)
        };
        let held = kept.iter().map(held).max().unwrap_or(0);
        let rows = kept.iter().map(rows_of).min().unwrap_or(rows).min(rows);
        let groups = (kept.len(), all - kept.len());
        let batches = builder
            .with_row_groups(kept)
            .with_projection(mask)
            .with_batch_size(rows)
            .build()
            .map_err(failed)?;
        let mut tables = Self::of(name, Batches::Parquet(batches), wanted, limit)?;
        for ((_, is_uuid), (_, found)) in tables.places.iter_mut().zip(places) {
            *is_uuid = found;
        }
        tables.held = held;
        tables.groups = groups;
        Ok(tables)
    }

    /// About how many bytes it holds, with what is read next.
    pub(crate) fn held(&self) -> usize {
        let current = self.current.as_ref();
        let batch = current.map_or(0, |(batch, _)| batch.get_array_memory_size());
        match &self.with_batch {
            Some(held) => usize::try_from(held.load(Ordering::Relaxed)).unwrap_or(usize::MAX),
            // Half of it are unpacked pages, which texts of the batch may stand in.
            None => self.held.max(self.held / 2 + batch),
        }
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

    /// Up to so many rows of about so many bytes; none at the end. Next to them the number of the
    /// row before the first.
    pub(crate) fn next(
        &mut self,
        rows: usize,
        bytes: usize,
    ) -> Result<Option<(Vec<Cells>, usize, u64)>> {
        if !self.advance()? {
            return Ok(None);
        }
        let (batch, done) = self.current.as_mut().expect("advanced");
        let mut count = rows.min(batch.num_rows() - *done);
        let before = self.before + *done as u64;
        let mut part = batch.slice(*done, count);
        loop {
            let columns = self.places.iter().map(|(at, _)| part.column(*at));
            let takes = columns
                .map(arrow_in::bytes_of)
                .fold(0, usize::saturating_add);
            if takes <= bytes {
                break;
            }
            if count == 1 {
                // As an object of JSON, it may be larger than what is read at a time.
                let most = self.limit.saturating_mul(2).max(bytes);
                if takes > most {
                    return Err(file_error(
                        &self.name,
                        told!(
                            "row {}: its values take about {takes} bytes, and with this memory \
                                limit at most {most} are read; read fewer columns, or raise the \
                                memory limit",
                            before + 1
                        ),
                    ));
                }
                break;
            }
            let fits = (count as u128 * bytes as u128 / takes as u128) as usize;
            count = fits.clamp(1, count / 2);
            part = batch.slice(*done, count);
        }
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
                told!("has no column {column}; it has {}", names.join(", ")),
            )
        })?;
        Ok((at, field.extension_type_name() == Some("arrow.uuid")))
    };
    wanted.iter().map(place).collect()
}

/// For each leaf whether it has the old times of 96 bits, and Spark wrote the file. Their
/// nanoseconds reach from 1677 to 2262 only, and what lies beyond comes out as another time;
/// Spark's times have microseconds at most, and these reach all of its days. Other programs write
/// nanoseconds, which are kept.
fn times_of_spark(file: &ParquetMetaData) -> impl Iterator<Item = bool> {
    let file = file.file_metadata();
    let mut notes = file.key_value_metadata().into_iter().flatten();
    let by_spark = notes.any(|note| note.key.starts_with("org.apache.spark."));
    let leaves = file.schema_descr().columns().iter();
    leaves.map(move |leaf| by_spark && leaf.physical_type() == PhysicalType::INT96)
}

/// The schema by which a file is read: texts stay in the pages they stand in.
fn read_as(found: &ArrowReaderMetadata) -> SchemaRef {
    let (schema, mut coarse) = (found.schema(), times_of_spark(found.metadata()));
    let fields = schema.fields().iter();
    let fields: Vec<FieldRef> = fields.map(|field| view_of(field, &mut coarse)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A field as it is read; the leaves of the file come in the order of the fields.
fn view_of(field: &FieldRef, coarse: &mut dyn Iterator<Item = bool>) -> FieldRef {
    let ty = match field.data_type() {
        DataType::List(item) => DataType::List(view_of(item, coarse)),
        DataType::LargeList(item) => DataType::LargeList(view_of(item, coarse)),
        DataType::FixedSizeList(item, width) => {
            DataType::FixedSizeList(view_of(item, coarse), *width)
        }
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| view_of(field, coarse));
            DataType::Struct(fields.collect())
        }
        DataType::Map(entries, sorted) => DataType::Map(view_of(entries, coarse), *sorted),
        leaf => match (leaf, coarse.next()) {
            (DataType::Utf8 | DataType::LargeUtf8, _) => DataType::Utf8View,
            (DataType::Binary | DataType::LargeBinary, _) => DataType::BinaryView,
            (DataType::Timestamp(TimeUnit::Nanosecond, None), Some(true)) => {
                DataType::Timestamp(TimeUnit::Microsecond, None)
            }
            _ => return Arc::clone(field),
        },
    };
    Arc::new(Field::clone(field).with_data_type(ty))
}

/// The column chunks that are read of each row group.
fn chunks(file: &ParquetMetaData, groups: &[usize], mask: &ProjectionMask) -> Vec<Vec<Range<u64>>> {
    let of_group = |group: &usize| {
        let columns = file.row_group(*group).columns().iter().enumerate();
        let read = columns.filter(|(leaf, _)| mask.leaf_included(*leaf));
        read.map(|(_, column)| {
            let (start, length) = column.byte_range();
            start..start.saturating_add(length)
        })
        .collect()
    };
    groups.iter().map(of_group).collect()
}

/// Row groups in which values may meet all conditions.
fn kept_groups(builder: &ParquetRecordBatchReaderBuilder<Pages>, bounds: &[Bound]) -> Vec<usize> {
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
