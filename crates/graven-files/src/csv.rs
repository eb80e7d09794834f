//! Delimited text: what it is, found out from its beginning, and its records.
//!
//! # How it works
//! The file is read in blocks; a record is its bytes and the places of its fields, so nothing is
//! copied before a value is made. Delimiter, header and kinds come from the first records
//! ([`Options::sample`]), of at most [`SAMPLE_BYTES`]: the delimiter by which most records have the
//! same number of fields, more than one; a header where the first record is of texts only that are
//! unlike each other, or, where columns are declared, that has one of their names in its place. A
//! field is null where it is empty and has no quotes.
//!
//! # Invariants
//! * FI-2 A record longer than [`Options::record_bytes`], or of more than [`COLUMNS_MAX`] fields,
//!   is an error: memory stays bounded, whatever the file.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;

use crate::cast::{kind_of_text, of_text};
use crate::column::{AS_LIST, COLUMNS_MAX, Column};
use crate::datum::Datum;
use crate::error::{Error, Fault, Result};
use crate::kind::Kind;
use crate::options::Options;

/// Bytes looked at to find out delimiter and types.
const SAMPLE_BYTES: usize = 4 << 20;
/// Bytes read at a time.
const BLOCK: usize = 256 << 10;
/// What may stand between fields, the likelier first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How the file is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    pub(crate) quote: u8,
    pub(crate) escape: Option<u8>,
    pub(crate) header: bool,
    pub(crate) skip: u64,
    pub(crate) nulls: Vec<String>,
    /// Longest record.
    pub(crate) record_bytes: usize,
}

impl Dialect {
    fn of(options: &Options) -> Dialect {
        let byte = |c: char| u8::try_from(c).unwrap_or(b',');
        Dialect {
            delimiter: options.delimiter.map_or(b',', byte),
            quote: byte(options.quote),
            escape: options.escape.map(byte),
            header: options.header.unwrap_or(false),
            skip: options.skip,
            nulls: options.nulls.clone(),
            record_bytes: options.record_bytes,
        }
    }
}

/// A field of a record: where it lies, and whether it stood in quotes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    place: Range<usize>,
    quoted: bool,
    /// Quotes or escapes within it are doubled.
    escaped: bool,
}

/// Records of a file.
pub(crate) struct Records {
    name: String,
    input: Box<dyn Read + Send>,
    dialect: Dialect,
    block: Vec<u8>,
    /// Where in the block the next record begins.
    at: usize,
    ended: bool,
    /// Whether a blank line is a record.
    keeps_blank: bool,
    /// Number of the line that is read next.
    line: u64,
    pub(crate) fields: Vec<Field>,
    /// Line on which the last record begins.
    pub(crate) first: u64,
}

impl Records {
    /// Those of a file.
    pub(crate) fn open(name: &str, file: File, dialect: Dialect) -> Result<Self> {
        let io = |source| Error::Io {
            file: name.to_owned(),
            source,
        };
        let mut records = Records {
            name: name.to_owned(),
            input: graven_import::unpacked(file).map_err(io)?,
            dialect,
            block: Vec::new(),
            at: 0,
            ended: false,
            keeps_blank: false,
            line: 1,
            fields: Vec::new(),
            first: 1,
        };
        records.more().map_err(io)?;
        match records.block.as_slice() {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                return Err(Error::File {
                    file: name.to_owned(),
                    why: "is UTF-16 text: convert it to UTF-8".to_owned(),
                });
            }
            [0xef, 0xbb, 0xbf, ..] => records.at = 3,
            _ => {}
        }
        for _ in 0..records.dialect.skip {
            if !records.pass_line()? {
                break;
            }
        }
        Ok(records)
    }

    /// Reads more behind what is there; false at the end.
    fn more(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.block.drain(..self.at);
        self.at = 0;
        let before = self.block.len();
        self.block.resize(before + BLOCK, 0);
        let mut filled = before;
        while filled < self.block.len() {
            match self.input.read(&mut self.block[filled..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.block.truncate(filled);
        Ok(filled > before)
    }

    fn fill(&mut self) -> Result<bool> {
        let longest = self.dialect.record_bytes;
        if self.block.len() - self.at > longest {
            let why = format!(
                "the record is longer than {longest} bytes: is a quote missing? A higher memory \
                    limit takes longer ones"
            );
            return Err(self.fault(&why).into());
        }
        self.more().map_err(|source| Error::Io {
            file: self.name.clone(),
            source,
        })
    }

    fn fault(&self, why: &str) -> Fault {
        Fault {
            file: self.name.clone(),
            row: 0,
            line: Some(self.line),
            column: None,
            value: None,
            why: why.to_owned(),
        }
    }

    fn pass_line(&mut self) -> Result<bool> {
        loop {
            let rest = &self.block[self.at..];
            if let Some(end) = rest.iter().position(|b| *b == b'\n') {
                self.at += end + 1;
                self.line += 1;
                return Ok(true);
            }
            if !self.fill()? {
                self.at = self.block.len();
                return Ok(false);
            }
        }
    }

    /// Goes to the next record; blank lines are passed over, but in a file of one column, where
    /// they are nulls. False at the end.
    pub(crate) fn next(&mut self) -> Result<bool> {
        loop {
            match self.scan()? {
                None => return Ok(false),
                Some(lines) => {
                    self.first = self.line;
                    self.line += lines;
                    let [only] = self.fields.as_slice() else {
                        return Ok(true);
                    };
                    if !only.place.is_empty() || only.quoted || self.keeps_blank {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Finds the fields of the record that begins here; how many lines it takes, none at the end of
    /// the file.
    fn scan(&mut self) -> Result<Option<u64>> {
        loop {
            if self.at == self.block.len() && !self.fill()? {
                return Ok(None);
            }
            if let Some(lines) = self.scan_block()? {
                return Ok(Some(lines));
            }
            if !self.fill()? {
                // The last line has no end: one is put there.
                self.block.push(b'\n');
            }
        }
    }

    fn scan_block(&mut self) -> Result<Option<u64>> {
        let (delimiter, quote) = (self.dialect.delimiter, self.dialect.quote);
        let escape = self.dialect.escape.unwrap_or(quote);
        let bytes = &self.block;
        let mut fields = std::mem::take(&mut self.fields);
        fields.clear();
        let (mut at, mut lines) = (self.at, 1);
        let end = loop {
            let mut start = at;
            let (mut quoted, mut escaped) = (false, false);
            let stop = if bytes.get(at) == Some(&quote) {
                quoted = true;
                start += 1;
                at += 1;
                let close = loop {
                    let Some(byte) = bytes.get(at) else {
                        self.fields = fields;
                        if self.ended {
                            return Err(self
                                .fault("a quoted field begins here and does not end")
                                .into());
                        }
                        return Ok(None);
                    };
                    match *byte {
                        b if b == escape && b != quote => {
                            escaped = true;
                            at += 2;
                        }
                        b if b == quote => match bytes.get(at + 1) {
                            Some(next) if *next == quote => {
                                escaped = true;
                                at += 2;
                            }
                            None if !self.ended => {
                                self.fields = fields;
                                return Ok(None);
                            }
                            _ => break at,
                        },
                        b'\n' => {
                            lines += 1;
                            at += 1;
                        }
                        _ => at += 1,
                    }
                };
                at = close + 1;
                close
            } else {
                usize::MAX
            };
            // To the delimiter or the end of the line.
            let rest = &bytes[at.min(bytes.len())..];
            let found = rest
                .iter()
                .position(|b| *b == delimiter || *b == b'\n' || *b == b'\r');
            let Some(found) = found else {
                self.fields = fields;
                return Ok(None);
            };
            let behind = at + found;
            if quoted && found > 0 && !rest[..found].iter().all(|b| *b == b' ') {
                self.fields = fields;
                self.line += lines - 1;
                return Err(self.fault("text follows a closing quote").into());
            }
            if fields.len() == COLUMNS_MAX {
                self.fields = fields;
                let why = format!("the record has more than {COLUMNS_MAX} fields; {AS_LIST}");
                return Err(self.fault(&why).into());
            }
            let place = start..stop.min(behind);
            fields.push(Field {
                place,
                quoted,
                escaped,
            });
            match bytes[behind] {
                b if b == delimiter => at = behind + 1,
                b'\r' => match bytes.get(behind + 1) {
                    Some(b'\n') => break behind + 2,
                    None if !self.ended => {
                        self.fields = fields;
                        return Ok(None);
                    }
                    _ => break behind + 1,
                },
                _ => break behind + 1,
            }
        };
        self.at = end;
        self.fields = fields;
        Ok(Some(lines))
    }

    /// Text of a field of the last record; none for null.
    pub(crate) fn text(&self, field: usize) -> Result<Option<std::borrow::Cow<'_, str>>, String> {
        let Some(field) = self.fields.get(field) else {
            return Ok(None);
        };
        let bytes = &self.block[field.place.clone()];
        let text = std::str::from_utf8(bytes).map_err(|_| "is no UTF-8 text".to_owned())?;
        if !field.quoted && (text.is_empty() || self.dialect.nulls.iter().any(|n| n == text)) {
            return Ok(None);
        }
        if !field.escaped {
            return Ok(Some(text.into()));
        }
        let (quote, escape) = (self.dialect.quote, self.dialect.escape);
        let mut plain = String::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let doubled = c == char::from(quote) && chars.peek() == Some(&c);
            if doubled || Some(c) == escape.map(char::from) {
                plain.extend(chars.next());
            } else {
                plain.push(c);
            }
        }
        Ok(Some(plain.into()))
    }

    /// About how many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        self.block.capacity() + 32 * self.fields.capacity()
    }
}

/// What the beginning of a file shows: how it is written, and its columns.
pub(crate) fn sniff(
    name: &str,
    open: &dyn Fn() -> Result<File>,
    options: &Options,
    declared: Option<&[Column]>,
) -> Result<(Dialect, Vec<Column>)> {
    let mut dialect = Dialect::of(options);
    if options.delimiter.is_none() {
        dialect.delimiter = delimiter(name, open, &dialect)?;
    }
    let mut records = Records::open(name, open()?, dialect.clone())?;
    let mut rows: Vec<Vec<Option<String>>> = Vec::new();
    let mut bytes = 0;
    let sample_bytes = SAMPLE_BYTES.min(options.record_bytes);
    while rows.len() < options.sample && bytes < sample_bytes && records.next()? {
        let row = (0..records.fields.len()).map(|field| {
            let text = records.text(field).unwrap_or_default();
            text.map(|text| text.into_owned())
        });
        rows.push(row.collect());
        bytes += rows.last().map_or(0, |row| {
            size_of_val(&**row) + row.iter().flatten().map(String::len).sum::<usize>()
        });
    }
    dialect.header = match (options.header, rows.first()) {
        (Some(header), _) => header,
        (None, None) => false,
        (None, Some(first)) => match declared {
            Some(declared) => names_some(first, declared),
            None => has_names(first, rows.get(1..).unwrap_or_default()),
        },
    };
    let names = match dialect.header {
        true if !rows.is_empty() => rows.remove(0),
        _ => Vec::new(),
    };
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = if names.is_empty() { width } else { names.len() };
    let columns = (0..width).map(|at| {
        let named = names.get(at).cloned().flatten();
        let mut kind = Kind::Null;
        for text in rows.iter().filter_map(|row| row.get(at)?.as_deref()) {
            kind = both(kind, kind_of_text(text));
            if kind == Kind::String {
                break;
            }
        }
        Column {
            name: named.unwrap_or_else(|| format!("column{at}")),
            kind: if kind == Kind::Null {
                Kind::String
            } else {
                kind
            },
        }
    });
    Ok((dialect, columns.collect()))
}

/// What texts of either kind can be read as.
fn both(a: Kind, b: Kind) -> Kind {
    match (a, b) {
        (Kind::Null, kind) | (kind, Kind::Null) => kind,
        (a, b) if a == b => a,
        (Kind::Integer, Kind::Float) | (Kind::Float, Kind::Integer) => Kind::Float,
        (Kind::Date, Kind::LocalDateTime) | (Kind::LocalDateTime, Kind::Date) => {
            Kind::LocalDateTime
        }
        _ => Kind::String,
    }
}

/// Whether the first record holds names: texts that differ, and no value of another kind.
/// Whether a declared column has its name in its place, in whatever case.
fn names_some(first: &[Option<String>], declared: &[Column]) -> bool {
    let mut pairs = first.iter().zip(declared);
    pairs.any(|(text, column)| {
        let text = text.as_deref();
        text.is_some_and(|text| text.trim().eq_ignore_ascii_case(&column.name))
    })
}

fn has_names(first: &[Option<String>], rows: &[Vec<Option<String>>]) -> bool {
    let named = |text: &Option<String>| {
        let text = text.as_deref();
        text.is_some_and(|text| !text.trim().is_empty() && kind_of_text(text) == Kind::String)
    };
    let mut sorted: Vec<_> = first.iter().collect();
    sorted.sort();
    sorted.dedup();
    // A value that comes again further down is no name.
    let again = |at: usize| rows.iter().any(|row| row.get(at) == Some(&first[at]));
    sorted.len() == first.len() && first.iter().all(named) && !(0..first.len()).any(again)
}

fn delimiter(name: &str, open: &dyn Fn() -> Result<File>, dialect: &Dialect) -> Result<u8> {
    /// Records that are compared.
    const RECORDS: usize = 100;
    let mut best = (0.0, DELIMITERS[0]);
    for delimiter in DELIMITERS {
        let dialect = Dialect {
            delimiter,
            ..dialect.clone()
        };
        let mut records = Records::open(name, open()?, dialect)?;
        let (mut first, mut same, mut all) = (0, 0, 0);
        while all < RECORDS {
            match records.next() {
                Ok(true) => {}
                Ok(false) => break,
                // Not written so, or wrong in any case: reading says it.
                Err(_) => {
                    all += RECORDS;
                    break;
                }
            }
            let fields = records.fields.len();
            first = if all == 0 { fields } else { first };
            same += usize::from(fields == first);
            all += 1;
        }
        if first > 1 && all > 0 {
            let share = same as f64 / all as f64;
            let score = share * share + first as f64 * 1e-3;
            if score > best.0 + 1e-9 {
                best = (score, delimiter);
            }
        }
    }
    Ok(best.1)
}

/// Reads rows of a file as values of wanted columns.
pub(crate) struct Reader {
    records: Records,
    width: usize,
    row: u64,
}

impl Reader {
    /// From the first row on; `names`: those of the first file, which the others have to have, too.
    pub(crate) fn open(name: &str, file: File, dialect: Dialect, names: &[String]) -> Result<Self> {
        let header = dialect.header;
        let mut records = Records::open(name, file, dialect)?;
        if header && records.next()? {
            for (at, wanted) in names.iter().enumerate() {
                let found = records.text(at).ok().flatten();
                if found.is_some_and(|found| found != wanted.as_str())
                    || records.fields.len() != names.len()
                {
                    return Err(Error::File {
                        file: name.to_owned(),
                        why: format!(
                            "has other columns than the first file, which has {}",
                            names.join(", ")
                        ),
                    });
                }
            }
        }
        records.keeps_blank = names.len() == 1;
        Ok(Reader {
            records,
            width: names.len(),
            row: 0,
        })
    }

    /// The next row: pushes one value to each of `into`, of the columns of these numbers. False at
    /// the end.
    pub(crate) fn next(
        &mut self,
        columns: &[Column],
        wanted: &[usize],
        into: &mut [Vec<Datum>],
    ) -> Result<bool> {
        if !self.records.next()? {
            return Ok(false);
        }
        self.row += 1;
        let fields = self.records.fields.len();
        if fields != self.width {
            let why = format!(
                "has {fields} field(s) where {} are wanted; a field that holds the delimiter \
                    stands in quotes",
                self.width
            );
            return Err(self.fault(None, None, why).into());
        }
        for (slot, at) in wanted.iter().enumerate() {
            let column = &columns[*at];
            let text = self.records.text(*at);
            let text = text.map_err(|why| self.fault(Some(&column.name), None, why))?;
            let value = match text.as_deref() {
                None => Datum::NULL,
                Some(text) => match &column.kind {
                    Kind::String => Datum::text(text),
                    kind => of_text(text, kind)
                        .map_err(|why| self.fault(Some(&column.name), Some(text), why))?,
                },
            };
            into[slot].push(value);
        }
        Ok(true)
    }

    fn fault(&self, column: Option<&str>, value: Option<&str>, why: String) -> Fault {
        Fault {
            file: self.records.name.clone(),
            row: self.row,
            line: Some(self.records.first),
            column: column.map(str::to_owned),
            value: value.map(Fault::shown),
            why,
        }
    }

    /// About how many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        self.records.held()
    }
}
