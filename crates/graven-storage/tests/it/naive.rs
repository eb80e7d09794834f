//! A graph of maps, and the comparison of every reading operation with it.

use graven_storage::{
    Adjacency, Direction, Error, KeyId, LabelId, Neighbour, NodeId, NodeSet, PropertyValue, RelId,
    Snapshot, Sweep, TypeId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};

type Properties = BTreeMap<u32, PropertyValue>;

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Node {
    pub(crate) labels: BTreeSet<u32>,
    pub(crate) properties: Properties,
}

/// A relationship.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Relationship {
    pub(crate) rel_type: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) properties: Properties,
}

/// A graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Naive {
    pub(crate) nodes: BTreeMap<u64, Node>,
    pub(crate) relationships: BTreeMap<u64, Relationship>,
}

/// Labels, types and keys that are compared: numbers below these.
pub(crate) const LABELS: u32 = 3;
pub(crate) const TYPES: u32 = 2;
pub(crate) const KEYS: u32 = 3;

impl Naive {
    /// What a snapshot holds, by the simplest reading operations.
    pub(crate) fn of(snapshot: &Snapshot) -> Naive {
        let mut naive = Naive::default();
        for node in snapshot.all_nodes().unwrap().iter() {
            let labels = snapshot.labels_of(node).unwrap();
            let mut properties = Properties::new();
            for key in snapshot.node_keys(node).unwrap() {
                let value = snapshot.node_column(key).unwrap().get(node.0).unwrap();
                properties.insert(key.0, value);
            }
            let labels = labels.into_iter().map(|label| label.0).collect();
            naive.nodes.insert(node.0, Node { labels, properties });
            for rel_type in 0..snapshot.catalog().types().len() as u32 {
                let out = snapshot
                    .adjacency(TypeId(rel_type), Direction::Out)
                    .unwrap();
                let mut list = Vec::new();
                out.neighbours(node, &mut list).unwrap();
                for Neighbour {
                    node: end,
                    relationship,
                } in list
                {
                    let mut properties = Properties::new();
                    for key in snapshot.relationship_keys(relationship).unwrap() {
                        let column = snapshot.relationship_column(TypeId(rel_type), key).unwrap();
                        properties.insert(key.0, column.get(relationship.0).unwrap());
                    }
                    let it = Relationship {
                        rel_type,
                        start: node.0,
                        end: end.0,
                        properties,
                    };
                    naive.relationships.insert(relationship.0, it);
                }
            }
        }
        naive
    }

    /// Neighbours of `node`, ascending.
    fn list(&self, rel_type: u32, direction: Direction, node: u64) -> Vec<Neighbour> {
        let of_type = self.relationships.iter();
        let mut list: Vec<Neighbour> = of_type
            .filter(|(_, it)| it.rel_type == rel_type)
            .filter_map(|(id, it)| {
                let (own, other) = match direction {
                    Direction::Out => (it.start, it.end),
                    Direction::In => (it.end, it.start),
                };
                (own == node).then_some(Neighbour {
                    node: NodeId(other),
                    relationship: RelId(*id),
                })
            })
            .collect();
        list.sort_unstable();
        list
    }

    /// Compares everything that can be read.
    pub(crate) fn check(&self, snapshot: &Snapshot) {
        let limit = snapshot.node_id_limit() + 2;
        self.check_nodes(snapshot, limit);
        for rel_type in 0..TYPES {
            for direction in [Direction::Out, Direction::In] {
                let adjacency = snapshot.adjacency(TypeId(rel_type), direction).unwrap();
                let lists: BTreeMap<u64, Vec<Neighbour>> = (0..limit)
                    .map(|node| (node, self.list(rel_type, direction, node)))
                    .collect();
                check_lists(&adjacency, direction, &lists);
                check_sweeps(&adjacency, &lists, limit);
                if direction == Direction::Out {
                    check_ids(&adjacency, &lists);
                }
            }
        }
        self.check_relationships(snapshot);
        self.check_indexes(snapshot);
    }

    fn check_nodes(&self, snapshot: &Snapshot, limit: u64) {
        assert_eq!(snapshot.node_count(), self.nodes.len() as u64);
        let all: Vec<u64> = snapshot
            .all_nodes()
            .unwrap()
            .iter()
            .map(|node| node.0)
            .collect();
        assert_eq!(all, self.nodes.keys().copied().collect::<Vec<_>>());
        for label in 0..LABELS {
            let found = snapshot.nodes_with_label(LabelId(label)).unwrap();
            let expected = self
                .nodes
                .iter()
                .filter(|(_, it)| it.labels.contains(&label));
            let expected: Vec<u64> = expected.map(|(id, _)| *id).collect();
            assert_eq!(found.iter().map(|n| n.0).collect::<Vec<_>>(), expected);
        }
        let ids: Vec<u64> = (0..limit).rev().collect();
        for id in &ids {
            let node = self.nodes.get(id);
            assert_eq!(snapshot.node_exists(NodeId(*id)), node.is_some(), "{id}");
            let labels = snapshot.labels_of(NodeId(*id));
            match node {
                None => assert!(matches!(labels, Err(Error::NoSuchNode { .. }))),
                Some(node) => {
                    let expected: Vec<LabelId> = node.labels.iter().copied().map(LabelId).collect();
                    assert_eq!(labels.unwrap(), expected);
                    let keys: Vec<KeyId> = node.properties.keys().copied().map(KeyId).collect();
                    assert_eq!(snapshot.node_keys(NodeId(*id)).unwrap(), keys, "node {id}");
                }
            }
            for label in 0..LABELS {
                let has = node.is_some_and(|node| node.labels.contains(&label));
                assert_eq!(
                    snapshot.has_label(NodeId(*id), LabelId(label)).unwrap(),
                    has
                );
            }
        }
        for key in 0..KEYS {
            let expected: Vec<PropertyValue> = (ids.iter())
                .map(|id| {
                    let node = self.nodes.get(id);
                    let value = node.and_then(|node| node.properties.get(&key));
                    value.cloned().unwrap_or_default()
                })
                .collect();
            let Some(column) = snapshot.node_column(KeyId(key)) else {
                assert!(expected.iter().all(PropertyValue::is_null));
                continue;
            };
            let mut gathered = Vec::new();
            column.gather(&ids, &mut gathered).unwrap();
            assert_eq!(gathered, expected, "key {key}");
            let mut integers = Vec::new();
            if column.gather_i64(&ids, &mut integers).unwrap() {
                let values = integers
                    .into_iter()
                    .map(|it| it.map_or(PropertyValue::Null, PropertyValue::Integer));
                assert_eq!(values.collect::<Vec<_>>(), expected);
            } else {
                assert!(integers.is_empty());
            }
            let mut whole = vec![7];
            if column.gather_integers(&ids, &mut whole).unwrap() {
                let values = whole[1..].iter().copied().map(PropertyValue::Integer);
                assert_eq!(values.collect::<Vec<_>>(), expected);
            } else {
                let integers = expected
                    .iter()
                    .all(|value| matches!(value, PropertyValue::Integer(_)));
                assert!(whole == [7] && !integers);
            }
            for (id, value) in ids.iter().zip(&expected) {
                assert_eq!(column.get(*id).unwrap(), *value);
                assert_eq!(column.has(*id).unwrap(), !value.is_null());
            }
        }
    }

    fn check_relationships(&self, snapshot: &Snapshot) {
        let limit = self.relationships.keys().max().map_or(0, |id| id + 3);
        for id in 0..limit {
            let found = snapshot.relationship_endpoints(RelId(id));
            let Some(it) = self.relationships.get(&id) else {
                assert!(
                    matches!(found, Err(Error::NoSuchRelationship { .. })),
                    "{id}: {found:?}"
                );
                continue;
            };
            let ends = (TypeId(it.rel_type), NodeId(it.start), NodeId(it.end));
            assert_eq!(found.unwrap(), ends);
            let keys: Vec<KeyId> = it.properties.keys().copied().map(KeyId).collect();
            assert_eq!(snapshot.relationship_keys(RelId(id)).unwrap(), keys);
            for key in 0..KEYS {
                let column = snapshot.relationship_column(TypeId(it.rel_type), KeyId(key));
                let value = column.map_or(PropertyValue::Null, |it| it.get(id).unwrap());
                let expected = it.properties.get(&key).cloned().unwrap_or_default();
                assert_eq!(value, expected);
            }
        }
    }

    /// Every single-key index of nodes holds what it should, whatever is asked.
    fn check_indexes(&self, snapshot: &Snapshot) {
        for description in snapshot.catalog().indexes() {
            let (Some(label), [key]) = (description.label(), description.keys.as_slice()) else {
                continue;
            };
            let index = snapshot.index(label, *key).unwrap();
            let mut indexed: Vec<(Vec<u8>, u64)> = (self.nodes.iter())
                .filter(|(_, node)| node.labels.contains(&label.0))
                .filter_map(|(id, node)| {
                    let value = node.properties.get(&key.0)?;
                    Some((graven_storage::key_bytes(value)?, *id))
                })
                .collect();
            indexed.sort_unstable();
            let all: Vec<u64> = index
                .range(Bound::Unbounded, Bound::Unbounded)
                .unwrap()
                .map(|node| node.unwrap().0)
                .collect();
            let mut found = all.clone();
            found.sort_unstable();
            let mut expected: Vec<u64> = indexed.iter().map(|(_, id)| *id).collect();
            let in_order = expected.clone();
            expected.sort_unstable();
            assert_eq!(found, expected, "index {}", description.name);
            let short = indexed.iter().all(|(key, _)| key.len() < 1000);
            if short {
                assert_eq!(all, in_order);
            }
            let (from, to) = (PropertyValue::Integer(-1), PropertyValue::Integer(4));
            for (low, high) in [
                (Bound::Unbounded, Bound::Unbounded),
                (Bound::Included(&from), Bound::Excluded(&to)),
                (Bound::Excluded(&from), Bound::Included(&to)),
            ] {
                let range = || index.range(low, high).unwrap();
                let mut up: Vec<u64> = range().map(|node| node.unwrap().0).collect();
                let down = range().descending();
                let mut down: Vec<u64> = down.map(|node| node.unwrap().0).collect();
                down.reverse();
                if !short {
                    up.sort_unstable();
                    down.sort_unstable();
                }
                assert_eq!(down, up, "{low:?} {high:?}");
            }
            let values = self.nodes.values();
            let values = values.filter_map(|node| node.properties.get(&key.0));
            let values: Vec<PropertyValue> = values.cloned().collect();
            let table = index.hashed_keys().unwrap();
            let by_table = index.find_each(&values, 3, table.as_ref()).unwrap();
            let each = index.find_each(&values, 3, None).unwrap();
            for (place, value) in values.iter().enumerate() {
                let Some(key) = graven_storage::key_bytes(value) else {
                    continue;
                };
                let same: Vec<u64> = (indexed.iter())
                    .filter(|(other, _)| *other == key)
                    .map(|(_, id)| *id)
                    .collect();
                let mut found: Vec<u64> = index.seek(value).unwrap().iter().map(|n| n.0).collect();
                found.sort_unstable();
                assert_eq!(found, same, "{value:?}");
                let mut at_once = vec![7];
                let whole = index.find(value, 3, &mut at_once).unwrap();
                assert_eq!(each.of(place), whole.then_some(&at_once[1..]), "{value:?}");
                let in_table = by_table.of(place);
                assert!(in_table.is_some() || !whole, "{value:?}");
                assert_eq!(in_table.unwrap_or(&same), same, "{value:?}");
                match whole {
                    true => assert_eq!(at_once[1..], same, "{value:?}"),
                    // More there are, or were before changes; or the key was cut.
                    false => assert_eq!(at_once, [7], "{value:?}"),
                }
            }
        }
    }
}

fn check_lists(adjacency: &Adjacency, direction: Direction, lists: &BTreeMap<u64, Vec<Neighbour>>) {
    for (node, expected) in lists {
        let mut found = Vec::new();
        adjacency.neighbours(NodeId(*node), &mut found).unwrap();
        assert_eq!(found, *expected, "{direction:?} of {node}");
        let degree = adjacency.degree(NodeId(*node)).unwrap();
        assert_eq!(degree, expected.len() as u64);
        let visited = adjacency.with_list(NodeId(*node), |list| {
            let mut wide = Vec::new();
            list.decode_wide(&mut wide)?;
            let nodes: Vec<u64> = expected.iter().map(|it| it.node.0).collect();
            assert_eq!(wide, nodes);
            let mut blocks = Vec::new();
            let _ = list.for_each_block(|block| {
                blocks.extend(block.iter().map(|id| u64::from(*id)));
                ControlFlow::Continue(())
            })?;
            assert_eq!(blocks, nodes);
            for other in lists.keys() {
                let first = nodes.partition_point(|id| id < other);
                let behind = nodes.partition_point(|id| id <= other);
                let positions = list.positions(NodeId(*other))?;
                assert_eq!(positions.len(), behind - first);
                assert_eq!(list.contains(NodeId(*other))?, behind > first);
                if direction == Direction::Out && behind > first {
                    let mut ids = Vec::new();
                    list.append_relationships(positions, &mut ids)?;
                    let wanted = expected[first..behind].iter().map(|it| it.relationship);
                    assert!(ids.into_iter().eq(wanted));
                }
            }
            Ok(())
        });
        assert_eq!(visited.unwrap().is_some(), !expected.is_empty());
    }
}

fn check_sweeps(adjacency: &Adjacency, lists: &BTreeMap<u64, Vec<Neighbour>>, limit: u64) {
    let expected: Vec<(u64, Vec<u64>)> = (lists.iter())
        .filter(|(_, list)| !list.is_empty())
        .map(|(node, list)| (*node, list.iter().map(|it| it.node.0).collect()))
        .collect();
    for order in [Sweep::Up, Sweep::Down] {
        let mut swept = Vec::new();
        let visit = |NodeId(node): NodeId, list: &graven_storage::List<'_>| {
            let mut narrow = Vec::new();
            let list = list.decode(&mut narrow)?.iter().map(|id| u64::from(*id));
            swept.push((node, list.collect::<Vec<u64>>()));
            Ok(ControlFlow::Continue(()))
        };
        match order {
            Sweep::Up => adjacency
                .sweep((0..limit).map(NodeId), order, visit)
                .unwrap(),
            Sweep::Down => adjacency
                .sweep((0..limit).rev().map(NodeId), order, visit)
                .unwrap(),
        }
        if order == Sweep::Down {
            swept.reverse();
        }
        assert_eq!(swept, expected, "{order:?}");
        let words = vec![u64::MAX; limit.div_ceil(64) as usize];
        let mut swept = Vec::new();
        let set = NodeSet::new(NodeId(0), &words);
        Adjacency::sweep_set(&[adjacency], set, order, |_, NodeId(node), list| {
            swept.push((node, list.iter().map(|id| u64::from(*id)).collect()));
            ControlFlow::Continue(())
        })
        .unwrap();
        swept.sort_unstable();
        assert_eq!(swept, expected);
        check_probe(adjacency, set, order, &expected);
    }
    let span = adjacency.node_span().unwrap();
    assert!(expected.iter().all(|(node, _)| span.contains(node)));
}

/// The ids of the relationships of all nodes and of some of them, as runs that count up.
fn check_ids(adjacency: &Adjacency, lists: &BTreeMap<u64, Vec<Neighbour>>) {
    for step in [1, 3] {
        let nodes: Vec<u64> = lists.keys().copied().step_by(step).collect();
        let mut found: Vec<(u64, u64)> = Vec::new();
        adjacency
            .sweep_ids(&nodes, |place, ids| {
                assert!(!ids.is_empty());
                found.extend(ids.map(|id| (nodes[place], id)));
                ControlFlow::Continue(())
            })
            .unwrap();
        let wanted = nodes.iter().flat_map(|node| {
            let list = lists[node].iter();
            list.map(move |it| (*node, it.relationship.0))
        });
        let wanted: Vec<(u64, u64)> = wanted.collect();
        assert_eq!(found, wanted, "every {step}th node");
    }
    let nodes: Vec<u64> = lists.keys().copied().collect();
    let mut visits = 0;
    adjacency
        .sweep_ids(&nodes, |_, _| {
            visits += 1;
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(visits > 0, lists.values().any(|list| !list.is_empty()));
}

/// Every list is asked for neighbours in a set of a few ids, and in none.
fn check_probe(
    adjacency: &Adjacency,
    nodes: NodeSet<'_>,
    order: Sweep,
    expected: &[(u64, Vec<u64>)],
) {
    for targets in [vec![0x8000_0100_0000_0012_u64; 3], Vec::new()] {
        let targets = NodeSet::new(NodeId(64), &targets);
        let mut probed = Vec::new();
        adjacency
            .probe_set(nodes, targets, order, |NodeId(node), met| {
                probed.push((node, met));
                ControlFlow::Continue(())
            })
            .unwrap();
        probed.sort_unstable();
        let meets = |list: &[u64]| list.iter().any(|id| targets.contains(NodeId(*id)));
        let wanted: Vec<(u64, bool)> = expected
            .iter()
            .map(|(node, list)| (*node, meets(list)))
            .collect();
        assert_eq!(probed, wanted);
    }
}
