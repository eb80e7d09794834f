//! Delimited text: its columns, found out from its beginning, and its rows.
//!
//! # How it works
//! How the file is written ([`crate::csv_dialect`]), header and kinds come from the first records
//! ([`Options::sample`]), of at most [`SAMPLE_BYTES`]. A header is where the first record is of
//! texts only that are unlike each other, or, where columns are declared, where it has one of their
//! names in its place. A column whose fields are all lists in brackets is one of lists; one of maps
//! in braces is text, since no property holds a map.

use crate::cast::{kind_of_text, of_text};
use crate::column::Column;
use crate::csv_dialect::{SAMPLE_BYTES, dialect};
use crate::csv_records::{Dialect, Records};
use crate::datum::Datum;
use crate::error::{Error, Fault, Result};
use crate::kind::Kind;
use crate::literal;
use crate::options::Options;
use crate::ranges::Input;
use graven_types::PropertyValue;

/// What the beginning of a file shows: how it is written, and its columns.
pub(crate) fn sniff(
    name: &str,
    open: &dyn Fn() -> Result<Input>,
    options: &Options,
    declared: Option<&[Column]>,
) -> Result<(Dialect, Vec<Column>)> {
    let mut dialect = dialect(name, open, options)?;
    let mut records = Records::open(name, open()?, dialect.clone())?;
    let mut rows: Vec<Vec<Option<String>>> = Vec::new();
    let mut bytes = 0;
    let sample_bytes = SAMPLE_BYTES.min(options.record_bytes);
    let mut left_out = 0;
    while rows.len() + left_out < options.sample && bytes < sample_bytes {
        match records.next() {
            Ok(true) => {}
            Ok(false) => break,
            Err(Error::Row(_)) if options.ignore_errors => {
                left_out += 1;
                continue;
            }
            Err(error) => return Err(error),
        }
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
        (None, _) if !options.detect => false,
        (None, None) => false,
        (None, Some(first)) => match declared {
            Some(declared) => {
                let others = rows.get(1..).unwrap_or_default();
                names_some(first, declared)
                    || options.sniffs_header && is_of_no_text(first, declared, others)
            }
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
        let rows = if options.detect { rows.as_slice() } else { &[] };
        for text in rows.iter().filter_map(|row| row.get(at)?.as_deref()) {
            kind = both(kind, kind_of_field(text));
            if kind == Kind::String {
                break;
            }
        }
        Column {
            name: named.unwrap_or_else(|| format!("column{at}")),
            kind: if kind == Kind::Null {
                Kind::String
            } else {
                settled(kind)
            },
        }
    });
    Ok((dialect, columns.collect()))
}

/// The kind a field looks like: a list, if it has brackets around it and plain values within.
fn kind_of_field(text: &str) -> Kind {
    let text = text.trim();
    if !(text.starts_with('[') && text.ends_with(']')) {
        return kind_of_text(text);
    }
    // What stands in quotes is a text, whatever it looks like.
    let quoted = text.contains(['\'', '"']);
    // A number with a needless zero in front is a text, which reading would change.
    let bytes = text.as_bytes();
    let padded = |at: &[u8]| {
        matches!(at, [b'[' | b',' | b' ', b'0', b'0'..=b'9', ..])
            || matches!(at, [b'[' | b',' | b' ', b'-' | b'+', b'0', b'0'..=b'9'])
    };
    // A list of such a number has four bytes.
    if bytes.windows(4).any(padded) {
        return Kind::String;
    }
    let read = literal::read(text).ok();
    let kind = read.and_then(|read| kind_of_list(&read, quoted));
    kind.unwrap_or(Kind::String)
}

/// The kind of a list, or of lists in it; none if it holds maps, or what is no list has no kind.
fn kind_of_list(read: &Datum, quoted: bool) -> Option<Kind> {
    let items = match read {
        Datum::List(items) => items.clone(),
        Datum::Value(PropertyValue::List(items)) => {
            items.iter().cloned().map(Datum::Value).collect()
        }
        _ => return None,
    };
    let mut element = Kind::Null;
    for item in &items {
        let kind = match item {
            Datum::Map(_) => return None,
            Datum::List(_) | Datum::Value(PropertyValue::List(_)) => kind_of_list(item, quoted)?,
            Datum::Value(PropertyValue::String(text)) if !quoted => kind_of_text(text),
            other => Kind::of(other),
        };
        element = both_elements(element, kind)?;
    }
    Some(Kind::List(Box::new(element)))
}

/// What elements of lists of either kind can be read as.
fn both_elements(a: Kind, b: Kind) -> Option<Kind> {
    // Floats, lists and what is written as a call have no text of their own.
    let is_text = |kind: &Kind| {
        use Kind as K;
        matches!(kind, K::Null | K::Boolean | K::Integer | K::String)
            || matches!(kind, K::Date | K::LocalDateTime | K::DateTime)
    };
    let are_texts = is_text(&a) && is_text(&b);
    match both(a, b) {
        Kind::String => are_texts.then_some(Kind::String),
        kind => Some(kind),
    }
}

/// A kind of which no value has shown the elements holds whatever comes.
fn settled(kind: Kind) -> Kind {
    match kind {
        Kind::Null => Kind::Any,
        Kind::List(element) => Kind::List(Box::new(settled(*element))),
        other => other,
    }
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
        (Kind::List(a), Kind::List(b)) => match both_elements(*a, *b) {
            Some(element) => Kind::List(Box::new(element)),
            None => Kind::String,
        },
        _ => Kind::String,
    }
}

/// Whether a declared column has its name in its place, in whatever case.
fn names_some(first: &[Option<String>], declared: &[Column]) -> bool {
    let mut pairs = first.iter().zip(declared);
    pairs.any(|(text, column)| {
        let text = text.as_deref();
        text.is_some_and(|text| text.trim().eq_ignore_ascii_case(&column.name))
    })
}

/// Whether the first record holds names, one of them in a declared column that is none of texts.
fn is_of_no_text(
    first: &[Option<String>],
    declared: &[Column],
    rows: &[Vec<Option<String>>],
) -> bool {
    let is_text = |column: &Column| matches!(column.kind, Kind::String | Kind::Any);
    !declared.iter().take(first.len()).all(is_text) && has_names(first, rows)
}

/// Whether the first record holds names: texts that differ, and no value of another kind.
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

/// Reads rows of a file as values of wanted columns.
pub(crate) struct Reader {
    records: Records,
    width: usize,
    row: u64,
}

impl Reader {
    /// From the first row on; `names`: those of the first file, which the others have to have, too.
    pub(crate) fn open(
        name: &str,
        file: Input,
        dialect: Dialect,
        names: &[String],
    ) -> Result<Self> {
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
