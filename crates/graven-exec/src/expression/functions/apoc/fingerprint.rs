//! `apoc.hashing.fingerprint`, and `hash` of Kuzu: a hash of what a value holds.
//!
//! # How it works
//! Labels and keys go in sorted, lists and paths in their order, and no ids. The hash is equal for
//! equal values in any database of Graven; it is not the one that APOC gives.

use std::sync::Arc;

use md5::{Digest as _, Md5};

use super::{key, list};
use crate::error::Result;
use crate::expression::signature::Function;
use crate::growth::work;
use crate::query_context::QueryContext;
use crate::value::{Map, Value};

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.hashing.fingerprint", (1, 2), fingerprint),
    Function {
        name: "graven.hash",
        arity: (1, 1),
        body: hash,
    },
];

/// What of a value goes into its fingerprint.
struct Print<'a> {
    rt: &'a QueryContext,
    digest: Md5,
    excluded: &'a [Value],
}

impl Print<'_> {
    /// A part of a value, with its length, so that no two values have the same parts.
    fn part(&mut self, kind: u8, bytes: &[u8]) -> Result<()> {
        work(1 + bytes.len() / 256)?;
        self.digest.update([kind]);
        self.digest.update((bytes.len() as u64).to_le_bytes());
        self.digest.update(bytes);
        Ok(())
    }

    fn entries(&mut self, entries: &[(Arc<str>, Value)]) -> Result<()> {
        let is_excluded = |key: &str| {
            let mut excluded = self.excluded.iter();
            excluded.any(|one| matches!(one, Value::String(one) if **one == *key))
        };
        let mut kept: Vec<_> = entries
            .iter()
            .filter(|(key, _)| !is_excluded(key))
            .collect();
        kept.sort_by(|a, b| a.0.cmp(&b.0));
        self.part(b'm', &(kept.len() as u64).to_le_bytes())?;
        for (key, value) in kept {
            self.part(b'k', key.as_bytes())?;
            self.value(value)?;
        }
        Ok(())
    }

    fn node(&mut self, id: u64) -> Result<()> {
        let mut labels = self.rt.labels_of(id)?;
        labels.sort_unstable();
        self.part(b'n', &(labels.len() as u64).to_le_bytes())?;
        for label in labels {
            self.part(b'l', label.as_bytes())?;
        }
        self.entries(&self.rt.all_node_properties(id)?)
    }

    fn relationship(&mut self, id: u64) -> Result<()> {
        let (start, end) = self.rt.endpoints(id)?;
        let rel_type = self.rt.type_name(self.rt.relationship_type(id)?);
        self.part(b'r', rel_type.as_bytes())?;
        self.node(start.0)?;
        self.node(end.0)?;
        self.entries(&self.rt.all_relationship_properties(id)?)
    }

    fn value(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Node(id) => self.node(id.0),
            Value::Relationship(id) => self.relationship(id.0),
            Value::Path(path) => {
                self.part(b'p', &(path.nodes.len() as u64).to_le_bytes())?;
                path.nodes.iter().try_for_each(|id| self.node(id.0))?;
                path.relationships
                    .iter()
                    .try_for_each(|id| self.relationship(id.0))
            }
            Value::Map(map) => self.entries(Map::entries(map)),
            Value::List(items) => {
                self.part(b'i', &(items.len() as u64).to_le_bytes())?;
                items.iter().try_for_each(|item| self.value(item))
            }
            other => {
                self.part(b't', other.type_name().as_bytes())?;
                self.part(b'v', key(other)?.as_bytes())
            }
        }
    }
}

/// `hash` of Kuzu: an integer from 0 on; equal values have equal ones.
fn hash(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let mut print = Print {
        rt,
        digest: Md5::new(),
        excluded: &[],
    };
    print.value(&args[0])?;
    let digest = print.digest.finalize();
    let mut number = 0;
    for byte in digest.iter().take(8) {
        number = number << 8 | i64::from(*byte);
    }
    Ok(Value::Integer(number & i64::MAX))
}

/// A hash of what a value holds: equal for equal labels, types and properties, whatever the ids.
fn fingerprint(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.hashing.fingerprint";
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let excluded = args.get(1).map(|keys| list(name, keys)).transpose()?;
    let mut print = Print {
        rt,
        digest: Md5::new(),
        excluded: excluded.flatten().unwrap_or_default(),
    };
    print.value(&args[0])?;
    let digits = print.digest.finalize();
    let digits: String = digits.iter().map(|byte| format!("{byte:02X}")).collect();
    Ok(Value::text(&digits))
}
