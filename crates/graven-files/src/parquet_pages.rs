//! A Parquet file whose pages are looked at before they are read.
//!
//! # How it works
//! A page is read and unpacked as a whole, and its header says how many bytes and values that are.
//! The library asks for a header before it reads the page: at this moment the sizes in it are
//! looked at, and a page that is too large is an error. Sizes are the first fields of a header, in
//! the compact form of Thrift.
//!
//! # Invariants
//! * FI-12 No page is unpacked, and no piece of a file read, that takes more than the limit by its
//!   header. The library unpacks gzip and LZ4 to their end before it compares: a page of these that
//!   unpacks to more than its header says takes what it unpacks to.

use std::io::{BufRead as _, BufReader, Read as _};
use std::ops::Range;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::parquet_schema;
use crate::ranges::{Cursor, Input};

/// Bytes of a value of a list on its way, at least.
const VALUE_BYTES: u64 = 4;

/// See the file header.
#[derive(Clone)]
pub(crate) struct Pages {
    file: Input,
    size: u64,
    limit: u64,
    /// A row may hold all values of a page: there are lists.
    pub(crate) nested: bool,
}

impl Pages {
    /// Of this file, with at most so many bytes at a time.
    ///
    /// # Errors
    /// Its size is not known.
    pub(crate) fn new(file: Input, limit: u64) -> Result<Self> {
        Ok(Self {
            size: file.size()?,
            file,
            limit,
            nested: true,
        })
    }

    /// These column chunks will be read, row group by row group.
    pub(crate) fn expect(&self, groups: &[Vec<Range<u64>>]) {
        self.file.expect(groups);
    }

    /// Looks at how deep the columns nest, before the library does.
    pub(crate) fn check_columns(&self) -> Result<()> {
        /// Bytes at the end: the length of the description, and what a file ends with.
        const END: u64 = 8;
        let Some(end) = self.len().checked_sub(END) else {
            return Ok(());
        };
        let length = self.get_bytes(end, 4)?;
        let length = u32::from_le_bytes(length[..].try_into().unwrap_or_default());
        let Some(start) = end.checked_sub(length.into()) else {
            return Ok(());
        };
        let description = self.get_bytes(start, length as usize)?;
        parquet_schema::check(&description).map_err(ParquetError::General)
    }

    fn check(&self, what: &str, bytes: u64) -> Result<()> {
        if bytes <= self.limit {
            return Ok(());
        }
        Err(ParquetError::General(format!(
            "{what} takes {bytes} bytes, and with this memory limit at most {} are read at a time; \
                write the file with smaller pages, or raise the memory limit",
            self.limit
        )))
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.size
    }
}

/// Bytes that are looked at for the header of a page.
const HEADER_BYTES: usize = 8 << 10;

impl ChunkReader for Pages {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let cursor = Cursor::new(self.file.clone(), start);
        let mut reader = BufReader::with_capacity(HEADER_BYTES, cursor);
        if let Some(sizes) = sizes(reader.fill_buf()?) {
            self.check("a page", sizes.unpacked)?;
            if self.nested {
                let values = sizes.values.unwrap_or(0);
                self.check("a page of lists", values.saturating_mul(VALUE_BYTES))?;
            }
        }
        Ok(reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.check("a part of the file", length as u64)?;
        // In one read, so that an object is asked for all of it at once.
        let mut bytes = vec![0; length];
        Cursor::new(self.file.clone(), start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// What the header of a page says.
#[derive(Debug, PartialEq, Eq)]
struct Sizes {
    unpacked: u64,
    values: Option<u64>,
}

/// The sizes in a header; none where there is no header.
fn sizes(header: &[u8]) -> Option<Sizes> {
    /// The next field is a number.
    const NUMBER: u8 = 0x15;
    const STRUCT: u8 = 0x0c;
    let mut at = 0;
    let mut byte = || {
        at += 1;
        header.get(at - 1).copied()
    };
    // A number in zigzag form; a negative one is as good as the largest.
    let number = |byte: &mut dyn FnMut() -> Option<u8>| -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let part = byte()?;
            value |= u64::from(part & 0x7f) << shift;
            if part < 0x80 {
                return Some(if value & 1 == 0 { value >> 1 } else { u64::MAX });
            }
        }
        None
    };
    // Kind of the page, unpacked and packed size.
    let mut first = [0; 3];
    for value in &mut first {
        (byte()? == NUMBER).then_some(())?;
        *value = number(&mut byte)?;
    }
    let mut values = || {
        let mut field = byte()?;
        if field == NUMBER {
            // A checksum.
            number(&mut byte)?;
            field = byte()?;
        }
        (field & 0x0f == STRUCT && byte()? == NUMBER).then_some(())?;
        number(&mut byte)
    };
    Some(Sizes {
        unpacked: first[1],
        values: values(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: sizes are found in a header, with a checksum and without; anything else has none.
    #[test]
    fn sizes_of_a_header() {
        // Kind 0, 300 bytes unpacked, 20 packed, then what is in a page: 7 values.
        let plain = [0x15, 0, 0x15, 0xd8, 0x04, 0x15, 40, 0x2c, 0x15, 14, 0x15];
        let expected = Sizes {
            unpacked: 300,
            values: Some(7),
        };
        assert_eq!(sizes(&plain), Some(expected));
        let checked = [0x15, 0, 0x15, 2, 0x15, 2, 0x15, 9, 0x1c, 0x15, 4];
        let expected = Sizes {
            unpacked: 1,
            values: Some(2),
        };
        assert_eq!(sizes(&checked), Some(expected));
        let negative = [0x15, 0, 0x15, 1, 0x15, 2];
        assert_eq!(sizes(&negative).map(|it| it.unpacked), Some(u64::MAX));
        assert_eq!(sizes(b"PAR1"), None);
        assert_eq!(sizes(&[]), None);
    }
}
