//! A disk in memory with a data file and a log, and beside them a spill file and a backup, that one
//! power cut hits together.
//!
//! # How it works
//! All are faulty files of `graven-io`. In front of every operation that changes one of them the
//! disk counts it, by its *site* (which file, which part of it, in which phase of the run), and
//! calls the observer, which may compose [`Images`]: what the files may hold after a power cut at
//! this moment. In front of writes of pages it first calls the *interlude*, which may work on the
//! database meanwhile, as other threads would; what that does to the disk is observed as everything
//! else.
//!
//! A file system removes a name at once: after a power cut the log is there as a whole or not at
//! all, while the sectors of a write that was not synced may be there one by one.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graven_io::{
    Crash, CrashOutcome, FaultControl, FaultPlan, FaultyFile, File, IoMode, MemoryFile, ReadQueue,
};
use graven_pagecache::{PageKind, PageRef, UNIT_BYTES};
use graven_storage::LogPlace;

use crate::fault_injection::FaultInjection;

/// Regions of logs in simulations: the smallest there are.
pub const REGION_BYTES: u64 = 256 << 10;
const LOG_HEADER_BYTES: u64 = 4096;
const SUPERBLOCK_OFFSETS: [u64; 2] = [0, 64 << 10];
const SUPERBLOCK_BYTES: u64 = 4096;

/// Bytes of a page's header that say what it is: its reference and its kind.
const PAGE_REFERENCE: std::ops::Range<usize> = 16..24;
const PAGE_KIND: usize = 28;

/// Which file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    Data,
    Log,
    Spill,
    Backup,
}

/// What a crash left of both files.
#[derive(Clone, Debug)]
pub struct Images {
    /// The data file.
    pub data: Vec<u8>,
    /// The log.
    pub log: Vec<u8>,
}

/// Called in front of an operation.
pub type Observer = Box<dyn FnMut(&str) + Send>;

/// Called in front of writes of pages, with the phase of the run; not while it runs already.
pub type Pause = Box<dyn FnMut(&'static str) + Send>;

#[derive(Default)]
struct State {
    phase: &'static str,
    sites: BTreeMap<String, u64>,
    operations: u64,
    /// A running sum over all operations, equal for equal runs.
    digest: u64,
}

struct Shared {
    state: Mutex<State>,
    observer: Mutex<Option<Observer>>,
    pause: Mutex<Option<Pause>>,
    injection: Option<FaultInjection>,
    /// The log's name was removed; a power cut may bring it back.
    log_removed: AtomicBool,
}

/// A disk with the files of one database.
#[derive(Clone)]
pub struct Disk {
    data: FaultyFile,
    log: FaultyFile,
    spill: FaultyFile,
    backup: FaultyFile,
    shared: Arc<Shared>,
}

thread_local! {
    /// The observer is at work: what it does to files of its own is not observed.
    static OBSERVING: Cell<bool> = const { Cell::new(false) };
}

impl Disk {
    /// A disk that holds `images`, with the faults of `plan` on data file and log.
    #[must_use]
    pub fn new(images: &Images, plan: &FaultPlan, injection: Option<FaultInjection>) -> Disk {
        let file = |name: &str, bytes: &[u8], plan: &FaultPlan| {
            let inner = Arc::new(MemoryFile::with_bytes(name, bytes));
            FaultyFile::new(inner, plan.clone())
        };
        let sound = FaultPlan::default();
        Disk {
            data: file("torture.graven", &images.data, plan),
            log: file("torture.graven-wal", &images.log, plan),
            spill: file("torture.graven-tmp", &[], &sound),
            backup: file("backup.graven", &[], &sound),
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    phase: "work",
                    ..State::default()
                }),
                observer: Mutex::new(None),
                pause: Mutex::new(None),
                injection,
                log_removed: AtomicBool::new(false),
            }),
        }
    }

    /// The data file.
    #[must_use]
    pub fn data(&self) -> Arc<dyn File> {
        self.file(Which::Data)
    }

    /// Where the log is.
    #[must_use]
    pub fn log_place(&self) -> Box<dyn LogPlace> {
        Box::new(SimulatedLog(self.clone()))
    }

    /// The file that temporary pages are written to.
    #[must_use]
    pub fn spill(&self) -> Arc<dyn File> {
        self.file(Which::Spill)
    }

    /// The file that a backup goes to.
    #[must_use]
    pub fn backup(&self) -> Arc<dyn File> {
        self.file(Which::Backup)
    }

    fn file(&self, which: Which) -> Arc<dyn File> {
        let file = match which {
            Which::Data => self.data.clone(),
            Which::Log => self.log.clone(),
            Which::Spill => self.spill.clone(),
            Which::Backup => self.backup.clone(),
        };
        Arc::new(SimulatedFile {
            file,
            which,
            shared: Arc::clone(&self.shared),
        })
    }

    /// Steers the faults of the spill file.
    #[must_use]
    pub fn spill_control(&self) -> FaultControl {
        self.spill.control()
    }

    /// Steers the faults of data file and log.
    #[must_use]
    pub fn controls(&self) -> (FaultControl, FaultControl) {
        (self.data.control(), self.log.control())
    }

    /// Sets what is called in front of every operation that changes a file.
    pub fn observe(&self, observer: Option<Observer>) {
        *lock(&self.shared.observer) = observer;
    }

    /// Sets what happens beside the writing of pages.
    pub fn beside(&self, pause: Option<Pause>) {
        *lock(&self.shared.pause) = pause;
    }

    /// Names the phase of the run, for the sites.
    pub fn phase(&self, phase: &'static str) {
        lock(&self.shared.state).phase = phase;
    }

    /// Operations by site so far.
    #[must_use]
    pub fn sites(&self) -> BTreeMap<String, u64> {
        lock(&self.shared.state).sites.clone()
    }

    /// Equal for equal sequences of operations.
    #[must_use]
    pub fn digest(&self) -> u64 {
        lock(&self.shared.state).digest
    }

    /// What a power cut now may leave.
    ///
    /// # Panics
    /// The memory below fails, which it never does.
    #[must_use]
    pub fn images(&self, crash: Crash) -> Images {
        let image = |file: &FaultyFile| {
            let image = file.control().crash_image(crash);
            image.expect("files in memory can be read")
        };
        let removed = self.shared.log_removed.load(Ordering::Relaxed)
            && match crash.survival {
                CrashOutcome::All => true,
                CrashOutcome::None => false,
                _ => crash.seed.is_multiple_of(2),
            };
        Images {
            data: image(&self.data),
            log: match removed {
                true => Vec::new(),
                false => image(&self.log),
            },
        }
    }

    /// What a power cut now may leave of a backup: a database without a log.
    ///
    /// # Panics
    /// The memory below fails, which it never does.
    #[must_use]
    pub fn backup_image(&self, crash: Crash) -> Images {
        let image = self.backup.control().crash_image(crash);
        Images {
            data: image.expect("files in memory can be read"),
            log: Vec::new(),
        }
    }
}

impl Images {
    /// Empty files.
    #[must_use]
    pub fn empty() -> Images {
        Images {
            data: Vec::new(),
            log: Vec::new(),
        }
    }
}

/// The survivals tried at a crash point, one after the other.
pub const SURVIVALS: [CrashOutcome; 4] = [
    CrashOutcome::Any,
    CrashOutcome::Prefix,
    CrashOutcome::None,
    CrashOutcome::All,
];

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct SimulatedFile {
    file: FaultyFile,
    which: Which,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for SimulatedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SimulatedFile({})", self.file.path().display())
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Disk")
    }
}

impl SimulatedFile {
    fn before(&self, what: &'static str, offset: u64, bytes: &[u8]) {
        if OBSERVING.get() {
            return;
        }
        let site = {
            let mut state = lock(&self.shared.state);
            let site = format!("{}: {what}", state.phase);
            state.operations += 1;
            *state.sites.entry(site.clone()).or_default() += 1;
            for value in [offset, bytes.len() as u64, what.len() as u64] {
                state.digest = state.digest.rotate_left(5) ^ value;
                state.digest = state.digest.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
            site
        };
        let mut observer = lock(&self.shared.observer);
        if let Some(observer) = observer.as_mut() {
            OBSERVING.set(true);
            observer(&site);
            OBSERVING.set(false);
        }
    }

    /// Lets others work while a page is written.
    fn meanwhile(&self) {
        if OBSERVING.get() {
            return;
        }
        let phase = lock(&self.shared.state).phase;
        // Taken out, so that what it writes itself does not begin another.
        let taken = lock(&self.shared.pause).take();
        if let Some(mut pause) = taken {
            pause(phase);
            lock(&self.shared.pause).get_or_insert(pause);
        }
    }

    fn write_site(&self, buf: &[u8], offset: u64) -> &'static str {
        let in_superblock = |at: &u64| (*at..at + SUPERBLOCK_BYTES).contains(&offset);
        let superblock = SUPERBLOCK_OFFSETS.iter().any(in_superblock);
        match self.which {
            Which::Spill => "spill write",
            Which::Backup if superblock => "backup superblock",
            Which::Backup => "backup write",
            Which::Data if superblock => "superblock",
            Which::Data if holds(buf, offset, PageKind::IndexInner) => "index split",
            Which::Data => "segment write",
            Which::Log if offset == 0 => "log header",
            Which::Log if buf.iter().take(8).all(|&byte| byte == 0) => "log growth",
            Which::Log if (offset - LOG_HEADER_BYTES).is_multiple_of(REGION_BYTES) => "log recycle",
            Which::Log => "log append",
        }
    }

    fn is_injected(&self, injection: FaultInjection) -> bool {
        !OBSERVING.get() && self.shared.injection == Some(injection)
    }
}

impl File for SimulatedFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> graven_io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, length: u64) -> graven_io::Result<()> {
        let what = match self.which {
            Which::Data => "data length",
            Which::Log => "log length",
            Which::Spill => "spill length",
            Which::Backup => "backup length",
        };
        self.before(what, length, &[]);
        self.file.set_len(length)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> graven_io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> graven_io::Result<()> {
        let site = self.write_site(buf, offset);
        if self.which == Which::Data && site != "superblock" {
            self.meanwhile();
        }
        self.before(site, offset, buf);
        if site == "superblock" && self.is_injected(FaultInjection::SuperblocksAtOnce) {
            // Both copies are overwritten at once, without a sync between them.
            for at in SUPERBLOCK_OFFSETS {
                self.file.write_all_at(&vec![0; buf.len()], at)?;
            }
        }
        if site == "log recycle" && self.is_injected(FaultInjection::LostRegionHeader) {
            return Ok(());
        }
        self.file.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> graven_io::Result<()> {
        let (what, skipped) = match self.which {
            Which::Data => ("data sync", Some(FaultInjection::SkippedDataSync)),
            Which::Log => ("log sync", Some(FaultInjection::SkippedLogSync)),
            Which::Spill => ("spill sync", None),
            Which::Backup => ("backup sync", Some(FaultInjection::SkippedBackupSync)),
        };
        self.before(what, 0, &[]);
        match skipped.is_some_and(|skipped| self.is_injected(skipped)) {
            true => Ok(()),
            false => self.file.sync_data(),
        }
    }

    fn allocate(&self, offset: u64, length: u64) -> graven_io::Result<()> {
        let what = match self.which {
            Which::Data => "data growth",
            Which::Log => "log growth",
            Which::Spill => "spill growth",
            Which::Backup => "backup growth",
        };
        self.before(what, offset, &[]);
        self.file.allocate(offset, length)
    }

    fn mode(&self) -> IoMode {
        self.file.mode()
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }

    fn read_queue(&self, depth: usize) -> graven_io::Result<Box<dyn ReadQueue>> {
        self.file.read_queue(depth)
    }
}

/// Whether one of the pages in `buf`, which goes to `offset`, is of this kind. An index has inner
/// pages from its first split on.
fn holds(buf: &[u8], offset: u64, kind: PageKind) -> bool {
    (offset..)
        .step_by(UNIT_BYTES)
        .zip(buf.chunks_exact(UNIT_BYTES))
        .any(|(at, unit)| {
            let reference = <[u8; 8]>::try_from(&unit[PAGE_REFERENCE]).map(u64::from_le_bytes);
            let page = reference.ok().and_then(PageRef::from_raw);
            page.is_some_and(|page| page.offset_bytes() == at) && unit[PAGE_KIND] == kind as u8
        })
}

/// The log of a simulated database: there as soon as it has bytes.
#[derive(Debug)]
struct SimulatedLog(Disk);

impl LogPlace for SimulatedLog {
    fn path(&self) -> PathBuf {
        self.0.log.path().to_path_buf()
    }

    fn existing(&self) -> graven_storage::Result<Option<Arc<dyn File>>> {
        let removed = self.0.shared.log_removed.load(Ordering::Relaxed);
        let there = !removed && !self.0.log.is_empty()?;
        Ok(there.then(|| self.0.file(Which::Log)))
    }

    fn create(&self) -> graven_storage::Result<Arc<dyn File>> {
        let file = self.0.file(Which::Log);
        if self.0.shared.log_removed.load(Ordering::Relaxed) {
            // Another file of that name, made durable together with its folder.
            self.0.log.set_len(0)?;
            self.0.log.sync_data()?;
            self.0.shared.log_removed.store(false, Ordering::Relaxed);
        }
        Ok(file)
    }

    fn remove(&self) {
        let removed = SimulatedFile {
            file: self.0.log.clone(),
            which: Which::Log,
            shared: Arc::clone(&self.0.shared),
        };
        removed.before("log removal", 0, &[]);
        self.0.shared.log_removed.store(true, Ordering::Relaxed);
    }
}
