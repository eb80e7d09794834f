//! Page cache: frames, size classes, translation, latches, faults, eviction, budget.

pub mod budget;
mod cache;
mod config;
mod error;
pub mod page;
mod page_kind;
mod page_ref;
pub mod stats;
mod view;

pub use budget::{Budget, BudgetError, Holder, Reclaim, Reservation};
pub use cache::{PageCache, PagePin};
pub use config::{Config, DEFAULT_POLICY, Evictor, HugePages, MIN_BUDGET_BYTES};
pub use error::{Error, Result};
pub use page::Damage;
pub use page_kind::PageKind;
pub use page_ref::{FileId, PageRef, SizeClass, UNIT_BYTES};
pub use stats::{CacheStats, KindStats, PerKind, Scope};
pub use view::View;
