//! A disk in memory with two files, a data file and a log, that one power cut hits together.
//!
//! # How it works
//! Both are faulty files of `graven-io`. In front of every operation that changes one of them the disk counts it, by
//! its *site* (which file, which part of it, in which phase of the run), and calls the observer, which may
//! compose [`Images`]: what the two files may hold after a power cut at this moment.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graven_io::{
    Crash, FaultControl, FaultPlan, FaultyFile, File, IoMode, MemoryFile, ReadQueue, Survival,
};
use graven_storage::LogPlace;

use crate::mutants::Sabotage;

/// Regions of logs in simulations: the smallest there are.
pub const REGION_BYTES: u64 = 256 << 10;
const LOG_HEADER_BYTES: u64 = 4096;
const SUPERBLOCK_OFFSETS: [u64; 2] = [0, 64 << 10];
const SUPERBLOCK_BYTES: u64 = 4096;

/// Which file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    Data,
    Log,
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
    sabotage: Option<Sabotage>,
}

/// A disk with a data file and a log.
#[derive(Clone)]
pub struct Disk {
    data: FaultyFile,
    log: FaultyFile,
    shared: Arc<Shared>,
}

thread_local! {
    /// The observer is at work: what it does to files of its own is not observed.
    static OBSERVING: Cell<bool> = const { Cell::new(false) };
}

impl Disk {
    /// A disk that holds `images`, with the faults of `plan` on both files.
    #[must_use]
    pub fn new(images: &Images, plan: &FaultPlan, sabotage: Option<Sabotage>) -> Disk {
        let file = |name: &str, bytes: &[u8]| {
            let inner = Arc::new(MemoryFile::with_bytes(name, bytes));
            FaultyFile::new(inner, plan.clone())
        };
        Disk {
            data: file("torture.graven", &images.data),
            log: file("torture.graven-wal", &images.log),
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    phase: "work",
                    ..State::default()
                }),
                observer: Mutex::new(None),
                sabotage,
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

    fn file(&self, which: Which) -> Arc<dyn File> {
        let file = match which {
            Which::Data => self.data.clone(),
            Which::Log => self.log.clone(),
        };
        Arc::new(SimulatedFile {
            file,
            which,
            shared: Arc::clone(&self.shared),
        })
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
        Images {
            data: image(&self.data),
            log: image(&self.log),
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
pub const SURVIVALS: [Survival; 4] = [
    Survival::Any,
    Survival::Prefix,
    Survival::None,
    Survival::All,
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

    fn write_site(&self, buf: &[u8], offset: u64) -> &'static str {
        match self.which {
            Which::Data => {
                let in_superblock = |at: &u64| (*at..at + SUPERBLOCK_BYTES).contains(&offset);
                match SUPERBLOCK_OFFSETS.iter().any(in_superblock) {
                    true => "superblock",
                    false => "segment write",
                }
            }
            Which::Log if offset == 0 => "log header",
            Which::Log if buf.iter().take(8).all(|&byte| byte == 0) => "log growth",
            Which::Log if (offset - LOG_HEADER_BYTES).is_multiple_of(REGION_BYTES) => "log recycle",
            Which::Log => "log append",
        }
    }

    fn sabotaged(&self, sabotage: Sabotage) -> bool {
        !OBSERVING.get() && self.shared.sabotage == Some(sabotage)
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
        };
        self.before(what, length, &[]);
        self.file.set_len(length)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> graven_io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> graven_io::Result<()> {
        let site = self.write_site(buf, offset);
        self.before(site, offset, buf);
        if site == "superblock" && self.sabotaged(Sabotage::SuperblocksAtOnce) {
            // Both copies overwritten by one write that nobody waited for in between.
            for at in SUPERBLOCK_OFFSETS {
                self.file.write_all_at(&vec![0; buf.len()], at)?;
            }
        }
        if site == "log recycle" && self.sabotaged(Sabotage::LostRegionHeader) {
            return Ok(());
        }
        self.file.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> graven_io::Result<()> {
        let (what, skipped) = match self.which {
            Which::Data => ("data sync", Sabotage::SkippedDataSync),
            Which::Log => ("log sync", Sabotage::SkippedLogSync),
        };
        self.before(what, 0, &[]);
        match self.sabotaged(skipped) {
            true => Ok(()),
            false => self.file.sync_data(),
        }
    }

    fn allocate(&self, offset: u64, length: u64) -> graven_io::Result<()> {
        let what = match self.which {
            Which::Data => "data growth",
            Which::Log => "log growth",
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

/// The log of a simulated database: there as soon as it has bytes.
#[derive(Debug)]
struct SimulatedLog(Disk);

impl LogPlace for SimulatedLog {
    fn path(&self) -> PathBuf {
        self.0.log.path().to_path_buf()
    }

    fn existing(&self) -> graven_storage::Result<Option<Arc<dyn File>>> {
        let there = !self.0.log.is_empty()?;
        Ok(there.then(|| self.0.file(Which::Log)))
    }

    fn create(&self) -> graven_storage::Result<Arc<dyn File>> {
        Ok(self.0.file(Which::Log))
    }
}
