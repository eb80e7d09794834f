//! Adjacency segments, both directions against each other, and relationship ids against the stores
//! that tell where relationships created after the load are.

use super::Check;
use crate::Result;
use crate::adjacency::decode::for_each_wide;
use crate::adjacency::segment::{RawList, Segment};
use crate::adjacency::writer::pair_hash;
use crate::bytes::{Decoded, Malformed};
use crate::catalog::{RelationshipPart, StoreKind};
use crate::directory::SegmentEntry;
use crate::ids::{Direction, TypeId};
use crate::labels::LabelRuns;
use crate::pages::padded_payload;
use graven_pagecache::PageKind;
use graven_types::PropertyValue;
use std::ops::{ControlFlow, Range};

const KIND: PageKind = PageKind::Adjacency;
/// Relationships compared at once.
const BATCH: u64 = 4096;

/// What a pass over some lists adds up.
#[derive(Default)]
struct Sums {
    relationships: u64,
    hash: u64,
    /// Relationships created after the load, of forward lists.
    later: Later,
}

/// What the lists of a type in one direction add up to.
#[derive(Default)]
pub(super) struct Compared {
    sums: Sums,
    /// A segment could not be read, which is reported with its store: nothing can be compared.
    unread: bool,
}

impl Compared {
    /// Takes what other segments add up to.
    pub(super) fn add(&mut self, other: Compared) {
        self.unread |= other.unread;
        self.sums.add(other.sums);
    }
}

impl Sums {
    fn add(&mut self, other: Sums) {
        self.relationships += other.relationships;
        self.hash = self.hash.wrapping_add(other.hash);
        self.later = self.later.with(other.later);
    }
}

/// Relationships created after the load: how many, and a hash over their ids, types and ends.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Later {
    count: u64,
    hash: u64,
}

impl Later {
    fn add(&mut self, id: u64, rel_type: TypeId, start: u64, end: u64) {
        let ends = pair_hash(start, end);
        self.count += 1;
        self.hash = (self.hash).wrapping_add(pair_hash(id, ends ^ u64::from(rel_type.0)));
    }

    /// Both together.
    pub(super) fn with(self, other: Later) -> Later {
        Later {
            count: self.count + other.count,
            hash: self.hash.wrapping_add(other.hash),
        }
    }
}

/// A direction while it is checked.
#[derive(Clone)]
struct Walk {
    rel_type: TypeId,
    direction: Direction,
    /// Ids of the bulk load.
    loaded: Range<u64>,
}

impl Check<'_> {
    /// Relationships of the segment.
    pub(super) fn adjacency_segment(
        &mut self,
        of: (TypeId, Direction),
        entry: &SegmentEntry,
        end: u64,
    ) -> Result<u64> {
        let mut sums = Sums::default();
        let read = self.lists(&self.walk_of(of), entry, end, &mut sums);
        let (relationships, unread) = (sums.relationships, read.is_err());
        let found = Compared { sums, unread };
        self.lists.entry(of).or_default().add(found);
        read.map(|()| relationships)
    }

    fn walk_of(&self, (rel_type, direction): (TypeId, Direction)) -> Walk {
        let mut extents = self.root.catalog.extents.iter();
        let loaded = extents.find(|extent| extent.rel_type == rel_type);
        Walk {
            rel_type,
            direction,
            loaded: loaded.map_or(0..0, |extent| extent.first..extent.first + extent.count),
        }
    }

    fn lists(&mut self, of: &Walk, entry: &SegmentEntry, end: u64, sums: &mut Sums) -> Result<()> {
        let pages = &self.root.pages;
        let pin = pages.pin(entry.page, KIND)?;
        let segment = Segment::read(padded_payload(&pin), pin.len());
        let segment = pages.checked(entry.page, KIND, segment)?;
        let placed = segment.first_node() == entry.first && segment.end_node() <= end;
        let ids = match of.direction {
            _ if segment.is_head() => true,
            Direction::In => segment.run_count() == 0,
            Direction::Out => segment
                .first_id_within(&of.loaded)
                .is_none_or(|first| first == entry.extra),
        };
        if !placed || !ids {
            let what = format!("segment does not fit its entry in the directory ({entry:?})");
            return pages.checked(entry.page, KIND, Err(Malformed(what)));
        }
        if !segment.is_head() {
            let labels = &self.root.labels;
            let limit = self.root.catalog.next_node;
            return pages.checked(entry.page, KIND, walk(&segment, of, labels, limit, sums));
        }
        self.parts(of, entry, &segment, sums)
    }

    /// The parts of a long list.
    fn parts(
        &mut self,
        of: &Walk,
        entry: &SegmentEntry,
        head: &Segment<'_>,
        sums: &mut Sums,
    ) -> Result<()> {
        let mut here = Sums::default();
        let mut last = 0;
        for index in 0..head.part_count() {
            let part = self
                .root
                .pages
                .checked(entry.page, KIND, head.part(index))?;
            self.page(part.page)?;
            let pages = &self.root.pages;
            let pin = pages.pin(part.page, KIND)?;
            let segment = Segment::read(padded_payload(&pin), pin.len());
            let segment = pages.checked(part.page, KIND, segment)?;
            let fits = part.before == here.relationships
                && part.first_neighbour >= last
                && segment.first_node() == entry.first
                && segment.end_node() == entry.first + 1
                && segment
                    .first_id_within(&of.loaded)
                    .is_none_or(|first| first >= entry.extra);
            if !fits {
                let what = format!(
                    "part {index} of the list of node {} does not fit",
                    entry.first
                );
                return pages.checked(entry.page, KIND, Err(Malformed(what)));
            }
            last = part.first_neighbour;
            let limit = self.root.catalog.next_node;
            let walked = walk(&segment, of, &self.root.labels, limit, &mut here);
            pages.checked(part.page, KIND, walked)?;
        }
        if here.relationships != head.relationships() {
            let what = format!(
                "{} relationships in the parts of node {}",
                here.relationships, entry.first
            );
            return self
                .root
                .pages
                .checked(entry.page, KIND, Err(Malformed(what)));
        }
        sums.add(here);
        Ok(())
    }

    /// Both directions of a type hold the same relationships. Gives those created after the load,
    /// `None` if the type cannot be read.
    pub(super) fn directions(&mut self, rel_type: TypeId) -> Option<Later> {
        let directions = [Direction::Out, Direction::In];
        let found = directions.map(|d| self.lists.remove(&(rel_type, d)).unwrap_or_default());
        if found.iter().any(|found| found.unread) {
            return None;
        }
        let [out, into] = found.map(|found| found.sums);
        let place = self
            .root
            .catalog
            .store_name(StoreKind::Adjacency(rel_type, Direction::Out));
        let known = self.root.catalog.statistics.types[rel_type.0 as usize].relationships;
        if out.relationships != into.relationships || out.hash != into.hash {
            let what = format!(
                "{} relationships forward and {} in reverse are not the same ones",
                out.relationships, into.relationships
            );
            self.problem(place, what);
        } else if out.relationships != known {
            let what = format!(
                "{} relationships, the statistics say {known}",
                out.relationships
            );
            self.problem(place, what);
        }
        Some(out.later)
    }

    /// The stores of types, starts and ends say the same of relationships created after the load as
    /// the lists, which have `listed` of them.
    pub(super) fn later_relationships(&mut self, listed: Later) -> Result<()> {
        let part = |part| self.root.column(StoreKind::Relationships(part));
        let columns = [
            part(RelationshipPart::Type),
            part(RelationshipPart::Start),
            part(RelationshipPart::End),
        ];
        let mut told = Later::default();
        if let [Some(types), Some(starts), Some(ends)] = &columns {
            let extents = self.root.catalog.extents.iter();
            let first = extents.map(|extent| extent.first + extent.count).max();
            let limit = self.root.catalog.next_relationship;
            let mut next = first.unwrap_or(0);
            while next < limit {
                let ids: Vec<u64> = (next..limit.min(next + BATCH)).collect();
                next += BATCH;
                let mut values = Vec::new();
                for column in [types, starts, ends] {
                    if column.gather(&ids, &mut values).is_err() {
                        // Reported with its store already.
                        return Ok(());
                    }
                }
                for (at, id) in ids.iter().enumerate() {
                    let value = |column: usize| match values[column * ids.len() + at] {
                        PropertyValue::Integer(value) => Some(value as u64),
                        _ => None,
                    };
                    if let (Some(of), Some(start), Some(end)) = (value(0), value(1), value(2)) {
                        told.add(*id, TypeId(of as u32), start, end);
                    }
                }
            }
        }
        if told != listed {
            let what = format!(
                "{} relationships created after the load are told where they are, the lists have \
                    {}, or others",
                told.count, listed.count
            );
            self.problem("relationship ends", what);
        }
        Ok(())
    }
}

/// Adds up the lists of a segment; checks that their nodes and neighbours exist.
fn walk(
    segment: &Segment<'_>,
    of: &Walk,
    labels: &LabelRuns,
    limit: u64,
    sums: &mut Sums,
) -> Decoded<()> {
    segment.for_each_list(|node, list: RawList<'_>, before| {
        let exists = |node| labels.set_of(crate::NodeId(node)).is_some();
        let mut missing = (!exists(node)).then_some(node);
        let _ = for_each_wide(list, limit, &mut |block| {
            for neighbour in block {
                missing = missing.or((!exists(*neighbour)).then_some(*neighbour));
                let (start, end) = match of.direction {
                    Direction::Out => (node, *neighbour),
                    Direction::In => (*neighbour, node),
                };
                sums.hash = sums.hash.wrapping_add(pair_hash(start, end));
            }
            ControlFlow::Continue(())
        })?;
        sums.relationships += list.count as u64;
        if of.direction == Direction::Out {
            ids(segment, of, (node, list, before), &mut sums.later)?;
        }
        match missing {
            None => Ok(()),
            Some(missing) => Err(Malformed(format!(
                "list of node {node}: node {missing} does not exist"
            ))),
        }
    })
}

/// Checks the ids of a forward list and adds up those given after the load.
fn ids(
    segment: &Segment<'_>,
    of: &Walk,
    (node, list, before): (u64, RawList<'_>, u64),
    later: &mut Later,
) -> Decoded<()> {
    let mut position = before;
    let mut last = (0, None);
    let mut wrong = None;
    let mut run = (0, 0, 0);
    let _ = for_each_wide(list, u64::MAX, &mut |block| {
        for neighbour in block {
            if position >= run.1 {
                run = match segment.run_at(position) {
                    Ok(run) => run,
                    Err(malformed) => {
                        wrong = Some(malformed);
                        return ControlFlow::Break(());
                    }
                };
            }
            let id = run.2 + (position - run.0);
            if !of.loaded.contains(&id) {
                later.add(id, of.rel_type, node, *neighbour);
            }
            if last.0 == *neighbour && last.1.is_some_and(|before| before >= id) {
                wrong = Some(Malformed(format!(
                    "list of node {node}: parallel relationships {id} after {:?}",
                    last.1
                )));
            }
            last = (*neighbour, Some(id));
            position += 1;
        }
        ControlFlow::Continue(())
    })?;
    wrong.map_or(Ok(()), Err)
}
