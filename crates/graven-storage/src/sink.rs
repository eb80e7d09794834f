//! Where bulk writing puts pages: one after the other, in large writes.
//!
//! # How it works
//! [`PageSink::append`] gives a payload the smallest page that holds it, at the end of the file, seals it and
//! copies it into a buffer of 1 MiB that is written when full. Two units are left out: the superblocks'.
//! Units skipped before the second superblock are returned as free extents.
//!
//! # Invariants
//! * ST-2: no page overlaps a superblock or another page.
//!
//! # Concurrency
//! One mutex; several column writers may append from several threads.

use crate::chain::{self, Footprint};
use crate::free_space::{Extent, FreeSpace};
use crate::superblock::{SECOND_UNIT, is_superblock_unit};
use crate::{Error, Result};
use graven_io::{AlignedBuffer, File};
use graven_pagecache::page::{self, HEADER_BYTES};
use graven_pagecache::{Budget, PageKind, PageRef, Reservation, SizeClass, UNIT_BYTES};
use parking_lot::Mutex;
use std::sync::Arc;

const BUFFER_BYTES: usize = 1 << 20;

#[derive(Debug)]
struct State {
    buffer: AlignedBuffer,
    /// Bytes of the buffer in use.
    used: usize,
    /// Unit of the buffer's first byte.
    buffer_unit: u64,
    free: Vec<Extent>,
    failed: bool,
    _reservation: Option<Reservation>,
}

/// Where new pages go: behind each other in bulk writing, into free space in a checkpoint.
pub(crate) trait PageOutput {
    /// Writes `payload` as a page of `kind` and tells where it went.
    fn append(&self, kind: PageKind, payload: &[u8]) -> Result<PageRef>;
}

/// Appends sealed pages to a file.
#[derive(Debug)]
pub(crate) struct PageSink {
    file: Arc<dyn File>,
    state: Mutex<State>,
}

impl PageSink {
    pub(crate) fn new(file: Arc<dyn File>, budget: Option<&Arc<Budget>>) -> Result<PageSink> {
        let reservation = budget
            .map(|budget| budget.reserve("write buffer", BUFFER_BYTES as u64))
            .transpose()?;
        Ok(PageSink {
            file,
            state: Mutex::new(State {
                buffer: AlignedBuffer::zeroed(BUFFER_BYTES),
                used: 0,
                buffer_unit: 1,
                free: Vec::new(),
                failed: false,
                _reservation: reservation,
            }),
        })
    }

    /// Writes what is buffered; the file's length in units and the units left free.
    pub(crate) fn finish(&self) -> Result<(u64, Vec<Extent>)> {
        let mut state = self.state.lock();
        while state.next_unit() <= SECOND_UNIT {
            let unit = state.next_unit();
            if unit < SECOND_UNIT {
                state.free.push(Extent {
                    unit,
                    units: SECOND_UNIT - unit,
                });
            }
            let skipped = (SECOND_UNIT + 1 - unit) as usize * UNIT_BYTES;
            state.room(&*self.file, skipped)?.fill(0);
        }
        state.flush(&*self.file)?;
        Ok((state.next_unit(), std::mem::take(&mut state.free)))
    }
}

impl PageOutput for PageSink {
    fn append(&self, kind: PageKind, payload: &[u8]) -> Result<PageRef> {
        let class = SizeClass::for_payload_bytes(payload.len()).ok_or(Error::Limit {
            what: "payload of a page",
            value: payload.len() as u64,
            limit: SizeClass::MAX.payload_bytes() as u64,
        })?;
        let mut state = self.state.lock();
        let unit = state.next_unit();
        if unit <= SECOND_UNIT && unit + class.units() > SECOND_UNIT {
            if unit < SECOND_UNIT {
                state.free.push(Extent {
                    unit,
                    units: SECOND_UNIT - unit,
                });
            }
            let skipped = (SECOND_UNIT + 1 - unit) as usize * UNIT_BYTES;
            state.room(&*self.file, skipped)?.fill(0);
        }
        let unit = state.next_unit();
        if unit + class.units() > PageRef::MAX_UNIT {
            return Err(Error::Limit {
                what: "length of the file in units of 4 KiB",
                value: unit + class.units(),
                limit: PageRef::MAX_UNIT,
            });
        }
        debug_assert!(!is_superblock_unit(unit), "ST-2");
        let reference = PageRef::new(class, unit);
        let room = state.room(&*self.file, class.bytes())?;
        room[HEADER_BYTES..HEADER_BYTES + payload.len()].copy_from_slice(payload);
        page::seal(room, reference, kind, 0, payload.len());
        Ok(reference)
    }
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
            let class = SizeClass::for_payload_bytes(payload.len()).ok_or(Error::Limit {
                what: "payload of a page",
                value: payload.len() as u64,
                limit: SizeClass::MAX.payload_bytes() as u64,
            })?;
            let mut end = self.end.lock();
            let page = PageRef::new(class, *end);
            *end = page.end_unit();
            let mut bytes = AlignedBuffer::zeroed(page.len_bytes());
            bytes[HEADER_BYTES..HEADER_BYTES + payload.len()].copy_from_slice(payload);
            page::seal(&mut bytes, page, kind, 0, payload.len());
            self.file.write_all_at(&bytes, page.offset_bytes())?;
            Ok(page)
        }
    }
    let output = Behind {
        file,
        end: Mutex::new(free.end()),
    };
    let mut footprint = Footprint::default();
    let head = chain::write(&output, kind, &free.encode(), &mut footprint)?;
    free.grow_to(*output.end.lock());
    Ok(head)
}

impl State {
    fn next_unit(&self) -> u64 {
        self.buffer_unit + (self.used / UNIT_BYTES) as u64
    }

    fn flush(&mut self, file: &dyn File) -> Result<()> {
        if self.failed {
            return Err(Error::Incomplete {
                store: file.path().display().to_string(),
                what: "an earlier write failed".to_owned(),
            });
        }
        if self.used > 0 {
            let offset = self.buffer_unit * UNIT_BYTES as u64;
            if let Err(error) = file.write_all_at(&self.buffer[..self.used], offset) {
                self.failed = true;
                return Err(error.into());
            }
            self.buffer_unit = self.next_unit();
            self.used = 0;
        }
        Ok(())
    }

    /// The next `bytes` bytes of the file, in the buffer.
    fn room(&mut self, file: &dyn File, bytes: usize) -> Result<&mut [u8]> {
        if self.used + bytes > self.buffer.len() {
            self.flush(file)?;
            if bytes > self.buffer.len() {
                self.buffer = AlignedBuffer::zeroed(bytes);
            }
        }
        let start = self.used;
        self.used += bytes;
        Ok(&mut self.buffer[start..start + bytes])
    }
}
