//! Nodes and relationships one by one: whether they are there, their labels, types and ends, and
//! the texts that name them.
//!
//! # How it works
//! What a statement has deleted is still in its hands: asking for one of its properties, or for its
//! labels, is an error, as far as it can tell. A deleted node has no label that is asked for, and
//! all of its properties are none; a deleted relationship begins and ends nowhere.

use std::sync::Arc;

use graven_storage::{LabelId, NodeId, RelId, TypeId};

use super::QueryContext;
use crate::error::Result;
use crate::writing::{Entity, Writer, deleted};
use crate::{element_id, of_element_id};

impl QueryContext {
    /// Whether something that was read before may be gone.
    pub(super) fn may_be_gone(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::has_deleted)
    }

    /// Whether this statement has deleted the node.
    pub(super) fn node_is_gone(&self, id: u64) -> bool {
        self.may_be_gone() && !self.snapshot.node_exists(NodeId(id))
    }

    /// Whether this statement has deleted the relationship.
    pub(super) fn relationship_is_gone(&self, id: u64) -> bool {
        self.may_be_gone() && self.snapshot.relationship_endpoints(RelId(id)).is_err()
    }

    /// # Errors
    /// [`ExecError::DeletedEntity`] if this statement has deleted the node.
    pub(super) fn check_node(&self, id: u64) -> Result<()> {
        match self.node_is_gone(id) {
            true => Err(deleted(Entity::Node(NodeId(id)))),
            false => Ok(()),
        }
    }

    /// # Errors
    /// [`ExecError::DeletedEntity`] if this statement has deleted the relationship.
    pub(super) fn check_relationship(&self, id: u64) -> Result<()> {
        match self.relationship_is_gone(id) {
            true => Err(deleted(Entity::Relationship(RelId(id)))),
            false => Ok(()),
        }
    }

    pub(crate) fn node_exists(&self, id: u64) -> bool {
        self.snapshot.node_exists(NodeId(id))
    }

    /// Whether there is such a relationship.
    pub(crate) fn relationship_exists(&self, id: u64) -> Result<bool> {
        match self.snapshot.relationship_endpoints(RelId(id)) {
            Ok(_) => Ok(true),
            Err(graven_storage::Error::NoSuchRelationship { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Names of the node's labels.
    pub(crate) fn labels_of(&self, id: u64) -> Result<Vec<Arc<str>>> {
        self.check_node(id)?;
        let labels = self.snapshot.labels_of(NodeId(id))?.into_iter();
        let name = |label| self.name(|catalog| catalog.label_name(label).cloned());
        Ok(labels.map(name).collect())
    }

    /// Whether the node has all these labels; `None` is a label the catalogue does not know.
    pub(crate) fn has_all_labels(&self, id: u64, labels: &[Option<LabelId>]) -> Result<bool> {
        if self.node_is_gone(id) {
            return Ok(false);
        }
        for label in labels {
            let Some(label) = label else { return Ok(false) };
            if !self.snapshot.has_label(NodeId(id), *label)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The type of a relationship, also of one that this statement has deleted.
    pub(crate) fn relationship_type(&self, id: u64) -> Result<TypeId> {
        if self.may_be_gone()
            && let Some(rel_type) = self.writer.as_ref().and_then(|w| w.deleted_type(id))
        {
            return Ok(rel_type);
        }
        if let Some(rel_type) = self.snapshot.catalog().type_of(RelId(id)) {
            return Ok(rel_type);
        }
        match (
            &self.writer,
            self.snapshot.relationship_endpoints(RelId(id)),
        ) {
            // It went with a node that was detached.
            (Some(writer), Err(graven_storage::Error::NoSuchRelationship { .. })) => {
                let before = writer.transaction().start_snapshot();
                Ok(before.relationship_endpoints(RelId(id))?.0)
            }
            (_, found) => Ok(found?.0),
        }
    }

    /// Start and end of a relationship; `None` if this statement has deleted it.
    pub(crate) fn ends(&self, id: u64) -> Result<Option<(NodeId, NodeId)>> {
        match self.relationship_is_gone(id) {
            true => Ok(None),
            false => self.endpoints(id).map(Some),
        }
    }

    /// Start and end of a relationship.
    pub(crate) fn endpoints(&self, id: u64) -> Result<(NodeId, NodeId)> {
        let (_, start, end) = self.snapshot.relationship_endpoints(RelId(id))?;
        Ok((start, end))
    }

    /// The text by which other programs may name a node (`n`) or relationship (`r`).
    pub(crate) fn element_id(&self, kind: char, id: u64) -> String {
        element_id(&self.store_uuid, kind, id)
    }

    /// The id in a text that [`QueryContext::element_id`] gives; none for any other text, or one of
    /// another store.
    pub(crate) fn of_element_id(&self, kind: char, text: &str) -> Option<u64> {
        of_element_id(&self.store_uuid, kind, text)
    }
}
