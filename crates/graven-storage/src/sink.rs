//! Where bulk writing puts pages: every writer has its own runs of the file.
//!
//! # How it works
//! A [`PageStream`] belongs to one store. It takes a run of free units from the [`PageSink`], as
//! long as all its runs before together and 1 MiB at most, and fills it page by page; each page is
//! the smallest that holds its payload, sealed and written at once. So the pages of a store lie
//! behind each other although several stores are written at the same time, and a sweep over one of
//! them reads long pieces. What a stream leaves of its runs is free for the next one.
//!
//! What everything else is found by (label runs, segment directory, catalogue) is known last and
//! would lie at the end of the file, the first to go when one is cut off. So room for it is left at
//! the *front*: the units between the superblocks, and gaps of a [`GAP_SHARE`]th of the file so far
//! each time that has doubled. [`PageSink::front`] fills those, the lowest first; what it leaves of
//! them is free.
//!
//! # Invariants
//! * ST-2: no page overlaps a superblock or another page.
//! * ST-11: a unit given to a stream is in one of its pages or free again when the stream is
//!   dropped.
//!
//! # Concurrency
//! The free space is behind one mutex, taken once a run; streams write from several threads.

use crate::free_space::{Extent, FreeSpace};
use crate::overflow_pages::{self, Footprint};
use crate::page_output::PageOutput;
use crate::superblock::{SECOND_UNIT, is_superblock_unit};
use crate::{Error, Result};
use graven_io::{AlignedBuffer, File};
use graven_pagecache::page::{self, HEADER_BYTES};
use graven_pagecache::{PageKind, PageRef, SizeClass};
use parking_lot::Mutex;
use std::sync::Arc;

/// Units of a run at most, as a power of two: 1 MiB.
const RUN_POWER_MAX: u32 = 8;

/// The first gap begins here: 2 MiB. The room between the superblocks does for what is shorter.
const FIRST_GAP_UNIT: u64 = 1 << 9;
/// How often the file has grown when the next gap comes.
const GAP_GROWTH: u64 = 2;
/// A gap is this part of what lies before it: directories take about a 400th of the files they
/// list.
const GAP_SHARE: u64 = 128;
/// A gap has at least so many units: a page of 64 KiB.
const GAP_UNITS_MIN: u64 = 16;

/// A file that is filled by streams.
#[derive(Debug)]
pub(crate) struct PageSink {
    file: Arc<dyn File>,
    space: Mutex<Space>,
}

/// What is free of a file that is filled.
#[derive(Debug)]
struct Space {
    free: FreeSpace,
    /// Kept for what is known last.
    front: FreeSpace,
    next_gap: u64,
}

impl Space {
    fn new() -> Space {
        let mut front = FreeSpace::new(SECOND_UNIT + 1);
        front.free(Extent {
            unit: 1,
            units: SECOND_UNIT - 1,
        });
        Space {
            free: FreeSpace::new(SECOND_UNIT + 1),
            front,
            next_gap: FIRST_GAP_UNIT,
        }
    }

    fn allocate(&mut self, class: SizeClass) -> u64 {
        let unit = self.free.allocate(class);
        let end = self.free.end();
        if end >= self.next_gap {
            let gap = Extent {
                unit: end,
                units: (end / GAP_SHARE).max(GAP_UNITS_MIN),
            };
            self.free.grow_to(gap.end());
            self.front.grow_to(gap.end());
            self.front.free(gap);
            self.next_gap = end * GAP_GROWTH;
        }
        unit
    }
}

impl PageSink {
    pub(crate) fn new(file: Arc<dyn File>) -> PageSink {
        PageSink {
            file,
            space: Mutex::new(Space::new()),
        }
    }

    /// For the pages of one store.
    pub(crate) fn stream(self: &Arc<Self>) -> PageStream {
        PageStream {
            sink: self.clone(),
            run: Mutex::new(Run {
                unit: 0,
                units: 0,
                given: 0,
                buffer: AlignedBuffer::zeroed(0),
            }),
        }
    }

    /// For what everything else is found by.
    pub(crate) fn front(self: &Arc<Self>) -> FrontPages {
        FrontPages { sink: self.clone() }
    }

    /// What is free once all streams are gone.
    pub(crate) fn free_space(&self) -> FreeSpace {
        let space = self.space.lock();
        let mut free = space.free.clone();
        space.front.extents().for_each(|extent| free.free(extent));
        free.trim();
        free
    }

    fn write(
        &self,
        unit: u64,
        class: SizeClass,
        buffer: &mut AlignedBuffer,
        kind: PageKind,
        payload: &[u8],
    ) -> Result<PageRef> {
        if unit + class.units() > PageRef::UNIT_MAX {
            return Err(Error::Limit {
                what: "length of the file in units of 4 KiB",
                value: unit + class.units(),
                limit: PageRef::UNIT_MAX,
            });
        }
        debug_assert!(!is_superblock_unit(unit), "ST-2");
        let page = PageRef::new(class, unit);
        write_page(&*self.file, buffer, page, kind, payload)
    }
}

/// Fills the front of the file, and its end where there is no room.
#[derive(Debug)]
pub(crate) struct FrontPages {
    sink: Arc<PageSink>,
}

impl PageOutput for FrontPages {
    fn append(&self, kind: PageKind, payload: &[u8]) -> Result<PageRef> {
        let class = class_for(payload)?;
        let unit = {
            let mut space = self.sink.space.lock();
            let front = space.front.allocate_below(class, u64::MAX);
            front.unwrap_or_else(|| space.allocate(class))
        };
        let mut buffer = AlignedBuffer::zeroed(class.bytes());
        self.sink.write(unit, class, &mut buffer, kind, payload)
    }
}

/// The pages of one store.
#[derive(Debug)]
pub(crate) struct PageStream {
    sink: Arc<PageSink>,
    run: Mutex<Run>,
}

/// What a stream has left of the units it was given.
#[derive(Debug)]
struct Run {
    unit: u64,
    units: u64,
    /// Units in all runs so far.
    given: u64,
    buffer: AlignedBuffer,
}

impl Run {
    fn rest(&self) -> Option<Extent> {
        (self.units > 0).then_some(Extent {
            unit: self.unit,
            units: self.units,
        })
    }

    /// Room for a page of `class`, in a new run if this one is too short.
    fn take(&mut self, class: SizeClass, space: &Mutex<Space>) -> u64 {
        if self.units < class.units() {
            let mut space = space.lock();
            if let Some(rest) = self.rest() {
                space.free.free(rest);
                self.given -= rest.units;
            }
            let power = self.given.checked_ilog2().unwrap_or(0).min(RUN_POWER_MAX);
            let run = SizeClass::new(power as u8).map_or(class, |run| run.max(class));
            self.unit = space.allocate(run);
            self.units = run.units();
            self.given += self.units;
        }
        let unit = self.unit;
        self.unit += class.units();
        self.units -= class.units();
        unit
    }
}

impl PageOutput for PageStream {
    fn append(&self, kind: PageKind, payload: &[u8]) -> Result<PageRef> {
        let class = class_for(payload)?;
        let mut run = self.run.lock();
        let unit = run.take(class, &self.sink.space);
        self.sink.write(unit, class, &mut run.buffer, kind, payload)
    }
}

impl Drop for PageStream {
    fn drop(&mut self) {
        if let Some(rest) = self.run.get_mut().rest() {
            self.sink.space.lock().free.free(rest);
        }
    }
}

fn class_for(payload: &[u8]) -> Result<SizeClass> {
    SizeClass::for_payload_bytes(payload.len()).ok_or(Error::Limit {
        what: "payload of a page",
        value: payload.len() as u64,
        limit: SizeClass::STORED_MAX.payload_bytes() as u64,
    })
}

/// Seals `payload` as `page` in `buffer`, which grows as needed, and writes it; the reference by
/// which it is found.
fn write_page(
    file: &dyn File,
    buffer: &mut AlignedBuffer,
    page: PageRef,
    kind: PageKind,
    payload: &[u8],
) -> Result<PageRef> {
    if buffer.len() < page.len_bytes() {
        *buffer = AlignedBuffer::zeroed(page.len_bytes());
    }
    let bytes = &mut buffer[..page.len_bytes()];
    bytes[HEADER_BYTES..HEADER_BYTES + payload.len()].copy_from_slice(payload);
    let page = page::seal(bytes, page, kind, 0, payload.len());
    file.write_all_at(bytes, page.offset_bytes())?;
    Ok(page)
}

/// Stores the free space of a finished file as a chain of its own behind the end, which moves.
pub(crate) fn append_chain(
    file: &dyn File,
    free: &mut FreeSpace,
    kind: PageKind,
) -> Result<PageRef> {
    struct Behind<'a> {
        file: &'a dyn File,
        end: Mutex<u64>,
    }
    impl PageOutput for Behind<'_> {
        fn append(&self, kind: PageKind, payload: &[u8]) -> Result<PageRef> {
            let mut end = self.end.lock();
            let page = PageRef::new(class_for(payload)?, *end);
            *end = page.end_unit();
            let mut buffer = AlignedBuffer::zeroed(page.len_bytes());
            write_page(self.file, &mut buffer, page, kind, payload)
        }
    }
    let output = Behind {
        file,
        end: Mutex::new(free.end()),
    };
    let mut footprint = Footprint::default();
    let head = overflow_pages::write(&output, kind, &free.encode(), &mut footprint)?;
    free.grow_to(*output.end.lock());
    Ok(head)
}

#[cfg(test)]
mod tests {
    //! Pages of one store lie together, and nothing of the file is lost or given twice.

    use super::*;
    use graven_io::MemoryFile;

    #[test]
    fn streams_in_turns_fill_long_runs_of_their_own() {
        let sink = Arc::new(PageSink::new(Arc::new(MemoryFile::new("runs.graven"))));
        let streams = [sink.stream(), sink.stream(), sink.stream()];
        let mut pages: [Vec<PageRef>; 3] = Default::default();
        for turn in 0..1000 {
            for (stream, pages) in streams.iter().zip(&mut pages) {
                // Now and then a page of another class.
                let bytes = if turn % 97 == 0 { 40_000 } else { 9_000 };
                pages.push(stream.append(PageKind::Adjacency, &vec![7; bytes]).unwrap());
            }
        }
        for own in &pages {
            let breaks = own
                .windows(2)
                .filter(|pair| pair[0].end_unit() != pair[1].unit());
            assert!(
                breaks.count() < 60,
                "runs grow to 1 MiB: 64 pages of 16 KiB"
            );
        }
        drop(streams);
        let free = sink.free_space();
        let mut all: Vec<Extent> = pages
            .iter()
            .flatten()
            .map(|page| Extent::of(*page))
            .collect();
        all.extend(free.extents());
        all.push(Extent { unit: 0, units: 1 });
        all.push(Extent {
            unit: SECOND_UNIT,
            units: 1,
        });
        all.sort_unstable();
        assert_eq!(all.last().unwrap().end(), free.end());
        assert!(
            all.windows(2).all(|pair| pair[0].end() == pair[1].unit),
            "ST-2, ST-11: every unit is free, a superblock or in one page"
        );
    }
}
