//! The write-ahead log: redo records in one file of preallocated, recycled regions, made durable in
//! groups.
//!
//! # How it works
//! [`Log::append`] copies records into a buffer in memory and gives them a position in the *record
//! stream*, the [`Lsn`]. [`Log::wait_committed`] waits until the stream up to an LSN is durable:
//! one thread writes what all have appended, one syncs what is written, for all waiting threads
//! ([`group`]). What comes while a sync runs is written at the same time and served by the next
//! sync. A lone committer writes and syncs at once. Where several come again and again and syncs
//! are slow, a sync waits for them, for at most half the time of a sync.
//!
//! On its way to the file the stream is cut into frames (`frame.rs`), each written once, at a place
//! of its own that begins on a sector boundary, inside regions (`space.rs`) that were written with
//! zeros beforehand and are used again when the log is cut ([`Log::truncate_before`]). So the sync
//! after a commit has no metadata to journal. [`Log::open`] walks the frames from a given LSN to
//! the torn tail (`scan.rs`) and hands out the records.
//!
//! # Invariants
//! * LG-1: a sector that holds bytes acknowledged as durable is not written again until
//!   `truncate_before` has given up its region. A torn or failed write can therefore only hurt
//!   frames that were not acknowledged.
//! * LG-2: the durable LSN grows only by a successful sync that began after every byte below it was
//!   written.
//! * LG-3: after a failed write or sync nothing is ever written, synced or acknowledged again by
//!   this log.
//! * LG-4: a frame is part of the log only if it is intact, belongs to this store and generation,
//!   continues the stream exactly where the frame before it ended, and names that frame's checksum.
//!   What was dropped as a torn tail cannot come back behind newer frames.
//! * LG-5: no frame is dropped that some intact later frame calls durable: that is corruption,
//!   named by its offset.
//! * LG-6: a record is appended only if there is room for it in regions that exist; one region is
//!   kept back for records that end a checkpoint or a transaction.
//! * LG-7: a thread that panics while it writes or syncs fails the log (LG-3); no thread waits for
//!   it.
//! * LG-8: where a role of the group commit is free and a sleeping thread needs it, a runnable
//!   thread will take the role: one that needs it too, or the syncer that waits for its group.
//!
//! # Concurrency
//! Every method takes `&self` from any thread. Lock order: buffer, then group; neither is held
//! during a system call. One thread in the background writes and syncs what was acknowledged early,
//! and prepares regions ([`LogOptions::background`]).
//!
//! # Costs
//! A commit on its own: one copy, one checksum, one direct write of whole sectors, one `fdatasync`;
//! no allocation.
//!
//! # On disk
//! Byte tables: `docs/internals/log.md`.

mod background;
mod buffer;
mod error;
mod frame;
mod group;
#[cfg(test)]
mod group_model;
#[cfg(test)]
mod group_tests;
mod header;
mod histogram;
mod layout;
mod log;
pub mod mutant;
mod options;
mod record;
mod recovery;
mod scan;
mod shared_log;
mod space;
mod stats;
mod sync;

pub use error::{Error, Result};
pub use header::{Identity, is_log};
pub use histogram::{Histogram, HistogramView};
pub use log::{Durability, Log, Waited};
pub use options::LogOptions;
pub use record::{Kind, Lsn, RECORD_BYTES_MAX, RECORD_HEADER_BYTES, Record, RecordRef};
pub use recovery::{Recovery, Start, Summary};
pub use stats::LogStats;
