//! What a snapshot consists of, and the pointer to the newest one.
//!
//! # On disk
//! A manifest is a line of JSON ([`Manifest`]) and the bytes of its *overlay*: the ranges of the
//! file that no chunk holds, one after the other. The superblocks are there, and the pages that say
//! what is free: they are new in every snapshot, and in a chunk they would make it new. The pointer
//! is JSON ([`Pointer`]).
//!
//! # Invariants
//! * OB-5: chunks and overlay together say every byte of the file: chunks from its start, each of
//!   `chunk_bytes` but the last; the overlay wins where both do; a chunk of zeros is not stored.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Bytes of a chunk at least.
pub const CHUNK_BYTES_MIN: u64 = 1 << 20;
/// Bytes of a chunk at most.
pub const CHUNK_BYTES_MAX: u64 = 64 << 20;

/// The format of manifests and pointers that this build writes.
pub(crate) const FORMAT: u32 = 1;
/// What the objects of a location begin with.
const MAGIC: &str = "graven snapshot";

/// A snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    magic: String,
    /// Format of the manifest.
    pub format: u32,
    /// Identity of the database, in hexadecimal.
    pub uuid: String,
    /// Number of the checkpoint that the snapshot is.
    pub checkpoint: u64,
    /// Format of the data file.
    pub storage_format: u32,
    /// Length of the file.
    pub length: u64,
    /// Bytes of a chunk but the last.
    pub chunk_bytes: u64,
    /// Bytes of all chunks together.
    pub body: u64,
    /// Hashes of the chunks; none where all bytes are zero.
    pub chunks: Vec<Option<String>>,
    /// Offset and length of the overlay's ranges, ascending.
    pub overlay: Vec<(u64, u64)>,
    /// When it was published, in milliseconds since 1970.
    pub published_ms: u64,
}

/// Leads to the newest snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pointer {
    magic: String,
    /// Format of the pointer.
    pub format: u32,
    /// Hash of the manifest.
    pub manifest: String,
    /// Identity of the database.
    pub uuid: String,
    /// Number of the checkpoint that the snapshot is.
    pub checkpoint: u64,
    /// When it was published, in milliseconds since 1970.
    pub published_ms: u64,
}

/// The name of an object with these bytes.
pub(crate) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

impl Manifest {
    /// A manifest of this format without chunks yet.
    pub(crate) fn new(uuid: String, checkpoint: u64, storage_format: u32) -> Manifest {
        Manifest {
            magic: MAGIC.to_owned(),
            format: FORMAT,
            uuid,
            checkpoint,
            storage_format,
            length: 0,
            chunk_bytes: 0,
            body: 0,
            chunks: Vec::new(),
            overlay: Vec::new(),
            published_ms: 0,
        }
    }

    /// The object, with the overlay's bytes.
    pub(crate) fn encode(&self, overlay: &[u8]) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("numbers and text are JSON");
        bytes.push(b'\n');
        bytes.extend_from_slice(overlay);
        bytes
    }

    /// Reads the object `name` of `url`: the manifest and its overlay's bytes.
    pub(crate) fn decode(url: &str, name: &str, bytes: &Bytes) -> Result<(Manifest, Bytes)> {
        let damaged = |what: String| Error::Damaged {
            url: url.to_owned(),
            object: name.to_owned(),
            what,
        };
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or_else(|| damaged("it has no first line".to_owned()))?;
        check_head(url, name, &bytes[..end])?;
        let manifest: Manifest =
            serde_json::from_slice(&bytes[..end]).map_err(|e| damaged(e.to_string()))?;
        let overlay = bytes.slice(end + 1..);
        manifest.check(overlay.len() as u64).map_err(damaged)?;
        Ok((manifest, overlay))
    }

    /// Whether the numbers fit each other (OB-5).
    fn check(&self, overlay_bytes: u64) -> std::result::Result<(), String> {
        let (mut end, mut said) = (0, 0_u64);
        for (offset, length) in &self.overlay {
            let after = offset.checked_add(*length);
            let Some(after) = after.filter(|after| *offset >= end && *after <= self.length) else {
                return Err(format!("the overlay's range at {offset} does not fit"));
            };
            // The ranges lie apart within the file, so their sum does.
            said += length;
            end = after;
        }
        if said != overlay_bytes {
            return Err(format!(
                "its overlay has {overlay_bytes} bytes, and its list says {said}"
            ));
        }
        let size = self.chunk_bytes;
        let is_size = size.is_power_of_two() && (CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&size);
        if self.body > self.length || self.body > 0 && !is_size {
            return Err(format!(
                "{} bytes in chunks of {size} are none of a file of {} bytes",
                self.body, self.length
            ));
        }
        let chunks = match size {
            0 => 0,
            size => self.body.div_ceil(size),
        };
        if chunks != self.chunks.len() as u64 {
            return Err(format!(
                "{} chunks of {} bytes do not make {} bytes",
                self.chunks.len(),
                self.chunk_bytes,
                self.body
            ));
        }
        let covered = self
            .overlay
            .iter()
            .rev()
            .try_fold(self.length, |at, (offset, length)| {
                match offset + length >= at && *offset >= self.body {
                    true => Ok(*offset),
                    false => Err(at),
                }
            });
        let (Ok(first) | Err(first)) = covered;
        if first > self.body {
            return Err(format!(
                "nothing says the bytes from {} to {first}",
                self.body
            ));
        }
        let is_hash =
            |hash: &String| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        match self.chunks.iter().flatten().find(|hash| !is_hash(hash)) {
            Some(other) => Err(format!("`{other}` is no hash")),
            None => Ok(()),
        }
    }

    /// Bytes of chunk `index`.
    pub(crate) fn chunk_length(&self, index: usize) -> u64 {
        let start = index as u64 * self.chunk_bytes;
        self.chunk_bytes.min(self.body - start)
    }
}

impl Pointer {
    /// To `manifest`; its object has this hash.
    pub(crate) fn to(manifest: &Manifest, hash: String) -> Pointer {
        Pointer {
            magic: MAGIC.to_owned(),
            format: FORMAT,
            manifest: hash,
            uuid: manifest.uuid.clone(),
            checkpoint: manifest.checkpoint,
            published_ms: manifest.published_ms,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("numbers and text are JSON");
        bytes.push(b'\n');
        bytes
    }

    pub(crate) fn decode(url: &str, name: &str, bytes: &[u8]) -> Result<Pointer> {
        check_head(url, name, bytes)?;
        serde_json::from_slice(bytes).map_err(|error| Error::Damaged {
            url: url.to_owned(),
            object: name.to_owned(),
            what: error.to_string(),
        })
    }
}

/// Refuses what is none of ours, and what a newer build wrote.
fn check_head(url: &str, name: &str, json: &[u8]) -> Result<()> {
    #[derive(Deserialize)]
    struct Head {
        magic: String,
        format: u32,
    }
    let head = serde_json::from_slice::<Head>(json).ok();
    let head = head.filter(|head| head.magic == MAGIC);
    match head {
        None => Err(Error::Damaged {
            url: url.to_owned(),
            object: name.to_owned(),
            what: "it was not written by Graven".to_owned(),
        }),
        Some(head) if head.format > FORMAT => Err(Error::Format {
            url: url.to_owned(),
            object: name.to_owned(),
            found: head.format,
            known: FORMAT,
        }),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: numbers of a manifest that do not fit each other are refused, whatever they are.
    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        const MIB: u64 = 1 << 20;
        let whole = || {
            let mut manifest = Manifest::new("u".to_owned(), 1, 1);
            manifest.length = 3 * MIB;
            manifest.chunk_bytes = MIB;
            manifest.body = 2 * MIB;
            manifest.chunks = vec![None, Some("0".repeat(64))];
            manifest.overlay = vec![(0, 10), (2 * MIB, MIB)];
            manifest
        };
        assert_eq!(whole().check(MIB + 10), Ok(()));
        let change: &[fn(&mut Manifest)] = &[
            |it| it.chunk_bytes = 0,
            |it| (it.chunk_bytes, it.chunks) = (0, Vec::new()),
            |it| it.chunk_bytes = MIB + 1,
            |it| it.chunk_bytes = 1,
            |it| it.body = u64::MAX,
            |it| it.length = MIB,
            |it| it.chunks = vec![None],
            |it| it.chunks = vec![None, Some("../../x".to_owned())],
            |it| it.overlay = vec![(0, 1 << 63), (1 << 63, 1 << 63)],
            |it| it.overlay = vec![(u64::MAX, 10), (2 * MIB, MIB)],
            |it| it.overlay = vec![(0, 10)],
        ];
        for (at, change) in change.iter().enumerate() {
            let mut manifest = whole();
            change(&mut manifest);
            let said = manifest.overlay.iter();
            let said = said.fold(0_u64, |sum, (_, length)| sum.wrapping_add(*length));
            assert!(manifest.check(said).is_err(), "change {at}");
        }
    }
}
