//! Walking a log file: frame by frame from a start to the torn tail, and a look behind it.
//!
//! # How it works
//! Region headers tell which region holds the start: of those that begin at or below it, the one
//! begun last. From there [`Walk`] takes frames as long as each is intact and continues its
//! predecessor (LG-4), going from a region's last frame to the region whose header names it. Where
//! that ends, everything behind is searched for intact frames ([`scan_tail`]): one that calls
//! something durable which was not reached proves damage (LG-5), otherwise the tail is torn and
//! dropped.
//!
//! # Costs
//! One pass over the regions in use, 256 KiB a read; behind the end one pass over the rest of the
//! last region, over regions without a valid header and, unless the log was closed cleanly, over
//! those that are free.

use std::path::PathBuf;
use std::sync::Arc;

use graven_io::{AlignedBuffer, File};

use crate::frame;
use crate::header::{FileHeader, RegionHeader};
use crate::layout::{FILE_HEADER_BYTES, FRAME_BYTES_MAX, FRAME_HEADER_BYTES};
use crate::mutant::{self, Mutant};
use crate::space::UsedRegion;
use crate::{Error, Identity, Lsn, Result};

const WINDOW_BYTES: usize = 4 * FRAME_BYTES_MAX;

/// A part of the file in memory.
#[derive(Debug)]
struct Window {
    file: Arc<dyn File>,
    bytes: AlignedBuffer,
    start: u64,
    filled: usize,
}

impl Window {
    fn new(file: Arc<dyn File>) -> Window {
        Window {
            file,
            bytes: AlignedBuffer::zeroed(WINDOW_BYTES),
            start: 0,
            filled: 0,
        }
    }

    /// Up to `wanted` bytes at `offset`, none of them from `limit` on.
    fn at(&mut self, offset: u64, wanted: usize, limit: u64) -> Result<&[u8]> {
        let wanted = wanted.min((limit - offset) as usize);
        let inside =
            offset >= self.start && offset + wanted as u64 <= self.start + self.filled as u64;
        if !inside {
            let count = WINDOW_BYTES.min((limit - offset) as usize);
            self.filled = 0;
            self.filled = self.file.read_at(&mut self.bytes[..count], offset)?;
            self.start = offset;
        }
        let from = (offset - self.start) as usize;
        let to = (from + wanted).min(self.filled);
        Ok(&self.bytes[from..to])
    }
}

/// Header and region headers of a log file.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) header: FileHeader,
    pub(crate) slots: u32,
    /// Per slot; `None` where there is no valid header.
    pub(crate) regions: Vec<Option<RegionHeader>>,
}

impl Layout {
    pub(crate) fn read(file: &dyn File, identity: &Identity) -> Result<Layout> {
        let header = FileHeader::read(file, identity)?;
        let bytes = file.len()?.saturating_sub(FILE_HEADER_BYTES);
        let slots = (bytes / header.region_bytes) as u32;
        let mut sector = AlignedBuffer::zeroed(header.sector_bytes as usize);
        let mut layout = Layout {
            header,
            slots,
            regions: Vec::with_capacity(slots as usize),
        };
        for slot in 0..slots {
            file.read_exact_at(&mut sector, layout.offset(slot))?;
            layout
                .regions
                .push(RegionHeader::parse(&sector, identity, slot));
        }
        Ok(layout)
    }

    /// What is wrong with a file that ends within a region that was in use, or before the first
    /// one: regions are whole before anything is written to them, so it has been cut off.
    pub(crate) fn cut(&self, file: &dyn File, identity: &Identity) -> Result<Option<Error>> {
        let begun = self.offset(self.slots);
        let mut sector = AlignedBuffer::zeroed(self.header.sector_bytes as usize);
        let is_whole = file.read_at(&mut sector, begun)? == sector.len();
        let in_use = is_whole && RegionHeader::parse(&sector, identity, self.slots).is_some();
        Ok((self.slots == 0 || in_use).then(|| Error::Corrupt {
            path: file.path().to_path_buf(),
            offset: begun,
            lsn: self.header.first,
            reason: "the file ends within a region: it was cut off, or copied in part".to_owned(),
        }))
    }

    /// Whether a region holds nothing from `from` on.
    pub(crate) fn has_free(&self, from: Lsn) -> bool {
        let Some(held) = self.holding(from) else {
            return true;
        };
        let regions = self.regions.iter().flatten();
        let later = regions.filter(|region| region.sequence >= held.sequence);
        later.count() < self.slots as usize
    }

    pub(crate) fn offset(&self, slot: u32) -> u64 {
        FILE_HEADER_BYTES + u64::from(slot) * self.header.region_bytes
    }

    fn region_end(&self, slot: u32) -> u64 {
        self.offset(slot) + self.header.region_bytes
    }

    /// Of the regions that begin at or below `from`, the one begun last.
    fn holding(&self, from: Lsn) -> Option<RegionHeader> {
        let below = |region: &&RegionHeader| region.first <= from;
        let regions = self.regions.iter().flatten();
        regions.filter(below).max_by_key(|r| r.sequence).copied()
    }

    /// The region that continues the stream at `end` behind the frame with checksum `previous`.
    fn continuing(&self, end: Lsn, previous: u64, after: u64) -> Option<RegionHeader> {
        let continues = |region: &&RegionHeader| {
            region.first == end && region.previous == previous && region.sequence > after
        };
        let regions = self.regions.iter().flatten();
        regions
            .filter(continues)
            .max_by_key(|r| r.sequence)
            .copied()
    }
}

/// The frames of a log, one after the other.
#[derive(Debug)]
pub(crate) struct Walk {
    layout: Arc<Layout>,
    window: Window,
    identity: u64,
    /// What is being read, with the bytes read of it.
    region: Option<(RegionHeader, u64)>,
    /// Regions met, in order.
    pub(crate) used: Vec<UsedRegion>,
    /// Where the stream goes on.
    pub(crate) end: Lsn,
    /// Checksum of the frame before that.
    pub(crate) previous: u64,
}

/// Where a frame's content is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameAt {
    pub(crate) first: Lsn,
    /// A record cut off before it is void.
    pub(crate) fresh: bool,
    pub(crate) offset: u64,
    content_bytes: usize,
}

impl Walk {
    /// Frames from the beginning of the region that holds `from` on.
    pub(crate) fn from(layout: Arc<Layout>, file: Arc<dyn File>, from: Lsn) -> Walk {
        let region = layout.holding(from);
        let mut walk = Walk {
            identity: layout.header.identity.short(),
            window: Window::new(file),
            region: None,
            used: Vec::new(),
            end: layout.header.first,
            previous: 0,
            layout,
        };
        if let Some(region) = region {
            walk.enter(region);
        }
        walk
    }

    fn enter(&mut self, region: RegionHeader) {
        self.used.push(UsedRegion {
            slot: region.slot,
            sequence: region.sequence,
            first: region.first,
        });
        self.end = region.first;
        self.previous = region.previous;
        self.region = Some((region, u64::from(self.layout.header.sector_bytes)));
    }

    /// The region being read and the place in it where the next frame would be.
    pub(crate) fn cursor(&self) -> Option<(u32, u64)> {
        self.region.map(|(region, at)| (region.slot, at))
    }

    /// Byte of the file where the next frame would be.
    pub(crate) fn offset(&self) -> u64 {
        match self.cursor() {
            Some((slot, at)) => self.layout.offset(slot) + at,
            None => FILE_HEADER_BYTES,
        }
    }

    /// The next frame; `None` where the log ends. What is damaged below `needed` is stepped over.
    pub(crate) fn next(&mut self, needed: Lsn) -> Result<Option<FrameAt>> {
        let sector = self.layout.header.sector_bytes as usize;
        while let Some((region, at)) = self.region {
            let offset = self.layout.offset(region.slot) + at;
            let limit = self.layout.region_end(region.slot);
            let bytes = self.window.at(offset, FRAME_BYTES_MAX, limit)?;
            let parsed = frame::parse(bytes, self.identity, sector);
            let follows = |f: &frame::Frame<'_>| {
                let chained = f.previous == self.previous || mutant::active(Mutant::TailKept);
                f.first == self.end && chained
            };
            if let Some(found) = parsed.filter(follows) {
                let step = FrameAt {
                    first: found.first,
                    fresh: found.fresh,
                    offset,
                    content_bytes: found.content.len(),
                };
                (self.end, self.previous) = (found.end(), found.checksum);
                self.region = Some((region, at + found.file_bytes as u64));
                return Ok(Some(step));
            }
            let next = self
                .layout
                .continuing(self.end, self.previous, region.sequence);
            if let Some(next) = next {
                self.enter(next);
            } else if self.end >= needed || !self.step_over(needed, offset, limit)? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Finds the next intact frame of the region that begins at or below `needed`; whether there is
    /// one.
    fn step_over(&mut self, needed: Lsn, offset: u64, limit: u64) -> Result<bool> {
        let sector = self.layout.header.sector_bytes as usize;
        let Some((region, _)) = self.region else {
            return Ok(false);
        };
        let mut at = offset;
        while at < limit {
            let bytes = self.window.at(at, FRAME_BYTES_MAX, limit)?;
            if let Some(found) = frame::parse(bytes, self.identity, sector)
                && found.first > self.end
                && found.first <= needed
            {
                (self.end, self.previous) = (found.first, found.previous);
                self.region = Some((region, at - self.layout.offset(region.slot)));
                return Ok(true);
            }
            at += sector as u64;
        }
        Ok(false)
    }

    /// The content of the frame that [`Walk::next`] gave last.
    pub(crate) fn content(&mut self, frame: FrameAt) -> Result<&[u8]> {
        let start = frame.offset + FRAME_HEADER_BYTES as u64;
        let limit = start + frame.content_bytes as u64;
        self.window.at(start, frame.content_bytes, limit)
    }

    /// Looks for intact frames behind the end. `whole` also where there should be none: in regions
    /// whose headers are of the past. Such a region may have been begun anew, and of what was
    /// written then the header lost.
    pub(crate) fn scan_tail(&mut self, whole: bool) -> Result<TailScan> {
        let mut behind = TailScan::default();
        let layout = Arc::clone(&self.layout);
        if let Some((region, at)) = self.region {
            let from = layout.offset(region.slot) + at;
            self.search(from, layout.region_end(region.slot), &mut behind)?;
        }
        for (slot, header) in (0..).zip(&layout.regions) {
            if self.used.iter().any(|used| used.slot == slot) {
                continue;
            }
            match header {
                Some(header) if header.first >= self.end => {
                    behind.offsets.push(layout.offset(slot));
                }
                Some(_) if !whole => continue,
                _ => {}
            }
            let from = layout.offset(slot) + u64::from(layout.header.sector_bytes);
            self.search(from, layout.region_end(slot), &mut behind)?;
        }
        Ok(behind)
    }

    fn search(&mut self, from: u64, limit: u64, behind: &mut TailScan) -> Result<()> {
        let sector = self.layout.header.sector_bytes as usize;
        let mut at = from;
        while at < limit {
            let bytes = self.window.at(at, FRAME_BYTES_MAX, limit)?;
            let mut step = sector;
            if let Some(found) = frame::parse(bytes, self.identity, sector)
                && found.first >= self.end
            {
                behind.frames += 1;
                behind.offsets.push(at);
                behind.durable = behind.durable.max(found.durable);
                step = found.file_bytes;
            }
            at += step as u64;
        }
        Ok(())
    }
}

/// What stands behind the end of the log.
#[derive(Debug, Default)]
pub(crate) struct TailScan {
    /// Intact frames.
    pub(crate) frames: u64,
    /// What they call durable.
    pub(crate) durable: Lsn,
    /// Sectors that make them what they are: first ones of frames, headers of regions.
    pub(crate) offsets: Vec<u64>,
}

/// The end of a log and how to go on there.
#[derive(Debug, Clone)]
pub(crate) struct Tail {
    pub(crate) slots: u32,
    pub(crate) used: Vec<UsedRegion>,
    /// Next byte of the last used region.
    pub(crate) cursor: u64,
    pub(crate) next_sequence: u64,
    pub(crate) end: Lsn,
    pub(crate) previous: u64,
    /// Offsets of sectors of a torn tail.
    pub(crate) torn: Vec<u64>,
}

impl Tail {
    /// Where the last region begins, if it is full and no region of the file is free.
    pub(crate) fn fills_all(&self, header: &FileHeader) -> Option<Lsn> {
        let last = self.used.last()?;
        let is_full = self.cursor + FRAME_BYTES_MAX as u64 > header.region_bytes;
        let all = self.used.len() == self.slots as usize;
        (is_full && all).then_some(last.first)
    }

    /// Overwrites what was dropped, so that nothing of it can be taken for part of the log later.
    pub(crate) fn destroy(&self, file: &dyn File, header: &FileHeader) -> Result<()> {
        let zeros = AlignedBuffer::zeroed(header.sector_bytes as usize);
        for &offset in &self.torn {
            file.write_all_at(&zeros, offset)?;
        }
        Ok(())
    }
}

/// Where a log ends.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) tail: Tail,
    /// Intact frames behind it.
    pub(crate) dropped: u64,
    /// Why it should not end there: something durable is missing.
    pub(crate) damage: Option<Error>,
}

/// Walks the whole log from `from` on and says where it ends.
pub(crate) fn find_tail(
    layout: &Arc<Layout>,
    file: &Arc<dyn File>,
    from: Lsn,
    clean_end: Option<Lsn>,
) -> Result<Ending> {
    let durable_at_least = clean_end.unwrap_or(from).max(from);
    let mut walk = Walk::from(Arc::clone(layout), Arc::clone(file), from);
    while walk.next(from)?.is_some() {}
    // A clean close leaves no frames beyond the end.
    let behind = walk.scan_tail(clean_end != Some(walk.end))?;
    let corrupt = |reason: String| Error::Corrupt {
        path: PathBuf::from(file.path()),
        offset: walk.offset(),
        lsn: walk.end,
        reason,
    };
    let reason = if behind.durable > walk.end {
        Some(format!(
            "no intact frame continues the log there, but a later one says that everything up to \
                LSN {} was durable",
            behind.durable
        ))
    } else if walk.end < durable_at_least {
        Some(format!(
            "the log ends there, but the data file says that everything up to LSN \
                {durable_at_least} was durable"
        ))
    } else {
        None
    };
    let damage = reason.map(corrupt);
    let sequences = layout.regions.iter().flatten().map(|r| r.sequence);
    let tail = Tail {
        slots: layout.slots,
        cursor: walk
            .cursor()
            .map_or(0, |(_, at)| match mutant::active(Mutant::OverwrittenEnd) {
                true if at > 2 * u64::from(layout.header.sector_bytes) => {
                    at - u64::from(layout.header.sector_bytes)
                }
                _ => at,
            }),
        next_sequence: sequences.max().unwrap_or(0) + 1,
        end: walk.end,
        previous: walk.previous,
        torn: behind.offsets,
        used: walk.used,
    };
    Ok(Ending {
        tail,
        dropped: behind.frames,
        damage,
    })
}
