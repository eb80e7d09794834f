//! `apoc.refactor.mergeNodes`: one node of several.
//!
//! # How it works
//! What the others hold is read first. Then their relationships are made anew at the first node,
//! they are deleted, and only then the first node gets their labels and properties: a value that
//! must be unique is never there twice.

use std::sync::Arc;

use graven_exec::{ExecError, Value};
use graven_types::told;

use super::super::Rows;
use super::super::inner::Call;

/// What becomes of a property that several have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// The first value.
    First,
    /// The last value.
    Last,
    /// A list of all values; one value where all have the same.
    All,
}

/// How keys are treated: the first entry that fits decides.
pub(super) struct Policy(Vec<(Option<Arc<str>>, Kept)>);

impl Policy {
    /// What `properties` of the configuration says: one word, or a map of keys to words; `usual`
    /// where it says nothing.
    pub(super) fn of(
        call: &Call<'_>,
        config: Option<&Value>,
        usual: Kept,
    ) -> Result<Self, ExecError> {
        let given = match config {
            Some(Value::Map(map)) => map.get("properties"),
            _ => None,
        };
        let word = |value: &Value| match value {
            Value::String(word) => match word.to_lowercase().as_str() {
                "discard" => Ok(Kept::First),
                "overwrite" | "override" => Ok(Kept::Last),
                "combine" => Ok(Kept::All),
                other => Err(call.failed(told!(
                    "properties are `discard`, `overwrite` or `combine`, not {other}"
                ))),
            },
            other => Err(call.failed(told!(
                "properties are told by a String or a Map, not {}",
                other.type_name()
            ))),
        };
        match given {
            None | Some(Value::Null) => Ok(Policy(vec![(None, usual)])),
            Some(Value::Map(map)) => {
                let mut all = Vec::new();
                for (key, value) in map.entries() {
                    // `.*` stands for all others.
                    let name = (&**key != ".*").then(|| Arc::clone(key));
                    all.push((name, word(value)?));
                }
                all.sort_by_key(|(name, _)| name.is_none());
                Ok(Policy(all))
            }
            Some(value) => Ok(Policy(vec![(None, word(value)?)])),
        }
    }

    fn for_key(&self, key: &str) -> Kept {
        let mut all = self.0.iter();
        let fits = |name: &Option<Arc<str>>| name.as_ref().is_none_or(|name| **name == *key);
        all.find(|(name, _)| fits(name))
            .map_or(Kept::Last, |(_, kept)| *kept)
    }

    /// The properties of these maps, the first one's first, as one map.
    pub(super) fn together<'a>(&self, maps: impl Iterator<Item = &'a Value>) -> Value {
        let mut all: Vec<(Arc<str>, Vec<Value>)> = Vec::new();
        for map in maps {
            let Value::Map(map) = map else { continue };
            for (key, value) in map.entries() {
                match all.iter_mut().find(|(known, _)| known == key) {
                    Some((_, values)) => values.push(value.clone()),
                    None => all.push((Arc::clone(key), vec![value.clone()])),
                }
            }
        }
        let one = |(key, values): (Arc<str>, Vec<Value>)| {
            let value = match self.for_key(&key) {
                Kept::First => values[0].clone(),
                Kept::Last => values[values.len() - 1].clone(),
                Kept::All => combined(values),
            };
            (key, value)
        };
        Value::map(all.into_iter().map(one).collect())
    }
}

/// Each value once; lists give their elements.
fn combined(values: Vec<Value>) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for value in values {
        let parts = match &value {
            Value::List(items) => items.to_vec(),
            _ => vec![value],
        };
        for part in parts {
            if !all.contains(&part) {
                all.push(part);
            }
        }
    }
    match all.len() {
        1 => all.remove(0),
        _ => Value::list(all),
    }
}

pub(super) fn is_wanted(config: Option<&Value>, name: &str, usual: bool) -> bool {
    match config {
        Some(Value::Map(map)) => match map.get(name) {
            Some(Value::Boolean(wanted)) => *wanted,
            _ => usual,
        },
        _ => usual,
    }
}

const READ: &str = "UNWIND $nodes AS n RETURN labels(n) AS labels, properties(n) AS properties";

/// Relationships from and to the others, made anew at the first node; without `$selves` no loops of
/// the others, and no loops at all unless relationships are `$apart`.
const MOVE_OUT: &str = "UNWIND $others AS o MATCH (o)-[r]->(x) \
    WITH o, r, x, CASE WHEN x IN $others THEN $first ELSE x END AS m, $first AS f \
    WHERE $selves OR m <> f OR $apart AND x <> o \
    WITH collect([r, m]) AS all, f UNWIND all AS one WITH one[0] AS r, one[1] AS m, f \
    CREATE (f)-[k:$(type(r))]->(m) SET k = properties(r)";
const MOVE_IN: &str = "UNWIND $others AS o MATCH (o)<-[r]-(m) WHERE NOT m IN $others \
    WITH r, m, $first AS f WHERE $selves OR m <> f OR $apart \
    WITH collect([r, m]) AS all, f UNWIND all AS one WITH one[0] AS r, one[1] AS m, f \
    CREATE (m)-[k:$(type(r))]->(f) SET k = properties(r)";
const DELETE: &str = "UNWIND $others AS o DETACH DELETE o";
const GIVE: &str = "WITH $first AS node SET node:$($labels) SET node += $properties RETURN node";

/// Relationships of one type between the same two nodes.
const DOUBLES: &str = "WITH $first AS f MATCH (f)-[r]-() \
    WITH type(r) AS kind, startNode(r) AS a, endNode(r) AS b, collect(DISTINCT r) AS all \
    WHERE size(all) > 1 RETURN all, [r IN all | properties(r)] AS properties";
const MERGE_DOUBLES: &str = "WITH $all[0] AS kept SET kept += $properties \
    WITH kept UNWIND $all[1..] AS r DELETE r";

pub(super) fn merge_nodes(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let given = match &args[0] {
        Value::List(items) => items.to_vec(),
        single => vec![single.clone()],
    };
    let mut nodes: Vec<Value> = Vec::new();
    for node in given {
        match node {
            Value::Null => {}
            Value::Node(_) if nodes.contains(&node) => {}
            Value::Node(_) => nodes.push(node),
            other => {
                let told = told!("give a List of nodes, not {}", other.type_name());
                return Err(call.failed(told));
            }
        }
    }
    let Some(first) = nodes.first().cloned() else {
        return Ok(Rows::new());
    };
    let config = args.get(1);
    let policy = Policy::of(call, config, Kept::Last)?;
    let selves = Value::Boolean(is_wanted(config, "produceSelfRel", true));
    let apart = Value::Boolean(!is_wanted(config, "mergeRels", false));
    let param = |name: &str, value: &Value| (Arc::from(name), value.clone());
    let whole = Value::list(nodes.clone());
    let held = call.rows(READ, vec![param("nodes", &whole)])?;
    let mut labels: Vec<Value> = Vec::new();
    for row in &held {
        if let Value::List(own) = &row[0] {
            labels.extend(own.iter().cloned());
        }
    }
    let properties = policy.together(held.iter().map(|row| &row[1]));
    let others = Value::list(nodes[1..].to_vec());
    let ends = vec![
        param("others", &others),
        param("first", &first),
        param("selves", &selves),
        param("apart", &apart),
    ];
    for text in [MOVE_OUT, MOVE_IN] {
        call.rows(text, ends.clone())?;
    }
    call.rows(DELETE, vec![param("others", &others)])?;
    if is_wanted(config, "mergeRels", false) {
        let of_relationships = Policy::of(call, config, Kept::All)?;
        for row in call.rows(DOUBLES, vec![param("first", &first)])? {
            let Value::List(own) = &row[1] else { continue };
            let together = of_relationships.together(own.iter());
            let params = vec![param("all", &row[0]), param("properties", &together)];
            call.rows(MERGE_DOUBLES, params)?;
        }
    }
    call.rows(
        GIVE,
        vec![
            param("first", &first),
            param("labels", &Value::list(labels)),
            param("properties", &properties),
        ],
    )
}
