//! Relationships to which a `CREATE` gives no type: the table that joins their ends says it.
//!
//! # How it works
//! openCypher refuses such a relationship; Kuzu takes the one table that it can be of. Its ends are
//! known where a pattern of the statement gives them a label. A new node without labels at such a
//! relationship is of the table that is joined there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::load::named;
use super::{Binder, Result};
use crate::ast::{LabelExpr, NodePattern, PathPattern, RelationshipPattern};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::Direction;
use crate::schema_view::Named;

/// A table of relationships with two labels that it joins.
type Joined = [Arc<str>; 3];

/// Labels by the names of new nodes.
type Labelled = BTreeMap<Arc<str>, Arc<str>>;

fn is_untyped(relationship: &RelationshipPattern) -> bool {
    let is_one = relationship.length.is_none() && relationship.direction != Direction::Both;
    relationship.types.is_none() && is_one
}

fn nodes(pattern: &mut PathPattern) -> impl Iterator<Item = &mut NodePattern> {
    let steps = pattern.steps.iter_mut();
    std::iter::once(&mut pattern.first).chain(steps.map(|(_, node)| node))
}

impl Binder<'_> {
    /// The patterns with types for relationships that have none; nothing if all of them have one,
    /// or no table is there.
    pub(super) fn with_types_of_tables(
        &self,
        patterns: &[PathPattern],
    ) -> Result<Option<Vec<PathPattern>>> {
        let mut steps = patterns.iter().flat_map(|pattern| &pattern.steps);
        if !steps.any(|(relationship, _)| is_untyped(relationship)) {
            return Ok(None);
        }
        let joined = self.joined();
        if joined.is_empty() {
            return Ok(None);
        }
        let mut patterns = patterns.to_vec();
        let mut given = Labelled::new();
        for node in patterns.iter_mut().flat_map(nodes) {
            if let (Some(name), Some(LabelExpr::Label(label))) = (&node.name, &node.labels) {
                given.insert(name.text.clone(), label.text.clone());
            }
        }
        let mut new = Labelled::new();
        for pattern in &mut patterns {
            let mut before = &mut pattern.first;
            for (relationship, after) in &mut pattern.steps {
                if is_untyped(relationship) {
                    let ends = [&mut *before, &mut *after];
                    self.set_type(relationship, ends, &joined, (&mut given, &mut new))?;
                }
                before = after;
            }
        }
        // A new node has its labels where it stands first.
        for node in patterns.iter_mut().flat_map(nodes) {
            if let Some(label) = node.name.as_ref().and_then(|name| new.remove(&name.text)) {
                node.labels = Some(LabelExpr::Label(named(&label, node.span)));
            }
        }
        Ok(Some(patterns))
    }

    /// What tables of relationships join.
    fn joined(&self) -> Vec<Joined> {
        let names = self.schema.names(Named::RelationshipType).into_iter();
        let tables = names.filter_map(|name| Some((Arc::from(&*name), self.schema.table(&name)?)));
        let tables = tables.flat_map(|(name, table): (Arc<str>, _)| {
            let ends = table.ends.into_iter();
            ends.map(move |(from, to)| [name.clone(), from, to])
        });
        tables.collect()
    }

    /// Gives a relationship the type of the only table that joins its ends, and new nodes their
    /// labels.
    fn set_type(
        &self,
        relationship: &mut RelationshipPattern,
        [before, after]: [&mut NodePattern; 2],
        joined: &[Joined],
        (given, new): (&mut Labelled, &mut Labelled),
    ) -> Result<()> {
        let [from, to] = match relationship.direction {
            Direction::In => [after, before],
            Direction::Out | Direction::Both => [before, after],
        };
        let labels = [self.label_of(from, given), self.label_of(to, given)];
        let fits = |joined: &&Joined| {
            let mut ends = labels.iter().zip(&joined[1..]);
            ends.all(|(label, end)| label.as_ref().is_none_or(|label| label == end))
        };
        let found: Vec<&Joined> = joined.iter().filter(fits).collect();
        let Some(first) = found.first() else {
            return Ok(());
        };
        if found.iter().any(|other| other[0] != first[0]) {
            return Err(self.several(relationship, &found));
        }
        relationship.types = Some(LabelExpr::Label(named(&first[0], relationship.span)));
        for (node, place) in [(from, 1), (to, 2)] {
            let is_new = |name| self.scope.find(name).is_none();
            let is_new = node.name.as_ref().is_none_or(|name| is_new(&name.text));
            if !is_new || self.label_of(node, given).is_some() || node.labels.is_some() {
                continue;
            }
            if found.iter().any(|other| other[place] != first[place]) {
                return Err(self.several(relationship, &found));
            }
            match &node.name {
                Some(name) => {
                    given.insert(name.text.clone(), first[place].clone());
                    new.insert(name.text.clone(), first[place].clone());
                }
                None => {
                    node.labels = Some(LabelExpr::Label(named(&first[place], node.span)));
                }
            }
        }
        Ok(())
    }

    /// The label by which a pattern names a node.
    fn label_of(&self, node: &NodePattern, given: &Labelled) -> Option<Arc<str>> {
        if let Some(LabelExpr::Label(label)) = &node.labels {
            return Some(label.text.clone());
        }
        let name = &node.name.as_ref()?.text;
        let bound = self.scope.find(name).map(|entry| entry.var);
        match bound {
            Some(var) => self.tables.get(&var).cloned(),
            None => given.get(name).cloned(),
        }
    }

    fn several(&self, relationship: &RelationshipPattern, found: &[&Joined]) -> Diagnostic {
        let shown = found.iter().map(|[name, from, to]| {
            let ends = [from, to].map(|end| graven_types::name::quoted(end));
            format!(
                "(:{})-[:{}]->(:{})",
                ends[0],
                graven_types::name::quoted(name),
                ends[1]
            )
        });
        let shown: Vec<String> = shown.collect();
        let message = format!(
            "the relationship has no type, and tables leave it open: {}",
            shown.join(", ")
        );
        self.error(relationship.span, Code::NoSingleRelationshipType, message)
            .with_hint("write its type, and the labels of its ends")
    }
}
