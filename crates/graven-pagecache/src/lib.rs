//! Page cache: frames, size classes, translation, latches, faults, eviction, budget.

pub mod budget;
pub mod page;
mod page_kind;
mod page_ref;

pub use budget::{Budget, BudgetError, Holder, Reclaim, Reservation};
pub use page::Damage;
pub use page_kind::PageKind;
pub use page_ref::{FileId, PageRef, SizeClass, UNIT_BYTES};
