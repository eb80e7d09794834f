//! Nodes and relationships that are created many at once, their properties given by column.
//!
//! # How it works
//! What one costs by itself is done for all: ids are neighbours, labels of ends are counted by
//! pairs of sets, and values, relationships, lists and keys are appended to their maps. Keys of
//! unique indexes are compared later ([`super::deferred_uniqueness`]), if they are many.

use super::Transaction;
use super::deferred_uniqueness::{MANY, is_cut, keys_of_rows};
use super::write::{Given, of_label, of_type, shared_set};
use crate::Result;
use crate::catalog::IndexDescription;
use crate::delta::change::ColumnOf;
use crate::delta::delta_layer::DeltaLayer;
use crate::ids::{KeyId, LabelId, NodeId, TypeId};
use crate::value::depth::check_depth;
use foldhash::HashMap;
use graven_types::PropertyValue;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Values of all rows for each key.
type Columns = Vec<(KeyId, Vec<PropertyValue>)>;

/// The properties of one of the nodes that are given by column.
fn row(columns: &[(KeyId, Vec<PropertyValue>)], at: usize) -> Given<'_> {
    let values = columns.iter().map(|(key, values)| (*key, &values[at]));
    values.filter(|(_, value)| !value.is_null()).collect()
}

/// Panics unless these are columns of so many rows, one for each key.
fn check_columns(count: usize, columns: &[(KeyId, Vec<PropertyValue>)]) {
    for (at, (key, values)) in columns.iter().enumerate() {
        assert_eq!(values.len(), count, "one value for each row");
        let twice = columns[..at].iter().any(|(other, _)| other == key);
        assert!(!twice, "one column for each key");
    }
}

/// Keys that an index gets.
type NewKeys<'a> = (&'a IndexDescription, Vec<Option<Arc<[u8]>>>);

/// The keys that rows have in each of the indexes; `None` where they must be compared as they come,
/// one by one.
fn keys_of_many<'a>(
    indexes: impl Iterator<Item = &'a IndexDescription>,
    columns: &[(KeyId, Vec<PropertyValue>)],
    rows: usize,
) -> Option<Vec<NewKeys<'a>>> {
    let keys = indexes.map(|index| {
        let keys = keys_of_rows(index, columns, rows);
        let one_by_one =
            index.unique && (rows < MANY || keys.iter().flatten().any(|key| is_cut(key)));
        (!one_by_one).then_some((index, keys))
    });
    keys.collect()
}

/// Enters keys of neighbouring ids, `first` and up.
fn append_keys(
    layer: &mut DeltaLayer,
    deferred: &mut BTreeSet<u32>,
    first: u64,
    keys: Vec<NewKeys<'_>>,
) {
    for (index, keys) in keys {
        layer.append_index_entries(index.number, first, keys);
        if index.unique {
            deferred.insert(index.number);
        }
    }
}

/// Enters the values of neighbouring ids, `first` and up; how many are not Null.
fn put_column(layer: &mut DeltaLayer, of: ColumnOf, first: u64, values: Vec<PropertyValue>) -> u64 {
    layer.put_values(of, |put| {
        let given = (first..).zip(values).filter(|(_, value)| !value.is_null());
        let mut count = 0;
        for (id, value) in given {
            count += 1;
            put(id, value);
        }
        count
    })
}

/// The label sets of the ends of many relationships, each once.
#[derive(Default)]
struct LabelSets {
    sets: Vec<Arc<[LabelId]>>,
    numbers: HashMap<Arc<[LabelId]>, usize>,
    /// The set that was asked for last: mostly the next one, too.
    last: usize,
}

impl LabelSets {
    fn number(&mut self, labels: &[LabelId]) -> usize {
        let last = self.sets.get(self.last);
        // Label by label: sets are too short for a comparison of memory by call.
        if last.is_none_or(|last| !labels.iter().eq(last.iter())) {
            self.last = self.find(labels);
        }
        self.last
    }

    fn find(&mut self, labels: &[LabelId]) -> usize {
        if let Some(number) = self.numbers.get(labels) {
            return *number;
        }
        let set: Arc<[LabelId]> = labels.into();
        self.sets.push(Arc::clone(&set));
        self.numbers.insert(set, self.sets.len() - 1);
        self.sets.len() - 1
    }
}

/// How many relationships have ends with these two label sets.
type Patterns = HashMap<(usize, usize), i64>;

impl Transaction {
    /// Creates `count` nodes whose properties are given by column, Null where a node lacks one: as
    /// creating one after the other, only faster. Their ids. Unique keys of many are compared at
    /// the end of the statement ([`Transaction::check_unique_keys`]).
    ///
    /// # Errors
    /// As [`Transaction::create_node`]; the nodes before the one that fails are created.
    ///
    /// # Panics
    /// A column has other than `count` values, or two have one key.
    pub fn create_nodes(
        &self,
        labels: &[LabelId],
        count: usize,
        columns: Columns,
    ) -> Result<Vec<u64>> {
        check_columns(count, &columns);
        self.write(|state| {
            let labels = shared_set(labels);
            let schema = self.write_set.schema();
            let indexes = of_label(&schema, &labels);
            let Some(keys) = keys_of_many(indexes, &columns, count) else {
                let created = (0..count)
                    .map(|at| self.create_one(state, &schema, &labels, row(&columns, at)));
                return created.map(|node| Ok(node?.0)).collect();
            };
            let mut values = columns.iter().flat_map(|(_, values)| values);
            values.try_for_each(check_depth)?;
            let first = self.write_set.allocator().nodes(count as u64).0;
            let counters = &mut state.counters;
            self.write_set.change(|layer| {
                layer.append_nodes(first, count, &labels);
                for (key, values) in columns {
                    counters.properties_set +=
                        put_column(layer, ColumnOf::Node(key), first, values);
                }
                append_keys(layer, &mut state.deferred, first, keys);
            });
            counters.nodes_created += count as u64;
            counters.labels_added += (count * labels.len()) as u64;
            Ok((first..).take(count).collect())
        })
    }

    /// Creates relationships of one type between nodes that exist, `ends` of each, whose properties
    /// are given by column, Null where a relationship lacks one: as [`Transaction::create_nodes`].
    /// Their ids.
    ///
    /// # Errors
    /// As [`Transaction::create_relationship`]; some of the relationships are created then.
    ///
    /// # Panics
    /// A column has other than one value for each relationship, or two have one key.
    pub fn create_relationships(
        &self,
        rel_type: TypeId,
        ends: &[(NodeId, NodeId)],
        columns: Columns,
    ) -> Result<Vec<u64>> {
        check_columns(ends.len(), &columns);
        self.write(|state| {
            let schema = self.write_set.schema();
            let indexes = of_type(&schema, rel_type);
            let Some(keys) = keys_of_many(indexes, &columns, ends.len()) else {
                let created = ends.iter().enumerate().map(|(at, ends)| {
                    let properties = row(&columns, at);
                    self.create_one_relationship(state, &schema, rel_type, *ends, &properties)
                });
                return created.map(|id| Ok(id?.0)).collect();
            };
            let mut values = columns.iter().flat_map(|(_, values)| values);
            values.try_for_each(check_depth)?;
            let (LabelSets { sets, .. }, patterns) = self.patterns(ends)?;
            let count = ends.len() as u64;
            let first = self.write_set.allocator().relationships(count);
            let counters = &mut state.counters;
            self.write_set.change(|layer| {
                layer.append_relationships(first, rel_type, ends);
                for ((start, end), by) in patterns {
                    let counts = &mut layer.counts;
                    counts.relationships(&sets[start], rel_type, &sets[end], by);
                }
                for (key, values) in columns {
                    let of = ColumnOf::Relationship(rel_type, key);
                    counters.properties_set += put_column(layer, of, first.0, values);
                }
                append_keys(layer, &mut state.deferred, first.0, keys);
            });
            counters.relationships_created += count;
            Ok((first.0..).take(ends.len()).collect())
        })
    }

    /// The label sets of nodes, and how many of these pairs have which two of them.
    fn patterns(&self, ends: &[(NodeId, NodeId)]) -> Result<(LabelSets, Patterns)> {
        let (mut sets, mut patterns) = (LabelSets::default(), Patterns::default());
        let mut number = |node| {
            let known = |labels: Option<&[LabelId]>| labels.map(|labels| sets.number(labels));
            match self.view.with_labels(node, known) {
                Some(number) => Ok(number),
                // The error says why it is not there.
                None => self.view.labels_of(node).map(|labels| sets.number(&labels)),
            }
        };
        // Relationships mostly come by their starts, and neighbours mostly have equal sets.
        let (mut known, mut pattern, mut count) = (None, (0, 0), 0);
        for (start, end) in ends {
            let start = match known {
                Some((node, number)) if node == *start => number,
                _ => known.insert((*start, number(*start)?)).1,
            };
            let this = (start, number(*end)?);
            if this != pattern {
                *patterns.entry(pattern).or_default() += count;
                (pattern, count) = (this, 0);
            }
            count += 1;
        }
        *patterns.entry(pattern).or_default() += count;
        patterns.retain(|_, count| *count > 0);
        Ok((sets, patterns))
    }
}
