//! Public signatures while their files are being written.
#![allow(unused_variables, missing_docs, reason = "replaced file by file")]

use crate::catalog::{Catalog, IndexDescription};
use crate::{Direction, Error, KeyId, LabelId, NodeId, PropertyValue, RelId, Result, TypeId};
use graven_io::File;
use graven_pagecache::{Budget, PageCache};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

fn later<T>() -> Result<T> {
    Err(Error::Incomplete {
        store: "graven-storage".into(),
        what: "not written yet".into(),
    })
}

/// An open database file.
#[derive(Debug)]
pub struct Store(());
impl Store {
    pub fn open(file: Arc<dyn File>, cache: Arc<PageCache>) -> Result<Arc<Store>> {
        later()
    }
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            catalog: Arc::default(),
        }
    }
    pub fn uuid(&self) -> [u8; 16] {
        [0; 16]
    }
}

/// One version of the graph; cheap to clone.
#[derive(Clone, Debug)]
pub struct Snapshot {
    catalog: Arc<Catalog>,
}
impl Snapshot {
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
    pub fn cache(&self) -> &Arc<PageCache> {
        panic!("not written yet")
    }
    pub fn node_count(&self) -> u64 {
        0
    }
    pub fn node_exists(&self, node: NodeId) -> bool {
        false
    }
    pub fn labels_of(&self, node: NodeId) -> Result<Vec<LabelId>> {
        later()
    }
    pub fn has_label(&self, node: NodeId, label: LabelId) -> Result<bool> {
        later()
    }
    /// Ascending, disjoint.
    pub fn nodes_with_label(&self, label: LabelId) -> Result<NodeRanges> {
        later()
    }
    pub fn all_nodes(&self) -> NodeRanges {
        NodeRanges::default()
    }
    /// An empty one if there is none.
    pub fn adjacency(&self, rel_type: TypeId, direction: Direction) -> Result<Adjacency> {
        later()
    }
    pub fn node_column(&self, key: KeyId) -> Option<Column> {
        None
    }
    pub fn relationship_column(&self, rel_type: TypeId, key: KeyId) -> Option<Column> {
        None
    }
    pub fn node_keys(&self, node: NodeId) -> Result<Vec<KeyId>> {
        later()
    }
    pub fn relationship_keys(&self, relationship: RelId) -> Result<Vec<KeyId>> {
        later()
    }
    pub fn index(&self, label: LabelId, key: KeyId) -> Option<Index> {
        None
    }
    pub fn relationship_endpoints(&self, relationship: RelId) -> Result<(TypeId, NodeId, NodeId)> {
        later()
    }
}

/// Ascending disjoint ranges of node ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRanges(Arc<[Range<u64>]>);
impl NodeRanges {
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }
    pub fn count(&self) -> u64 {
        self.0.iter().map(|r| r.end - r.start).sum()
    }
    pub fn contains(&self, node: NodeId) -> bool {
        false
    }
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().cloned().flatten().map(NodeId)
    }
}

/// Order in which a sweep visits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sweep {
    Up,
    Down,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour {
    pub node: NodeId,
    pub relationship: RelId,
}

/// One direction of one relationship type. Cheap to clone, Send + Sync.
#[derive(Clone, Debug)]
pub struct Adjacency(());
impl Adjacency {
    /// Whether every node id fits 32 bits (then [`List::decode`] works).
    pub fn ids_fit_u32(&self) -> bool {
        true
    }
    pub fn relationship_count(&self) -> u64 {
        0
    }
    pub fn degree(&self, node: NodeId) -> Result<u64> {
        later()
    }
    /// Appends the neighbours of `node` with relationship ids (reverse: found in the other end's forward list).
    pub fn neighbours(&self, node: NodeId, out: &mut Vec<Neighbour>) -> Result<()> {
        later()
    }
    /// Visits the lists of many nodes; `nodes` sorted as `order` says; nodes without list are not visited.
    pub fn sweep<F>(
        &self,
        nodes: impl Iterator<Item = NodeId>,
        order: Sweep,
        visit: F,
    ) -> Result<()>
    where
        F: FnMut(NodeId, &List<'_>) -> Result<ControlFlow<()>>,
    {
        later()
    }
}

/// The neighbours of one node, sorted ascending, parallel relationships repeated.
#[derive(Debug)]
pub struct List<'a>(&'a ());
impl List<'_> {
    pub fn len(&self) -> usize {
        0
    }
    pub fn is_empty(&self) -> bool {
        true
    }
    /// Decodes the whole list into `scratch` (cleared first).
    pub fn decode<'s>(&self, scratch: &'s mut Vec<u32>) -> Result<&'s [u32]> {
        later()
    }
    pub fn decode_wide<'s>(&self, scratch: &'s mut Vec<u64>) -> Result<&'s [u64]> {
        later()
    }
    /// Blocks of up to 33 neighbours, decoded one by one until `visit` breaks.
    pub fn for_each_block(
        &self,
        visit: impl FnMut(&[u32]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        later()
    }
    pub fn contains(&self, node: NodeId) -> Result<bool> {
        later()
    }
    /// Id of the relationship at position `rank` (forward lists only).
    pub fn relationship(&self, rank: usize) -> Result<RelId> {
        later()
    }
}

/// One property of nodes or of the relationships of one type. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Column(());
impl Column {
    pub fn get(&self, id: u64) -> Result<PropertyValue> {
        later()
    }
    /// Appends the values of `ids` (any order) to `out`, Null where absent.
    pub fn gather(&self, ids: &[u64], out: &mut Vec<PropertyValue>) -> Result<()> {
        later()
    }
    /// As `gather` for columns of integers; `false` (and nothing appended) if some value is of another type.
    pub fn gather_i64(&self, ids: &[u64], out: &mut Vec<Option<i64>>) -> Result<bool> {
        later()
    }
}

/// An index over one (label, key). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Index(());
impl Index {
    pub fn description(&self) -> &IndexDescription {
        panic!("not written yet")
    }
    /// Nodes whose value equals `value` in Cypher's sense (1 = 1.0), ascending.
    pub fn seek(&self, value: &PropertyValue) -> Result<Vec<NodeId>> {
        later()
    }
    /// Nodes whose value lies between the bounds (of one type class), in key order.
    pub fn range(
        &self,
        low: std::ops::Bound<&PropertyValue>,
        high: std::ops::Bound<&PropertyValue>,
    ) -> Result<IndexRange> {
        later()
    }
}
#[derive(Debug)]
pub struct IndexRange(());
impl Iterator for IndexRange {
    type Item = Result<NodeId>;
    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}

/// Settings of a bulk writer.
#[derive(Clone, Debug, Default)]
pub struct WriterOptions {
    pub uuid: Option<[u8; 16]>,
    pub budget: Option<Arc<Budget>>,
}

/// Writes a whole database file, sorted input, little memory. Column, adjacency and index writers are
/// independent values (`Send`): several may be open at once, one adjacency at a time.
#[derive(Debug)]
pub struct StoreWriter(());
impl StoreWriter {
    pub fn create(file: Arc<dyn File>, options: WriterOptions) -> Result<StoreWriter> {
        later()
    }
    pub fn intern_label(&mut self, name: &str) -> LabelId {
        LabelId(0)
    }
    pub fn intern_type(&mut self, name: &str) -> TypeId {
        TypeId(0)
    }
    pub fn intern_key(&mut self, name: &str) -> KeyId {
        KeyId(0)
    }
    /// The next `count` node ids get `labels`; call before any adjacency.
    pub fn add_nodes(&mut self, count: u64, labels: &[LabelId]) -> Result<Range<u64>> {
        later()
    }
    pub fn node_column(&mut self, key: KeyId) -> Result<ColumnWriter> {
        later()
    }
    pub fn relationship_column(&mut self, rel_type: TypeId, key: KeyId) -> Result<ColumnWriter> {
        later()
    }
    /// Once per type.
    pub fn adjacency(&mut self, rel_type: TypeId) -> Result<AdjacencyWriter> {
        later()
    }
    pub fn index(&mut self, label: LabelId, key: KeyId, unique: Uniqueness) -> Result<IndexWriter> {
        later()
    }
    /// Directory, catalogue, sync, superblocks, sync.
    pub fn finish(self) -> Result<()> {
        later()
    }
}
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uniqueness {
    Unique,
    Any,
}
#[derive(Debug)]
pub struct ColumnWriter(());
impl ColumnWriter {
    /// Ids ascend; Null is skipped.
    pub fn push(&mut self, id: u64, value: &PropertyValue) -> Result<()> {
        later()
    }
    pub fn finish(self) -> Result<()> {
        later()
    }
}
#[derive(Debug)]
pub struct AdjacencyWriter(());
impl AdjacencyWriter {
    /// Ascending by (start, end), all of them before the first `reverse`; gives the relationship's id.
    pub fn forward(&mut self, start: NodeId, end: NodeId) -> Result<RelId> {
        later()
    }
    /// The same relationships ascending by (end, start).
    pub fn reverse(&mut self, end: NodeId, start: NodeId) -> Result<()> {
        later()
    }
    pub fn finish(self) -> Result<()> {
        later()
    }
}
#[derive(Debug)]
pub struct IndexWriter(());
impl IndexWriter {
    /// Ascending by [`key_bytes`] of the value, then node.
    pub fn push(&mut self, value: &PropertyValue, node: NodeId) -> Result<()> {
        later()
    }
    pub fn finish(self) -> Result<()> {
        later()
    }
}
/// Order-preserving bytes of a value for sorting before [`IndexWriter::push`]; `None`: not indexed (null, NaN).
pub fn key_bytes(value: &PropertyValue) -> Option<Vec<u8>> {
    None
}

/// Small graphs in memory, for tests of every layer. Nodes keep the order they were added in.
#[derive(Debug, Default)]
pub struct GraphBuilder(());
impl GraphBuilder {
    pub fn new() -> GraphBuilder {
        GraphBuilder(())
    }
    pub fn node(&mut self, labels: &[&str], properties: &[(&str, PropertyValue)]) -> NodeId {
        NodeId(0)
    }
    pub fn relationship(
        &mut self,
        start: NodeId,
        rel_type: &str,
        end: NodeId,
        properties: &[(&str, PropertyValue)],
    ) {
    }
    pub fn index(&mut self, label: &str, key: &str, unique: Uniqueness) {}
    /// Writes the graph to `file`; relationship ids follow (type in order met, start, end, order added).
    pub fn build(&self, file: Arc<dyn File>) -> Result<()> {
        later()
    }
    /// Builds into memory and opens it with a cache of `cache_bytes`.
    pub fn open(&self, cache_bytes: u64) -> Result<Arc<Store>> {
        later()
    }
}
