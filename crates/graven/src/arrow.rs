//! Results as a stream of Arrow's batches: what programs in other languages read without an object
//! for each value.
//!
//! # How it works
//! An Arrow column has one type, and a column of a statement has none before its last row is
//! there. So the statement runs to its end first, and its rows are kept, charged to the budget.
//! Then the type of each column is what all its values have in common
//! ([`Shape`](graven_files::Shape)); batches are made as they are asked for, and each part of the
//! rows is let go with its batch.
//!
//! Nodes, relationships and paths are structs with the names that the Python package has: `_id`,
//! `_label`, `_labels`, `_src`, `_dst`, `_nodes`, `_rels` beside the properties. All nodes of a
//! column have the properties of any of them, so that they are of one type: absent ones are null.
//!
//! # Invariants
//! * AW-1 No value is changed on the way: a column of values without a common type is text with
//!   literals of the language, and its field says so.
//!
//! # Cost
//! All rows that are left, and the largest batch besides; both are charged before the first batch
//! is made. The memory limit holds for rows of this process;
//! rows of another process are outside of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use graven_files::{ArrowRows, Datum, Kind, RecordBatchReader, Shape};
use graven_storage::PropertyValue;

use crate::error::Error;
use crate::query_result::QueryResult;
use crate::rows::{ColumnSlice, Rows};
use crate::value::{Node, Relationship, Value};

/// Keys of properties that the nodes and the relationships of a column have.
#[derive(Default)]
struct Keys {
    nodes: BTreeSet<Arc<str>>,
    relationships: BTreeSet<Arc<str>>,
}

impl Keys {
    fn see(&mut self, value: &Value) {
        match value {
            Value::List(items) => items.iter().for_each(|item| self.see(item)),
            Value::Map(entries) => entries.values().for_each(|item| self.see(item)),
            Value::Node(node) => self.see_node(node),
            Value::Relationship(relationship) => self.see_relationship(relationship),
            Value::Path(path) => {
                path.nodes.iter().for_each(|it| self.see_node(it));
                let relationships = path.relationships.iter();
                relationships.for_each(|it| self.see_relationship(it));
            }
            _ => {}
        }
    }

    fn see_node(&mut self, node: &Node) {
        let new = node.properties.keys();
        let new = new.filter(|key| !self.nodes.contains(*key)).cloned();
        let new: Vec<_> = new.collect();
        self.nodes.extend(new);
    }

    fn see_relationship(&mut self, relationship: &Relationship) {
        let new = relationship.properties.keys();
        let new = new.filter(|key| !self.relationships.contains(*key));
        let new: Vec<_> = new.cloned().collect();
        self.relationships.extend(new);
    }

    fn datum(&self, value: &Value) -> Datum {
        let plain = |value| Datum::Value(value);
        match value {
            Value::Null => Datum::NULL,
            Value::Boolean(b) => plain(PropertyValue::Boolean(*b)),
            Value::Integer(i) => plain(PropertyValue::Integer(*i)),
            Value::Float(x) => plain(PropertyValue::Float(*x)),
            Value::String(text) => plain(PropertyValue::String(Arc::clone(text))),
            Value::Bytes(bytes) => plain(PropertyValue::Bytes(Arc::clone(bytes))),
            Value::Stored(stored) => plain((**stored).clone()),
            Value::List(items) => Datum::list(items.iter().map(|it| self.datum(it)).collect()),
            Value::Map(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(key, it)| (Arc::clone(key), self.datum(it)));
                Datum::Map(entries.collect())
            }
            Value::Node(node) => self.node(node),
            Value::Relationship(relationship) => self.relationship(relationship),
            Value::Path(path) => {
                let nodes = path.nodes.iter().map(|it| self.node(it)).collect();
                let relationships = path.relationships.iter().map(|it| self.relationship(it));
                Datum::Map(vec![
                    ("_nodes".into(), Datum::list(nodes)),
                    ("_rels".into(), Datum::list(relationships.collect())),
                ])
            }
        }
    }

    fn node(&self, node: &Node) -> Datum {
        let labels: Vec<Datum> = node.labels.iter().map(|it| Datum::text(it)).collect();
        let label = node.labels.join(":");
        let mut entries = vec![
            ("_id".into(), id(node.id)),
            ("_label".into(), Datum::text(&label)),
            ("_labels".into(), Datum::list(labels)),
        ];
        let properties = self.nodes.iter();
        entries.extend(properties.map(|key| self.property(key, node.properties.get(key))));
        Datum::Map(entries)
    }

    fn relationship(&self, relationship: &Relationship) -> Datum {
        let mut entries = vec![
            ("_id".into(), id(relationship.id)),
            ("_label".into(), Datum::text(&relationship.rel_type)),
            ("_src".into(), id(relationship.start)),
            ("_dst".into(), id(relationship.end)),
        ];
        let properties = self.relationships.iter();
        entries.extend(properties.map(|key| self.property(key, relationship.properties.get(key))));
        Datum::Map(entries)
    }

    fn property(&self, key: &Arc<str>, value: Option<&Value>) -> (Arc<str>, Datum) {
        let value = value.map_or(Datum::NULL, |value| self.datum(value));
        (Arc::clone(key), value)
    }
}

fn id(id: u64) -> Datum {
    Datum::Value(PropertyValue::Integer(id.cast_signed()))
}

/// The values of a column, one after another.
fn each(rows: &Rows, column: usize, mut see: impl FnMut(&Value)) {
    match rows.column(column) {
        Some(ColumnSlice::Values(values)) => values.iter().for_each(see),
        _ => {
            for row in 0..rows.len() {
                see(&rows.value(row, column).unwrap_or_default());
            }
        }
    }
}

/// Bytes that the rows take, about.
fn bytes(rows: &Rows) -> usize {
    let column = |column| match rows.column(column) {
        Some(ColumnSlice::Values(values)) => values.iter().map(Value::bytes).sum(),
        _ => rows.len() * 8,
    };
    (0..rows.names().len()).map(column).sum()
}

/// Bytes that the rows take as a batch, about; a null among vectors takes as much as one of them.
fn batch_bytes(rows: &Rows, columns: &[(&Keys, Kind)]) -> usize {
    let mut taken = bytes(rows);
    for (column, (keys, kind)) in columns.iter().enumerate() {
        if kind.has_vectors() {
            each(rows, column, |value| {
                taken = taken.saturating_add(kind.bytes_of_nulls(&keys.datum(value)));
            });
        }
    }
    taken
}

impl QueryResult {
    /// The rows that are left as a stream of Arrow's batches. Runs the statement to its end: a
    /// column's type is what all of its values have in common. `graven_files::ffi_stream` hands
    /// the stream to other languages.
    ///
    /// # Errors
    /// As [`QueryResult::next_row`]; `Memory.Limit` where the rows do not fit.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// let result = db.connect().query("MATCH (p:Person) RETURN p.name AS name", &graven::Params::new())?;
    /// for batch in result.into_arrow()? {
    ///     println!("{:?}", batch.map(|batch| batch.num_rows()));
    /// }
    /// # Ok::<(), graven::Error>(())
    /// ```
    pub fn into_arrow(self) -> Result<Box<dyn RecordBatchReader + Send>, Error> {
        self.into_arrow_after(Vec::new())
    }

    /// As [`QueryResult::into_arrow`], with rows of this result that were read before.
    ///
    /// # Errors
    /// As [`QueryResult::into_arrow`].
    pub fn into_arrow_after(
        mut self,
        read: Vec<Rows>,
    ) -> Result<Box<dyn RecordBatchReader + Send>, Error> {
        let names = self.columns().to_vec();
        let budget = self.budget();
        let mut memory = budget.map(|budget| budget.empty_reservation("result"));
        let mut parts = Vec::new();
        let mut read = read.into_iter();
        loop {
            let rows = match read.next() {
                Some(rows) => Some(rows),
                None => self.next_rows()?,
            };
            let Some(rows) = rows else { break };
            if let Some(memory) = &mut memory {
                memory
                    .grow(bytes(&rows) as u64)
                    .map_err(Error::of_kept_rows)?;
            }
            parts.push(rows);
        }
        let mut columns = Vec::with_capacity(names.len());
        let mut keys = Vec::with_capacity(names.len());
        for (column, name) in names.into_iter().enumerate() {
            let (mut of, mut shape) = (Keys::default(), Shape::default());
            for rows in &parts {
                each(rows, column, |value| of.see(value));
            }
            for rows in &parts {
                each(rows, column, |value| shape.see(&of.datum(value)));
            }
            columns.push((name, shape));
            keys.push(of);
        }
        if let Some(memory) = &mut memory {
            let columns: Vec<(&Keys, Kind)> = (keys.iter().zip(&columns))
                .map(|(keys, (_, shape))| (keys, shape.kind()))
                .collect();
            let batches = parts.iter().map(|rows| batch_bytes(rows, &columns) as u64);
            memory
                .grow(batches.max().unwrap_or(0))
                .map_err(Error::of_kept_rows)?;
        }
        let parts = parts.into_iter().map(move |rows| {
            let values = keys.iter().enumerate().map(|(column, keys)| {
                let mut values = Vec::with_capacity(rows.len());
                each(&rows, column, |value| values.push(keys.datum(value)));
                values
            });
            let values: Vec<Vec<Datum>> = values.collect();
            if let Some(memory) = &mut memory {
                memory.shrink((bytes(&rows) as u64).min(memory.bytes()));
            }
            values
        });
        Ok(Box::new(ArrowRows::new(columns, parts)))
    }
}
