//! Streams the sorted graph into the storage writer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graven_io::File;
use graven_storage::{
    ColumnWriter, ForwardWriter, IndexWriter, KeyId, LabelId, NodeId, PropertyValue, ReverseWriter,
    StoreWriter, TypeId, Uniqueness, WriterOptions,
};

use crate::error::ImportError;
use crate::feed::Feed;
use crate::plan::Plan;
use crate::prepare::{IndexEntry, Job, Source, Taken, run};
use crate::progress::{Meter, Unit};
use crate::report::NamedCount;
use crate::scan::Scanned;
use crate::value::{decode, take_varint};

const ENTRIES_PER_REPORT: u64 = 1 << 15;

/// What was written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) relationships: u64,
    pub(crate) labels: Vec<NamedCount>,
    pub(crate) types: Vec<NamedCount>,
    pub(crate) repeated: u64,
}

/// Writes the graph to `file` and syncs it.
pub(crate) fn write(
    file: Arc<dyn File>,
    source: &Source<'_>,
    uniqueness: &[Uniqueness],
    threads: usize,
    meter: &mut Meter<'_>,
) -> Result<Written, ImportError> {
    let staged = source.staged;
    let mut writer = StoreWriter::create(file, WriterOptions::default())?;
    let labels: Vec<LabelId> = staged
        .labels
        .iter()
        .map(|n| writer.intern_label(n))
        .collect();
    let types: Vec<TypeId> = staged.types.iter().map(|n| writer.intern_type(n)).collect();
    let keys: Vec<KeyId> = source
        .plan
        .keys
        .iter()
        .map(|n| writer.intern_key(n))
        .collect();
    let mut label_counts = vec![0; labels.len()];
    for (set, count) in &source.order.groups {
        let set = &staged.label_sets[*set];
        let ids: Vec<LabelId> = set.iter().map(|l| labels[*l]).collect();
        writer.add_nodes(*count, &ids)?;
        set.iter().for_each(|l| label_counts[*l] += count);
    }
    let mut store = Output {
        source,
        writer,
        meter,
        labels,
        types,
        keys,
        uniqueness,
        adjacency: None,
        written: Written::default(),
    };
    run(source, &jobs(source), threads, |job, taken| {
        store.take(job, taken)
    })?;
    store.meter.phase("finishing", 0, Unit::Bytes)?;
    store.writer.finish()?;
    let mut written = store.written;
    written.labels = named(staged.labels.iter(), &label_counts);
    Ok(written)
}

fn named<'n>(names: impl Iterator<Item = &'n str>, counts: &[u64]) -> Vec<NamedCount> {
    let pairs = names.zip(counts).filter(|(_, count)| **count > 0);
    pairs
        .map(|(name, count)| NamedCount {
            name: name.to_owned(),
            count: *count,
        })
        .collect()
}

/// Columns first, then each type in both directions, then the indexes.
fn jobs(source: &Source<'_>) -> Vec<Job> {
    let staged = source.staged;
    let mut jobs = Vec::new();
    for (key, column) in staged.columns.iter().enumerate() {
        if column.values.records() + column.elements.records() > 0 {
            jobs.push(Job::Column(key));
        }
    }
    for (rel_type, spool) in staged.relationships.iter().enumerate() {
        if spool.records() > 0 {
            jobs.extend([Job::Forward(rel_type), Job::Reverse(rel_type)]);
        }
    }
    if !source.plan.indexes.is_empty() {
        jobs.push(Job::Indexes);
    }
    jobs
}

struct Output<'a, 'm, 's> {
    source: &'a Source<'a>,
    writer: StoreWriter,
    meter: &'m mut Meter<'s>,
    labels: Vec<LabelId>,
    types: Vec<TypeId>,
    keys: Vec<KeyId>,
    uniqueness: &'a [Uniqueness],
    /// Open between the forward and the reverse half of a type.
    adjacency: Option<graven_storage::AdjacencyWriter>,
    written: Written,
}

impl Output<'_, '_, '_> {
    fn take(&mut self, job: Job, taken: Taken<'_>) -> Result<(), ImportError> {
        match (job, taken) {
            (Job::Forward(rel_type) | Job::Reverse(rel_type), Taken::Both(forward, reverse)) => {
                self.both(rel_type, forward, reverse)
            }
            (Job::Forward(rel_type), Taken::One(sorted)) => {
                let mut adjacency = self.writer.adjacency(self.types[rel_type])?;
                self.forward(rel_type, adjacency.directions().0, sorted)?;
                self.adjacency = Some(adjacency);
                Ok(())
            }
            (Job::Reverse(rel_type), Taken::One(sorted)) => {
                let adjacency = self.adjacency.take();
                let mut adjacency = adjacency.expect("forward comes before reverse");
                let once = self.is_single(rel_type);
                reverse(
                    adjacency.directions().1,
                    once,
                    sorted,
                    &AtomicBool::new(false),
                )?;
                Ok(adjacency.finish()?)
            }
            (Job::Column(key), Taken::One(sorted)) => self.column(key, sorted),
            (Job::Indexes, Taken::One(sorted)) => self.indexes(sorted),
            (Job::Column(_) | Job::Indexes, Taken::Both(..)) => {
                unreachable!("types alone have directions")
            }
        }
    }

    /// Writes both directions of a type, the second one with another thread.
    fn both(
        &mut self,
        rel_type: usize,
        forward: Feed<'_>,
        reverse_records: Feed<'_>,
    ) -> Result<(), ImportError> {
        let mut adjacency = self.writer.adjacency(self.types[rel_type])?;
        let once = self.is_single(rel_type);
        let (out, into) = adjacency.directions();
        let failed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| reverse(into, once, reverse_records, &failed));
            let written = self.forward(rel_type, out, forward);
            failed.store(written.is_err(), Ordering::Relaxed);
            let panicked = |panic| std::panic::resume_unwind(panic);
            written.and(other.join().unwrap_or_else(panicked))
        })?;
        Ok(adjacency.finish()?)
    }

    /// Whether the type has a pair of nodes at most once.
    fn is_single(&self, rel_type: usize) -> bool {
        self.source.plan.single.contains(&rel_type)
    }

    fn column(&mut self, key: usize, mut sorted: Feed<'_>) -> Result<(), ImportError> {
        let phase = format!("writing {}", self.source.plan.keys.get(key));
        self.meter.phase(&phase, sorted.records(), Unit::Values)?;
        let mut column = self.writer.node_column(self.keys[key])?;
        let mut list: (u64, Vec<PropertyValue>) = (0, Vec::new());
        let mut done = 0;
        while let Some(([id, element], mut bytes)) = sorted.next()? {
            if !list.1.is_empty() && (list.0 != id || element == 0) {
                column.push(list.0, &PropertyValue::from(std::mem::take(&mut list.1)))?;
            }
            if element == 0 {
                column.push(id, &decode(&mut bytes))?;
            } else {
                list.0 = id;
                list.1.push(decode(&mut bytes));
            }
            done += 1;
            if done % ENTRIES_PER_REPORT == 0 {
                self.meter.at(done)?;
            }
        }
        if !list.1.is_empty() {
            column.push(list.0, &PropertyValue::from(list.1))?;
        }
        Ok(column.finish()?)
    }

    fn forward(
        &mut self,
        number: usize,
        adjacency: &mut ForwardWriter,
        mut sorted: Feed<'_>,
    ) -> Result<(), ImportError> {
        let name = self.source.staged.types.get(number);
        self.meter.phase(
            &format!("writing {name}"),
            sorted.records(),
            Unit::Relationships,
        )?;
        let rel_type = self.types[number];
        let mut columns: BTreeMap<usize, ColumnWriter> = BTreeMap::new();
        let once = self.is_single(number);
        let (mut last, mut done, mut count) = (None, 0, 0);
        while let Some((key, mut properties)) = sorted.next()? {
            done += 1;
            if once && last.replace(key) == Some(key) {
                self.written.repeated += 1;
                continue;
            }
            count += 1;
            let id = adjacency.push(NodeId(key[0]), NodeId(key[1]))?;
            while !properties.is_empty() {
                let property = take_varint(&mut properties) as usize;
                let value = decode(&mut properties);
                let column = match columns.entry(property) {
                    std::collections::btree_map::Entry::Occupied(column) => column.into_mut(),
                    std::collections::btree_map::Entry::Vacant(free) => free.insert(
                        self.writer
                            .relationship_column(rel_type, self.keys[property])?,
                    ),
                };
                column.push(id.0, &value)?;
            }
            if done % ENTRIES_PER_REPORT == 0 {
                self.meter.at(done)?;
            }
        }
        for column in columns.into_values() {
            column.finish()?;
        }
        self.written.relationships += count;
        self.written.types.push(NamedCount {
            name: name.to_owned(),
            count,
        });
        Ok(())
    }

    fn indexes(&mut self, mut sorted: Feed<'_>) -> Result<(), ImportError> {
        self.meter
            .phase("writing indexes", sorted.records(), Unit::Values)?;
        let mut open: Option<(usize, IndexWriter)> = None;
        let mut done = 0;
        while let Some((_, record)) = sorted.next()? {
            let entry = IndexEntry::read(record);
            if open.as_ref().is_none_or(|(index, _)| *index != entry.index) {
                if let Some((_, writer)) = open.take() {
                    writer.finish()?;
                }
                let index = &self.source.plan.indexes[entry.index];
                let (label, key) = (self.labels[index.label], self.keys[index.key]);
                let unique = self.uniqueness[entry.index];
                open = Some((entry.index, self.writer.index(label, key, unique)?));
            }
            if let Some((_, writer)) = &mut open {
                writer.push(&entry.value, NodeId(entry.node))?;
            }
            done += 1;
            if done % ENTRIES_PER_REPORT == 0 {
                self.meter.at(done)?;
            }
        }
        if let Some((_, writer)) = open {
            writer.finish()?;
        }
        Ok(())
    }
}

/// Writes the second direction of a type, until the first one has failed; `once` leaves out pairs
/// that repeat.
fn reverse(
    adjacency: &mut ReverseWriter,
    once: bool,
    mut sorted: Feed<'_>,
    failed: &AtomicBool,
) -> Result<(), ImportError> {
    let mut last = None;
    while let Some((key, _)) = sorted.next()?
        && !failed.load(Ordering::Relaxed)
    {
        if once && last.replace(key) == Some(key) {
            continue;
        }
        adjacency.push(NodeId(key[0]), NodeId(key[1]))?;
    }
    Ok(())
}

/// Which indexes hold every value once: those whose label takes its ids from spaces that share
/// none.
pub(crate) fn uniqueness(plan: &Plan, scanned: &Scanned) -> Result<Vec<Uniqueness>, ImportError> {
    let staged = &scanned.staged;
    let mut spaces: BTreeMap<usize, BTreeSet<(usize, Option<usize>)>> = BTreeMap::new();
    let mut runs = staged.label_runs.reader();
    let (mut from, mut at) = (0, 0);
    while let Some((set, count, _)) = runs.next()? {
        // A run of equal labels may go on over the border of two tables.
        let to = from + count;
        while staged.origins.get(at + 1).is_some_and(|o| o.first <= from) {
            at += 1;
        }
        let mut within = at;
        loop {
            let origin = staged.origins.get(within);
            let space = origin.map_or((usize::MAX, None), |o| (o.space, o.key));
            for label in &staged.label_sets[set as usize] {
                spaces.entry(*label).or_default().insert(space);
            }
            within += 1;
            if staged.origins.get(within).is_none_or(|o| o.first >= to) {
                break;
            }
        }
        from = to;
    }
    let is_unique = |label: usize, key: usize| {
        let all: Vec<(usize, Option<usize>)> =
            spaces.get(&label).into_iter().flatten().copied().collect();
        let keyed = all
            .iter()
            .all(|(space, k)| *space != usize::MAX && *k == Some(key));
        let apart =
            |(i, a): (usize, &(usize, _))| all[..i].iter().all(|b| !scanned.overlap(a.0, b.0));
        keyed && all.iter().enumerate().all(apart)
    };
    Ok(plan
        .indexes
        .iter()
        .map(|i| {
            if is_unique(i.label, i.key) {
                Uniqueness::Unique
            } else {
                Uniqueness::Any
            }
        })
        .collect())
}
