//! Read queue over io_uring.
//!
//! # How it works
//! One ring per queue, its file registered so that a read does not touch the descriptor table. A
//! request takes one of `depth` slots, which keeps what the read still wants; one destination is a
//! `READ`, several are a `READV` whose vector lies in the slot. Requests beyond the depth wait in a
//! backlog and take slots as they come free.
//!
//! A read that ends short or is interrupted, cancelled (the thread that submitted it has exited) or
//! told to try again goes out once more for its remainder; so a completion is short only at the end
//! of the file.
//!
//! # Concurrency
//! The ring runs in its default mode: the kernel posts completions whatever the submitting thread
//! does, so any holder of the queue can reap them. (`DEFER_TASKRUN` and `SINGLE_ISSUER` would save
//! a little and tie completions to the submitter, which deadlocks a page cache where others wait
//! for its pages.)
//!
//! # Costs
//! A batch is one `io_uring_enter`; waiting for completions is one more and also submits what
//! waits; completions that are there cost none. The completion ring is twice the slots, so it
//! cannot overflow.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, squeue, types};

use crate::{
    Completion, Error, ForkSafe, Operation, QueueKind, ReadQueue, ReadRequest, Result, Wait,
};

/// Largest number of reads in flight on one ring.
const DEPTH_MAX: usize = 4096;
/// How often one read is sent again before its failure is reported.
const RETRIES_MAX: u32 = 64;

/// Whether this process may use io_uring with the operations needed; asked once.
pub(crate) fn permitted() -> std::result::Result<(), &'static str> {
    static ANSWER: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    ANSWER
        .get_or_init(try_ring)
        .as_ref()
        .copied()
        .map_err(String::as_str)
}

fn try_ring() -> std::result::Result<(), String> {
    let ring = IoUring::new(2).map_err(|error| format!("io_uring_setup: {error}"))?;
    let mut probe = Probe::new();
    ring.submitter()
        .register_probe(&mut probe)
        .map_err(|error| format!("io_uring_register: {error}"))?;
    if probe.is_supported(opcode::Read::CODE) && probe.is_supported(opcode::Readv::CODE) {
        Ok(())
    } else {
        Err("the kernel's io_uring lacks READ".to_owned())
    }
}

/// A read on its way: what it still wants.
struct Slot {
    rest: ReadRequest,
    done: usize,
    retries: u32,
}

/// Read queue over one io_uring.
pub(crate) struct UringQueue {
    ring: IoUring,
    file: Arc<ForkSafe<fs::File>>,
    path: PathBuf,
    alignment: usize,
    registered: bool,
    /// Never grows: the kernel holds pointers into it while a vectored read is being submitted.
    slots: Box<[Option<Slot>]>,
    free: Vec<u32>,
    backlog: VecDeque<ReadRequest>,
}

// SAFETY: the ring's memory and descriptor belong to this queue alone and are reached through
// `&mut self` (`in_flight` reads plain counts); the kernel does not tie a ring in default mode to a
// thread.
unsafe impl Send for UringQueue {}

impl UringQueue {
    /// A ring for up to `depth` reads of `file` at once.
    pub(crate) fn new(
        file: Arc<ForkSafe<fs::File>>,
        path: &Path,
        alignment: usize,
        depth: usize,
    ) -> io::Result<UringQueue> {
        let depth = depth.clamp(1, DEPTH_MAX);
        let ring = IoUring::builder().dontfork().build(depth as u32)?;
        let registered = ring.submitter().register_files(&[file.as_raw_fd()]).is_ok();
        Ok(UringQueue {
            ring,
            file,
            path: path.to_path_buf(),
            alignment,
            registered,
            slots: (0..depth).map(|_| None).collect(),
            free: (0..depth as u32).rev().collect(),
            backlog: VecDeque::new(),
        })
    }

    /// Reads that hold a slot.
    fn busy(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes a slot for `request` and puts it into the submission ring; `false` without a free
    /// slot.
    fn start(&mut self, request: &ReadRequest) -> bool {
        let Some(slot) = self.free.pop() else {
            return false;
        };
        self.slots[slot as usize] = Some(Slot {
            rest: *request,
            done: 0,
            retries: 0,
        });
        self.push(slot);
        true
    }

    /// Puts what `slot` still wants into the submission ring.
    fn push(&mut self, slot: u32) {
        let Some(Slot { rest, .. }) = &self.slots[slot as usize] else {
            unreachable!("only busy slots are pushed")
        };
        let fd = types::Fd(self.file.as_raw_fd());
        let entry = match (rest.parts(), self.registered) {
            ([part], true) => opcode::Read::new(types::Fixed(0), part.start, part.bytes as u32)
                .offset(rest.offset)
                .build(),
            ([part], false) => opcode::Read::new(fd, part.start, part.bytes as u32)
                .offset(rest.offset)
                .build(),
            (parts, true) => {
                opcode::Readv::new(types::Fixed(0), parts.as_ptr().cast(), parts.len() as u32)
                    .offset(rest.offset)
                    .build()
            }
            (parts, false) => opcode::Readv::new(fd, parts.as_ptr().cast(), parts.len() as u32)
                .offset(rest.offset)
                .build(),
        };
        let entry: squeue::Entry = entry.user_data(u64::from(slot));
        // SAFETY: the destinations are valid until the completion is reaped (contract of `submit`),
        // and the vector of a `READV` lies in the slot, which is neither moved nor reused before
        // that.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(
            pushed.is_ok(),
            "the submission ring has room for every slot"
        );
    }

    /// Moves waiting requests into free slots.
    fn fill(&mut self) {
        while !self.backlog.is_empty() && !self.free.is_empty() {
            let request = self.backlog.pop_front().expect("not empty");
            self.start(&request);
        }
    }

    /// Lets the kernel take the submission ring and waits for `wanted` completions.
    fn enter(&mut self, wanted: usize) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(wanted) {
                Ok(_) if wanted > 0 || self.ring.submission().is_empty() => return Ok(()),
                Ok(0) => return Ok(()),
                // One entry was refused and the kernel stopped behind it: hand over the others.
                Ok(_) => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // Short of resources: what is in the ring goes out with a later call.
                    Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM) if wanted == 0 => return Ok(()),
                    Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM) => {
                        if !self.ring.completion().is_empty() {
                            return Ok(());
                        }
                        std::thread::sleep(Duration::from_micros(100));
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    /// Takes arrived completions; reads that ended go to `done`, the others out again.
    fn drain(&mut self, done: &mut Vec<Completion>) {
        loop {
            let Some(entry) = self.ring.completion().next() else {
                return;
            };
            let slot = entry.user_data() as u32;
            if let Some(completion) = self.settle(slot, entry.result()) {
                self.slots[slot as usize] = None;
                self.free.push(slot);
                done.push(completion);
            } else {
                self.push(slot);
            }
        }
    }

    /// What `code` means for the read in `slot`: its completion, or `None` to send the rest again.
    fn settle(&mut self, slot: u32, code: i32) -> Option<Completion> {
        let Some(slot) = &mut self.slots[slot as usize] else {
            unreachable!("a completion names a busy slot")
        };
        let token = slot.rest.token;
        if code < 0 {
            let again = matches!(-code, libc::EINTR | libc::EAGAIN | libc::ECANCELED);
            slot.retries += 1;
            if again && slot.retries <= RETRIES_MAX {
                return None;
            }
            return Some(Completion {
                token,
                result: Err(io::Error::from_raw_os_error(-code)),
            });
        }
        let got = code as usize;
        slot.done += got;
        match slot.rest.remainder(got) {
            // A direct read stops off its alignment only where the file ends.
            Some(rest) if got > 0 && got.is_multiple_of(self.alignment) => {
                slot.rest = rest;
                None
            }
            _ => Some(Completion {
                token,
                result: Ok(slot.done),
            }),
        }
    }
}

impl ReadQueue for UringQueue {
    unsafe fn submit(&mut self, reads: &[ReadRequest]) -> Result<()> {
        for read in reads {
            read.check(&self.path, self.alignment)?;
        }
        self.fill();
        for read in reads {
            if !self.backlog.is_empty() || !self.start(read) {
                self.backlog.push_back(*read);
            }
        }
        // The batch is taken whatever happens here; a broken ring is reported by `reap`.
        let _ = self.enter(0);
        Ok(())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<()> {
        let before = done.len();
        let wanted = match wait {
            Wait::None => 0,
            Wait::AtLeast(count) => count,
        };
        loop {
            self.drain(done);
            self.fill();
            let missing = wanted.saturating_sub(done.len() - before).min(self.busy());
            if missing == 0 && self.ring.submission().is_empty() {
                return Ok(());
            }
            self.enter(missing)
                .map_err(|source| Error::os(Operation::Queue, &self.path, source))?;
            if missing == 0 {
                return Ok(());
            }
        }
    }

    fn in_flight(&self) -> usize {
        self.busy() + self.backlog.len()
    }

    fn kind(&self) -> QueueKind {
        QueueKind::Uring
    }
}

impl Drop for UringQueue {
    fn drop(&mut self) {
        self.backlog.clear();
        let mut ended = Vec::new();
        while self.busy() > 0 {
            self.drain(&mut ended);
            // The memory is the caller's: leaving before the kernel is done with it is no option.
            if self.busy() > 0 && self.enter(1).is_err() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
