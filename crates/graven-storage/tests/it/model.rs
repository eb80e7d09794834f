//! Goal: whatever graph is written, every reading operation agrees with a naive model of it, also
//! at the smallest cache. Method: random multigraphs with loops, parallel relationships, many
//! labels, mixed values.

use graven_storage::{
    Direction, GraphBuilder, Neighbour, NodeId, PropertyValue, RelId, Snapshot, Sweep, Uniqueness,
};
use proptest::prelude::*;
use std::ops::{Bound, ControlFlow};

const CACHE_BYTES: u64 = 1 << 20;
const LABELS: [&str; 3] = ["A", "B", "C"];
const TYPES: [&str; 2] = ["KNOWS", "LIKES"];

#[derive(Clone, Debug)]
struct Graph {
    /// Labels as a bit set, value of `x`, value of `name`.
    nodes: Vec<(u8, PropertyValue, PropertyValue)>,
    /// Start, type, end, value of `w`.
    relationships: Vec<(usize, usize, usize, PropertyValue)>,
}

fn value() -> impl Strategy<Value = PropertyValue> {
    prop_oneof![
        3 => Just(PropertyValue::Null),
        3 => (-5i64..5).prop_map(PropertyValue::Integer),
        1 => any::<i64>().prop_map(PropertyValue::Integer),
        1 => (-4i32..4).prop_map(|value| PropertyValue::Float(f64::from(value) / 2.0)),
        1 => any::<bool>().prop_map(PropertyValue::Boolean),
        2 => "[ab]{0,3}".prop_map(|text| PropertyValue::string(&text)),
        1 => (0usize..9000).prop_map(|length| PropertyValue::string(&"x".repeat(length))),
        1 => proptest::collection::vec((0i64..3).prop_map(PropertyValue::Integer), 0..3).prop_map(PropertyValue::from),
    ]
}

fn graph() -> impl Strategy<Value = Graph> {
    (1usize..60).prop_flat_map(|nodes| {
        let node = (0u8..8, value(), (-5i64..5).prop_map(PropertyValue::Integer));
        let relationship = (0..nodes, 0usize..2, 0..nodes, value());
        (
            proptest::collection::vec(node, nodes),
            proptest::collection::vec(relationship, 0..200),
        )
            .prop_map(|(nodes, relationships)| Graph {
                nodes,
                relationships,
            })
    })
}

fn labels(bits: u8) -> Vec<&'static str> {
    (0..3)
        .filter(|bit| bits >> bit & 1 == 1)
        .map(|bit| LABELS[bit])
        .collect()
}

fn build(graph: &Graph) -> GraphBuilder {
    let mut builder = GraphBuilder::new();
    for (bits, x, name) in &graph.nodes {
        builder.node(&labels(*bits), &[("x", x.clone()), ("name", name.clone())]);
    }
    for (start, rel_type, end, w) in &graph.relationships {
        let (start, end) = (NodeId(*start as u64), NodeId(*end as u64));
        builder.relationship(start, TYPES[*rel_type], end, &[("w", w.clone())]);
    }
    builder.index("A", "x", Uniqueness::Any);
    builder
}

/// Relationships of a type in id order: start, end, value.
fn ordered(graph: &Graph, rel_type: usize) -> Vec<(usize, usize, &PropertyValue)> {
    let mut found: Vec<_> = (graph.relationships.iter())
        .filter(|relationship| relationship.1 == rel_type)
        .map(|(start, _, end, w)| (*start, *end, w))
        .collect();
    found.sort_by_key(|(start, end, _)| (*start, *end));
    found
}

fn check_nodes(graph: &Graph, snapshot: &Snapshot) {
    let catalog = snapshot.catalog();
    assert_eq!(snapshot.node_count(), graph.nodes.len() as u64);
    let ids: Vec<u64> = (0..graph.nodes.len() as u64).rev().collect();
    for (key, value_of) in [("x", 1), ("name", 2)] {
        let expected: Vec<PropertyValue> = (graph.nodes.iter().rev())
            .map(|node| {
                if value_of == 1 {
                    node.1.clone()
                } else {
                    node.2.clone()
                }
            })
            .collect();
        let mut found = Vec::new();
        match catalog.key(key).and_then(|key| snapshot.node_column(key)) {
            None => found.resize(ids.len(), PropertyValue::Null),
            Some(column) => column.gather(&ids, &mut found).unwrap(),
        }
        assert_eq!(found, expected, "{key}");
    }
    let name = snapshot.node_column(catalog.key("name").unwrap()).unwrap();
    let mut integers = Vec::new();
    assert!(name.gather_i64(&ids, &mut integers).unwrap());
    for (bits, label) in LABELS.iter().enumerate() {
        let expected: Vec<u64> = (0..graph.nodes.len())
            .filter(|node| graph.nodes[*node].0 >> bits & 1 == 1)
            .map(|node| node as u64)
            .collect();
        let Some(label) = catalog.label(label) else {
            assert!(expected.is_empty());
            continue;
        };
        let found = snapshot.nodes_with_label(label).unwrap();
        assert_eq!(
            found.iter().map(|node| node.0).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(catalog.label_count(label), expected.len() as u64);
    }
    for (id, node) in graph.nodes.iter().enumerate() {
        let found = snapshot.labels_of(NodeId(id as u64)).unwrap();
        let mut names: Vec<&str> = found
            .iter()
            .map(|label| &**catalog.label_name(*label).unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, labels(node.0));
        let keys = snapshot.node_keys(NodeId(id as u64)).unwrap();
        assert_eq!(keys.len(), 1 + usize::from(!node.1.is_null()));
    }
    assert!(
        snapshot
            .labels_of(NodeId(graph.nodes.len() as u64))
            .is_err()
    );
}

fn check_relationships(graph: &Graph, snapshot: &Snapshot) {
    let catalog = snapshot.catalog();
    for (number, name) in TYPES.iter().enumerate() {
        let expected = ordered(graph, number);
        let Some(rel_type) = catalog.rel_type(name) else {
            assert!(expected.is_empty());
            continue;
        };
        let out = snapshot.adjacency(rel_type, Direction::Out).unwrap();
        let into = snapshot.adjacency(rel_type, Direction::In).unwrap();
        assert_eq!(out.relationship_count(), expected.len() as u64);
        let first = expected.first().map(|(start, ..)| {
            let mut list = Vec::new();
            out.neighbours(NodeId(*start as u64), &mut list).unwrap();
            list[0].relationship.0
        });
        for (adjacency, forward) in [(&out, true), (&into, false)] {
            for node in 0..graph.nodes.len() {
                let mut list: Vec<Neighbour> = (expected.iter().enumerate())
                    .filter(|(_, (start, end, _))| node == if forward { *start } else { *end })
                    .map(|(at, (start, end, _))| Neighbour {
                        node: NodeId(if forward { *end } else { *start } as u64),
                        relationship: RelId(first.unwrap() + at as u64),
                    })
                    .collect();
                list.sort_unstable();
                let mut found = Vec::new();
                adjacency
                    .neighbours(NodeId(node as u64), &mut found)
                    .unwrap();
                assert_eq!(found, list, "{name} of {node}");
                assert_eq!(
                    adjacency.degree(NodeId(node as u64)).unwrap(),
                    list.len() as u64
                );
            }
            check_sweep(graph, adjacency);
        }
        let column = catalog
            .key("w")
            .and_then(|key| snapshot.relationship_column(rel_type, key));
        for (at, (start, end, w)) in expected.iter().enumerate() {
            let id = RelId(first.unwrap() + at as u64);
            let ends = (rel_type, NodeId(*start as u64), NodeId(*end as u64));
            assert_eq!(snapshot.relationship_endpoints(id).unwrap(), ends);
            let found = column
                .as_ref()
                .map_or(PropertyValue::Null, |column| column.get(id.0).unwrap());
            // Parallel relationships keep the order they were added in, so their values are in
            // order as well.
            assert_eq!(found, **w);
        }
    }
}

fn check_sweep(graph: &Graph, adjacency: &graven_storage::Adjacency) {
    let up: Vec<NodeId> = (0..graph.nodes.len() as u64 + 3).map(NodeId).collect();
    let mut lists = Vec::new();
    for order in [Sweep::Up, Sweep::Down] {
        let mut visited = Vec::new();
        let visit = |node, list: &graven_storage::List<'_>| {
            let (mut narrow, mut wide, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
            let narrow = list.decode(&mut narrow)?.to_vec();
            assert!(
                list.decode_wide(&mut wide)?
                    .iter()
                    .copied()
                    .eq(narrow.iter().map(|id| u64::from(*id)))
            );
            let flow = list.for_each_block(|block| {
                blocks.extend_from_slice(block);
                ControlFlow::Continue(())
            })?;
            assert!(flow.is_continue());
            assert_eq!(blocks, narrow);
            assert_eq!(list.len(), narrow.len());
            for id in 0..graph.nodes.len() as u64 {
                assert_eq!(list.contains(NodeId(id))?, narrow.contains(&(id as u32)));
            }
            visited.push((node, narrow));
            Ok(ControlFlow::Continue(()))
        };
        match order {
            Sweep::Up => adjacency.sweep(up.iter().copied(), order, visit).unwrap(),
            Sweep::Down => adjacency
                .sweep(up.iter().rev().copied(), order, visit)
                .unwrap(),
        }
        if order == Sweep::Down {
            visited.reverse();
        }
        lists.push(visited);
    }
    assert_eq!(lists[0], lists[1]);
    check_sets(&lists[0], adjacency);
}

/// Sweeps over sets that begin anywhere, of every third and of all nodes; and the span.
fn check_sets(lists: &[(NodeId, Vec<u32>)], adjacency: &graven_storage::Adjacency) {
    let span = adjacency.node_span().unwrap();
    assert!(lists.iter().all(|(node, _)| span.contains(&node.0)));
    for (first, step) in [(0, 1), (0, 3), (5, 1), (64, 3)] {
        let wanted = |node: u64| node >= first && (node - first).is_multiple_of(step);
        let mut words = vec![0_u64; 20];
        for bit in (0..20 * 64).filter(|bit| wanted(first + bit)) {
            words[bit as usize / 64] |= 1 << (bit % 64);
        }
        let set = graven_storage::NodeSet::new(NodeId(first), &words);
        for order in [Sweep::Up, Sweep::Down] {
            let mut visited = Vec::new();
            let both = [adjacency, adjacency];
            graven_storage::Adjacency::sweep_set(&both, set, order, |number, node, list| {
                visited.push((number, node, list.to_vec()));
                ControlFlow::Continue(())
            })
            .unwrap();
            visited.sort();
            let expected: Vec<_> = (0..2)
                .flat_map(|number| {
                    lists
                        .iter()
                        .map(move |(node, list)| (number, *node, list.clone()))
                })
                .filter(|(_, node, _)| wanted(node.0) && node.0 - first < 20 * 64)
                .collect();
            assert_eq!(visited, expected);
        }
    }
}

fn number(value: &PropertyValue) -> Option<f64> {
    match value {
        PropertyValue::Integer(value) => Some(*value as f64),
        PropertyValue::Float(value) => Some(*value),
        _ => None,
    }
}

fn check_index(graph: &Graph, snapshot: &Snapshot) {
    let catalog = snapshot.catalog();
    let (label, key) = (catalog.label("A").unwrap(), catalog.key("x").unwrap());
    let index = snapshot.index(label, key).unwrap();
    let indexed = || {
        graph
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.0 & 1 == 1 && !node.1.is_null())
    };
    assert_eq!(index.description().entries, indexed().count() as u64);
    for (_, wanted, _) in &graph.nodes {
        let expected: Vec<NodeId> = indexed()
            .filter(|(_, node)| match (number(&node.1), number(wanted)) {
                (Some(a), Some(b)) => a == b,
                _ => node.1 == *wanted,
            })
            .map(|(id, _)| NodeId(id as u64))
            .collect();
        assert_eq!(index.seek(wanted).unwrap(), expected, "{wanted:?}");
    }
    for (low, high) in [(-3.0, 2.0), (0.0, 0.5), (1.0, -1.0)] {
        let bounds = (PropertyValue::Float(low), PropertyValue::Float(high));
        let mut found: Vec<NodeId> = (index
            .range(Bound::Included(&bounds.0), Bound::Excluded(&bounds.1))
            .unwrap())
        .collect::<Result<_, _>>()
        .unwrap();
        found.sort_unstable();
        let expected: Vec<NodeId> = indexed()
            .filter(|(_, node)| number(&node.1).is_some_and(|value| value >= low && value < high))
            .map(|(id, _)| NodeId(id as u64))
            .collect();
        assert_eq!(found, expected);
    }
    let all = index
        .range(Bound::Unbounded, Bound::Unbounded)
        .unwrap()
        .count();
    assert_eq!(all, indexed().count());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn readers_agree_with_a_model(graph in graph()) {
        let store = build(&graph).open(CACHE_BYTES).unwrap();
        let snapshot = store.snapshot();
        check_nodes(&graph, &snapshot);
        check_relationships(&graph, &snapshot);
        check_index(&graph, &snapshot);
    }
}
