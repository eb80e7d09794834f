//! `ALTER TABLE ... ADD FROM a TO b`, and `DROP FROM`: which tables relationships join.

use graven_storage::{
    ConstraintDescription, ConstraintKind, ConstraintSpec, RelId, RelationshipEnds, SchemaEntity,
};

use super::{Tables, exists, missing};
use crate::error::Result;

impl Tables<'_> {
    /// One pair more.
    pub(super) fn add_ends(
        &self,
        table: &str,
        (from, to): (&str, &str),
        lenient: bool,
    ) -> Result<()> {
        let (entity, constraints) = self.table(table)?;
        let (from, to) = (self.node_table(from)?, self.node_table(to)?);
        let pair = (self.transaction.label(&from)?, self.transaction.label(&to)?);
        let (constraint, mut ends) = ends_of(table, &constraints)?;
        if ends.pairs.contains(&pair) {
            return match lenient {
                true => Ok(()),
                false => Err(exists("pair", &format!("{from} to {to}"))),
            };
        }
        ends.pairs.push(pair);
        self.change_ends(entity, constraint, ends)
    }

    /// One pair less, and no relationship that joins it.
    pub(super) fn drop_ends(
        &self,
        table: &str,
        (from, to): (&str, &str),
        lenient: bool,
    ) -> Result<()> {
        let (entity, constraints) = self.table(table)?;
        let (constraint, mut ends) = ends_of(table, &constraints)?;
        let snapshot = self.snapshot();
        let own = |name: &str| self.node_table(name).ok();
        let own = own(from).zip(own(to));
        let pair = own.and_then(|(from, to)| snapshot.label(&from).zip(snapshot.label(&to)));
        let Some(pair) = pair.filter(|pair| ends.pairs.contains(pair)) else {
            return match lenient {
                true => Ok(()),
                false => Err(missing("pair", &format!("{from} to {to}"))),
            };
        };
        self.each(entity, &mut |id| {
            let (_, start, end) = snapshot.relationship_endpoints(RelId(id))?;
            let joins = snapshot.labels_of(start)?.contains(&pair.0)
                && snapshot.labels_of(end)?.contains(&pair.1);
            if joins {
                self.transaction.delete_relationship(RelId(id))?;
            }
            Ok(())
        })?;
        ends.pairs.retain(|known| *known != pair);
        self.change_ends(entity, constraint, ends)
    }

    /// The constraint on the ends of relationships with other pairs.
    fn change_ends(
        &self,
        entity: SchemaEntity,
        constraint: &ConstraintDescription,
        ends: RelationshipEnds,
    ) -> Result<()> {
        self.transaction.drop_constraint(&constraint.name)?;
        self.create(&ConstraintSpec {
            name: Some(constraint.name.to_string()),
            kind: ConstraintKind::Ends(ends),
            entity,
            keys: Vec::new(),
        })
    }
}

/// The constraint on the ends of the relationships of a table, and these.
fn ends_of<'c>(
    table: &str,
    constraints: &'c [ConstraintDescription],
) -> Result<(&'c ConstraintDescription, RelationshipEnds)> {
    let mut found = constraints.iter().filter_map(|it| match &it.kind {
        ConstraintKind::Ends(ends) => Some((it, ends.clone())),
        _ => None,
    });
    found
        .next()
        .ok_or_else(|| missing("relationship table", table))
}
