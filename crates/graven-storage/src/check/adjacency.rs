//! Adjacency segments, and both directions against each other.

use super::Check;
use crate::Result;
use crate::adjacency::decode::for_each_wide;
use crate::adjacency::segment::{RawList, Segment};
use crate::adjacency::writer::pair_hash;
use crate::bytes::{Decoded, Malformed};
use crate::catalog::StoreKind;
use crate::directory::SegmentEntry;
use crate::ids::{Direction, TypeId};
use crate::labels::LabelRuns;
use crate::pages::padded_payload;
use graven_pagecache::PageKind;
use std::ops::ControlFlow;

const KIND: PageKind = PageKind::Adjacency;

/// What a pass over some lists adds up.
#[derive(Default)]
struct Sums {
    relationships: u64,
    hash: u64,
}

impl Check<'_> {
    /// Relationships of the segment.
    pub(super) fn adjacency_segment(
        &mut self,
        direction: Direction,
        entry: &SegmentEntry,
        end: u64,
    ) -> Result<u64> {
        let mut sums = Sums::default();
        self.lists(direction, entry, end, &mut sums, true)?;
        Ok(sums.relationships)
    }

    fn lists(
        &mut self,
        direction: Direction,
        entry: &SegmentEntry,
        end: u64,
        sums: &mut Sums,
        count_pages: bool,
    ) -> Result<()> {
        let pages = &self.root.pages;
        let pin = pages.pin(entry.page, KIND)?;
        let segment = Segment::read(padded_payload(&pin), pin.len());
        let segment = pages.checked(entry.page, KIND, segment)?;
        let placed = segment.first_node() == entry.first && segment.end_node() <= end;
        let ids = match direction {
            Direction::In => segment.is_head() || segment.run_count() == 0,
            Direction::Out => segment.is_head() || segment.relationship_id(0) == Ok(entry.extra),
        };
        if !placed || !ids {
            let what = format!("segment does not fit its entry in the directory ({entry:?})");
            return pages.checked(entry.page, KIND, Err(Malformed(what)));
        }
        if !segment.is_head() {
            let labels = &self.root.labels;
            let limit = self.root.catalog.next_node;
            return pages.checked(
                entry.page,
                KIND,
                walk(&segment, direction, labels, limit, sums),
            );
        }
        self.parts(direction, entry, &segment, sums, count_pages)
    }

    /// The parts of a long list.
    fn parts(
        &mut self,
        direction: Direction,
        entry: &SegmentEntry,
        head: &Segment<'_>,
        sums: &mut Sums,
        count_pages: bool,
    ) -> Result<()> {
        let mut here = Sums::default();
        let mut last = 0;
        for index in 0..head.part_count() {
            let part = self
                .root
                .pages
                .checked(entry.page, KIND, head.part(index))?;
            if count_pages {
                self.page(part.page)?;
            }
            let pages = &self.root.pages;
            let pin = pages.pin(part.page, KIND)?;
            let segment = Segment::read(padded_payload(&pin), pin.len());
            let segment = pages.checked(part.page, KIND, segment)?;
            let fits = part.before == here.relationships
                && part.first_neighbour >= last
                && segment.first_node() == entry.first
                && segment.end_node() == entry.first + 1
                && (direction == Direction::In
                    || segment.relationship_id(0) == Ok(entry.extra + part.before));
            if !fits {
                let what = format!(
                    "part {index} of the list of node {} does not fit",
                    entry.first
                );
                return pages.checked(entry.page, KIND, Err(Malformed(what)));
            }
            last = part.first_neighbour;
            let limit = self.root.catalog.next_node;
            let walked = walk(&segment, direction, &self.root.labels, limit, &mut here);
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
        sums.relationships += here.relationships;
        sums.hash = sums.hash.wrapping_add(here.hash);
        Ok(())
    }

    /// Both directions of a type hold the same relationships.
    pub(super) fn directions(&mut self, rel_type: TypeId) -> Result<()> {
        let mut sums = [Sums::default(), Sums::default()];
        let directions = [Direction::Out, Direction::In];
        let place = self
            .root
            .catalog
            .store_name(StoreKind::Adjacency(rel_type, Direction::Out));
        for (sums, direction) in sums.iter_mut().zip(directions) {
            let adjacency = self.root.adjacency(rel_type, direction);
            let mut entries: Vec<SegmentEntry> = Vec::new();
            let read = adjacency.for_each_segment(|located| {
                entries.push(SegmentEntry {
                    first: located.first,
                    page: located.page,
                    extra: located.extra,
                });
                Ok(true)
            });
            if read.is_err() {
                return self.note(&place, read);
            }
            for (at, entry) in entries.iter().enumerate() {
                let end = entries.get(at + 1).map_or(u64::MAX, |next| next.first);
                if self.lists(direction, entry, end, sums, false).is_err() {
                    // Reported with its store already; without this segment there is nothing to compare.
                    return Ok(());
                }
            }
        }
        let [out, into] = sums;
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
        Ok(())
    }
}

/// Adds up the lists of a segment; checks that their nodes and neighbours exist.
fn walk(
    segment: &Segment<'_>,
    direction: Direction,
    labels: &LabelRuns,
    limit: u64,
    sums: &mut Sums,
) -> Decoded<()> {
    segment.for_each_list(|node, list: RawList<'_>, _| {
        let exists = |node| labels.set_of(crate::NodeId(node)).is_some();
        let mut missing = (!exists(node)).then_some(node);
        let _ = for_each_wide(list, limit, &mut |block| {
            for neighbour in block {
                missing = missing.or((!exists(*neighbour)).then_some(*neighbour));
                let (start, end) = match direction {
                    Direction::Out => (node, *neighbour),
                    Direction::In => (*neighbour, node),
                };
                sums.hash = sums.hash.wrapping_add(pair_hash(start, end));
            }
            ControlFlow::Continue(())
        })?;
        sums.relationships += list.count as u64;
        match missing {
            None => Ok(()),
            Some(missing) => Err(Malformed(format!(
                "list of node {node}: node {missing} does not exist"
            ))),
        }
    })
}
