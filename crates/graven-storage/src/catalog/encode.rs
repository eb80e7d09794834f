//! Bytes of the catalogue.
//!
//! # On disk
//! All numbers are varints, text carries its length. In order:
//!
//! | part | content |
//! | --- | --- |
//! | version | 2 |
//! | labels, types, keys | each: count, names |
//! | label sets | count; each: count of labels, labels, nodes |
//! | stores | count; each: id, kind (below), segments, pages, bytes, entries |
//! | indexes | next number, count; each: number, name, entity (below), count of keys, keys, 1 if it is unique + twice its kind (0 range, 1 text, 2 point), entries, distinct, root page or 0, height |
//! | constraints | count; each: name, kind (1 unique, 2 key, 3 exists, 4 typed, 5 ends), entity, count of keys, keys, number of its index + 1 or 0; typed: the type as text, 1 and the default as text or 0; ends: count of pairs, each: label of the start, label of the end; 1 if at most one starts at a node + 2 if at most one ends there |
//! | relationship id extents | count; each: first, count, type |
//! | next node id, next relationship id | |
//! | types | per type: relationships, start nodes, end nodes, largest out degree, largest in degree |
//! | patterns | count; each: label set of the start, type, label set of the end, relationships |
//! | commits | only if there are any or more follows: count; each: the name that its client gave it (16 bytes), oldest first |
//! | values | only if there are any or more follows: count; each: id of the store, then what its values are like ([`super::value_statistics`]) |
//! | users | only if there are any or more follows: as in [`crate::users`] |
//! | sequences | only if there are any or more follows: as in [`crate::sequences`] |
//! | macros | only if there are any or more follows: as in [`crate::macros`] |
//! | notes | only if there are any or more follows: as in [`crate::notes`] |
//! | squares | only if any is known: sums of squares of degrees out and in, for each type |
//!
//! Kinds of store: 1 node labels; 2 node column, key; 3 adjacency out, type; 4 adjacency in, type;
//! 5 relationship column, type, key; 6 index, number; 7, 8, 9 type, start and end of relationships
//! created after the load. Entities: 0 and a label, or 1 and a relationship type.

use super::{
    Catalog, IndexDescription, Names, RelationshipExtent, RelationshipPart, Statistics,
    StoreDescription, StoreKind, Stores, TypeStatistics, ValueStatistics,
};
use crate::bytes::{Decoded, Malformed, Reader, put_text, put_varint};
use crate::ids::{Direction, KeyId, LabelId, StoreId, TypeId};
use crate::macros;
use crate::notes;
use crate::pages::Pages;
use crate::schema::{
    ConstraintDescription, ConstraintKind, IndexKind, PropertyType, RelationshipEnds, SchemaEntity,
};
use crate::sequences;
use crate::users;
use graven_pagecache::PageRef;
use std::sync::Arc;

const CONTRADICTS: &str = "stores, indexes or extents of the catalogue contradict each other";

/// A list at the end, which is written only if it or one behind it has entries.
struct Optional<'a> {
    is_empty: bool,
    put: Put<'a>,
}

/// Appends a list.
type Put<'a> = Box<dyn Fn(&mut Vec<u8>) + 'a>;

fn optional<'a, T>(list: &'a [T], put: impl Fn(&mut Vec<u8>, &[T]) + 'a) -> Optional<'a> {
    Optional {
        is_empty: list.is_empty(),
        put: Box::new(move |out| put(out, list)),
    }
}

fn put_optional(out: &mut Vec<u8>, lists: &[Optional<'_>]) {
    let last = lists.iter().rposition(|list| !list.is_empty);
    let written = &lists[..last.map_or(0, |last| last + 1)];
    written.iter().for_each(|list| (list.put)(out));
}

impl Catalog {
    /// The format of the catalogue, and with it of everything that it leads to.
    pub(crate) const FORMAT: u32 = 2;

    /// The format that the bytes of a catalogue say they have, if they say any.
    pub(crate) fn format(bytes: &[u8]) -> Option<u32> {
        let format = Reader::new(bytes).varint().ok()?;
        u32::try_from(format).ok()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, u64::from(Self::FORMAT));
        for names in [&self.labels, &self.types, &self.keys] {
            put_varint(&mut out, names.list().len() as u64);
            names
                .list()
                .iter()
                .for_each(|name| put_text(&mut out, name));
        }
        put_varint(&mut out, self.label_sets.len() as u64);
        for (set, nodes) in self
            .label_sets
            .list()
            .iter()
            .zip(&self.statistics.label_set_nodes)
        {
            put_all(&mut out, &[set.len() as u64]);
            set.iter()
                .for_each(|label| put_varint(&mut out, u64::from(label.0)));
            put_varint(&mut out, *nodes);
        }
        put_varint(&mut out, self.stores.len() as u64);
        for store in self.stores.iter() {
            put_varint(&mut out, u64::from(store.id.0));
            put_kind(&mut out, store.kind);
            put_all(
                &mut out,
                &[store.segments, store.pages, store.bytes, store.entries],
            );
        }
        self.put_schema(&mut out);
        put_varint(&mut out, self.extents.len() as u64);
        for extent in &self.extents {
            put_all(
                &mut out,
                &[extent.first, extent.count, u64::from(extent.rel_type.0)],
            );
        }
        put_all(&mut out, &[self.next_node, self.next_relationship]);
        for counts in &self.statistics.types {
            put_all(
                &mut out,
                &[counts.relationships, counts.start_nodes, counts.end_nodes],
            );
            put_all(&mut out, &[counts.out_degree_max, counts.in_degree_max]);
        }
        put_varint(&mut out, self.statistics.patterns.len() as u64);
        for ((start, rel_type, end), count) in &self.statistics.patterns {
            put_all(
                &mut out,
                &[
                    u64::from(*start),
                    u64::from(rel_type.0),
                    u64::from(*end),
                    *count,
                ],
            );
        }
        let columns = &self.statistics.columns;
        let mut parts: Vec<Optional<'_>> = vec![
            optional(&self.clients, |out, clients| {
                put_varint(out, clients.len() as u64);
                clients.iter().for_each(|id| out.extend_from_slice(id));
            }),
            Optional {
                is_empty: columns.is_empty(),
                put: Box::new(|out| {
                    put_varint(out, columns.len() as u64);
                    for (store, values) in columns {
                        put_varint(out, u64::from(store.0));
                        values.encode(out);
                    }
                }),
            },
        ];
        parts.extend(self.texts());
        let types = &self.statistics.types;
        parts.push(Optional {
            is_empty: !self.statistics.has_squares(),
            put: Box::new(|out| {
                put_varint(out, types.len() as u64);
                (types.iter()).for_each(|it| put_all(out, &[it.out_squares, it.in_squares]));
            }),
        });
        put_optional(&mut out, &parts);
        out
    }

    /// Users, sequences, macros and notes.
    fn texts(&self) -> [Optional<'_>; 4] {
        [
            optional(&self.users, users::put),
            optional(&self.sequences, sequences::put),
            optional(&self.macros, macros::put),
            optional(&self.notes, notes::put),
        ]
    }

    /// Appends [`Catalog::texts`].
    pub(crate) fn put_texts(&self, out: &mut Vec<u8>) {
        put_optional(out, &self.texts());
    }

    /// Undoes [`Catalog::put_texts`]; earlier builds wrote fewer of them.
    pub(crate) fn read_texts(&mut self, reader: &mut Reader<'_>) -> Decoded<()> {
        if reader.remaining() > 0 {
            self.users = users::read(reader)?;
        }
        if reader.remaining() > 0 {
            self.sequences = sequences::read(reader)?;
        }
        if reader.remaining() > 0 {
            self.macros = macros::read(reader)?;
        }
        if reader.remaining() > 0 {
            self.notes = notes::read(reader)?;
        }
        Ok(())
    }

    /// Appends indexes and constraints.
    pub(crate) fn put_schema(&self, out: &mut Vec<u8>) {
        put_all(
            out,
            &[u64::from(self.next_index), self.indexes.len() as u64],
        );
        self.indexes.iter().for_each(|index| put_index(out, index));
        put_varint(out, self.constraints.len() as u64);
        for constraint in &self.constraints {
            put_text(out, &constraint.name);
            let kind = match constraint.kind {
                ConstraintKind::Unique => 1,
                ConstraintKind::NodeKey => 2,
                ConstraintKind::Exists => 3,
                ConstraintKind::Typed { .. } => 4,
                ConstraintKind::Ends(_) => 5,
            };
            put_varint(out, kind);
            put_entity(out, constraint.entity);
            put_keys(out, &constraint.keys);
            put_varint(
                out,
                constraint.index.map_or(0, |number| u64::from(number) + 1),
            );
            put_demand(out, &constraint.kind);
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Decoded<Catalog> {
        let mut reader = Reader::new(bytes);
        let version = reader.varint()?;
        if version != u64::from(Self::FORMAT) {
            return Err(Malformed(format!(
                "catalogue format {version}, expected {}",
                Self::FORMAT
            )));
        }
        let mut catalog = Catalog {
            labels: names(&mut reader)?,
            types: names(&mut reader)?,
            keys: names(&mut reader)?,
            ..Catalog::default()
        };
        for _ in 0..reader.length()? {
            let labels = list(&mut reader, |reader| catalog.read_label(reader))?;
            catalog.label_sets.push(labels.into());
            catalog.statistics.label_set_nodes.push(reader.varint()?);
        }
        let stores = list(&mut reader, |reader| catalog.read_store(reader))?;
        let stores = Stores::checked(stores);
        catalog.stores = stores.ok_or_else(|| Malformed::new(CONTRADICTS))?;
        catalog.read_schema(&mut reader)?;
        catalog.extents = list(&mut reader, |reader| {
            Ok(RelationshipExtent {
                first: reader.varint()?,
                count: reader.varint()?,
                rel_type: catalog.read_type(reader)?,
            })
        })?;
        catalog.next_node = reader.varint()?;
        catalog.next_relationship = reader.varint()?;
        catalog.statistics = catalog.read_statistics(&mut reader)?;
        catalog.validate()?;
        if reader.remaining() > 0 {
            catalog.clients = list(&mut reader, |reader| reader.array())?.into();
        }
        // Files of earlier builds have none.
        if reader.remaining() > 0 {
            let columns = list(&mut reader, |reader| {
                let store = StoreId(below(reader.varint()?, u32::MAX as usize, "store")?);
                Ok((store, ValueStatistics::decode(reader)?))
            })?;
            catalog.statistics.columns = columns.into_iter().collect();
        }
        catalog.read_texts(&mut reader)?;
        if reader.remaining() > 0 {
            let squares = list(&mut reader, |reader| {
                Ok([reader.varint()?, reader.varint()?])
            })?;
            for (counts, [out, into]) in catalog.statistics.types.iter_mut().zip(squares) {
                (counts.out_squares, counts.in_squares) = (out, into);
            }
        }
        if reader.remaining() > 0 {
            return Err(Malformed(format!(
                "{} bytes behind the catalogue",
                reader.remaining()
            )));
        }
        Ok(catalog)
    }

    fn read_label(&self, reader: &mut Reader<'_>) -> Decoded<LabelId> {
        Ok(LabelId(below(
            reader.varint()?,
            self.labels.list().len(),
            "label",
        )?))
    }

    fn read_type(&self, reader: &mut Reader<'_>) -> Decoded<TypeId> {
        Ok(TypeId(below(
            reader.varint()?,
            self.types.list().len(),
            "type",
        )?))
    }

    fn read_key(&self, reader: &mut Reader<'_>) -> Decoded<KeyId> {
        Ok(KeyId(below(
            reader.varint()?,
            self.keys.list().len(),
            "key",
        )?))
    }

    fn read_store(&self, reader: &mut Reader<'_>) -> Decoded<StoreDescription> {
        Ok(StoreDescription {
            id: StoreId(below(reader.varint()?, u32::MAX as usize, "store")?),
            kind: match reader.varint()? {
                1 => StoreKind::NodeLabels,
                2 => StoreKind::NodeColumn(self.read_key(reader)?),
                3 => StoreKind::Adjacency(self.read_type(reader)?, Direction::Out),
                4 => StoreKind::Adjacency(self.read_type(reader)?, Direction::In),
                5 => StoreKind::RelationshipColumn(self.read_type(reader)?, self.read_key(reader)?),
                6 => StoreKind::Index(below(reader.varint()?, u32::MAX as usize, "index")?),
                7 => StoreKind::Relationships(RelationshipPart::Type),
                8 => StoreKind::Relationships(RelationshipPart::Start),
                9 => StoreKind::Relationships(RelationshipPart::End),
                other => return Err(Malformed(format!("unknown kind of store {other}"))),
            },
            segments: reader.varint()?,
            pages: reader.varint()?,
            bytes: reader.varint()?,
            entries: reader.varint()?,
        })
    }

    /// Reads indexes and constraints; the names that they use must be known.
    pub(crate) fn read_schema(&mut self, reader: &mut Reader<'_>) -> Decoded<()> {
        self.next_index = below(reader.varint()?, u32::MAX as usize, "index number")?;
        self.indexes = list(reader, |reader| self.read_index(reader))?;
        self.constraints = list(reader, |reader| self.read_constraint(reader))?;
        Ok(())
    }

    fn read_entity(&self, reader: &mut Reader<'_>) -> Decoded<SchemaEntity> {
        match reader.varint()? {
            0 => Ok(SchemaEntity::Node(self.read_label(reader)?)),
            1 => Ok(SchemaEntity::Relationship(self.read_type(reader)?)),
            other => Err(Malformed(format!("unknown entity {other}"))),
        }
    }

    fn read_constraint(&self, reader: &mut Reader<'_>) -> Decoded<ConstraintDescription> {
        let name = Arc::from(reader.text()?);
        let kind = reader.varint()?;
        let entity = self.read_entity(reader)?;
        let keys = list(reader, |reader| self.read_key(reader))?;
        let index = match reader.varint()? {
            0 => None,
            number => Some(below(number - 1, self.next_index as usize, "index number")?),
        };
        let kind = match kind {
            1 => ConstraintKind::Unique,
            2 => ConstraintKind::NodeKey,
            3 => ConstraintKind::Exists,
            4 => ConstraintKind::Typed {
                of: PropertyType::read(reader.text()?)?,
                default: match reader.varint()? {
                    0 => None,
                    1 => Some(Arc::from(reader.text()?)),
                    other => return Err(Malformed(format!("unknown kind of default {other}"))),
                },
            },
            5 => {
                let pairs = list(reader, |reader| {
                    Ok((self.read_label(reader)?, self.read_label(reader)?))
                })?;
                let limits = below(reader.varint()?, 4, "limits of relationships")?;
                ConstraintKind::Ends(RelationshipEnds {
                    pairs,
                    one_out: limits & 1 != 0,
                    one_in: limits & 2 != 0,
                })
            }
            other => return Err(Malformed(format!("unknown kind of constraint {other}"))),
        };
        Ok(ConstraintDescription {
            name,
            kind,
            entity,
            keys,
            index,
        })
    }

    fn read_index(&self, reader: &mut Reader<'_>) -> Decoded<IndexDescription> {
        let number = below(reader.varint()?, self.next_index as usize, "index number")?;
        let name = Arc::from(reader.text()?);
        let entity = self.read_entity(reader)?;
        let keys = list(reader, |reader| self.read_key(reader))?;
        let made_as = reader.varint()?;
        let mut kinds = IndexKind::ALL.into_iter();
        let kind = usize::try_from(made_as / 2)
            .ok()
            .and_then(|at| kinds.nth(at));
        Ok(IndexDescription {
            number,
            name,
            entity,
            keys,
            unique: made_as % 2 == 1,
            kind: kind.ok_or_else(|| Malformed(format!("unknown kind of index {made_as}")))?,
            entries: reader.varint()?,
            distinct: reader.varint()?,
            root: match reader.varint()? {
                0 => None,
                raw => Some(Pages::reference(raw)?),
            },
            height: below(reader.varint()?, 64, "height of an index")?,
        })
    }

    fn read_statistics(&self, reader: &mut Reader<'_>) -> Decoded<Statistics> {
        let mut statistics = Statistics {
            label_set_nodes: self.statistics.label_set_nodes.clone(),
            ..Statistics::default()
        };
        statistics.nodes = statistics
            .label_set_nodes
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count));
        for _ in self.types.list() {
            let counts = TypeStatistics {
                relationships: reader.varint()?,
                start_nodes: reader.varint()?,
                end_nodes: reader.varint()?,
                out_degree_max: reader.varint()?,
                in_degree_max: reader.varint()?,
                ..TypeStatistics::default()
            };
            statistics.relationships = statistics
                .relationships
                .saturating_add(counts.relationships);
            statistics.types.push(counts);
        }
        for _ in 0..reader.length()? {
            let sets = self.label_sets.len();
            let start = below(reader.varint()?, sets, "label set")?;
            let rel_type = self.read_type(reader)?;
            let end = below(reader.varint()?, sets, "label set")?;
            statistics
                .patterns
                .insert((start, rel_type, end), reader.varint()?);
        }
        Ok(statistics)
    }

    /// Checks what parts of the catalogue say of each other.
    fn validate(&self) -> Decoded<()> {
        let extents_ascend = (self.extents.windows(2)).all(|pair| {
            pair[0]
                .first
                .checked_add(pair[0].count)
                .is_some_and(|end| end <= pair[1].first)
        });
        let extents_end = (self.extents.last()).is_none_or(|last| {
            last.first
                .checked_add(last.count)
                .is_some_and(|end| end <= self.next_relationship)
        });
        let indexes = self.stores.iter().all(|store| match store.kind {
            StoreKind::Index(number) => self.index_numbered(number).is_some(),
            _ => true,
        }) && self
            .indexes
            .windows(2)
            .all(|pair| pair[0].number < pair[1].number);
        if extents_ascend && extents_end && indexes {
            return Ok(());
        }
        Err(Malformed::new(CONTRADICTS))
    }
}

fn put_all(out: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|number| put_varint(out, *number));
}

fn put_kind(out: &mut Vec<u8>, kind: StoreKind) {
    match kind {
        StoreKind::NodeLabels => put_all(out, &[1]),
        StoreKind::NodeColumn(key) => put_all(out, &[2, u64::from(key.0)]),
        StoreKind::Adjacency(rel_type, Direction::Out) => put_all(out, &[3, u64::from(rel_type.0)]),
        StoreKind::Adjacency(rel_type, Direction::In) => put_all(out, &[4, u64::from(rel_type.0)]),
        StoreKind::RelationshipColumn(rel_type, key) => {
            put_all(out, &[5, u64::from(rel_type.0), u64::from(key.0)]);
        }
        StoreKind::Index(number) => put_all(out, &[6, u64::from(number)]),
        StoreKind::Relationships(RelationshipPart::Type) => put_all(out, &[7]),
        StoreKind::Relationships(RelationshipPart::Start) => put_all(out, &[8]),
        StoreKind::Relationships(RelationshipPart::End) => put_all(out, &[9]),
    }
}

fn put_entity(out: &mut Vec<u8>, entity: SchemaEntity) {
    match entity {
        SchemaEntity::Node(label) => put_all(out, &[0, u64::from(label.0)]),
        SchemaEntity::Relationship(rel_type) => put_all(out, &[1, u64::from(rel_type.0)]),
    }
}

fn put_keys(out: &mut Vec<u8>, keys: &[KeyId]) {
    put_varint(out, keys.len() as u64);
    keys.iter()
        .for_each(|key| put_varint(out, u64::from(key.0)));
}

/// What a constraint demands beyond its kind.
fn put_demand(out: &mut Vec<u8>, kind: &ConstraintKind) {
    match kind {
        ConstraintKind::Unique | ConstraintKind::NodeKey | ConstraintKind::Exists => {}
        ConstraintKind::Typed { of, default } => {
            put_text(out, of.text());
            put_varint(out, u64::from(default.is_some()));
            default.iter().for_each(|default| put_text(out, default));
        }
        ConstraintKind::Ends(ends) => {
            put_varint(out, ends.pairs.len() as u64);
            for (start, end) in &ends.pairs {
                put_all(out, &[u64::from(start.0), u64::from(end.0)]);
            }
            put_varint(out, u64::from(ends.one_out) + 2 * u64::from(ends.one_in));
        }
    }
}

fn put_index(out: &mut Vec<u8>, index: &IndexDescription) {
    put_varint(out, u64::from(index.number));
    put_text(out, &index.name);
    put_entity(out, index.entity);
    put_keys(out, &index.keys);
    let root = index.root.map_or(0, PageRef::raw);
    let mut kinds = IndexKind::ALL.iter();
    let kind = kinds.position(|kind| *kind == index.kind).unwrap_or(0) as u64;
    let made_as = u64::from(index.unique) + 2 * kind;
    put_all(out, &[made_as, index.entries, index.distinct]);
    put_all(out, &[root, u64::from(index.height)]);
}

fn names(reader: &mut Reader<'_>) -> Decoded<Names> {
    let mut names = Names::default();
    for number in 0..reader.length()? {
        let name = reader.text()?;
        if names.intern(name) as usize != number {
            return Err(Malformed(format!("name {name:?} occurs twice")));
        }
    }
    Ok(names)
}

fn list<T>(
    reader: &mut Reader<'_>,
    mut item: impl FnMut(&mut Reader<'_>) -> Decoded<T>,
) -> Decoded<Vec<T>> {
    // Every item takes a byte at least, so the count is bounded by what is left.
    let count = reader.length()?;
    (0..count).map(|_| item(reader)).collect()
}

fn below(value: u64, limit: usize, what: &str) -> Decoded<u32> {
    match u32::try_from(value) {
        Ok(number) if (number as usize) < limit => Ok(number),
        _ => Err(Malformed(format!("{what} {value}, there are {limit}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GraphBuilder, NodeId, Uniqueness};
    use proptest::prelude::*;

    fn sample() -> Catalog {
        let mut builder = GraphBuilder::new();
        for number in 0..20i64 {
            builder.node(
                &["A", "B"][..number as usize % 3 % 2 + 1],
                &[("x", number.into())],
            );
        }
        for number in 0..19 {
            builder.relationship(
                NodeId(number),
                "T",
                NodeId(number + 1),
                &[("w", 1i64.into())],
            );
            builder.relationship(NodeId(number), "U", NodeId(0), &[]);
        }
        builder.index("A", "x", Uniqueness::Unique);
        builder.open(1 << 20).unwrap().snapshot().catalog().clone()
    }

    /// Goal: a catalogue comes back from its bytes and counts are what the graph has.
    #[test]
    fn a_catalogue_comes_back() {
        let catalog = sample();
        assert_eq!(Catalog::decode(&catalog.encode()), Ok(catalog.clone()));
        let (a, b, t) = (
            catalog.label("A").unwrap(),
            catalog.label("B").unwrap(),
            catalog.rel_type("T"),
        );
        assert_eq!(catalog.pattern_count(None, None, None), 38);
        assert_eq!(catalog.pattern_count(Some(a), t, None), 19);
        let (to_b, from_b) = (
            catalog.pattern_count(None, t, Some(b)),
            catalog.pattern_count(Some(b), t, None),
        );
        assert_eq!(
            (to_b, from_b),
            (7, 6),
            "the last node is a B without relationships"
        );
        assert_eq!(catalog.statistics().types[0].out_degree_max, 1);
        assert_eq!(catalog.statistics().types[1].in_degree_max, 19);
        assert_eq!(catalog.statistics().types[0].out_squares, 19);
        assert_eq!(catalog.statistics().types[1].in_squares, 19 * 19);
    }

    proptest! {
        /// Goal: damaged bytes are refused or decode, never panic.
        #[test]
        fn damaged_bytes_do_not_panic(at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
            let mut bytes = sample().encode();
            let position = at.index(bytes.len());
            bytes[position] = byte;
            let _ = Catalog::decode(&bytes);
            let _ = Catalog::decode(&bytes[..cut.index(bytes.len())]);
        }
    }
}
