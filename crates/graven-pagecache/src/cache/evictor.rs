//! The background evictor: keeps some frames free so that faults need not evict.
//!
//! # How it works
//! The marks are those of [`crate::Reserve`]. A fault that leaves less free than the low mark calls
//! the evictor, a thread that evicts in small batches under the frame pool lock until the high mark
//! is reached and parks again. It also writes dirty pages whose frames were wanted. It holds no
//! reference to the cache while parked and ends when the cache is dropped.
//!
//! # Concurrency
//! Calling it is one load when it has been called already.

use crate::cache::PageCache;
use crate::cache::frame_pool::{By, FramePool};
use crate::cache::write_back::DUE_BATCH;
use graven_policy::Admission;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};

/// Victims per lock of the frame pool.
const BATCH: usize = 16;
/// Below this many bytes of frames a free reserve would cost more hits than it saves time.
const FRAME_BYTES_MIN: u64 = 8 << 20;

#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum Order {
    #[default]
    Park,
    Evict,
    Stop,
}

/// How the evictor is called. The thread waits by the means of the standard library: a thread that
/// waits in `parking_lot` stands in a list of the process, which a child made by `fork` would
/// inherit without the thread.
#[derive(Default)]
pub(crate) struct Signal {
    called: AtomicBool,
    order: Mutex<Order>,
    changed: Condvar,
}

impl Signal {
    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, order: Order) {
        let mut current = self.order();
        if *current != Order::Stop {
            *current = order;
        }
        self.changed.notify_one();
    }

    fn wait(&self) -> Order {
        let parked = |order: &mut Order| *order == Order::Park;
        let order = self.changed.wait_while(self.order(), parked);
        let mut order = order.unwrap_or_else(PoisonError::into_inner);
        if *order == Order::Stop {
            return Order::Stop;
        }
        *order = Order::Park;
        Order::Evict
    }
}

/// The thread and its signal.
pub(crate) struct EvictorThread {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl EvictorThread {
    /// Starts the thread for the cache that `cache` will lead to.
    pub(crate) fn start(cache: Weak<PageCache>) -> Option<EvictorThread> {
        let signal = Arc::new(Signal::default());
        let its_signal = Arc::clone(&signal);
        let body = move || {
            while its_signal.wait() == Order::Evict {
                let Some(cache) = cache.upgrade() else { return };
                cache.evict_ahead();
                its_signal.called.store(false, Ordering::Release);
            }
        };
        // Without a thread, faults evict for themselves.
        let thread = thread::Builder::new()
            .name("graven-evictor".to_owned())
            .stack_size(128 << 10)
            .spawn(body)
            .ok()?;
        Some(EvictorThread {
            signal,
            thread: Some(thread),
        })
    }

    fn call(&self) {
        if !self.signal.called.swap(true, Ordering::AcqRel) {
            self.signal.send(Order::Evict);
        }
    }
}

impl Drop for EvictorThread {
    fn drop(&mut self) {
        self.signal.send(Order::Stop);
        let Some(thread) = self.thread.take() else {
            return;
        };
        // The evictor may be the last to hold the cache and then drops it itself.
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }
}

fn share_of(bytes: u64, share: f64) -> u64 {
    (bytes as f64 * share) as u64
}

fn frame_bytes(frame_pool: &FramePool) -> u64 {
    frame_pool.arena.committed_bytes()
}

impl PageCache {
    /// Calls the evictor if free frames are below the low mark and no memory is left to take, or if
    /// dirty pages stand in the way of victims. Whether the caller must write those itself, because
    /// there is no evictor.
    pub(crate) fn call_evictor(&self, frame_pool: &FramePool) -> bool {
        if frame_pool.frames.due.len() >= DUE_BATCH {
            if let Some(evictor) = self.evictor() {
                evictor.call();
                return false;
            }
            return true;
        }
        let bytes = frame_bytes(frame_pool);
        if bytes < FRAME_BYTES_MIN || frame_pool.free_bytes() >= share_of(bytes, self.reserve().low)
        {
            return false;
        }
        if self.budget().available() < frame_pool.arena.extent_bytes()
            && let Some(evictor) = self.evictor()
        {
            evictor.call();
        }
        false
    }

    /// Bytes of frames that are kept free.
    pub(crate) fn reserve_bytes(&self, frame_pool: &FramePool) -> u64 {
        let bytes = frame_bytes(frame_pool);
        if bytes < FRAME_BYTES_MIN || self.evictor().is_none() {
            return 0;
        }
        share_of(bytes, self.reserve().high)
    }

    /// Evicts until the high mark is reached or nothing can be evicted.
    fn evict_ahead(&self) {
        loop {
            self.write_due();
            let mut frame_pool = self.frame_pool().lock();
            self.settle(&mut frame_pool, self.frames_kept(), By::Background);
            self.tell_capacity(&mut frame_pool);
            frame_pool.want_to_give();
            for _ in 0..BATCH {
                let bytes = frame_bytes(&frame_pool);
                if bytes < FRAME_BYTES_MIN
                    || frame_pool.free_bytes() >= share_of(bytes, self.reserve().high)
                {
                    frame_pool.want_any();
                    return;
                }
                match self.evict_one(&mut frame_pool, Admission::default(), By::Background) {
                    Some(slot) => frame_pool.push_free(slot),
                    None => {
                        frame_pool.want_any();
                        return;
                    }
                }
            }
            frame_pool.want_any();
        }
    }
}
