//! The nodes and relationships that one row creates: compiled once, created row by row, or of all
//! rows at once where each creates one.

use std::borrow::Cow;
use std::sync::Arc;

use graven_cypher::Span;
use graven_cypher::plan::{self, Expr, VarId};
use graven_storage::{KeyId, LabelId, NodeId, PropertyValue, RelId, TypeId};
use graven_types::told;

use crate::batch::Batch;
use crate::column::{Column, NULL_ID};
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Compiler, Rows};
use crate::growth::Held;
use crate::layout::Layout;
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::writing::{Entity, computed_names, deleted, gone, storable};

/// Values of all rows for each key.
type Columns = Vec<(KeyId, Vec<PropertyValue>)>;
/// A key, its name and an expression.
type Entry = (KeyId, Arc<str>, Compiled);

/// Properties of something to create.
enum Properties {
    /// Keys of the text with an expression each.
    Entries(Vec<Entry>),
    /// A computed map.
    Map(Compiled),
}

/// Values of [`Properties`] for the rows of a batch.
enum Computed {
    /// A column of each entry that is not the same for all rows; none at all if all of them are.
    Entries(Vec<Option<Arc<Column>>>),
    Map(Arc<Column>),
}

struct Node {
    var: VarId,
    labels: Vec<LabelId>,
    /// What gives further labels.
    computed: Vec<Compiled>,
    properties: Properties,
    at: Span,
}

enum RelType {
    Named(TypeId, Arc<str>),
    Computed(Compiled),
}

struct Relationship {
    var: VarId,
    rel_type: RelType,
    start: End,
    end: End,
    properties: Properties,
    at: Span,
}

/// Where an end of a new relationship comes from.
#[derive(Clone, Copy)]
enum End {
    /// The i-th node of the creation.
    Created(usize),
    /// A column of the row.
    Column(usize),
}

/// See the file header.
pub(crate) struct Creation {
    nodes: Vec<Node>,
    relationships: Vec<Relationship>,
}

/// Values for the rows of a batch, in the order of the creation's nodes and relationships.
pub(crate) struct Prepared(Vec<Part>);

/// Of one node or relationship.
struct Part {
    properties: Computed,
    /// Names of labels and types, as many columns as there are expressions.
    names: Vec<Arc<Column>>,
}

/// What one row created.
#[derive(Default)]
pub(crate) struct Created {
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) relationships: Vec<RelId>,
}

impl Created {
    /// Forgets what it was and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.relationships.clear();
    }
}

/// What all rows of a batch have created: ids, a list for each node and relationship of the
/// pattern.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) nodes: Vec<Vec<u64>>,
    pub(crate) relationships: Vec<Vec<u64>>,
}

impl Made {
    fn nodes(ids: Vec<u64>) -> Self {
        Self {
            nodes: vec![ids],
            relationships: Vec::new(),
        }
    }

    fn relationships(ids: Vec<u64>) -> Self {
        Self {
            nodes: Vec::new(),
            relationships: vec![ids],
        }
    }

    /// Adds what one row created.
    pub(crate) fn add(&mut self, created: &Created) {
        self.nodes.resize_with(created.nodes.len(), Vec::new);
        (self.relationships).resize_with(created.relationships.len(), Vec::new);
        for (column, id) in self.nodes.iter_mut().zip(&created.nodes) {
            column.push(id.0);
        }
        for (column, id) in self.relationships.iter_mut().zip(&created.relationships) {
            column.push(id.0);
        }
    }

    /// Adds what further rows created.
    pub(crate) fn append(&mut self, more: Made) {
        let both = [
            (&mut self.nodes, more.nodes),
            (&mut self.relationships, more.relationships),
        ];
        for (columns, more) in both {
            columns.resize_with(more.len(), Vec::new);
            let columns = columns.iter_mut().zip(more);
            columns.for_each(|(column, more)| column.extend(more));
        }
    }
}

impl Creation {
    /// Compiles against the rows of `layout`.
    ///
    /// # Errors
    /// A variable that is not produced below; names that cannot be interned.
    pub(crate) fn new(
        creation: &plan::Creation,
        layout: &Layout,
        rt: &QueryContext,
    ) -> Result<Self> {
        let compile = |exprs: &[Expr]| -> Result<Vec<Compiled>> {
            let exprs = exprs.iter();
            exprs
                .map(|e| Compiler::new(layout, rt).compile(e))
                .collect()
        };
        let mut nodes = Vec::with_capacity(creation.nodes.len());
        for node in &creation.nodes {
            let labels = node.labels.iter().map(|l| rt.written_label(l));
            nodes.push(Node {
                var: node.var,
                labels: labels.collect::<Result<_>>()?,
                computed: compile(&node.computed)?,
                properties: Properties::new(node.properties.as_ref(), layout, rt)?,
                at: node.at,
            });
        }
        let end = |var: VarId| match creation.nodes.iter().position(|n| n.var == var) {
            Some(at) => Ok(End::Created(at)),
            None => layout
                .slot(var)
                .map(End::Column)
                .ok_or_else(|| ExecError::Plan {
                    message: told!("variable {} is not produced below its use (CY-1)", var.0),
                }),
        };
        let mut relationships = Vec::with_capacity(creation.relationships.len());
        for relationship in &creation.relationships {
            relationships.push(Relationship {
                var: relationship.var,
                rel_type: match &relationship.rel_type {
                    plan::RelType::Named(name) => {
                        RelType::Named(rt.written_type(name)?, name.clone())
                    }
                    plan::RelType::Computed(name) => {
                        RelType::Computed(Compiler::new(layout, rt).compile(name)?)
                    }
                },
                start: end(relationship.start)?,
                end: end(relationship.end)?,
                properties: Properties::new(relationship.properties.as_ref(), layout, rt)?,
                at: relationship.at,
            });
        }
        Ok(Self {
            nodes,
            relationships,
        })
    }

    /// Variables bound, nodes first.
    pub(crate) fn variables(&self) -> impl Iterator<Item = VarId> {
        let nodes = self.nodes.iter().map(|n| n.var);
        nodes.chain(self.relationships.iter().map(|r| r.var))
    }

    /// Computes properties and names for all rows of a batch, charged while `held` lives.
    pub(crate) fn prepare(
        &self,
        batch: &Batch,
        held: &Held,
        rt: &QueryContext,
    ) -> Result<Prepared> {
        let column = |e: &Compiled| e.column_for(held, Rows::all(batch), rt);
        let mut parts = Vec::with_capacity(self.nodes.len() + self.relationships.len());
        for node in &self.nodes {
            parts.push(Part {
                properties: node.properties.compute(batch, held, rt)?,
                names: node.computed.iter().map(column).collect::<Result<_>>()?,
            });
        }
        for relationship in &self.relationships {
            let name = match &relationship.rel_type {
                RelType::Named(..) => None,
                RelType::Computed(name) => Some(column(name)?),
            };
            parts.push(Part {
                properties: relationship.properties.compute(batch, held, rt)?,
                names: Vec::from_iter(name),
            });
        }
        Ok(Prepared(parts))
    }

    /// Creates what all rows of the batch are to create, where that is one node or one relationship
    /// a row, with properties named in the text. Their ids.
    pub(crate) fn create_all(
        &self,
        batch: &Batch,
        prepared: &Prepared,
        rt: &QueryContext,
    ) -> Result<Option<Made>> {
        let [part] = &prepared.0[..] else {
            return Ok(None);
        };
        match (&*self.nodes, &*self.relationships) {
            ([node], []) if node.computed.is_empty() => {
                let values = node.properties.all(&part.properties, batch.len(), rt);
                let Some(values) = values.map_err(|error| error.at(node.at))? else {
                    return Ok(None);
                };
                let transaction = rt.writer()?.transaction();
                let nodes = transaction.create_nodes(&node.labels, batch.len(), values)?;
                Ok(Some(Made::nodes(nodes)))
            }
            ([], [relationship]) => relationship.create_all(batch, &part.properties, rt),
            _ => Ok(None),
        }
    }

    /// Creates what one row of the batch is to create, and adds it to `created`, which is empty.
    pub(crate) fn create(
        &self,
        batch: &Batch,
        prepared: &Prepared,
        row: usize,
        rt: &QueryContext,
        created: &mut Created,
    ) -> Result<()> {
        let transaction = rt.writer()?.transaction();
        let mut parts = prepared.0.iter();
        for node in &self.nodes {
            let part = parts.next().expect("one for each");
            let placed = |error: ExecError| error.at(node.at);
            let properties = node.properties.row(&part.properties, row, rt);
            let properties = properties.map_err(placed)?;
            let labels = node.labels(&part.names, row, rt).map_err(placed)?;
            created
                .nodes
                .push(transaction.create_node(&labels, &properties)?);
        }
        for relationship in &self.relationships {
            let part = parts.next().expect("one for each");
            let placed = |error: ExecError| error.at(relationship.at);
            let properties = relationship.properties.row(&part.properties, row, rt);
            let properties = properties.map_err(placed)?;
            let rel_type = relationship.rel_type.of_row(&part.names, row, rt);
            let (rel_type, type_name) = rel_type.map_err(placed)?;
            let end = |end: End, which: &str| match end {
                End::Created(at) => Ok(created.nodes[at]),
                End::Column(slot) => match &*batch.column(slot).get(row) {
                    Value::Node(id) => Ok(*id),
                    Value::Null => Err(ExecError::Argument {
                        message: told!(
                            "the {which} of the new relationship :{type_name} is missing: its \
                                variable is null"
                        ),
                    }),
                    other => Err(ExecError::Type {
                        message: told!(
                            "the {which} of the new relationship :{} is {}, not a Node",
                            type_name,
                            other.type_name()
                        ),
                    }),
                },
            };
            let start = end(relationship.start, "start").map_err(placed)?;
            let end = end(relationship.end, "end").map_err(placed)?;
            let id = transaction
                .create_relationship(start, rel_type, end, &properties)
                .map_err(|error| placed(gone(error, Entity::Node(start))))?;
            created.relationships.push(id);
        }
        Ok(())
    }

    /// The first property of a row that is null or NaN, of those named in the text, and where what
    /// has it stands there.
    pub(crate) fn null_property(
        &self,
        prepared: &Prepared,
        row: usize,
        rt: &QueryContext,
    ) -> Option<(Arc<str>, Span)> {
        let nodes = self.nodes.iter().map(|n| (&n.properties, n.at));
        let relationships = self.relationships.iter().map(|r| (&r.properties, r.at));
        for ((properties, at), part) in nodes.chain(relationships).zip(&prepared.0) {
            if let (Properties::Entries(entries), Computed::Entries(columns)) =
                (properties, &part.properties)
            {
                let is_nothing = |value: &Value| {
                    value.is_null() || matches!(value, Value::Float(x) if x.is_nan())
                };
                let equals_nothing = |(entry, column): &(&Entry, Option<&Column>)| match column {
                    Some(column) => is_nothing(&column.get(row)),
                    None => known(&entry.2, rt).is_ok_and(is_nothing),
                };
                if let Some((entry, _)) = with_columns(entries, columns).find(equals_nothing) {
                    return Some((entry.1.clone(), at));
                }
            }
        }
        None
    }
}

impl Relationship {
    /// See [`Creation::create_all`]; not where an end is missing, for the error names its row.
    fn create_all(
        &self,
        batch: &Batch,
        properties: &Computed,
        rt: &QueryContext,
    ) -> Result<Option<Made>> {
        let nodes = |end: End| match end {
            End::Column(slot) => match &**batch.column(slot) {
                Column::Nodes(ids) => Some(&ids[..batch.len()]),
                _ => None,
            },
            End::Created(_) => None,
        };
        let (RelType::Named(rel_type, _), Some(starts), Some(ends)) =
            (&self.rel_type, nodes(self.start), nodes(self.end))
        else {
            return Ok(None);
        };
        if starts.contains(&NULL_ID) || ends.contains(&NULL_ID) {
            return Ok(None);
        }
        let placed = |error: ExecError| error.at(self.at);
        let values = self.properties.all(properties, batch.len(), rt);
        let Some(values) = values.map_err(placed)? else {
            return Ok(None);
        };
        let both = starts.iter().zip(ends);
        let both: Vec<_> = both
            .map(|(start, end)| (NodeId(*start), NodeId(*end)))
            .collect();
        let transaction = rt.writer()?.transaction();
        let created = transaction.create_relationships(*rel_type, &both, values);
        let created = created.map_err(|error| match error {
            graven_storage::Error::NoSuchNode { node, .. } => {
                placed(deleted(Entity::Node(NodeId(node))))
            }
            other => placed(other.into()),
        })?;
        Ok(Some(Made::relationships(created)))
    }
}

impl Node {
    /// All labels of the node of one row.
    fn labels(
        &self,
        names: &[Arc<Column>],
        row: usize,
        rt: &QueryContext,
    ) -> Result<Cow<'_, [LabelId]>> {
        let mut labels = Cow::Borrowed(&self.labels[..]);
        for column in names {
            for name in computed_names(&column.get(row))? {
                let label = rt.writer()?.label(&name)?;
                if !labels.contains(&label) {
                    labels.to_mut().push(label);
                }
            }
        }
        Ok(labels)
    }
}

impl RelType {
    /// The type of the relationship of one row, and its name.
    fn of_row(
        &self,
        names: &[Arc<Column>],
        row: usize,
        rt: &QueryContext,
    ) -> Result<(TypeId, Arc<str>)> {
        if let RelType::Named(id, name) = self {
            return Ok((*id, name.clone()));
        }
        let mut found = computed_names(&names[0].get(row))?;
        match (found.pop(), found.is_empty()) {
            (Some(name), true) => Ok((rt.writer()?.rel_type(&name, &rt.snapshot)?, name)),
            _ => Err(ExecError::Argument {
                message: told!(
                    "a relationship has exactly one type, this is a list of {}",
                    computed_names(&names[0].get(row))?.len()
                ),
            }),
        }
    }
}

/// The entries with the columns that were computed of them.
fn with_columns<'a>(
    entries: &'a [Entry],
    columns: &'a [Option<Arc<Column>>],
) -> impl Iterator<Item = (&'a Entry, Option<&'a Column>)> {
    let column = |at: usize| columns.get(at).and_then(Option::as_deref);
    let entries = entries.iter().enumerate();
    entries.map(move |(at, entry)| (entry, column(at)))
}

/// The value of an entry without a column.
fn known<'a>(expr: &'a Compiled, rt: &'a QueryContext) -> Result<&'a Value> {
    let known = expr.known(rt)?;
    Ok(known.expect("other expressions have columns"))
}

/// The first `rows` values of a column as the property `name` holds them.
fn storable_column(column: &Column, rows: usize, name: &str) -> Result<Vec<PropertyValue>> {
    match column {
        Column::Integers(values) => {
            let values = values[..rows].iter().copied();
            Ok(values.map(PropertyValue::Integer).collect())
        }
        Column::Constant(value, _) => Ok(vec![storable(value, name)?; rows]),
        column => (0..rows)
            .map(|row| storable(&column.get(row), name))
            .collect(),
    }
}

impl Properties {
    fn new(expr: Option<&Expr>, layout: &Layout, rt: &QueryContext) -> Result<Self> {
        let entries = match expr {
            None => return Ok(Self::Entries(Vec::new())),
            Some(Expr::Map(entries)) => entries,
            Some(other) => return Ok(Self::Map(Compiler::new(layout, rt).compile(other)?)),
        };
        let mut compiled: Vec<Entry> = Vec::with_capacity(entries.len());
        for (name, expr) in entries {
            let value = Compiler::new(layout, rt).compile(expr)?;
            // Of two entries with one key the later wins.
            compiled.retain(|(_, known, _)| known != name);
            compiled.push((rt.written_key(name)?, name.clone(), value));
        }
        Ok(Self::Entries(compiled))
    }

    fn compute(&self, batch: &Batch, held: &Held, rt: &QueryContext) -> Result<Computed> {
        Ok(match self {
            Self::Entries(entries) => {
                let mut columns = Vec::new();
                for (at, (_, _, value)) in entries.iter().enumerate() {
                    if !value.is_known() {
                        columns.resize(entries.len(), None);
                        columns[at] = Some(value.column_for(held, Rows::all(batch), rt)?);
                    }
                }
                Computed::Entries(columns)
            }
            Self::Map(map) => Computed::Map(map.column_for(held, Rows::all(batch), rt)?),
        })
    }

    /// The properties of so many rows by column, if they are named in the text.
    fn all(&self, computed: &Computed, rows: usize, rt: &QueryContext) -> Result<Option<Columns>> {
        let (Self::Entries(entries), Computed::Entries(columns)) = (self, computed) else {
            return Ok(None);
        };
        let mut values = Vec::with_capacity(entries.len());
        for ((key, name, expr), column) in with_columns(entries, columns) {
            let column = match column {
                Some(column) => storable_column(column, rows, name)?,
                None => vec![storable(known(expr, rt)?, name)?; rows],
            };
            values.push((*key, column));
        }
        Ok(Some(values))
    }

    /// The properties of one row, nulls left out.
    fn row(
        &self,
        computed: &Computed,
        row: usize,
        rt: &QueryContext,
    ) -> Result<Vec<(KeyId, PropertyValue)>> {
        let mut found = Vec::new();
        match (self, computed) {
            (Self::Entries(entries), Computed::Entries(columns)) => {
                found.reserve_exact(entries.len());
                for ((key, name, expr), column) in with_columns(entries, columns) {
                    let value = match column {
                        Some(column) => column.get(row),
                        None => Cow::Borrowed(known(expr, rt)?),
                    };
                    if !value.is_null() {
                        found.push((*key, storable(&value, name)?));
                    }
                }
            }
            (_, Computed::Map(column)) => {
                let Some(entries) = rt.property_entries(&column.get(row))? else {
                    let message = "the properties of something new are a Map, this is null";
                    return Err(ExecError::Type {
                        message: message.to_owned(),
                    });
                };
                for (name, value) in &entries {
                    if !value.is_null() {
                        found.push((rt.writer()?.key(name)?, storable(value, name)?));
                    }
                }
            }
            _ => unreachable!("computed from these properties"),
        }
        Ok(found)
    }
}
