//! Messages in chunks: each begins with its length in two bytes, and a chunk of length 0 ends the
//! message.

use std::io::{self, Write};

use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest message of a client that has not logged in (BO-1).
pub(crate) const GREETING_BYTES_MAX: usize = 16 << 10;

/// Longest chunk that is written.
pub(crate) const CHUNK_BYTES: usize = 0xffff;

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
    /// Whether a message that is not taken is passed over; otherwise it ends the connection.
    fn passes_over(&self) -> bool;
    /// Makes room for a message of so many bytes.
    ///
    /// # Errors
    /// Why there is none.
    fn make_room(&mut self, bytes: usize) -> Result<(), String>;
}

/// Passes over so many bytes.
async fn pass_over(from: &mut (impl AsyncRead + Unpin), bytes: usize) -> io::Result<()> {
    let mut some = tokio::io::AsyncReadExt::take(from, bytes as u64);
    match tokio::io::copy(&mut some, &mut tokio::io::sink()).await? {
        passed if passed == bytes as u64 => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Reads a message; false where the connection ended before one began. Empty messages keep a
/// connection open, and mean nothing.
///
/// # Errors
/// See [`Unread`].
pub(crate) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    message: &mut Vec<u8>,
    limits: &mut impl Limits,
) -> Result<bool, Unread> {
    message.clear();
    let mut refused = None;
    loop {
        let mut length = [0; 2];
        match from.read(&mut length[..1]).await? {
            0 if message.is_empty() && refused.is_none() => return Ok(false),
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            _ => from.read_exact(&mut length[1..]).await?,
        };
        let length = usize::from(u16::from_be_bytes(length));
        if length == 0 {
            match refused {
                Some(refused) => return Err(refused),
                None if message.is_empty() => continue,
                None => return Ok(true),
            }
        }
        if refused.is_some() {
            pass_over(from, length).await?;
            continue;
        }
        let (before, most) = (message.len(), limits.most());
        let room = match before + length > most {
            true => Err(Unread::TooLong(most)),
            false => limits.make_room(before + length).map_err(Unread::NoMemory),
        };
        if let Err(unread) = room {
            if !limits.passes_over() {
                return Err(unread);
            }
            *message = Vec::new();
            refused = Some(unread);
            pass_over(from, length).await?;
            continue;
        }
        message.resize(before + length, 0);
        from.read_exact(&mut message[before..]).await?;
    }
}

/// Writes a part of a message that goes on.
///
/// # Errors
/// The connection broke off.
pub(crate) fn write_part(to: &mut impl Write, part: &[u8]) -> io::Result<()> {
    for chunk in part.chunks(CHUNK_BYTES) {
        let length = u16::try_from(chunk.len()).expect("chunks have two bytes of length");
        to.write_all(&length.to_be_bytes())?;
        to.write_all(chunk)?;
    }
    Ok(())
}

/// Writes a message, or what is left of one.
///
/// # Errors
/// The connection broke off.
pub(crate) fn write(to: &mut impl Write, rest: &[u8]) -> io::Result<()> {
    write_part(to, rest)?;
    to.write_all(&[0, 0])
}

#[cfg(test)]
mod tests {
    //! Goal: any message comes out as it went in; nothing else makes the reader wait for ever or
    //! take too much.

    use super::*;

    struct Most(usize, bool);

    impl Limits for Most {
        fn most(&self) -> usize {
            self.0
        }

        fn passes_over(&self) -> bool {
            self.1
        }

        fn make_room(&mut self, _: usize) -> Result<(), String> {
            Ok(())
        }
    }

    /// What is in memory is there at once.
    fn read_now(from: &mut &[u8], message: &mut Vec<u8>, most: usize) -> Result<bool, Unread> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        runtime.block_on(read(from, message, &mut Most(most, true)))
    }

    #[test]
    fn messages_of_every_length_come_back() {
        for length in [1, 2, 0xfffe, 0xffff, 0x1_0000, 0x2_0001] {
            let message: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let mut wire = vec![0, 0, 0, 0];
            write(&mut wire, &message).expect("memory");
            let mut from = &wire[..];
            let mut read_back = Vec::new();
            let read = read_now(&mut from, &mut read_back, 1 << 20);
            assert!(read.expect("whole"));
            assert_eq!(read_back, message);
            let read = read_now(&mut from, &mut read_back, 1 << 20);
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
        let mut from = &[&long[..], &[0, 1, 7, 0, 0]].concat()[..];
        let error = read_now(&mut from, &mut message, 8).expect_err("too long");
        assert!(matches!(error, Unread::TooLong(8)), "{error:?}");
        // The next one begins after it.
        assert!(read_now(&mut from, &mut message, 8).expect("short"));
        assert_eq!(message, [7]);
        let mut from = &long[..];
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let mut most = Most(8, false);
        let read = read(&mut from, &mut message, &mut most);
        assert!(runtime.expect("a runtime").block_on(read).is_err());
        assert!(from.len() > 2, "it was not read further");
    }
}
