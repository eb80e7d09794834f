//! A file with its checkpoints beside a naive graph, and changes by chance to both.

use super::model::{Difference, Graph, compare};
use super::{CACHE_BYTES, model};
use crate::catalog::Catalog;
use crate::checkpoint::{CheckpointOptions, Checkpointer};
use crate::data_file::FileRoot;
use crate::store::Store;
use crate::{GraphBuilder, NodeId, Uniqueness};
use graven_io::{File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache};
use graven_types::PropertyValue;
use parking_lot::Mutex;
use std::sync::Arc;

pub(super) const OPTIONS: CheckpointOptions = CheckpointOptions {
    paced: false,
    compact: true,
    until: crate::Until::DONE,
};

/// Chance with a seed.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    pub(super) fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    pub(super) fn pick(&mut self, from: &[u64]) -> u64 {
        from[self.below(from.len() as u64) as usize]
    }

    fn value(&mut self) -> PropertyValue {
        match self.below(12) {
            0..=3 => PropertyValue::Integer(self.below(50) as i64 - 20),
            4 => PropertyValue::Integer(self.0 as i64),
            5 => PropertyValue::Float(self.below(9) as f64 / 2.0),
            6 => PropertyValue::Boolean(self.one_in(2)),
            7 => PropertyValue::string(&"long ".repeat(self.below(3000) as usize)),
            8 => PropertyValue::from(vec![PropertyValue::Integer(self.below(4) as i64)]),
            9 => PropertyValue::Null,
            _ => PropertyValue::string(&format!("text {}", self.below(30))),
        }
    }
}

/// An open file with its checkpoints, as the store has them.
pub(super) struct Bench {
    pub(super) file: Arc<dyn File>,
    pub(super) root: Arc<FileRoot>,
    pub(super) checkpointer: Checkpointer,
    pub(super) graph: Graph,
}

impl Bench {
    pub(super) fn open(file: Arc<dyn File>, cache_bytes: u64) -> crate::Result<Bench> {
        let cache = PageCache::new(Config::new(Budget::new(cache_bytes)))?;
        let found = crate::superblock::read(&*file)?;
        let pages = Arc::new(crate::pages::Pages::open(file.clone(), cache)?);
        let shared = Arc::new(Mutex::new(found.clone()));
        let root = Arc::new(FileRoot::open(pages, found)?);
        Ok(Bench {
            file,
            graph: Graph::read(&root),
            root,
            checkpointer: Checkpointer::new(shared),
        })
    }

    pub(super) fn build(builder: &GraphBuilder) -> Bench {
        let file: Arc<dyn File> = Arc::new(MemoryFile::new("bench.graven"));
        builder.build(file.clone()).unwrap();
        Bench::open(file, CACHE_BYTES).unwrap()
    }

    /// Merges the way to `new` in.
    pub(super) fn checkpoint(&mut self, catalog: Catalog, new: Graph) -> crate::Result<()> {
        let changes = Difference::new(&self.root.catalog, catalog, &self.graph, &new);
        self.merge(&changes, new)
    }

    pub(super) fn merge(&mut self, changes: &Difference, new: Graph) -> crate::Result<()> {
        let (root, _) = self.checkpointer.merge(&self.root, changes, &OPTIONS)?;
        self.install_base(root)?;
        self.graph = new;
        if self.checkpointer.is_sparse(&self.root)? {
            let (root, _) = self.checkpointer.compact(&self.root, &OPTIONS)?;
            self.install_base(root)?;
            self.checkpointer.settle(&self.root)?;
        }
        Ok(())
    }

    pub(super) fn install_base(&mut self, root: FileRoot) -> crate::Result<()> {
        let number = self.root.found.superblock.checkpoint;
        let old = std::mem::replace(&mut self.root, Arc::new(root));
        let weak = Arc::downgrade(&old);
        drop(old);
        self.checkpointer.installed((number, weak), &self.root)
    }

    /// The file reads as the graph, by this root and opened anew.
    pub(super) fn verify(&self) {
        compare(&self.root, &self.graph);
        let cache = PageCache::new(Config::new(Budget::new(CACHE_BYTES))).unwrap();
        let store = Store::open(self.file.clone(), cache).unwrap();
        assert_eq!(store.check().unwrap().problems, []);
    }

    pub(super) fn units(&self) -> u64 {
        self.file.len().unwrap() / 4096
    }
}

/// A graph with labels, parallel relationships, loops, long values and two indexes.
pub(super) fn sample(nodes: u64, relationships: u64, chance: &mut Chance) -> GraphBuilder {
    let mut builder = GraphBuilder::new();
    for id in 0..nodes {
        let labels: &[&str] = match chance.below(4) {
            0 => &["A"],
            1 => &["A", "B"],
            2 => &["C"],
            _ => &[],
        };
        builder.node(
            labels,
            &[
                ("id", PropertyValue::Integer(id as i64 * 3)),
                ("x", chance.value()),
                (
                    "name",
                    PropertyValue::string(&format!("name {}", chance.below(40))),
                ),
            ],
        );
    }
    for _ in 0..relationships {
        let rel_type = ["T", "U", "V"][chance.below(3) as usize];
        let (start, end) = (chance.below(nodes), chance.below(nodes.min(7) * nodes / 7));
        builder.relationship(
            NodeId(start),
            rel_type,
            NodeId(end),
            &[("w", chance.value())],
        );
    }
    builder.index("A", "id", Uniqueness::Unique);
    builder.index("C", "x", Uniqueness::Any);
    builder
}

/// Changes some of everything.
pub(super) fn change(graph: &mut Graph, catalog: &mut Catalog, steps: u64, chance: &mut Chance) {
    let extra = catalog.keys.intern(&format!("key {}", chance.below(3)));
    let rel_type = catalog.types.intern(&format!("type {}", chance.below(3)));
    let label = catalog.labels.intern(&format!("label {}", chance.below(3)));
    for _ in 0..steps {
        let nodes: Vec<u64> = match chance.below(8) {
            0 => graph.nodes.keys().copied().take(3).collect(),
            _ => graph.nodes.keys().copied().collect(),
        };
        let relationships: Vec<u64> = graph.relationships.keys().copied().collect();
        match chance.below(14) {
            0 | 1 => {
                let labels = [chance.below(3) as u32, label];
                let node = graph.create_node(&labels[..chance.below(3) as usize]);
                graph.next_node += chance.below(2);
                let value = PropertyValue::Integer(node as i64 * 3);
                graph
                    .nodes
                    .get_mut(&node)
                    .unwrap()
                    .properties
                    .insert(0, value);
            }
            2..=5 if !nodes.is_empty() => {
                let of = [0, 1, rel_type][chance.below(3) as usize];
                graph.connect(of, chance.pick(&nodes), chance.pick(&nodes));
                graph.next_relationship += chance.below(2);
            }
            6 if !nodes.is_empty() && chance.one_in(3) => graph.detach_delete(chance.pick(&nodes)),
            7 if !relationships.is_empty() => {
                graph.relationships.remove(&chance.pick(&relationships));
            }
            8 if !nodes.is_empty() => {
                let node = graph.nodes.get_mut(&chance.pick(&nodes)).unwrap();
                let label = [0, 1, 2, label][chance.below(4) as usize];
                if !node.labels.remove(&label) {
                    node.labels.insert(label);
                }
            }
            9..=11 if !nodes.is_empty() => {
                let node = graph.nodes.get_mut(&chance.pick(&nodes)).unwrap();
                set(
                    &mut node.properties,
                    [1, 2, extra][chance.below(3) as usize],
                    chance,
                );
            }
            12 | 13 if !relationships.is_empty() => {
                let id = chance.pick(&relationships);
                let it = graph.relationships.get_mut(&id).unwrap();
                set(
                    &mut it.properties,
                    [3, extra][chance.below(2) as usize],
                    chance,
                );
            }
            _ => {}
        }
    }
}

fn set(properties: &mut model::Properties, key: u32, chance: &mut Chance) {
    match chance.value() {
        PropertyValue::Null => _ = properties.remove(&key),
        value => _ = properties.insert(key, value),
    }
}
