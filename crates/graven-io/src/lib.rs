//! Files behind one trait: direct, buffered, io_uring, memory, faulty.
//!
//! # How it works
//! [`File`] is one open file: positioned reads and writes, sync, length. [`open`] gives an
//! operating system file, with `O_DIRECT` where the file system allows it and buffered where not
//! ([`File::mode`] says which). [`MemoryFile`] keeps its bytes in memory, [`FaultyFile`] wraps any
//! file and injects seeded faults and crashes. [`File::read_queue`] gives a [`ReadQueue`]: many
//! reads in flight at once, by io_uring, by a pool of `pread` threads, or done at once for files in
//! memory.
//!
//! # Invariants
//! * IO-1: a read that meets the end of the file is never taken for a whole one: `read_exact_at` is
//!   an error naming offset, wanted and got; a queue's completion tells the bytes read.
//! * IO-2: no queue writes to a destination after its completion was reaped, nor after the queue is
//!   gone: dropping a queue waits for every read in flight.
//! * IO-3: a queue may be used by any thread, one at a time; submitting never waits for a read.
//! * IO-4: what `sync_data` acknowledged survives a crash; nothing else is promised to.
//!
//! # Costs
//! A batch of any size up to the queue's depth is one system call to submit; completions that have
//! arrived are reaped without one. No allocation per read.
#![cfg(target_os = "linux")]

pub mod conformance;

mod access;
mod aligned_buffer;
mod capabilities;
mod device_counters;
mod directory;
mod error;
mod faulty_file;
mod file;
mod file_lock;
mod fork;
mod free_range;
mod immediate_queue;
mod memory_file;
mod open;
mod options;
mod os_file;
mod pread_pool;
mod read_queue;
mod uring;

pub use access::{Access, OWNER_ONLY};
pub use aligned_buffer::AlignedBuffer;
pub use capabilities::{Capabilities, probe};
pub use device_counters::{DeviceCounters, device_counters};
pub use directory::{durable_rename, durable_rename_new, sync_directory};
pub use error::{Error, Operation, Result};
pub use faulty_file::{
    Crash, CrashOutcome, Fault, FaultControl, FaultCounts, FaultPlan, FaultyFile,
};
pub use file::{File, IoMode};
pub use file_lock::{FileLock, Use};
pub use fork::{ForkSafe, OwnerProcess, ProcessLocal};
pub use free_range::free_range;
pub use memory_file::MemoryFile;
pub use open::open;
pub use options::{OpenOptions, QueueChoice};
pub use read_queue::{Completion, PARTS_MAX, QueueKind, ReadPart, ReadQueue, ReadRequest, Wait};
