//! Nodes, relationships and paths as structures.

use graven::{Node, Path, Relationship};

use crate::packstream::Writer;

const NODE: u8 = 0x4e;
const RELATIONSHIP: u8 = 0x52;
/// A relationship within a path, which knows its ends.
const UNBOUND: u8 = 0x72;
const PATH: u8 = 0x50;

/// Ids are numbers, and from version 5 on texts as well: what `elementId()` says.
fn element_id(to: &mut Writer<'_>, kind: char, id: u64) {
    let text = format!("{}:{kind}:{id}", to.store);
    to.text(&text);
}

pub(crate) fn node(to: &mut Writer<'_>, node: &Node) {
    to.structure(NODE, if to.version.is_5() { 4 } else { 3 });
    to.integer(node.id.cast_signed());
    to.list(node.labels.len());
    node.labels.iter().for_each(|label| to.text(label));
    to.entries(&node.properties);
    if to.version.is_5() {
        element_id(to, 'n', node.id);
    }
}

pub(crate) fn relationship(to: &mut Writer<'_>, it: &Relationship) {
    to.structure(RELATIONSHIP, if to.version.is_5() { 8 } else { 5 });
    for id in [it.id, it.start, it.end] {
        to.integer(id.cast_signed());
    }
    to.text(&it.rel_type);
    to.entries(&it.properties);
    if to.version.is_5() {
        element_id(to, 'r', it.id);
        element_id(to, 'n', it.start);
        element_id(to, 'n', it.end);
    }
}

/// A path names each node and each relationship once; then the steps, as places in these lists: of a relationship from 1 on, negative
/// where it is travelled backwards, and of the node behind it from 0 on.
pub(crate) fn path(to: &mut Writer<'_>, path: &Path) {
    let mut nodes: Vec<&Node> = Vec::new();
    let mut relationships: Vec<&Relationship> = Vec::new();
    let mut steps = Vec::new();
    let place = |places: usize| i64::try_from(places).expect("a path is in memory");
    let mut node_place = |id: u64, node| {
        let known = nodes.iter().position(|known: &&Node| known.id == id);
        place(known.unwrap_or_else(|| {
            nodes.push(node);
            nodes.len() - 1
        }))
    };
    let mut ends = path.nodes.iter();
    let mut at = ends.next().map(|first| {
        node_place(first.id, first);
        first.id
    });
    for (relationship, end) in path.relationships.iter().zip(ends) {
        let known = relationships.iter().position(|it| it.id == relationship.id);
        let number = 1 + place(known.unwrap_or_else(|| {
            relationships.push(relationship);
            relationships.len() - 1
        }));
        let forwards = at == Some(relationship.start) && relationship.end == end.id;
        steps.push(if forwards { number } else { -number });
        steps.push(node_place(end.id, end));
        at = Some(end.id);
    }
    to.structure(PATH, 3);
    to.list(nodes.len());
    nodes.iter().for_each(|it| node(to, it));
    to.list(relationships.len());
    for it in relationships {
        to.structure(UNBOUND, if to.version.is_5() { 4 } else { 3 });
        to.integer(it.id.cast_signed());
        to.text(&it.rel_type);
        to.entries(&it.properties);
        if to.version.is_5() {
            element_id(to, 'r', it.id);
        }
    }
    to.list(steps.len());
    steps.into_iter().for_each(|step| to.integer(step));
}
