//! The records of delimited text.
//!
//! # How it works
//! The file is read in blocks; a record is its bytes and the places of its fields, so nothing is
//! copied before a value is made. A field is null where it is empty and has no quotes. Within
//! quotes two quotes are one. An escape makes a quote or an escape behind it a plain character;
//! before any other character it is one itself. After a record that cannot be read, the next one
//! begins with the next line.
//!
//! # Invariants
//! * FI-2 A record longer than [`Options::record_bytes`], or of more than [`COLUMNS_MAX`] fields,
//!   is an error: memory stays bounded, whatever the file.

use std::io::{self, Read};
use std::ops::Range;

use crate::column::{AS_LIST, COLUMNS_MAX};
use crate::error::{Error, Fault, Result};
use crate::options::Options;
use crate::ranges::{Cursor, Input};
use graven_types::told;

/// Bytes read at a time.
const BLOCK: usize = 256 << 10;

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
    /// As the options say, and as usual where they do not.
    pub(crate) fn of(options: &Options) -> Dialect {
        let byte = |c: char| u8::try_from(c).unwrap_or(b',');
        Dialect {
            delimiter: options.delimiter.map_or(b',', byte),
            quote: byte(options.quote.unwrap_or('"')),
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

/// What records show of the way they are written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// A field stands in quotes.
    pub(crate) quoted: bool,
    /// A field without quotes has one within it.
    pub(crate) bare: bool,
    /// A field begins with a double quote, which is none here.
    pub(crate) double: bool,
    /// An escape makes a quote a plain character.
    pub(crate) escaped: bool,
}

impl Marks {
    pub(crate) fn add(&mut self, other: Marks) {
        self.quoted |= other.quoted;
        self.bare |= other.bare;
        self.double |= other.double;
        self.escaped |= other.escaped;
    }
}

/// Records of a file.
pub(crate) struct Records {
    pub(crate) name: String,
    input: Box<dyn Read + Send>,
    dialect: Dialect,
    block: Vec<u8>,
    /// Where in the block the next record begins.
    at: usize,
    ended: bool,
    /// Whether a blank line is a record.
    pub(crate) keeps_blank: bool,
    /// The rest of the line belongs to a record that could not be read.
    torn: bool,
    /// Number of the line that is read next.
    line: u64,
    pub(crate) fields: Vec<Field>,
    /// Line on which the last record begins.
    pub(crate) first: u64,
}

impl Records {
    /// Those of a file.
    pub(crate) fn open(name: &str, file: Input, dialect: Dialect) -> Result<Self> {
        let io = |source| Error::Io {
            file: name.to_owned(),
            source,
        };
        let mut records = Records {
            name: name.to_owned(),
            input: graven_import::unpacked(Cursor::new(file, 0)).map_err(io)?,
            dialect,
            block: Vec::new(),
            at: 0,
            ended: false,
            keeps_blank: false,
            torn: false,
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
            let why = told!(
                "the record is longer than {longest} bytes: is a quote missing? A higher memory \
                    limit takes longer ones"
            );
            self.torn = true;
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

    /// A fault of the record that begins here: the next one begins behind the line of `at`.
    fn torn_at(&mut self, at: usize, lines: u64, fields: Vec<Field>, why: &str) -> Fault {
        self.line += lines - 1;
        self.fields = fields;
        self.at = at;
        self.torn = true;
        self.fault(why)
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
        if std::mem::take(&mut self.torn) && !self.pass_line()? {
            return Ok(false);
        }
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
                            let fault = self.fault("a quoted field begins here and does not end");
                            self.torn = true;
                            return Err(fault.into());
                        }
                        return Ok(None);
                    };
                    match *byte {
                        b if b == escape && b != quote => {
                            let plain = bytes.get(at + 1);
                            let plain = plain.is_some_and(|b| *b == quote || *b == escape);
                            escaped |= plain;
                            at += if plain { 2 } else { 1 };
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
                let hint = match self.dialect.escape {
                    None if stop > start && bytes[stop - 1] == b'\\' => {
                        "; if the backslash makes it a quote of the text, add (ESCAPE = '\\\\')"
                    }
                    _ => "",
                };
                let why = told!("text follows a closing quote{hint}");
                return Err(self.torn_at(at, lines, fields, &why).into());
            }
            if fields.len() == COLUMNS_MAX {
                let why = told!("the record has more than {COLUMNS_MAX} fields; {AS_LIST}");
                return Err(self.torn_at(at, lines, fields, &why).into());
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
        let is_null = || self.dialect.nulls.iter().any(|null| null == text);
        // What has quotes is a text, but where the empty text is given as null.
        let is_none = match (text.is_empty(), field.quoted) {
            (true, false) => true,
            (false, true) => false,
            _ => is_null(),
        };
        if is_none {
            return Ok(None);
        }
        if !field.escaped {
            return Ok(Some(text.into()));
        }
        let quote = char::from(self.dialect.quote);
        let escape = self.dialect.escape.map_or(quote, char::from);
        let mut plain = String::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let behind = chars.peek().copied();
            let doubled = c == quote && behind == Some(quote);
            let made_plain = c == escape && (behind == Some(quote) || behind == Some(escape));
            match behind {
                Some(next) if doubled || made_plain => {
                    chars.next();
                    plain.push(next);
                }
                _ => plain.push(c),
            }
        }
        Ok(Some(plain.into()))
    }

    /// Bytes of the fields of the last record.
    pub(crate) fn len(&self) -> usize {
        self.fields.iter().map(|field| field.place.len()).sum()
    }

    /// What the last record shows of the way it is written.
    pub(crate) fn marks(&self) -> Marks {
        let (quote, escape) = (self.dialect.quote, self.dialect.escape);
        let mut marks = Marks::default();
        for field in &self.fields {
            let bytes = &self.block[field.place.clone()];
            marks.quoted |= field.quoted;
            marks.bare |= !field.quoted && bytes.contains(&quote);
            marks.double |= !field.quoted && bytes.first() == Some(&b'"');
            let escapes = |pair: &[u8]| Some(pair[0]) == escape && pair[1] == quote;
            marks.escaped |= field.escaped && bytes.windows(2).any(escapes);
        }
        marks
    }

    /// About how many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        self.block.capacity() + 32 * self.fields.capacity()
    }
}
