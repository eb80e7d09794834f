//! What the newest commits changed, so that a commit can tell whether it may follow them.
//!
//! # How it works
//! Every commit leaves *claims* with its timestamp: on nodes (written, deleted, connected),
//! relationships, keys of unique indexes, and what serialisable readers ask for (lists, label
//! scans, index keys). A transaction conflicts with claims younger than its start. Claims that no
//! running transaction can be older than are forgotten. A commit with more than [`CLAIMS_MAX`]
//! changes leaves a single claim on everything instead.
//!
//! A transaction that began before a commit cannot have written to what that commit created, only
//! looked for it in vain. So the ids of what it created are kept as runs, for serialisable readers.
//!
//! # Invariants
//! * TX-6: a transaction that commits saw the newest state of everything it wrote; a serialisable
//!   one, of everything it read.
//! * TX-7: creating relationships takes shared claims on both ends (they never conflict with each
//!   other), deleting a node an exclusive one. Where a constraint says which nodes relationships
//!   join, or how many, changed labels of an end conflict with them, or they with each other.

use super::reads::Reads;
use crate::delta::change::{Change, ColumnOf, NodeChange};
use crate::delta::delta_layer::{DeltaLayer, IndexMap};
use crate::delta::id_map::IdMap;
use crate::delta::immutable_delta::DeltaView;
use crate::ids::{Direction, LabelId, RelId, TypeId};
use crate::version::schema::Schema;
use crate::{Error, Result};
use foldhash::HashMap;
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// Changes of one commit that are claimed one by one, and claims kept in all.
const CLAIMS_MAX: usize = 1 << 16;

/// What a claim is on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Claim {
    /// Properties, labels or existence.
    NodeWritten(u64),
    NodeDeleted(u64),
    /// A relationship was created there.
    NodeConnected(u64),
    /// It lost or got labels.
    NodeRelabelled(u64),
    Relationship(u64),
    IndexKey(u32, Arc<[u8]>),
    List(TypeId, Direction, u64),
    Label(LabelId),
    /// Some node came or went.
    Nodes,
    /// Some node may have lost or got any label.
    Labels,
}

/// First and last of ids that follow each other.
type Run = (u64, u64);

/// The ids that a commit gave out for good.
#[derive(Debug)]
struct Created {
    timestamp: u64,
    nodes: Vec<Run>,
    relationships: Vec<Run>,
}

/// Puts ascending ids together.
fn runs(ids: impl Iterator<Item = u64>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for id in ids {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == id => *last = id,
            _ => runs.push((id, id)),
        }
    }
    runs
}

/// Whether one of ascending runs holds `id`.
fn in_runs(runs: &[Run], id: u64) -> bool {
    let at = runs.partition_point(|(_, last)| *last < id);
    runs.get(at).is_some_and(|(first, _)| *first <= id)
}

/// Whether one of the columns that `wanted` accepts has a value of `id`.
fn has_value(
    layer: DeltaView<'_>,
    columns: &[ColumnOf],
    id: u64,
    wanted: impl Fn(&ColumnOf) -> bool,
) -> Result<bool> {
    for of in columns.iter().filter(|of| wanted(of)) {
        if let Some(column) = layer.column(*of)
            && column.get(id, &mut None)?.is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a relationship was created at `node`.
fn has_list(layer: DeltaView<'_>, node: u64) -> Result<bool> {
    let mut found = false;
    for (rel_type, direction) in layer.adjacency_keys() {
        if let Some(edges) = layer.edges(rel_type, direction) {
            edges.visit(Bound::Included(&(node, 0, 0)), &mut |key, change| {
                found |= key.0 == node && *change == Change::Added;
                key.0 == node && !found
            })?;
        }
    }
    Ok(found)
}

/// Whether an entry with `key` was added to an index.
fn adds_key(layer: DeltaView<'_>, number: u32, key: &Arc<[u8]>) -> Result<bool> {
    let mut found = false;
    if let Some(entries) = layer.index(number) {
        entries.visit(Bound::Included(&(key.clone(), 0)), &mut |entry, change| {
            found |= entry.0 == *key && *change == Change::Added;
            entry.0 == *key && !found
        })?;
    }
    Ok(found)
}

/// The claims of the newest commits.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    claims: HashMap<Claim, u64>,
    order: VecDeque<(u64, Claim)>,
    created: VecDeque<Created>,
    /// Commits up to here may have been forgotten.
    floor: u64,
    /// The newest change of indexes or constraints.
    schema: u64,
}

fn conflict(entity: impl Into<String>) -> Error {
    Error::Conflict {
        entity: entity.into(),
    }
}

impl Conflicts {
    fn newer(&self, claim: &Claim, start: u64) -> bool {
        self.claims.get(claim).is_some_and(|at| *at > start)
    }

    fn node_newer(&self, node: u64, start: u64) -> bool {
        self.newer(&Claim::NodeWritten(node), start) || self.newer(&Claim::NodeDeleted(node), start)
    }

    /// Whether changes made since `start` may follow all commits so far.
    pub(crate) fn check(
        &self,
        layer: &DeltaLayer,
        schema: &Schema,
        reads: Option<&Reads>,
        start: u64,
    ) -> Result<()> {
        if start < self.floor {
            return Err(conflict(
                "the store, a large transaction was committed meanwhile",
            ));
        }
        if start < self.schema {
            return Err(conflict("the schema"));
        }
        for (node, change) in layer.nodes.iter() {
            let created = matches!(change, NodeChange::Created(_));
            let deleted = *change == NodeChange::Deleted;
            let relabelled = matches!(change, NodeChange::Labels(_)) && schema.has_ends();
            let connected =
                (deleted || relabelled) && self.newer(&Claim::NodeConnected(node), start);
            if !created && (connected || self.node_newer(node, start)) {
                return Err(conflict(format!("node {node}")));
            }
        }
        for (of, values) in layer.columns.iter() {
            for id in values.ids() {
                match of {
                    ColumnOf::Node(_) if self.node_newer(id, start) => {
                        return Err(conflict(format!("node {id}")));
                    }
                    ColumnOf::Relationship(..) if self.newer(&Claim::Relationship(id), start) => {
                        return Err(conflict(format!("relationship {id}")));
                    }
                    _ => {}
                }
            }
        }
        for (id, it) in layer.relationships.iter() {
            let ends = schema.ends(it.rel_type);
            let one_out = ends.is_some_and(|ends| ends.one_out);
            let one_in = ends.is_some_and(|ends| ends.one_in);
            for (node, one) in [(it.start.0, one_out), (it.end.0, one_in)] {
                let met = self.newer(&Claim::NodeDeleted(node), start)
                    || ends.is_some() && self.newer(&Claim::NodeRelabelled(node), start)
                    || one && self.newer(&Claim::NodeConnected(node), start);
                if it.change == Change::Added && met {
                    return Err(conflict(format!("node {node}")));
                }
            }
            if it.change == Change::Removed && self.newer(&Claim::Relationship(id), start) {
                return Err(conflict(format!("relationship {id}")));
            }
        }
        self.check_unique(layer, schema, start)?;
        reads.map_or(Ok(()), |reads| self.check_reads(reads, start))
    }

    /// As [`Conflicts::check`] for a layer that may be larger than memory: goes by the claims since
    /// `start`, of which there are fewer. What readers read is not looked at.
    pub(crate) fn check_lower(
        &self,
        layer: DeltaView<'_>,
        schema: &Schema,
        start: u64,
    ) -> Result<()> {
        let columns = layer.column_keys();
        let newer = self.order.iter().rev().take_while(|(at, _)| *at > start);
        for (_, claim) in newer {
            let what = match claim {
                Claim::NodeWritten(node) | Claim::NodeDeleted(node) => {
                    let deleted = matches!(claim, Claim::NodeDeleted(_));
                    let change = layer.node(*node);
                    let written = change.is_some_and(|it| !matches!(it, NodeChange::Created(_)))
                        || has_value(layer, &columns, *node, |of| matches!(of, ColumnOf::Node(_)))?
                        || deleted && has_list(layer, *node)?;
                    written.then(|| format!("node {node}"))
                }
                Claim::NodeConnected(node) => {
                    let met = match layer.node(*node) {
                        Some(NodeChange::Deleted) => true,
                        Some(NodeChange::Labels(_)) => schema.has_ends(),
                        _ => false,
                    };
                    let counted = schema.limits_ends() && has_list(layer, *node)?;
                    (met || counted).then(|| format!("node {node}"))
                }
                Claim::NodeRelabelled(node) => {
                    let met = schema.has_ends() && has_list(layer, *node)?;
                    met.then(|| format!("node {node}"))
                }
                Claim::Relationship(id) => {
                    let gone = layer.relationship(RelId(*id))?;
                    let written = gone.is_some_and(|it| it.change == Change::Removed)
                        || has_value(layer, &columns, *id, |of| {
                            matches!(of, ColumnOf::Relationship(..))
                        })?;
                    written.then(|| format!("relationship {id}"))
                }
                Claim::IndexKey(number, key) => {
                    let mut indexes = schema.indexes.iter();
                    let unique = indexes.find(|it| it.unique && it.number == *number);
                    match unique {
                        Some(index) if adds_key(layer, *number, key)? => {
                            Some(format!("a key of the unique index {}", index.name))
                        }
                        _ => None,
                    }
                }
                _ => None,
            };
            if let Some(what) = what {
                return Err(conflict(what));
            }
        }
        Ok(())
    }

    fn check_unique(&self, layer: &DeltaLayer, schema: &Schema, start: u64) -> Result<()> {
        for index in schema.indexes.iter().filter(|index| index.unique) {
            for ((key, _), change) in layer
                .indexes
                .get(&index.number)
                .into_iter()
                .flat_map(IndexMap::iter)
            {
                let claim = Claim::IndexKey(index.number, key.clone());
                if *change == Change::Added && self.newer(&claim, start) {
                    return Err(conflict(format!(
                        "a key of the unique index {}",
                        index.name
                    )));
                }
            }
        }
        Ok(())
    }

    fn check_reads(&self, reads: &Reads, start: u64) -> Result<()> {
        if reads.all_nodes && self.newer(&Claim::Nodes, start) {
            return Err(conflict("the nodes that were read"));
        }
        let labels = !reads.labels.is_empty() && self.newer(&Claim::Labels, start);
        let label = |label: &LabelId| self.newer(&Claim::Label(*label), start);
        if labels || reads.labels.iter().any(label) {
            return Err(conflict("the nodes of a label that were read"));
        }
        for created in self.created.iter().rev() {
            if created.timestamp <= start {
                break;
            }
            if let Some(node) = created
                .nodes
                .iter()
                .find_map(|run| reads.nodes.within(*run))
            {
                return Err(conflict(format!("node {node}, which was looked for")));
            }
            let mut runs = created.relationships.iter();
            if let Some(id) = runs.find_map(|run| reads.relationships.within(*run)) {
                return Err(conflict(format!("relationship {id}, which was looked for")));
            }
        }
        // Few claims are younger than the start, many things may have been read.
        for (at, claim) in self.order.iter().rev() {
            if *at <= start {
                break;
            }
            let read = match claim {
                Claim::NodeWritten(node) | Claim::NodeDeleted(node) => reads.nodes.contains(node),
                Claim::Relationship(id) => reads.relationships.contains(id),
                Claim::List(rel_type, direction, node) => {
                    reads.misses(*rel_type) || reads.lists.contains(&(*rel_type, *direction, *node))
                }
                Claim::IndexKey(number, key) => reads.range_holds(*number, key),
                _ => false,
            };
            if read {
                return Err(conflict(match claim {
                    Claim::NodeWritten(node) | Claim::NodeDeleted(node) => {
                        format!("node {node}, which was read")
                    }
                    Claim::Relationship(id) => format!("relationship {id}, which was read"),
                    Claim::List(_, _, node) => {
                        format!("the relationships of node {node}, which were read")
                    }
                    _ => "a range of an index, which was read".to_owned(),
                }));
            }
        }
        Ok(())
    }

    /// Notes what the commit at `timestamp` changed.
    /// `large`: there was more than `layer` says.
    pub(crate) fn record(
        &mut self,
        layer: &DeltaLayer,
        large: bool,
        schema_changed: bool,
        timestamp: u64,
    ) {
        if schema_changed {
            self.schema = timestamp;
        }
        let changes = layer.nodes.len()
            + layer.columns.values().map(IdMap::len).sum::<usize>()
            + 3 * layer.relationships.len()
            + layer.indexes.values().map(IndexMap::len).sum::<usize>();
        if large || changes > CLAIMS_MAX {
            self.claims.clear();
            self.order.clear();
            self.created.clear();
            self.floor = timestamp;
            return;
        }
        let nodes = (layer.nodes.iter())
            .filter(|(_, change)| matches!(change, NodeChange::Created(_)))
            .map(|(id, _)| id);
        let relationships = (layer.relationships.iter())
            .filter(|(_, it)| it.change == Change::Added)
            .map(|(id, _)| id);
        let created = Created {
            timestamp,
            nodes: runs(nodes),
            relationships: runs(relationships),
        };
        let is_new = |node: u64| in_runs(&created.nodes, node);
        let is_new_relationship = |id: u64| in_runs(&created.relationships, id);
        let mut claim = |claim: Claim| {
            if self.claims.insert(claim.clone(), timestamp) != Some(timestamp) {
                self.order.push_back((timestamp, claim));
            }
        };
        let mut before = None;
        for (node, change) in layer.nodes.iter() {
            match change {
                NodeChange::Created(labels) => {
                    // Those that came in a row have mostly the same.
                    if before.replace(labels) != Some(labels) {
                        claim(Claim::Nodes);
                        labels.iter().for_each(|label| claim(Claim::Label(*label)));
                    }
                    continue;
                }
                NodeChange::Labels(_) => {
                    claim(Claim::Labels);
                    claim(Claim::NodeRelabelled(node));
                }
                NodeChange::Deleted => {
                    claim(Claim::Nodes);
                    claim(Claim::Labels);
                    claim(Claim::NodeDeleted(node));
                }
            }
            claim(Claim::NodeWritten(node));
        }
        for (of, values) in layer.columns.iter() {
            for id in values.ids() {
                match of {
                    ColumnOf::Node(_) if !is_new(id) => claim(Claim::NodeWritten(id)),
                    ColumnOf::Relationship(..) if !is_new_relationship(id) => {
                        claim(Claim::Relationship(id));
                    }
                    _ => {}
                }
            }
        }
        for (id, it) in layer.relationships.iter() {
            if it.change == Change::Removed {
                claim(Claim::Relationship(id));
            }
            for (direction, node) in [(Direction::Out, it.start.0), (Direction::In, it.end.0)] {
                if !is_new(node) {
                    claim(Claim::NodeConnected(node));
                    claim(Claim::List(it.rel_type, direction, node));
                }
            }
        }
        for (number, entries) in layer.indexes.iter() {
            for (key, _) in entries.keys() {
                claim(Claim::IndexKey(*number, key.clone()));
            }
        }
        if !created.nodes.is_empty() || !created.relationships.is_empty() {
            self.created.push_back(created);
        }
    }

    /// Forgets what commits up to `horizon` changed: no running transaction began before it.
    pub(crate) fn forget(&mut self, horizon: u64) {
        while let Some(oldest) = self.created.front()
            && (oldest.timestamp <= horizon || self.created.len() > 4 * CLAIMS_MAX)
        {
            if oldest.timestamp > horizon {
                self.floor = self.floor.max(oldest.timestamp);
            }
            self.created.pop_front();
        }
        while self
            .order
            .front()
            .is_some_and(|(at, _)| *at <= horizon || self.order.len() > 4 * CLAIMS_MAX)
        {
            let Some((at, claim)) = self.order.pop_front() else {
                return;
            };
            if at > horizon {
                self.floor = self.floor.max(at);
            }
            if self.claims.get(&claim) == Some(&at) {
                self.claims.remove(&claim);
            }
        }
    }
}
