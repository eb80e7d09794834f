//! `LOAD CSV`: one row per record of a delimited file.
//!
//! # How it works
//! A record ends with a line feed, a carriage return, or both. The file is read record by record,
//! so its size does not matter; a record is charged as it is read, and a batch of large records has
//! few rows. What gzip or zstd has packed is unpacked on the way. A field may stand in double
//! quotes; inside a doubled quote stands for one, a backslash before a quote or a backslash makes
//! it a plain character, and the field may span lines. Quotes and backslashes within other fields
//! are text. An empty field without quotes is null; in the header it is the empty name.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use graven_cypher::Span;
use graven_files::{Cursor, Error, Format, Input};
use graven_import::unpacked;
use graven_types::told;

use super::row_expander::{RowExpander, gather_with};
use crate::batch::Batch;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Rows};
use crate::growth::{Items, Share, ask, charge, work};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::sources::{Inputs, Reach};
use crate::value::Value;

/// Longest record, in bytes.
const RECORD_MAX: usize = 16 << 20;

/// What is read and how.
pub(crate) struct Source {
    pub(crate) url: Compiled,
    pub(crate) headers: bool,
    pub(crate) terminator: Option<Compiled>,
    /// Where the file's name stands in the text.
    pub(crate) at: Span,
}

/// Columns that are filled.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    pub(crate) record: usize,
    /// Number of the line on which the record begins.
    pub(crate) line: Option<usize>,
    /// Path of the file.
    pub(crate) file: Option<usize>,
}

/// See the file header.
pub(crate) struct LoadCsv {
    input: RowExpander,
    source: Arc<Source>,
    slots: Slots,
    urls: Option<(Arc<Column>, Option<Arc<Column>>)>,
    records: Option<Records>,
    /// The records handed out last.
    memory: Memory,
    /// The names of the fields.
    names: Memory,
}

impl LoadCsv {
    /// Reads into columns `slots`.
    pub(crate) fn new(
        input: BoxedOperator,
        source: Arc<Source>,
        slots: Slots,
        rt: &QueryContext,
    ) -> Self {
        Self {
            input: RowExpander::new(input),
            source,
            slots,
            urls: None,
            records: None,
            memory: Memory::new(&rt.budget, "LoadCsv", "read shorter records"),
            names: Memory::new(&rt.budget, "LoadCsv", "read records of fewer fields"),
        }
    }

    fn open(&self, row: usize, rt: &QueryContext) -> Result<Records> {
        let (urls, terminators) = self.urls.as_ref().expect("set with the batch");
        let terminator = match terminators.as_ref().map(|c| c.value(row)) {
            None => ',',
            Some(Value::String(text)) if text.chars().count() == 1 => {
                text.chars().next().expect("one")
            }
            Some(other) => {
                let message = told!("FIELDTERMINATOR is one character, not {other}");
                return Err(ExecError::Argument { message });
            }
        };
        match urls.value(row) {
            Value::String(url) => {
                let patience = rt.patience();
                let reach = rt.reach(&patience);
                let opened = Records::open(&url, &reach, terminator, self.source.headers);
                rt.unless_ended(opened)
            }
            other => Err(ExecError::Type {
                message: told!("LOAD CSV reads a file named by a String, not {other}"),
            }),
        }
    }
}

impl PhysicalOperator for LoadCsv {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            let (source, urls) = (&self.source, &mut self.urls);
            if !self.input.advance(rt, |batch| {
                let terminator = source.terminator.as_ref();
                let terminator = terminator.map(|t| t.column(Rows::all(batch), rt));
                *urls = Some((
                    source.url.column(Rows::all(batch), rt)?,
                    terminator.transpose()?,
                ));
                Ok(())
            })? {
                return Ok(None);
            }
            rt.check_cancelled()?;
            let row = self.input.row();
            if self.records.is_none() {
                let _entered = rt.growth.enter();
                let held = rt.growth.held();
                let opened = self.open(row, rt);
                rt.growth.keep(held)?;
                let records = opened.map_err(|error| error.at(self.source.at))?;
                self.names.set(records.bytes_of_headers())?;
                self.records = Some(records);
            }
            let records = self.records.as_mut().expect("just opened");
            let (mut values, mut lines) = (Vec::new(), Vec::new());
            self.memory.clear();
            let taken = records.take(&mut values, &mut lines, rt);
            let at_end = rt
                .unless_ended(taken)
                .map_err(|error| error.at(source.at))?;
            let mut share = Share::default();
            let bytes = values.iter().map(|value| share.of(value)).sum::<usize>();
            let held = records.input.held() + size_of_val(&values[..]);
            self.memory.set(bytes + held)?;
            let file = Value::text(&records.path);
            let number = u32::try_from(row).expect("a batch is small");
            let rows = vec![number; values.len()];
            let batch = self.input.batch().clone();
            if at_end {
                self.records = None;
                self.input.step();
            }
            if !values.is_empty() {
                let count = values.len();
                let mut added = vec![(self.slots.record, Column::from_values(values))];
                added.extend(self.slots.line.map(|slot| (slot, Column::Integers(lines))));
                let file = |slot| (slot, Column::Constant(file, count));
                added.extend(self.slots.file.map(file));
                return Ok(Some(gather_with(&batch, &rows, added)));
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.records = None;
        self.memory.clear();
    }
}

/// Where in a record a character stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the beginning of a field.
    Start,
    Plain,
    Quoted,
    /// Behind a backslash within quotes.
    Escaped,
    /// Behind the closing quote of a field, or the first of two quotes within it.
    Closed,
}

impl Place {
    fn after(self, c: char, terminator: char) -> Self {
        match self {
            Self::Quoted if c == '"' => Self::Closed,
            Self::Quoted if c == '\\' => Self::Escaped,
            Self::Quoted | Self::Escaped => Self::Quoted,
            Self::Start | Self::Closed if c == '"' => Self::Quoted,
            _ if c == terminator => Self::Start,
            Self::Closed => Self::Closed,
            _ => Self::Plain,
        }
    }
}

/// Records of one file.
struct Records {
    path: String,
    input: Input,
    lines: BufReader<Box<dyn Read + Send>>,
    /// 1-based number of the line read last.
    line: u64,
    /// Number of the line on which the record read last begins.
    first: u64,
    terminator: char,
    headers: Option<Vec<Arc<str>>>,
}

/// A file that cannot be had.
fn unreadable(message: String) -> ExecError {
    ExecError::Named {
        kind: "ArgumentError",
        detail: "FileNotReadable",
        message,
    }
}

impl Records {
    fn open(url: &str, reach: &Reach<'_>, terminator: char, headers: bool) -> Result<Self> {
        let cannot = |path: &str, why: &dyn std::fmt::Display| {
            format!("LOAD CSV: {path}: cannot be opened: {why}")
        };
        let (path, input) = Inputs::of(reach, Some(Format::Csv))
            .one(url)
            .map_err(|error| match error {
                Error::Forbidden { file, why } => ExecError::Forbidden {
                    message: cannot(&file, &why),
                },
                Error::Io { file, source } => unreadable(cannot(&file, &source)),
                Error::File { file, why } => unreadable(cannot(&file, &why)),
                other => unreadable(told!("LOAD CSV: {other}")),
            })?;
        let file = unpacked(Cursor::new(input.clone(), 0));
        let file = file.map_err(|e| unreadable(cannot(&path, &e)))?;
        let mut records = Self {
            path,
            input,
            lines: BufReader::new(file),
            line: 0,
            first: 0,
            terminator,
            headers: None,
        };
        if headers {
            let names = records.record()?.unwrap_or_default().into_items();
            let text = |v: Value| match v {
                Value::String(text) => text,
                _ => Arc::from(""),
            };
            records.headers = Some(names.into_iter().map(text).collect());
        }
        Ok(records)
    }

    /// Heap bytes of the names of the fields.
    fn bytes_of_headers(&self) -> usize {
        /// Of the name's place and its allocation.
        const PLACE: usize = 48;
        let names = self.headers.iter().flatten();
        names.map(|name| PLACE + name.len()).sum()
    }

    fn fault(&self, what: &str) -> ExecError {
        ExecError::Argument {
            message: told!("LOAD CSV: {}, line {}: {what}", self.path, self.line),
        }
    }

    /// Adds the records of a batch, and the lines on which they begin; whether the file is at its
    /// end.
    fn take(
        &mut self,
        values: &mut Vec<Value>,
        lines: &mut Vec<i64>,
        rt: &QueryContext,
    ) -> Result<bool> {
        let _entered = rt.growth.enter();
        let held = rt.growth.held();
        let mut share = 0;
        let mut take = || {
            while values.len() < rt.batch_rows() && share < rt.batch_bytes() as u64 {
                let Some(value) = self.next_value()? else {
                    return Ok(true);
                };
                // The text of the record is gone.
                share += Share::default().of(&value) as u64;
                rt.growth.keep(held + share)?;
                rt.growth.work(1)?;
                values.push(value);
                lines.push(i64::try_from(self.first).unwrap_or(i64::MAX));
            }
            Ok(false)
        };
        let taken = take();
        rt.growth.keep(held)?;
        taken
    }

    /// The next record as the statement sees it.
    fn next_value(&mut self) -> Result<Option<Value>> {
        let Some(fields) = self.record()? else {
            return Ok(None);
        };
        Ok(Some(match &self.headers {
            None => fields.value()?,
            Some(names) => {
                charge(
                    names
                        .len()
                        .saturating_mul(2 * size_of::<(Arc<str>, Value)>()),
                )?;
                let mut fields = fields.into_items().into_iter();
                let entries = names.iter();
                let entries = entries.map(|n| (n.clone(), fields.next().unwrap_or_default()));
                Value::map(entries.collect())
            }
        }))
    }

    /// The fields of the next record; blank lines are passed over.
    fn record(&mut self) -> Result<Option<Items>> {
        let mut text = String::new();
        let (mut place, mut opened) = (Place::Start, 0);
        loop {
            let before = text.len();
            let read = self.line_onto(&mut text)?;
            self.line += 1;
            if before == 0 {
                self.first = self.line;
            }
            let read = read.map_err(|e| self.fault(&e))?;
            if self.line == 1 && text.starts_with('\u{feff}') {
                text.remove(0);
            }
            for c in text[before.min(text.len())..].chars() {
                let next = place.after(c, self.terminator);
                if next == Place::Quoted && place == Place::Start {
                    opened = self.line;
                }
                place = next;
            }
            let open = matches!(place, Place::Quoted | Place::Escaped);
            if read == 0 && open {
                self.line = opened;
                return Err(self.fault("a quoted field begins here and does not end"));
            }
            if read == 0 && before == 0 {
                return Ok(None);
            }
            if open {
                continue;
            }
            place = Place::Start;
            if text.trim_end_matches(['\r', '\n']).is_empty() {
                text.clear();
                continue;
            }
            return self.fields(text.trim_end_matches(['\r', '\n'])).map(Some);
        }
    }

    /// Adds the next line to the text, and says how many bytes that were; the inner error says what
    /// is wrong with them.
    fn line_onto(&mut self, text: &mut String) -> Result<Result<usize, String>> {
        const NO_TEXT: &str = "stream did not contain valid UTF-8";
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let more = match self.lines.fill_buf() {
                Ok(more) => more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Err(error.to_string())),
            };
            let end = more.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &more[..end.map_or(more.len(), |at| at + 1)];
            let wanted = bytes.len() + part.len();
            if text.len() + wanted > RECORD_MAX {
                return Ok(Err("the record is too long: is a quote missing?".to_owned()));
            }
            if wanted > bytes.capacity() {
                let room = wanted.max(2 * bytes.capacity());
                charge(room - bytes.capacity())?;
                bytes.reserve_exact(room - bytes.len());
            }
            work(1 + part.len() / 256)?;
            bytes.extend_from_slice(part);
            let taken = part.len();
            self.lines.consume(taken);
            if end.is_some() || taken == 0 {
                break;
            }
        }
        if bytes.ends_with(b"\r") {
            match self.lines.fill_buf() {
                Ok(more) if more.starts_with(b"\n") => {
                    bytes.push(b'\n');
                    self.lines.consume(1);
                }
                Ok(_) => {}
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
        let read = bytes.len();
        let Ok(line) = String::from_utf8(bytes) else {
            return Ok(Err(NO_TEXT.to_owned()));
        };
        if text.is_empty() {
            *text = line;
        } else {
            let wanted = text.len() + line.len();
            if wanted > text.capacity() {
                charge(wanted.max(2 * text.capacity()) - text.capacity())?;
            }
            text.push_str(&line);
        }
        Ok(Ok(read))
    }

    fn fields(&self, text: &str) -> Result<Items> {
        let mut fields = Items::default();
        let mut rest = text;
        loop {
            let (value, after) = match rest.strip_prefix('"') {
                Some(quoted) => self.quoted(quoted)?,
                None => {
                    let end = rest.find(self.terminator).unwrap_or(rest.len());
                    let value = match end {
                        0 => Value::Null,
                        _ => {
                            ask(end)?;
                            Value::text(&rest[..end])
                        }
                    };
                    (value, &rest[end..])
                }
            };
            fields.push(value)?;
            match after.strip_prefix(self.terminator) {
                Some(more) => rest = more,
                None if after.is_empty() => return Ok(fields),
                None => return Err(self.fault("text follows a quoted field")),
            }
        }
    }

    /// A field whose opening quote has been read, and what follows it.
    fn quoted<'t>(&self, text: &'t str) -> Result<(Value, &'t str)> {
        ask(text.len())?;
        let mut value = String::new();
        let mut rest = text;
        loop {
            let Some(end) = rest.find(['"', '\\']) else {
                return Err(self.fault("a quoted field does not end"));
            };
            value.push_str(&rest[..end]);
            let is_backslash = rest[end..].starts_with('\\');
            rest = &rest[end + 1..];
            if is_backslash {
                let plain = rest.chars().next().filter(|c| matches!(c, '"' | '\\'));
                value.push(plain.unwrap_or('\\'));
                rest = &rest[plain.map_or(0, char::len_utf8)..];
                continue;
            }
            match rest.strip_prefix('"') {
                Some(more) => {
                    value.push('"');
                    rest = more;
                }
                None => return Ok((Value::text(&value), rest)),
            }
        }
    }
}
