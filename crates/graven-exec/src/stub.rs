//! TEMPORARY stand-in for the storage API, not to be committed.
#![allow(dead_code, missing_docs, unreachable_pub)]
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use graven_storage::*;

#[derive(Debug, thiserror::Error)]
#[error("storage")]
pub struct Error;
type Result<T> = std::result::Result<T, Error>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sweep { Up, Down }
#[derive(Clone, Copy, Debug)]
pub struct Neighbour { pub node: NodeId, pub relationship: RelId }

#[derive(Default, Debug)]
pub struct Inner {
    pub labels: Vec<String>, pub types: Vec<String>, pub keys: Vec<String>,
    pub nodes: Vec<(Vec<LabelId>, BTreeMap<u32, PropertyValue>)>,
    pub rels: Vec<(TypeId, NodeId, NodeId, BTreeMap<u32, PropertyValue>)>,
    pub adj: BTreeMap<(u32, bool), Arc<Vec<Vec<(u64, u64)>>>>,
}
#[derive(Clone, Debug)]
pub struct Snapshot(pub Arc<Inner>);
impl Snapshot {
    pub fn catalog(&self) -> &Inner { &self.0 }
    pub fn node_exists(&self, n: NodeId) -> bool { (n.0 as usize) < self.0.nodes.len() }
    pub fn labels_of(&self, n: NodeId) -> Result<Vec<LabelId>> { Ok(self.0.nodes[n.0 as usize].0.clone()) }
    pub fn has_label(&self, n: NodeId, l: LabelId) -> Result<bool> { Ok(self.0.nodes[n.0 as usize].0.contains(&l)) }
    pub fn nodes_with_label(&self, l: LabelId) -> Result<Vec<(u64, u64)>> { Ok((0..self.0.nodes.len() as u64).filter(|i| self.0.nodes[*i as usize].0.contains(&l)).map(|i| (i, i + 1)).collect()) }
    pub fn node_column(&self, k: KeyId) -> Option<Column> { Some(Column(self.0.clone(), true, k)) }
    pub fn relationship_column(&self, _: TypeId, k: KeyId) -> Option<Column> { Some(Column(self.0.clone(), false, k)) }
    pub fn node_keys(&self, n: NodeId) -> Result<Vec<KeyId>> { Ok(self.0.nodes[n.0 as usize].1.keys().map(|k| KeyId(*k)).collect()) }
    pub fn relationship_keys(&self, n: RelId) -> Result<Vec<KeyId>> { Ok(self.0.rels[n.0 as usize].3.keys().map(|k| KeyId(*k)).collect()) }
    pub fn relationship_type(&self, r: RelId) -> Result<TypeId> { Ok(self.0.rels[r.0 as usize].0) }
    pub fn relationship_endpoints(&self, r: RelId) -> Result<(TypeId, NodeId, NodeId)> { let r = &self.0.rels[r.0 as usize]; Ok((r.0, r.1, r.2)) }
    pub fn store_uuid(&self) -> u64 { 0 }
    pub fn index(&self, _: LabelId, _: KeyId) -> Option<Index> { None }
    pub fn node_count(&self) -> u64 { self.0.nodes.len() as u64 }
    pub fn adjacency(&self, t: TypeId, d: Direction) -> Result<Adjacency> {
        Ok(Adjacency(self.0.adj.get(&(t.0, d == Direction::Out)).cloned().unwrap_or_default()))
    }
}
pub struct Index;
impl Index { pub fn seek(&self, _: &PropertyValue) -> Result<Vec<NodeId>> { Ok(vec![]) } }
pub struct Column(Arc<Inner>, bool, KeyId);
impl Column { pub fn gather(&self, ids: &[u64], out: &mut Vec<PropertyValue>) -> Result<()> {
    out.extend(ids.iter().map(|i| (if self.1 { &self.0.nodes[*i as usize].1 } else { &self.0.rels[*i as usize].3 }).get(&self.2.0).cloned().unwrap_or_default())); Ok(()) } }
impl Inner {
    pub fn type_name(&self, i: TypeId) -> &str { &self.types[i.0 as usize] }
    pub fn label_name(&self, i: LabelId) -> &str { &self.labels[i.0 as usize] }
    pub fn key_name(&self, i: KeyId) -> &str { &self.keys[i.0 as usize] }
    pub fn type_ids(&self) -> Vec<TypeId> { (0..self.types.len() as u32).map(TypeId).collect() }
    pub fn label_id(&self, n: &str) -> Option<LabelId> { self.labels.iter().position(|l| l == n).map(|i| LabelId(i as u32)) }
    pub fn type_id(&self, n: &str) -> Option<TypeId> { self.types.iter().position(|l| l == n).map(|i| TypeId(i as u32)) }
    pub fn key_id(&self, n: &str) -> Option<KeyId> { self.keys.iter().position(|l| l == n).map(|i| KeyId(i as u32)) }
}
#[derive(Clone, Debug)]
pub struct Adjacency(Arc<Vec<Vec<(u64, u64)>>>);
pub struct List<'a>(&'a [(u64, u64)]);
impl List<'_> {
    pub fn len(&self) -> usize { self.0.len() }
    pub fn decode<'s>(&self, s: &'s mut Vec<u32>) -> &'s [u32] { s.clear(); s.extend(self.0.iter().map(|x| x.0 as u32)); s }
    pub fn contains(&self, n: NodeId) -> bool { self.0.iter().any(|x| x.0 == n.0) }
    pub fn first_relationship(&self) -> u64 { self.0.first().map_or(0, |x| x.1) }
}
impl Adjacency {
    pub fn neighbours(&self, n: NodeId, out: &mut Vec<Neighbour>) -> Result<()> {
        if let Some(l) = self.0.get(n.0 as usize) { out.extend(l.iter().map(|x| Neighbour { node: NodeId(x.0), relationship: RelId(x.1) })); }
        Ok(())
    }
    pub fn sweep<F: FnMut(NodeId, &List<'_>) -> ControlFlow<()>>(&self, nodes: impl Iterator<Item = NodeId>, _: Sweep, mut f: F) -> Result<()> {
        for n in nodes {
            let e = vec![];
            let l = self.0.get(n.0 as usize).unwrap_or(&e);
            if f(n, &List(l)).is_break() { break; }
        }
        Ok(())
    }
}
pub fn build(nodes: &[(&[&str], &[(&str, PropertyValue)])], rels: &[(u64, &str, u64, &[(&str, PropertyValue)])]) -> Snapshot {
    fn intern(v: &mut Vec<String>, s: &str) -> u32 { if let Some(i) = v.iter().position(|x| x == s) { i as u32 } else { v.push(s.into()); v.len() as u32 - 1 } }
    let mut g = Inner::default();
    for (l, p) in nodes {
        let l = l.iter().map(|s| LabelId(intern(&mut g.labels, s))).collect();
        let p = p.iter().map(|(k, v)| (intern(&mut g.keys, k), v.clone())).collect();
        g.nodes.push((l, p));
    }
    let n = g.nodes.len();
    let mut r: Vec<_> = rels.iter().collect();
    r.sort_by_key(|x| (x.1, x.0, x.2));
    let mut adj: BTreeMap<(u32, bool), Vec<Vec<(u64, u64)>>> = BTreeMap::new();
    for (s, t, e, p) in r {
        let t = intern(&mut g.types, t);
        let id = g.rels.len() as u64;
        let p = p.iter().map(|(k, v)| (intern(&mut g.keys, k), v.clone())).collect();
        g.rels.push((TypeId(t), NodeId(*s), NodeId(*e), p));
        adj.entry((t, true)).or_insert_with(|| vec![vec![]; n])[*s as usize].push((*e, id));
        adj.entry((t, false)).or_insert_with(|| vec![vec![]; n])[*e as usize].push((*s, id));
    }
    for v in adj.values_mut() { for l in v { l.sort(); } }
    g.adj = adj.into_iter().map(|(k, v)| (k, Arc::new(v))).collect();
    Snapshot(Arc::new(g))
}
