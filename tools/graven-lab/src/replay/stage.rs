//! A stage: the accesses of a trace or workload, and a file that holds their pages.
//!
//! # How it works
//! Pages are numbered densely in the order of their first access and written, sealed, into a file
//! of their own folder, which goes with the last stage that uses it. Accesses that a trace marks as
//! a scan's stay marked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_io::{AlignedBuffer, IoMode, OpenOptions, open};
use graven_pagecache::{PageKind, PageRef, SizeClass, page};
use graven_policy::registry::{self, Spec, Visitor};
use graven_policy::simulator::{ArrayFrames, Simulator};
use graven_policy::{Hint, Policy};
use graven_trace::dense::{self, Dense};
use graven_trace::{FLAG_SCAN, ReadOptions};

use crate::error::LabError;
use crate::workload::Workload;

/// What all pages of a stage hold.
pub(super) const KIND: PageKind = PageKind::Adjacency;
const WRITE_BYTES: usize = 4 << 20;

/// Where accesses come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A trace file.
    Trace(PathBuf, ReadOptions),
    /// A synthetic workload, so many accesses of it.
    Workload(Workload, usize, u64),
}

/// Accesses with the file of their pages.
pub struct Stage {
    pub(super) name: String,
    pub(super) class: SizeClass,
    pub(super) path: PathBuf,
    dense: Dense,
    /// Whether an access belongs to a scan; none where no access does.
    scans: Option<Vec<bool>>,
    folder: Arc<tempfile::TempDir>,
}

impl Stage {
    /// Reads or generates the accesses and writes their pages, `page_bytes` each, to a file in
    /// `folder` that goes with the stage. `limit` accesses are kept at most.
    ///
    /// # Errors
    /// Unreadable or empty traces, page sizes that no cache has, files that cannot be written.
    pub fn new(
        source: &Source,
        page_bytes: u64,
        limit: usize,
        folder: &Path,
    ) -> Result<Self, LabError> {
        let class = (0..SizeClass::COUNT)
            .filter_map(|index| SizeClass::new(index as u8))
            .find(|class| class.bytes() as u64 == page_bytes)
            .ok_or_else(|| {
                LabError::Setting(format!(
                    "pages of {page_bytes} bytes: a cache has 4 KiB to 128 MiB, in doublings"
                ))
            })?;
        let (name, pages, flags) = match source {
            Source::Trace(path, options) => {
                let mut trace = graven_trace::read_with(path, options)?;
                trace.pages.truncate(limit);
                (graven_trace::name_of(path), trace.pages, trace.flags)
            }
            Source::Workload(workload, accesses, seed) => {
                let accesses = workload.accesses(*seed).take((*accesses).min(limit));
                let (pages, flags) = accesses.map(|access| (access.page, access.flags)).unzip();
                (format!("{workload:?}"), pages, Some(flags))
            }
        };
        if pages.is_empty() {
            return Err(LabError::Setting(format!("{name}: there are no accesses")));
        }
        let dense = dense::map(&pages);
        let directory =
            tempfile::tempdir_in(folder).map_err(LabError::io(folder, "making a file"))?;
        let path = directory.path().join("pages");
        write_pages(&path, class, dense.unique as u64)?;
        let scans = flags.map(|flags| {
            let flags = flags.iter().take(pages.len());
            flags
                .map(|flags| flags & FLAG_SCAN != 0)
                .collect::<Vec<bool>>()
        });
        Ok(Self {
            name,
            class,
            path,
            dense,
            scans: scans.filter(|scans| scans.contains(&true)),
            folder: Arc::new(directory),
        })
    }

    /// The first accesses alone, on the same pages.
    #[must_use]
    pub fn first(&self, accesses: usize) -> Self {
        let count = accesses.min(self.dense.pages.len());
        Self {
            name: self.name.clone(),
            class: self.class,
            path: self.path.clone(),
            dense: Dense {
                pages: self.dense.pages[..count].to_vec(),
                unique: self.dense.unique,
            },
            scans: self.scans.as_ref().map(|scans| scans[..count].to_vec()),
            folder: Arc::clone(&self.folder),
        }
    }

    /// Different pages.
    #[must_use]
    pub fn unique(&self) -> usize {
        self.dense.unique
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.class.bytes() as u64
    }

    /// Accesses.
    pub(super) fn len(&self) -> u64 {
        self.dense.pages.len() as u64
    }

    /// The page of an access, and whether a scan asks for it.
    pub(super) fn access(&self, place: u64) -> (PageRef, bool) {
        let number = u64::from(self.dense.pages[place as usize]);
        let is_scan = self
            .scans
            .as_ref()
            .is_some_and(|scans| scans[place as usize]);
        (
            PageRef::new(self.class, number * self.class.units()),
            is_scan,
        )
    }

    /// Hit ratio of the simulator with so many frames, one thread, from an empty cache; none for a
    /// policy that cannot be built.
    #[must_use]
    pub fn simulate(&self, policy: &str, frames: u64, seed: u64) -> Option<f64> {
        self.simulate_part(policy, frames, seed, 0, self.len())
    }

    /// The same over the accesses between two places, after those before.
    pub(super) fn simulate_part(
        &self,
        policy: &str,
        frames: u64,
        seed: u64,
        from: u64,
        to: u64,
    ) -> Option<f64> {
        let spec = Spec::parse(policy).ok()?;
        let visitor = Simulation {
            stage: self,
            from: from as usize,
            to: to as usize,
            frames: frames as usize,
        };
        registry::visit(&spec, frames, seed, visitor).ok()
    }
}

struct Simulation<'a> {
    stage: &'a Stage,
    from: usize,
    to: usize,
    frames: usize,
}

impl Visitor<ArrayFrames> for Simulation<'_> {
    type Output = f64;

    fn visit<P: Policy<ArrayFrames> + 'static>(self, policy: P) -> f64 {
        let Dense { pages, unique } = &self.stage.dense;
        let spacing = self.stage.class.units().trailing_zeros();
        let mut simulator = Simulator::new(policy, *unique, self.frames).spaced(spacing);
        let mut play = |from: usize, to: usize| {
            match &self.stage.scans {
                None => simulator.replay(&pages[from..to]),
                Some(scans) => {
                    let hint = |&is_scan: &bool| if is_scan { Hint::Scan } else { Hint::Normal };
                    let hints = scans[from..to].iter().map(hint);
                    simulator.replay_hinted(pages[from..to].iter().copied().zip(hints));
                }
            }
            simulator.outcome()
        };
        let before = play(0, self.from);
        let after = play(self.from, self.to);
        (after.hits - before.hits) as f64 / (after.accesses - before.accesses).max(1) as f64
    }
}

/// Writes `count` sealed pages.
fn write_pages(path: &Path, class: SizeClass, count: u64) -> Result<(), LabError> {
    let failed = |e: graven_io::Error| LabError::Setting(e.to_string());
    let options = OpenOptions {
        mode: IoMode::Buffered,
        create: true,
        ..OpenOptions::default()
    };
    let file = open(path, &options).map_err(failed)?;
    let mut batch = AlignedBuffer::zeroed(WRITE_BYTES);
    let per_batch = (WRITE_BYTES / class.bytes()) as u64;
    for first in (0..count).step_by(per_batch as usize) {
        let used = (count - first).min(per_batch) as usize * class.bytes();
        for (bytes, number) in batch[..used].chunks_exact_mut(class.bytes()).zip(first..) {
            let payload = &mut bytes[page::HEADER_BYTES..];
            payload[..8].copy_from_slice(&number.to_le_bytes());
            page::seal(
                bytes,
                PageRef::new(class, number * class.units()),
                KIND,
                0,
                class.payload_bytes(),
            );
        }
        file.write_all_at(&batch[..used], first * class.bytes() as u64)
            .map_err(failed)?;
    }
    file.sync_data().map_err(failed)
}
