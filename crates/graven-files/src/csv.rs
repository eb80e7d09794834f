//! Delimited text: its columns, found out from its beginning, and its rows.
//!
//! # How it works
//! How the file is written ([`crate::csv_dialect`]), header and kinds come from the first records
//! ([`Options::sample`]), of at most [`SAMPLE_BYTES`]. A header is where the first record is of
//! texts only that are unlike each other, or, where columns are declared, where it has one of their
//! names in its place. A column of lists has lists in brackets in all its fields, a column of maps
//! has maps in braces. `{a: 1}`, as JSON has it, too, has fields with kinds
//! of their own, and a later row has no others; `{a=1}` is a map of whatever keys.

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
use graven_types::told;

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
            kind = both(kind, kind_of_field(text, options));
            if kind == Kind::String {
                break;
            }
        }
        let kind = match kind {
            Kind::Null => Kind::String,
            kind => settled(kind),
        };
        Column {
            name: named.unwrap_or_else(|| format!("column{at}")),
            stated: stated(&kind).filter(|_| has_map(&kind)),
            kind,
        }
    });
    Ok((dialect, columns.collect()))
}

/// The kind a field looks like: a list or a map, if it has brackets around it and plain values
/// within.
fn kind_of_field(text: &str, options: &Options) -> Kind {
    let text = text.trim();
    let is_in = |open, close| text.starts_with(open) && text.ends_with(close);
    if !is_in('[', ']') && !is_in('{', '}') {
        return kind_of_text(text);
    }
    // What stands in quotes is a text, whatever it looks like.
    let quoted = text.contains(['\'', '"']);
    let read = literal::read_noting_pairs(text).ok();
    let kind = read.and_then(|(read, has_pairs)| kind_within(&read, (quoted, has_pairs)));
    let kind = kind.filter(|kind| !options.maps_as_text || !has_map(kind));
    kind.unwrap_or(Kind::String)
}

/// The kind of a value within brackets; none if it has none in common with what is beside it.
fn kind_within(read: &Datum, (quoted, has_pairs): (bool, bool)) -> Option<Kind> {
    let inner = |read: &Datum| kind_within(read, (quoted, has_pairs));
    let of_list = |kinds: Vec<Option<Kind>>| {
        let mut kinds = kinds.into_iter();
        let element = kinds.try_fold(Kind::Null, |element, kind| both_elements(element, kind?))?;
        Some(Kind::List(Box::new(element)))
    };
    match read {
        Datum::List(items) => of_list(items.iter().map(inner).collect()),
        Datum::Value(PropertyValue::List(items)) => {
            let items = items.iter().cloned().map(Datum::Value);
            of_list(items.map(|item| inner(&item)).collect())
        }
        Datum::Map(_) if has_pairs => Some(Kind::Map(Vec::new())),
        Datum::Map(entries) => {
            let mut fields = Vec::with_capacity(entries.len());
            for (name, value) in entries {
                fields.push((name.to_string(), inner(value)?));
            }
            let mut names: Vec<&str> = entries.iter().map(|(name, _)| &**name).collect();
            names.sort_unstable();
            names.dedup();
            let are_names = names.len() == fields.len() && !names.contains(&"");
            are_names.then(|| of_fields(fields))
        }
        Datum::Value(PropertyValue::String(text)) if !quoted => Some(kind_of_text(text)),
        other => Some(Kind::of(other)),
    }
}

/// The kind of maps with these keys; where they are many, of whatever keys.
fn of_fields(fields: Vec<(String, Kind)>) -> Kind {
    /// Fields that have kinds of their own.
    const FIELDS_MAX: usize = 100;
    Kind::Map(match fields.len() {
        0..=FIELDS_MAX => fields,
        _ => Vec::new(),
    })
}

/// The type of maps with known fields, as a table declares it.
fn stated(kind: &Kind) -> Option<String> {
    let plain = match kind {
        Kind::Boolean => "BOOL",
        Kind::Integer => "INT64",
        Kind::Float => "DOUBLE",
        Kind::String => "STRING",
        Kind::Date => "DATE",
        Kind::LocalDateTime => "TIMESTAMP",
        Kind::DateTime => "TIMESTAMP_TZ",
        Kind::List(element) => return Some(format!("{}[]", stated(element)?)),
        Kind::Map(fields) if !fields.is_empty() => {
            let fields = fields.iter().map(|(name, kind)| {
                let mut field = String::new();
                literal::name(&mut field, name);
                Some(format!("{field} {}", stated(kind)?))
            });
            let fields: Option<Vec<String>> = fields.collect();
            return Some(format!("STRUCT({})", fields?.join(", ")));
        }
        _ => return None,
    };
    Some(plain.to_owned())
}

fn has_map(kind: &Kind) -> bool {
    match kind {
        Kind::List(element) => has_map(element),
        kind => matches!(kind, Kind::Map(_)),
    }
}

/// What elements of lists, or values of fields, of either kind can be read as.
fn both_elements(a: Kind, b: Kind) -> Option<Kind> {
    // Floats, lists, maps and what is written as a call have no text of their own.
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
        Kind::Map(fields) => {
            let fields = fields.into_iter();
            Kind::Map(fields.map(|(name, kind)| (name, settled(kind))).collect())
        }
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
        (Kind::Map(mut fields), Kind::Map(others)) => {
            for (name, kind) in others {
                let Some((_, slot)) = fields.iter_mut().find(|(known, _)| *known == name) else {
                    fields.push((name, kind));
                    continue;
                };
                match both_elements(std::mem::replace(slot, Kind::Null), kind) {
                    Some(kind) => *slot = kind,
                    None => return Kind::String,
                }
            }
            of_fields(fields)
        }
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
        let text = text.map(str::trim);
        text.is_some_and(|text| !text.is_empty() && kind_of_text(text) == Kind::String)
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
                        why: told!(
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
            let why = told!(
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

#[cfg(test)]
mod tests {
    //! Goal: fields look like what their brackets hold, and rows of a column like what they share.
    use super::*;

    fn kind(fields: &[&str]) -> Kind {
        let options = Options::default();
        let kinds = fields.iter().map(|text| kind_of_field(text, &options));
        settled(kinds.fold(Kind::Null, both))
    }

    fn map(fields: &[(&str, Kind)]) -> Kind {
        let fields = fields.iter().cloned();
        Kind::Map(fields.map(|(name, kind)| (name.to_owned(), kind)).collect())
    }

    #[test]
    fn brackets_hold_lists_and_maps() {
        let list = |kind| Kind::List(Box::new(kind));
        let both = map(&[("a", Kind::Integer), ("b", Kind::String)]);
        for (fields, wanted) in [
            (&["{a: 1, b: x}", "{a: 2, b: }"][..], both.clone()),
            (&["{\"a\": 1, \"b\": \"2\"}"], both.clone()),
            (&["{a: 1}", "{}", "{b: x}"], both),
            (&["{a: 1}", "{a: 1.5}"], map(&[("a", Kind::Float)])),
            (&["{a: 007}"], map(&[("a", Kind::String)])),
            (&["{a: 1e400}"], map(&[("a", Kind::String)])),
            (&["{\"a\": -1e400}"], map(&[("a", Kind::String)])),
            (&["[1e400]"], list(Kind::String)),
            (&["{d: 2020-01-01}"], map(&[("d", Kind::Date)])),
            (
                &["[{a: 1}, {a: 2}]", "[]"],
                list(map(&[("a", Kind::Integer)])),
            ),
            (
                &["{a: {b: [1]}}"],
                map(&[("a", map(&[("b", list(Kind::Integer))]))]),
            ),
            (&["{k=1, 2=x}", "{}"], map(&[])),
            (&["{k={a: 1}}"], map(&[])),
            (&["[007, x]"], list(Kind::String)),
            (&["{a: 1}", "x"], Kind::String),
            (&["{a: [1]}", "{a: x}"], Kind::String),
            (&["{a: 1, a: 2}"], Kind::String),
            (&["{name}"], Kind::String),
            (&["{0-1-2}", "{: 1}"], Kind::String),
        ] {
            assert_eq!(kind(fields), wanted, "{fields:?}");
        }
        let names: Vec<String> = (0..101).map(|at| format!("k{at}: 1")).collect();
        assert_eq!(kind(&[&format!("{{{}}}", names.join(", "))]), map(&[]));
        let stored = Options {
            maps_as_text: true,
            ..Options::default()
        };
        assert_eq!(kind_of_field("[{a: 1}]", &stored), Kind::String);
        assert_eq!(kind_of_field("[1]", &stored), list(Kind::Integer));
    }
}
