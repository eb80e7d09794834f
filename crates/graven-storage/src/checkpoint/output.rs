//! Where a checkpoint writes its pages: into free units, low ones first, in short bursts.
//!
//! # How it works
//! Pages that come to lie behind each other are gathered in a lane and written together, at most
//! [`BURST_BYTES`] at a time. There are as many lanes as threads that merge, each of which takes
//! room for several pages ahead ([`Output::reserve_run`]). After each burst, and after [`STINT`] of
//! other work, the writer pauses for as long as it has worked, so that commits and readers get disk
//! and processors in between; not while threads wait for the checkpoint's end.
//!
//! Room for what everything else is found by (label runs, segment directory, catalogue) is kept
//! from the beginning, as low as there is any, so that it does not come to lie at the end of the
//! file, which is the first to go when one is cut off.
//!
//! # Invariants
//! * CK-1, see `space.rs`: the copy of the free space that is allocated from holds nothing that is
//!   reachable.

use crate::delta::work_sharing::Demand;
use crate::free_space::{Extent, FreeSpace};
use crate::page_output::{PageOutput, ReservedPages};
use crate::until::Until;
use crate::{Error, Result};
use graven_io::{AlignedBuffer, File};
use graven_pagecache::page::{self, HEADER_BYTES};
use graven_pagecache::{Budget, PageKind, PageRef, Reservation, SizeClass, UNIT_BYTES};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The buffers of all lanes take this much, or [`BUFFER_SHARE`] of a small memory limit.
const BUFFER_BYTES: u64 = 256 << 10;
const BUFFER_SHARE: u64 = 16;
/// Bytes between two pauses: a commit's write that comes behind them on the disk waits for no more.
const BURST_BYTES: usize = 64 << 10;
/// Time worked between two pauses, roughly: less than a processor is given to one thread while
/// others wait for it.
const STINT: Duration = Duration::from_millis(1);
/// A pause is never longer.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// Pages behind each other that wait to be written.
#[derive(Debug)]
struct Lane {
    buffer: AlignedBuffer,
    used: usize,
    unit: u64,
}

impl Lane {
    /// Whether a page comes behind what is gathered.
    fn is_continued_by(&self, page: PageRef) -> bool {
        self.unit + (self.used / UNIT_BYTES) as u64 == page.unit()
    }
}

#[derive(Debug)]
struct State {
    space: FreeSpace,
    /// Kept at the front, ascending.
    kept: Vec<PageRef>,
    /// The one that was written to last is the last one.
    lanes: Vec<Lane>,
    /// When the last pause ended.
    resumed: Instant,
    written: u64,
    /// The pages written.
    pages: Vec<PageRef>,
    reservation: Reservation,
}

/// Writes the pages of one checkpoint.
#[derive(Debug)]
pub(crate) struct Output {
    file: Arc<dyn File>,
    lsn: u64,
    pace: Pace,
    state: Mutex<State>,
}

/// Whether there are pauses between bursts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    /// There are, as a rule.
    pub(crate) paced: bool,
    /// When no more pages are written.
    pub(crate) until: Until,
    /// Threads that wait for the checkpoint.
    pub(crate) demand: Arc<Demand>,
}

impl Pace {
    pub(super) fn pauses(&self) -> bool {
        self.paced && !self.demand.is_any()
    }
}

impl Output {
    pub(crate) fn new(
        file: Arc<dyn File>,
        budget: &Arc<Budget>,
        space: FreeSpace,
        lsn: u64,
        pace: Pace,
        threads: usize,
    ) -> Result<Output> {
        let lanes = threads.max(1);
        let buffer_bytes = (budget.limit() / BUFFER_SHARE).clamp(BURST_BYTES as u64, BUFFER_BYTES);
        let buffer_bytes = (buffer_bytes / lanes as u64).next_multiple_of(BURST_BYTES as u64);
        let mut reservation = budget.reserve("checkpoint", buffer_bytes * lanes as u64)?;
        let lane = || Lane {
            buffer: AlignedBuffer::zeroed(buffer_bytes as usize),
            used: 0,
            unit: 0,
        };
        // This copy of what is free, and the one that is stored: without them a file in many pieces
        // could never be checkpointed.
        reservation.force_grow(2 * space.memory_bytes());
        Ok(Output {
            file,
            lsn,
            pace,
            state: Mutex::new(State {
                space,
                kept: Vec::new(),
                lanes: (0..lanes).map(|_| lane()).collect(),
                resumed: Instant::now(),
                written: 0,
                pages: Vec::new(),
                reservation,
            }),
        })
    }

    /// What threads other than the checkpoint's own wait for before they merge; `None` where they
    /// begin at once.
    pub(super) fn demand(&self) -> Option<&Demand> {
        self.pace.paced.then_some(&*self.pace.demand)
    }

    /// Keeps the lowest free room there is for pages of these classes, which [`Output::front`]
    /// writes.
    pub(crate) fn keep(&self, classes: impl Iterator<Item = SizeClass>) {
        let mut state = self.state.lock();
        for class in classes {
            let unit = state.space.allocate_below(class, u64::MAX);
            state
                .kept
                .extend(unit.map(|unit| PageRef::new(class, unit)));
        }
        state.kept.sort_unstable_by_key(|page| page.unit());
    }

    /// Writes to the room that was kept, and elsewhere where there is none of the right class.
    pub(crate) fn front(&self) -> Front<'_> {
        Front(self)
    }

    /// What is left of the room that was kept is free.
    pub(crate) fn release_kept(&self) {
        let mut state = self.state.lock();
        for page in std::mem::take(&mut state.kept) {
            state.space.free(Extent::of(page));
        }
    }

    /// Takes room for a page that is written later.
    pub(crate) fn reserve(&self, class: SizeClass) -> Result<PageRef> {
        let unit = self.state.lock().space.allocate(class);
        checked_page(class, unit)
    }

    /// Takes room for `count` pages that are written later, the one that lies first last.
    pub(super) fn reserve_run(&self, class: SizeClass, count: usize) -> Result<Vec<PageRef>> {
        let mut state = self.state.lock();
        let taken = (0..count).map(|_| checked_page(class, state.space.allocate(class)));
        let mut taken = taken.collect::<Result<Vec<_>>>()?;
        taken.reverse();
        Ok(taken)
    }

    /// Gives room back that nothing was written to.
    pub(super) fn give_back(&self, pages: &mut Vec<PageRef>) {
        let mut state = self.state.lock();
        for page in pages.drain(..) {
            state.space.free(Extent::of(page));
        }
    }

    /// As [`PageOutput::append`], but only to a place below `limit`; `None` if there is none.
    pub(crate) fn append_below(
        &self,
        limit: u64,
        kind: PageKind,
        payload: &[u8],
    ) -> Result<Option<PageRef>> {
        let class = class_for(payload)?;
        let Some(unit) = self.state.lock().space.allocate_below(class, limit) else {
            return Ok(None);
        };
        let page = checked_page(class, unit)?;
        self.write(page, kind, payload).map(Some)
    }

    /// Writes a page to the place taken for it; the reference by which it is found.
    pub(crate) fn write(&self, page: PageRef, kind: PageKind, payload: &[u8]) -> Result<PageRef> {
        self.pace.until.check()?;
        let mut state = self.state.lock();
        self.rest(&mut state.resumed, STINT);
        state.reservation.grow(size_of::<PageRef>() as u64)?;
        state.pages.push(page);
        let bytes = page.len_bytes();
        let lanes = &state.lanes;
        let at = lanes.iter().position(|lane| lane.is_continued_by(page));
        let mut lane = state.lanes.remove(at.unwrap_or(0));
        let written = self.gather(&mut state, &mut lane, page, bytes);
        let sealed = written.map(|()| {
            let start = lane.used;
            lane.used += bytes;
            let room = &mut lane.buffer[start..start + bytes];
            room[HEADER_BYTES..HEADER_BYTES + payload.len()].copy_from_slice(payload);
            page::seal(room, page, kind, self.lsn, payload.len())
        });
        state.lanes.push(lane);
        sealed
    }

    /// Makes room for a page in a lane.
    fn gather(
        &self,
        state: &mut State,
        lane: &mut Lane,
        page: PageRef,
        bytes: usize,
    ) -> Result<()> {
        if !lane.is_continued_by(page) || lane.used + bytes > lane.buffer.len() {
            self.flush(state, lane)?;
            lane.unit = page.unit();
            if bytes > lane.buffer.len() {
                lane.buffer = AlignedBuffer::zeroed(bytes);
            }
        }
        Ok(())
    }

    fn flush(&self, state: &mut State, lane: &mut Lane) -> Result<()> {
        if lane.used == 0 {
            return Ok(());
        }
        let offset = lane.unit * UNIT_BYTES as u64;
        let burst_bytes = match self.pace.pauses() {
            true => BURST_BYTES,
            false => lane.used,
        };
        for from in (0..lane.used).step_by(burst_bytes) {
            let to = lane.used.min(from + burst_bytes);
            let burst = &lane.buffer[from..to];
            self.file.write_all_at(burst, offset + from as u64)?;
            self.rest(&mut state.resumed, Duration::ZERO);
        }
        state.written += lane.used as u64;
        lane.used = 0;
        Ok(())
    }

    /// Pauses for as long as was worked since the last pause, where that was longer than `stint`.
    fn rest(&self, resumed: &mut Instant, stint: Duration) {
        let worked = resumed.elapsed();
        if worked > stint && self.pace.pauses() {
            std::thread::sleep(worked.min(PAUSE_MAX));
            *resumed = Instant::now();
        }
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.state.lock().written
    }

    /// All pages written so far, which are forgotten here.
    pub(crate) fn pages_written(&self) -> Vec<PageRef> {
        std::mem::take(&mut self.state.lock().pages)
    }

    /// The free space as it is now.
    pub(crate) fn space(&self) -> FreeSpace {
        self.state.lock().space.clone()
    }

    /// Writes what is gathered.
    pub(crate) fn finish(&self) -> Result<()> {
        let mut state = self.state.lock();
        let mut lanes = std::mem::take(&mut state.lanes);
        let flushed = (lanes.iter_mut()).try_for_each(|lane| self.flush(&mut state, lane));
        state.lanes = lanes;
        flushed
    }
}

/// See [`Output::front`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front<'a>(&'a Output);

impl PageOutput for Front<'_> {
    fn append(&self, kind: PageKind, payload: &[u8]) -> Result<PageRef> {
        let class = class_for(payload)?;
        let kept = {
            let kept = &mut self.0.state.lock().kept;
            let at = kept.iter().position(|page| page.class() == class);
            at.map(|at| kept.remove(at))
        };
        let page = kept.map_or_else(|| self.0.reserve(class), Ok)?;
        self.0.write(page, kind, payload)
    }
}

impl ReservedPages for Output {
    fn reserve(&self, class: SizeClass) -> Result<PageRef> {
        Output::reserve(self, class)
    }

    fn write(&self, page: PageRef, kind: PageKind, payload: &[u8]) -> Result<PageRef> {
        Output::write(self, page, kind, payload)
    }
}

impl PageOutput for Output {
    fn append(&self, kind: PageKind, payload: &[u8]) -> Result<PageRef> {
        let page = self.reserve(class_for(payload)?)?;
        self.write(page, kind, payload)
    }
}

pub(super) fn class_for(payload: &[u8]) -> Result<SizeClass> {
    SizeClass::for_payload_bytes(payload.len()).ok_or(Error::Limit {
        what: "payload of a page",
        value: payload.len() as u64,
        limit: SizeClass::STORED_MAX.payload_bytes() as u64,
    })
}

fn checked_page(class: SizeClass, unit: u64) -> Result<PageRef> {
    if unit + class.units() > PageRef::UNIT_MAX {
        return Err(Error::Limit {
            what: "length of the file in units of 4 KiB",
            value: unit + class.units(),
            limit: PageRef::UNIT_MAX,
        });
    }
    Ok(PageRef::new(class, unit))
}
