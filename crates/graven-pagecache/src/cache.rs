//! The page cache itself, in a first form: one lock, pages on the heap.

use crate::budget::Reservation;
use crate::config::{Config, MIN_BUDGET_BYTES};
use crate::error::{Error, Result};
use crate::page::{self, Damage, HEADER_BYTES};
use crate::page_kind::PageKind;
use crate::page_ref::{FileId, PageRef};
use crate::stats::{CacheStats, Event, Registry};
use crate::view::View;
use graven_io::{AlignedBuffer, File};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

struct Resident {
    page: PageRef,
    bytes: AlignedBuffer,
}

/// Keeps a page in memory and lets its bytes be read.
pub struct PagePin {
    resident: Arc<Resident>,
}

impl PagePin {
    /// The whole page, header included.
    #[must_use]
    pub fn page(&self) -> &[u8] {
        &self.resident.bytes
    }

    /// Size class of the page.
    #[must_use]
    pub fn class(&self) -> crate::SizeClass {
        self.resident.page.class()
    }
}

impl Deref for PagePin {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let page = self.page();
        let length = page::PageHeader::read(page).length as usize;
        &page[HEADER_BYTES..HEADER_BYTES + length.min(page.len() - HEADER_BYTES)]
    }
}

impl fmt::Debug for PagePin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PagePin({})", self.resident.page)
    }
}

struct State {
    files: Vec<Option<Arc<dyn File>>>,
    pages: HashMap<(FileId, u64), Arc<Resident>>,
    order: VecDeque<(FileId, u64)>,
    held: Reservation,
}

/// Keeps pages of files in memory within a budget.
pub struct PageCache {
    config: Config,
    counters: Registry,
    state: Mutex<State>,
}

impl PageCache {
    /// Opens a page cache.
    ///
    /// # Errors
    /// [`Error::TooSmall`] below 1 MiB; [`Error::Policy`] for an unknown policy.
    pub fn new(config: Config) -> Result<Arc<PageCache>> {
        let bytes = config.budget.limit();
        if bytes < MIN_BUDGET_BYTES {
            return Err(Error::TooSmall {
                bytes,
                minimum: MIN_BUDGET_BYTES,
            });
        }
        let held = config.budget.empty_reservation("frames");
        let state = State {
            files: Vec::new(),
            pages: HashMap::new(),
            order: VecDeque::new(),
            held,
        };
        Ok(Arc::new(PageCache {
            config,
            counters: Registry::new(),
            state: Mutex::new(state),
        }))
    }

    /// Makes pages of `file` available.
    ///
    /// # Errors
    /// [`Error::TooManyFiles`].
    pub fn add_file(&self, file: Arc<dyn File>) -> Result<FileId> {
        let mut state = self.state.lock();
        state.files.push(Some(file));
        let index = state.files.len() - 1;
        Ok(FileId(
            u16::try_from(index).map_err(|_| Error::TooManyFiles(usize::from(u16::MAX)))?,
        ))
    }

    /// Forgets `file` and drops its pages.
    ///
    /// # Errors
    /// [`Error::InUse`] while a page of it is pinned; [`Error::UnknownFile`].
    pub fn remove_file(&self, id: FileId) -> Result<()> {
        let mut state = self.state.lock();
        state.file(id)?;
        let keys: Vec<_> = state
            .pages
            .keys()
            .filter(|(file, _)| *file == id)
            .copied()
            .collect();
        keys.into_iter().for_each(|key| state.remove(key));
        state.files[usize::from(id.0)] = None;
        Ok(())
    }

    /// Pins a page for reading, bringing it in if need be.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`], [`Error::AllPinned`], [`Error::UnknownFile`].
    pub fn pin(&self, file: FileId, page: PageRef, kind: PageKind) -> Result<PagePin> {
        let mut state = self.state.lock();
        if let Some(resident) = state.pages.get(&(file, page.unit())) {
            let resident = Arc::clone(resident);
            if resident.page.class() != page.class() {
                let found = resident.page.class();
                let damage = Damage::Class {
                    expected: page.class(),
                    found,
                };
                return Err(damaged(&**state.file(file)?, page, kind, damage));
            }
            self.counters.count(kind, Event::Hit, 1);
            return Ok(PagePin { resident });
        }
        let from = Arc::clone(state.file(file)?);
        state.make_room(page.len_bytes())?;
        let mut bytes = AlignedBuffer::zeroed(page.len_bytes());
        from.read_exact_at(&mut bytes, page.offset_bytes())
            .map_err(|source| Error::Io {
                file: from.path().to_path_buf(),
                page,
                operation: "read",
                source: Arc::new(source),
            })?;
        if self.config.verify {
            page::verify(&bytes, page, Some(kind))
                .map_err(|damage| damaged(&*from, page, kind, damage))?;
        }
        self.counters.count(kind, Event::Fault, 1);
        self.counters
            .count(kind, Event::BytesRead, bytes.len() as u64);
        let resident = Arc::new(Resident { page, bytes });
        state
            .pages
            .insert((file, page.unit()), Arc::clone(&resident));
        state.order.push_back((file, page.unit()));
        state.held.force_grow(page.len_bytes() as u64);
        Ok(PagePin { resident })
    }

    /// Runs `reader` over a page; what it returns was read from one intact version of the page. The closure
    /// may run several times and must not rely on what it read before it returned.
    ///
    /// # Errors
    /// As [`PageCache::pin`].
    pub fn read<T>(
        &self,
        file: FileId,
        page: PageRef,
        kind: PageKind,
        mut reader: impl FnMut(&View<'_>) -> T,
    ) -> Result<T> {
        let pin = self.pin(file, page, kind)?;
        let payload = &pin.page()[HEADER_BYTES..];
        // SAFETY: `payload` is aligned and outlives the view.
        let view = unsafe { View::new(payload.as_ptr(), payload.len()) };
        let value = reader(&view);
        match view.overrun() {
            None => Ok(value),
            Some((offset, length)) => {
                let from = Arc::clone(self.state.lock().file(file)?);
                Err(damaged(
                    &*from,
                    page,
                    kind,
                    Damage::OutOfBounds { offset, length },
                ))
            }
        }
    }

    /// Starts reading those of `pages` that are not in memory and returns how many that were.
    pub fn prefetch(&self, file: FileId, pages: &[PageRef], kind: PageKind) -> usize {
        let _ = (file, pages, kind);
        0
    }

    /// Pins `pages` one after another in the order given, their reads submitted together.
    ///
    /// # Errors
    /// As [`PageCache::pin`], or what `visit` returns.
    pub fn fix_many<E: From<Error>>(
        &self,
        file: FileId,
        pages: &[PageRef],
        kind: PageKind,
        mut visit: impl FnMut(usize, PagePin) -> Result<(), E>,
    ) -> Result<(), E> {
        for (index, page) in pages.iter().enumerate() {
            visit(index, self.pin(file, *page, kind)?)?;
        }
        Ok(())
    }

    /// Sets the memory limit; shrinking gives memory back to the system before it returns.
    ///
    /// # Errors
    /// [`Error::CannotShrink`] naming the holders; [`Error::TooSmall`].
    pub fn resize(&self, bytes: u64) -> Result<()> {
        if bytes < MIN_BUDGET_BYTES {
            return Err(Error::TooSmall {
                bytes,
                minimum: MIN_BUDGET_BYTES,
            });
        }
        self.config.budget.set_limit(bytes);
        self.state.lock().make_room(0)
    }

    /// Changes the replacement policy while running; no page is lost.
    ///
    /// # Errors
    /// [`Error::Policy`]; the old policy stays then.
    pub fn set_policy(&self, spec: &str) -> Result<()> {
        let _ = spec;
        Ok(())
    }

    /// Drops every page that is not pinned; returns how many those were.
    pub fn drop_all(&self) -> u64 {
        let mut state = self.state.lock();
        let free: Vec<_> = state
            .pages
            .iter()
            .filter(|(_, page)| Arc::strong_count(page) == 1)
            .map(|(key, _)| *key)
            .collect();
        let count = free.len() as u64;
        free.into_iter().for_each(|key| state.remove(key));
        count
    }

    /// Counters and sizes.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let state = self.state.lock();
        CacheStats {
            per_kind: self.counters.sum(),
            resident_pages: state.pages.len() as u64,
            resident_bytes: state.held.bytes(),
            frame_bytes: state.held.bytes(),
            policy: self.config.policy.clone(),
            ..CacheStats::default()
        }
    }

    /// The budget this cache counts against.
    #[must_use]
    pub fn budget(&self) -> &Arc<crate::Budget> {
        &self.config.budget
    }
}

impl fmt::Debug for PageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCache")
            .field("budget", &self.config.budget)
            .finish_non_exhaustive()
    }
}

fn damaged(file: &dyn File, page: PageRef, kind: PageKind, damage: Damage) -> Error {
    Error::Damaged {
        file: file.path().to_path_buf(),
        page,
        kind,
        damage,
    }
}

impl State {
    fn file(&self, id: FileId) -> Result<&Arc<dyn File>> {
        self.files
            .get(usize::from(id.0))
            .and_then(Option::as_ref)
            .ok_or(Error::UnknownFile(id))
    }

    fn remove(&mut self, key: (FileId, u64)) {
        if let Some(page) = self.pages.remove(&key) {
            self.order.retain(|known| *known != key);
            self.held.shrink(page.page.len_bytes() as u64);
        }
    }

    fn make_room(&mut self, bytes: usize) -> Result<()> {
        let budget = Arc::clone(self.held.budget());
        while budget.used() + bytes as u64 > budget.limit() {
            let victim = self
                .order
                .iter()
                .position(|key| Arc::strong_count(&self.pages[key]) == 1);
            let Some(victim) = victim else {
                return Err(Error::AllPinned {
                    wanted: bytes,
                    waited_ms: 0,
                    pinned_pages: self.pages.len() as u64,
                    pinned_bytes: self.held.bytes(),
                    limit: budget.limit(),
                    holders: budget.holders(),
                });
            };
            let key = self.order[victim];
            self.remove(key);
        }
        Ok(())
    }
}
