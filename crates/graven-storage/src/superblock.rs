//! The two superblocks: what makes a file a Graven database and where everything else begins.
//!
//! # How it works
//! Both are 4 KiB pages, 64 KiB apart, written alternately by checkpoints; the valid one with the
//! larger checkpoint number wins ([`read`]). Each alone is a complete recovery point. Bulk writing
//! writes both.
//!
//! A superblock that is intact but asks for a format or an incompatible feature that this build
//! does not know refuses the file, whatever the other one says: a newer build wrote it last, and
//! the other one is only what it left behind. A file of format 0 is laid out in the same way, but
//! its references carry no seals. It is read only to make a copy of it in this format.
//!
//! The features are those of what bulk writing and checkpoints may have written: incompatible
//! feature 1, columns with plain texts; incompatible feature 2, constraints on types of properties
//! or ends of relationships; incompatible feature 4, sums of squares of degrees in the catalogue;
//! incompatible feature 8, vectors among the values or constraints on them.
//!
//! # Invariants
//! * ST-3: a file that is empty, foreign, of another format or cut off is refused with its reason
//!   and not written to.
//!
//! # On disk
//! Page header, then:
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 8 | magic `GRAVEN\x1a\n` |
//! | 8 | 4 | format number, 1 |
//! | 12 | 4 | bytes of a unit, 4096 |
//! | 16 | 16 | UUID of the store |
//! | 32 | 8 | compatible features |
//! | 40 | 8 | read-only compatible features |
//! | 48 | 8 | incompatible features |
//! | 56 | 8 | checkpoint number |
//! | 64 | 8 | log generation |
//! | 72 | 8 | log position from which recovery reads |
//! | 80 | 8 | log end at the last clean close, 0 if none |
//! | 88 | 8 | length of the file in units |
//! | 96 | 8 | catalogue (head of a chain) |
//! | 104 | 8 | segment directory (root), 0 if there are no segments |
//! | 112 | 8 | free space (head of a chain) |
//! | 120 | 8 | reserved, zero |

use crate::bytes::{Decoded, Malformed, Reader};
use crate::catalog::Catalog;
use crate::schema::ConstraintKind;
use crate::{Error, Result};
use graven_io::{AlignedBuffer, File};
use graven_pagecache::page::{self, HEADER_BYTES};
use graven_pagecache::{PageKind, PageRef, SizeClass, UNIT_BYTES};
use std::path::Path;

pub(crate) const MAGIC: [u8; 8] = *b"GRAVEN\x1a\n";
/// The format number of this build.
pub const FORMAT: u32 = 1;
/// The format before, in which no reference knew what it led to.
pub(crate) const UNSEALED_FORMAT: u32 = 0;
/// Bytes at the beginning of a file that tell whether it is one of a database.
pub const BEGINNING_BYTES: usize = HEADER_BYTES + MAGIC.len();

/// Whether a file that begins so is the data file of a database, or a log.
#[must_use]
pub fn is_of_database(beginning: &[u8]) -> bool {
    let payload = beginning.get(HEADER_BYTES..).unwrap_or_default();
    payload.starts_with(&MAGIC) || graven_wal::is_log(beginning)
}

/// Unit of the second superblock, 64 KiB behind the first.
pub(crate) const SECOND_UNIT: u64 = 16;
const PAYLOAD_BYTES: usize = 128;
/// Incompatible feature: columns may hold plain texts.
const PLAIN_TEXTS: u64 = 1;
/// Incompatible feature: there are constraints on types of properties or ends of relationships.
const TYPES: u64 = 2;
/// Incompatible feature: the catalogue ends with sums of squares of degrees.
const SQUARES: u64 = 4;
/// Incompatible feature: there are vectors, or constraints on properties that hold them.
const VECTORS: u64 = 8;
/// Incompatible features that this build understands.
const KNOWN_INCOMPATIBLE: u64 = PLAIN_TEXTS | TYPES | SQUARES | VECTORS;

/// Whether `unit` holds a superblock.
pub(crate) fn is_superblock_unit(unit: u64) -> bool {
    unit == 0 || unit == SECOND_UNIT
}

/// Feature bits; unknown ones mean: ignore, open read-only, refuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Features {
    /// May be ignored.
    pub compatible: u64,
    /// The file may be read but not written.
    pub read_only_compatible: u64,
    /// The file may not be opened.
    pub incompatible: u64,
}

impl Features {
    /// With those of the segments that this build writes, which hold vectors or none, and of this
    /// catalogue.
    pub(crate) fn as_written_here(self, catalog: &Catalog, vectors: bool) -> Self {
        let kinds = || catalog.constraints.iter().map(|it| &it.kind);
        let typed = kinds().any(ConstraintKind::is_of_types);
        let vectors = vectors || kinds().any(ConstraintKind::is_of_vectors);
        let squares = catalog.statistics.has_squares();
        let given = |is_so, feature| if is_so { feature } else { 0 };
        Features {
            incompatible: self.incompatible
                | PLAIN_TEXTS
                | given(typed, TYPES)
                | given(squares, SQUARES)
                | given(vectors, VECTORS),
            ..self
        }
    }
}

/// Where recovery starts in the log; all zero without a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogPosition {
    /// Which log.
    pub generation: u64,
    /// First byte that recovery reads.
    pub position: u64,
    /// End of the log at the last clean close, 0 if it was not closed cleanly.
    pub clean_end: u64,
}

/// A superblock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Superblock {
    /// Identity of the store.
    pub uuid: [u8; 16],
    /// What the file needs to be understood.
    pub features: Features,
    /// Number of the checkpoint that wrote this superblock.
    pub checkpoint: u64,
    /// Position in the log.
    pub log: LogPosition,
    /// Length of the file in units of 4 KiB.
    pub file_units: u64,
    /// Head of the catalogue's chain.
    pub catalogue: PageRef,
    /// Root of the segment directory.
    pub directory: Option<PageRef>,
    /// Head of the free space's chain.
    pub free_space: PageRef,
}

/// Which superblock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// At the start of the file.
    First,
    /// 64 KiB behind.
    Second,
}

impl Slot {
    /// The one that is written next.
    pub(crate) fn other(self) -> Slot {
        match self {
            Slot::First => Slot::Second,
            Slot::Second => Slot::First,
        }
    }

    fn page(self) -> PageRef {
        let unit = match self {
            Slot::First => 0,
            Slot::Second => SECOND_UNIT,
        };
        PageRef::new(SizeClass::MIN, unit)
    }
}

/// What opening found: the superblock to use and the state of the other.
#[derive(Clone, Debug)]
pub struct Found {
    /// The newer valid one.
    pub superblock: Superblock,
    /// Where it lies.
    pub slot: Slot,
    /// Why the other one cannot be used, if so.
    pub other_damage: Option<String>,
}

/// Why one superblock cannot be used.
enum Unusable {
    Absent,
    Format(u32),
    /// Its checksum does not match; the format that it names.
    Checksum(String, u32),
    Damaged(String),
    Feature(u64),
}

impl Unusable {
    fn describe(&self) -> String {
        match self {
            Unusable::Absent => "there is none".to_owned(),
            Unusable::Format(found) => format!("its format is {found}"),
            Unusable::Damaged(what) | Unusable::Checksum(what, _) => what.clone(),
            Unusable::Feature(bits) => format!("it needs unknown features {bits:#x}"),
        }
    }
}

/// Writes `superblock` to `slot`; the caller syncs.
pub(crate) fn write(file: &dyn File, slot: Slot, superblock: &Superblock) -> Result<()> {
    let mut page = AlignedBuffer::zeroed(UNIT_BYTES);
    page[HEADER_BYTES..HEADER_BYTES + PAYLOAD_BYTES].copy_from_slice(&encode(superblock));
    page::seal(
        &mut page,
        slot.page(),
        PageKind::Superblock,
        superblock.log.position,
        PAYLOAD_BYTES,
    );
    Ok(file.write_all_at(&page, slot.page().offset_bytes())?)
}

fn encode(block: &Superblock) -> [u8; PAYLOAD_BYTES] {
    let mut out = Vec::with_capacity(PAYLOAD_BYTES);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.extend_from_slice(&(UNIT_BYTES as u32).to_le_bytes());
    out.extend_from_slice(&block.uuid);
    let words = [
        block.features.compatible,
        block.features.read_only_compatible,
        block.features.incompatible,
        block.checkpoint,
        block.log.generation,
        block.log.position,
        block.log.clean_end,
        block.file_units,
        block.catalogue.raw(),
        block.directory.map_or(0, PageRef::raw),
        block.free_space.raw(),
        0,
    ];
    words
        .iter()
        .for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    out.try_into().expect("128 bytes")
}

fn decode(payload: &[u8]) -> Decoded<Superblock> {
    let mut reader = Reader::starting_at(payload, 12);
    let unit = reader.u32()?;
    if unit as usize != UNIT_BYTES {
        return Err(Malformed(format!(
            "unit of {unit} bytes, {UNIT_BYTES} expected"
        )));
    }
    let uuid = reader.array()?;
    let mut word = || reader.u64();
    Ok(Superblock {
        uuid,
        features: Features {
            compatible: word()?,
            read_only_compatible: word()?,
            incompatible: word()?,
        },
        checkpoint: word()?,
        log: LogPosition {
            generation: word()?,
            position: word()?,
            clean_end: word()?,
        },
        file_units: word()?,
        catalogue: crate::pages::Pages::reference(word()?)?,
        directory: match word()? {
            0 => None,
            raw => Some(crate::pages::Pages::reference(raw)?),
        },
        free_space: crate::pages::Pages::reference(word()?)?,
    })
}

/// Reads both superblocks and chooses.
///
/// # Errors
/// [`Error::Empty`], [`Error::Foreign`], [`Error::Format`], [`Error::UnknownFeature`],
/// [`Error::Truncated`], [`Error::Superblocks`], [`Error::Io`].
pub fn read(file: &dyn File) -> Result<Found> {
    read_format(file, FORMAT)
}

/// As [`read`], for a file of this format, which is laid out as today's.
pub(crate) fn read_format(file: &dyn File, wanted: u32) -> Result<Found> {
    let length = file.len()?;
    if length == 0 {
        return Err(Error::Empty {
            path: file.path().to_path_buf(),
        });
    }
    let first = read_slot(file, Slot::First, length, wanted)?;
    let second = read_slot(file, Slot::Second, length, wanted)?;
    for slot in [&first, &second] {
        // An intact superblock of a newer build beside an older one that we could read: what we
        // would see is the past, and what we would write would destroy the present.
        if let Err(newer @ (Unusable::Format(_) | Unusable::Feature(_))) = slot {
            return refuse(file, newer, newer).and_then(Err);
        }
    }
    let (superblock, slot, other_damage) = match (first, second) {
        (Ok(first), Ok(second)) if second.checkpoint > first.checkpoint => {
            (second, Slot::Second, None)
        }
        (Ok(first), Ok(_)) => (first, Slot::First, None),
        (Ok(first), Err(other)) => (first, Slot::First, Some(other.describe())),
        (Err(other), Ok(second)) => (second, Slot::Second, Some(other.describe())),
        (Err(first), Err(second)) => return Err(refuse(file, &first, &second)?),
    };
    // More units than addresses are a length that no file has.
    let expected = superblock.file_units.saturating_mul(UNIT_BYTES as u64);
    if length < expected {
        return Err(Error::Truncated {
            path: file.path().to_path_buf(),
            expected,
            found: length,
        });
    }
    Ok(Found {
        superblock,
        slot,
        other_damage,
    })
}

/// The intact superblocks, the newest first, whatever else is wrong with the file.
pub(crate) fn read_intact(file: &dyn File) -> Result<Vec<Found>> {
    let mut intact = Vec::new();
    for slot in [Slot::First, Slot::Second] {
        if let Ok(superblock) = read_slot(file, slot, file.len()?, FORMAT)? {
            intact.push(Found {
                superblock,
                slot,
                other_damage: None,
            });
        }
    }
    intact.sort_by_key(|found| std::cmp::Reverse(found.superblock.checkpoint));
    Ok(intact)
}

/// The superblock beside the one in `slot`, if it is intact.
pub(crate) fn read_other(file: &dyn File, slot: Slot) -> Result<Option<Superblock>> {
    Ok(read_slot(file, slot.other(), file.len()?, FORMAT)?.ok())
}

/// The inner result is the superblock or why it is unusable; the outer one is for the file itself.
fn read_slot(
    file: &dyn File,
    slot: Slot,
    length: u64,
    wanted: u32,
) -> Result<Result<Superblock, Unusable>> {
    let reference = slot.page();
    if length < reference.offset_bytes() + UNIT_BYTES as u64 {
        return Ok(Err(Unusable::Damaged(format!(
            "the file ends at {length} bytes, before it"
        ))));
    }
    let mut page = AlignedBuffer::zeroed(UNIT_BYTES);
    file.read_exact_at(&mut page, reference.offset_bytes())?;
    let payload = &page[HEADER_BYTES..];
    let magic = payload.starts_with(&MAGIC);
    let format = u32::from_le_bytes([payload[8], payload[9], payload[10], payload[11]]);
    if let Err(damage) = page::verify(&page, reference, Some(PageKind::Superblock)) {
        return Ok(Err(if magic {
            Unusable::Checksum(damage.to_string(), format)
        } else {
            Unusable::Absent
        }));
    }
    if !magic {
        return Ok(Err(Unusable::Absent));
    }
    if format != wanted {
        return Ok(Err(Unusable::Format(format)));
    }
    Ok(match decode(payload) {
        Err(Malformed(what)) => Err(Unusable::Damaged(what)),
        Ok(block) => match block.features.incompatible & !KNOWN_INCOMPATIBLE {
            0 => Ok(block),
            bits => Err(Unusable::Feature(bits)),
        },
    })
}

/// The error for a file without a usable superblock.
fn refuse(file: &dyn File, first: &Unusable, second: &Unusable) -> Result<Error> {
    let path = || Path::to_path_buf(file.path());
    for unusable in [first, second] {
        match unusable {
            Unusable::Format(found) => {
                return Ok(Error::Format {
                    path: path(),
                    found: *found,
                    known: FORMAT,
                });
            }
            Unusable::Feature(unknown) => {
                return Ok(Error::UnknownFeature {
                    path: path(),
                    unknown: *unknown,
                });
            }
            Unusable::Absent | Unusable::Damaged(_) | Unusable::Checksum(..) => {}
        }
    }
    // Another format may compute checksums in another way; damage hardly makes the same number in
    // both.
    if let (Unusable::Checksum(_, found), Unusable::Checksum(_, same)) = (first, second)
        && found == same
        && *found != FORMAT
    {
        return Ok(Error::Format {
            path: path(),
            found: *found,
            known: FORMAT,
        });
    }
    let mut start = [0; HEADER_BYTES + 8];
    let got = file.read_at(&mut start, 0)?;
    let ours = start[..got]
        .get(HEADER_BYTES..)
        .is_some_and(|magic| magic == MAGIC)
        || matches!(second, Unusable::Damaged(_) | Unusable::Checksum(..))
            && file.len()? > SECOND_UNIT * UNIT_BYTES as u64;
    if ours {
        return Ok(Error::Superblocks {
            path: path(),
            first: first.describe(),
            second: second.describe(),
        });
    }
    let found = start[..got.min(8)].to_vec();
    Ok(Error::Foreign {
        path: path(),
        found,
    })
}
