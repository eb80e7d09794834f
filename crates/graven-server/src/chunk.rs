//! Messages in chunks: each begins with its length in two bytes, and a chunk of length 0 ends the message.

use std::io::{self, Write};

use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest message that is taken (BO-1), and longest one of a client that has not said who it is.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;
pub(crate) const GREETING_BYTES_MAX: usize = 16 << 10;

/// Longest chunk that is written.
const CHUNK_BYTES: usize = 0xffff;

/// Why a message was not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The connection broke off.
    Broken(io::Error),
    /// The message is longer than it may be.
    TooLong(usize),
    /// There is no memory for it.
    NoMemory(String),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Unread::Broken(error)
    }
}

/// What a reader asks of its surroundings while a message comes in.
pub(crate) trait Limits {
    /// How many bytes a message may have at most, now.
    fn most(&self) -> usize;
    /// Makes room for a message of so many bytes.
    ///
    /// # Errors
    /// Why there is none.
    fn make_room(&mut self, bytes: usize) -> Result<(), String>;
}

/// Reads a message; false where the connection ended before one began. Empty messages keep a connection open, and mean nothing.
///
/// # Errors
/// See [`Unread`].
pub(crate) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    message: &mut Vec<u8>,
    limits: &mut impl Limits,
) -> Result<bool, Unread> {
    message.clear();
    loop {
        let mut length = [0; 2];
        match from.read(&mut length[..1]).await? {
            0 if message.is_empty() => return Ok(false),
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            _ => from.read_exact(&mut length[1..]).await?,
        };
        let length = usize::from(u16::from_be_bytes(length));
        if length == 0 {
            if message.is_empty() {
                continue;
            }
            return Ok(true);
        }
        let most = limits.most();
        if message.len() + length > most {
            return Err(Unread::TooLong(most));
        }
        let before = message.len();
        limits
            .make_room(before + length)
            .map_err(Unread::NoMemory)?;
        message.resize(before + length, 0);
        from.read_exact(&mut message[before..]).await?;
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

    struct Most(usize);

    impl Limits for Most {
        fn most(&self) -> usize {
            self.0
        }

        fn make_room(&mut self, _: usize) -> Result<(), String> {
            Ok(())
        }
    }

    /// What is in memory is there at once.
    fn read_now(from: &mut &[u8], message: &mut Vec<u8>, most: usize) -> Result<bool, Unread> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        runtime.block_on(read(from, message, &mut Most(most)))
    }

    #[test]
    fn messages_of_every_length_come_back() {
        for length in [1, 2, 0xfffe, 0xffff, 0x1_0000, 0x2_0001] {
            let message: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let mut wire = vec![0, 0, 0, 0];
            write(&mut wire, &message).expect("memory");
            let mut from = &wire[..];
            let mut read_back = Vec::new();
            let read = read_now(&mut from, &mut read_back, MESSAGE_BYTES_MAX);
            assert!(read.expect("whole"));
            assert_eq!(read_back, message);
            let read = read_now(&mut from, &mut read_back, MESSAGE_BYTES_MAX);
            assert!(!read.expect("the end"));
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
            assert!(read_now(&mut &*wire, &mut message, 8).is_err(), "{wire:?}");
        }
        let long = [&[0, 4, 1, 2, 3, 4][..], &[0, 5, 5, 6, 7, 8, 9, 0, 0]].concat();
        assert!(read_now(&mut &long[..], &mut message, 9).expect("of nine bytes"));
        let error = read_now(&mut &long[..], &mut message, 8).expect_err("too long");
        assert!(matches!(error, Unread::TooLong(8)), "{error:?}");
    }
}
