//! The first bytes of a connection: which version both sides speak.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::Version;
use crate::websocket::refusal;

/// What every Bolt connection begins with.
const MAGIC: [u8; 4] = [0x60, 0x60, 0xb0, 0x17];

/// Newest minor version of each major one that is spoken, and the oldest.
const SPOKEN: [(u8, std::ops::RangeInclusive<u8>); 3] = [(6, 0..=0), (5, 0..=8), (4, 1..=4)];

/// A proposal of the form 0, 0, n, 0xff is none of a version: the client understands manifests of
/// the forms up to n.
const MANIFEST: u8 = 0xff;

/// The form of manifest that is spoken: all versions, and what else the server can do, from which
/// the client chooses.
const FORM: u8 = 1;

/// Bytes of a number in groups of seven bits, at most.
const NUMBER_BYTES_MAX: usize = 10;

/// Agrees on a version with a client; none if there is no common one, or the client speaks another
/// protocol, which it is told.
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
            let said = refusal("this port speaks Bolt: use a Neo4j driver with bolt://\n");
            to.write_all(said.as_bytes()).await?;
            to.flush().await?;
        }
        return Ok(None);
    }
    let mut proposals = [0; 16];
    from.read_exact(&mut proposals).await?;
    let mut proposals = proposals.chunks_exact(4);
    let version = loop {
        let Some(it) = proposals.next() else {
            break None;
        };
        if it[3] == MANIFEST && it[2] >= FORM {
            return choose(from, to).await;
        }
        if let Some(version) = spoken(it[3], it[2], it[1]) {
            break Some(version);
        }
    };
    let Version(major, minor) = version.unwrap_or(Version(0, 0));
    to.write_all(&[0, 0, minor, major]).await?;
    to.flush().await?;
    Ok(version)
}

/// Offers all versions, and takes what the client chooses; none where that is not among them.
async fn choose(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<Option<Version>> {
    let mut offer = vec![0, 0, FORM, MANIFEST];
    offer.push(u8::try_from(SPOKEN.len()).expect("a few"));
    for (major, minors) in &SPOKEN {
        offer.extend([0, minors.end() - minors.start(), *minors.end(), *major]);
    }
    // Nothing else.
    offer.push(0);
    to.write_all(&offer).await?;
    to.flush().await?;
    let mut chosen = [0; 4];
    from.read_exact(&mut chosen).await?;
    for _ in 0..NUMBER_BYTES_MAX {
        if from.read_u8().await? & 0x80 == 0 {
            return Ok(spoken(chosen[3], chosen[2], 0));
        }
    }
    Ok(None)
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
    //! Goal: the first proposal that is spoken is taken, at its newest; others are refused
    //! politely.

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
        let today = [[0, 8, 8, 5], [0, 2, 4, 4], [0, 0, 0, 3], none];
        assert_eq!(ask(today), (Some(Version(5, 8)), vec![0, 0, 8, 5]));
        let older = [[0, 2, 4, 4], [0, 0, 1, 4], none, none];
        assert_eq!(ask(older).0, Some(Version(4, 4)));
        let one = [[0, 0, 0, 5], none, none, none];
        assert_eq!(ask(one).0, Some(Version(5, 0)));
        let newer = [[0, 2, 12, 5], [0, 0, 1, 6], [0, 0, 0, 4], none];
        assert_eq!(ask(newer), (None, vec![0; 4]));
        // Each version alone.
        for (major, minors) in SPOKEN {
            for minor in minors {
                let alone = [[0, 0, minor, major], none, none, none];
                assert_eq!(ask(alone).0, Some(Version(major, minor)));
            }
        }
    }

    #[test]
    fn a_client_chooses_from_a_manifest() {
        let proposals = [[0, 0, 1, 0xff], [0, 8, 8, 5], [0, 2, 4, 4], [0, 0, 0, 3]];
        let hello = [&MAGIC[..], proposals.as_flattened()].concat();
        let offer = [0, 0, 1, 0xff, 3, 0, 0, 0, 6, 0, 8, 8, 5, 0, 3, 4, 4, 0];
        for (chosen, agreed) in [
            (&[0, 0, 0, 6, 0][..], Some(Version(6, 0))),
            (&[0, 0, 7, 5, 0x81, 0][..], Some(Version(5, 7))),
            (&[0, 0, 9, 5, 0][..], None),
            (&[[0, 0, 7, 5].as_slice(), &[0x80; 10]].concat(), None),
        ] {
            let sent = [&hello[..], chosen].concat();
            assert_eq!(agree_now(&sent), (agreed, offer.to_vec()), "{chosen:?}");
        }
    }

    #[test]
    fn a_browser_is_told_what_this_is() {
        let (agreed, said) = agree_now(b"PUT / HTTP/1.1\r\n\r\n");
        assert_eq!(agreed, None);
        let said = String::from_utf8(said).expect("text");
        assert!(
            said.starts_with("HTTP/1.1 400") && said.contains("Bolt"),
            "{said}"
        );
    }
}
