//! Values of the library as values of JavaScript.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use graven::{ColumnSlice, Node, PropertyValue, Relationship, Rows, Value};
use graven_temporal::{Kind, text};
use graven_types::vector::Number;
use napi::Result;

use crate::js::{Any, Js};
use crate::temporal;

/// The largest integer that a number of JavaScript says exactly, with all smaller ones.
const SAFE_MAX: i64 = (1 << 53) - 1;

/// Makes values of JavaScript within one call.
pub(crate) struct Writer {
    js: Js,
    /// Each integer is a BigInt.
    bigints: bool,
    null: Any,
    node: Any,
    relationship: Any,
    path: Any,
    moment: Any,
    temporal: Any,
    duration: Any,
    point: Any,
}

impl Writer {
    /// `makers` has the functions of `values.js` that make objects of its classes.
    pub(crate) fn new(js: Js, makers: Any, bigints: bool) -> Result<Writer> {
        Ok(Writer {
            js,
            bigints,
            null: js.null()?,
            node: js.named(makers, "node")?,
            relationship: js.named(makers, "relationship")?,
            path: js.named(makers, "path")?,
            moment: js.named(makers, "moment")?,
            temporal: js.named(makers, "temporal")?,
            duration: js.named(makers, "duration")?,
            point: js.named(makers, "point")?,
        })
    }

    /// Adds rows as objects to an array, from place `at` on.
    pub(crate) fn rows(
        &self,
        array: Any,
        at: usize,
        names: &[(&str, Any)],
        (rows, range): (&Rows, Range<usize>),
    ) -> Result<()> {
        for (at, row) in (at..).zip(range) {
            self.js.within(|| {
                let object = self.js.object()?;
                for (column, name) in names.iter().enumerate() {
                    self.js.set(object, *name, self.item(rows, row, column)?)?;
                }
                self.js.set_item(array, at, object)
            })?;
        }
        Ok(())
    }

    fn item(&self, rows: &Rows, row: usize, column: usize) -> Result<Any> {
        match rows.column(column) {
            Some(ColumnSlice::Integers(v)) => self.integer(v[row]),
            Some(ColumnSlice::Floats(v)) => self.js.number(v[row]),
            Some(ColumnSlice::Booleans(v)) => self.js.boolean(v[row]),
            Some(ColumnSlice::Values(v)) => self.value(&v[row]),
            _ => self.value(&rows.value(row, column).unwrap_or_default()),
        }
    }

    fn integer(&self, i: i64) -> Result<Any> {
        match self.bigints || !(-SAFE_MAX..=SAFE_MAX).contains(&i) {
            true => self.js.bigint(i),
            false => self.js.number(i as f64),
        }
    }

    fn value(&self, value: &Value) -> Result<Any> {
        match value {
            Value::Null => Ok(self.null),
            Value::Boolean(b) => self.js.boolean(*b),
            Value::Integer(i) => self.integer(*i),
            Value::Float(x) => self.js.number(*x),
            Value::String(text) => self.js.string(text),
            Value::Bytes(bytes) => self.js.buffer(bytes),
            Value::List(items) => self.list(items.iter().map(|item| self.value(item))),
            Value::Map(entries) => self.map(entries),
            Value::Node(node) => self.node(node),
            Value::Relationship(relationship) => self.relationship(relationship),
            Value::Path(path) => {
                let nodes = self.list(path.nodes.iter().map(|it| self.node(it)))?;
                let steps = path.relationships.iter();
                let steps = self.list(steps.map(|it| self.relationship(it)))?;
                self.js.call(self.path, &[nodes, steps])
            }
            Value::Stored(stored) => self.stored(stored),
            other => self.js.string(&other.to_string()),
        }
    }

    fn list(&self, items: impl ExactSizeIterator<Item = Result<Any>>) -> Result<Any> {
        let array = self.js.array(items.len())?;
        for (at, item) in items.enumerate() {
            self.js.set_item(array, at, item?)?;
        }
        Ok(array)
    }

    fn map(&self, entries: &BTreeMap<Arc<str>, Value>) -> Result<Any> {
        let object = self.js.object()?;
        for (key, value) in entries {
            let name = (&**key, self.js.string(key)?);
            self.js.set(object, name, self.value(value)?)?;
        }
        Ok(object)
    }

    fn id(&self, id: u64) -> Result<Any> {
        // Ids are dense: no file has 2^53 of them.
        self.js.number(id as f64)
    }

    fn node(&self, node: &Node) -> Result<Any> {
        let labels = node.labels.iter().map(|label| self.js.string(label));
        let labels = self.list(labels)?;
        let properties = self.map(&node.properties)?;
        self.js
            .call(self.node, &[self.id(node.id)?, labels, properties])
    }

    fn relationship(&self, it: &Relationship) -> Result<Any> {
        let parts = [
            self.id(it.id)?,
            self.js.string(&it.rel_type)?,
            self.id(it.start)?,
            self.id(it.end)?,
            self.map(&it.properties)?,
        ];
        self.js.call(self.relationship, &parts)
    }

    fn stored(&self, value: &PropertyValue) -> Result<Any> {
        let js = self.js;
        if let Some(it) = temporal::moment(value) {
            let zone = it.zone.map_or(Ok(self.null), |zone| js.string(&zone))?;
            let parts = [
                js.string(it.kind.name())?,
                js.number(it.milliseconds as f64)?,
                js.number(f64::from(it.nanoseconds))?,
                zone,
                js.number(f64::from(it.offset))?,
            ];
            return js.call(self.moment, &parts);
        }
        match value {
            PropertyValue::Duration(it) => {
                let parts = [
                    self.integer(it.months)?,
                    self.integer(it.days)?,
                    self.integer(it.seconds)?,
                    js.number(f64::from(it.nanoseconds))?,
                ];
                js.call(self.duration, &parts)
            }
            PropertyValue::Point(it) => {
                let z = it.z.map_or(Ok(self.null), |z| js.number(z))?;
                let parts = [
                    js.number(f64::from(it.srid))?,
                    js.number(it.x)?,
                    js.number(it.y)?,
                    z,
                ];
                js.call(self.point, &parts)
            }
            PropertyValue::Vector(it) => self.list(it.numbers().map(|number| match number {
                Number::Integer(integer) => self.integer(integer),
                Number::Float(float) => js.number(float),
            })),
            other => {
                let written = text::write(other).unwrap_or_else(|| format!("{other:?}"));
                let kind = Kind::of(other).map_or("", Kind::name);
                js.call(self.temporal, &[js.string(kind)?, js.string(&written)?])
            }
        }
    }
}
