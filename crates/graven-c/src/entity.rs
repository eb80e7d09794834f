//! Nodes, relationships and paths. Their properties are read as the entries of a map are.

use graven::Value as Inner;

use crate::error::quiet;
use crate::text::Text;
use crate::value::Value;

/// The id of a node or relationship; -1 for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_id(value: Option<&Value>) -> i64 {
    match value.map(|value| &value.0) {
        Some(Inner::Node(node)) => node.id.cast_signed(),
        Some(Inner::Relationship(relationship)) => relationship.id.cast_signed(),
        _ => -1,
    }
}

/// How many labels a node has.
#[unsafe(no_mangle)]
pub extern "C" fn graven_node_label_count(value: Option<&Value>) -> usize {
    match value.map(|value| &value.0) {
        Some(Inner::Node(node)) => node.labels.len(),
        _ => 0,
    }
}

/// A label of a node, from 0; no text beyond the last.
#[unsafe(no_mangle)]
pub extern "C" fn graven_node_label(value: Option<&Value>, at: usize) -> Text {
    let label = match value.map(|value| &value.0) {
        Some(Inner::Node(node)) => node.labels.get(at),
        _ => None,
    };
    label.map_or(Text::NONE, |label| Text::of(label.as_bytes()))
}

/// The type of a relationship; no text for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_relationship_type(value: Option<&Value>) -> Text {
    match value.map(|value| &value.0) {
        Some(Inner::Relationship(it)) => Text::of(it.rel_type.as_bytes()),
        _ => Text::NONE,
    }
}

/// The id of the node that a relationship starts at; -1 for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_relationship_start(value: Option<&Value>) -> i64 {
    match value.map(|value| &value.0) {
        Some(Inner::Relationship(it)) => it.start.cast_signed(),
        _ => -1,
    }
}

/// The id of the node that a relationship ends at; -1 for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_relationship_end(value: Option<&Value>) -> i64 {
    match value.map(|value| &value.0) {
        Some(Inner::Relationship(it)) => it.end.cast_signed(),
        _ => -1,
    }
}

/// How many relationships a path has; it has one node more. 0 for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_path_length(value: Option<&Value>) -> usize {
    match value.map(|value| &value.0) {
        Some(Inner::Path(path)) => path.relationships.len(),
        _ => 0,
    }
}

/// A node of a path in the order of travel, from 0; null beyond the last. To be freed with
/// graven_value_free().
#[unsafe(no_mangle)]
pub extern "C" fn graven_path_node(value: Option<&Value>, at: usize) -> Option<Box<Value>> {
    quiet(None, || match &value?.0 {
        Inner::Path(path) => path
            .nodes
            .get(at)
            .cloned()
            .map(|it| Value::owned(Inner::Node(it))),
        _ => None,
    })
}

/// A relationship of a path in the order of travel, from 0; null beyond the last. To be freed with
/// graven_value_free().
#[unsafe(no_mangle)]
pub extern "C" fn graven_path_relationship(value: Option<&Value>, at: usize) -> Option<Box<Value>> {
    quiet(None, || match &value?.0 {
        Inner::Path(path) => {
            let found = path.relationships.get(at).cloned();
            found.map(|it| Value::owned(Inner::Relationship(it)))
        }
        _ => None,
    })
}
