//! `LOAD CSV`: one row per record of a delimited file.
//!
//! # How it works
//! The file is read record by record, so its size does not matter; what gzip or zstd has packed is unpacked on the way. A
//! field may stand in double quotes; inside a doubled quote stands for one, a backslash before a quote or a backslash makes
//! it a plain character, and the field may span lines. Quotes and backslashes within other fields are text. An empty field
//! without quotes is null.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use graven_cypher::Span;
use graven_import::open_unpacked;

use super::fan_out::{FanOut, widen};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Rows};
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;
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
pub(crate) struct Slots {
    pub(crate) record: usize,
    /// Number of the line on which the record begins.
    pub(crate) line: Option<usize>,
    /// Path of the file.
    pub(crate) file: Option<usize>,
}

/// See the file header.
pub(crate) struct LoadCsv {
    input: FanOut,
    source: Source,
    slots: Slots,
    urls: Option<(Arc<Column>, Option<Arc<Column>>)>,
    records: Option<Records>,
}

impl LoadCsv {
    /// Reads into columns `slots`.
    pub(crate) fn new(input: BoxedOperator, source: Source, slots: Slots) -> Self {
        Self {
            input: FanOut::new(input),
            source,
            slots,
            urls: None,
            records: None,
        }
    }

    fn open(&self, row: usize, rt: &Runtime) -> Result<Records> {
        let (urls, terminators) = self.urls.as_ref().expect("set with the batch");
        let terminator = match terminators.as_ref().map(|c| c.value(row)) {
            None => ',',
            Some(Value::String(text)) if text.chars().count() == 1 => {
                text.chars().next().expect("one")
            }
            Some(other) => {
                let message = format!("FIELDTERMINATOR is one character, not {other}");
                return Err(ExecError::Argument { message });
            }
        };
        match urls.value(row) {
            Value::String(url) => {
                let folder = rt.folder.as_deref();
                Records::open(&url, folder, terminator, self.source.headers)
            }
            other => Err(ExecError::Type {
                message: format!("LOAD CSV reads a file named by a String, not {other}"),
            }),
        }
    }
}

impl Operator for LoadCsv {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
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
                self.records = Some(
                    self.open(row, rt)
                        .map_err(|error| error.at(self.source.at))?,
                );
            }
            let records = self.records.as_mut().expect("just opened");
            let (mut values, mut lines) = (Vec::new(), Vec::new());
            while values.len() < BATCH_ROWS {
                match records.next_value().map_err(|error| error.at(source.at))? {
                    Some(value) => values.push(value),
                    None => break,
                }
                lines.push(i64::try_from(records.first).unwrap_or(i64::MAX));
            }
            let file = Value::text(&records.path);
            let number = u32::try_from(row).expect("a batch is small");
            let rows = vec![number; values.len()];
            let batch = self.input.batch().clone();
            if values.len() < BATCH_ROWS {
                self.records = None;
                self.input.step();
            }
            if !values.is_empty() {
                let count = values.len();
                let mut added = vec![(self.slots.record, Column::from_values(values))];
                added.extend(self.slots.line.map(|slot| (slot, Column::Integers(lines))));
                let file = |slot| (slot, Column::Constant(file, count));
                added.extend(self.slots.file.map(file));
                return Ok(Some(widen(&batch, &rows, added)));
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.records = None;
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

/// The path of a URL, where `%20` stands for a blank.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let code = match (first, after) {
            (b'%', [high, low, ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

/// Records of one file.
struct Records {
    path: String,
    lines: BufReader<Box<dyn Read + Send>>,
    /// 1-based number of the line read last.
    line: u64,
    /// Number of the line on which the record read last begins.
    first: u64,
    terminator: char,
    headers: Option<Vec<Arc<str>>>,
}

impl Records {
    fn open(url: &str, folder: Option<&Path>, terminator: char, headers: bool) -> Result<Self> {
        let of_url = url.strip_prefix("file://");
        let path = match of_url.or_else(|| url.strip_prefix("file:")) {
            Some(path) => decoded(path),
            None => url.to_owned(),
        };
        if path.contains("://") {
            let message = format!("LOAD CSV reads local files only, not {url}");
            return Err(ExecError::Argument { message });
        }
        let place = folder.unwrap_or_else(|| Path::new("")).join(&path);
        let file = open_unpacked(&place).map_err(|e| ExecError::Argument {
            message: format!("LOAD CSV: {path}: cannot be opened: {e}"),
        })?;
        let mut records = Self {
            path,
            lines: BufReader::new(file),
            line: 0,
            first: 0,
            terminator,
            headers: None,
        };
        if headers {
            let names = records.record()?.unwrap_or_default();
            let text = |v: Value| match v {
                Value::String(text) => text,
                _ => Arc::from(""),
            };
            records.headers = Some(names.into_iter().map(text).collect());
        }
        Ok(records)
    }

    fn fault(&self, what: &str) -> ExecError {
        ExecError::Argument {
            message: format!("LOAD CSV: {}, line {}: {what}", self.path, self.line),
        }
    }

    /// The next record as the statement sees it.
    fn next_value(&mut self) -> Result<Option<Value>> {
        let Some(fields) = self.record()? else {
            return Ok(None);
        };
        Ok(Some(match &self.headers {
            None => Value::list(fields),
            Some(names) => {
                let mut fields = fields.into_iter();
                let entries = names.iter();
                let entries = entries.map(|n| (n.clone(), fields.next().unwrap_or_default()));
                Value::map(entries.filter(|(name, _)| !name.is_empty()).collect())
            }
        }))
    }

    /// The fields of the next record; blank lines are passed over.
    fn record(&mut self) -> Result<Option<Vec<Value>>> {
        let mut text = String::new();
        let (mut place, mut opened) = (Place::Start, 0);
        loop {
            let before = text.len();
            let read = self.lines.read_line(&mut text);
            self.line += 1;
            if before == 0 {
                self.first = self.line;
            }
            let read = read.map_err(|e| self.fault(&e.to_string()))?;
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
            if text.len() > RECORD_MAX {
                return Err(self.fault("the record is too long: is a quote missing?"));
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

    fn fields(&self, text: &str) -> Result<Vec<Value>> {
        let mut fields = Vec::new();
        let mut rest = text;
        loop {
            let (value, after) = match rest.strip_prefix('"') {
                Some(quoted) => self.quoted(quoted)?,
                None => {
                    let end = rest.find(self.terminator).unwrap_or(rest.len());
                    let value = match end {
                        0 => Value::Null,
                        _ => Value::text(&rest[..end]),
                    };
                    (value, &rest[end..])
                }
            };
            fields.push(value);
            match after.strip_prefix(self.terminator) {
                Some(more) => rest = more,
                None if after.is_empty() => return Ok(fields),
                None => return Err(self.fault("text follows a quoted field")),
            }
        }
    }

    /// A field whose opening quote has been read, and what follows it.
    fn quoted<'t>(&self, text: &'t str) -> Result<(Value, &'t str)> {
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
