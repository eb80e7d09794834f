//! A transaction: a snapshot, and the changes made on top of it until it commits.

pub(crate) mod options;

use crate::Result;
use crate::ids::{KeyId, LabelId, NodeId, RelId, TypeId};
use crate::schema::{ConstraintSpec, IndexSpec};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::value::PropertyValue;
use options::{Committed, TransactionOptions, WriteCounters};
use std::sync::Arc;

/// A transaction; dropping it rolls it back. One statement at a time uses it; its operators may share it.
#[derive(Debug)]
pub struct Transaction {
    store: Arc<Store>,
    options: TransactionOptions,
}

impl Transaction {
    /// The state at the transaction's start plus what it wrote so far; live: what is obtained from it sees later
    /// writes of this transaction.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let _ = &self.options;
        self.store.snapshot()
    }

    /// The label called `name`, a new one if need be. Names belong to the store and outlive a rollback.
    ///
    /// # Errors
    /// [`crate::Error::ReadOnly`], [`crate::Error::TransactionEnded`].
    pub fn label(&self, _name: &str) -> Result<LabelId> {
        unimplemented!()
    }

    /// The relationship type called `name`, as [`Transaction::label`].
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn rel_type(&self, _name: &str) -> Result<TypeId> {
        unimplemented!()
    }

    /// The property key called `name`, as [`Transaction::label`].
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn key(&self, _name: &str) -> Result<KeyId> {
        unimplemented!()
    }

    /// Creates a node. Null properties are left out.
    ///
    /// # Errors
    /// [`crate::Error::Duplicate`]; [`crate::Error::TransactionTooLarge`]; what reading gives.
    pub fn create_node(
        &self,
        _labels: &[LabelId],
        _properties: &[(KeyId, PropertyValue)],
    ) -> Result<NodeId> {
        unimplemented!()
    }

    /// Creates a relationship between nodes that exist.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchNode`]; as [`Transaction::create_node`].
    pub fn create_relationship(
        &self,
        _start: NodeId,
        _rel_type: TypeId,
        _end: NodeId,
        _properties: &[(KeyId, PropertyValue)],
    ) -> Result<RelId> {
        unimplemented!()
    }

    /// Sets a property of a node; null removes it.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchNode`]; as [`Transaction::create_node`].
    pub fn set_node_property(
        &self,
        _node: NodeId,
        _key: KeyId,
        _value: &PropertyValue,
    ) -> Result<()> {
        unimplemented!()
    }

    /// Sets a property of a relationship; null removes it.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchRelationship`]; as [`Transaction::create_node`].
    pub fn set_relationship_property(
        &self,
        _relationship: RelId,
        _key: KeyId,
        _value: &PropertyValue,
    ) -> Result<()> {
        unimplemented!()
    }

    /// Adds a label; whether the node did not have it.
    ///
    /// # Errors
    /// As [`Transaction::set_node_property`].
    pub fn add_label(&self, _node: NodeId, _label: LabelId) -> Result<bool> {
        unimplemented!()
    }

    /// Removes a label; whether the node had it.
    ///
    /// # Errors
    /// As [`Transaction::set_node_property`].
    pub fn remove_label(&self, _node: NodeId, _label: LabelId) -> Result<bool> {
        unimplemented!()
    }

    /// Deletes a relationship; `false` if it was gone already.
    ///
    /// # Errors
    /// What reading gives.
    pub fn delete_relationship(&self, _relationship: RelId) -> Result<bool> {
        unimplemented!()
    }

    /// Deletes a node; `false` if it was gone already. Its relationships must be gone by the end of the statement.
    ///
    /// # Errors
    /// What reading gives.
    pub fn delete_node(&self, _node: NodeId) -> Result<bool> {
        unimplemented!()
    }

    /// Deletes a node with its relationships; how many those were (0 also if the node was gone already).
    ///
    /// # Errors
    /// What reading gives.
    pub fn detach_delete_node(&self, _node: NodeId) -> Result<u64> {
        unimplemented!()
    }

    /// To be called at the end of every statement.
    ///
    /// # Errors
    /// [`crate::Error::NodeHasRelationships`] for a deleted node with relationships.
    pub fn check_statement(&self) -> Result<()> {
        unimplemented!()
    }

    /// Creates an index over what is there and what comes; its name.
    ///
    /// # Errors
    /// [`crate::Error::SchemaExists`], [`crate::Error::InvalidSchema`], [`crate::Error::Duplicate`].
    pub fn create_index(&self, _spec: &IndexSpec) -> Result<Arc<str>> {
        unimplemented!()
    }

    /// Drops an index.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchSchema`]; [`crate::Error::InvalidSchema`] if a constraint owns it.
    pub fn drop_index(&self, _name: &str) -> Result<()> {
        unimplemented!()
    }

    /// Creates a constraint, with its index where it needs one; its name.
    ///
    /// # Errors
    /// As [`Transaction::create_index`]; [`crate::Error::MissingProperty`].
    pub fn create_constraint(&self, _spec: &ConstraintSpec) -> Result<Arc<str>> {
        unimplemented!()
    }

    /// Drops a constraint with its index.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchSchema`].
    pub fn drop_constraint(&self, _name: &str) -> Result<()> {
        unimplemented!()
    }

    /// What was changed so far.
    #[must_use]
    pub fn counters(&self) -> WriteCounters {
        unimplemented!()
    }

    /// Makes the changes visible to all and durable as asked for.
    ///
    /// # Errors
    /// [`crate::Error::Conflict`] (retryable), [`crate::Error::NodeHasRelationships`], [`crate::Error::MissingProperty`],
    /// [`crate::Error::LogFailed`], [`crate::Error::DiskFull`], [`crate::Error::TransactionEnded`]. The transaction has ended then.
    pub fn commit(&self) -> Result<Committed> {
        unimplemented!()
    }

    /// Drops all changes. Nothing happens if the transaction has ended.
    pub fn rollback(&self) {}
}

impl Store {
    /// Begins a transaction.
    ///
    /// # Errors
    /// None for a store that is only read: its transactions may read.
    pub fn begin(self: &Arc<Self>, options: TransactionOptions) -> Result<Transaction> {
        Ok(Transaction {
            store: self.clone(),
            options,
        })
    }
}
