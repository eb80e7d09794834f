//! `SET` and `REMOVE`: properties and labels, row by row, items in order.
//!
//! # How it works
//! Values that do not read the graph are computed for a whole batch; where one does, each row is
//! computed when its turn has come, since it may read what an earlier row has set. Neighbouring
//! properties of one variable are computed before the first of them is set, and each of their keys
//! counts once, also one that takes away what is not there; apart from that an item sees what the
//! one before it has done.

use std::sync::Arc;

use graven_cypher::{Span, plan};
use graven_storage::{KeyId, LabelId, PropertyValue};
use graven_types::told;

use super::graph_reads::reads_graph;
use super::portions::in_portions;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Compiler, Rows};
use crate::growth::Held;
use crate::layout::Layout;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::writing::{Entity, computed_names, gone, storable};

/// What is done to the target.
enum Change {
    Property {
        /// `None`: the key of a removal that had no id when the statement began.
        key: Option<KeyId>,
        name: Arc<str>,
        value: Compiled,
    },
    Element {
        key: Compiled,
        value: Compiled,
    },
    Properties {
        value: Compiled,
        keep: bool,
    },
    AddLabels {
        labels: Vec<LabelId>,
        computed: Vec<Compiled>,
    },
    RemoveLabels {
        labels: Vec<Arc<str>>,
        computed: Vec<Compiled>,
    },
}

/// One item, compiled.
struct Item {
    target: Compiled,
    change: Change,
    at: Span,
    /// It is computed with the item before it.
    joins: bool,
    /// It is one property of a `SET`, and not of a `REMOVE`.
    sets: bool,
}

/// Items of one clause.
pub(crate) struct Items(Vec<Item>);

impl Items {
    /// Compiles against the rows of `layout`.
    ///
    /// # Errors
    /// A variable that is not produced below; names that cannot be interned.
    pub(crate) fn new(items: &[plan::SetItem], layout: &Layout, rt: &QueryContext) -> Result<Self> {
        use plan::SetItem as S;
        let compile = |e: &plan::Expr| Compiler::new(layout, rt).compile(e);
        let mut compiled = Vec::with_capacity(items.len());
        let mut before = None;
        for item in items {
            let change = match item {
                S::Property { key, value, .. } => {
                    let removes = matches!(value, plan::Expr::Literal(plan::Literal::Null));
                    Change::Property {
                        key: match removes {
                            true => rt.key_id(key),
                            false => Some(rt.written_key(key)?),
                        },
                        name: key.clone(),
                        value: compile(value)?,
                    }
                }
                S::Element { key, value, .. } => Change::Element {
                    key: compile(key)?,
                    value: compile(value)?,
                },
                S::Properties { value, keep, .. } => Change::Properties {
                    value: compile(value)?,
                    keep: *keep,
                },
                S::AddLabels {
                    labels, computed, ..
                } => Change::AddLabels {
                    labels: labels
                        .iter()
                        .map(|l| rt.written_label(l))
                        .collect::<Result<_>>()?,
                    computed: computed.iter().map(compile).collect::<Result<_>>()?,
                },
                S::RemoveLabels {
                    labels, computed, ..
                } => Change::RemoveLabels {
                    labels: labels.clone(),
                    computed: computed.iter().map(compile).collect::<Result<_>>()?,
                },
            };
            compiled.push(Item {
                target: compile(item.target())?,
                change,
                at: item.place(),
                joins: before.is_some_and(|before: &plan::SetItem| before.is_with(item)),
                sets: matches!(
                    item,
                    S::Property { sets: true, .. } | S::Element { sets: true, .. }
                ),
            });
            before = Some(item);
        }
        Ok(Self(compiled))
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does all items for all rows of a batch.
    pub(crate) fn apply(&self, batch: &Batch, rt: &QueryContext) -> Result<()> {
        let mut exprs = self.0.iter().flat_map(Item::exprs);
        if batch.len() > 1 && exprs.any(|e| reads_graph(e, batch)) {
            for row in 0..batch.len() {
                self.apply_one(&batch.slice(row, row + 1), rt)?;
            }
            return Ok(());
        }
        if batch.len() == 1 {
            return self.apply_one(batch, rt);
        }
        in_portions(
            batch,
            rt,
            |rows, held| {
                let computed = self.0.iter().map(|item| item.compute(rows, held, rt));
                computed.collect::<Result<Vec<_>>>()
            },
            |rows, computed| {
                for row in 0..rows.len() {
                    let mut computed = &computed[..];
                    for together in self.together() {
                        let (own, others) = computed.split_at(together.len());
                        apply_together(together, own, row, rt)?;
                        computed = others;
                    }
                }
                Ok(())
            },
        )
    }

    /// Items that are computed together, one after the other.
    fn together(&self) -> impl Iterator<Item = &[Item]> {
        self.0.chunk_by(|_, next| next.joins)
    }

    /// Does all items for the one row of a batch.
    fn apply_one(&self, row: &Batch, rt: &QueryContext) -> Result<()> {
        for together in self.together() {
            let held = rt.growth.hold();
            let computed = together.iter().map(|item| item.compute(row, &held, rt));
            let computed = computed.collect::<Result<Vec<_>>>()?;
            apply_together(together, &computed, 0, rt)?;
        }
        Ok(())
    }
}

/// Does items that were computed together for one row.
fn apply_together(
    items: &[Item],
    computed: &[Computed],
    row: usize,
    rt: &QueryContext,
) -> Result<()> {
    let mut items = items.iter().zip(computed);
    let counts = computed.len() > 1 && items.clone().any(|(item, _)| item.sets);
    if !counts || computed[0].target.get(row).is_null() {
        return items.try_for_each(|(item, computed)| {
            rt.check_cancelled()?;
            item.apply(computed, row, rt)
        });
    }
    let before = rt.writer()?.transaction().counters().properties_set;
    let mut keys = Vec::with_capacity(computed.len());
    for (item, computed) in items {
        rt.check_cancelled()?;
        item.apply(computed, row, rt)?;
        keys.extend(computed.key_of(&item.change, row));
    }
    keys.sort_unstable();
    keys.dedup();
    let writer = rt.writer()?;
    writer
        .transaction()
        .count_properties(before + keys.len() as u64);
    Ok(())
}

/// Values of an item for the rows of a batch.
struct Computed {
    target: Arc<Column>,
    key: Option<Arc<Column>>,
    value: Option<Arc<Column>>,
    labels: Vec<Arc<Column>>,
}

impl Item {
    /// What computes the key, the value and labels.
    fn parts(&self) -> (Option<&Compiled>, Option<&Compiled>, &[Compiled]) {
        match &self.change {
            Change::Property { value, .. } | Change::Properties { value, .. } => {
                (None, Some(value), &[])
            }
            Change::Element { key, value } => (Some(key), Some(value), &[]),
            Change::AddLabels { computed, .. } | Change::RemoveLabels { computed, .. } => {
                (None, None, computed)
            }
        }
    }

    fn exprs(&self) -> impl Iterator<Item = &Compiled> {
        let (key, value, labels) = self.parts();
        let own = std::iter::once(&self.target).chain(key).chain(value);
        own.chain(labels)
    }

    /// Does it for one row.
    fn apply(&self, computed: &Computed, row: usize, rt: &QueryContext) -> Result<()> {
        let done = computed.apply(&self.change, row, rt);
        done.map_err(|error| error.at(self.at))
    }

    fn compute(&self, batch: &Batch, held: &Held, rt: &QueryContext) -> Result<Computed> {
        let column = |e: &Compiled| e.column_for(held, Rows::all(batch), rt);
        let (key, value, labels) = self.parts();
        Ok(Computed {
            target: column(&self.target)?,
            key: key.map(column).transpose()?,
            value: value.map(column).transpose()?,
            labels: labels.iter().map(column).collect::<Result<_>>()?,
        })
    }
}

impl Computed {
    /// The key of the one property that is changed.
    fn key_of(&self, change: &Change, row: usize) -> Option<Arc<str>> {
        match (change, &self.key) {
            (Change::Property { name, .. }, _) => Some(name.clone()),
            (Change::Element { .. }, Some(key)) => match key.value(row) {
                Value::String(name) => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    fn apply(&self, change: &Change, row: usize, rt: &QueryContext) -> Result<()> {
        let labels = matches!(
            change,
            Change::AddLabels { .. } | Change::RemoveLabels { .. }
        );
        let entity = Entity::of(&self.target.get(row)).map_err(|error| match error {
            ExecError::Type { message } if !labels => ExecError::Argument { message },
            other => other,
        });
        let Some(entity) = entity? else {
            return Ok(());
        };
        let value = || match &self.value {
            Some(column) => column.value(row),
            None => Value::Null,
        };
        match change {
            Change::Property { key, name, .. } => set(entity, *key, name, &value(), rt),
            Change::Element { .. } => {
                let key = self.key.as_ref().map_or(Value::Null, |c| c.value(row));
                match key {
                    Value::String(name) => {
                        let value = value();
                        let key = match value.is_null() {
                            true => rt.key_id(&name),
                            false => Some(rt.writer()?.key(&name)?),
                        };
                        set(entity, key, &name, &value, rt)
                    }
                    other => Err(ExecError::Type {
                        message: told!("a property key is a String, this is {}", other.type_name()),
                    }),
                }
            }
            Change::Properties { keep, .. } => set_all(entity, &value(), *keep, rt),
            Change::AddLabels { labels, .. } => {
                let node = labelled(entity)?;
                let writer = rt.writer()?;
                let computed = self.labels(row)?;
                let computed = computed.iter().map(|name| writer.label(name));
                for label in labels.iter().map(|l| Ok(*l)).chain(computed) {
                    let added = writer.transaction().add_label(node, label?);
                    added.map_err(|error| gone(error, entity))?;
                }
                Ok(())
            }
            Change::RemoveLabels { labels, .. } => {
                let node = labelled(entity)?;
                let computed = self.labels(row)?;
                let names = labels.iter().chain(&computed);
                for label in names.filter_map(|name| rt.label_id(name)) {
                    let removed = rt.writer()?.transaction().remove_label(node, label);
                    removed.map_err(|error| gone(error, entity))?;
                }
                Ok(())
            }
        }
    }

    /// Names of computed labels.
    fn labels(&self, row: usize) -> Result<Vec<Arc<str>>> {
        let mut names = Vec::new();
        for column in &self.labels {
            names.extend(computed_names(&column.get(row))?);
        }
        Ok(names)
    }
}

fn labelled(entity: Entity) -> Result<graven_storage::NodeId> {
    match entity {
        Entity::Node(id) => Ok(id),
        Entity::Relationship(_) => Err(ExecError::Type {
            message: "a relationship has a type, which cannot be changed, and no labels".to_owned(),
        }),
    }
}

fn set(
    entity: Entity,
    key: Option<KeyId>,
    name: &str,
    value: &Value,
    rt: &QueryContext,
) -> Result<()> {
    let stored = storable(value, name)?;
    // What is removed may have come to be a name since the statement began, by another of its
    // clauses.
    match rt.key_by_now(key, name) {
        Some(key) => rt.writer()?.set(entity, key, &stored),
        // No node or relationship has such a property.
        None => Ok(()),
    }
}

/// `=` or `+=` with a map, a node or a relationship.
fn set_all(entity: Entity, value: &Value, keep: bool, rt: &QueryContext) -> Result<()> {
    let Some(entries) = rt.property_entries(value)? else {
        return Err(ExecError::Type {
            message: "the new properties are null: a Map, Node or Relationship is needed, and \
                `coalesce(..., {})` gives an empty one"
                .to_owned(),
        });
    };
    if !keep {
        return replace(entity, &entries, rt);
    }
    add(entity, &entries, rt)
}

fn replace(entity: Entity, entries: &[(Arc<str>, Value)], rt: &QueryContext) -> Result<()> {
    let old = match entity {
        Entity::Node(id) => rt.all_node_properties(id.0)?,
        Entity::Relationship(id) => rt.all_relationship_properties(id.0)?,
    };
    for (name, _) in old {
        let stays = entries.iter().any(|(new, _)| *new == name);
        if !stays && let Some(key) = rt.key_id(&name) {
            rt.writer()?.set(entity, key, &PropertyValue::Null)?;
        }
    }
    add(entity, entries, rt)
}

fn add(entity: Entity, entries: &[(Arc<str>, Value)], rt: &QueryContext) -> Result<()> {
    let writer = rt.writer()?;
    let before = writer.transaction().counters().properties_set;
    for (name, value) in entries {
        let key = match value.is_null() {
            true => rt.key_id(name),
            false => Some(writer.key(name)?),
        };
        set(entity, key, name, value, rt)?;
    }
    // Each entry of a map counts, also one that takes away what is not there.
    let counted = before + entries.len() as u64;
    writer.transaction().count_properties(counted);
    Ok(())
}

/// See the file header.
pub(crate) struct Set {
    input: BoxedOperator,
    items: Arc<Items>,
}

impl Set {
    /// Does the items for each row of `input`.
    pub(crate) fn new(input: BoxedOperator, items: Arc<Items>) -> Self {
        Self { input, items }
    }
}

impl PhysicalOperator for Set {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        rt.check_cancelled()?;
        self.items.apply(&batch, rt)?;
        Ok(Some(batch))
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}
