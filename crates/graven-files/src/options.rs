//! What a statement says of its files in brackets: `(HEADER = false, DELIM = ';')`.

use crate::datum::Datum;
use crate::error::{Error, Result};
use crate::literal;
use graven_types::PropertyValue;
use graven_types::told;

/// What files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Fields between delimiters, one record a line.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// A JSON list of objects, or an object a line.
    Json,
    /// Arrow's IPC files and streams.
    Arrow,
    /// NumPy's arrays.
    Npy,
}

impl Format {
    /// The format of that name, or of files with that ending.
    #[must_use]
    pub fn parse(name: &str) -> Option<Format> {
        Some(match name.to_ascii_lowercase().as_str() {
            "csv" | "tsv" | "txt" | "tbl" => Format::Csv,
            "parquet" | "pq" => Format::Parquet,
            "json" | "jsonl" | "ndjson" => Format::Json,
            "arrow" | "arrows" | "feather" | "ipc" => Format::Arrow,
            "npy" => Format::Npy,
            _ => return None,
        })
    }

    /// Whether columns lie in memory as a whole while they are written, not texts of rows.
    #[must_use]
    pub fn has_columns(self) -> bool {
        !matches!(self, Format::Csv | Format::Json)
    }

    /// How often the values of rows are in memory while they are written: as data and in the lines
    /// of a text, or in columns, in messages or pages, and packed.
    #[must_use]
    pub fn copies_written(self) -> usize {
        match self.has_columns() {
            true => 4,
            false => 2,
        }
    }

    /// The format of a file by its name, that of the packed file for `.gz` and `.zst`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Format> {
        // The name of a URL shows in this way that it has a query.
        let name = name.split("?...").next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        let plain = [".gz", ".zst", ".zstd"];
        let plain = plain.iter().find_map(|end| name.strip_suffix(end));
        let (_, ending) = plain.unwrap_or(&name).rsplit_once('.')?;
        Format::parse(ending)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "CSV",
            Format::Parquet => "PARQUET",
            Format::Json => "JSON",
            Format::Arrow => "ARROW",
            Format::Npy => "NPY",
        }
    }
}

/// Options of a source or of a file to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Else the names of the files say it.
    pub format: Option<Format>,
    /// Whether files of text begin with names; else the first record shows it.
    pub header: Option<bool>,
    /// Without that, a first record of texts is a header, too, if a declared column holds no texts.
    pub sniffs_header: bool,
    /// Between fields; else found out.
    pub delimiter: Option<char>,
    /// Around fields; else found out.
    pub quote: Option<char>,
    /// What makes a quote within quotes a plain character, besides a second quote; else found out.
    pub escape: Option<char>,
    /// Texts without quotes that stand for null, besides none at all.
    pub nulls: Vec<String>,
    /// Whether what is not said is found out; else fields are texts between commas, without a
    /// header.
    pub detect: bool,
    /// What is passed over at the beginning: lines of each file of delimited text, else rows of the
    /// source.
    pub skip: u64,
    /// Rows after which the source ends.
    pub limit: Option<u64>,
    /// Records that are looked at to find out types.
    pub sample: usize,
    /// Each file is a column: NumPy's arrays.
    pub by_column: bool,
    /// Columns of delimited text that hold maps are texts: properties hold no maps.
    pub maps_as_text: bool,
    /// Rows that cannot be read are left out.
    pub ignore_errors: bool,
    /// Longest record of delimited text; an object of JSON may be four times as long. No statement
    /// says it: it follows the memory limit.
    pub record_bytes: usize,
    /// Bytes that are held of rows that were written to Parquet before they are brought to the
    /// file. No statement says it: it follows the memory limit.
    pub group_bytes: usize,
}

impl Options {
    /// The same within a memory limit of so many bytes, where a file is written.
    #[must_use]
    pub fn written_within(self, limit: u64) -> Options {
        /// A row group may take this share of the limit.
        const SHARE: u64 = 8;
        let most = usize::try_from(limit / SHARE).unwrap_or(usize::MAX);
        Options {
            group_bytes: self.group_bytes.min(most),
            ..self
        }
    }

    /// Bytes of a record batch or page that are read at a time.
    pub(crate) fn batch_bytes(&self) -> usize {
        /// The writers of other programs end a page at 1 MiB.
        const MIN: usize = 2 << 20;
        (2 * self.record_bytes).max(MIN)
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            format: None,
            header: None,
            sniffs_header: false,
            delimiter: None,
            quote: None,
            escape: None,
            detect: true,
            nulls: Vec::new(),
            skip: 0,
            limit: None,
            sample: 10_000,
            by_column: false,
            maps_as_text: false,
            ignore_errors: false,
            record_bytes: 16 << 20,
            group_bytes: 16 << 20,
        }
    }
}

const KNOWN: &str = "FORMAT, HEADER, DELIM, QUOTE, ESCAPE, NULL_STRINGS, SKIP, LIMIT, SAMPLE_SIZE, AUTO_DETECT, \
        BY_COLUMN, MAPS_AS_TEXT, IGNORE_ERRORS, PARALLEL";

impl Options {
    /// Sets one by name.
    ///
    /// # Errors
    /// There is no such option, or it cannot be that.
    pub fn set(&mut self, name: &str, value: &Datum) -> Result<()> {
        let name = name.to_ascii_uppercase();
        let wrong = |wanted: &str| {
            let given = literal::Shown(value);
            Err(Error::Option(told!(
                "the option {name} is {wanted}, not {given}"
            )))
        };
        let text = match value {
            Datum::Value(PropertyValue::String(text)) => Some(&**text),
            _ => None,
        };
        let character = || {
            let mut chars = text?.chars();
            let character = chars.next()?;
            chars.next().is_none().then_some(character)
        };
        let flag = match value {
            Datum::Value(PropertyValue::Boolean(flag)) => Some(*flag),
            _ => None,
        };
        let count = match value {
            Datum::Value(PropertyValue::Integer(count)) => u64::try_from(*count).ok(),
            _ => None,
        };
        match name.as_str() {
            "FORMAT" | "FILE_FORMAT" => match text.and_then(Format::parse) {
                Some(format) => self.format = Some(format),
                None => return wrong("'CSV', 'PARQUET', 'JSON', 'ARROW' or 'NPY'"),
            },
            "HEADER" => match (flag, count, text) {
                (Some(flag), ..) => self.header = Some(flag),
                (_, Some(count @ (0 | 1)), _) => self.header = Some(count == 1),
                (.., Some(text)) if text.eq_ignore_ascii_case("auto") => self.sniffs_header = true,
                _ => return wrong("true, false or 'auto'"),
            },
            "DELIM" | "DELIMITER" | "SEP" => match (text, character()) {
                (Some("\\t"), _) => self.delimiter = Some('\t'),
                (_, Some(c)) if c.is_ascii() => self.delimiter = Some(c),
                _ => return wrong("one ASCII character"),
            },
            "QUOTE" => match character() {
                Some(c) if c.is_ascii() => self.quote = Some(c),
                _ => return wrong("one ASCII character"),
            },
            "ESCAPE" => match character() {
                Some(c) if c.is_ascii() => self.escape = Some(c),
                _ => return wrong("one ASCII character"),
            },
            "NULL_STRINGS" => match value {
                Datum::Value(PropertyValue::String(text)) => self.nulls = vec![text.to_string()],
                Datum::Value(PropertyValue::List(items)) => {
                    self.nulls.clear();
                    for item in items.iter() {
                        match item {
                            PropertyValue::String(text) => self.nulls.push(text.to_string()),
                            _ => return wrong("a list of texts"),
                        }
                    }
                }
                _ => return wrong("a list of texts"),
            },
            "SKIP" => match count {
                Some(count) => self.skip = count,
                None => return wrong("a number of lines or rows"),
            },
            "LIMIT" => match count {
                Some(count) => self.limit = Some(count),
                None => return wrong("a number of rows"),
            },
            "SAMPLE_SIZE" => match count {
                Some(count @ 1..=10_000_000) => {
                    self.sample = usize::try_from(count).unwrap_or(usize::MAX);
                }
                _ => return wrong("a number of records"),
            },
            "BY_COLUMN" => match flag {
                Some(flag) => self.by_column = flag,
                None => return wrong("true or false"),
            },
            "MAPS_AS_TEXT" => match flag {
                Some(flag) => self.maps_as_text = flag,
                None => return wrong("true or false"),
            },
            "IGNORE_ERRORS" => match flag {
                Some(flag) => self.ignore_errors = flag,
                None => return wrong("true or false"),
            },
            "AUTO_DETECT" | "AUTODETECT" => match flag {
                Some(flag) => self.detect = flag,
                None => return wrong("true or false"),
            },
            // Kuzu's ways to say how it reads, which are Graven's own affair.
            "PARALLEL" | "LIST_UNBRACED" => match flag {
                Some(_) => {}
                None => return wrong("true or false"),
            },
            _ => {
                let message = told!("there is no option {name}; there are {KNOWN}");
                return Err(Error::Option(message));
            }
        }
        Ok(())
    }
}
