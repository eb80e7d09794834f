//! Sorts what is staged into the order the storage writer takes.
//!
//! # Costs
//! A job is sorted in `Source::sorter_bytes`; `jobs` says how many at a time.

use std::collections::BTreeSet;
use std::sync::Arc;

use graven_storage::{PropertyValue, key_bytes};

use crate::distribute::{Distributor, Weights};
use crate::error::ImportError;
use crate::order::Order;
use crate::plan::{IndexPlan, Plan};
use crate::progress::Steps;
use crate::scratch::Scratch;
use crate::sort::{Key, Sorter};
use crate::sorted::Sorted;
use crate::spool::Spool;
use crate::staged::{Origin, Staged};
use crate::value::{decode, put_text};

/// Relationships of which the ends are looked up together, and bytes of their properties: no other
/// one joins them then.
const AT_ONCE: usize = 256;
const BYTES: usize = 64 << 10;
/// Bytes of a relationship without properties, about.
const PAIR_BYTES: u64 = 8;

/// One store to sort and to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// A node column: `[final id, element]`, value.
    Column(usize),
    /// A type: `[start, end]`, properties.
    Forward(usize),
    /// A type: `[end, start]`, nothing.
    Reverse(usize),
    /// All index keys, see `IndexEntry`.
    Indexes,
}

/// What the jobs read.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) staged: &'a Staged,
    pub(crate) order: &'a Order,
    /// How many relationships each node has.
    pub(crate) degrees: &'a Weights,
    /// Whether the ids of a space are kept as text though some are written as numbers.
    pub(crate) text_spaces: &'a [bool],
    pub(crate) scratch: &'a Arc<Scratch>,
    /// Bytes for one sorter.
    pub(crate) sorter_bytes: u64,
}

impl Source<'_> {
    /// The records of a job, to be sorted while they are read.
    pub(crate) fn sorted(&self, job: Job, steps: &Steps) -> Result<Sorted, ImportError> {
        match job {
            Job::Column(key) => self.column(key, steps),
            Job::Forward(rel_type) => {
                let spool = &self.staged.relationships[rel_type];
                let mut sorter = self.distributor(self.degrees, spool.records(), spool.bytes());
                self.relationships(rel_type, true, steps, |key, properties| {
                    sorter.push(key, properties)
                })?;
                Ok(sorter.finish().into())
            }
            Job::Reverse(rel_type) => {
                let records = self.staged.relationships[rel_type].records();
                let mut sorter = self.distributor(self.degrees, records, records * PAIR_BYTES);
                self.relationships(rel_type, false, steps, |[start, end], _| {
                    sorter.push([end, start], &[])
                })?;
                Ok(sorter.finish().into())
            }
            Job::Indexes => {
                let mut sorter = Sorter::new(self.scratch, self.sorter_bytes);
                self.indexes(&mut sorter, steps)?;
                Ok(sorter.finish()?.into())
            }
        }
    }

    /// How many records a job reads.
    pub(crate) fn records(&self, job: Job) -> u64 {
        let of_column = |key: usize| {
            let column = &self.staged.columns[key];
            column.values.records() + column.elements.records()
        };
        match job {
            Job::Column(key) => of_column(key),
            Job::Forward(rel_type) | Job::Reverse(rel_type) => {
                self.staged.relationships[rel_type].records()
            }
            Job::Indexes => self.indexed_keys().into_iter().map(of_column).sum(),
        }
    }

    /// Sorts records by nodes.
    fn distributor(&self, weights: &Weights, records: u64, bytes: u64) -> Distributor {
        Distributor::new(self.scratch, self.sorter_bytes, weights, records, bytes)
    }

    fn id(&self, ordinal: u64) -> u64 {
        u64::from(self.order.ids[ordinal as usize])
    }

    /// Gives `take` every relationship of a type: start and end by their final ids, and properties
    /// if it wants them.
    ///
    /// The ids of a block are looked up one right after the other: they lie anywhere in memory, and
    /// look-ups that do not depend on one another wait together.
    fn relationships(
        &self,
        rel_type: usize,
        with_properties: bool,
        steps: &Steps,
        mut take: impl FnMut(Key, &[u8]) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let mut reader = self.staged.relationships[rel_type].reader();
        let (mut ends, mut lengths, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            while ends.len() < AT_ONCE
                && bytes.len() < BYTES
                && let Some((start, end, properties)) = reader.next()?
            {
                ends.push([start, end]);
                if with_properties {
                    lengths.push(properties.len());
                    bytes.extend_from_slice(properties);
                }
            }
            if ends.is_empty() {
                return Ok(());
            }
            steps.add(ends.len() as u64)?;
            for ordinals in &mut ends {
                *ordinals = ordinals.map(|ordinal| self.id(ordinal));
            }
            let mut rest = &bytes[..];
            let lengths = lengths.drain(..).chain(std::iter::repeat(0));
            for (key, length) in ends.drain(..).zip(lengths) {
                let (properties, behind) = rest.split_at(length);
                take(key, properties)?;
                rest = behind;
            }
            bytes.clear();
        }
    }

    fn column(&self, key: usize, steps: &Steps) -> Result<Sorted, ImportError> {
        let column = &self.staged.columns[key];
        let records = column.values.records() + column.elements.records();
        let bytes = column.values.bytes() + column.elements.bytes();
        let weights = Weights::even(self.staged.nodes);
        let mut sorter = self.distributor(&weights, records, bytes);
        let mut origins = OriginWalk::new(self, key);
        let mut text = Vec::new();
        each(&column.values, steps, |ordinal, _, value| {
            let value = origins.stored(ordinal, value, &mut text);
            sorter.push([self.id(ordinal), 0], value)
        })?;
        each(&column.elements, steps, |ordinal, number, value| {
            sorter.push([self.id(ordinal), number], value)
        })?;
        Ok(sorter.finish().into())
    }

    fn indexed_keys(&self) -> BTreeSet<usize> {
        self.plan.indexes.iter().map(|index| index.key).collect()
    }

    fn indexes(&self, sorter: &mut Sorter, steps: &Steps) -> Result<(), ImportError> {
        for key in self.indexed_keys() {
            let mut origins = OriginWalk::new(self, key);
            let mut labels = LabelWalk::new(self, key)?;
            let (mut text, mut record) = (Vec::new(), Vec::new());
            each(
                &self.staged.columns[key].values,
                steps,
                |ordinal, _, value| {
                    let wanted = labels.indexes_of(ordinal)?;
                    if wanted.is_empty() {
                        return Ok(());
                    }
                    let value = origins.stored(ordinal, value, &mut text);
                    let Some(bytes) = key_bytes(&decode(&mut &*value)) else {
                        return Ok(());
                    };
                    for index in wanted {
                        let key =
                            IndexEntry::put(&mut record, *index, &bytes, self.id(ordinal), value);
                        sorter.push(key, &record)?;
                    }
                    Ok(())
                },
            )?;
        }
        Ok(())
    }
}

fn each(
    spool: &Spool,
    steps: &Steps,
    mut take: impl FnMut(u64, u64, &[u8]) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut reader = spool.reader();
    let mut own = steps.own();
    while let Some((a, b, bytes)) = reader.next()? {
        own.one()?;
        take(a, b, bytes)?;
    }
    Ok(())
}

/// Follows the origins of ascending ordinals, to store ids of mixed spaces as text.
struct OriginWalk<'a> {
    origins: &'a [Origin],
    at: usize,
    /// Per origin: whether numbers of this key become text.
    to_text: Vec<bool>,
}

impl<'a> OriginWalk<'a> {
    fn new(source: &'a Source<'_>, key: usize) -> Self {
        let is_text = |origin: &Origin| {
            let is_text = source.text_spaces.get(origin.space);
            origin.key == Some(key) && is_text.is_some_and(|t| *t)
        };
        let origins = &source.staged.origins[..];
        Self {
            origins,
            at: 0,
            to_text: origins.iter().map(is_text).collect(),
        }
    }

    fn stored<'v>(&mut self, ordinal: u64, value: &'v [u8], text: &'v mut Vec<u8>) -> &'v [u8] {
        while self
            .origins
            .get(self.at + 1)
            .is_some_and(|o| o.first <= ordinal)
        {
            self.at += 1;
        }
        if !self.to_text.get(self.at).is_some_and(|t| *t) {
            return value;
        }
        let PropertyValue::Integer(number) = decode(&mut &*value) else {
            return value;
        };
        text.clear();
        put_text(text, number.to_string().as_bytes());
        text
    }
}

/// Follows the label sets of ascending ordinals, to know which indexes hold a node.
struct LabelWalk<'a> {
    runs: crate::spool::SpoolReader<'a>,
    /// By label set: numbers of the indexes of the key.
    wanted: Vec<Vec<u16>>,
    set: usize,
    /// First ordinal after the current run.
    end: u64,
}

impl<'a> LabelWalk<'a> {
    fn new(source: &'a Source<'_>, key: usize) -> Result<Self, ImportError> {
        let indexes = &source.plan.indexes;
        if indexes.len() > usize::from(u16::MAX) {
            return Err(ImportError::Option(
                "more than 65,535 labels to index".into(),
            ));
        }
        let of_set = |set: &Vec<usize>| {
            let holds = |i: &IndexPlan| i.key == key && set.contains(&i.label);
            (0..indexes.len())
                .filter(|i| holds(&indexes[*i]))
                .map(|i| i as u16)
                .collect()
        };
        let wanted = source.staged.label_sets.iter().map(of_set).collect();
        Ok(Self {
            runs: source.staged.label_runs.reader(),
            wanted,
            set: 0,
            end: 0,
        })
    }

    fn indexes_of(&mut self, ordinal: u64) -> Result<&[u16], ImportError> {
        while ordinal >= self.end {
            let Some((set, count, _)) = self.runs.next()? else {
                return Ok(&[]);
            };
            self.set = set as usize;
            self.end += count;
        }
        Ok(&self.wanted[self.set])
    }
}

/// One index key as sorted: index number, key bytes, node (both big-endian), value, its length.
///
/// Key bytes are never a prefix of one another, so what follows them does not disturb their order.
#[derive(Debug)]
pub(crate) struct IndexEntry {
    pub(crate) index: usize,
    pub(crate) node: u64,
    pub(crate) value: PropertyValue,
}

impl IndexEntry {
    fn put(record: &mut Vec<u8>, index: u16, key: &[u8], node: u64, value: &[u8]) -> [u64; 2] {
        record.clear();
        record.extend_from_slice(&index.to_be_bytes());
        record.extend_from_slice(key);
        record.extend_from_slice(&node.to_be_bytes());
        record.extend_from_slice(value);
        record.extend_from_slice(&(value.len() as u32).to_le_bytes());
        let mut head = [0u8; 16];
        let len = record.len().min(16);
        head[..len].copy_from_slice(&record[..len]);
        let number =
            |at: usize| u64::from_be_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        [number(0), number(8)]
    }

    /// Reads a sorted record.
    pub(crate) fn read(record: &[u8]) -> Self {
        let (body, len) = record.split_at(record.len() - 4);
        let len = u32::from_le_bytes(len.try_into().expect("four bytes")) as usize;
        let (head, mut value) = body.split_at(body.len() - len);
        let node = &head[head.len() - 8..];
        Self {
            index: usize::from(u16::from_be_bytes([head[0], head[1]])),
            node: u64::from_be_bytes(node.try_into().expect("eight bytes")),
            value: decode(&mut value),
        }
    }
}
