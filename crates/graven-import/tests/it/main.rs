//! Tests of the import and the generator as a caller sees them.

mod generator;
mod headers;
mod ldbc;
mod target;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_import::{ImportError, ImportOptions, ImportReport, ImportSource, Progress, import};
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{Direction, NodeId, PropertyValue, Snapshot, Store};

/// The folder with the shared data sets, or `None` (said loudly) where it is absent.
fn shared(set: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("GRAVEN_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let path = shared.join("data").join(set);
    if !path.exists() {
        eprintln!("SKIPPED: {} is absent", path.display());
        return None;
    }
    Some(path)
}

fn go_on(_: Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn run(
    target: &Path,
    source: &ImportSource,
    options: &ImportOptions,
) -> Result<ImportReport, ImportError> {
    import(target, source, options, &mut go_on)
}

fn open(path: &Path) -> Snapshot {
    let file = graven_io::open(path, &graven_io::OpenOptions::default()).unwrap();
    let cache = PageCache::new(Config::new(Budget::new(64 << 20))).unwrap();
    let store: Arc<Store> = Store::open(file, cache).unwrap();
    store.snapshot()
}

/// The one node of a label with a value of a key, found through the index.
fn find(graph: &Snapshot, label: &str, key: &str, value: &PropertyValue) -> Option<NodeId> {
    let catalog = graph.catalog();
    let index = graph.index(catalog.label(label)?, catalog.key(key)?)?;
    let found = index.seek(value).unwrap();
    assert!(found.len() <= 1, "{label}.{key} = {value:?}: {found:?}");
    found.first().copied()
}

fn property(graph: &Snapshot, node: NodeId, key: &str) -> PropertyValue {
    let key = graph.catalog().key(key);
    let column = key.and_then(|key| graph.node_column(key));
    column.map_or(PropertyValue::Null, |c| c.get(node.0).unwrap())
}

/// Neighbours over a type with one property of the relationship.
fn neighbours(
    graph: &Snapshot,
    node: NodeId,
    rel_type: &str,
    direction: Direction,
    key: &str,
) -> Vec<(NodeId, PropertyValue)> {
    let catalog = graph.catalog();
    let Some(rel_type) = catalog.rel_type(rel_type) else {
        return vec![];
    };
    let mut found = Vec::new();
    graph
        .adjacency(rel_type, direction)
        .unwrap()
        .neighbours(node, &mut found)
        .unwrap();
    let column = catalog
        .key(key)
        .and_then(|key| graph.relationship_column(rel_type, key));
    let value = |id: u64| {
        column
            .as_ref()
            .map_or(PropertyValue::Null, |c| c.get(id).unwrap())
    };
    found
        .into_iter()
        .map(|n| (n.node, value(n.relationship.0)))
        .collect()
}

fn strings(texts: &[&str]) -> PropertyValue {
    PropertyValue::from(
        texts
            .iter()
            .map(|t| PropertyValue::from(*t))
            .collect::<Vec<_>>(),
    )
}

/// Everything of a graph as text, independent of file addresses: equal graphs give equal text.
fn dump(graph: &Snapshot) -> Vec<String> {
    let catalog = graph.catalog();
    let mut lines = Vec::new();
    for node in graph.all_nodes().unwrap().iter() {
        let labels = graph.labels_of(node).unwrap();
        let mut line = format!("{} {labels:?}", node.0);
        for key in graph.node_keys(node).unwrap() {
            let value = graph.node_column(key).unwrap().get(node.0).unwrap();
            line += &format!(" {:?}={value:?}", catalog.key_name(key));
        }
        for name in catalog.types() {
            let rel_type = catalog.rel_type(name).unwrap();
            for direction in [Direction::Out, Direction::In] {
                let mut found = Vec::new();
                let adjacency = graph.adjacency(rel_type, direction).unwrap();
                adjacency.neighbours(node, &mut found).unwrap();
                for neighbour in found {
                    line += &format!(" {name}{direction:?}{neighbour:?}");
                    for key in graph.relationship_keys(neighbour.relationship).unwrap() {
                        let column = graph.relationship_column(rel_type, key).unwrap();
                        line += &format!("{:?}", column.get(neighbour.relationship.0).unwrap());
                    }
                }
            }
        }
        lines.push(line);
    }
    lines
}
