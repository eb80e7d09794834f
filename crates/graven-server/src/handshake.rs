//! The first bytes of a connection: which version both sides speak.

use std::io::{self, Read, Write};

use crate::Version;

/// What every Bolt connection begins with.
const MAGIC: [u8; 4] = [0x60, 0x60, 0xb0, 0x17];

/// Newest minor version of each major one that is spoken, and the oldest.
const SPOKEN: [(u8, std::ops::RangeInclusive<u8>); 2] = [(5, 0..=4), (4, 4..=4)];

/// Agrees on a version with a client; none if there is no common one, or the client speaks another protocol, which it is told.
///
/// # Errors
/// The connection broke off.
pub(crate) fn agree(stream: &mut (impl Read + Write)) -> io::Result<Option<Version>> {
    let mut magic = [0; 4];
    stream.read_exact(&mut magic)?;
    if magic != MAGIC {
        if magic.is_ascii() {
            // A browser, or Bolt inside a WebSocket.
            let said = "this port speaks Bolt: use a Neo4j driver with bolt://\n";
            let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close";
            let length = said.len();
            write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{said}")?;
        }
        return Ok(None);
    }
    let mut proposals = [0; 16];
    stream.read_exact(&mut proposals)?;
    let mut proposals = proposals.chunks_exact(4);
    let version = proposals.find_map(|it| spoken(it[3], it[2], it[1]));
    let Version(major, minor) = version.unwrap_or(Version(0, 0));
    stream.write_all(&[0, 0, minor, major])?;
    stream.flush()?;
    Ok(version)
}

/// The newest version that is spoken of those between `minor` and `range` before it.
fn spoken(major: u8, minor: u8, range: u8) -> Option<Version> {
    let (_, own) = SPOKEN.iter().find(|(own, _)| *own == major)?;
    let newest = minor.min(*own.end());
    let oldest = minor.saturating_sub(range).max(*own.start());
    (newest >= oldest).then_some(Version(major, newest))
}

#[cfg(test)]
mod tests {
    //! Goal: the first proposal that is spoken is taken, at its newest; others are refused politely.

    use super::*;

    struct Wire(io::Cursor<Vec<u8>>, Vec<u8>);

    impl Read for Wire {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Wire {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn ask(proposals: [[u8; 4]; 4]) -> (Option<Version>, Vec<u8>) {
        let sent = [&MAGIC[..], proposals.as_flattened()].concat();
        let mut wire = Wire(io::Cursor::new(sent), Vec::new());
        (agree(&mut wire).expect("memory"), wire.1)
    }

    #[test]
    fn the_newest_common_version_is_taken() {
        let none = [0; 4];
        // What a driver of today proposes: a manifest, 5.8 to 5.0, 4.4 to 4.2, 3.0.
        let today = [[0, 0, 1, 0xff], [0, 8, 8, 5], [0, 2, 4, 4], [0, 0, 0, 3]];
        assert_eq!(ask(today), (Some(Version(5, 4)), vec![0, 0, 4, 5]));
        let older = [[0, 2, 4, 4], [0, 0, 1, 4], none, none];
        assert_eq!(ask(older).0, Some(Version(4, 4)));
        let one = [[0, 0, 0, 5], none, none, none];
        assert_eq!(ask(one).0, Some(Version(5, 0)));
        let newer = [[0, 2, 8, 5], [0, 0, 0, 6], none, none];
        assert_eq!(ask(newer), (None, vec![0; 4]));
    }

    #[test]
    fn a_browser_is_told_what_this_is() {
        let mut wire = Wire(
            io::Cursor::new(b"GET / HTTP/1.1\r\n\r\n".to_vec()),
            Vec::new(),
        );
        assert_eq!(agree(&mut wire).expect("memory"), None);
        let said = String::from_utf8(wire.1).expect("text");
        assert!(
            said.starts_with("HTTP/1.1 400") && said.contains("Bolt"),
            "{said}"
        );
    }
}
