//! Bounds-checked reading and writing of little-endian fields and variable-length integers.
//!
//! # Invariants
//! * ST-1: a decoder never panics on bytes of a file: every read goes through [`Reader`] or a
//!   checked slice.

/// What a decoder found wrong, in words for [`crate::Error::Damaged`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Malformed(pub(crate) String);

impl Malformed {
    pub(crate) fn new(what: impl Into<String>) -> Malformed {
        Malformed(what.into())
    }
}

/// Result of a decoder.
pub(crate) type Decoded<T> = Result<T, Malformed>;

/// Reads fields one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// Starts at byte `at`; reading behind the end fails then, not here.
    pub(crate) fn starting_at(bytes: &'a [u8], at: usize) -> Reader<'a> {
        Reader { bytes, at }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub(crate) fn take(&mut self, count: usize) -> Decoded<&'a [u8]> {
        let end = self.at.checked_add(count);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(slice) => {
                self.at += count;
                Ok(slice)
            }
            None => Err(Malformed(format!(
                "{count} bytes wanted at offset {} of {}",
                self.at,
                self.bytes.len()
            ))),
        }
    }

    /// The bytes that `read` goes over.
    #[inline]
    pub(crate) fn since(
        &mut self,
        read: impl FnOnce(&mut Reader<'a>) -> Decoded<()>,
    ) -> Decoded<&'a [u8]> {
        let from = self.at;
        read(self)?;
        Ok(&self.bytes[from..self.at])
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Decoded<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Decoded<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Decoded<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn f64(&mut self) -> Decoded<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// Two numbers as [`Reader::varint`] reads them, if they come next and both take a byte.
    #[inline]
    pub(crate) fn small_pair(&mut self) -> Option<(u64, u64)> {
        let [first, second] = *self.bytes.get(self.at..)?.first_chunk()?;
        if (first | second) >= 0x80 {
            return None;
        }
        self.at += 2;
        Some((first.into(), second.into()))
    }

    /// An unsigned LEB128 number of at most 10 bytes.
    #[inline]
    pub(crate) fn varint(&mut self) -> Decoded<u64> {
        if let Some(&byte) = self.bytes.get(self.at)
            && byte < 0x80
        {
            self.at += 1;
            return Ok(u64::from(byte));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Decoded<u64> {
        let ahead = self.bytes.get(self.at..);
        if let Some(word) = ahead.and_then(|ahead| ahead.first_chunk())
            && let Some((value, bytes)) = varint_of_word(u64::from_le_bytes(*word))
        {
            self.at += bytes;
            return Ok(value);
        }
        self.bytewise_varint()
    }

    /// Of nine and ten bytes, and near the end.
    fn bytewise_varint(&mut self) -> Decoded<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed::new(format!(
            "number of more than 64 bits before offset {}",
            self.at
        )))
    }

    /// A length that must fit what is left, so that a damaged number makes no caller allocate too
    /// much.
    pub(crate) fn length(&mut self) -> Decoded<usize> {
        let length = self.varint()?;
        match usize::try_from(length) {
            Ok(length) if length <= self.remaining() => Ok(length),
            _ => Err(Malformed(format!(
                "length {length} where {} bytes are left",
                self.remaining()
            ))),
        }
    }

    /// Text with its length in front.
    pub(crate) fn text(&mut self) -> Decoded<&'a str> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?)
            .map_err(|error| Malformed(format!("text is not UTF-8: {error}")))
    }
}

/// The LEB128 number at the low end of eight bytes, and how many of them it takes, if it ends
/// there.
fn varint_of_word(word: u64) -> Option<(u64, usize)> {
    let ends = !word & 0x8080_8080_8080_8080;
    if ends == 0 {
        return None;
    }
    // Up to the highest bit of its last byte.
    let own = word & (ends ^ (ends - 1));
    // Groups of 7, then 14, then 28 bits move together.
    let groups = own & 0x7f7f_7f7f_7f7f_7f7f;
    let groups = groups & 0x007f_007f_007f_007f | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
    let groups = groups & 0x0000_3fff_0000_3fff | (groups & 0x3fff_0000_3fff_0000) >> 2;
    let value = groups & 0x0fff_ffff | (groups & 0x0fff_ffff_0000_0000) >> 4;
    Some((value, ends.trailing_zeros() as usize / 8 + 1))
}

/// Appends an unsigned LEB128 number.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes of `value` as LEB128.
pub(crate) fn varint_bytes(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Appends text with its length in front.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Maps small magnitudes of either sign to small unsigned numbers.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Undoes [`zigzag`].
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Goal: varints of all lengths and zigzag come back, whatever follows them, and
        /// `varint_bytes` tells their length.
        #[test]
        fn numbers_come_back(value: u64, bits in 0u32..64, signed: i64, behind: Vec<u8>) {
            let value = value >> bits;
            let mut out = Vec::new();
            put_varint(&mut out, value);
            prop_assert_eq!(out.len(), varint_bytes(value));
            out.extend_from_slice(&behind);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.varint(), Ok(value));
            prop_assert_eq!(reader.remaining(), behind.len());
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }

        /// Goal: any bytes are the same number whether they are read one by one or together.
        #[test]
        fn words_are_read_as_bytes_are(bytes: [u8; 12]) {
            let (mut together, mut one_by_one) = (Reader::new(&bytes), Reader::new(&bytes));
            prop_assert_eq!(together.long_varint(), one_by_one.bytewise_varint());
            prop_assert_eq!(together.position(), one_by_one.position());
        }

        /// Goal: reading numbers and text from arbitrary bytes fails or succeeds, never panics.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>, at in 0usize..64) {
            let mut reader = Reader::starting_at(&bytes, at);
            let _ = reader.varint();
            let _ = reader.text();
            let _ = reader.u64();
        }
    }
}
