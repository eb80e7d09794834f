//! The log without its thread: buffer, frames, regions, the group of those that wait for a sync.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use graven_io::{AlignedBuffer, File};

use crate::buffer::{Buffer, PlacedFrame};
use crate::frame::Context;
use crate::group::{Device, Group};
use crate::header::{FileHeader, RegionHeader};
use crate::layout::FRAME_BYTES_MAX;
use crate::mutant::{self, Mutant};
use crate::space::Reserve;
use crate::stats::{Counters, LogStats};
use crate::{Error, LogOptions, Lsn, Result};

/// Shorter syncs do not wait for a group: the system does not wake a thread more exactly than that.
const WORTH_WAITING: Duration = Duration::from_micros(100);
/// The syncer waits no longer than this, however slow syncs are: one that hung once says nothing of
/// the next.
const PATIENCE_MAX: Duration = Duration::from_millis(20);
/// Bytes written at once where a region is filled with zeros.
const ZEROS_BYTES: usize = 256 << 10;

/// What the writing thread owns.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Checksum of the newest frame.
    pub(crate) previous: u64,
    /// No frame was written since the open.
    pub(crate) fresh: bool,
    pub(crate) batch: Vec<PlacedFrame>,
    /// For region headers.
    pub(crate) sector: AlignedBuffer,
}

/// Lets another thread add regions where the one that began to unwinds; what it wrote lies behind
/// the log.
struct GrowthUnwinds<'a>(&'a SharedLog);

impl Drop for GrowthUnwinds<'_> {
    fn drop(&mut self) {
        self.0.lock_buffer().growing = false;
        self.0.grown.notify_all();
    }
}

/// The log without its thread.
#[derive(Debug)]
pub(crate) struct SharedLog {
    pub(crate) file: Arc<dyn File>,
    pub(crate) header: FileHeader,
    pub(crate) short_identity: u64,
    pub(crate) options: LogOptions,
    pub(crate) buffer: Mutex<Buffer>,
    /// A thread has tried to add regions.
    pub(crate) grown: Condvar,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) group: Group,
    /// The durable LSN that the newest frame tells.
    pub(crate) stated: AtomicU64,
    /// Nanoseconds that a sync takes, the newest weighing most.
    pub(crate) sync_ns: AtomicU64,
    pub(crate) counters: Counters,
}

impl SharedLog {
    pub(crate) fn lock_buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn failure(&self, reason: Arc<str>) -> Error {
        Error::Failed {
            path: self.file.path().to_path_buf(),
            durable: self.group.durable(),
            reason,
        }
    }

    pub(crate) fn check_failed(&self) -> Result<()> {
        match self.group.failed() {
            None => Ok(()),
            Some(reason) => Err(self.failure(reason)),
        }
    }

    pub(crate) fn sync_up_to(&self, lsn: Lsn) -> Result<u32> {
        let waited = self.group.wait_durable(self, lsn);
        waited.map_err(|reason| self.failure(reason))
    }

    pub(crate) fn write_up_to(&self, lsn: Lsn) -> Result<()> {
        let waited = self.group.wait_written(self, lsn);
        waited.map_err(|reason| self.failure(reason))
    }

    /// Makes durable what was appended.
    pub(crate) fn sync_appended(&self) {
        let end = self.lock_buffer().end;
        // A failure is kept by the group and met by the next commit.
        let _ = self.group.wait_durable(self, end);
    }

    /// Whether no frame tells the durable LSN yet.
    pub(crate) fn lacks_durable_marker(&self) -> bool {
        self.stated.load(Relaxed) < self.group.durable().0
    }

    pub(crate) fn frames_written(&self) -> u64 {
        self.counters.frames.load(Relaxed)
    }

    /// Writes an empty frame that tells the durable LSN: damage below it is then no torn tail any
    /// more.
    pub(crate) fn write_durable_marker(&self) {
        self.group.write_durable_marker(self);
    }

    /// The buffer, with room for `bytes` more of the stream.
    pub(crate) fn room_for(&self, bytes: u64, reserve: Reserve) -> Result<MutexGuard<'_, Buffer>> {
        self.check_failed()?;
        let mut buffer = self.lock_buffer();
        loop {
            if buffer.closed {
                return Err(Error::Closed {
                    path: self.file.path().to_path_buf(),
                });
            }
            let wanted = buffer.waiting_bytes() + buffer.space.worst_case(bytes);
            if buffer.space.fits(wanted, reserve) {
                return Ok(buffer);
            }
            if buffer.growing {
                let waited = self.grown.wait(buffer);
                buffer = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let least = wanted.div_ceil(buffer.space.region_bytes() / 2) as u32;
            let count = buffer.space.growth().max(least);
            let (again, outcome) = self.grow(buffer, count);
            buffer = again;
            if let Err(error) = outcome {
                // Another thread may have cut the log by now.
                if buffer.space.fits(wanted, reserve) {
                    continue;
                }
                return Err(self.refused(error, wanted));
            }
        }
    }

    pub(crate) fn refused(&self, error: graven_io::Error, wanted: u64) -> Error {
        if error.is_storage_full() {
            return Error::DiskFull {
                path: self.file.path().to_path_buf(),
                wanted,
                source: Arc::new(error),
            };
        }
        self.group.fail(error.to_string().into());
        self.failure(error.to_string().into())
    }

    /// Adds a region if the log runs low and no other thread adds one.
    pub(crate) fn grow_if_low(&self) {
        let buffer = self.lock_buffer();
        if buffer.growing || buffer.closed || !buffer.space.running_low() {
            return;
        }
        let count = buffer.space.growth();
        let (buffer, outcome) = self.grow(buffer, count);
        drop(buffer);
        if let Err(error) = outcome
            && !error.is_storage_full()
        {
            self.group.fail(error.to_string().into());
        }
    }

    /// Adds `count` regions, with the buffer unlocked meanwhile.
    pub(crate) fn grow<'a>(
        &'a self,
        mut buffer: MutexGuard<'a, Buffer>,
        count: u32,
    ) -> (MutexGuard<'a, Buffer>, graven_io::Result<()>) {
        buffer.growing = true;
        let slots = buffer.space.slots();
        let from = buffer.space.file_bytes(slots);
        let to = buffer.space.file_bytes(slots + count);
        drop(buffer);
        let unwinding = GrowthUnwinds(self);
        let outcome = fill_with_zeros(&*self.file, from, to).and_then(|()| self.file.sync_data());
        if outcome
            .as_ref()
            .is_err_and(graven_io::Error::is_storage_full)
        {
            // Half a region is of no use. If it cannot be given back, that costs only disk space.
            let _ = self.file.set_len(from);
        }
        std::mem::forget(unwinding);
        let mut buffer = self.lock_buffer();
        buffer.growing = false;
        if outcome.is_ok() {
            buffer.space.grown(count);
            self.counters
                .grown_regions
                .fetch_add(u64::from(count), Relaxed);
        }
        self.grown.notify_all();
        (buffer, outcome)
    }

    pub(crate) fn write_frames(&self, durable: Lsn, even_empty: bool) -> graven_io::Result<Lsn> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = &mut *writer;
        let end = {
            let mut buffer = self.lock_buffer();
            buffer.take(even_empty, &mut writer.batch);
            buffer.end
        };
        if writer.batch.is_empty() {
            return Ok(end);
        }
        let begun = Instant::now();
        let sector_bytes = self.header.sector_bytes as usize;
        let mut bytes_written = 0;
        for placed in &mut writer.batch {
            if let Some(region) = placed.place.begins {
                let header = RegionHeader {
                    slot: region.slot,
                    sequence: region.sequence,
                    first: region.first,
                    previous: writer.previous,
                };
                header.write(&mut writer.sector, &self.header.identity);
                let offset = placed.place.offset - sector_bytes as u64;
                self.file.write_all_at(&writer.sector, offset)?;
                bytes_written += sector_bytes as u64;
            }
            assert!(
                durable <= placed.frame.first,
                "LG-5: only the past is durable"
            );
            let sealed = placed.frame.seal(&Context {
                durable,
                identity: self.short_identity,
                previous: writer.previous,
                fresh: writer.fresh && !mutant::active(Mutant::IncompleteRecordKept),
                sector_bytes,
            });
            let mut bytes = sealed.1;
            if mutant::active(Mutant::CutFrame) && bytes.len() > 4 * sector_bytes {
                bytes = &bytes[..4 * sector_bytes];
            }
            self.file.write_all_at(bytes, placed.place.offset)?;
            bytes_written += sealed.1.len() as u64;
            writer.previous = sealed.0;
            writer.fresh = false;
        }
        let counters = &self.counters;
        counters.write_ns.add(begun.elapsed().as_nanos() as u64);
        counters.bytes_written.fetch_add(bytes_written, Relaxed);
        counters
            .frames
            .fetch_add(writer.batch.len() as u64, Relaxed);
        self.stated.store(durable.0, Relaxed);
        self.lock_buffer().recycle(&mut writer.batch);
        Ok(end)
    }

    pub(crate) fn stats(&self) -> LogStats {
        let counters = &self.counters;
        let buffer = self.lock_buffer();
        let region_bytes = buffer.space.region_bytes();
        LogStats {
            records: counters.records.load(Relaxed),
            end: buffer.end,
            durable: self.group.durable(),
            frames: counters.frames.load(Relaxed),
            bytes_written: counters.bytes_written.load(Relaxed),
            live_bytes: buffer.space.used_regions() * region_bytes,
            free_bytes: buffer.space.free_regions() * region_bytes,
            grown_regions: counters.grown_regions.load(Relaxed),
            recycled_regions: counters.recycled_regions.load(Relaxed),
            write_ns: counters.write_ns.view(),
            sync_ns: counters.sync_ns.view(),
            commit_ns: counters.commit_ns.view(),
            group: counters.group.view(),
        }
    }
}

impl Device for SharedLog {
    fn write(&self, durable: Lsn, even_empty: bool) -> std::result::Result<Lsn, Arc<str>> {
        self.write_frames(durable, even_empty)
            .map_err(|error| error.to_string().into())
    }

    fn sync(&self) -> std::result::Result<(), Arc<str>> {
        let begun = Instant::now();
        let outcome = match mutant::active(Mutant::SkippedSync) {
            true => Ok(()),
            false => self.file.sync_data(),
        };
        let outcome = match mutant::active(Mutant::RetriedSync) {
            true => outcome.or_else(|_| self.file.sync_data()),
            false => outcome,
        };
        let took = begun.elapsed().as_nanos() as u64;
        self.counters.sync_ns.add(took);
        let before = self.sync_ns.load(Relaxed);
        self.sync_ns.store((3 * before + took) / 4, Relaxed);
        outcome.map_err(|error| error.to_string().into())
    }

    fn served(&self, group: u32) {
        self.counters.group.add(u64::from(group));
    }

    fn group_wait_max(&self) -> Option<Duration> {
        let sync = Duration::from_nanos(self.sync_ns.load(Relaxed));
        (sync >= WORTH_WAITING).then_some((sync / 2).min(PATIENCE_MAX))
    }
}

/// Reserves `from..to` and writes zeros, so that later writes into it change no metadata.
pub(crate) fn fill_with_zeros(file: &dyn File, from: u64, to: u64) -> graven_io::Result<()> {
    file.allocate(from, to - from)?;
    let zeros = AlignedBuffer::zeroed(ZEROS_BYTES);
    let mut at = from;
    while at < to {
        let count = (to - at).min(ZEROS_BYTES as u64);
        file.write_all_at(&zeros[..count as usize], at)?;
        at += count;
    }
    Ok(())
}

const _: () = assert!(ZEROS_BYTES.is_multiple_of(FRAME_BYTES_MAX));
