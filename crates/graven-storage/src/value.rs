//! Bytes of property values, and how deep they may nest.
//!
//! # How it works
//! [`PropertyValue`] is what columns take and give. Columns of one type pack its values; the bytes
//! of a single value, for mixed columns, list elements, the log and temporary data, are written by
//! [`encode`](mod@encode).

pub(crate) mod depth;
pub mod encode;

use graven_types::PropertyValue;

/// Appends self-describing bytes of `value`, as mixed columns hold them: for temporary data.
pub fn encode(value: &PropertyValue, out: &mut Vec<u8>) {
    encode::put_value(out, value);
}

/// The value at the start of `bytes` and how many bytes it takes.
///
/// # Errors
/// What is wrong with the bytes.
pub fn decode(bytes: &[u8]) -> Result<(PropertyValue, usize), String> {
    let mut reader = crate::bytes::Reader::new(bytes);
    let value = encode::read_value(&mut reader).map_err(|malformed| malformed.0)?;
    Ok((value, reader.position()))
}
