//! Immutable files in object storage: published in chunks, read by ranges; and single objects.
//!
//! # How it works
//! [`Location`] is a URL: a bucket and a prefix in S3, Google Cloud Storage or Azure, a folder
//! (`file://`), a folder of a web server (`http://`, to read). Below it lie
//!
//! | object | holds |
//! | --- | --- |
//! | `chunks/HASH` | a piece of the file, named by the BLAKE3 hash of its bytes |
//! | `manifests/HASH` | a snapshot: its chunks in order, and the bytes that no chunk holds |
//! | `current.json` | the pointer: the hash of the newest manifest |
//!
//! [`publish`] sends the chunks that the store has not, then the manifest, then the pointer.
//! [`open`] reads pointer and manifest and gives an [`ObjectFile`]: a [`graven_io::File`] that
//! turns reads into requests for ranges, of which many are under way at once. [`gc`] deletes what
//! neither the pointer nor a reader that is behind it may need.
//!
//! Beside databases there are single objects, which statements name as files: [`Object`] reads one
//! by ranges, [`Upload`] writes one, [`ObjectUrl`] names them, and patterns of them.
//!
//! # Invariants
//! * OB-1: a chunk and a manifest are never changed; their names are the hashes of their bytes.
//! * OB-2: the pointer is written after everything it leads to, and by one request; before that
//!   request the old snapshot is whole, after it the new one is.
//! * OB-3: where the store can, the pointer is replaced only while it is what it was when the
//!   publish began: of two publishes at once one fails.
//! * OB-4: a file that was opened never changes: it keeps its manifest, whatever is published.
//!
//! # Costs
//! Opening is two requests. A read costs one request a range; ranges of one batch that lie close to
//! each other share one ([`ranges`]). With a disk tier ([`DiskTier`]) a range is asked for once.
//!
//! # Concurrency
//! Requests run on threads of their own (`runtime.rs`), so any thread may call, also one of another
//! runtime.
#![warn(missing_docs)]

mod attempts;
mod clients;
mod copies;
mod disk_tier;
mod error;
mod fetch;
mod gc;
mod hints;
mod location;
mod manifest;
mod object;
mod object_file;
mod object_url;
mod patterns;
mod publish;
mod range_queue;
mod ranges;
mod runtime;
mod traffic;
mod upload;
mod windows;

pub use copies::DISK_BUDGET;
pub use disk_tier::{DiskTier, TierUse};
pub use error::{Error, Result};
pub use gc::{Collected, GRACE, gc};
pub use location::{Location, is_url};
pub use manifest::{CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, Manifest, Pointer};
pub use object::{Asking, Object};
pub use object_file::{ObjectFile, newest, open};
pub use object_url::{Allowed, ObjectUrl, Store};
pub use patterns::Fits;
pub use publish::{CHUNK_BYTES, Published, Snapshot, UPLOADS, Verify, publish};
pub use runtime::Stop;
pub use traffic::{Traffic, TrafficCounts};
pub use upload::{PART_BYTES_MIN, Upload};
