//! Page cache: pages of files in memory, within a byte budget, by a replacement policy of one's
//! choice.
//!
//! A library of its own: it knows files ([`graven_io::File`]), sealed pages ([`page`]) and policies
//! ([`graven_policy`]), nothing of graphs. `examples/page_cache.rs` shows a whole program.
//!
//! # How it works
//! A page is named by a file and a [`PageRef`], which knows its size (4 KiB to 128 MiB) and offset.
//! There are three ways to its bytes:
//! * [`PageCache::read`] copies values out of a page without pinning it; a hit writes nothing that
//!   is shared;
//! * [`PageCache::pin`] keeps the page in memory and lends its bytes for as long as the [`PagePin`]
//!   lives;
//! * [`PageCache::prefetch`] and [`PageCache::pin_many`] submit the reads of many pages before
//!   waiting.
//!
//! Pages of files added by [`PageCache::add_writable_file`] may be changed under
//! [`PageCache::pin_exclusive`]; they are written when they are evicted or flushed. [`SpillFile`]
//! gives pages that no file needs to know.
//!
//! Frames, page tables and bookkeeping count against a [`Budget`], as may everything else a program
//! keeps: a reservation from a full budget gets memory that the cache gives up.
//! [`PageCache::resize`] and [`PageCache::set_policy`] work while other threads read.
//! [`PageCache::stats`] counts by [`PageKind`], [`Scope`] counts what one thread does.
//!
//! Inside, by file: `word.rs` (state of a page in one atomic word), `table.rs` (from page to word),
//! `arena.rs` (memory for frames of all sizes), `slots.rs` (frames by number), `temporary.rs`
//! (pages without a file), `cache.rs` (the cache and its hit paths). The parts of the cache are in
//! the folder `cache`: `frames.rs` (frames as policies see them), `frame_pool.rs` (finding a
//! frame), `compact.rs` (making room whole), `exclusive.rs`, `write_back.rs` (changed pages),
//! `fault.rs`, `io_queues.rs`, `batch.rs`, `scan.rs` (reading), `wait.rs`, `hits.rs`, `evictor.rs`,
//! `resize.rs`, and the observers `record.rs`, `access_sampler.rs`, `shadow.rs`, `residents.rs`.
//! Design and invariants: `docs/internals/page-cache.md`.
//!
//! # Invariants
//! Numbered PC-1 and so on, those that unsafe code relies on US-1 and so on, in the files that keep
//! them.
//!
//! # Concurrency
//! Everything may be called from any thread. Hits take no lock. Lock order: an I/O queue, the frame
//! pool, then tables and budget; `shortage` (the queue of threads that wait for a frame) is taken
//! with none of them held.
//!
//! # Examples
//! ```
//! use graven_io::{File, MemoryFile};
//! use graven_pagecache::{Budget, Config, PageCache, PageKind, PageRef, SizeClass, page};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let reference = PageRef::new(SizeClass::MIN, 0);
//! let mut bytes = vec![0; reference.len_bytes()];
//! bytes[page::HEADER_BYTES..][..5].copy_from_slice(b"hello");
//! page::seal(&mut bytes, reference, PageKind::Catalogue, 1, 5);
//! let file = MemoryFile::with_bytes("greeting", &bytes);
//!
//! let cache = PageCache::new(Config::new(Budget::new(1 << 20)))?;
//! let id = cache.add_file(Arc::new(file))?;
//! let pin = cache.pin(id, reference, PageKind::Catalogue)?;
//! assert_eq!(&pin[..], b"hello");
//! let first = cache.read(id, reference, PageKind::Catalogue, |view| view.u8_at(0))?;
//! assert_eq!(first, b'h');
//! assert_eq!(cache.stats().per_kind[PageKind::Catalogue].faults, 1);
//! # Ok(())
//! # }
//! ```

mod arena;
pub mod budget;
mod cache;
mod config;
mod error;
pub mod huge_pages;
mod memory;
pub mod page;
mod page_kind;
mod page_ref;
pub mod pools;
mod slots;
pub mod stats;
mod table;
pub mod temporary;
mod view;
mod word;

pub use budget::{Budget, BudgetError, Holder, Reclaim, Reservation};
pub use cache::PageCache;
pub use cache::exclusive::PageGuard;
pub use cache::pin::PagePin;
pub use cache::running::RunningTransaction;
pub use cache::write_back::WriteBack;
pub use cache::{record, residents, shadow};
pub use config::{BUDGET_BYTES_MIN, Config, DEFAULT_POLICY, Evictor, HugePages, Reserve};
pub use error::{Error, Result};
pub use page::Damage;
pub use page_kind::PageKind;
pub use page_ref::{FileId, PageRef, SizeClass, UNIT_BYTES};
pub use stats::{CacheStats, KindStats, PerKind, Scope};
pub use temporary::{
    PinnedTemporary, SpillFile, TemporaryPage, TemporaryPages, TemporaryPin, TemporaryWriter,
};
pub use view::View;
