//! Streams the sorted graph into the storage writer.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use graven_io::File;
use graven_storage::{
    ColumnWriter, IndexWriter, KeyId, LabelId, NodeId, PropertyValue, StoreWriter, TypeId,
    Uniqueness, WriterOptions,
};

use crate::error::ImportError;
use crate::feed::Feed;
use crate::jobs;
use crate::plan::Plan;
use crate::prepare::{IndexEntry, Job, Source};
use crate::progress::{Meter, Steps, Unit};
use crate::report::NamedCount;
use crate::scan::Scanned;
use crate::value::{decode, take_varint};

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
    let store = Output {
        source,
        writer: Mutex::new(writer),
        labels,
        types,
        keys,
        uniqueness,
        written: Mutex::default(),
    };
    jobs::run(source, threads, meter, &|job, sorted, steps| {
        store.write(job, sorted, steps)
    })?;
    meter.phase("finishing", 0, Unit::Bytes)?;
    let Output {
        writer, written, ..
    } = store;
    writer.into_inner().expect(NO_PANIC).finish()?;
    let mut written = written.into_inner().expect(NO_PANIC);
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

/// A panic of a job ends the import.
const NO_PANIC: &str = "no job panicked";

/// What the jobs write to.
struct Output<'a> {
    source: &'a Source<'a>,
    /// Taken to begin a store.
    writer: Mutex<StoreWriter>,
    labels: Vec<LabelId>,
    types: Vec<TypeId>,
    keys: Vec<KeyId>,
    uniqueness: &'a [Uniqueness],
    written: Mutex<Written>,
}

impl Output<'_> {
    fn writer(&self) -> MutexGuard<'_, StoreWriter> {
        self.writer.lock().expect(NO_PANIC)
    }

    fn write(&self, job: Job, sorted: Feed, steps: &Steps) -> Result<(), ImportError> {
        match job {
            Job::Forward(rel_type) => self.forward(rel_type, sorted, steps),
            Job::Reverse(rel_type) => self.reverse(rel_type, sorted, steps),
            Job::Column(key) => self.column(key, sorted, steps),
            Job::Indexes => self.indexes(sorted, steps),
        }
    }

    /// Whether the type has a pair of nodes at most once.
    fn is_single(&self, rel_type: usize) -> bool {
        self.source.plan.single.contains(&rel_type)
    }

    fn column(&self, key: usize, mut sorted: Feed, steps: &Steps) -> Result<(), ImportError> {
        let mut column = self.writer().node_column(self.keys[key])?;
        let mut list: (u64, Vec<PropertyValue>) = (0, Vec::new());
        let mut own = steps.own();
        while let Some(([id, element], mut bytes)) = sorted.next()? {
            own.one()?;
            if !list.1.is_empty() && (list.0 != id || element == 0) {
                column.push(list.0, &PropertyValue::from(std::mem::take(&mut list.1)))?;
            }
            if element == 0 {
                column.push(id, &decode(&mut bytes))?;
            } else {
                list.0 = id;
                list.1.push(decode(&mut bytes));
            }
        }
        if !list.1.is_empty() {
            column.push(list.0, &PropertyValue::from(list.1))?;
        }
        Ok(column.finish()?)
    }

    fn forward(&self, number: usize, mut sorted: Feed, steps: &Steps) -> Result<(), ImportError> {
        let rel_type = self.types[number];
        let mut forward = self.writer().forward(rel_type)?;
        let mut columns: BTreeMap<usize, ColumnWriter> = BTreeMap::new();
        let once = self.is_single(number);
        let (mut last, mut count, mut repeated) = (None, 0, 0);
        let mut own = steps.own();
        while let Some((key, mut properties)) = sorted.next()? {
            own.one()?;
            if once && last.replace(key) == Some(key) {
                repeated += 1;
                continue;
            }
            count += 1;
            let id = forward.push(NodeId(key[0]), NodeId(key[1]))?;
            while !properties.is_empty() {
                let property = take_varint(&mut properties) as usize;
                let value = decode(&mut properties);
                let column = match columns.entry(property) {
                    Entry::Occupied(column) => column.into_mut(),
                    Entry::Vacant(free) => {
                        let key = self.keys[property];
                        free.insert(self.writer().relationship_column(rel_type, key)?)
                    }
                };
                column.push(id.0, &value)?;
            }
        }
        for column in columns.into_values() {
            column.finish()?;
        }
        forward.finish()?;
        let mut written = self.written.lock().expect(NO_PANIC);
        written.relationships += count;
        written.repeated += repeated;
        written.types.push(NamedCount {
            name: self.source.staged.types.get(number).to_owned(),
            count,
        });
        Ok(())
    }

    fn reverse(&self, number: usize, mut sorted: Feed, steps: &Steps) -> Result<(), ImportError> {
        let mut reverse = self.writer().reverse(self.types[number])?;
        let once = self.is_single(number);
        let mut last = None;
        let mut own = steps.own();
        while let Some((key, _)) = sorted.next()? {
            own.one()?;
            if once && last.replace(key) == Some(key) {
                continue;
            }
            reverse.push(NodeId(key[0]), NodeId(key[1]))?;
        }
        Ok(reverse.finish()?)
    }

    fn indexes(&self, mut sorted: Feed, steps: &Steps) -> Result<(), ImportError> {
        let mut open: Option<(usize, IndexWriter)> = None;
        let mut own = steps.own();
        while let Some((_, record)) = sorted.next()? {
            own.one()?;
            let entry = IndexEntry::read(record);
            if open.as_ref().is_none_or(|(index, _)| *index != entry.index) {
                if let Some((_, writer)) = open.take() {
                    writer.finish()?;
                }
                let index = &self.source.plan.indexes[entry.index];
                let (label, key) = (self.labels[index.label], self.keys[index.key]);
                let unique = self.uniqueness[entry.index];
                open = Some((entry.index, self.writer().index(label, key, unique)?));
            }
            if let Some((_, writer)) = &mut open {
                writer.push(&entry.value, NodeId(entry.node))?;
            }
        }
        if let Some((_, writer)) = open {
            writer.finish()?;
        }
        Ok(())
    }
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
