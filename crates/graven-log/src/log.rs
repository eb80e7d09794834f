//! The log as others see it: append, wait for durability, cut, close.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use graven_io::{AlignedBuffer, File};

use crate::background::Background;
use crate::buffer::{Buffer, PlacedFrame};
use crate::frame::{Context, FRAME_BYTES_MAX};
use crate::group::{Device, Group};
use crate::header::{FILE_HEADER_BYTES, FileHeader, RegionHeader};
use crate::mutant::{self, Mutant};
use crate::recovery::{Recovery, Start};
use crate::space::{REGION_BYTES_MIN, Reserve, Space};
use crate::stats::{Counters, LogStats};
use crate::{Error, Identity, Kind, Lsn, RECORD_BYTES_MAX, RecordRef, Result};

/// Shorter syncs do not wait for a group: the system does not wake a thread more exactly than that.
const WORTH_WAITING: Duration = Duration::from_micros(100);
/// The syncer waits no longer than this, however slow syncs are: one that hung once says nothing of
/// the next.
const PATIENCE_MAX: Duration = Duration::from_millis(20);
/// Bytes written at once where a region is filled with zeros.
const ZEROS_BYTES: usize = 256 << 10;

/// How a log is made and driven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogOptions {
    /// Bytes of a region: a multiple of 4 KiB, 256 KiB at least. Fixed when the log is made.
    pub region_bytes: u64,
    /// Regions that a new log begins with, 2 at least.
    pub initial_regions: u32,
    /// What a write must not tear apart: 512 to 4096, or 0 for what the file asks for (512 at least). 4096 trusts
    /// disks less that rewrite a whole physical sector for a part of it, and costs space. Fixed when the log is made.
    pub sector_bytes: u32,
    /// LSN at which a new log begins.
    pub first: Lsn,
    /// Free regions kept when the log is cut; more are given back to the file system where they lie at the end.
    pub keep_free_regions: u64,
    /// Bytes that may wait in memory before an append writes them itself.
    pub buffer_bytes: u64,
    /// Whether a thread does what can wait. Without it, [`Log::run_background_work`] must be called.
    pub background: bool,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions {
            region_bytes: 1 << 20,
            initial_regions: 2,
            sector_bytes: 0,
            first: Lsn(0),
            keep_free_regions: 64,
            buffer_bytes: 256 << 10,
            background: true,
        }
    }
}

/// When a commit may be acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Durability {
    /// After a sync: nothing acknowledged is lost, whatever happens.
    #[default]
    Full,
    /// After a write to the operating system; synced at most so much later. A killed process loses nothing, a power cut
    /// the commits of that time and of the sync that ends it.
    Relaxed(Duration),
    /// At once. A killed process and a power cut lose at most what was acknowledged in the last second and during the
    /// write that ends it.
    Off,
}

/// What waiting for durability took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waited {
    /// Time from the call to the acknowledgement.
    pub waited: Duration,
    /// Commits served by the sync that this one waited for; 0 if it waited for none.
    pub group: u32,
    /// Bytes that any thread wrote to the file while this one waited.
    pub bytes: u64,
}

/// A write-ahead log.
#[derive(Debug)]
pub struct Log {
    inner: Arc<Inner>,
    background: Option<Background>,
}

impl Log {
    /// Makes a log in `file`, which is overwritten; when it returns, header and first regions are durable (the
    /// directory entry is the caller's to sync).
    ///
    /// # Errors
    /// Impossible options, a full disk, a failing file.
    pub fn create(file: Arc<dyn File>, identity: Identity, options: LogOptions) -> Result<Log> {
        let sector_bytes = sector_bytes(&*file, &options)?;
        let header = FileHeader {
            identity,
            sector_bytes,
            region_bytes: options.region_bytes,
            first: options.first,
        };
        file.set_len(0)?;
        let slots = options.initial_regions;
        let space = Space::new(u64::from(sector_bytes), options.region_bytes, 0);
        fill_with_zeros(&*file, 0, space.file_bytes(slots)).map_err(|error| match error {
            error if error.is_storage_full() => Error::DiskFull {
                path: file.path().to_path_buf(),
                wanted: space.file_bytes(slots),
                source: Arc::new(error),
            },
            error => error.into(),
        })?;
        header.write(&*file)?;
        file.sync_data()?;
        let space = Space::new(u64::from(sector_bytes), options.region_bytes, slots);
        Ok(Log::start(file, header, options, space, options.first, 0))
    }

    /// Opens the log of `identity` for reading from `start` and for appending behind its last intact frame. The
    /// records come from the [`Recovery`], which may be read while the log is already in use.
    ///
    /// The file is changed only to destroy what is dropped as a torn tail.
    ///
    /// # Errors
    /// No log, one of another store, a damaged one, a failing file. The file is not changed then.
    pub fn open(
        file: Arc<dyn File>,
        identity: Identity,
        start: Start,
        options: LogOptions,
    ) -> Result<(Log, Recovery)> {
        let recovery = Recovery::open(Arc::clone(&file), identity, start)?;
        let (header, tail) = recovery.tail();
        if !mutant::active(Mutant::TailKept) {
            tail.destroy(&*file, &header)?;
        }
        // What a killed process wrote may be in the caches of system and disk only.
        file.sync_data()?;
        let space = Space::new(
            u64::from(header.sector_bytes),
            header.region_bytes,
            tail.slots,
        )
        .with_used(tail.used.clone(), tail.cursor, tail.next_sequence);
        let (end, previous) = (tail.end, tail.previous);
        let log = Log::start(file, header, options, space, end, previous);
        Ok((log, recovery))
    }

    fn start(
        file: Arc<dyn File>,
        header: FileHeader,
        options: LogOptions,
        space: Space,
        end: Lsn,
        previous: u64,
    ) -> Log {
        let inner = Arc::new(Inner {
            short_identity: header.identity.short(),
            header,
            options,
            buffer: Mutex::new(Buffer::new(space, end, header.sector_bytes as usize)),
            grown: Condvar::new(),
            writer: Mutex::new(Writer {
                previous,
                fresh: true,
                batch: Vec::new(),
                sector: AlignedBuffer::zeroed(header.sector_bytes as usize),
            }),
            group: Group::new(end),
            stated: AtomicU64::new(end.0),
            sync_ns: AtomicU64::new(0),
            counters: Counters::default(),
            file,
        });
        let background = Background::start(Arc::clone(&inner), options.background);
        Log {
            inner,
            background: Some(background),
        }
    }

    fn background(&self) -> &Background {
        self.background.as_ref().expect("runs until the drop")
    }

    /// Appends `records` one behind the other and returns the LSN behind the last. The order of calls is the order in
    /// the file. Nothing is durable yet, and mostly not even written.
    ///
    /// # Errors
    /// [`Error::DiskFull`] (nothing was appended), [`Error::Failed`], [`Error::RecordTooLong`], [`Error::Closed`].
    pub fn append(&self, records: &[RecordRef<'_>]) -> Result<Lsn> {
        let inner = &*self.inner;
        let mut bytes = 0;
        for record in records {
            if record.payload.len() > RECORD_BYTES_MAX {
                return Err(Error::RecordTooLong {
                    bytes: record.payload.len() as u64,
                    max: RECORD_BYTES_MAX as u64,
                });
            }
            bytes += record.stream_bytes();
        }
        let helps = |record: &RecordRef<'_>| record.kind.may_use_reserve();
        let reserve = match records.iter().all(helps) {
            true => Reserve::Use,
            false => Reserve::Keep,
        };
        let mut buffer = inner.room_for(bytes, reserve)?;
        for record in records {
            buffer.append(record);
        }
        let end = buffer.end;
        let full = buffer.waiting_bytes() > inner.options.buffer_bytes;
        let low = !buffer.growing && buffer.space.running_low();
        drop(buffer);
        inner
            .counters
            .records
            .fetch_add(records.len() as u64, Relaxed);
        if low {
            self.background().grow();
        }
        if full {
            inner.write_up_to(end)?;
        }
        Ok(end)
    }

    /// Waits until a commit whose records end at `lsn` may be acknowledged.
    ///
    /// # Errors
    /// [`Error::Failed`]: whether the commit is durable will be known after the next open.
    pub fn commit_durable(&self, lsn: Lsn, durability: Durability) -> Result<Waited> {
        let inner = &*self.inner;
        let begun = Instant::now();
        let before = inner.counters.bytes_written.load(Relaxed);
        let group = match durability {
            Durability::Full if mutant::active(Mutant::EarlyAcknowledgement) => {
                inner.write_up_to(lsn)?;
                0
            }
            Durability::Full => {
                let group = inner.sync_up_to(lsn)?;
                self.background().state_soon();
                group
            }
            Durability::Relaxed(delay) => {
                inner.write_up_to(lsn)?;
                self.background().sync_within(delay);
                0
            }
            Durability::Off => {
                inner.check_failed()?;
                self.background().write_within_a_second();
                0
            }
        };
        let waited = begun.elapsed();
        inner.counters.commit_ns.add(waited.as_nanos() as u64);
        Ok(Waited {
            waited,
            group,
            bytes: inner.counters.bytes_written.load(Relaxed) - before,
        })
    }

    /// Makes everything appended so far durable; the LSN behind it.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn sync(&self) -> Result<Lsn> {
        let end = self.end();
        self.inner.sync_up_to(end)?;
        Ok(end)
    }

    /// Makes everything below `lsn` durable, if it is not.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn sync_up_to(&self, lsn: Lsn) -> Result<()> {
        self.inner.sync_up_to(lsn).map(|_| ())
    }

    /// The LSN behind everything appended.
    pub fn end(&self) -> Lsn {
        self.inner.lock_buffer().end
    }

    /// Everything below survives a power cut.
    pub fn durable(&self) -> Lsn {
        self.inner.group.durable()
    }

    /// Gives up all records that end at or below `lsn`: their regions are used again. The caller has made sure, durably,
    /// that no open will ask for them (a superblock names a later start).
    ///
    /// # Errors
    /// [`Error::Failed`]; the file cannot be cut.
    ///
    /// # Panics
    /// `lsn` is not durable.
    pub fn truncate_before(&self, lsn: Lsn) -> Result<()> {
        let inner = &*self.inner;
        inner.check_failed()?;
        assert!(
            lsn <= inner.group.durable(),
            "LG-1: only durable records are given up, {lsn} is not"
        );
        let mut buffer = inner.lock_buffer();
        let lsn = match mutant::active(Mutant::LogCutTooSoon) {
            true => buffer.end,
            false => lsn,
        };
        let released = buffer.space.release_before(lsn);
        inner.counters.recycled_regions.fetch_add(released, Relaxed);
        if buffer.growing {
            return Ok(());
        }
        if let Some(slots) = buffer.space.shrink(inner.options.keep_free_regions) {
            let bytes = buffer.space.file_bytes(slots);
            inner.file.set_len(bytes)?;
        }
        Ok(())
    }

    /// Why the log refuses to write, if it does.
    pub fn failed(&self) -> Option<Error> {
        self.inner.check_failed().err()
    }

    /// What was done since the log was opened.
    pub fn stats(&self) -> LogStats {
        self.inner.stats()
    }

    /// Does at once what the thread in the background would do in time. For logs without one.
    pub fn run_background_work(&self) {
        self.background().run_all();
    }

    /// Makes everything durable and refuses further appends; the end of the log, for the superblock.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn close(&self) -> Result<Lsn> {
        self.inner.lock_buffer().closed = true;
        self.sync()
    }
}

impl Drop for Log {
    /// Writes and syncs what was acknowledged early; a failure stays unsaid, as after a power cut.
    fn drop(&mut self) {
        drop(self.background.take());
        let _ = self.sync();
    }
}

/// What the writing thread owns.
#[derive(Debug)]
struct Writer {
    /// Checksum of the newest frame.
    previous: u64,
    /// No frame was written since the open.
    fresh: bool,
    batch: Vec<PlacedFrame>,
    /// For region headers.
    sector: AlignedBuffer,
}

/// Lets another thread add regions where the one that began to unwinds; what it wrote lies behind the log.
struct GrowthUnwinds<'a>(&'a Inner);

impl Drop for GrowthUnwinds<'_> {
    fn drop(&mut self) {
        self.0.lock_buffer().growing = false;
        self.0.grown.notify_all();
    }
}

/// The log without its thread.
#[derive(Debug)]
pub(crate) struct Inner {
    file: Arc<dyn File>,
    header: FileHeader,
    short_identity: u64,
    options: LogOptions,
    buffer: Mutex<Buffer>,
    /// A thread has tried to add regions.
    grown: Condvar,
    writer: Mutex<Writer>,
    group: Group,
    /// The durable LSN that the newest frame tells.
    stated: AtomicU64,
    /// Nanoseconds that a sync takes, the newest weighing most.
    sync_ns: AtomicU64,
    counters: Counters,
}

impl Inner {
    fn lock_buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self, reason: Arc<str>) -> Error {
        Error::Failed {
            path: self.file.path().to_path_buf(),
            durable: self.group.durable(),
            reason,
        }
    }

    fn check_failed(&self) -> Result<()> {
        match self.group.failed() {
            None => Ok(()),
            Some(reason) => Err(self.failure(reason)),
        }
    }

    fn sync_up_to(&self, lsn: Lsn) -> Result<u32> {
        let waited = self.group.wait_durable(self, lsn);
        waited.map_err(|reason| self.failure(reason))
    }

    fn write_up_to(&self, lsn: Lsn) -> Result<()> {
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
    pub(crate) fn unstated(&self) -> bool {
        self.stated.load(Relaxed) < self.group.durable().0
    }

    pub(crate) fn frames_written(&self) -> u64 {
        self.counters.frames.load(Relaxed)
    }

    /// Writes an empty frame that tells the durable LSN: damage below it is then no torn tail any more.
    pub(crate) fn state_durable(&self) {
        self.group.state_durable(self);
    }

    /// The buffer, with room for `bytes` more of the stream.
    fn room_for(&self, bytes: u64, reserve: Reserve) -> Result<MutexGuard<'_, Buffer>> {
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

    fn refused(&self, error: graven_io::Error, wanted: u64) -> Error {
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
    fn grow<'a>(
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

    fn write_frames(&self, durable: Lsn, even_empty: bool) -> graven_io::Result<Lsn> {
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

    fn stats(&self) -> LogStats {
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

impl Device for Inner {
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

    fn patience(&self) -> Option<Duration> {
        let sync = Duration::from_nanos(self.sync_ns.load(Relaxed));
        (sync >= WORTH_WAITING).then_some((sync / 2).min(PATIENCE_MAX))
    }
}

fn sector_bytes(file: &dyn File, options: &LogOptions) -> Result<u32> {
    let wrong = |option, value, reason| {
        Err(Error::Option {
            option,
            value,
            reason,
        })
    };
    if options.initial_regions < 2 {
        let value = u64::from(options.initial_regions);
        return wrong(
            "initial_regions",
            value,
            "one is filled, one is kept back: 2 at least",
        );
    }
    let region_bytes = options.region_bytes;
    if region_bytes < REGION_BYTES_MIN || !region_bytes.is_multiple_of(FILE_HEADER_BYTES) {
        return wrong(
            "region_bytes",
            region_bytes,
            "a multiple of 4 KiB is wanted, 256 KiB at least",
        );
    }
    let least = (file.alignment() as u32).max(512);
    let sector = match options.sector_bytes {
        0 => least,
        bytes => bytes,
    };
    if sector < least || !sector.is_power_of_two() || u64::from(sector) > FILE_HEADER_BYTES {
        let value = u64::from(sector);
        return wrong(
            "sector_bytes",
            value,
            "a power of two up to 4096 is wanted, not below what the file asks for",
        );
    }
    Ok(sector)
}

/// Reserves `from..to` and writes zeros, so that later writes into it change no metadata.
fn fill_with_zeros(file: &dyn File, from: u64, to: u64) -> graven_io::Result<()> {
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
const _: () = assert!(Kind::NEWEST == Kind::Checkpoint as u8);
