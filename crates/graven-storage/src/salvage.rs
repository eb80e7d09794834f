//! Copying all that can be read of a damaged database to a new file, and a list of what is lost.
//!
//! # How it works
//! The newest superblock whose catalogue, segment directory and labels can be read gives the state:
//! the older one reaches what it always did. If there is none it is the newest with a catalogue;
//! nodes whose labels cannot be read are left out. Without a catalogue it is unknown which store a
//! page belongs to: nothing is copied, and the error says what is left (`survey.rs`).
//!
//! Then everything is read through the usual readers, in the order that bulk writing needs: nodes
//! get new ids without holes, relationships new ids in forward order. What a page loses is noted
//! with its error, which names the page, and with how many ids it concerns. A forward list that is
//! lost is put together again from the reverse lists of the other ends, without its properties.
//! Indexes and constraints are made again on the copy, by transactions, which verify them.
//!
//! A log is read up to what is damaged in it: a state that the database once had.
//!
//! # Costs
//! Reads forward lists once more for every property of their relationships. Memory, charged to the
//! budget as `salvage`: a sixteenth of the limit for sorting, which goes on in temporary pages, and
//! what is put together of lost lists.

mod relationships;
mod schema;
mod survey;

use crate::data_file::FileRoot;
use crate::ids::{KeyId, LabelId, NodeId, TypeId};
use crate::pages::Pages;
use crate::recovery::OpenOptions;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::superblock;
use crate::writer::{StoreWriter, WriterOptions};
use crate::{Column, Error, Result};
use graven_io::File;
use graven_pagecache::{PageCache, Reservation, SpillFile};
use graven_types::PropertyValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ids read together.
const CHUNK: usize = 1024;

/// Something that could not be copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Of which store or label.
    pub place: String,
    /// Why; names the page.
    pub why: String,
    /// How many ids it concerns; 0 if that is not known.
    pub ids: u64,
}

/// What was copied and what was lost.
#[derive(Clone, Debug, Default)]
pub struct SalvageReport {
    /// Nodes copied.
    pub nodes: u64,
    /// Relationships copied.
    pub relationships: u64,
    /// Property values copied.
    pub values: u64,
    /// Indexes made again, those of constraints left out.
    pub indexes: u64,
    /// Constraints made again.
    pub constraints: u64,
    /// What was not.
    pub lost: Vec<Lost>,
}

impl Store {
    /// Opens a damaged file for [`Store::salvage`], as it was at its last checkpoint, with what
    /// could not be read.
    ///
    /// # Errors
    /// [`Error::Superblocks`] and the like if neither superblock leads to a catalogue; what the
    /// page cache gives.
    pub fn open_damaged(
        file: Arc<dyn File>,
        cache: Arc<PageCache>,
    ) -> Result<(Arc<Store>, Vec<Lost>)> {
        let intact = superblock::read_intact(&*file)?;
        let pages = Arc::new(Pages::open(file.clone(), cache)?);
        let mut lost = Vec::new();
        let mut in_part = None;
        for found in intact {
            let number = found.superblock.checkpoint;
            let mut here = Vec::new();
            let root = FileRoot::open_despite(
                pages.clone(),
                found,
                Some(&mut |error| {
                    if !error.is_damage() {
                        return Err(error);
                    }
                    here.push(Lost {
                        place: "node labels: nodes with all they have".to_owned(),
                        why: error.to_string(),
                        ids: 0,
                    });
                    Ok(())
                }),
            );
            let listed = root.map(|root| {
                let pages = root.pages.clone();
                let listed = (root.directory).scan_all(&pages, &mut |_| (), &mut |_, _| Ok(()));
                (root, listed)
            });
            let unread = match listed {
                Ok((root, Ok(()))) if here.is_empty() => {
                    return Ok((Arc::new(of_root(root)), lost));
                }
                Ok((root, listed)) => {
                    let first = here.first().map(|lost| lost.why.clone());
                    let why = first.or_else(|| listed.err().map(|error| error.to_string()));
                    in_part.get_or_insert((root, here));
                    why.unwrap_or_default()
                }
                // What can be done about it is being done.
                Err(Error::CatalogueLost { why }) => why,
                Err(error) => error.to_string(),
            };
            lost.push(Lost {
                place: format!("the state of checkpoint {number}"),
                why: unread,
                ids: 0,
            });
        }
        if let Some((root, here)) = in_part {
            // No state is listed whole: the newest that has a catalogue.
            let number = root.found.superblock.checkpoint;
            let place = format!("the state of checkpoint {number}");
            lost.retain(|lost| lost.place != place);
            lost.extend(here);
            return Ok((Arc::new(of_root(root)), lost));
        }
        if lost.is_empty() {
            superblock::read(&*file)?;
        }
        let why: Vec<String> = lost.into_iter().map(|lost| lost.why).collect();
        Err(Error::Inconsistent {
            path: file.path().to_path_buf(),
            store: "catalogue".to_owned(),
            what: format!(
                "neither superblock leads to one that can be read ({}); {}; without a catalogue \
                    the store of a page is \
                 unknown, so `graven salvage` can copy nothing: restore a backup",
                why.join("; "),
                survey::intact_pages(&*file)?,
            ),
        })
    }

    /// Opens a sound file for [`Store::salvage`] with what its log holds before the damage in it,
    /// which is told. `options` ask for reading only.
    ///
    /// # Errors
    /// As [`Store::open_with`], but for a log of which a part is missing.
    ///
    /// # Panics
    /// If `options` ask for writing.
    pub fn open_with_damaged_log(
        file: Arc<dyn File>,
        cache: Arc<PageCache>,
        options: OpenOptions,
    ) -> Result<(Arc<Store>, Vec<Lost>)> {
        assert!(options.read_only.is_some(), "a damaged log is only read");
        let mut lost = Vec::new();
        let store = Store::open_despite(file, cache, options, &mut |error| {
            lost.push(Lost {
                place: "commits behind the damage in the log".to_owned(),
                why: error.to_string(),
                ids: 0,
            });
            Ok(())
        })?;
        Ok((store, lost))
    }

    /// Copies all that can be read to `out`, which must be empty.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if `out` has content; [`Error::Budget`]; what writing gives. Damage is
    /// reported.
    pub fn salvage(&self, out: Arc<dyn File>) -> Result<SalvageReport> {
        let budget = self.cache().budget();
        let options = WriterOptions {
            uuid: Some(self.uuid()),
        };
        let mut beside = out.path().as_os_str().to_owned();
        beside.push("-tmp");
        let spill = Arc::new(SpillFile::at(self.cache(), beside, u64::MAX)?);
        let mut salvage = Salvage {
            snapshot: self.snapshot(),
            spill: spill.clone(),
            writer: StoreWriter::create(out.clone(), options)?,
            renumbered: Vec::new(),
            lost: BTreeMap::new(),
            report: SalvageReport::default(),
            reservation: budget.empty_reservation("salvage"),
        };
        for lost in salvage.snapshot.root().labels.all_lost() {
            salvage.note("node labels: nodes with all they have", lost, 0)?;
        }
        salvage.names();
        salvage.nodes()?;
        salvage.node_columns()?;
        for rel_type in 0..salvage.snapshot.catalog().types().len() as u32 {
            salvage.relationships(TypeId(rel_type))?;
        }
        let Salvage {
            snapshot,
            writer,
            mut report,
            lost,
            ..
        } = salvage;
        writer.finish()?;
        schema::copy(&snapshot, out, spill, &mut report)?;
        let lost = lost.into_iter();
        report
            .lost
            .extend(lost.map(|((place, why), ids)| Lost { place, why, ids }));
        Ok(report)
    }
}

fn of_root(root: FileRoot) -> Store {
    Store::of_root(root, None, Some("it is being salvaged".to_owned()))
}

/// A range of nodes that were copied: its first, the one behind it, the new id of the first.
type Renumbered = (u64, u64, u64);

struct Salvage {
    snapshot: Snapshot,
    /// For what is sorted on the way.
    spill: Arc<SpillFile>,
    writer: StoreWriter,
    renumbered: Vec<Renumbered>,
    /// Ids by place and reason.
    lost: BTreeMap<(String, String), u64>,
    report: SalvageReport,
    reservation: Reservation,
}

impl Salvage {
    /// The same names in the same order, so that numbers stay.
    fn names(&mut self) {
        let catalog = self.snapshot.catalog();
        for name in catalog.labels() {
            self.writer.intern_label(name);
        }
        for name in catalog.types() {
            self.writer.intern_type(name);
        }
        for name in catalog.keys() {
            self.writer.intern_key(name);
        }
    }

    /// Notes damage and goes on; anything else ends the salvage.
    fn note(&mut self, place: &str, error: Error, ids: u64) -> Result<()> {
        if !error.is_damage() {
            return Err(error);
        }
        *self
            .lost
            .entry((place.to_owned(), error.to_string()))
            .or_default() += ids;
        Ok(())
    }

    fn nodes(&mut self) -> Result<()> {
        let ranges = self.snapshot.known_nodes();
        let mut next = 0;
        for range in ranges.ranges() {
            self.renumbered.push((range.start, range.end, next));
            next += range.end - range.start;
            let mut run: Option<(Vec<LabelId>, u64)> = None;
            for node in range {
                let labels = self.snapshot.labels_of(NodeId(node))?;
                match &mut run {
                    Some((known, count)) if *known == labels => *count += 1,
                    _ => {
                        if let Some((labels, count)) = run.replace((labels, 1)) {
                            self.writer.add_nodes(count, &labels)?;
                        }
                    }
                }
            }
            if let Some((labels, count)) = run {
                self.writer.add_nodes(count, &labels)?;
            }
        }
        self.report.nodes = next;
        Ok(())
    }

    /// The new id of a node, if it was copied.
    fn new_id(&self, node: u64) -> Option<u64> {
        let behind = self.renumbered.partition_point(|range| range.0 <= node);
        let (first, end, new) = self.renumbered.get(behind.checked_sub(1)?)?;
        (node < *end).then(|| new + node - first)
    }

    /// Values of `ids`, Null where they are lost.
    fn values(&mut self, place: &str, column: &Column, ids: &[u64]) -> Result<Vec<PropertyValue>> {
        let mut values = Vec::new();
        if column.gather(ids, &mut values).is_ok() {
            return Ok(values);
        }
        values.clear();
        for id in ids {
            match column.get(*id) {
                Ok(value) => values.push(value),
                Err(error) => {
                    self.note(place, error, 1)?;
                    values.push(PropertyValue::Null);
                }
            }
        }
        Ok(values)
    }

    fn node_columns(&mut self) -> Result<()> {
        for key in 0..self.snapshot.catalog().keys().len() as u32 {
            let key = KeyId(key);
            let Some(column) = self.snapshot.node_column(key) else {
                continue;
            };
            let place = format!("node property {}", self.key_name(key));
            let mut writer = self.writer.node_column(key)?;
            for (first, end, new) in self.renumbered.clone() {
                for from in (first..end).step_by(CHUNK) {
                    let ids: Vec<u64> = (from..end.min(from + CHUNK as u64)).collect();
                    let values = self.values(&place, &column, &ids)?;
                    for (id, value) in ids.iter().zip(&values) {
                        self.report.values += u64::from(!value.is_null());
                        writer.push(new + id - first, value)?;
                    }
                }
            }
            writer.finish()?;
        }
        Ok(())
    }

    fn key_name(&self, key: KeyId) -> String {
        let name = self.snapshot.catalog().key_name(key);
        name.map_or_else(String::new, ToString::to_string)
    }
}
