//! Copying all that can be read of a damaged database to a new file, and a list of what is lost.
//!
//! # How it works
//! The newest superblock whose catalogue can be read gives the state; labels that cannot be read leave their nodes out.
//! Then everything is read through the usual readers, in the order that bulk writing needs: nodes get new ids without
//! holes, relationships new ids in forward order. What a page loses is noted with its error, which names the page, and
//! with how many ids it concerns. A forward list that is lost is put together again from the reverse lists of the
//! other ends, without its properties.
//!
//! # Costs
//! Reads the file about twice. Memory: 24 bytes a relationship of one type, 40 bytes a value of one relationship
//! property or index, charged to the budget as `salvage`.

use crate::catalog::IndexDescription;
use crate::ids::{Direction, KeyId, LabelId, NodeId, TypeId};
use crate::index::key::key_bytes;
use crate::pages::Pages;
use crate::schema::SchemaEntity;
use crate::snapshot::Snapshot;
use crate::store::{Root, Store};
use crate::superblock;
use crate::value::PropertyValue;
use crate::writer::{StoreWriter, Uniqueness, WriterOptions};
use crate::{Column, Error, Result};
use graven_io::File;
use graven_pagecache::{PageCache, Reservation};
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
    /// What was not.
    pub lost: Vec<Lost>,
}

impl Store {
    /// Opens a damaged file for [`Store::salvage`], as it was at its last checkpoint, with what could not be read.
    ///
    /// # Errors
    /// [`Error::Superblocks`] and the like if neither superblock leads to a catalogue; what the page cache gives.
    pub fn open_damaged(
        file: Arc<dyn File>,
        cache: Arc<PageCache>,
    ) -> Result<(Arc<Store>, Vec<Lost>)> {
        let intact = superblock::read_intact(&*file)?;
        let pages = Arc::new(Pages::open(file.clone(), cache)?);
        let mut lost = Vec::new();
        for found in intact {
            let number = found.superblock.checkpoint;
            let mut here = Vec::new();
            let root = Root::open_despite(pages.clone(), found, &mut |error| {
                if !error.is_damage() {
                    return Err(error);
                }
                here.push(Lost {
                    place: "node labels: nodes with all they have".to_owned(),
                    why: error.to_string(),
                    ids: 0,
                });
                Ok(())
            });
            match root {
                Ok(root) => {
                    lost.append(&mut here);
                    let read_only = Some("it is being salvaged".to_owned());
                    return Ok((Arc::new(Store::of_root(root, None, read_only)), lost));
                }
                Err(error) => lost.push(Lost {
                    place: format!("the state of checkpoint {number}"),
                    why: error.to_string(),
                    ids: 0,
                }),
            }
        }
        // No catalogue: the usual reading says what is wrong with the superblocks.
        superblock::read(&*file)?;
        let why: Vec<String> = lost.into_iter().map(|lost| lost.why).collect();
        Err(Error::Inconsistent {
            path: file.path().to_path_buf(),
            store: "catalogue".to_owned(),
            what: format!(
                "neither superblock leads to one that can be read: {}",
                why.join("; ")
            ),
        })
    }

    /// Copies all that can be read to `out`, which must be empty.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if `out` has content; [`Error::Budget`]; what writing gives. Damage is reported.
    pub fn salvage(&self, out: Arc<dyn File>) -> Result<SalvageReport> {
        let budget = self.cache().budget();
        let options = WriterOptions {
            uuid: Some(self.uuid()),
            budget: Some(budget.clone()),
        };
        let mut salvage = Salvage {
            snapshot: self.snapshot(),
            writer: StoreWriter::create(out, options)?,
            renumbered: Vec::new(),
            lost: BTreeMap::new(),
            report: SalvageReport::default(),
            reservation: budget.empty_reservation("salvage"),
        };
        salvage.names();
        salvage.nodes()?;
        salvage.node_columns()?;
        for rel_type in 0..salvage.snapshot.catalog().types().len() as u32 {
            salvage.relationships(TypeId(rel_type))?;
        }
        salvage.indexes()?;
        let Salvage {
            writer,
            mut report,
            lost,
            ..
        } = salvage;
        writer.finish()?;
        let lost = lost.into_iter();
        report
            .lost
            .extend(lost.map(|((place, why), ids)| Lost { place, why, ids }));
        Ok(report)
    }
}

/// A range of nodes that were copied: its first, the one behind it, the new id of the first.
type Renumbered = (u64, u64, u64);

struct Salvage {
    snapshot: Snapshot,
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
        let ranges = self.snapshot.all_nodes();
        let mut next = 0;
        for range in ranges.ranges() {
            self.renumbered.push((range.start, range.end, next));
            next += range.end - range.start;
            let mut run: Option<(Vec<LabelId>, u64)> = None;
            for node in range.clone() {
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

    /// Both directions and the properties of one type.
    fn relationships(&mut self, rel_type: TypeId) -> Result<()> {
        let before = self.reservation.bytes();
        let mut forward = self.forward(rel_type)?;
        if forward.is_empty() {
            return Ok(());
        }
        forward.sort_unstable();
        let mut writer = self.writer.adjacency(rel_type)?;
        let mut ids = Vec::with_capacity(forward.len());
        for (start, end, old) in &forward {
            let new = writer.forward(NodeId(*start), NodeId(*end))?;
            ids.push((*old, new.0));
        }
        forward.sort_unstable_by_key(|(start, end, _)| (*end, *start));
        for (start, end, _) in &forward {
            writer.reverse(NodeId(*end), NodeId(*start))?;
        }
        writer.finish()?;
        self.report.relationships += forward.len() as u64;
        drop(forward);
        ids.sort_unstable();
        // Those put together from reverse lists have lost their ids.
        ids.truncate(ids.partition_point(|(old, _)| *old < u64::MAX));
        self.relationship_columns(rel_type, &ids)?;
        self.reservation.shrink(self.reservation.bytes() - before);
        Ok(())
    }

    /// (start, end, old id) of every relationship that can be found, new node ids.
    fn forward(&mut self, rel_type: TypeId) -> Result<Vec<(u64, u64, u64)>> {
        let name = self.snapshot.catalog().type_name(rel_type);
        let name = name.map_or(String::new(), ToString::to_string);
        let out = self.snapshot.adjacency(rel_type, Direction::Out)?;
        let into = self.snapshot.adjacency(rel_type, Direction::In)?;
        let mut found = Vec::new();
        let mut failed: Vec<u64> = Vec::new();
        let mut neighbours = Vec::new();
        let all = self.snapshot.all_nodes();
        for node in all.iter() {
            neighbours.clear();
            if let Err(error) = out.neighbours(node, &mut neighbours) {
                self.note(&format!("adjacency {name} out"), error, 1)?;
                failed.push(node.0);
                continue;
            }
            self.reservation.grow(neighbours.len() as u64 * 24)?;
            for it in &neighbours {
                if let (Some(start), Some(end)) = (self.new_id(node.0), self.new_id(it.node.0)) {
                    found.push((start, end, it.relationship.0));
                }
            }
        }
        let mut starts = Vec::new();
        for node in all.iter() {
            starts.clear();
            let read = into.with_list(node, |list| list.decode_wide(&mut starts).map(|_| ()));
            if let Err(error) = read {
                // Lost only where the forward list is lost as well.
                self.note(&format!("adjacency {name} in"), error, 1)?;
                continue;
            }
            for start in starts
                .iter()
                .filter(|start| failed.binary_search(start).is_ok())
            {
                self.reservation.grow(24)?;
                if let (Some(start), Some(end)) = (self.new_id(*start), self.new_id(node.0)) {
                    found.push((start, end, u64::MAX));
                }
            }
        }
        Ok(found)
    }

    /// `ids`: old and new, ascending by old.
    fn relationship_columns(&mut self, rel_type: TypeId, ids: &[(u64, u64)]) -> Result<()> {
        for key in 0..self.snapshot.catalog().keys().len() as u32 {
            let key = KeyId(key);
            let Some(column) = self.snapshot.relationship_column(rel_type, key) else {
                continue;
            };
            let name = self.snapshot.catalog().type_name(rel_type);
            let name = name.map_or("?", |name| name);
            let place = format!("relationship property {name}.{}", self.key_name(key));
            let mut values = Vec::new();
            for chunk in ids.chunks(CHUNK) {
                let old: Vec<u64> = chunk.iter().map(|(old, _)| *old).collect();
                let read = self.values(&place, &column, &old)?;
                let read = chunk.iter().zip(read).filter(|(_, value)| !value.is_null());
                values.extend(read.map(|((_, new), value)| (*new, value)));
                self.reservation.grow(chunk.len() as u64 * 40)?;
            }
            values.sort_unstable_by_key(|(new, _)| *new);
            let mut writer = self.writer.relationship_column(rel_type, key)?;
            for (new, value) in &values {
                writer.push(*new, value)?;
            }
            writer.finish()?;
            self.report.values += values.len() as u64;
        }
        Ok(())
    }

    fn indexes(&mut self) -> Result<()> {
        let indexes = self.snapshot.catalog().indexes().to_vec();
        for index in &indexes {
            match (index.entity, index.keys.as_slice()) {
                (SchemaEntity::Node(label), [key]) => self.index(index, label, *key)?,
                _ => self.not_copied("index", &index.name),
            }
        }
        for constraint in self.snapshot.catalog().constraints().to_vec() {
            self.not_copied("constraint", &constraint.name);
        }
        Ok(())
    }

    fn not_copied(&mut self, what: &str, name: &str) {
        let why = "is not copied; create it again in the new file".to_owned();
        self.lost.insert((format!("{what} {name}"), why), 0);
    }

    /// Makes an index anew from the values that were copied.
    fn index(&mut self, index: &IndexDescription, label: LabelId, key: KeyId) -> Result<()> {
        let mut entries = Vec::new();
        if let Some(column) = self.snapshot.node_column(key) {
            let nodes = self.snapshot.nodes_with_label(label)?;
            let ids: Vec<u64> = nodes.iter().map(|node| node.0).collect();
            self.reservation.grow(ids.len() as u64 * 40)?;
            for chunk in ids.chunks(CHUNK) {
                let values = self.values(&format!("index {}", index.name), &column, chunk)?;
                for (id, value) in chunk.iter().zip(values) {
                    if let (Some(bytes), Some(new)) = (key_bytes(&value), self.new_id(*id)) {
                        entries.push((bytes, new, value));
                    }
                }
            }
        }
        entries.sort_unstable_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        let distinct = entries.windows(2).all(|pair| pair[0].0 != pair[1].0);
        let uniqueness = match index.unique && distinct {
            true => Uniqueness::Unique,
            false => Uniqueness::Any,
        };
        let mut writer = self.writer.index(label, key, uniqueness)?;
        for (_, node, value) in &entries {
            writer.push(value, NodeId(*node))?;
        }
        writer.finish()
    }

    fn key_name(&self, key: KeyId) -> String {
        let name = self.snapshot.catalog().key_name(key);
        name.map_or_else(String::new, ToString::to_string)
    }
}
