//! PackStream: values as bytes, each with a marker of its type and size.
//!
//! # How it works
//! A [`Writer`] appends to a buffer; a [`Reader`] takes values off the front of one. What the
//! library has no value for, dates and nodes, are structures: a signature and fields, made and read
//! by [`crate::temporal_codec`] and `values`.

mod values;
mod weight;

use crate::Version;
use crate::chunk::CHUNK_BYTES;
pub(crate) use weight::weight;

/// Lists, maps and structures within each other, at most.
const DEPTH_MAX: usize = 100;

/// Values in a message, at most (BO-1): one takes some tens of bytes in memory, and a byte on the
/// wire.
const VALUES_MAX: usize = 8 << 20;

/// What cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the message ends in the middle of a value")]
    Ends,
    #[error("0x{0:02x} is no marker of a value")]
    Marker(u8),
    #[error("a text is not UTF-8")]
    Text,
    #[error("{0} is wanted here")]
    Wanted(&'static str),
    #[error("a structure 0x{0:02x} of {1} fields cannot be a value")]
    Structure(u8, usize),
    #[error("value nesting exceeds {DEPTH_MAX} levels")]
    Deep,
    #[error("a message of more than {VALUES_MAX} values: send fewer rows at a time")]
    Many,
    #[error("{0}")]
    Value(String),
}

impl Unreadable {
    /// Whether the message is well formed, and only a value in it is none.
    pub(crate) fn is_about_value(&self) -> bool {
        matches!(
            self,
            Self::Value(_) | Self::Structure(..) | Self::Many | Self::Deep
        )
    }
}

/// Appends values to a buffer, which is emptied now and then: a message is never whole in memory.
pub(crate) struct Writer<'a> {
    pub(crate) out: &'a mut Vec<u8>,
    /// Sends what the buffer holds, and empties it; whether to go on.
    pub(crate) full: &'a mut dyn FnMut(&mut Vec<u8>) -> bool,
    /// Whether nothing more is sent: then values are passed over.
    pub(crate) has_ended: bool,
    pub(crate) version: Version,
    /// What ids of text begin with.
    pub(crate) store: &'a str,
    /// Whether moments count from UTC.
    pub(crate) utc: bool,
}

impl Writer<'_> {
    /// Makes room in the buffer if it is full.
    fn make_room(&mut self) {
        if self.out.len() >= CHUNK_BYTES {
            self.has_ended = !(self.full)(self.out);
        }
    }

    /// Appends bytes of any number.
    fn append(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(CHUNK_BYTES) {
            if self.has_ended {
                return;
            }
            self.out.extend(part);
            self.make_room();
        }
    }

    fn sized(&mut self, tiny: Option<u8>, markers: [Option<u8>; 3], size: usize) {
        let size = u32::try_from(size).expect("BO-1: values fit in a message");
        match (tiny, u8::try_from(size), u16::try_from(size)) {
            (Some(tiny), Ok(size), _) if size < 16 => self.out.push(tiny | size),
            (_, Ok(size), _) if markers[0].is_some() => {
                self.out.extend([markers[0].expect("asked"), size]);
            }
            (_, _, Ok(size)) if markers[1].is_some() => {
                self.out.extend(markers[1]);
                self.out.extend(size.to_be_bytes());
            }
            _ => {
                self.out.extend(markers[2]);
                self.out.extend(size.to_be_bytes());
            }
        }
    }

    pub(crate) fn null(&mut self) {
        self.out.push(0xc0);
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        self.out.push(if value { 0xc3 } else { 0xc2 });
    }

    pub(crate) fn integer(&mut self, value: i64) {
        if let Ok(tiny @ -16..=127) = i8::try_from(value) {
            self.out.extend(tiny.to_be_bytes());
        } else if let Ok(value) = i8::try_from(value) {
            self.out.push(0xc8);
            self.out.extend(value.to_be_bytes());
        } else if let Ok(value) = i16::try_from(value) {
            self.out.push(0xc9);
            self.out.extend(value.to_be_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.out.push(0xca);
            self.out.extend(value.to_be_bytes());
        } else {
            self.out.push(0xcb);
            self.out.extend(value.to_be_bytes());
        }
    }

    pub(crate) fn float(&mut self, value: f64) {
        self.out.push(0xc1);
        self.out.extend(value.to_be_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.sized(Some(0x80), [Some(0xd0), Some(0xd1), Some(0xd2)], text.len());
        self.append(text.as_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.sized(None, [Some(0xcc), Some(0xcd), Some(0xce)], bytes.len());
        self.append(bytes);
    }

    /// Begins a list of so many values, which follow.
    pub(crate) fn list(&mut self, len: usize) {
        self.sized(Some(0x90), [Some(0xd4), Some(0xd5), Some(0xd6)], len);
    }

    /// Begins a map of so many keys and values, which follow.
    pub(crate) fn map(&mut self, len: usize) {
        self.sized(Some(0xa0), [Some(0xd8), Some(0xd9), Some(0xda)], len);
    }

    /// Begins a structure of so many fields, which follow.
    pub(crate) fn structure(&mut self, signature: u8, fields: u8) {
        debug_assert!(fields < 16, "no structure has more");
        self.out.extend([0xb0 | fields, signature]);
    }
}

/// Takes values off the front of a message.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// Values that may still come.
    left: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Reader {
            rest: message,
            left: VALUES_MAX,
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Unreadable> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(Unreadable::Ends)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("so many were taken"))
    }

    fn byte(&mut self) -> Result<u8, Unreadable> {
        Ok(self.array::<1>()?[0])
    }

    /// A size in one, two or four bytes.
    fn size(&mut self, bytes: u32) -> Result<usize, Unreadable> {
        Ok(match bytes {
            0 => usize::from(self.byte()?),
            1 => usize::from(u16::from_be_bytes(self.array()?)),
            _ => u32::from_be_bytes(self.array()?) as usize,
        })
    }

    fn text(&mut self, bytes: usize) -> Result<&'a str, Unreadable> {
        std::str::from_utf8(self.take(bytes)?).map_err(|_| Unreadable::Text)
    }

    /// Signature and number of fields of a message.
    pub(crate) fn message(&mut self) -> Result<(u8, u8), Unreadable> {
        match self.byte()? {
            marker @ 0xb0..=0xbf => Ok((self.byte()?, marker & 15)),
            _ => Err(Unreadable::Wanted("a message")),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Goal: values come back as they were; the sizes of markers are those of the specification; no
    //! bytes make the reader panic.

    use std::sync::Arc;

    use graven::Value;

    use super::*;

    pub(super) fn written(value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer {
            out: &mut out,
            full: &mut |_| true,
            has_ended: false,
            version: Version(5, 4),
            store: "s",
            utc: true,
        };
        writer.value(value);
        out
    }

    #[test]
    fn values_come_back() {
        let integers = [0, -16, -17, 127, 128, -128, -129, 32_767, 32_768, -32_769];
        let more = [
            i64::from(i32::MAX),
            i64::from(i32::MIN) - 1,
            i64::MAX,
            i64::MIN,
        ];
        let mut values: Vec<Value> = integers.into_iter().chain(more).map(Value::from).collect();
        values.extend([Value::Null, true.into(), false.into(), 1.5.into()]);
        for length in [0, 15, 16, 255, 256, 65_535, 65_536] {
            values.push("x".repeat(length).into());
            values.push(Value::Bytes(vec![7; length].into()));
            values.push(vec![1; length].into());
        }
        let entries = (0..300).map(|n| (Arc::from(format!("key{n}")), Value::from(n)));
        values.push(Value::Map(entries.collect()));
        values.push(Value::List(vec![vec![Value::Null, "a".into()].into()]));
        for value in values {
            let bytes = written(&value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.value().expect("it was written"), value);
            assert!(reader.is_at_end());
            for end in (0..bytes.len()).rev().take(20) {
                assert!(Reader::new(&bytes[..end]).value().is_err());
            }
        }
    }

    #[test]
    fn markers_are_those_of_the_specification() {
        assert_eq!(written(&Value::from(-17)), [0xc8, 0xef]);
        assert_eq!(
            written(&Value::from(1.0)),
            [0xc1, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(written(&Value::from("A")), [0x81, 0x41]);
        assert_eq!(written(&Value::from(vec![1, 2])), [0x92, 1, 2]);
        assert_eq!(written(&Value::Bytes(Arc::from([1u8]))), [0xcc, 1, 1]);
    }

    #[test]
    fn lengths_that_lie_and_deep_lists_are_errors() {
        assert!(matches!(
            Reader::new(&[0xd6, 0xff, 0xff, 0xff, 0xff, 1]).value(),
            Err(Unreadable::Ends)
        ));
        assert!(matches!(
            Reader::new(&[0xda, 0xff, 0xff, 0xff, 0xff]).value(),
            Err(Unreadable::Ends)
        ));
        assert!(matches!(
            Reader::new(&[0x91; 100_000]).value(),
            Err(Unreadable::Deep)
        ));
        assert!(matches!(
            Reader::new(&[0xc7]).value(),
            Err(Unreadable::Marker(0xc7))
        ));
        assert!(matches!(
            Reader::new(&[0x81, 0xff]).value(),
            Err(Unreadable::Text)
        ));
        assert!(Reader::new(&[0xa1, 1, 1]).value().is_err());
        let many = [&[0xd6, 0, 0x90, 0, 0][..], &[0x90; 0x90_0000]].concat();
        assert!(matches!(Reader::new(&many).value(), Err(Unreadable::Many)));
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        let mut random = graven_types::rng::SplitMix64::new(7);
        for _ in 0..50_000 {
            let length = random.below(40);
            let bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
            let _ = Reader::new(&bytes).value();
        }
    }
}
