//! `apoc.hashing.fingerprint` and `fingerprinting`, and `hash` of Kuzu: hashes of what a value
//! holds.
//!
//! # How it works
//! Labels and keys go in sorted, lists and paths in their order, and no ids. The hash is equal for
//! equal values in any database of Graven; it is not the one that APOC gives. [`Choice`] says which
//! keys count.

use std::sync::Arc;

use graven_types::told;
use md5::Md5;
use md5::digest::{Digest as _, DynDigest};
use sha2::{Sha256, Sha384, Sha512};

use super::{key, list, map};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::work;
use crate::query_context::QueryContext;
use crate::value::{Map, Value};

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.hashing.fingerprint", (1, 2), fingerprint),
    Function::new("apoc.hashing.fingerprinting", (1, 2), fingerprinting),
    Function {
        name: "graven.hash",
        arity: (1, 1),
        body: hash,
    },
];

/// What a map of properties belongs to.
enum Owner<'a> {
    Node(&'a [Arc<str>]),
    Relationship(&'a [Arc<str>]),
    Map,
}

/// Which keys count.
enum Choice<'a> {
    /// All but these.
    Without(&'a [Value]),
    /// Those that the configuration of `apoc.hashing.fingerprinting` says.
    Told(&'a Map),
}

impl Choice<'_> {
    fn takes(&self, owner: &Owner<'_>, key: &str) -> bool {
        let holds = |list: &[Value]| {
            let mut texts = list.iter();
            texts.any(|one| matches!(one, Value::String(one) if **one == *key))
        };
        let told = match self {
            Choice::Without(excluded) => return !holds(excluded),
            Choice::Told(told) => told,
        };
        let all = |name: &str| match told.get(name) {
            Some(Value::List(keys)) => Some(&**keys),
            _ => None,
        };
        let (names, [allowed, refused, of_all, refused_of_all]) = match owner {
            Owner::Map => {
                let allowed = all("mapAllowList").is_none_or(holds);
                return allowed && !all("mapDisallowList").is_some_and(holds);
            }
            Owner::Node(labels) => (labels, OF_NODES),
            Owner::Relationship(types) => (types, OF_RELATIONSHIPS),
        };
        // The lists of the labels or the type that have one.
        let named = |name: &str| {
            let lists = match told.get(name) {
                Some(Value::Map(lists)) => Some(lists),
                _ => None,
            };
            let own = names.iter().filter_map(|name| match lists?.get(name) {
                Some(Value::List(keys)) => Some(&**keys),
                _ => None,
            });
            own.collect::<Vec<_>>()
        };
        let is_refused =
            all(refused_of_all).is_some_and(holds) || named(refused).iter().any(|keys| holds(keys));
        if is_refused {
            return false;
        }
        let own = named(allowed);
        match (all(of_all), told.get(allowed)) {
            (Some(keys), _) if holds(keys) => true,
            (None, None) => true,
            _ if own.is_empty() => matches!(
                told.get("strategy"),
                Some(Value::String(strategy)) if strategy.eq_ignore_ascii_case("EAGER")
            ),
            _ => own.iter().any(|keys| holds(keys)),
        }
    }
}

/// Options of nodes: what is allowed and refused, by label and for all.
const OF_NODES: [&str; 4] = [
    "nodeAllowMap",
    "nodeDisallowMap",
    "allNodesAllowList",
    "allNodesDisallowList",
];

/// Those of relationships.
const OF_RELATIONSHIPS: [&str; 4] = [
    "relAllowMap",
    "relDisallowMap",
    "allRelsAllowList",
    "allRelsDisallowList",
];

/// The other options.
const OTHERS: [&str; 4] = [
    "digestAlgorithm",
    "mapAllowList",
    "mapDisallowList",
    "strategy",
];

/// What of a value goes into its fingerprint.
struct Print<'a> {
    rt: &'a QueryContext,
    digest: Box<dyn DynDigest>,
    choice: Choice<'a>,
}

impl Print<'_> {
    /// A part of a value, with its length, so that no two values have the same parts.
    fn part(&mut self, kind: u8, bytes: &[u8]) -> Result<()> {
        work(1 + bytes.len() / 256)?;
        self.digest.update(&[kind]);
        self.digest.update(&(bytes.len() as u64).to_le_bytes());
        self.digest.update(bytes);
        Ok(())
    }

    fn entries(&mut self, owner: &Owner<'_>, entries: &[(Arc<str>, Value)]) -> Result<()> {
        let mut kept: Vec<_> = entries
            .iter()
            .filter(|(key, _)| self.choice.takes(owner, key))
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
        for label in &labels {
            self.part(b'l', label.as_bytes())?;
        }
        self.entries(&Owner::Node(&labels), &self.rt.all_node_properties(id)?)
    }

    fn relationship(&mut self, id: u64) -> Result<()> {
        let (start, end) = self.rt.endpoints(id)?;
        let rel_type = self.rt.type_name(self.rt.relationship_type(id)?);
        self.part(b'r', rel_type.as_bytes())?;
        self.node(start.0)?;
        self.node(end.0)?;
        let properties = self.rt.all_relationship_properties(id)?;
        self.entries(&Owner::Relationship(&[rel_type]), &properties)
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
            Value::Map(map) => self.entries(&Owner::Map, Map::entries(map)),
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
        digest: Box::new(Md5::new()),
        choice: Choice::Without(&[]),
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
    let choice = Choice::Without(excluded.flatten().unwrap_or_default());
    digits(rt, &args[0], Box::new(Md5::new()), choice)
}

/// Such a hash of the keys that a configuration says, by the algorithm that it says.
fn fingerprinting(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.hashing.fingerprinting";
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let none = Map::default();
    let config = args.get(1).map(|config| map(name, config)).transpose()?;
    let config = config.flatten().unwrap_or(&none);
    let refused = |message: String| ExecError::Argument { message };
    let known = [OF_NODES, OF_RELATIONSHIPS, OTHERS].concat();
    let mut given = config.entries().iter();
    if let Some((key, _)) = given.find(|(key, _)| !known.contains(&&**key)) {
        let known = known.join(", ");
        return Err(refused(told!(
            "{name}() has no option {key}; there are {known}"
        )));
    }
    let digest: Box<dyn DynDigest> = match config.get("digestAlgorithm") {
        None | Some(Value::Null) => Box::new(Md5::new()),
        Some(Value::String(algorithm)) => match &*algorithm.to_ascii_uppercase().replace('-', "") {
            "MD5" => Box::new(Md5::new()),
            "SHA256" => Box::new(Sha256::new()),
            "SHA384" => Box::new(Sha384::new()),
            "SHA512" => Box::new(Sha512::new()),
            other => {
                return Err(refused(told!(
                    "{name}() knows no algorithm {other}: give MD5, SHA-256, SHA-384 or SHA-512"
                )));
            }
        },
        Some(other) => {
            return Err(refused(told!(
                "{name}(): digestAlgorithm is a String, not {other}"
            )));
        }
    };
    digits(rt, &args[0], digest, Choice::Told(config))
}

/// The hash in hexadecimal digits.
fn digits(
    rt: &QueryContext,
    value: &Value,
    digest: Box<dyn DynDigest>,
    choice: Choice<'_>,
) -> Result<Value> {
    let mut print = Print { rt, digest, choice };
    print.value(value)?;
    let digits = print.digest.finalize();
    let digits: String = digits.iter().map(|byte| format!("{byte:02X}")).collect();
    Ok(Value::text(&digits))
}
