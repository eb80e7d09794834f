//! Keeping what the page cache holds from one opening of a database to the next.
//!
//! # How it works
//! Beside the data file lies `NAME-warm`, a warm set (`graven_storage::warm`). A thread of its own
//! loads it after the database was opened, while statements run; closing writes it anew. A set
//! whose loading was cut short by the close stays as it is. The file is a help, not a part of the
//! database: without it, or with one that cannot be read, the cache begins empty.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use graven_storage::Store;
use graven_storage::warm::{self, WarmSet};

use crate::charged_text::ChargedText;
use crate::files::sibling_path;

/// Loads a set and writes the next one.
pub(crate) struct Keeper {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    /// Gives whether all was loaded; none once the keeper has ended.
    loading: Mutex<Option<JoinHandle<bool>>>,
}

impl Keeper {
    /// Begins to load the set of the database at `data`; nothing where no thread is to be had.
    pub(crate) fn start(data: &Path, store: &Arc<Store>) -> Option<Keeper> {
        let path = sibling_path(data, "-warm");
        let stop = Arc::new(AtomicBool::new(false));
        let (from, store, stopped) = (path.clone(), Arc::clone(store), Arc::clone(&stop));
        let load = move || {
            let file = std::fs::File::open(&from).ok();
            let memory = store.cache().budget().empty_reservation("warm set");
            let text = file.and_then(|file| ChargedText::read(file, memory).ok());
            let Some(Ok(set)) = text.map(|text| WarmSet::read(&text)) else {
                return true;
            };
            let was_stopped = AtomicBool::new(false);
            // What cannot be read now is told to the statement that asks for it.
            let _ = store.snapshot().load_warm(&set, &|| {
                was_stopped.store(stopped.load(Ordering::Relaxed), Ordering::Relaxed);
                was_stopped.load(Ordering::Relaxed)
            });
            !was_stopped.load(Ordering::Relaxed)
        };
        let thread = std::thread::Builder::new().name("graven-warm".to_owned());
        let loading = thread.spawn(load).ok()?;
        Some(Keeper {
            path,
            stop,
            loading: Mutex::new(Some(loading)),
        })
    }

    /// Ends the loading and writes what is in memory; the second time it does nothing.
    pub(crate) fn end(&self, store: &Store) {
        self.stop.store(true, Ordering::Relaxed);
        let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = loading.take() else { return };
        if !thread.join().unwrap_or(false) {
            return;
        }
        // The next opening begins empty, which is all that a failure costs.
        if let Ok(set) = store.snapshot().warm_set() {
            let _ = warm::write(&set, &self.path);
        }
    }
}
