//! The header of the log file, and the header of each region.
//!
//! # On disk
//! The file begins with one block of 4 KiB, written once when the log is made and never again;
//! regions of equal size follow. A region begins with one sector of its own, written together with
//! its first frame:
//!
//! | offset | size | file header | region header |
//! | --- | --- | --- | --- |
//! | 0 | 8 | magic `GRAVLOG\n` | magic `GRAVREG\n` |
//! | 8 | 8 | checksum of bytes 16..96: XXH3-64 | the same |
//! | 16 | 4 | version, 1 | 0 |
//! | 20 | 4 | bytes of a sector | number of the region in the file |
//! | 24 | 8 | bytes of a region | sequence number: larger was begun later |
//! | 32 | 16 | UUID of the store | the same |
//! | 48 | 8 | generation | the same |
//! | 56 | 8 | first LSN of the generation | LSN of its first frame |
//! | 64 | 8 | zero | checksum of the frame before its first |
//! | 72 | 24 | zero | zero |

use std::fmt;
use std::path::Path;

use graven_io::{AlignedBuffer, File};
use twox_hash::XxHash3_64;

use crate::layout::{FILE_HEADER_BYTES, REGION_BYTES_MIN, u32_at, u64_at};
use crate::{Error, Lsn, Result};

/// Bytes of either header that mean something.
pub(crate) const HEADER_BYTES: usize = 96;
const FILE_MAGIC: [u8; 8] = *b"GRAVLOG\n";
const REGION_MAGIC: [u8; 8] = *b"GRAVREG\n";
const VERSION: u32 = 1;

/// Which store a log belongs to, and which of the logs it has had.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Identity {
    /// UUID of the store.
    pub uuid: [u8; 16],
    /// Grows whenever a store gets a new log.
    pub generation: u64,
}

impl Identity {
    /// What every frame carries of it.
    pub(crate) fn short(&self) -> u64 {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.uuid);
        bytes[16..].copy_from_slice(&self.generation.to_le_bytes());
        XxHash3_64::oneshot(&bytes)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("store ")?;
        for byte in self.uuid {
            write!(f, "{byte:02x}")?;
        }
        write!(f, " generation {}", self.generation)
    }
}

/// The header of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileHeader {
    pub(crate) identity: Identity,
    pub(crate) sector_bytes: u32,
    pub(crate) region_bytes: u64,
    pub(crate) first: Lsn,
}

/// The header of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RegionHeader {
    pub(crate) slot: u32,
    pub(crate) sequence: u64,
    pub(crate) first: Lsn,
    pub(crate) previous: u64,
}

/// Whether a file that begins so is a log.
#[must_use]
pub fn is_log(beginning: &[u8]) -> bool {
    beginning.starts_with(&FILE_MAGIC)
}

impl Identity {
    /// Of the log in `file`; `None` if there is none whose header is intact.
    ///
    /// # Errors
    /// A failing file.
    pub fn of(file: &dyn File) -> Result<Option<Identity>> {
        let mut block = AlignedBuffer::zeroed(FILE_HEADER_BYTES as usize);
        let got = file.read_at(&mut block, 0)?;
        let is_log = got == block.len() && block[0..8] == FILE_MAGIC && sealed(&block);
        Ok(is_log.then(|| identity_of(&block)))
    }
}

impl FileHeader {
    pub(crate) fn write(&self, file: &dyn File) -> Result<()> {
        let mut block = AlignedBuffer::zeroed(FILE_HEADER_BYTES as usize);
        block[0..8].copy_from_slice(&FILE_MAGIC);
        block[16..20].copy_from_slice(&VERSION.to_le_bytes());
        block[20..24].copy_from_slice(&self.sector_bytes.to_le_bytes());
        block[24..32].copy_from_slice(&self.region_bytes.to_le_bytes());
        put_identity(&mut block, &self.identity);
        block[56..64].copy_from_slice(&self.first.0.to_le_bytes());
        seal(&mut block);
        Ok(file.write_all_at(&block, 0)?)
    }

    /// Reads the header and refuses what is no log of `expected`.
    pub(crate) fn read(file: &dyn File, expected: &Identity) -> Result<FileHeader> {
        let path = file.path().to_path_buf();
        let not_a_log = |reason: String| Error::NotALog {
            path: file.path().to_path_buf(),
            reason,
        };
        let mut block = AlignedBuffer::zeroed(FILE_HEADER_BYTES as usize);
        let got = file.read_at(&mut block, 0)?;
        if got < block.len() {
            return Err(not_a_log(format!(
                "it has {got} bytes, the header alone has {FILE_HEADER_BYTES}"
            )));
        }
        if block[0..8] != FILE_MAGIC {
            return Err(not_a_log("the magic number is missing".to_owned()));
        }
        if !sealed(&block) {
            return Err(Error::Corrupt {
                path,
                offset: 0,
                lsn: Lsn(0),
                reason: "the header's checksum is wrong".to_owned(),
            });
        }
        let version = u32_at(&block, 16);
        if version != VERSION {
            return Err(Error::Newer {
                path,
                found: version,
                known: VERSION,
            });
        }
        let header = FileHeader {
            identity: identity_of(&block),
            sector_bytes: u32_at(&block, 20),
            region_bytes: u64_at(&block, 24),
            first: Lsn(u64_at(&block, 56)),
        };
        if header.identity != *expected {
            return Err(Error::Foreign {
                path,
                expected: expected.to_string(),
                found: header.identity.to_string(),
            });
        }
        header.check(file.path())?;
        Ok(header)
    }

    /// An intact header of an impossible shape was written by a broken build, not by a broken disk.
    fn check(&self, path: &Path) -> Result<()> {
        let sector = u64::from(self.sector_bytes);
        let sound = sector.is_power_of_two()
            && (512..=FILE_HEADER_BYTES).contains(&sector)
            && self.region_bytes.is_multiple_of(FILE_HEADER_BYTES)
            && self.region_bytes >= REGION_BYTES_MIN;
        if sound {
            return Ok(());
        }
        Err(Error::NotALog {
            path: path.to_path_buf(),
            reason: format!(
                "sectors of {} bytes and regions of {} bytes do not fit together",
                self.sector_bytes, self.region_bytes
            ),
        })
    }
}

impl RegionHeader {
    /// Fills the first bytes of `sector`.
    pub(crate) fn write(&self, sector: &mut [u8], identity: &Identity) {
        sector.fill(0);
        sector[0..8].copy_from_slice(&REGION_MAGIC);
        sector[20..24].copy_from_slice(&self.slot.to_le_bytes());
        sector[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        put_identity(sector, identity);
        sector[56..64].copy_from_slice(&self.first.0.to_le_bytes());
        sector[64..72].copy_from_slice(&self.previous.to_le_bytes());
        seal(sector);
    }

    /// The header in `sector`, if it is an intact one of this log and stands in region `slot`.
    pub(crate) fn parse(sector: &[u8], identity: &Identity, slot: u32) -> Option<RegionHeader> {
        let fits = sector[0..8] == REGION_MAGIC
            && sealed(sector)
            && identity_of(sector) == *identity
            && u32_at(sector, 20) == slot;
        fits.then(|| RegionHeader {
            slot,
            sequence: u64_at(sector, 24),
            first: Lsn(u64_at(sector, 56)),
            previous: u64_at(sector, 64),
        })
    }
}

fn put_identity(block: &mut [u8], identity: &Identity) {
    block[32..48].copy_from_slice(&identity.uuid);
    block[48..56].copy_from_slice(&identity.generation.to_le_bytes());
}

fn identity_of(block: &[u8]) -> Identity {
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&block[32..48]);
    Identity {
        uuid,
        generation: u64_at(block, 48),
    }
}

fn seal(block: &mut [u8]) {
    let checksum = XxHash3_64::oneshot(&block[16..HEADER_BYTES]);
    block[8..16].copy_from_slice(&checksum.to_le_bytes());
}

fn sealed(block: &[u8]) -> bool {
    XxHash3_64::oneshot(&block[16..HEADER_BYTES]) == u64_at(block, 8)
}
