//! The Linux performance guide: the write test's three runs, dirty pages beside them, ways to force
//! the log, group commit.
//!
//! # How it works
//! The guide maps a store of 1 GB and changes records at random places; the kernel then writes
//! pages at a time of its own choosing. The same test runs with the store mapped and with Graven's
//! means ([`crate::write_test`]), in turn, round after round.

mod clients;
mod log;
mod runs;
mod system;

use std::path::PathBuf;

use tempfile::TempDir;

use super::{Page, Study, StudyProgress};
use crate::error::LabError;
use crate::write_test::{Prepared, StoreAccess, WriteTest, prepare};

pub(super) const PARTS: [&str; 6] = ["reads", "canonical", "series", "log", "clients", "system"];
const MIB: u64 = 1 << 20;
/// The two ways to the store, by their names in figures.
const WAYS: [(&str, StoreAccess); 2] = [
    ("mapped", StoreAccess::Mapped),
    ("graven", StoreAccess::Own),
];

/// Store and log of the write tests.
struct Files {
    folder: TempDir,
    prepared: Prepared,
    rounds: usize,
    quick: bool,
}

impl Files {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The guide's first run.
    fn test(&self) -> WriteTest {
        WriteTest {
            // Room for the store and for changes to all of it.
            memory_bytes: 2 * self.prepared.bytes + MIB,
            ..WriteTest::new(self.path("store"), self.path("log"))
        }
    }
}

pub(super) fn page(study: &Study, tell: StudyProgress<'_>) -> Result<Page, LabError> {
    let folder = tempfile::tempdir_in(&study.scratch)
        .map_err(LabError::io(&study.scratch, "making a folder"))?;
    let bytes = if study.quick { 64 } else { 1_000 } * MIB;
    tell(&format!(
        "making a store of {}",
        graven::format_bytes(bytes)
    ))?;
    let prepared = prepare(&folder.path().join("store"), bytes)?;
    let files = Files {
        folder,
        prepared,
        rounds: if study.quick { 3 } else { 5 },
        quick: study.quick,
    };
    let mut page = Page {
        title: "The Linux performance guide, once more".to_owned(),
        lead: format!(
            "An operations guide of an older graph database changes records of a mapped store of 1 \
                GB, forces its log, and finds that the kernel's write-back makes \
             the third of three runs sixty times slower. Here are its runs on a store of {}, \
             mapped and with Graven's means, with what the kernel did beside them.",
            graven::format_bytes(bytes)
        ),
        ..Page::default()
    };
    if study.wants(&["reads"]) {
        runs::reads(&mut page, &files);
    }
    if study.wants(&["canonical", "series"]) {
        let measured = runs::measure(&files, tell)?;
        runs::canonical(&mut page, &measured);
        runs::series(&mut page, &measured);
    }
    if study.wants(&["log"]) {
        log::add(&mut page, &files, tell)?;
    }
    if study.wants(&["clients"]) {
        clients::add(&mut page, study, tell)?;
    }
    if study.wants(&["system"]) {
        system::add(&mut page, study);
    }
    Ok(page)
}
