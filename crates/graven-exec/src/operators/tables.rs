//! Commands about tables, as changes of constraints and of what the label or type names.
//!
//! # How it works
//! A table is there if its name has a constraint that declares a property with a default, or the
//! ends of relationships. Creating one makes the constraints, dropping one deletes what it names
//! and drops them. A column is renamed by moving each value, a type by making its relationships
//! again. Everything is one transaction.

mod ends;
mod notes;

use std::sync::Arc;

use graven_cypher::plan::constraint::ConstraintKind;
use graven_cypher::plan::tables::{TableColumn, TableCommand, serial_default};
use graven_storage::{
    self as storage, ConstraintDescription, ConstraintSpec, Direction, Error, KeyId, LabelId,
    NodeId, NoteKind, PropertyType, PropertyValue, RelId, RelationshipEnds, SchemaClash,
    SchemaEntity, Snapshot, Transaction, TypeId,
};
use graven_types::told;

use crate::error::{ExecError, Result};
use crate::operators::inferred_type::InferredType;
use crate::query_context::QueryContext;

/// What the store calls a demand.
pub(crate) fn demand(
    kind: &ConstraintKind,
    transaction: &Transaction,
) -> Result<storage::ConstraintKind> {
    Ok(match kind {
        ConstraintKind::Unique => storage::ConstraintKind::Unique,
        ConstraintKind::Key => storage::ConstraintKind::NodeKey,
        ConstraintKind::Exists => storage::ConstraintKind::Exists,
        ConstraintKind::Typed { of, default } => storage::ConstraintKind::Typed {
            of: PropertyType::parse(of).map_err(|what| Error::InvalidSchema { what })?,
            default: default.clone(),
        },
        ConstraintKind::Ends {
            pairs,
            one_out,
            one_in,
        } => {
            let label = |name: &Arc<str>| -> Result<LabelId> { Ok(transaction.label(name)?) };
            let pairs = pairs
                .iter()
                .map(|(from, to)| Ok((label(from)?, label(to)?)));
            storage::ConstraintKind::Ends(RelationshipEnds {
                pairs: pairs.collect::<Result<_>>()?,
                one_out: *one_out,
                one_in: *one_in,
            })
        }
    })
}

/// The label or type of a table and its constraints, which are not empty.
type Found = (SchemaEntity, Vec<ConstraintDescription>);

/// A command with what it works on.
pub(super) struct Tables<'a> {
    pub(super) transaction: &'a Transaction,
    pub(super) rt: &'a QueryContext,
    /// Whether the statement was cancelled.
    pub(super) stop: &'a dyn Fn() -> bool,
}

impl Tables<'_> {
    /// Runs a command.
    ///
    /// # Errors
    /// A table or column that is there already, or is not there; what the store refuses.
    pub(super) fn run(&self, command: &TableCommand) -> Result<()> {
        match command {
            TableCommand::CreateNodes {
                name,
                columns,
                key,
                lenient,
            } => {
                if self.is_there(name, *lenient)? {
                    return Ok(());
                }
                let entity = SchemaEntity::Node(self.transaction.label(name)?);
                let unique = self.constraint(entity, &ConstraintKind::Key, Some(key))?;
                self.create(&unique)?;
                self.add_columns(entity, columns)
            }
            TableCommand::CreateRelationships {
                name,
                columns,
                ends,
                lenient,
            } => {
                if self.is_there(name, *lenient)? {
                    return Ok(());
                }
                let mut ends = ends.clone();
                if let ConstraintKind::Ends { pairs, .. } = &mut ends {
                    for (from, to) in pairs {
                        *from = self.node_table(from)?;
                        *to = self.node_table(to)?;
                    }
                }
                let entity = SchemaEntity::Relationship(self.transaction.rel_type(name)?);
                let ends = self.constraint(entity, &ends, None)?;
                self.create(&ends)?;
                self.add_columns(entity, columns)
            }
            TableCommand::Drop { name, lenient } => self.drop(name, *lenient),
            TableCommand::AddColumn {
                table,
                column,
                lenient,
            } => {
                let (entity, constraints) = self.table(table)?;
                if self.column(&constraints, &column.key).is_some() {
                    return match lenient {
                        true => Ok(()),
                        false => Err(exists("column", &column.key)),
                    };
                }
                self.add_columns(entity, std::slice::from_ref(column))
            }
            TableCommand::DropColumn {
                table,
                key,
                lenient,
            } => {
                let (entity, constraints) = self.table(table)?;
                let Some(column) = self.column(&constraints, key) else {
                    return match lenient {
                        true => Ok(()),
                        false => Err(missing("column", key)),
                    };
                };
                self.no_key(&constraints, column.keys[0], key)?;
                self.transaction.drop_constraint(&column.name)?;
                self.each(entity, &mut |id| {
                    self.move_value(entity, id, column.keys[0], None)
                })
            }
            TableCommand::RenameColumn { table, from, to } => {
                let (entity, constraints) = self.table(table)?;
                let column = self.column(&constraints, from);
                let column = column.ok_or_else(|| missing("column", from))?;
                let other = self.column(&constraints, to);
                if other.is_some_and(|other| other.keys != column.keys) {
                    return Err(exists("column", to));
                }
                let (old, new) = (column.keys[0], self.transaction.key(to)?);
                self.each(entity, &mut |id| {
                    self.move_value(entity, id, old, Some(new))
                })?;
                for constraint in constraints.iter().filter(|it| it.keys.contains(&old)) {
                    self.transaction.drop_constraint(&constraint.name)?;
                    let keys = constraint.keys.iter();
                    let keys = keys.map(|key| if *key == old { new } else { *key });
                    self.create(&ConstraintSpec {
                        name: None,
                        kind: renumbered(&constraint.kind, table, to),
                        entity,
                        keys: keys.collect(),
                    })?;
                }
                Ok(())
            }
            TableCommand::Rename { table, to } => self.rename(table, to),
            TableCommand::Comment { table, text } => self.comment(table, text.as_ref()),
            TableCommand::CreateType { name, of, lenient } => self.create_type(name, of, *lenient),
            TableCommand::DropType { name, lenient } => self.drop_type(name, *lenient),
            TableCommand::AddEnds {
                table,
                pair: (from, to),
                lenient,
            } => self.add_ends(table, (from, to), *lenient),
            TableCommand::DropEnds {
                table,
                pair: (from, to),
                lenient,
            } => self.drop_ends(table, (from, to), *lenient),
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.transaction.snapshot()
    }

    /// The table of that name.
    fn find(&self, name: &str) -> Option<Found> {
        let snapshot = self.snapshot();
        let label = snapshot.label(name).map(SchemaEntity::Node);
        let rel_type = snapshot.rel_type(name).map(SchemaEntity::Relationship);
        let entities = label.into_iter().chain(rel_type);
        let all = snapshot.catalog().constraints();
        let found = |entity| {
            let own = all.iter().filter(|it| it.entity == entity);
            (entity, own.cloned().collect::<Vec<_>>())
        };
        let mut exact = entities.map(found);
        let exact = exact.find(|(_, own)| own.iter().any(declares));
        exact.or_else(|| {
            let mut tables = all.iter().filter(|it| declares(it)).map(|it| it.entity);
            let entity = tables.find(|entity| {
                let own = self.name_of(*entity);
                own.is_some_and(|own| own.eq_ignore_ascii_case(name))
            });
            entity.map(found)
        })
    }

    /// The name of a table.
    fn name_of(&self, entity: SchemaEntity) -> Option<Arc<str>> {
        let snapshot = self.snapshot();
        match entity {
            SchemaEntity::Node(label) => snapshot.catalog().label_name(label).cloned(),
            SchemaEntity::Relationship(of) => snapshot.catalog().type_name(of).cloned(),
            _ => None,
        }
    }

    fn table(&self, name: &str) -> Result<Found> {
        self.find(name).ok_or_else(|| missing("table", name))
    }

    /// The name of a table of nodes as it was declared.
    fn node_table(&self, name: &str) -> Result<Arc<str>> {
        let entity = self.table(name)?.0;
        let own = matches!(entity, SchemaEntity::Node(_)).then(|| self.name_of(entity));
        own.flatten().ok_or_else(|| missing("table of nodes", name))
    }

    fn is_there(&self, name: &str, lenient: bool) -> Result<bool> {
        match self.find(name) {
            Some(_) if !lenient => Err(exists("table", name)),
            found => Ok(found.is_some()),
        }
    }

    fn column<'c>(
        &self,
        constraints: &'c [ConstraintDescription],
        name: &str,
    ) -> Option<&'c ConstraintDescription> {
        let snapshot = self.snapshot();
        let columns = || constraints.iter().filter(|it| declares(it));
        let exact = snapshot.key(name);
        let exact = exact.and_then(|key| columns().find(|it| it.keys == [key]));
        exact.or_else(|| {
            columns().find(|it| {
                let key = it.keys.first();
                let own = key.and_then(|key| snapshot.catalog().key_name(*key));
                own.is_some_and(|own| own.eq_ignore_ascii_case(name))
            })
        })
    }

    fn no_key(&self, all: &[ConstraintDescription], key: KeyId, name: &str) -> Result<()> {
        let mut all = all.iter();
        let is_key =
            all.any(|it| it.kind == storage::ConstraintKind::NodeKey && it.keys.contains(&key));
        match is_key {
            true => Err(Error::InvalidSchema {
                what: told!("{name} is the primary key of its table and cannot be dropped"),
            }
            .into()),
            false => Ok(()),
        }
    }

    fn constraint(
        &self,
        entity: SchemaEntity,
        kind: &ConstraintKind,
        key: Option<&Arc<str>>,
    ) -> Result<ConstraintSpec> {
        let keys = key.into_iter().map(|key| Ok(self.transaction.key(key)?));
        Ok(ConstraintSpec {
            name: None,
            kind: demand(kind, self.transaction)?,
            entity,
            keys: keys.collect::<Result<_>>()?,
        })
    }

    fn create(&self, spec: &ConstraintSpec) -> Result<()> {
        match self.transaction.create_constraint(spec, self.stop) {
            Err(Error::Stopped) => self.rt.check_cancelled(),
            made => Ok(made.map(|_| ())?),
        }
    }

    /// Makes the constraints of columns; each of a table has a default.
    fn add_columns(&self, entity: SchemaEntity, columns: &[TableColumn]) -> Result<()> {
        for column in columns {
            let of = match column.of.is_empty() {
                true => self.inferred(entity, &column.key)?,
                false => self.meant(&column.of),
            };
            let declared = TableColumn {
                of,
                default: Some(column.default.clone().unwrap_or_else(|| NO_DEFAULT.into())),
                ..column.clone()
            };
            let spec = self.constraint(entity, &declared.demand(), Some(&column.key))?;
            self.create(&spec)?;
        }
        Ok(())
    }

    fn drop(&self, name: &str, lenient: bool) -> Result<()> {
        let Some((entity, constraints)) = self.find(name) else {
            return match lenient {
                true => Ok(()),
                false => Err(missing("table", name)),
            };
        };
        if let SchemaEntity::Node(label) = entity {
            let snapshot = self.snapshot();
            for other in snapshot.catalog().constraints() {
                if let storage::ConstraintKind::Ends(ends) = &other.kind
                    && ends.pairs.iter().any(|(a, b)| *a == label || *b == label)
                {
                    let what = told!(
                        "relationships of the table that {} is about join nodes of {name}: drop \
                            that table first",
                        other.name
                    );
                    return Err(Error::InvalidSchema { what }.into());
                }
            }
        }
        self.each(entity, &mut |id| {
            match entity {
                SchemaEntity::Node(_) => {
                    let (node, gone) = (NodeId(id), &mut |_, _| ());
                    let stopped =
                        (self.transaction).detach_delete_node_until(node, self.stop, gone);
                    if let Err(Error::Stopped) = stopped {
                        self.rt.check_cancelled()?;
                    }
                    stopped?;
                }
                _ => {
                    self.transaction.delete_relationship(RelId(id))?;
                }
            }
            Ok(())
        })?;
        if let Some(own) = self.name_of(entity) {
            self.transaction.drop_note(NoteKind::Comment, &own)?;
        }
        for constraint in constraints {
            self.transaction.drop_constraint(&constraint.name)?;
        }
        Ok(())
    }

    fn rename(&self, table: &str, to: &str) -> Result<()> {
        let (entity, constraints) = self.table(table)?;
        if self.find(to).is_some_and(|(other, _)| other != entity) {
            return Err(exists("table", to));
        }
        self.move_comment(entity, to)?;
        let old = match entity {
            SchemaEntity::Node(old) => old,
            SchemaEntity::Relationship(old) => return self.rename_type(old, to, constraints),
            _ => return Err(missing("table", table)),
        };
        let new = self.transaction.label(to)?;
        let snapshot = self.snapshot();
        let all: Vec<ConstraintDescription> = snapshot.catalog().constraints().to_vec();
        let renamed = SchemaEntity::Node(new);
        for constraint in constraints {
            self.transaction.drop_constraint(&constraint.name)?;
            self.create(&ConstraintSpec {
                name: None,
                kind: match constraint.keys.first() {
                    Some(key) => {
                        let key = snapshot.catalog().key_name(*key);
                        renumbered(&constraint.kind, to, key.map_or("", |key| key))
                    }
                    None => constraint.kind.clone(),
                },
                entity: renamed,
                keys: constraint.keys.clone(),
            })?;
        }
        let other = |label: LabelId| if label == old { new } else { label };
        for constraint in all {
            if let storage::ConstraintKind::Ends(ends) = &constraint.kind
                && ends.pairs.iter().any(|(a, b)| *a == old || *b == old)
            {
                self.transaction.drop_constraint(&constraint.name)?;
                let pairs = ends.pairs.iter().map(|(a, b)| (other(*a), other(*b)));
                let ends = RelationshipEnds {
                    pairs: pairs.collect(),
                    ..ends.clone()
                };
                self.relabel_before(entity, old, new)?;
                self.create(&ConstraintSpec {
                    name: Some(constraint.name.to_string()),
                    kind: storage::ConstraintKind::Ends(ends),
                    entity: constraint.entity,
                    keys: Vec::new(),
                })?;
            }
        }
        self.relabel_before(entity, old, new)
    }

    /// The type of a relationship does not change: each is made again, with an id of its own.
    fn rename_type(
        &self,
        old: TypeId,
        to: &str,
        constraints: Vec<ConstraintDescription>,
    ) -> Result<()> {
        let new = self.transaction.rel_type(to)?;
        for constraint in constraints {
            self.transaction.drop_constraint(&constraint.name)?;
            self.create(&ConstraintSpec {
                name: None,
                kind: constraint.kind,
                entity: SchemaEntity::Relationship(new),
                keys: constraint.keys,
            })?;
        }
        let snapshot = self.snapshot();
        let keys = snapshot.catalog().keys().iter().zip(0..);
        let columns = keys.filter_map(|(_, key)| {
            let key = KeyId(key);
            Some((key, snapshot.relationship_column(old, key)?))
        });
        let columns: Vec<_> = columns.collect();
        let adjacency = snapshot.adjacency(old, Direction::Out)?;
        let mut list = Vec::new();
        for node in snapshot.all_nodes()?.iter() {
            self.rt.check_cancelled()?;
            list.clear();
            adjacency.neighbours(node, &mut list)?;
            for neighbour in &list {
                let (before, end) = (neighbour.relationship, neighbour.node);
                let mut properties = Vec::new();
                for (key, column) in &columns {
                    properties.push((*key, column.get(before.0)?));
                }
                properties.retain(|(_, value)| !value.is_null());
                self.transaction
                    .create_relationship(node, new, end, &properties)?;
                self.transaction.delete_relationship(before)?;
            }
        }
        Ok(())
    }

    /// Gives the nodes that still have the label `old` the label `new` instead.
    fn relabel_before(&self, entity: SchemaEntity, old: LabelId, new: LabelId) -> Result<()> {
        self.each(entity, &mut |id| {
            self.transaction.add_label(NodeId(id), new)?;
            self.transaction.remove_label(NodeId(id), old)?;
            Ok(())
        })
    }

    /// Removes a property, or moves it under another key.
    fn move_value(
        &self,
        entity: SchemaEntity,
        id: u64,
        old: KeyId,
        new: Option<KeyId>,
    ) -> Result<()> {
        let value = self.value(entity, id, old)?;
        if value.is_null() {
            return Ok(());
        }
        let mut moves = vec![(old, PropertyValue::Null)];
        moves.extend(new.map(|new| (new, value)));
        for (key, value) in moves {
            match entity {
                SchemaEntity::Relationship(_) => {
                    self.transaction
                        .set_relationship_property(RelId(id), key, &value)?;
                }
                _ => self
                    .transaction
                    .set_node_property(NodeId(id), key, &value)?,
            }
        }
        Ok(())
    }

    /// The type of the values that are there.
    fn inferred(&self, entity: SchemaEntity, name: &Arc<str>) -> Result<Arc<str>> {
        let key = self.transaction.key(name)?;
        let mut of = InferredType::default();
        self.each(entity, &mut |id| {
            let value = self.value(entity, id, key)?;
            of.see(&value).map_err(|what| {
                let what = told!(
                    "the values of the column {name} are of several types, {what}: cast them"
                );
                Error::InvalidSchema { what }.into()
            })
        })?;
        Ok(of.text().into())
    }

    fn value(&self, entity: SchemaEntity, id: u64, key: KeyId) -> Result<PropertyValue> {
        let snapshot = self.snapshot();
        let column = match entity {
            SchemaEntity::Relationship(rel_type) => snapshot.relationship_column(rel_type, key),
            _ => snapshot.node_column(key),
        };
        Ok(column.map_or(Ok(PropertyValue::Null), |column| column.get(id))?)
    }

    /// Calls `visit` with the ids of all that a table names.
    fn each(&self, entity: SchemaEntity, visit: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let snapshot = self.snapshot();
        match entity {
            SchemaEntity::Node(label) => {
                let nodes: Vec<NodeId> = snapshot.nodes_with_label(label)?.iter().collect();
                for node in nodes {
                    self.rt.check_cancelled()?;
                    visit(node.0)?;
                }
            }
            SchemaEntity::Relationship(rel_type) => {
                let nodes = snapshot.all_nodes()?;
                let adjacency = snapshot.adjacency(rel_type, Direction::Out)?;
                let mut list = Vec::new();
                for node in nodes.iter() {
                    self.rt.check_cancelled()?;
                    list.clear();
                    adjacency.neighbours(node, &mut list)?;
                    for neighbour in &list {
                        visit(neighbour.relationship.0)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A demand as the table, or its key, has it under a new name: numbers go by these names.
fn renumbered(kind: &storage::ConstraintKind, table: &str, key: &str) -> storage::ConstraintKind {
    match kind {
        storage::ConstraintKind::Typed { of, .. } if &**of.text() == "SERIAL" => {
            storage::ConstraintKind::Typed {
                of: of.clone(),
                default: Some(serial_default(table, key)),
            }
        }
        other => other.clone(),
    }
}

/// What a column without a default has.
const NO_DEFAULT: &str = "NULL";

/// Whether a constraint is one of a table.
fn declares(constraint: &ConstraintDescription) -> bool {
    match &constraint.kind {
        storage::ConstraintKind::Typed { default, .. } => default.is_some(),
        storage::ConstraintKind::Ends(_) => true,
        _ => false,
    }
}

fn exists(what: &'static str, name: &str) -> ExecError {
    Error::SchemaExists {
        what,
        name: name.to_owned(),
        clash: SchemaClash::Name,
    }
    .into()
}

fn missing(what: &'static str, name: &str) -> ExecError {
    Error::NoSuchSchema {
        what,
        name: name.to_owned(),
    }
    .into()
}
