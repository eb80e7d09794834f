//! The log as others see it: append, wait for durability, cut, close.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use graven_io::{AlignedBuffer, File};

use crate::background::Background;
use crate::buffer::Buffer;
use crate::group::Group;
use crate::header::FileHeader;
use crate::mutant::{self, Mutant};
use crate::options::{LogOptions, sector_bytes};
use crate::recovery::{Recovery, Start};
use crate::shared_log::{SharedLog, Writer, fill_with_zeros};
use crate::space::{Reserve, Space};
use crate::stats::{Counters, LogStats};
use crate::{Error, Identity, Kind, Lsn, RECORD_BYTES_MAX, RecordRef, Result};

/// When a commit may be acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Durability {
    /// After a sync: nothing acknowledged is lost, whatever happens.
    #[default]
    Full,
    /// After a write to the operating system; synced at most so much later. A killed process loses
    /// nothing, a power cut the commits of that time and of the sync that ends it.
    Relaxed(Duration),
    /// At once. A killed process and a power cut lose at most what was acknowledged in the last
    /// second and during the write that ends it.
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
    inner: Arc<SharedLog>,
    background: Option<Background>,
}

impl Log {
    /// Makes a log in `file`, which is overwritten; when it returns, header and first regions are
    /// durable (the directory entry is the caller's to sync).
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

    /// Opens the log of `identity` for reading from `start` and for appending behind its last
    /// intact frame. The records come from the [`Recovery`], which may be read while the log is
    /// already in use.
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
        let inner = Arc::new(SharedLog {
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

    /// Appends `records` one behind the other and returns the LSN behind the last. The order of
    /// calls is the order in the file. Nothing is durable yet, and mostly not even written.
    ///
    /// # Errors
    /// [`Error::DiskFull`] (nothing was appended), [`Error::Failed`], [`Error::RecordTooLong`],
    /// [`Error::Closed`].
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
    pub fn wait_committed(&self, lsn: Lsn, durability: Durability) -> Result<Waited> {
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
                self.background().write_durable_marker_soon();
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

    /// Gives up all records that end at or below `lsn`: their regions are used again. The caller
    /// has made sure, durably, that no open will ask for them (a superblock names a later start).
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

    /// Makes everything durable and refuses further appends; the end of the log, for the
    /// superblock.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn close(&self) -> Result<Lsn> {
        self.inner.lock_buffer().closed = true;
        let end = self.sync();
        // The file may be removed now, or be another process's.
        self.background().stop();
        end
    }
}

impl Drop for Log {
    /// Writes and syncs what was acknowledged early; a failure stays unsaid, as after a power cut.
    fn drop(&mut self) {
        drop(self.background.take());
        let _ = self.sync();
    }
}

const _: () = assert!(Kind::NEWEST == Kind::Checkpoint as u8);
