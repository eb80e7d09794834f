//! What the disk asks for durable writes: threads that overwrite a preallocated file and share
//! syncs.
//!
//! # How it works
//! Every thread writes its bytes at a place of its own, then waits for a sync that began after
//! that. If none runs, it syncs for all that have written. That is group commit without log,
//! checksums and transactions: nothing on this disk can acknowledge durable writes of these bytes
//! much faster with one sync at a time.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use graven_io::{AlignedBuffer, File, OpenOptions};

use super::Raw;
use crate::LabError;

const FILE_BYTES: u64 = 64 << 20;
const CHUNK_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
struct State {
    written: u64,
    durable: u64,
    syncing: bool,
    failed: Option<String>,
}

/// The file that is written.
#[derive(Debug)]
pub struct Floor {
    file: Arc<dyn File>,
    bytes: usize,
    next: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

impl Floor {
    /// Makes the file; each write will have `bytes` bytes, rounded up to what the file asks for.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn create(directory: &Path, bytes: u64) -> Result<Floor, LabError> {
        let options = OpenOptions {
            create: true,
            ..OpenOptions::default()
        };
        let file = graven_io::open(directory.join("floor"), &options)?;
        file.allocate(0, FILE_BYTES)?;
        let zeros = AlignedBuffer::zeroed(CHUNK_BYTES);
        for at in (0..FILE_BYTES).step_by(CHUNK_BYTES) {
            file.write_all_at(&zeros, at)?;
        }
        file.sync_data()?;
        let unit = file.alignment().max(512);
        Ok(Floor {
            bytes: (bytes as usize)
                .next_multiple_of(unit)
                .min(FILE_BYTES as usize / 64),
            file,
            next: AtomicU64::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Lets `clients` threads write for the given time.
    pub(super) fn run(&self, clients: usize, slice: Duration) -> Result<Raw, LabError> {
        let raw = Raw::default();
        let begun = Instant::now();
        thread::scope(|scope| {
            for _ in 0..clients {
                scope.spawn(|| {
                    let buffer = AlignedBuffer::zeroed(self.bytes);
                    while begun.elapsed() < slice && self.write(&buffer) {
                        raw.writes.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.failed {
            Some(reason) => Err(LabError::Setting(reason.clone())),
            None => Ok(Raw {
                seconds: begun.elapsed().as_secs_f64(),
                ..raw
            }),
        }
    }

    /// One durable write; whether it went well.
    fn write(&self, buffer: &[u8]) -> bool {
        let slots = FILE_BYTES / self.bytes as u64;
        let at = self.next.fetch_add(1, Relaxed) % slots * self.bytes as u64;
        let written = self.file.write_all_at(buffer, at);
        let lock = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock();
        if let Err(error) = written {
            state.failed = Some(error.to_string());
        }
        state.written += 1;
        let mine = state.written;
        while state.durable < mine && state.failed.is_none() {
            if state.syncing {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.syncing = true;
            let target = state.written;
            drop(state);
            let synced = self.file.sync_data();
            state = lock();
            state.syncing = false;
            match synced {
                Ok(()) => state.durable = state.durable.max(target),
                Err(error) => state.failed = Some(error.to_string()),
            }
            self.changed.notify_all();
        }
        state.failed.is_none()
    }
}
