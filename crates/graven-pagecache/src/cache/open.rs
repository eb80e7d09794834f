//! Opens a cache: its memory, its tables, its policy.

use super::PageCache;
use crate::arena::Arena;
use crate::cache::Totals;
use crate::cache::build::build_policy;
use crate::cache::evictor::EvictorThread;
use crate::cache::frame_pool::FramePool;
use crate::cache::frames::{LastHitTimes, SlotFrames};
use crate::cache::hits::PUBLISHED_MAX;
use crate::cache::running::Owners;
use crate::config::{BUDGET_BYTES_MIN, Config, Evictor, HugePages};
use crate::error::{Error, Result};
use crate::memory::Backing;
use crate::pools::PoolState;
use crate::slots::Slots;
use crate::stats::Registry;
use crate::table::Tables;
use crossbeam_queue::ArrayQueue;
use parking_lot::{Mutex, RwLock};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};

/// Budgets from here on use huge pages for frames,
const HUGE_FRAMES_MIN: u64 = 2 << 20;
/// and from here on for page tables.
const HUGE_TABLES_MIN: u64 = 64 << 20;
/// Page tables may use huge pages up to this share of the budget.
const HUGE_TABLE_SHARE: u64 = 32;

impl PageCache {
    /// Opens a page cache.
    ///
    /// # Errors
    /// [`Error::TooSmall`] below 1 MiB or below the frames asked for, [`Error::Policy`] for an
    /// unknown policy, [`Error::Map`] when the system refuses memory.
    pub fn new(config: Config) -> Result<Arc<PageCache>> {
        let budget = config.budget;
        let bytes = budget.limit();
        if bytes < BUDGET_BYTES_MIN {
            return Err(Error::TooSmall {
                bytes,
                minimum: BUDGET_BYTES_MIN,
            });
        }
        let (arena_bytes, formed_max) = match config.evictor {
            Evictor::Synchronous { class, frames } => {
                (u64::from(frames) * class.bytes() as u64, frames)
            }
            Evictor::Background | Evictor::Cooperative => (bytes, u32::MAX),
        };
        if arena_bytes > bytes {
            return Err(Error::TooSmall {
                bytes,
                minimum: arena_bytes,
            });
        }
        let huge = |min: u64| bytes >= min && config.huge_pages == HugePages::Auto;
        let backing = if huge(HUGE_FRAMES_MIN) {
            Backing::Huge
        } else {
            Backing::Small
        };
        // Room for one run of the largest class and for overdrafts beyond the limit.
        let mut arena = Arena::new(
            arena_bytes + crate::cache::resize::overdraft_bytes(bytes),
            backing,
        )?;
        arena.set_warm_max(crate::cache::resize::warm_max(bytes));
        let is_synchronous = matches!(config.evictor, Evictor::Synchronous { .. });
        if is_synchronous && config.pools.is_some() {
            return Err(Error::Pools(
                "static pools go with a background or cooperative evictor".to_owned(),
            ));
        }
        let capacity = match config.evictor {
            Evictor::Synchronous { frames, .. } => u64::from(frames),
            Evictor::Background | Evictor::Cooperative => arena_bytes,
        };
        let (policy, hit_mode) =
            build_policy(&config.policy, capacity, config.seed, is_synchronous)?;
        let (slots, stamps) = (Arc::new(Slots::new()), Arc::new(LastHitTimes::new()));
        let owners = Arc::new(Owners::new());
        owners.set_scoring(hit_mode.is_owned());
        let frames = SlotFrames {
            slots: Arc::clone(&slots),
            stamps: Arc::clone(&stamps),
            owners: Arc::clone(&owners),
            pools: config.pools.map(|pools| PoolState::new(pools, bytes)),
            pass_over: 0,
            alike: is_synchronous,
            due: Vec::new(),
        };
        let mut bookkeeping = budget.empty_reservation("page cache bookkeeping");
        bookkeeping.force_grow(crate::cache::resize::fixed_bytes(arena_bytes));
        let held = budget.empty_loan("page cache frames");
        let tables = Tables::new(
            budget.empty_reservation("page tables"),
            if huge(HUGE_TABLES_MIN) {
                bytes / HUGE_TABLE_SHARE
            } else {
                0
            },
        )?;
        let cache = Arc::new(PageCache {
            base: arena.base(),
            hit_mode: AtomicU64::new(hit_mode.0),
            hit_threshold: AtomicU64::new(hit_mode.threshold()),
            tables: ManuallyDrop::new(tables),
            counters: Registry::new(),
            slots,
            stamps,
            owners,
            frame_pool: ManuallyDrop::new(Mutex::new(FramePool::new(
                policy,
                frames,
                arena,
                held,
                bookkeeping,
                formed_max,
            ))),
            files: RwLock::default(),
            budget: Arc::clone(&budget),
            evictor_kind: config.evictor,
            reserve: config.reserve.clamped(),
            evictor: OnceLock::new(),
            verify: config.verify,
            frame_wait: config.frame_wait,
            seed: config.seed,
            spec: Mutex::new(config.policy),
            version: AtomicU32::new(1),
            failures: Mutex::default(),
            shortage: Mutex::default(),
            parked: AtomicUsize::new(0),
            ahead_bytes: AtomicU64::new(0),
            ahead_refused: AtomicU32::new(0),
            published: ArrayQueue::new(PUBLISHED_MAX),
            totals: Totals::default(),
            log: RwLock::default(),
            watching: RwLock::default(),
            dirty_bytes: AtomicU64::new(0),
            writing: AtomicUsize::new(0),
        });
        if cache.evictor_kind == Evictor::Background {
            let started = EvictorThread::start(Arc::downgrade(&cache));
            let _ = cache.evictor.set(started);
        }
        let reclaimer: std::sync::Weak<PageCache> = Arc::downgrade(&cache);
        budget.add_reclaimer(reclaimer);
        Ok(cache)
    }
}
