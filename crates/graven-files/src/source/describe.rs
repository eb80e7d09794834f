//! What a source is: its columns and their types, as a statement sees them.
//!
//! # How it works
//! The columns of several files are those of the first. Declared columns take the place of those
//! found: by position where a file has no names of its own (`CSV`, `NPY`), else by name.

use super::{Open, Source};
use crate::column::{AS_LIST, COLUMNS_MAX, Column};
use crate::csv;
use crate::csv_records;
use crate::datum::Datum;
use crate::error::{Error, Result};
use crate::json;
use crate::npy;
use crate::npy_columns::Beside;
use crate::options::{Format, Options};
use crate::tables::{self};
use graven_types::told;

/// What a source is.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Its columns, as a statement sees them.
    pub columns: Vec<Column>,
    /// Names of the columns in the files.
    pub(super) names: Vec<String>,
    /// Rows, where they are known without reading them.
    pub rows: Option<u64>,
    /// What the files are; none for a frame.
    pub format: Option<Format>,
    pub(super) dialect: Option<csv_records::Dialect>,
}

impl Description {
    /// The options that say how a file of `CSV` is written, as a statement has them.
    #[must_use]
    pub fn told(&self) -> Vec<(&'static str, Datum)> {
        let Some(dialect) = &self.dialect else {
            return Vec::new();
        };
        let mut told = vec![
            ("HEADER", Datum::Value(dialect.header.into())),
            (
                "DELIM",
                Datum::text(&char::from(dialect.delimiter).to_string()),
            ),
        ];
        if dialect.quote != b'"' {
            let quote = char::from(dialect.quote).to_string();
            told.push(("QUOTE", Datum::text(&quote)));
        }
        if let Some(escape) = dialect.escape {
            told.push(("ESCAPE", Datum::text(&char::from(escape).to_string())));
        }
        told
    }
}

/// The format of files, by the options or their names.
fn format(names: &[String], options: &Options) -> Result<Format> {
    if let Some(format) = options.format {
        return Ok(format);
    }
    let first = names.first().map_or("", String::as_str);
    Format::of_name(first).ok_or_else(|| {
        Error::Option(told!(
            "{first}: the name does not say what the file is; write (FORMAT = 'CSV'), 'PARQUET', \
                'JSON', 'ARROW' or 'NPY' after it"
        ))
    })
}

/// What a source is; `declared`: names and kinds that a statement gives its columns.
///
/// # Errors
/// A file that cannot be opened, or is not what it should be; declared columns that it does not
/// have.
pub fn describe(
    source: &Source,
    open: Open<'_>,
    options: &Options,
    declared: Option<&[Column]>,
) -> Result<Description> {
    let (files, frame) = match source {
        Source::Files(files) => (files.as_slice(), None),
        Source::Frame(name, frame) => (std::slice::from_ref(name), Some(frame)),
    };
    let Some(name) = files.first() else {
        return Err(Error::Option("no file is named".to_owned()));
    };
    let (mut rows, mut dialect, mut kind) = (None, None, None);
    let found = match frame {
        Some(frame) => frame.columns()?,
        None => {
            let format = format(files, options)?;
            kind = Some(format);
            match format {
                Format::Npy if options.by_column => {
                    let described = Beside::open(files, open)?.describe();
                    rows = described.1;
                    described.0
                }
                _ if options.by_column => {
                    return Err(Error::Option(told!(
                        "BY COLUMN is for NumPy's arrays, and {name} is {}; leave it out",
                        format.name()
                    )));
                }
                Format::Csv => {
                    let opened = || open(name);
                    let (found, columns) = csv::sniff(name, &opened, options, declared)?;
                    dialect = Some(found);
                    columns
                }
                Format::Json => json::sniff(name, open(name)?, options)?,
                Format::Npy => {
                    let described = npy::Rows::open(name, open(name)?)?.describe();
                    rows = described.1;
                    described.0
                }
                Format::Parquet | Format::Arrow => {
                    let described =
                        tables::describe(name, open(name)?, format, options.batch_bytes())?;
                    rows = described.1;
                    described.0
                }
            }
        }
    };
    if found.len() > COLUMNS_MAX {
        return Err(Error::File {
            file: name.clone(),
            why: told!(
                "has {} columns, at most {COLUMNS_MAX} are read; {AS_LIST}",
                found.len()
            ),
        });
    }
    let mut seen = std::collections::HashSet::new();
    if let Some(twice) = found.iter().find(|column| !seen.insert(&column.name)) {
        return Err(Error::File {
            file: name.clone(),
            why: told!("has two columns of the name {}", twice.name),
        });
    }
    let (columns, names) = match declared {
        None => (found.clone(), found.into_iter().map(|c| c.name).collect()),
        Some(declared) => declare(name, declared, found, kind)?,
    };
    let mut description = Description {
        columns,
        names,
        rows: None,
        format: kind,
        dialect,
    };
    description.rows = rows.map(|rows| {
        let sources = if options.by_column { 1 } else { files.len() };
        let rows = (rows * sources as u64).saturating_sub(skipped(&description, options));
        rows.min(options.limit.unwrap_or(u64::MAX))
    });
    Ok(description)
}

/// The declared columns, and their names in the file.
fn declare(
    file: &str,
    declared: &[Column],
    found: Vec<Column>,
    format: Option<Format>,
) -> Result<(Vec<Column>, Vec<String>)> {
    let by_position = matches!(format, Some(Format::Csv | Format::Npy));
    if by_position {
        // An empty file shows no columns.
        if found.len() != declared.len() && !found.is_empty() {
            return Err(Error::File {
                file: file.to_owned(),
                why: told!(
                    "has {} column(s), and {} are declared",
                    found.len(),
                    declared.len()
                ),
            });
        }
        let names = match found.is_empty() {
            true => declared.iter().map(|c| c.name.clone()).collect(),
            false => found.into_iter().map(|c| c.name).collect(),
        };
        return Ok((declared.to_vec(), names));
    }
    for column in declared {
        // An object of JSON may lack a key; other files have all their columns.
        let known = format == Some(Format::Json) || found.iter().any(|c| c.name == column.name);
        if !known {
            let has: Vec<_> = found.iter().map(|c| c.name.as_str()).collect();
            return Err(Error::File {
                file: file.to_owned(),
                why: told!("has no column {}; it has {}", column.name, has.join(", ")),
            });
        }
    }
    Ok((
        declared.to_vec(),
        declared.iter().map(|c| c.name.clone()).collect(),
    ))
}

/// Rows that are passed over: lines of delimited text are no rows.
pub(super) fn skipped(description: &Description, options: &Options) -> u64 {
    match description.format {
        Some(Format::Csv) => 0,
        _ => options.skip,
    }
}
