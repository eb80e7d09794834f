//! A naive graph, the changes between two states of it, and a reader that compares it with a root.

use crate::catalog::{Catalog, IndexDescription, StoreKind};
use crate::checkpoint::changes::{
    AdjacencyChange, Changes, EntryChange, IndexChange, NodeChange, RelationshipChange, Stream,
};
use crate::data_file::FileRoot;
use crate::ids::{Direction, KeyId, LabelId, NodeId, RelId, TypeId};
use crate::index::Index;
use crate::index::key::{KEY_BYTES_MAX, key_bytes};
use crate::superblock::LogPosition;
use crate::{Neighbour, Sweep};
use graven_types::PropertyValue;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

pub(super) type Properties = BTreeMap<u32, PropertyValue>;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    pub(super) labels: BTreeSet<u32>,
    pub(super) properties: Properties,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Relationship {
    pub(super) rel_type: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) properties: Properties,
}

/// A graph as maps; names are numbers as in the catalogue.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Graph {
    pub(super) nodes: BTreeMap<u64, Node>,
    pub(super) relationships: BTreeMap<u64, Relationship>,
    pub(super) next_node: u64,
    pub(super) next_relationship: u64,
}

impl Graph {
    /// What a root holds.
    pub(super) fn read(root: &FileRoot) -> Graph {
        let catalog = &root.catalog;
        let mut graph = Graph {
            next_node: catalog.next_node,
            next_relationship: catalog.next_relationship,
            ..Graph::default()
        };
        for run in root.labels.runs() {
            let labels = &catalog.label_sets[run.number];
            for id in run.ids() {
                let labels = labels.iter().map(|label| label.0).collect();
                let properties = Properties::new();
                graph.nodes.insert(id, Node { labels, properties });
            }
        }
        for rel_type in 0..catalog.types().len() as u32 {
            graph.read_lists(root, TypeId(rel_type));
        }
        for store in catalog.stores.iter() {
            match store.kind {
                StoreKind::NodeColumn(key) => {
                    let column = root.column(store.kind).unwrap();
                    for (id, node) in &mut graph.nodes {
                        keep(&mut node.properties, key, column.get(*id).unwrap());
                    }
                }
                StoreKind::RelationshipColumn(rel_type, key) => {
                    let column = root.column(store.kind).unwrap();
                    for (id, relationship) in &mut graph.relationships {
                        if relationship.rel_type == rel_type.0 {
                            keep(&mut relationship.properties, key, column.get(*id).unwrap());
                        }
                    }
                }
                _ => {}
            }
        }
        graph
    }

    fn read_lists(&mut self, root: &FileRoot, rel_type: TypeId) {
        let forward = root.adjacency(rel_type, Direction::Out);
        let nodes: Vec<u64> = self.nodes.keys().copied().collect();
        let mut neighbours = Vec::new();
        for start in nodes {
            neighbours.clear();
            forward.neighbours(NodeId(start), &mut neighbours).unwrap();
            for (at, it) in neighbours.iter().enumerate() {
                let relationship = Relationship {
                    rel_type: rel_type.0,
                    start,
                    end: it.node.0,
                    properties: Properties::new(),
                };
                let known = self.relationships.insert(it.relationship.0, relationship);
                assert_eq!(known, None, "{it:?} twice");
                if at % (neighbours.len() / 100 + 1) == 0 {
                    let told = root.relationship(it.relationship).unwrap();
                    assert_eq!(told, Some((rel_type, NodeId(start), it.node)));
                }
            }
        }
    }

    pub(super) fn create_node(&mut self, labels: &[u32]) -> u64 {
        let labels = labels.iter().copied().collect();
        let properties = Properties::new();
        self.nodes
            .insert(self.next_node, Node { labels, properties });
        self.next_node += 1;
        self.next_node - 1
    }

    pub(super) fn connect(&mut self, rel_type: u32, start: u64, end: u64) -> u64 {
        let relationship = Relationship {
            rel_type,
            start,
            end,
            properties: Properties::new(),
        };
        self.relationships
            .insert(self.next_relationship, relationship);
        self.next_relationship += 1;
        self.next_relationship - 1
    }

    pub(super) fn detach_delete(&mut self, node: u64) {
        self.nodes.remove(&node);
        self.relationships
            .retain(|_, it| it.start != node && it.end != node);
    }

    fn index(&self, label: LabelId, key: KeyId) -> BTreeSet<(Vec<u8>, u64)> {
        let nodes = self
            .nodes
            .iter()
            .filter(|(_, node)| node.labels.contains(&label.0));
        nodes
            .filter_map(|(id, node)| {
                let key = key_bytes(node.properties.get(&key.0)?)?;
                Some((key[..key.len().min(KEY_BYTES_MAX)].to_vec(), *id))
            })
            .collect()
    }
}

fn keep(properties: &mut Properties, key: KeyId, value: PropertyValue) {
    if !value.is_null() {
        properties.insert(key.0, value);
    }
}

/// The way from one graph to another.
pub(super) struct Difference {
    pub(super) catalog: Catalog,
    nodes: BTreeMap<u64, NodeChange>,
    node_values: BTreeMap<u32, BTreeMap<u64, PropertyValue>>,
    relationships: BTreeMap<u32, BTreeMap<u64, RelationshipChange>>,
    relationship_values: BTreeMap<(u32, u32), BTreeMap<u64, PropertyValue>>,
    indexes: BTreeMap<u32, BTreeSet<(Vec<u8>, u64, bool)>>,
}

impl Difference {
    /// `catalog` is that of the base with new names and indexes in it.
    pub(super) fn new(
        base: &Catalog,
        mut catalog: Catalog,
        old: &Graph,
        new: &Graph,
    ) -> Difference {
        catalog.next_node = new.next_node;
        catalog.next_relationship = new.next_relationship;
        let mut changes = Difference {
            catalog,
            nodes: BTreeMap::new(),
            node_values: BTreeMap::new(),
            relationships: BTreeMap::new(),
            relationship_values: BTreeMap::new(),
            indexes: BTreeMap::new(),
        };
        let nothing = Properties::new();
        let ids: BTreeSet<u64> = old.nodes.keys().chain(new.nodes.keys()).copied().collect();
        for id in ids {
            let (before, after) = (old.nodes.get(&id), new.nodes.get(&id));
            let labels = |node: &Node| node.labels.iter().map(|label| LabelId(*label)).collect();
            let change = match (before, after) {
                (None, Some(after)) => Some(NodeChange::Created(labels(after))),
                (Some(_), None) => Some(NodeChange::Deleted),
                (Some(a), Some(b)) if a.labels != b.labels => Some(NodeChange::Labels(labels(b))),
                _ => None,
            };
            change.map(|change| changes.nodes.insert(id, change));
            let before = before.map_or(&nothing, |node| &node.properties);
            let after = after.map_or(&nothing, |node| &node.properties);
            for (key, value) in changed(before, after) {
                changes
                    .node_values
                    .entry(key)
                    .or_default()
                    .insert(id, value);
            }
        }
        let ids = old.relationships.keys().chain(new.relationships.keys());
        for id in ids.copied().collect::<BTreeSet<u64>>() {
            let (before, after) = (old.relationships.get(&id), new.relationships.get(&id));
            let known = before.or(after).unwrap();
            if before.is_some() != after.is_some() {
                let change = RelationshipChange {
                    id: RelId(id),
                    start: NodeId(known.start),
                    end: NodeId(known.end),
                    change: match after {
                        Some(_) => EntryChange::Added,
                        None => EntryChange::Removed,
                    },
                };
                changes
                    .relationships
                    .entry(known.rel_type)
                    .or_default()
                    .insert(id, change);
            }
            let rel_type = known.rel_type;
            let before = before.map_or(&nothing, |it| &it.properties);
            let after = after.map_or(&nothing, |it| &it.properties);
            for (key, value) in changed(before, after) {
                let values = changes
                    .relationship_values
                    .entry((rel_type, key))
                    .or_default();
                values.insert(id, value);
            }
        }
        for index in changes.catalog.indexes.clone() {
            changes.index_entries(base, &index, old, new);
        }
        changes
    }

    fn index_entries(
        &mut self,
        base: &Catalog,
        index: &IndexDescription,
        old: &Graph,
        new: &Graph,
    ) {
        let (label, key) = (index.label().unwrap(), index.keys[0]);
        let before = match base.index_numbered(index.number) {
            Some(_) => old.index(label, key),
            None => BTreeSet::new(),
        };
        let after = new.index(label, key);
        let entries = self.indexes.entry(index.number).or_default();
        let gone = before
            .difference(&after)
            .map(|(key, id)| (key.clone(), *id, false));
        let come = after
            .difference(&before)
            .map(|(key, id)| (key.clone(), *id, true));
        entries.extend(gone.chain(come));
    }

    /// Tells relationships as gone that the base never had.
    pub(super) fn forget(&mut self, rel_type: u32, id: u64, start: u64, end: u64) {
        let change = RelationshipChange {
            id: RelId(id),
            start: NodeId(start),
            end: NodeId(end),
            change: EntryChange::Removed,
        };
        self.relationships
            .entry(rel_type)
            .or_default()
            .entry(id)
            .or_insert(change);
    }
}

fn changed(before: &Properties, after: &Properties) -> Vec<(u32, PropertyValue)> {
    let keys: BTreeSet<u32> = before.keys().chain(after.keys()).copied().collect();
    let value = |of: &Properties, key| of.get(&key).cloned().unwrap_or(PropertyValue::Null);
    keys.into_iter()
        .filter(|key| before.get(key) != after.get(key))
        .map(|key| (key, value(after, key)))
        .collect()
}

fn values(of: Option<&BTreeMap<u64, PropertyValue>>) -> Stream<'_, (u64, PropertyValue)> {
    let all = of.into_iter().flatten();
    Box::new(all.map(|(id, value)| Ok((*id, value.clone()))))
}

impl Changes for Difference {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn nodes(&self) -> Stream<'_, (NodeId, NodeChange)> {
        Box::new(
            self.nodes
                .iter()
                .map(|(id, change)| Ok((NodeId(*id), change.clone()))),
        )
    }

    fn node_keys(&self) -> Vec<KeyId> {
        self.node_values.keys().map(|key| KeyId(*key)).collect()
    }

    fn node_property(&self, key: KeyId) -> Stream<'_, (u64, PropertyValue)> {
        values(self.node_values.get(&key.0))
    }

    fn relationship_types(&self) -> Vec<TypeId> {
        self.relationships.keys().map(|of| TypeId(*of)).collect()
    }

    fn relationships(&self) -> Stream<'_, (TypeId, RelationshipChange)> {
        let all = self.relationships.iter();
        let all = all.flat_map(|(of, changes)| changes.values().map(|it| (TypeId(*of), *it)));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(_, change)| change.id);
        Box::new(all.into_iter().map(Ok))
    }

    fn relationship_keys(&self) -> Vec<(TypeId, KeyId)> {
        let keys = self.relationship_values.keys();
        keys.map(|(of, key)| (TypeId(*of), KeyId(*key))).collect()
    }

    fn relationship_property(
        &self,
        rel_type: TypeId,
        key: KeyId,
    ) -> Stream<'_, (u64, PropertyValue)> {
        values(self.relationship_values.get(&(rel_type.0, key.0)))
    }

    fn adjacency(&self, rel_type: TypeId, direction: Direction) -> Stream<'_, AdjacencyChange> {
        let all = self.relationships.get(&rel_type.0).into_iter().flatten();
        let mut entries: Vec<AdjacencyChange> = all
            .map(|(_, it)| {
                let (node, neighbour) = match direction {
                    Direction::Out => (it.start, it.end),
                    Direction::In => (it.end, it.start),
                };
                AdjacencyChange {
                    node,
                    neighbour,
                    relationship: it.id,
                    added: it.change == EntryChange::Added,
                }
            })
            .collect();
        entries.sort_unstable();
        Box::new(entries.into_iter().map(Ok))
    }

    fn index_numbers(&self) -> Vec<u32> {
        self.indexes.keys().copied().collect()
    }

    fn index(&self, number: u32) -> Stream<'_, IndexChange> {
        let all = self.indexes.get(&number).into_iter().flatten();
        Box::new(all.map(|(key, id, added)| {
            Ok(IndexChange {
                key: key.clone(),
                id: *id,
                added: *added,
            })
        }))
    }

    fn log(&self) -> LogPosition {
        LogPosition::default()
    }
}

/// Every reading operation agrees with `graph`.
pub(super) fn compare(root: &Arc<FileRoot>, graph: &Graph) {
    let found = Graph::read(root);
    assert_eq!(found.next_relationship, graph.next_relationship);
    for (id, node) in &graph.nodes {
        assert_eq!(found.nodes.get(id), Some(node), "node {id}");
    }
    assert_eq!(found.nodes.len(), graph.nodes.len());
    assert_eq!(found.relationships, graph.relationships);
    for id in (0..graph.next_relationship).step_by(graph.next_relationship as usize / 300 + 1) {
        let told = root.relationship(RelId(id)).unwrap();
        let known = graph.relationships.get(&id);
        let known = known.map(|it| (TypeId(it.rel_type), NodeId(it.start), NodeId(it.end)));
        assert_eq!(told, known, "relationship {id}");
    }
    for rel_type in 0..root.catalog.types().len() as u32 {
        compare_lists(root, graph, TypeId(rel_type));
    }
    compare_counts(root, graph);
    for index in &root.catalog.indexes {
        compare_index(root, graph, index);
    }
}

fn compare_lists(root: &FileRoot, graph: &Graph, rel_type: TypeId) {
    let of_type = || {
        graph
            .relationships
            .iter()
            .filter(|(_, it)| it.rel_type == rel_type.0)
    };
    for direction in [Direction::Out, Direction::In] {
        let mut lists: BTreeMap<u64, Vec<Neighbour>> = BTreeMap::new();
        for (id, it) in of_type() {
            let (node, neighbour) = match direction {
                Direction::Out => (it.start, it.end),
                Direction::In => (it.end, it.start),
            };
            lists.entry(node).or_default().push(Neighbour {
                node: NodeId(neighbour),
                relationship: RelId(*id),
            });
        }
        lists.values_mut().for_each(|list| list.sort_unstable());
        let adjacency = root.adjacency(rel_type, direction);
        assert_eq!(adjacency.relationship_count(), of_type().count() as u64);
        let mut seen = BTreeMap::new();
        let nodes = (0..graph.next_node).map(NodeId);
        adjacency
            .sweep(nodes, Sweep::Up, |node, list| {
                let mut neighbours = Vec::new();
                list.decode_wide(&mut neighbours)?;
                seen.insert(node.0, neighbours);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        let expected: BTreeMap<u64, Vec<u64>> = lists
            .iter()
            .map(|(node, list)| (*node, list.iter().map(|it| it.node.0).collect()))
            .collect();
        assert_eq!(seen, expected, "{direction:?} lists of type {rel_type}");
        let step = lists.len() / 400 + 1;
        for (node, list) in lists.into_iter().step_by(step) {
            let mut found = Vec::new();
            adjacency.neighbours(NodeId(node), &mut found).unwrap();
            assert_eq!(
                found, list,
                "{direction:?} list of node {node}, type {rel_type}"
            );
        }
    }
}

fn compare_counts(root: &FileRoot, graph: &Graph) {
    let statistics = &root.catalog.statistics;
    assert_eq!(statistics.nodes, graph.nodes.len() as u64);
    assert_eq!(statistics.relationships, graph.relationships.len() as u64);
    let mut patterns: BTreeMap<(u32, TypeId, u32), u64> = BTreeMap::new();
    let set_of = |node: u64| root.labels.set_of(NodeId(node)).unwrap();
    for it in graph.relationships.values() {
        let pattern = (set_of(it.start), TypeId(it.rel_type), set_of(it.end));
        *patterns.entry(pattern).or_default() += 1;
    }
    assert_eq!(statistics.patterns, patterns);
    for (number, counts) in statistics.types.iter().enumerate() {
        let of_type = || {
            graph
                .relationships
                .values()
                .filter(|it| it.rel_type as usize == number)
        };
        let mut starts: BTreeMap<u64, u64> = BTreeMap::new();
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        for it in of_type() {
            *starts.entry(it.start).or_default() += 1;
            *ends.entry(it.end).or_default() += 1;
        }
        let squares =
            |degrees: &BTreeMap<u64, u64>| degrees.values().map(|it| it * it).sum::<u64>();
        assert_eq!(counts.relationships, of_type().count() as u64);
        assert_eq!(counts.start_nodes, starts.len() as u64);
        assert_eq!(counts.end_nodes, ends.len() as u64);
        assert_eq!(counts.out_squares, squares(&starts));
        assert_eq!(counts.in_squares, squares(&ends));
    }
}

fn compare_index(root: &FileRoot, graph: &Graph, description: &IndexDescription) {
    let (label, key) = (description.label().unwrap(), description.keys[0]);
    let columns = vec![root.column(StoreKind::NodeColumn(key))];
    let index = Index::new(root.pages.clone(), description.clone(), columns, None);
    let expected = graph.index(label, key);
    assert_eq!(description.entries, expected.len() as u64);
    let all = index.range(Bound::Unbounded, Bound::Unbounded).unwrap();
    let all: Vec<u64> = all.map(|node| node.unwrap().0).collect();
    if expected.iter().all(|(key, _)| key.len() < KEY_BYTES_MAX) {
        let ids: Vec<u64> = expected.iter().map(|(_, id)| *id).collect();
        assert_eq!(all, ids, "in order");
    } else {
        assert_eq!(all.len(), expected.len());
    }
    let values: Vec<_> = graph
        .nodes
        .values()
        .filter_map(|node| node.properties.get(&key.0))
        .collect();
    for value in values.iter().step_by(values.len() / 50 + 1) {
        let mut found = index.seek(value).unwrap();
        found.sort_unstable();
        let wanted = key_bytes(value);
        let same = graph.nodes.iter().filter(|(_, node)| {
            node.labels.contains(&label.0)
                && wanted.is_some()
                && node.properties.get(&key.0).and_then(key_bytes) == wanted
        });
        let same: Vec<NodeId> = same.map(|(id, _)| NodeId(*id)).collect();
        assert_eq!(found, same, "{value:?}");
    }
}
