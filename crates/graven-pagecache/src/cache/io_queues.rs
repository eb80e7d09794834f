//! I/O queues: the read queues of a file, which any thread may drive.
//!
//! # How it works
//! A file has eight I/O queues, each a [`graven_io::ReadQueue`] in a mutex. A batch of misses locks
//! a free I/O queue and binds its pages to frames. It hands all reads over in one call,
//! neighbouring pages in one read. A gap no longer than the page after it is read too, into memory
//! that no thread reads: devices are limited by reads a second long before they are by bytes.
//!
//! The slot of a page names its I/O queue. A thread that needs a page that is being read locks that
//! I/O queue and reaps. So no thread depends on the return of the thread that submitted the read.
//!
//! # Invariants
//! * PC-17: a page is READING with an I/O queue only while an operation of that I/O queue names its
//!   slot, or while the I/O queue's mutex is held by the thread that will submit or complete it.
//! * US-5: the frame of a READING page belongs to its read; no thread reads it, nothing else writes
//!   it.
//!
//! # Concurrency
//! I/O queue before core. Completions are delivered under the I/O queue's lock; failures are
//! settled after it.
#![expect(unsafe_code, reason = "reads go into frame memory")]

use crate::cache::{FileState, PageCache};
use crate::error::{Error, Result};
use crate::page_ref::{PageRef, SizeClass};
use crate::slots::PageKey;
use crate::word::{self, state};
use graven_io::{AlignedBuffer, Completion, PARTS_MAX, ReadQueue, ReadRequest, Wait};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// I/O queues of a file.
pub(crate) const IO_QUEUES: usize = 8;
/// Reads an I/O queue keeps at the device.
const DEPTH: usize = 64;
/// Most bytes of one merged read.
const MERGED_BYTES_MAX: usize = 256 << 10;
/// Most bytes between two pages of one read.
const GAP_MAX: usize = 16 << 10;

/// One queue of reads.
pub(crate) struct IoQueue {
    state: Mutex<LaneState>,
    in_flight: AtomicUsize,
}

/// What the I/O queue's lock protects.
#[derive(Default)]
pub(crate) struct LaneState {
    queue: Option<Box<dyn ReadQueue>>,
    /// Where gaps between pages are read to; behind `queue`, whose drop waits for all reads.
    gap: Option<AlignedBuffer>,
    operations: Vec<Operation>,
    idle: Vec<u32>,
    requests: Vec<ReadRequest>,
    done: Vec<Completion>,
}

/// Pages of one read, in the order of the file.
#[derive(Clone, Copy)]
struct Operation {
    offset: u64,
    slots: [u32; PARTS_MAX],
    count: usize,
}

/// A locked I/O queue.
pub(crate) struct IoQueueGuard<'a> {
    pub(crate) index: u16,
    io_queue: &'a IoQueue,
    state: MutexGuard<'a, LaneState>,
}

impl IoQueue {
    pub(crate) fn new() -> IoQueue {
        IoQueue {
            state: Mutex::default(),
            in_flight: AtomicUsize::new(0),
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }
}

impl FileState {
    /// An I/O queue that no thread uses, or the caller's own one when all are in use.
    pub(crate) fn lock_io_queue(&self) -> Result<IoQueueGuard<'_>> {
        let own = thread_number() % IO_QUEUES;
        let free = (0..IO_QUEUES)
            .map(|step| (own + step) % IO_QUEUES)
            .find_map(|index| {
                let io_queue = &self.io_queues[index];
                io_queue.state.try_lock().map(|state| (index, state))
            });
        let (index, state) = free.unwrap_or_else(|| (own, self.io_queues[own].state.lock()));
        let mut guard = IoQueueGuard {
            index: index as u16,
            io_queue: &self.io_queues[index],
            state,
        };
        if guard.state.queue.is_none() {
            let queue = self.file.read_queue(DEPTH).map_err(|source| Error::Queue {
                file: self.file.path().to_path_buf(),
                source: Arc::new(source),
            })?;
            guard.state.queue = Some(queue);
        }
        Ok(guard)
    }
}

/// A small number for the calling thread.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| *number)
}

impl IoQueueGuard<'_> {
    /// Lets the last request go on over `gap` bytes to the page of `slot`; `false` when it is full.
    fn join(&mut self, slot: u32, gap: usize, start: *mut u8, bytes: usize) -> bool {
        let state = &mut *self.state;
        let Some(request) = state.requests.last_mut() else {
            return false;
        };
        let parts = 1 + usize::from(gap > 0);
        if request.parts().len() + parts > PARTS_MAX {
            return false;
        }
        if gap > 0 {
            let nowhere = state
                .gap
                .get_or_insert_with(|| AlignedBuffer::zeroed(GAP_MAX));
            let pushed = request.push(nowhere.as_mut_ptr(), gap);
            debug_assert!(pushed, "there is room for two parts");
        }
        let pushed = request.push(start, bytes);
        debug_assert!(pushed, "there is room for another part");
        let operation = &mut state.operations[request.token as usize];
        operation.slots[operation.count] = slot;
        operation.count += 1;
        pushed
    }

    fn operation(&mut self, slot: u32, offset: u64) -> u32 {
        let operation = Operation {
            offset,
            slots: [slot; PARTS_MAX],
            count: 1,
        };
        match self.state.idle.pop() {
            Some(index) => {
                self.state.operations[index as usize] = operation;
                index
            }
            None => {
                self.state.operations.push(operation);
                self.state.operations.len() as u32 - 1
            }
        }
    }
}

impl PageCache {
    /// Submits the reads of `slots`, whose pages are READING in this I/O queue; ascending offsets
    /// are merged.
    ///
    /// # Errors
    /// The queue took none of the reads; the pages are still READING.
    pub(crate) fn submit(
        &self,
        io_queue: &mut IoQueueGuard<'_>,
        slots: &[u32],
    ) -> Result<(), graven_io::Error> {
        io_queue.state.requests.clear();
        let mut last: Option<(u64, usize)> = None;
        for &slot in slots {
            let bound = self.slots().get(slot);
            let (key, place) = (bound.page().expect("PC-17: bound"), bound.place());
            let bytes = crate::UNIT_BYTES << place.class();
            let start = self.frame_start(place.frame());
            let offset = key.unit() * crate::UNIT_BYTES as u64;
            if let Some((end, sum)) = last
                && offset >= end
                && offset - end <= GAP_MAX.min(bytes) as u64
                && sum + (offset - end) as usize + bytes <= MERGED_BYTES_MAX
            {
                let gap = (offset - end) as usize;
                if io_queue.join(slot, gap, start, bytes) {
                    last = Some((offset + bytes as u64, sum + gap + bytes));
                    continue;
                }
            }
            let token = io_queue.operation(slot, offset);
            io_queue
                .state
                .requests
                .push(ReadRequest::new(u64::from(token), offset, start, bytes));
            last = Some((offset + bytes as u64, bytes));
        }
        let state = &mut *io_queue.state;
        let queue = state.queue.as_mut().expect("opened by lock_io_queue");
        // SAFETY: US-5: the frames belong to these reads until their completions are reaped, and
        // stay mapped (US-2); the I/O queues are dropped, which waits for reads, before the region
        // is.
        let submitted = unsafe { queue.submit(&state.requests) };
        match submitted {
            Ok(()) => {
                io_queue
                    .io_queue
                    .in_flight
                    .store(queue.in_flight(), Ordering::Release);
                self.count_reads(
                    state.requests.len() as u64,
                    state.requests.iter().map(|r| r.bytes() as u64).sum(),
                );
                Ok(())
            }
            Err(error) => {
                state
                    .idle
                    .extend(state.requests.iter().map(|request| request.token as u32));
                Err(error)
            }
        }
    }

    /// Reaps from I/O queue `index` of `file` unless `is_done` once the I/O queue is locked;
    /// delivers what arrived.
    ///
    /// # Errors
    /// [`Error::Queue`] when the system refuses to drive the queue.
    pub(crate) fn poll(
        &self,
        file: &FileState,
        index: u16,
        wait: Wait,
        is_done: impl Fn() -> bool,
    ) -> Result<usize> {
        let io_queue = &file.io_queues[usize::from(index)];
        let mut failed = Vec::new();
        let mut guard = match wait {
            // The thread that has the I/O queue delivers.
            Wait::None => match io_queue.state.try_lock() {
                Some(guard) => guard,
                None => return Ok(0),
            },
            Wait::AtLeast(_) => io_queue.state.lock(),
        };
        if is_done() {
            return Ok(0);
        }
        let state = &mut *guard;
        let Some(queue) = state.queue.as_mut() else {
            return Ok(0);
        };
        let reaped = queue.reap(wait, &mut state.done);
        io_queue
            .in_flight
            .store(queue.in_flight(), Ordering::Release);
        let count = state.done.len();
        for completion in state.done.drain(..) {
            let token = completion.token as usize;
            let operation = state.operations[token];
            state.idle.push(token as u32);
            self.deliver(file, &operation, completion.result, &mut failed);
        }
        drop(guard);
        for (slot, error) in failed {
            self.fail_read(slot, error);
        }
        reaped.map_err(|source| Error::Queue {
            file: file.file.path().to_path_buf(),
            source: Arc::new(source),
        })?;
        Ok(count)
    }

    fn deliver(
        &self,
        file: &FileState,
        operation: &Operation,
        result: std::io::Result<usize>,
        failed: &mut Vec<(u32, Option<Error>)>,
    ) {
        let got = *result.as_ref().unwrap_or(&0) as u64;
        let slots = &operation.slots[..operation.count];
        for &slot in slots {
            let bound = self.slots().get(slot);
            let (Some(key), Some(entry)) = (bound.page(), bound.entry()) else {
                continue;
            };
            let class = SizeClass::new(bound.place().class()).expect("frames have a class");
            let offset = key.unit() * crate::UNIT_BYTES as u64;
            if operation.offset + got >= offset + class.bytes() as u64 {
                debug_assert_eq!(
                    word::state_of(entry.word().load(Ordering::Relaxed)),
                    state::READING,
                    "PC-17"
                );
                word::arrive(entry.word());
                self.wake_waiters(entry);
                continue;
            }
            // Of a merged read it is not known which page failed: each is read alone when it is
            // wanted.
            let error = (slots.len() == 1).then(|| self.read_error(file, key, class, &result));
            failed.push((slot, error));
        }
    }

    fn read_error(
        &self,
        file: &FileState,
        key: PageKey,
        class: SizeClass,
        result: &std::io::Result<usize>,
    ) -> Error {
        let page = PageRef::new(class, key.unit());
        let path = file.file.path().to_path_buf();
        let source = match result {
            Ok(got) => graven_io::Error::ShortRead {
                path: path.clone(),
                offset: page.offset_bytes(),
                wanted: class.bytes() as u64,
                got: *got as u64,
            },
            Err(error) => graven_io::Error::Os {
                operation: graven_io::Operation::Read,
                path: path.clone(),
                offset: page.offset_bytes(),
                length: class.bytes() as u64,
                source: error.raw_os_error().map_or_else(
                    || std::io::Error::new(error.kind(), error.to_string()),
                    std::io::Error::from_raw_os_error,
                ),
            },
        };
        Error::Io {
            file: path,
            page,
            operation: "read",
            source: Arc::new(source),
        }
    }

    /// Drives every I/O queue with reads under way; whether anything arrived. Waits for one read if
    /// there are any and `wait` says so.
    pub(crate) fn drive_all(&self, wait: Wait) -> bool {
        let mut arrived = 0;
        let files = self.open_files();
        for file in &files {
            for (index, io_queue) in file.io_queues.iter().enumerate() {
                if io_queue.in_flight() > 0 {
                    arrived += self
                        .poll(file, index as u16, Wait::None, || false)
                        .unwrap_or(0);
                }
            }
        }
        if arrived > 0 || wait == Wait::None {
            return arrived > 0;
        }
        files.iter().any(|file| {
            file.io_queues.iter().enumerate().any(|(index, io_queue)| {
                io_queue.in_flight() > 0
                    && self.poll(file, index as u16, wait, || false).unwrap_or(0) > 0
            })
        })
    }
}
