//! Messages in chunks: each begins with its length in two bytes, and a chunk of length 0 ends the message.

use std::io::{self, Read, Write};

/// Longest message that is taken (BO-1), and longest one of a client that has not said who it is.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;
pub(crate) const GREETING_BYTES_MAX: usize = 64 << 10;

/// Longest chunk that is written.
const CHUNK_BYTES: usize = 0xffff;

/// Reads a message of at most so many bytes as `most` says when it comes; false where the connection ended before one began. Empty
/// messages keep a connection open, and mean nothing.
///
/// # Errors
/// The connection broke off, or the message is too long.
pub(crate) fn read(
    from: &mut impl Read,
    message: &mut Vec<u8>,
    most: impl Fn() -> usize,
) -> io::Result<bool> {
    message.clear();
    loop {
        let mut length = [0; 2];
        match from.read(&mut length[..1])? {
            0 if message.is_empty() => return Ok(false),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => from.read_exact(&mut length[1..])?,
        }
        let length = usize::from(u16::from_be_bytes(length));
        if length == 0 {
            if message.is_empty() {
                continue;
            }
            return Ok(true);
        }
        let most = most();
        if message.len() + length > most {
            let what = format!("a message of more than {most} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let before = message.len();
        message.resize(before + length, 0);
        from.read_exact(&mut message[before..])?;
    }
}

/// Writes a message.
///
/// # Errors
/// The connection broke off.
pub(crate) fn write(to: &mut impl Write, message: &[u8]) -> io::Result<()> {
    for chunk in message.chunks(CHUNK_BYTES) {
        let length = u16::try_from(chunk.len()).expect("chunks have two bytes of length");
        to.write_all(&length.to_be_bytes())?;
        to.write_all(chunk)?;
    }
    to.write_all(&[0, 0])
}

#[cfg(test)]
mod tests {
    //! Goal: any message comes out as it went in; nothing else makes the reader wait for ever or take too much.

    use super::*;

    #[test]
    fn messages_of_every_length_come_back() {
        for length in [1, 2, 0xfffe, 0xffff, 0x1_0000, 0x2_0001] {
            let message: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let mut wire = vec![0, 0, 0, 0];
            write(&mut wire, &message).expect("memory");
            let mut from = &wire[..];
            let mut read_back = Vec::new();
            assert!(read(&mut from, &mut read_back, || MESSAGE_BYTES_MAX).expect("whole"));
            assert_eq!(read_back, message);
            assert!(!read(&mut from, &mut read_back, || MESSAGE_BYTES_MAX).expect("the end"));
        }
    }

    #[test]
    fn what_breaks_off_or_is_too_long_is_an_error() {
        let mut message = Vec::new();
        for wire in [
            &[0][..],
            &[0, 5, 1, 2],
            &[0, 1, 7],
            &[0, 1, 7, 0],
            &[0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0],
        ] {
            assert!(read(&mut &*wire, &mut message, || 8).is_err(), "{wire:?}");
        }
        let long = [&[0, 4, 1, 2, 3, 4][..], &[0, 5, 5, 6, 7, 8, 9, 0, 0]].concat();
        assert!(read(&mut &long[..], &mut message, || 9).expect("of nine bytes"));
        let error = read(&mut &long[..], &mut message, || 8).expect_err("too long");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
