//! A file that fails on purpose: wraps another one and injects seeded faults and crashes.
//!
//! # How it works
//! Every operation throws the dice of a [`FaultPlan`]; a fault may also be armed for one particular
//! operation through the [`FaultControl`]. The wrapped file always holds what the process sees.
//! What was written since the last sync is remembered sector by sector, so that
//! [`FaultControl::crash_image`] can compose the bytes that a power cut at this moment may leave.
//!
//! # Invariants
//! * IO-5: equal seeds and equal sequences of operations give equal faults and equal crash images.
//! * IO-6: whatever the crash, bytes acknowledged by a successful sync and not overwritten since
//!   are in its image, except those a plan of lost or misdirected writes destroyed.
//!
//! # Concurrency
//! One mutex orders all changes; latency is slept outside it.

mod control;
mod plan;
mod unsynced;

pub use control::{FaultControl, FaultCounts};
use graven_types::rng::SplitMix64;
pub use plan::{Fault, FaultPlan};
pub use unsynced::{Crash, CrashOutcome};

use std::io;
use std::path::Path;
use std::sync::Arc;

use control::{Access, Shared, State};

use crate::immediate_queue::ImmediateQueue;
use crate::{Error, File, IoMode, Operation, ReadQueue, Result};

/// What a torn or failing write may still deliver is cut at multiples of this.
const SECTOR_BYTES: u64 = 512;

/// A file that fails on purpose; clones are further handles of the same file.
#[derive(Clone, Debug)]
pub struct FaultyFile {
    shared: Arc<Shared>,
}

impl FaultyFile {
    /// Wraps `inner`, whose present content counts as durable.
    pub fn new(inner: Arc<dyn File>, plan: FaultPlan) -> FaultyFile {
        FaultyFile {
            shared: Arc::new(Shared::new(inner, plan)),
        }
    }

    /// The handle by which a test steers this file.
    pub fn control(&self) -> FaultControl {
        FaultControl::new(Arc::clone(&self.shared))
    }

    fn inner(&self) -> &dyn File {
        self.shared.inner()
    }

    fn failed(&self, operation: Operation, offset: u64, length: usize, code: i32) -> Error {
        Error::at(
            operation,
            self.path(),
            offset,
            length,
            io::Error::from_raw_os_error(code),
        )
    }

    /// Writes to the wrapped file and remembers the sectors as unsynced.
    fn apply(&self, state: &mut State, buf: &[u8], offset: u64) -> Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let end = offset + buf.len() as u64;
        state.unsynced.before_change(self.inner(), offset, end)?;
        self.inner().write_all_at(buf, offset)?;
        state.unsynced.after_change(self.inner(), offset, end)
    }

    /// Writes the first `bytes` bytes, cut to whole sectors.
    fn apply_part(&self, state: &mut State, buf: &[u8], offset: u64, bytes: u64) -> Result<()> {
        let unit = SECTOR_BYTES.max(self.alignment() as u64);
        let bytes = bytes.min(buf.len() as u64) / unit * unit;
        self.apply(state, &buf[..bytes as usize], offset)
    }

    /// Where a misdirected write of `length` bytes lands; `None` where the file has no other place.
    fn elsewhere(&self, state: &mut State, offset: u64, length: u64) -> Result<Option<u64>> {
        let unit = length
            .next_multiple_of(SECTOR_BYTES)
            .max(self.alignment() as u64);
        let places = self.len()? / unit;
        if places == 0 {
            return Ok(None);
        }
        let place = state.dice.below(places) * unit;
        Ok((place != offset).then_some(place))
    }
}

impl File for FaultyFile {
    fn path(&self) -> &Path {
        self.inner().path()
    }

    fn len(&self) -> Result<u64> {
        self.inner().len()
    }

    fn set_len(&self, length: u64) -> Result<()> {
        let mut state = self.shared.enter(Access::Change)?;
        let old = self.inner().len()?;
        if state.fault(Fault::StorageFull, 0.0) || (length > old && state.plan.overflows(length)) {
            return Err(self.failed(Operation::Length, length, 0, libc::ENOSPC));
        }
        state.unsynced.before_change(self.inner(), length, old)?;
        self.inner().set_len(length)?;
        state.unsynced.after_change(self.inner(), length, old)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let mut state = self.shared.enter(Access::Read)?;
        let plan = state.plan.clone();
        if state.fault(Fault::ReadError, plan.read_error) {
            return Err(self.failed(Operation::Read, offset, buf.len(), libc::EIO));
        }
        let mut wanted = buf.len();
        if state.fault(Fault::ShortRead, plan.short_read) {
            wanted = state.dice.below(wanted as u64) as usize;
        }
        let got = self.inner().read_at(&mut buf[..wanted], offset)?;
        if got > 0 && state.fault(Fault::BitFlip, plan.bit_flip) {
            let bit = state.dice.below(got as u64 * 8);
            buf[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        Ok(got)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        let mut state = self.shared.enter(Access::Write)?;
        let state = &mut *state;
        let plan = state.plan.clone();
        let length = buf.len() as u64;
        if state.fault(Fault::StorageFull, 0.0) {
            return Err(self.failed(Operation::Write, offset, buf.len(), libc::ENOSPC));
        }
        if plan.overflows(offset + length) {
            let room = plan
                .capacity_bytes
                .unwrap_or(u64::MAX)
                .saturating_sub(offset);
            self.apply_part(state, buf, offset, room)?;
            return Err(self.failed(Operation::Write, offset, buf.len(), libc::ENOSPC));
        }
        if state.fault(Fault::WriteError, plan.write_error) {
            let part = state.dice.below(length + 1);
            self.apply_part(state, buf, offset, part)?;
            return Err(self.failed(Operation::Write, offset, buf.len(), libc::EIO));
        }
        if state.fault(Fault::TornWrite, plan.torn_write) {
            let part = state.dice.below(length);
            return self.apply_part(state, buf, offset, part);
        }
        if state.fault(Fault::LostWrite, plan.lost_write) {
            return Ok(());
        }
        if state.fault(Fault::MisdirectedWrite, plan.misdirected_write) {
            return match self.elsewhere(state, offset, length)? {
                Some(place) => self.apply(state, buf, place),
                None => Ok(()),
            };
        }
        self.apply(state, buf, offset)
    }

    fn sync_data(&self) -> Result<()> {
        let mut state = self.shared.enter(Access::Sync)?;
        let state = &mut *state;
        if state.fault(Fault::SyncError, state.plan.sync_error) {
            state.unsynced.sync_failed(self.inner(), &mut state.dice)?;
            return Err(self.failed(Operation::Sync, 0, 0, libc::EIO));
        }
        self.inner().sync_data()?;
        state.unsynced.synced(self.inner())
    }

    fn allocate(&self, offset: u64, length: u64) -> Result<()> {
        let mut state = self.shared.enter(Access::Change)?;
        let (old, end) = (self.inner().len()?, offset + length);
        if state.fault(Fault::StorageFull, 0.0) || state.plan.overflows(end) {
            return Err(self.failed(Operation::Allocate, offset, length as usize, libc::ENOSPC));
        }
        state
            .unsynced
            .before_change(self.inner(), old, old.max(end))?;
        self.inner().allocate(offset, length)?;
        state.unsynced.after_change(self.inner(), old, old.max(end))
    }

    fn mode(&self) -> IoMode {
        IoMode::Faulty
    }

    fn alignment(&self) -> usize {
        self.inner().alignment()
    }

    fn request_bytes(&self) -> u64 {
        self.inner().request_bytes()
    }

    fn read_queue(&self, _depth: usize) -> Result<Box<dyn ReadQueue>> {
        let file = Arc::new(self.clone());
        let mut state = self.shared.lock();
        if state.plan.disordered_reads {
            let dice = SplitMix64::new(state.dice.bits());
            return Ok(Box::new(ImmediateQueue::in_disorder(file, dice)));
        }
        Ok(Box::new(ImmediateQueue::new(file)))
    }
}

#[cfg(test)]
mod tests;
