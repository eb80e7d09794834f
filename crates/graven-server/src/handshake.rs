//! The first bytes of a connection: which version both sides speak.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::Version;

/// What every Bolt connection begins with.
const MAGIC: [u8; 4] = [0x60, 0x60, 0xb0, 0x17];

/// Newest minor version of each major one that is spoken, and the oldest.
const SPOKEN: [(u8, std::ops::RangeInclusive<u8>); 2] = [(5, 0..=4), (4, 4..=4)];

/// Agrees on a version with a client; none if there is no common one, or the client speaks another protocol, which it is told.
///
/// # Errors
/// The connection broke off.
pub(crate) async fn agree(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<Option<Version>> {
    let mut magic = [0; 4];
    from.read_exact(&mut magic).await?;
    if magic != MAGIC {
        if magic.is_ascii() {
            // A browser, or Bolt inside a WebSocket.
            let said = "this port speaks Bolt: use a Neo4j driver with bolt://\n";
            let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close";
            let length = said.len();
            let said = format!("{head}\r\nContent-Length: {length}\r\n\r\n{said}");
            to.write_all(said.as_bytes()).await?;
        }
        return Ok(None);
    }
    let mut proposals = [0; 16];
    from.read_exact(&mut proposals).await?;
    let mut proposals = proposals.chunks_exact(4);
    let version = proposals.find_map(|it| spoken(it[3], it[2], it[1]));
    let Version(major, minor) = version.unwrap_or(Version(0, 0));
    to.write_all(&[0, 0, minor, major]).await?;
    to.flush().await?;
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

    fn agree_now(sent: &[u8]) -> (Option<Version>, Vec<u8>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let (mut from, mut said) = (sent, Vec::new());
        let agreed = runtime.block_on(agree(&mut from, &mut said));
        (agreed.expect("memory"), said)
    }

    fn ask(proposals: [[u8; 4]; 4]) -> (Option<Version>, Vec<u8>) {
        agree_now(&[&MAGIC[..], proposals.as_flattened()].concat())
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
        let (agreed, said) = agree_now(b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!(agreed, None);
        let said = String::from_utf8(said).expect("text");
        assert!(
            said.starts_with("HTTP/1.1 400") && said.contains("Bolt"),
            "{said}"
        );
    }
}
