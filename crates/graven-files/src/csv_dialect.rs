//! How delimited text is written, found out from its beginning.
//!
//! # How it works
//! The delimiter is the one by which most records have the same number of fields, more than one.
//! Quotes are double ones, and two of them within quotes are one, as Graven itself writes. Only
//! where the first records cannot be read so, other ways are tried: a backslash before a quote,
//! single quotes, both. One of them is taken if all these records can be read by it, with the same
//! number of fields, and if some record shows its quotes or escapes.
//!
//! # Invariants
//! * FI-14 A file that Graven wrote is never read with other quotes or escapes than it was written
//!   with: by these, all of its records can be read. A file of one column is an exception where the
//!   lines hold another delimiter, not equally often: those of two columns in other quotes look so.

use crate::csv_records::{Dialect, Marks, Records};
use crate::error::Result;
use crate::options::Options;
use crate::ranges::Input;

/// Bytes looked at to find out how a file is written, and the types of its columns.
pub(crate) const SAMPLE_BYTES: usize = 4 << 20;
/// Records by which delimiters are compared.
const COMPARED: usize = 100;
/// What may stand between fields, the likelier first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Quotes and escapes, the likelier first; the usual ones aside.
const OTHERS: [(u8, Option<u8>); 3] = [(b'"', Some(b'\\')), (b'\'', None), (b'\'', Some(b'\\'))];

type Open<'a> = &'a dyn Fn() -> Result<Input>;

/// How the file is written, but for its header.
pub(crate) fn dialect(name: &str, open: Open<'_>, options: &Options) -> Result<Dialect> {
    let usual = Dialect::of(options);
    if !options.detect {
        return Ok(usual);
    }
    let usual = delimited(name, open, &usual, options)?;
    let others: Vec<_> = OTHERS.iter().filter(|way| may_be(way, options)).collect();
    if others.is_empty() {
        return Ok(usual);
    }
    let look = Look::at(name, open, &usual, options.sample)?;
    if look.is_clean() {
        return Ok(usual);
    }
    // What is ragged cannot be read in the usual way at all.
    if !look.is_ragged() && options.delimiter.is_none() && usual.delimiter != DELIMITERS[0] {
        // Texts of one column may hold any other delimiter.
        let comma = Dialect {
            delimiter: DELIMITERS[0],
            ..usual.clone()
        };
        let look = Look::at(name, open, &comma, options.sample)?;
        if look.first == 1 && look.is_clean() {
            return Ok(usual);
        }
    }
    for (quote, escape) in others {
        let other = Dialect {
            quote: *quote,
            escape: *escape,
            ..usual.clone()
        };
        let other = delimited(name, open, &other, options)?;
        let look = Look::at(name, open, &other, options.sample)?;
        if look.is_clean() && look.shows(&other) {
            return Ok(other);
        }
    }
    Ok(usual)
}

/// Whether the options leave it open that the file has these quotes and escapes.
fn may_be((quote, escape): &(u8, Option<u8>), options: &Options) -> bool {
    let quote = char::from(*quote);
    let given = options.escape.filter(|given| *given != quote);
    let escape = escape.map(char::from);
    let escape_may_be = match options.escape {
        None => true,
        Some(_) => given == escape,
    };
    escape_may_be && options.quote.is_none_or(|given| given == quote)
}

/// The same with the likeliest delimiter, if none is given.
fn delimited(name: &str, open: Open<'_>, dialect: &Dialect, options: &Options) -> Result<Dialect> {
    let with = |delimiter| Dialect {
        delimiter,
        ..dialect.clone()
    };
    if options.delimiter.is_some() {
        return Ok(dialect.clone());
    }
    let mut best = (0.0, DELIMITERS[0]);
    for delimiter in DELIMITERS {
        let look = Look::at(name, open, &with(delimiter), COMPARED)?;
        if look.first > 1 && look.all > 0 {
            // One that cannot be read is wrong here, or in any case: reading says it.
            let all = look.all + if look.failed { COMPARED } else { 0 };
            let share = look.same as f64 / all as f64;
            let score = share * share + look.first as f64 * 1e-3;
            if score > best.0 + 1e-9 {
                best = (score, delimiter);
            }
        }
    }
    Ok(with(best.1))
}

/// What the first records are by a way to read them.
#[derive(Default)]
struct Look {
    /// Fields of the first one.
    first: usize,
    /// Those with as many fields, and all.
    same: usize,
    all: usize,
    failed: bool,
    marks: Marks,
}

impl Look {
    fn at(name: &str, open: Open<'_>, dialect: &Dialect, most: usize) -> Result<Look> {
        let mut look = Look::default();
        let mut bytes = 0;
        let mut records = Records::open(name, open()?, dialect.clone())?;
        while look.all < most && bytes < SAMPLE_BYTES.min(dialect.record_bytes) {
            match records.next() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => {
                    look.failed = true;
                    break;
                }
            }
            let fields = records.fields.len();
            if look.all == 0 {
                look.first = fields;
            }
            look.same += usize::from(fields == look.first);
            look.all += 1;
            bytes += records.len();
            look.marks.add(records.marks());
        }
        Ok(look)
    }

    /// Whether some have more fields than others.
    fn is_ragged(&self) -> bool {
        self.same != self.all
    }

    /// Whether all could be read, as a writer of tables would have written them.
    fn is_clean(&self) -> bool {
        !self.failed && !self.is_ragged() && !self.marks.bare
    }

    /// Whether they have the quotes and escapes of the dialect.
    fn shows(&self, dialect: &Dialect) -> bool {
        let marks = &self.marks;
        let foreign = dialect.quote != b'"' && marks.double;
        marks.quoted && !foreign && (dialect.escape.is_none() || marks.escaped)
    }
}
