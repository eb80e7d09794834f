//! Cuts text into rows and fields, quoted or not, and knows the line of every row.
//!
//! # How it works
//! One buffer holds the unread text; a row is found first (`\n` outside quotes), then cut. Quoted
//! fields are unescaped in place, so fields are always plain ranges of the buffer and nothing is
//! allocated per row. Without a quote character a row is a line and the cut is two `memchr` loops.
//!
//! A table can be cut into blocks of whole rows ([`Rows::take_block`]) that several threads read:
//! where no field of a block is quoted, this takes one look for the last line feed.
//!
//! Accepted: `\n` and `\r\n`, a byte order mark, a last line without line feed, empty lines
//! (skipped), doubled quotes inside a quoted field, line feeds inside a quoted field. Text between
//! a closing quote and the delimiter is a fault of the row ([`Rows::stray`]).

use std::path::Path;

use memchr::{memchr, memchr_iter, memchr2, memrchr};

use crate::error::{ImportError, RowError, shown};
use crate::input::{ByteCount, Input, TableFile};

/// Text of a block, about.
const BLOCK_BYTES: usize = 128 << 10;
/// A row longer than this is taken for a quote that is never closed.
const ROW_BYTES_MAX: usize = 16 << 20;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// How rows are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) delimiter: u8,
    pub(crate) quote: Option<u8>,
}

/// One row: ranges of the reader's buffer.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    ends: Vec<(usize, usize)>,
    /// The first field in which text follows the closing quote.
    stray: Option<usize>,
}

/// Whole rows that follow one another.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    text: Vec<u8>,
    /// Where the rows begin in the text.
    at: usize,
    /// The line they begin on.
    line: u64,
}

impl Block {
    /// Where the rows begin in the text, and their line.
    pub(crate) fn begin(&self) -> (usize, u64) {
        (self.at, self.line)
    }
}

/// The rows of one file.
pub(crate) struct Rows {
    input: Input,
    cut: Cut,
    text: Vec<u8>,
    at: usize,
    ended: bool,
    line: u64,
    row_line: u64,
    fields: Fields,
}

impl Rows {
    /// Opens a table's text; the first row returned is its first line.
    pub(crate) fn open(
        file: &TableFile,
        cut: Cut,
        count: &ByteCount,
        threads: usize,
    ) -> Result<Self, ImportError> {
        let input = Input::open(file, count, threads)?;
        let mut rows = Self {
            input,
            cut,
            text: Vec::new(),
            at: 0,
            ended: false,
            line: 1,
            row_line: 0,
            fields: Fields::default(),
        };
        rows.refill()?;
        if rows.text.starts_with(BOM) {
            rows.at = BOM.len();
        }
        Ok(rows)
    }

    /// No rows of the text at `path`, until there is a block of it.
    pub(crate) fn none(path: &Path, cut: Cut) -> Self {
        Self {
            input: Input::ended(path),
            cut,
            text: Vec::new(),
            at: 0,
            ended: true,
            line: 1,
            row_line: 0,
            fields: Fields::default(),
        }
    }

    /// Goes on with the rows of a block alone.
    pub(crate) fn read_block(&mut self, block: Block) {
        (self.at, self.line) = (block.at, block.line);
        self.text = block.text;
    }

    /// A copy of a block, where reading it would change its text: fields are unescaped in place.
    pub(crate) fn copy_if_changed(&self, block: &Block) -> Option<Block> {
        let quote = self.cut.quote?;
        memchr(quote, &block.text)?;
        Some(block.clone())
    }

    /// The block at hand, which began there.
    pub(crate) fn give_back(&mut self, (at, line): (usize, u64)) -> Block {
        let text = std::mem::take(&mut self.text);
        Block { text, at, line }
    }

    /// The next whole rows, about [`BLOCK_BYTES`]; `None` at the end of the file.
    pub(crate) fn take_block(&mut self) -> Result<Option<Block>, ImportError> {
        if self.text.len() - self.at < BLOCK_BYTES && !self.ended {
            self.refill()?;
        }
        let rest = &self.text[self.at..];
        let quoted = |quote| memchr(quote, rest).is_some();
        if !self.cut.quote.is_some_and(quoted)
            && let Some(last) = memrchr(b'\n', rest)
        {
            let end = self.at + last + 1;
            let begun = self.text.split_off(end);
            let block = Block {
                text: std::mem::replace(&mut self.text, begun),
                at: std::mem::take(&mut self.at),
                line: self.line,
            };
            self.line += memchr_iter(b'\n', &block.text[block.at..]).count() as u64;
            return Ok(Some(block));
        }
        let mut block = Block {
            text: Vec::new(),
            at: 0,
            line: self.line,
        };
        while block.text.len() < BLOCK_BYTES
            && let Some((_, next, lines)) = self.find_row()?
        {
            block.text.extend_from_slice(&self.text[self.at..next]);
            self.line += lines;
            self.at = next;
        }
        Ok((!block.text.is_empty()).then_some(block))
    }

    /// The first line as text, without cutting it; `None` for an empty file. Does not move on.
    pub(crate) fn first_line(&self) -> Option<String> {
        let rest = self.text.get(self.at..)?;
        let line = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        (!line.is_empty()).then(|| String::from_utf8_lossy(line).into_owned())
    }

    /// Uses another cut from the next row on.
    pub(crate) fn set_cut(&mut self, cut: Cut) {
        self.cut = cut;
    }

    pub(crate) fn path(&self) -> &Path {
        self.input.path()
    }

    /// The line the last row began on, 1-based.
    pub(crate) fn row_line(&self) -> u64 {
        self.row_line
    }

    /// Moves to the next row; false at the end of the file.
    pub(crate) fn next(&mut self) -> Result<bool, ImportError> {
        loop {
            let Some((end, next, lines)) = self.find_row()? else {
                return Ok(false);
            };
            let start = self.at;
            self.row_line = self.line;
            self.line += lines;
            self.at = next;
            let end = if end > start && self.text[end - 1] == b'\r' {
                end - 1
            } else {
                end
            };
            if end == start {
                continue;
            }
            match self.cut.quote {
                None => self.cut_plain(start, end),
                Some(quote) => self.cut_quoted(start, end, quote),
            }
            return Ok(true);
        }
    }

    /// Number of fields of the row.
    pub(crate) fn len(&self) -> usize {
        self.fields.ends.len()
    }

    /// The first field of the row in which text follows the closing quote.
    pub(crate) fn stray(&self) -> Option<usize> {
        self.fields.stray
    }

    /// Field `i` of the row.
    pub(crate) fn field(&self, i: usize) -> &[u8] {
        let (start, end) = self.fields.ends[i];
        &self.text[start..end]
    }

    /// The whole row again, joined with the delimiter, for reports.
    pub(crate) fn joined(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for i in 0..self.len() {
            if i > 0 {
                out.push(self.cut.delimiter);
            }
            out.extend_from_slice(self.field(i));
        }
        out
    }

    /// End of the next row's text, start of the row after it, lines in it.
    fn find_row(&mut self) -> Result<Option<(usize, usize, u64)>, ImportError> {
        let mut searched = self.at;
        let mut quoted = false;
        let mut closed = None;
        let mut lines = 1u64;
        loop {
            match self.cut.quote {
                None => {
                    if let Some(n) = memchr(b'\n', &self.text[searched..]) {
                        return Ok(Some((searched + n, searched + n + 1, 1)));
                    }
                    searched = self.text.len();
                }
                Some(quote) => {
                    while let Some(n) = memchr2(b'\n', quote, &self.text[searched..]) {
                        let at = searched + n;
                        searched = at + 1;
                        if self.text[at] != quote {
                            if !quoted {
                                return Ok(Some((at, at + 1, lines)));
                            }
                            lines += 1;
                        } else if quoted {
                            quoted = false;
                            closed = Some(at + 1 - self.at);
                        } else {
                            // Only at the start of a field, or doubled, a quote means anything.
                            quoted = at == self.at
                                || self.text[at - 1] == self.cut.delimiter
                                || closed == Some(at - self.at);
                        }
                    }
                    searched = self.text.len();
                }
            }
            if self.text.len() - self.at > ROW_BYTES_MAX {
                return Err(self.endless_row("is longer than 16 MiB"));
            }
            if self.ended {
                if quoted {
                    return Err(self.endless_row("reaches the end of the file"));
                }
                let end = self.text.len();
                return Ok((self.at < end).then_some((end, end, lines)));
            }
            searched -= self.at;
            self.refill()?;
            searched += self.at;
        }
    }

    fn endless_row(&self, how: &str) -> ImportError {
        let end = self.text.len().min(self.at + 100);
        ImportError::Row(Box::new(RowError {
            file: self.input.path().to_path_buf(),
            line: self.line,
            column: String::new(),
            value: shown(&self.text[self.at..end]),
            reason: format!(
                "the row that begins here {how}: close its quote, or say that fields are not quoted"
            ),
        }))
    }

    /// Drops the text already used and appends the next block.
    fn refill(&mut self) -> Result<(), ImportError> {
        let rest = self.text.len() - self.at;
        self.text.copy_within(self.at.., 0);
        self.text.truncate(rest);
        self.at = 0;
        if !self.input.append(&mut self.text)? {
            self.ended = true;
        }
        Ok(())
    }

    fn cut_plain(&mut self, start: usize, end: usize) {
        self.fields.stray = None;
        let ends = &mut self.fields.ends;
        ends.clear();
        let mut field = start;
        for n in memchr_iter(self.cut.delimiter, &self.text[start..end]) {
            ends.push((field, start + n));
            field = start + n + 1;
        }
        ends.push((field, end));
    }

    fn cut_quoted(&mut self, start: usize, end: usize, quote: u8) {
        let Fields { ends, stray } = &mut self.fields;
        ends.clear();
        *stray = None;
        let text = &mut self.text;
        let mut at = start;
        loop {
            if at < end && text[at] == quote {
                let (field, next, clean) = unquote(text, at, end, quote, self.cut.delimiter);
                if !clean {
                    stray.get_or_insert(ends.len());
                }
                ends.push(field);
                at = next;
            } else {
                let n = memchr(self.cut.delimiter, &text[at..end]).unwrap_or(end - at);
                ends.push((at, at + n));
                at += n;
            }
            if at >= end {
                return;
            }
            at += 1;
            if at == end {
                ends.push((end, end));
                return;
            }
        }
    }
}

/// Unescapes the field whose opening quote is at `open`, in place. Returns its range, the
/// position of the delimiter after it (or `end`), and whether no text follows the closing quote.
fn unquote(
    text: &mut [u8],
    open: usize,
    end: usize,
    quote: u8,
    delimiter: u8,
) -> ((usize, usize), usize, bool) {
    let (mut read, mut write) = (open + 1, open + 1);
    while read < end {
        if text[read] != quote {
            text[write] = text[read];
        } else if read + 1 < end && text[read + 1] == quote {
            text[write] = quote;
            read += 1;
        } else {
            read += 1;
            let clean = read == end || text[read] == delimiter;
            while read < end && text[read] != delimiter {
                text[write] = text[read];
                write += 1;
                read += 1;
            }
            return ((open + 1, write), read, clean);
        }
        read += 1;
        write += 1;
    }
    ((open + 1, write), end, true)
}

/// Guesses the delimiter of a header line: what it holds most of, `|` first; `,` if none.
pub(crate) fn guess_delimiter(header: &str) -> u8 {
    let count = |d: u8| header.bytes().filter(|b| *b == d).count();
    let mut best = b',';
    for candidate in [b'|', b'\t', b';'] {
        if count(candidate) > count(best) {
            best = candidate;
        }
    }
    best
}

/// Reads and cuts the first line of a table's text.
pub(crate) fn header_of(
    file: &TableFile,
    cut: Option<Cut>,
) -> Result<Option<(Vec<String>, Cut)>, ImportError> {
    let any = Cut {
        delimiter: b'|',
        quote: None,
    };
    let file = file.header();
    let mut rows = Rows::open(&file, cut.unwrap_or(any), &ByteCount::default(), 1)?;
    let Some(line) = rows.first_line() else {
        return Ok(None);
    };
    let cut = cut.unwrap_or(Cut {
        delimiter: guess_delimiter(&line),
        quote: None,
    });
    rows.set_cut(cut);
    if !rows.next()? {
        return Ok(None);
    }
    let names = (0..rows.len()).map(|i| String::from_utf8_lossy(rows.field(i)).into_owned());
    Ok(Some((names.collect(), cut)))
}

#[cfg(test)]
mod tests;
