//! Properties that must be there or be of a type, and ends of relationships: checked for all at the
//! creation of a constraint, for what changed at a commit.

use super::Transaction;
use super::index_entries::holder_name;
use crate::delta::change::{Change, NodeChange};
use crate::delta::delta_layer::DeltaLayer;
use crate::delta::immutable_delta::DeltaView;
use crate::ids::{Direction, KeyId, LabelId, NodeId, RelId, TypeId};
use crate::schema::{
    ConstraintDescription, ConstraintKind, PropertyType, RelationshipEnds, SchemaEntity,
};
use crate::{Error, PropertyValue, Result};

impl Transaction {
    /// Checks constraints other than uniqueness for everything that this transaction changed.
    pub(super) fn check_constraints(&self) -> Result<()> {
        let schema = self.write_set.schema();
        let (layer, below) = self.write_set.look(DeltaLayer::clone);
        let below = below.iter().map(|lower| lower.view());
        let views: Vec<_> = below.chain([DeltaView::Memory(&layer)]).collect();
        for constraint in &schema.constraints {
            if constraint.kind == ConstraintKind::Unique || fit_by_counts(constraint, &views) {
                continue;
            }
            for view in &views {
                self.check_touched(constraint, *view)?;
            }
        }
        Ok(())
    }

    /// Checks what may break `constraint` since it was changed in `layer`.
    fn check_touched(
        &self,
        constraint: &ConstraintDescription,
        layer: DeltaView<'_>,
    ) -> Result<()> {
        let required = constraint.kind.is_required();
        match (constraint.entity, &constraint.kind) {
            (SchemaEntity::Relationship(rel_type), ConstraintKind::Ends(_)) => {
                for node in layer.nodes() {
                    let (node, change) = node?;
                    if matches!(change, NodeChange::Labels(_)) {
                        self.check_ends_at(constraint, rel_type, NodeId(node))?;
                    }
                }
            }
            (SchemaEntity::Node(_), _) => {
                for node in layer.nodes() {
                    let (node, change) = node?;
                    // What was given to a new node is among the values below.
                    if required || matches!(change, NodeChange::Labels(_)) {
                        self.check(constraint, node)?;
                    }
                }
            }
            _ => {}
        }
        if let SchemaEntity::Relationship(rel_type) = constraint.entity
            && (required || matches!(constraint.kind, ConstraintKind::Ends(_)))
        {
            for entry in layer.relationships() {
                let (id, it) = entry?;
                let concerned = it.rel_type == rel_type && it.change == Change::Added;
                if concerned && !self.surely_fits(constraint, it.start, it.end)? {
                    self.check(constraint, id)?;
                }
            }
        }
        for key in &constraint.keys {
            let of = constraint.entity.column(*key);
            for entry in layer.values(of).into_iter().flatten() {
                let (id, value) = entry?;
                let suspect = match &constraint.kind {
                    ConstraintKind::Typed { of, .. } if !value.is_null() => !of.holds(&value),
                    _ => required && value.is_null(),
                };
                if suspect {
                    self.check(constraint, id)?;
                }
            }
        }
        Ok(())
    }

    /// Checks all relationships of a type at a node.
    fn check_ends_at(
        &self,
        constraint: &ConstraintDescription,
        rel_type: TypeId,
        node: NodeId,
    ) -> Result<()> {
        let mut list = Vec::new();
        for direction in [Direction::Out, Direction::In] {
            list.clear();
            let adjacency = self.view.adjacency(rel_type, direction)?;
            adjacency.neighbours(node, &mut list)?;
            for neighbour in &list {
                self.check(constraint, neighbour.relationship.0)?;
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

    /// Checks one node or relationship as this transaction leaves it.
    pub(super) fn check(&self, constraint: &ConstraintDescription, id: u64) -> Result<()> {
        if !self.concerns(constraint.entity, id)? {
            return Ok(());
        }
        match &constraint.kind {
            ConstraintKind::Ends(ends) => return self.check_ends(constraint, ends, id),
            ConstraintKind::Typed { of, .. } => self.check_type(constraint, of, id)?,
            _ => {}
        }
        if !constraint.kind.is_required() {
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

    /// Whether the labels of the ends of a relationship are all that a constraint asks for, and
    /// they are as it says.
    fn surely_fits(
        &self,
        constraint: &ConstraintDescription,
        start: NodeId,
        end: NodeId,
    ) -> Result<bool> {
        match &constraint.kind {
            ConstraintKind::Ends(ends) if !ends.one_out && !ends.one_in => {
                self.fits(ends, start, end)
            }
            _ => Ok(false),
        }
    }

    /// Whether a relationship may go from `start` to `end`.
    fn fits(&self, ends: &RelationshipEnds, start: NodeId, end: NodeId) -> Result<bool> {
        for (from, to) in &ends.pairs {
            if self.view.has_label(start, *from)? && self.view.has_label(end, *to)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn check_type(
        &self,
        constraint: &ConstraintDescription,
        of: &PropertyType,
        id: u64,
    ) -> Result<()> {
        for key in &constraint.keys {
            let Some(column) = self.view.column_of(constraint.entity, *key) else {
                continue;
            };
            let value = column.get(id)?;
            if !value.is_null() && !of.holds(&value) {
                let snapshot = self.snapshot();
                let catalog = snapshot.catalog();
                return Err(Error::WrongType {
                    constraint: (*constraint.name).into(),
                    entity: catalog.entity_name(constraint.entity).into(),
                    key: catalog.key_name(*key).map_or("?", |name| name).into(),
                    wanted: of.to_string().into(),
                    found: match &value {
                        PropertyValue::Vector(it) => it.vector_type().to_string().into(),
                        other => other.type_name().into(),
                    },
                    holder: holder_name(constraint.entity, id).into(),
                });
            }
        }
        Ok(())
    }

    fn check_ends(
        &self,
        constraint: &ConstraintDescription,
        ends: &RelationshipEnds,
        id: u64,
    ) -> Result<()> {
        let (rel_type, start, end) = self.view.relationship_endpoints(RelId(id))?;
        let wrong = |what: String| Error::WrongEnds {
            constraint: constraint.name.to_string(),
            rel_type: self
                .snapshot()
                .catalog()
                .entity_name(constraint.entity)
                .to_owned(),
            holder: holder_name(constraint.entity, id),
            what,
        };
        if !self.fits(ends, start, end)? {
            let snapshot = self.snapshot();
            let name = |label: LabelId| {
                snapshot
                    .catalog()
                    .entity_name(SchemaEntity::Node(label))
                    .to_owned()
            };
            let pairs = ends.pairs.iter();
            let pairs: Vec<String> = pairs
                .map(|(from, to)| format!("{} to {}", name(*from), name(*to)))
                .collect();
            return Err(wrong(format!("must go from {}", pairs.join(" or from "))));
        }
        let limits = [
            (ends.one_out, Direction::Out, start, "starts"),
            (ends.one_in, Direction::In, end, "ends"),
        ];
        for (_, direction, node, does) in limits.into_iter().filter(|(one, ..)| *one) {
            let mut list = Vec::new();
            let adjacency = self.view.adjacency(rel_type, direction)?;
            adjacency.neighbours(node, &mut list)?;
            if list.len() > 1 {
                let what = format!("{does} at node {}, where only one may", node.0);
                return Err(wrong(what));
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

/// Whether the counts tell that all relationships made in `layers` go where `constraint` wants them
/// to: of many relationships this spares a look at each.
///
/// They are counted by the labels that their ends had. Where no node changed these are the labels
/// now; and none was there before that does not fit, so none that is gone hides one that came.
fn fit_by_counts(constraint: &ConstraintDescription, layers: &[DeltaView<'_>]) -> bool {
    let (SchemaEntity::Relationship(rel_type), ConstraintKind::Ends(ends)) =
        (constraint.entity, &constraint.kind)
    else {
        return false;
    };
    let fits = |start: &[LabelId], end: &[LabelId]| {
        let mut pairs = ends.pairs.iter();
        pairs.any(|(from, to)| start.contains(from) && end.contains(to))
    };
    let mut counts = layers
        .iter()
        .flat_map(|layer| layer.counts().patterns_of(rel_type));
    !ends.one_out
        && !ends.one_in
        && !layers.iter().any(|layer| layer.has_nodes())
        && counts.all(|(start, end, by)| by == 0 || fits(start, end))
}
