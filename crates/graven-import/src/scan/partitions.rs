//! Resolves ids when not all of them fit in memory: a partitioned join through scratch files.
//!
//! # How it works
//! Ids are spread over partitions by a hash of the id alone (so that equal ids of two spaces meet),
//! each small enough to be held at once. What is to be resolved is spread the same way by the id it
//! waits for. First pass: partition by partition the ids are loaded and the first end of each
//! relationship becomes an ordinal; the relationship goes on to the partition of its second end.
//! Second pass: likewise for the second ends. Nodes made by reference are added to their partition,
//! so the second pass finds what the first one made.
//!
//! # Costs
//! Every relationship is written and read twice, every id written once and read twice.
//!
//! # Source
//! Masaru Kitsuregawa, Hidehiko Tanaka, Tohru Moto-oka: Application of Hash to Data Base Machine
//! and Its Architecture, New Generation Computing 1983 (GRACE join).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Scan;
use crate::error::unknown_id;
use crate::error::{ImportError, RowError, shown};
use crate::ids::{Id, Ids};
use crate::progress::Unit;
use crate::scratch::Scratch;
use crate::spool::Spool;
use crate::value::{put_varint, take_varint};

const PARTITIONS_MAX: u64 = 128;

/// Where a row stands, to report it later.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowPosition {
    pub(super) list: TableList,
    pub(super) table: usize,
    pub(super) file: usize,
    pub(super) column: usize,
    pub(super) line: u64,
}

/// Which list of the plan a table is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableList {
    Nodes,
    Relationships,
    Lists,
}

/// What happens once an id is resolved.
#[derive(Debug, Clone, Copy)]
pub(super) enum Then<'a> {
    /// It is the start; the end waits for this id of this space, in this column.
    Start {
        rel_type: usize,
        end_space: usize,
        end_column: usize,
        end: Id<'a>,
    },
    /// It is the other end of a relationship that has one.
    Other {
        rel_type: usize,
        ordinal: u64,
        is_start: bool,
    },
    /// It gets an element of a list property.
    Element { key: usize, number: u64 },
}

/// Ids and what waits for them, spread over scratch files.
#[derive(Debug)]
pub(super) struct Partitions {
    /// Records (ordinal, space, place and id).
    ids: Vec<Spool>,
    /// Records (space, -, place, id, what then, bytes), for the two passes.
    waiting: [Vec<Spool>; 2],
    pub(super) facts: IdFacts,
}

/// What has to be known of ids that are no longer in memory.
#[derive(Debug, Default)]
pub(crate) struct IdFacts {
    pub(crate) has_text: Vec<bool>,
    pub(crate) overlaps: BTreeSet<(usize, usize)>,
}

fn put_id(out: &mut Vec<u8>, id: Id<'_>) {
    match id {
        Id::Number(number) => {
            put_varint(out, 0);
            put_varint(out, (number as u64).rotate_left(1));
        }
        Id::Text(text) => {
            put_varint(out, text.len() as u64);
            out.extend_from_slice(text);
        }
    }
}

fn take_id<'a>(bytes: &mut &'a [u8]) -> Id<'a> {
    match take_varint(bytes) as usize {
        0 => Id::Number(take_varint(bytes).rotate_right(1) as i64),
        len => {
            let (text, rest) = bytes.split_at(len);
            *bytes = rest;
            Id::Text(text)
        }
    }
}

impl RowPosition {
    fn put(self, out: &mut Vec<u8>) {
        let numbers = [
            self.list as u64,
            self.table as u64,
            self.file as u64,
            self.column as u64,
        ];
        numbers.into_iter().for_each(|n| put_varint(out, n));
        put_varint(out, self.line);
    }

    fn take(bytes: &mut &[u8]) -> Self {
        let mut number = || take_varint(bytes) as usize;
        let list = match number() {
            0 => TableList::Nodes,
            1 => TableList::Relationships,
            _ => TableList::Lists,
        };
        let [table, file, column] = [(); 3].map(|()| number());
        Self {
            list,
            table,
            file,
            column,
            line: number() as u64,
        }
    }
}

impl Partitions {
    /// Takes the ids met so far; `expected` bytes of ids should fit in parts of `part_bytes`.
    pub(super) fn new(
        ids: Ids,
        expected: u64,
        part_bytes: u64,
        scratch: &Arc<Scratch>,
    ) -> Result<Self, ImportError> {
        let count = expected
            .div_ceil(part_bytes.max(1))
            .clamp(2, PARTITIONS_MAX);
        let spools = || (0..count).map(|_| Spool::new(scratch)).collect::<Vec<_>>();
        let facts = IdFacts {
            has_text: vec![false; ids.spaces()],
            overlaps: BTreeSet::new(),
        };
        let mut partitions = Self {
            ids: spools(),
            waiting: [spools(), spools()],
            facts,
        };
        let unknown = RowPosition {
            list: TableList::Nodes,
            table: 0,
            file: 0,
            column: 0,
            line: 0,
        };
        ids.drain(|space, id, ordinal| partitions.insert(space, id, ordinal, unknown))?;
        Ok(partitions)
    }

    /// The partition of an id.
    fn of(&self, id: Id<'_>) -> usize {
        let mixed = match id {
            Id::Number(number) => number as u64,
            Id::Text(text) => text.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| {
                (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)
            }),
        };
        let hash = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(hash) * self.ids.len() as u128) >> 64) as usize
    }

    /// Remembers an id; whether it is there already shows when its partition is loaded.
    pub(super) fn insert(
        &mut self,
        space: usize,
        id: Id<'_>,
        ordinal: u32,
        place: RowPosition,
    ) -> Result<(), ImportError> {
        self.facts.has_text[space] |= matches!(id, Id::Text(_));
        let mut bytes = Vec::with_capacity(32);
        place.put(&mut bytes);
        put_id(&mut bytes, id);
        let part = self.of(id);
        self.ids[part].push(u64::from(ordinal), space as u64, &bytes)
    }

    /// Puts something aside until `id` is resolved in the given pass.
    pub(super) fn wait(
        &mut self,
        pass: usize,
        space: usize,
        id: Id<'_>,
        place: RowPosition,
        then: Then<'_>,
        payload: &[u8],
    ) -> Result<(), ImportError> {
        let mut bytes = Vec::with_capacity(48 + payload.len());
        place.put(&mut bytes);
        put_id(&mut bytes, id);
        match then {
            Then::Start {
                rel_type,
                end_space,
                end_column,
                end,
            } => {
                [0, rel_type, end_space, end_column]
                    .into_iter()
                    .for_each(|n| put_varint(&mut bytes, n as u64));
                put_id(&mut bytes, end);
            }
            Then::Other {
                rel_type,
                ordinal,
                is_start,
            } => {
                let numbers = [1 + u64::from(is_start), rel_type as u64, ordinal];
                numbers.into_iter().for_each(|n| put_varint(&mut bytes, n));
            }
            Then::Element { key, number } => {
                [3, key as u64, number]
                    .into_iter()
                    .for_each(|n| put_varint(&mut bytes, n));
            }
        }
        bytes.extend_from_slice(payload);
        let part = self.of(id);
        self.waiting[pass][part].push(space as u64, 0, &bytes)
    }
}

fn take_then<'a>(bytes: &mut &'a [u8]) -> Then<'a> {
    let kind = take_varint(bytes);
    let first = take_varint(bytes) as usize;
    match kind {
        0 => {
            let (end_space, end_column) =
                (take_varint(bytes) as usize, take_varint(bytes) as usize);
            Then::Start {
                rel_type: first,
                end_space,
                end_column,
                end: take_id(bytes),
            }
        }
        1 | 2 => {
            let is_start = kind == 2;
            Then::Other {
                rel_type: first,
                ordinal: take_varint(bytes),
                is_start,
            }
        }
        _ => Then::Element {
            key: first,
            number: take_varint(bytes),
        },
    }
}

impl Scan<'_, '_> {
    /// Resolves all that waits; afterwards only facts about the ids are left.
    pub(super) fn resolve_partitions(&mut self) -> Result<(), ImportError> {
        let Some(mut partitions) = self.partitions.take() else {
            return Ok(());
        };
        let count = partitions.ids.len();
        self.meter
            .phase("resolving ids", 2 * count as u64, Unit::Values)?;
        for pass in 0..2 {
            for part in 0..count {
                self.ids = Arc::new(self.load(&mut partitions, part, pass)?);
                let empty = Spool::new(self.staged.scratch());
                let waiting = std::mem::replace(&mut partitions.waiting[pass][part], empty);
                let mut reader = waiting.reader();
                while let Some((space, _, bytes)) = reader.next()? {
                    self.resolve_waiting(&mut partitions, part, space as usize, bytes)?;
                }
                self.meter.at((pass * count + part + 1) as u64)?;
            }
        }
        self.ids = Arc::new(Ids::new(self.plan.spaces.len()));
        self.facts = Some(partitions.facts);
        Ok(())
    }

    /// Loads the ids of a partition; the first time repeated ids and overlaps are found.
    fn load(
        &mut self,
        partitions: &mut Partitions,
        part: usize,
        pass: usize,
    ) -> Result<Ids, ImportError> {
        let mut ids = Ids::new(self.plan.spaces.len());
        let mut reader = partitions.ids[part].reader();
        while let Some((ordinal, space, mut bytes)) = reader.next()? {
            let (place, space) = (RowPosition::take(&mut bytes), space as usize);
            let id = take_id(&mut bytes);
            if !ids.insert(space, id, ordinal as u32) {
                let name = &self.plan.spaces[space].name;
                let reason = format!(
                    "the id occurs twice among the nodes of '{name}': ids must be unique there \
                     (rows with repeated ids can be skipped only when the ids fit in memory: \
                     raise --memory)"
                );
                return Err(ImportError::Row(Box::new(self.row_at(place, id, reason))));
            }
            if pass == 0 {
                note_overlaps(&mut partitions.facts, &ids, space, id);
            }
        }
        Ok(ids)
    }

    fn resolve_waiting(
        &mut self,
        partitions: &mut Partitions,
        part: usize,
        space: usize,
        mut bytes: &[u8],
    ) -> Result<(), ImportError> {
        let place = RowPosition::take(&mut bytes);
        let id = take_id(&mut bytes);
        let then = take_then(&mut bytes);
        let nodes = self.staged.nodes;
        let Some(ordinal) = self.resolve(space, id)? else {
            let reason = unknown_id(&self.plan.spaces[space].name);
            let row = self.row_at(place, id, reason);
            return self.bad.take(row);
        };
        if self.staged.nodes > nodes {
            note_overlaps(&mut partitions.facts, &self.ids, space, id);
            debug_assert_eq!(partitions.of(id), part);
            partitions.insert(space, id, ordinal, place)?;
        }
        let ordinal = u64::from(ordinal);
        match then {
            Then::Start {
                rel_type,
                end_space,
                end_column,
                end,
            } => {
                let place = RowPosition {
                    column: end_column,
                    ..place
                };
                let then = Then::Other {
                    rel_type,
                    ordinal,
                    is_start: true,
                };
                partitions.wait(1, end_space, end, place, then, bytes)
            }
            Then::Other {
                rel_type,
                ordinal: other,
                is_start: true,
            } => self.keep_relationship(rel_type, other, ordinal, bytes),
            Then::Other {
                rel_type,
                ordinal: other,
                is_start: false,
            } => self.keep_relationship(rel_type, ordinal, other, bytes),
            Then::Element { key, number } => self.staged.columns[key]
                .elements
                .push(ordinal, number, bytes),
        }
    }

    fn row_at(&self, place: RowPosition, id: Id<'_>, reason: String) -> RowError {
        let table = match place.list {
            TableList::Nodes => &self.plan.nodes[place.table].table,
            TableList::Relationships => &self.plan.relationships[place.table].table,
            TableList::Lists => &self.plan.lists[place.table].table,
        };
        let value = match id {
            Id::Number(number) => number.to_string(),
            Id::Text(text) => shown(text),
        };
        RowError {
            file: table.files[place.file].path().to_path_buf(),
            line: place.line,
            column: table.header[place.column].clone(),
            value,
            reason,
        }
    }
}

fn note_overlaps(facts: &mut IdFacts, ids: &Ids, space: usize, id: Id<'_>) {
    for other in (0..ids.spaces()).filter(|o| *o != space) {
        if ids.get(other, id).is_some() {
            facts.overlaps.insert((space.min(other), space.max(other)));
        }
    }
}
