//! The graph as it should be: maps, and nothing clever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graven_storage::{Direction, NodeId, PropertyValue, Result, Snapshot, Store};

/// Properties of a node or relationship, by key.
pub type Properties = BTreeMap<String, PropertyValue>;

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Its labels.
    pub labels: BTreeSet<String>,
    /// Its properties.
    pub properties: Properties,
}

/// A relationship.
#[derive(Clone, Debug, PartialEq)]
pub struct Relationship {
    /// Start node.
    pub start: u64,
    /// Type.
    pub rel_type: String,
    /// End node.
    pub end: u64,
    /// Its properties.
    pub properties: Properties,
}

/// A graph; cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Nodes by id.
    pub nodes: BTreeMap<u64, Arc<Node>>,
    /// Relationships by id.
    pub relationships: BTreeMap<u64, Arc<Relationship>>,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Change {
    CreateNode(u64, Node),
    CreateRelationship(u64, Relationship),
    SetNode(u64, String, PropertyValue),
    SetRelationship(u64, String, PropertyValue),
    AddLabel(u64, String),
    RemoveLabel(u64, String),
    DeleteRelationship(u64),
    DetachDelete(u64),
}

impl Graph {
    /// Applies a change.
    pub fn apply(&mut self, change: &Change) {
        match change.clone() {
            Change::CreateNode(id, node) => {
                self.nodes.insert(id, Arc::new(node));
            }
            Change::CreateRelationship(id, relationship) => {
                self.relationships.insert(id, Arc::new(relationship));
            }
            Change::SetNode(id, key, value) => {
                if let Some(node) = self.nodes.get_mut(&id) {
                    set(&mut Arc::make_mut(node).properties, key, value);
                }
            }
            Change::SetRelationship(id, key, value) => {
                if let Some(relationship) = self.relationships.get_mut(&id) {
                    set(&mut Arc::make_mut(relationship).properties, key, value);
                }
            }
            Change::AddLabel(id, label) => {
                if let Some(node) = self.nodes.get_mut(&id) {
                    Arc::make_mut(node).labels.insert(label);
                }
            }
            Change::RemoveLabel(id, label) => {
                if let Some(node) = self.nodes.get_mut(&id) {
                    Arc::make_mut(node).labels.remove(&label);
                }
            }
            Change::DeleteRelationship(id) => {
                self.relationships.remove(&id);
            }
            Change::DetachDelete(id) => {
                self.nodes.remove(&id);
                self.relationships
                    .retain(|_, r| r.start != id && r.end != id);
            }
        }
    }

    /// Reads the whole graph that a store shows, forwards, and compares the other ways to read it.
    ///
    /// # Errors
    /// The store fails to read, or its parts contradict each other (inner error, in words).
    pub fn read(store: &Arc<Store>) -> Result<std::result::Result<Graph, String>> {
        let snapshot = store.snapshot();
        let mut graph = Graph::default();
        read_nodes(&snapshot, &mut graph)?;
        if let Err(what) = read_relationships(&snapshot, &mut graph)? {
            return Ok(Err(what));
        }
        Ok(compare_counts_and_index(&snapshot, &graph)?.map(|()| graph))
    }

    /// The first difference in words.
    #[must_use]
    pub fn difference(&self, other: &Graph) -> Option<String> {
        for (id, node) in &self.nodes {
            if other.nodes.get(id) != Some(node) {
                return Some(format!(
                    "node {id} is {node:?}, not {:?}",
                    other.nodes.get(id)
                ));
            }
        }
        for (id, relationship) in &self.relationships {
            if other.relationships.get(id) != Some(relationship) {
                return Some(format!(
                    "relationship {id} is {relationship:?}, not {:?}",
                    other.relationships.get(id)
                ));
            }
        }
        let node = other.nodes.keys().find(|id| !self.nodes.contains_key(id));
        let gone = node.map(|id| format!("node {id} is missing"));
        gone.or_else(|| {
            let mut keys = other.relationships.keys();
            let id = keys.find(|id| !self.relationships.contains_key(id))?;
            Some(format!("relationship {id} is missing"))
        })
    }
}

fn set(properties: &mut Properties, key: String, value: PropertyValue) {
    if value.is_null() {
        properties.remove(&key);
    } else {
        properties.insert(key, value);
    }
}

fn read_nodes(snapshot: &Snapshot, graph: &mut Graph) -> Result<()> {
    let catalog = snapshot.catalog();
    for id in snapshot.all_nodes()?.iter() {
        let mut node = Node::default();
        for label in snapshot.labels_of(id)? {
            node.labels.insert(name(catalog.label_name(label)));
        }
        for key in snapshot.node_keys(id)? {
            if let Some(column) = snapshot.node_column(key) {
                let value = column.get(id.0)?;
                node.properties.insert(name(catalog.key_name(key)), value);
            }
        }
        graph.nodes.insert(id.0, Arc::new(node));
    }
    Ok(())
}

fn read_relationships(
    snapshot: &Snapshot,
    graph: &mut Graph,
) -> Result<std::result::Result<(), String>> {
    let catalog = snapshot.catalog();
    let mut found = Vec::new();
    for (number, rel_type) in catalog.types().iter().enumerate() {
        let type_id = graven_storage::TypeId(number as u32);
        let forward = snapshot.adjacency(type_id, Direction::Out)?;
        let reverse = snapshot.adjacency(type_id, Direction::In)?;
        let mut backwards = BTreeSet::new();
        for &id in graph.nodes.keys() {
            found.clear();
            reverse.neighbours(NodeId(id), &mut found)?;
            backwards.extend(found.iter().map(|n| (n.relationship.0, n.node.0, id)));
        }
        let mut forwards = BTreeSet::new();
        for &id in graph.nodes.keys() {
            found.clear();
            forward.neighbours(NodeId(id), &mut found)?;
            for neighbour in &found {
                forwards.insert((neighbour.relationship.0, id, neighbour.node.0));
                let mut properties = Properties::new();
                for key in snapshot.relationship_keys(neighbour.relationship)? {
                    if let Some(column) = snapshot.relationship_column(type_id, key) {
                        let value = column.get(neighbour.relationship.0)?;
                        properties.insert(name(catalog.key_name(key)), value);
                    }
                }
                let relationship = Relationship {
                    start: id,
                    rel_type: rel_type.to_string(),
                    end: neighbour.node.0,
                    properties,
                };
                graph
                    .relationships
                    .insert(neighbour.relationship.0, Arc::new(relationship));
            }
        }
        if let Some((id, start, end)) = forwards.symmetric_difference(&backwards).next() {
            return Ok(Err(format!(
                "of {} relationships of type {rel_type} read forwards and {} backwards, {id} from \
                    {start} to {end} is \
                 among one of them only",
                forwards.len(),
                backwards.len()
            )));
        }
    }
    Ok(Ok(()))
}

fn compare_counts_and_index(
    snapshot: &Snapshot,
    graph: &Graph,
) -> Result<std::result::Result<(), String>> {
    let count = snapshot.node_count();
    if count != graph.nodes.len() as u64 {
        return Ok(Err(format!(
            "{count} nodes counted, {} found",
            graph.nodes.len()
        )));
    }
    let catalog = snapshot.catalog();
    for (number, label) in catalog.labels().iter().enumerate() {
        let counted = snapshot.nodes_with_label(graven_storage::LabelId(number as u32))?;
        let found = graph
            .nodes
            .iter()
            .filter(|(_, n)| n.labels.contains(&**label));
        if !counted.iter().map(|n| n.0).eq(found.map(|(id, _)| *id)) {
            return Ok(Err(format!(
                "the nodes with label {label} are others by label"
            )));
        }
    }
    let (Some(label), Some(key)) = (catalog.label(INDEXED.0), catalog.key(INDEXED.1)) else {
        return Ok(Ok(()));
    };
    let Some(index) = snapshot.index(label, key) else {
        return Ok(Ok(()));
    };
    // Numbers and texts, by how they are written: other values are not sought.
    let mut by_value: BTreeMap<String, (PropertyValue, Vec<u64>)> = BTreeMap::new();
    for (&id, node) in &graph.nodes {
        if node.labels.contains(INDEXED.0)
            && let Some(value) = node.properties.get(INDEXED.1)
            && matches!(value, PropertyValue::Integer(_) | PropertyValue::String(_))
        {
            let same = by_value.entry(format!("{value:?}"));
            same.or_insert_with(|| (value.clone(), Vec::new()))
                .1
                .push(id);
        }
    }
    for (value, nodes) in by_value.into_values() {
        let mut found: Vec<u64> = index.seek(&value)?.iter().map(|n| n.0).collect();
        found.sort_unstable();
        if found != nodes {
            return Ok(Err(format!(
                "the index finds {found:?} for {value:?}, not {nodes:?}"
            )));
        }
    }
    Ok(Ok(()))
}

fn name(name: Option<&Arc<str>>) -> String {
    name.map_or("a number without a name", |name| name)
        .to_owned()
}

/// Label and key of the index that every tortured database has.
pub const INDEXED: (&str, &str) = ("A", "k");
