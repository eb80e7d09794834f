//! Properties that must be there: checked for all at the creation of a constraint, for what changed
//! at a commit.

use super::Transaction;
use super::index_entries::holder_name;
use crate::delta::change::Change;
use crate::delta::layer::Layer;
use crate::delta::lower::View;
use crate::ids::{KeyId, NodeId, RelId};
use crate::schema::{ConstraintDescription, ConstraintKind, SchemaEntity};
use crate::{Error, Result};

impl Transaction {
    /// Checks existence constraints for everything that this transaction changed.
    pub(super) fn check_existence(&self) -> Result<()> {
        let schema = self.own.schema();
        for constraint in &schema.constraints {
            if constraint.kind != ConstraintKind::Unique {
                let (layer, below) = self.own.look(Layer::clone);
                let below = below.iter().map(|lower| lower.view());
                for view in below.chain([View::Memory(&layer)]) {
                    self.check_touched(constraint, view)?;
                }
            }
        }
        Ok(())
    }

    /// Checks what may miss a property of `constraint` since it was changed in `layer`.
    fn check_touched(&self, constraint: &ConstraintDescription, layer: View<'_>) -> Result<()> {
        match constraint.entity {
            SchemaEntity::Node(_) => {
                for node in layer.nodes() {
                    self.check_present(constraint, node?.0)?;
                }
            }
            SchemaEntity::Relationship(rel_type) => {
                for entry in layer.relationships() {
                    let (id, it) = entry?;
                    if it.rel_type == rel_type && it.change == Change::Added {
                        self.check_present(constraint, id)?;
                    }
                }
            }
        }
        for key in &constraint.keys {
            let of = constraint.entity.column(*key);
            for entry in layer.values(of).into_iter().flatten() {
                let (id, value) = entry?;
                if value.is_null() {
                    self.check_present(constraint, id)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the constraint is about this node or relationship, which may be gone.
    fn concerns(&self, entity: SchemaEntity, id: u64) -> Result<bool> {
        match entity {
            SchemaEntity::Node(label) => self.view.has_label(NodeId(id), label),
            SchemaEntity::Relationship(_) => match self.view.relationship_endpoints(RelId(id)) {
                Ok(_) => Ok(true),
                Err(Error::NoSuchRelationship { .. }) => Ok(false),
                Err(error) => Err(error),
            },
        }
    }

    pub(super) fn check_present(&self, constraint: &ConstraintDescription, id: u64) -> Result<()> {
        if !self.concerns(constraint.entity, id)? {
            return Ok(());
        }
        for key in &constraint.keys {
            let column = self.view.column_of(constraint.entity, *key);
            if !column.map_or(Ok(false), |column| column.has(id))? {
                return Err(self.missing(constraint, *key, id));
            }
        }
        Ok(())
    }

    fn missing(&self, constraint: &ConstraintDescription, key: KeyId, id: u64) -> Error {
        let snapshot = self.snapshot();
        let catalog = snapshot.catalog();
        Error::MissingProperty {
            constraint: constraint.name.to_string(),
            entity: catalog.entity_name(constraint.entity).to_owned(),
            key: catalog.key_name(key).map_or("?", |name| name).to_owned(),
            holder: holder_name(constraint.entity, id),
        }
    }
}
