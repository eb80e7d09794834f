//! Relationships of one type, copied without holding them all in memory.
//!
//! # How it works
//! New node ids ascend as the old ones do, so the forward lists in the order of their nodes are the
//! order of the copy: they are streamed. Reverse lists are the same pairs sorted by their ends, in
//! temporary pages. Properties are looked up in the order of the forward lists, which are read
//! again for every property. Only lists that could not be read are put together in memory, from the
//! lists of the other ends.

use super::{CHUNK, Salvage};
use crate::Result;
use crate::adjacency::Adjacency;
use crate::delta::change::{Change, EdgeKey};
use crate::delta::merge::{Entries, LayerEntries, merge};
use crate::delta::spilled_run::{SealedWriter, SpilledRun};
use crate::ids::{Direction, KeyId, NodeId, TypeId};
use graven_pagecache::{Reservation, TemporaryPages};
use std::ops::Bound;
use std::sync::Arc;

/// Pairs sorted in memory before they go to temporary pages take this part of the memory limit.
const SORT_SHARE: u64 = 16;

/// New start, new end and old id, unless that is lost.
type Copied = (u64, u64, Option<u64>);

/// The forward lists of a type as they are copied.
struct Forward {
    lists: Adjacency,
    /// Nodes whose list cannot be read, old ids, ascending.
    failed: Vec<u64>,
    /// What the other ends say of those: new start and end, ascending.
    recovered: Vec<(u64, u64)>,
}

impl Salvage {
    /// Both directions and the properties of one type.
    pub(super) fn relationships(&mut self, rel_type: TypeId) -> Result<()> {
        let before = self.reservation.bytes();
        let forward = self.forward(rel_type)?;
        let mut sorter = Sorter {
            out: self.spill.owner(),
            room: (self.snapshot.cache().budget().limit() / SORT_SHARE / 24).max(1024) as usize,
            reservation: self.snapshot.cache().budget().empty_reservation("salvage"),
            pairs: Vec::new(),
            runs: Vec::new(),
        };
        let mut writer = None;
        let mut count = 0;
        self.for_each(&forward, &mut |salvage, (start, end, _)| {
            let writer = match &mut writer {
                Some(writer) => writer,
                none => none.insert(salvage.writer.adjacency(rel_type)?),
            };
            let new = writer.forward(NodeId(start), NodeId(end))?;
            count += 1;
            sorter.push((end, start, new.0))
        })?;
        let Some(mut writer) = writer else {
            return Ok(());
        };
        for entry in sorter.finish()? {
            let ((end, start, _), _) = entry?;
            writer.reverse(NodeId(end), NodeId(start))?;
        }
        let first = writer.first_relationship();
        writer.finish()?;
        self.report.relationships += count;
        self.relationship_columns(rel_type, &forward, first)?;
        self.reservation.shrink(self.reservation.bytes() - before);
        Ok(())
    }

    /// Finds out which forward lists can be read, and what the reverse lists say of the others.
    fn forward(&mut self, rel_type: TypeId) -> Result<Forward> {
        let name = self.snapshot.catalog().type_name(rel_type);
        let name = name.map_or(String::new(), ToString::to_string);
        let lists = self.snapshot.adjacency(rel_type, Direction::Out)?;
        let into = self.snapshot.adjacency(rel_type, Direction::In)?;
        let (mut failed, mut recovered) = (Vec::new(), Vec::new());
        let mut neighbours = Vec::new();
        let all = self.snapshot.known_nodes();
        for node in all.iter() {
            neighbours.clear();
            if let Err(error) = lists.neighbours(node, &mut neighbours) {
                self.note(&format!("adjacency {name} out"), error, 1)?;
                self.reservation.grow(8)?;
                failed.push(node.0);
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
            let wanted = (starts.iter()).filter(|start| failed.binary_search(start).is_ok());
            for start in wanted {
                self.reservation.grow(16)?;
                if let (Some(start), Some(end)) = (self.new_id(*start), self.new_id(node.0)) {
                    recovered.push((start, end));
                }
            }
        }
        recovered.sort_unstable();
        Ok(Forward {
            lists,
            failed,
            recovered,
        })
    }

    /// Calls `visit` with new start, new end and old id of every relationship, by start and end;
    /// those that were put together from reverse lists have lost their ids.
    fn for_each(
        &mut self,
        forward: &Forward,
        visit: &mut dyn FnMut(&mut Salvage, Copied) -> Result<()>,
    ) -> Result<()> {
        let mut neighbours = Vec::new();
        let all = self.snapshot.known_nodes();
        for node in all.iter() {
            let Some(start) = self.new_id(node.0) else {
                continue;
            };
            if forward.failed.binary_search(&node.0).is_ok() {
                let from = forward.recovered.partition_point(|pair| pair.0 < start);
                let pairs = forward.recovered[from..].iter();
                for (_, end) in pairs.take_while(|pair| pair.0 == start) {
                    visit(self, (start, *end, None))?;
                }
                continue;
            }
            neighbours.clear();
            forward.lists.neighbours(node, &mut neighbours)?;
            for it in &neighbours {
                if let Some(end) = self.new_id(it.node.0) {
                    visit(self, (start, end, Some(it.relationship.0)))?;
                }
            }
        }
        Ok(())
    }

    /// The properties; new ids count from `first` in the order of the forward lists.
    fn relationship_columns(
        &mut self,
        rel_type: TypeId,
        forward: &Forward,
        first: u64,
    ) -> Result<()> {
        for key in 0..self.snapshot.catalog().keys().len() as u32 {
            let key = KeyId(key);
            let Some(column) = self.snapshot.relationship_column(rel_type, key) else {
                continue;
            };
            let name = self.snapshot.catalog().type_name(rel_type);
            let name = name.map_or("?", |name| name);
            let place = format!("relationship property {name}.{}", self.key_name(key));
            let mut writer = self.writer.relationship_column(rel_type, key)?;
            let (mut old, mut new) = (Vec::with_capacity(CHUNK), Vec::with_capacity(CHUNK));
            let mut next = first;
            let mut flush = |salvage: &mut Salvage, old: &mut Vec<u64>, new: &mut Vec<u64>| {
                let values = salvage.values(&place, &column, old)?;
                for (new, value) in new.iter().zip(values).filter(|(_, it)| !it.is_null()) {
                    writer.push(*new, &value)?;
                    salvage.report.values += 1;
                }
                old.clear();
                new.clear();
                Ok::<(), crate::Error>(())
            };
            self.for_each(forward, &mut |salvage, (_, _, id)| {
                if let Some(id) = id {
                    old.push(id);
                    new.push(next);
                }
                next += 1;
                match old.len() {
                    CHUNK => flush(salvage, &mut old, &mut new),
                    _ => Ok(()),
                }
            })?;
            flush(self, &mut old, &mut new)?;
            writer.finish()?;
        }
        Ok(())
    }
}

/// Sorts pairs in temporary pages.
struct Sorter {
    out: TemporaryPages,
    /// Pairs sorted in memory.
    room: usize,
    reservation: Reservation,
    pairs: Vec<EdgeKey>,
    runs: Vec<Arc<SpilledRun<EdgeKey, Change>>>,
}

impl Sorter {
    fn push(&mut self, pair: EdgeKey) -> Result<()> {
        if self.pairs.len() == self.pairs.capacity() {
            let more = self.pairs.len().clamp(1024, self.room);
            self.reservation
                .grow((more * size_of::<EdgeKey>()) as u64)?;
            self.pairs.reserve_exact(more);
        }
        self.pairs.push(pair);
        match self.pairs.len() < self.room {
            true => Ok(()),
            false => self.end_run(),
        }
    }

    fn end_run(&mut self) -> Result<()> {
        self.pairs.sort_unstable();
        let mut writer = SealedWriter::new(&self.out);
        for pair in self.pairs.drain(..) {
            writer.push(&pair, &Change::Added)?;
        }
        let run = writer.finish()?;
        self.reservation.grow(run.memory_bytes())?;
        self.runs.push(Arc::new(run));
        Ok(())
    }

    fn finish(&mut self) -> Result<Entries<'static, EdgeKey, Change>> {
        self.end_run()?;
        let mut streams: Vec<LayerEntries<'static, EdgeKey, Change>> = Vec::new();
        for run in &self.runs {
            streams.push(Box::new(run.range(Bound::Unbounded)?));
        }
        Ok(merge(streams))
    }
}
