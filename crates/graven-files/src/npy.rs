//! NumPy's arrays: one or two dimensions of numbers, a row for each element of the first.

use std::io::{BufReader, Read};

use graven_types::PropertyValue;
use graven_types::told;

use crate::column::Column;
use crate::datum::{Cells, Datum};
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::ranges::{Cursor, Input};

/// Longest header.
const HEADER_MAX: usize = 64 << 10;
/// Most columns.
const COLUMNS_MAX: usize = 4096;

/// An array that is read row by row.
pub(crate) struct Rows {
    name: String,
    input: BufReader<Cursor>,
    kind: char,
    size: usize,
    columns: usize,
    rows: u64,
    done: u64,
}

impl Rows {
    pub(crate) fn open(name: &str, file: Input) -> Result<Self> {
        let wrong = |why: String| Error::File {
            file: name.to_owned(),
            why,
        };
        let mut input = BufReader::with_capacity(256 << 10, Cursor::new(file, 0));
        let mut take = |count: usize| -> Result<Vec<u8>> {
            let mut bytes = vec![0; count];
            input.read_exact(&mut bytes).map_err(|source| Error::Io {
                file: name.to_owned(),
                source,
            })?;
            Ok(bytes)
        };
        let start = take(8)?;
        if !start.starts_with(b"\x93NUMPY") {
            return Err(wrong("is no NumPy array".to_owned()));
        }
        let length = match start[6] {
            1 => {
                let bytes = take(2)?;
                usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
            }
            _ => {
                let bytes = take(4)?;
                u32::from_le_bytes(bytes.try_into().expect("four")) as usize
            }
        };
        if length > HEADER_MAX {
            return Err(wrong("has a header that is too long".to_owned()));
        }
        let header = String::from_utf8_lossy(&take(length)?).into_owned();
        let after = |key: &str| {
            let from = header.find(key).map(|at| at + key.len());
            from.map(|from| header[from..].trim_start_matches([':', ' ']))
        };
        let descr = after("'descr'").and_then(|rest| rest.strip_prefix('\''));
        let descr = descr.and_then(|rest| rest.split('\'').next()).unwrap_or("");
        let shape = after("'shape'").and_then(|rest| rest.strip_prefix('('));
        let shape = shape.and_then(|rest| rest.split(')').next()).unwrap_or("");
        let sizes = shape
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let sizes: Option<Vec<u64>> = sizes.map(|part| part.parse().ok()).collect();
        let fortran = after("'fortran_order'").is_some_and(|rest| rest.starts_with("True"));
        let mut letters = descr.chars();
        let (order, kind) = (letters.next(), letters.next().unwrap_or(' '));
        let size = letters.as_str().parse().unwrap_or(0);
        let known = matches!(
            (kind, size),
            ('i' | 'u', 1 | 2 | 4 | 8) | ('f', 4 | 8) | ('b', 1)
        );
        if !known || order == Some('>') {
            return Err(wrong(told!(
                "holds values of the type '{descr}'; integers, floats of 4 or 8 bytes and \
                    booleans, little-endian, can be read"
            )));
        }
        let (rows, columns) = match sizes.as_deref() {
            Some([rows]) => (*rows, 1),
            Some([rows, columns]) if *columns <= COLUMNS_MAX as u64 => (*rows, *columns as usize),
            _ => {
                return Err(wrong(told!(
                    "has the shape ({shape}); one or two dimensions can be read"
                )));
            }
        };
        if fortran && columns > 1 {
            return Err(wrong(
                "is stored column by column: write numpy.ascontiguousarray(array)".to_owned(),
            ));
        }
        Ok(Rows {
            name: name.to_owned(),
            input,
            kind,
            size,
            columns,
            rows,
            done: 0,
        })
    }

    /// Its columns and rows.
    pub(crate) fn describe(&self) -> (Vec<Column>, Option<u64>) {
        let kind = match self.kind {
            'f' => Kind::Float,
            'b' => Kind::Boolean,
            _ => Kind::Integer,
        };
        let column = |at: usize| Column {
            name: format!("column{at}"),
            kind: kind.clone(),
            stated: None,
        };
        ((0..self.columns).map(column).collect(), Some(self.rows))
    }

    /// Up to so many rows of these columns, and of about so many bytes; none at the end.
    pub(crate) fn next(
        &mut self,
        (rows, bytes): (usize, usize),
        wanted: &[usize],
    ) -> Result<Option<(Vec<Cells>, usize, u64)>> {
        let before = self.done;
        // As they stand in the file, and as values.
        let of_row = self.columns * self.size + wanted.len() * size_of::<Datum>();
        let rows = rows.min(bytes / of_row.max(1)).max(1);
        let count = usize::try_from(self.rows - before)
            .unwrap_or(usize::MAX)
            .min(rows);
        if count == 0 {
            return Ok(None);
        }
        let width = self.columns * self.size;
        let mut bytes = vec![0; count * width];
        self.input
            .read_exact(&mut bytes)
            .map_err(|source| Error::Io {
                file: self.name.clone(),
                source,
            })?;
        self.done += count as u64;
        let cells = wanted.iter().map(|column| {
            let places = (0..count).map(|row| row * width + column * self.size);
            let raw = places.map(|at| &bytes[at..at + self.size]);
            self.cells(raw, before)
        });
        Ok(Some((cells.collect::<Result<_>>()?, count, before)))
    }

    fn cells<'a>(&self, raw: impl Iterator<Item = &'a [u8]>, before: u64) -> Result<Cells> {
        let unsigned = |bytes: &[u8]| {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(all)
        };
        Ok(match (self.kind, self.size) {
            ('f', 4) => Cells::Floats(
                raw.map(|b| f64::from(f32::from_bits(unsigned(b) as u32)))
                    .collect(),
            ),
            ('f', _) => Cells::Floats(raw.map(|b| f64::from_bits(unsigned(b))).collect()),
            ('b', _) => Cells::Data(
                raw.map(|b| Datum::Value(PropertyValue::Boolean(b[0] != 0)))
                    .collect(),
            ),
            ('i', size) => {
                let spare = 64 - 8 * size as u32;
                Cells::Integers(
                    raw.map(|b| ((unsigned(b) << spare) as i64) >> spare)
                        .collect(),
                )
            }
            _ => {
                let mut values = Vec::new();
                for (row, bytes) in raw.enumerate() {
                    let value = unsigned(bytes);
                    values.push(i64::try_from(value).map_err(|_| crate::Fault {
                        file: self.name.clone(),
                        row: before + row as u64 + 1,
                        line: None,
                        column: None,
                        value: Some(value.to_string()),
                        why: "is larger than a 64-bit integer".to_owned(),
                    })?);
                }
                Cells::Integers(values)
            }
        })
    }
}
