//! Page cache: frames, size classes, translation, latches, faults, eviction, budget.

mod arena;
mod batch;
pub mod budget;
mod cache;
mod compact;
mod config;
mod core;
mod error;
mod evictor;
mod fault;
mod frames;
mod hits;
mod lanes;
mod memory;
pub mod page;
mod page_kind;
mod page_ref;
mod pin;
mod resize;
mod slots;
pub mod stats;
mod table;
mod view;
mod wait;
mod word;

pub use budget::{Budget, BudgetError, Holder, Reclaim, Reservation};
pub use cache::PageCache;
pub use config::{Config, DEFAULT_POLICY, Evictor, HugePages, MIN_BUDGET_BYTES};
pub use error::{Error, Result};
pub use page::Damage;
pub use page_kind::PageKind;
pub use page_ref::{FileId, PageRef, SizeClass, UNIT_BYTES};
pub use pin::PagePin;
pub use stats::{CacheStats, KindStats, PerKind, Scope};
pub use view::View;
