//! Rows to a file.
//!
//! # How it works
//! The types of the columns are known before the first row ([`Shape`]). Parquet's row groups end
//! after so many rows, or as many bytes as the options say, so that a sink holds one group at most
//! ([`Sink::held`]); text goes through a buffer.
//! CSV that is written here is read back as it was with the declared kinds: a null is empty, an
//! empty text has quotes.
//!
//! # Invariants
//! * FI-9 What a [`Sink`] writes is read back equal with the kinds that the shapes say, in every
//!   format, for all storable values.
//! * FI-19 A sink holds what [`Sink::held`] says, at most about [`Options::group_bytes`], and while
//!   rows are written as many copies of them as [`Format::copies_written`].

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Field, Schema};
use graven_types::PropertyValue;
use graven_types::told;
use graven_types::vector::Number;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::arrow_out::{array, data_type, items, text_of};
use crate::datum::{Cells, Datum};
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::options::{Format, Options};
use crate::shape::Shape;

/// Bytes of a text from which on it is long.
const LONG_TEXT: usize = 64 << 10;
/// Bytes of text that wait to be written.
const BUFFER: usize = 256 << 10;
/// Rows after which a row group ends.
const GROUP_ROWS: usize = 122_880;
/// Bytes that the texts of one of Arrow's arrays can take: their places are signed 32-bit numbers.
const ARRAY_BYTES: usize = i32::MAX as usize;

/// Where the bytes of a file go.
pub trait Output: Write + Send {
    /// Brings all of them to where they last.
    ///
    /// # Errors
    /// No room, or no answer.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Output for File {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.sync_all()
    }
}

impl<T: Output + ?Sized> Output for Box<T> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        (*self).finish()
    }
}

/// A file to be written.
type Out = Box<dyn Output>;

enum To {
    Parquet(Box<ArrowWriter<Out>>, Arc<Schema>),
    Arrow(Box<FileWriter<BufWriter<Out>>>, Arc<Schema>),
    Csv(BufWriter<Out>, Marks),
    Json(BufWriter<Out>),
}

/// What stands between and around fields.
#[derive(Clone, Copy)]
struct Marks {
    delimiter: char,
    quote: char,
    /// Before a quote of the text, and before itself.
    escape: char,
}

/// See the file header.
pub struct Sink {
    name: String,
    columns: Vec<(String, Kind, Shape)>,
    to: To,
    /// Bytes after which a row group ends.
    group_bytes: usize,
    rows: u64,
}

/// How columns are written to Parquet. Of long texts there is neither a dictionary nor are there
/// statistics: these copy them, and say little about them.
fn properties(
    schema: &Schema,
    columns: &[(String, Kind, Shape)],
) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS));
    if columns
        .iter()
        .any(|(.., shape)| shape.longest() > LONG_TEXT)
    {
        let leaves = ArrowSchemaConverter::new().convert(schema)?;
        for (at, leaf) in leaves.columns().iter().enumerate() {
            let (.., shape) = &columns[leaves.get_column_root_idx(at)];
            if shape.longest() > LONG_TEXT {
                properties = properties
                    .set_column_dictionary_enabled(leaf.path().clone(), false)
                    .set_column_statistics_enabled(leaf.path().clone(), EnabledStatistics::None);
            }
        }
    }
    Ok(properties.build())
}

fn failed(name: &str, why: impl std::fmt::Display) -> Error {
    Error::File {
        file: name.to_owned(),
        why: told!("cannot be written: {why}"),
    }
}

impl Sink {
    /// Begins a file.
    ///
    /// # Errors
    /// A format that cannot be written; no room.
    pub fn create(
        name: &str,
        file: impl Output + 'static,
        options: &Options,
        columns: Vec<(String, Shape)>,
    ) -> Result<Sink> {
        let columns = columns
            .into_iter()
            .map(|(name, shape)| (name, shape.kind(), shape));
        let columns: Vec<(String, Kind, Shape)> = columns.collect();
        let schema = || {
            let fields = columns.iter();
            let fields =
                fields.map(|(name, kind, shape)| Field::new(name, data_type(kind, shape), true));
            Arc::new(Schema::new(fields.collect::<Vec<_>>()))
        };
        let format = options.format.or_else(|| Format::of_name(name));
        let file: Out = Box::new(file);
        let to = match format {
            Some(Format::Parquet) => {
                let schema = schema();
                let properties = properties(&schema, &columns).map_err(|e| failed(name, e))?;
                let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
                To::Parquet(Box::new(writer.map_err(|e| failed(name, e))?), schema)
            }
            Some(Format::Arrow) => {
                let schema = schema();
                let writer = FileWriter::try_new(BufWriter::new(file), &schema);
                To::Arrow(Box::new(writer.map_err(|e| failed(name, e))?), schema)
            }
            Some(Format::Csv) => {
                let delimiter = options.delimiter.unwrap_or(match name.ends_with(".tsv") {
                    true => '\t',
                    false => ',',
                });
                let quote = options.quote.unwrap_or('"');
                let marks = Marks {
                    delimiter,
                    quote,
                    escape: options.escape.unwrap_or(quote),
                };
                let mut file = BufWriter::with_capacity(BUFFER, file);
                if options.header != Some(false) {
                    let mut line = String::new();
                    for (at, (name, ..)) in columns.iter().enumerate() {
                        if at > 0 {
                            line.push(delimiter);
                        }
                        field(&mut line, name, marks);
                    }
                    line.push('\n');
                    file.write_all(line.as_bytes())
                        .map_err(|e| failed(name, e))?;
                }
                To::Csv(file, marks)
            }
            Some(Format::Json) => To::Json(BufWriter::with_capacity(BUFFER, file)),
            Some(Format::Npy) => {
                let message = told!("{name}: NumPy arrays are read, not written; write Parquet");
                return Err(Error::Option(message));
            }
            None => {
                return Err(Error::Option(told!(
                    "{name}: the name does not say what to write; end it in .parquet, .csv, .json \
                        or .arrow, or write (FORMAT = 'PARQUET')"
                )));
            }
        };
        Ok(Sink {
            name: name.to_owned(),
            columns,
            to,
            group_bytes: options.group_bytes,
            rows: 0,
        })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// No room.
    pub fn write(&mut self, columns: &[Cells], rows: usize) -> Result<()> {
        let name = &self.name;
        self.rows += rows as u64;
        let batch = |schema: &Arc<Schema>| {
            if let Some(((column, ..), cells)) =
                (self.columns.iter().zip(columns)).find(|(_, cells)| cells.bytes() > ARRAY_BYTES)
            {
                return Err(failed(
                    name,
                    format!(
                        "{rows} rows of the column {column} take {} bytes, and this format holds \
                            at most {ARRAY_BYTES} of them together; write CSV or JSON",
                        cells.bytes()
                    ),
                ));
            }
            let arrays = self
                .columns
                .iter()
                .zip(columns)
                .map(|((_, kind, shape), cells)| {
                    let data: Vec<Datum> = (0..rows).map(|row| cells.get(row)).collect();
                    array(&data.iter().collect::<Vec<_>>(), kind, shape)
                });
            RecordBatch::try_new(schema.clone(), arrays.collect()).map_err(|e| failed(name, e))
        };
        match &mut self.to {
            To::Parquet(writer, schema) => {
                let batch = batch(schema)?;
                writer.write(&batch).map_err(|e| failed(name, e))?;
                if writer.memory_size() > self.group_bytes {
                    writer.flush().map_err(|e| failed(name, e))?;
                }
            }
            To::Arrow(writer, schema) => {
                let batch = batch(schema)?;
                writer.write(&batch).map_err(|e| failed(name, e))?;
            }
            To::Csv(file, marks) => {
                let mut line = String::new();
                for row in 0..rows {
                    line.clear();
                    for (at, ((_, kind, _), cells)) in self.columns.iter().zip(columns).enumerate()
                    {
                        if at > 0 {
                            line.push(marks.delimiter);
                        }
                        let datum = cells.get(row);
                        if !datum.is_null() {
                            csv_value(&mut line, &datum, kind, *marks);
                        }
                    }
                    line.push('\n');
                    file.write_all(line.as_bytes())
                        .map_err(|e| failed(name, e))?;
                }
            }
            To::Json(file) => {
                for row in 0..rows {
                    json_line(file, columns, &self.columns, row).map_err(|e| failed(name, e))?;
                }
            }
        }
        Ok(())
    }

    /// About how many bytes it holds of rows that were written.
    #[must_use]
    pub fn held(&self) -> usize {
        match &self.to {
            To::Parquet(writer, _) => writer.memory_size(),
            To::Arrow(..) | To::Csv(..) | To::Json(_) => BUFFER,
        }
    }

    /// Ends the file and brings it to where it lasts; how many rows it has.
    ///
    /// # Errors
    /// No room.
    pub fn finish(self) -> Result<u64> {
        let name = self.name;
        let inner = |file: BufWriter<Out>| file.into_inner().map_err(|e| failed(&name, e.error()));
        let file = match self.to {
            To::Parquet(writer, _) => writer.into_inner().map_err(|e| failed(&name, e))?,
            To::Arrow(mut writer, _) => {
                writer.finish().map_err(|e| failed(&name, e))?;
                inner(writer.into_inner().map_err(|e| failed(&name, e))?)?
            }
            To::Csv(file, _) | To::Json(file) => inner(file)?,
        };
        file.finish().map_err(|e| failed(&name, e))?;
        Ok(self.rows)
    }
}

/// A row as an object, its values written as they are read.
fn json_line(
    file: &mut impl Write,
    cells: &[Cells],
    columns: &[(String, Kind, Shape)],
    row: usize,
) -> io::Result<()> {
    file.write_all(b"{")?;
    for (at, ((name, kind, _), cells)) in columns.iter().zip(cells).enumerate() {
        if at > 0 {
            file.write_all(b", ")?;
        }
        serde_json::to_writer(&mut *file, name)?;
        file.write_all(b": ")?;
        serde_json::to_writer(&mut *file, &AsJson(&cells.get(row), kind))?;
    }
    file.write_all(b"}\n")
}

/// A field of delimited text, in quotes where it needs them.
fn field(line: &mut String, text: &str, marks: Marks) {
    let special = |c: char| {
        matches!(c, '"' | '\n' | '\r') || [marks.delimiter, marks.quote, marks.escape].contains(&c)
    };
    line.reserve(text.len() + 2);
    let plain = !text.is_empty() && !text.contains(special) && text.trim() == text;
    if plain {
        return line.push_str(text);
    }
    line.push(marks.quote);
    for c in text.chars() {
        if c == marks.quote || c == marks.escape {
            line.push(marks.escape);
        }
        line.push(c);
    }
    line.push(marks.quote);
}

fn csv_value(line: &mut String, datum: &Datum, kind: &Kind, marks: Marks) {
    let text = match (datum, kind) {
        (Datum::Value(PropertyValue::Float(x)), Kind::Float) if x.is_nan() => "NaN".into(),
        (Datum::Value(PropertyValue::Float(x)), Kind::Float) if x.is_infinite() => {
            if *x > 0.0 { "Infinity" } else { "-Infinity" }.into()
        }
        (Datum::Value(PropertyValue::Integer(i)), Kind::Integer) => i.to_string().into(),
        (datum, kind) => text_of(datum, kind),
    };
    field(line, &text, marks);
}

/// A value as JSON has it in a column of this kind.
struct AsJson<'a>(&'a Datum, &'a Kind);

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        use PropertyValue as P;
        let AsJson(datum, kind) = *self;
        if datum.is_null() {
            return to.serialize_none();
        }
        match (datum, kind) {
            (datum, Kind::Any | Kind::Literal) => to.serialize_str(&text_of(datum, kind)),
            (Datum::Value(P::String(text)), _) => to.serialize_str(text),
            (Datum::Value(P::Boolean(b)), _) => to.serialize_bool(*b),
            (Datum::Value(P::Integer(i)), _) => to.serialize_i64(*i),
            (Datum::Value(P::Float(x)), _) if x.is_finite() => to.serialize_f64(*x),
            (Datum::Value(P::Float(x)), _) if x.is_nan() => to.serialize_str("NaN"),
            (Datum::Value(P::Float(x)), _) if *x > 0.0 => to.serialize_str("Infinity"),
            (Datum::Value(P::Float(_)), _) => to.serialize_str("-Infinity"),
            (Datum::Value(P::Point(point)), _) => {
                let mut entries = to.serialize_map(None)?;
                entries.serialize_entry("srid", &f64::from(point.srid))?;
                entries.serialize_entry("x", &point.x)?;
                entries.serialize_entry("y", &point.y)?;
                if let Some(z) = point.z {
                    entries.serialize_entry("z", &z)?;
                }
                entries.end()
            }
            (Datum::Value(P::Vector(vector)), _) => {
                let mut list = to.serialize_seq(Some(vector.dimension()))?;
                for number in vector.numbers() {
                    match number {
                        Number::Integer(integer) => list.serialize_element(&integer)?,
                        Number::Float(float) => list.serialize_element(&float)?,
                    }
                }
                list.end()
            }
            (Datum::Map(entries), _) => {
                let mut map = to.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(&**key, &AsJson(value, &Kind::of(value)))?;
                }
                map.end()
            }
            (Datum::Value(P::List(_)) | Datum::List(_), kind) => {
                let element = match kind {
                    Kind::List(element) => element,
                    _ => &Kind::Null,
                };
                let mut list = to.serialize_seq(None)?;
                for item in items(datum) {
                    list.serialize_element(&AsJson(&item, element))?;
                }
                list.end()
            }
            (datum, kind) => to.serialize_str(&text_of(datum, kind)),
        }
    }
}
