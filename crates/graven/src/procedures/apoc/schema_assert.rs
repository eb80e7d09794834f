//! `apoc.schema.assert`: the schema as a program wants it.
//!
//! # How it works
//! What is there is compared with what is wanted, and statements make or drop the difference, in
//! the transaction of the caller. What is wanted and there is kept, also where everything else is
//! dropped; APOC makes such an index anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_storage::{Catalog, ConstraintKind, IndexKind, KeyId, SchemaEntity};
use graven_types::name::quoted;
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Procedure, procedure};
use super::super::inner::Call;
use crate::right::Right;

/// By name.
pub(super) const TABLE: &[Procedure] = &[procedure(
    "apoc.schema.assert",
    "makes these indexes and constraints of labels, and drops all others",
    (
        &[
            ("indexes", TypeSet::MAP),
            ("constraints", TypeSet::MAP),
            ("dropExisting", TypeSet::BOOLEAN),
        ],
        2,
    ),
    Right::Write,
    &[
        ("label", TypeSet::ANY),
        ("key", TypeSet::STRING),
        ("keys", TypeSet::LIST),
        ("unique", TypeSet::BOOLEAN),
        ("action", TypeSet::STRING),
    ],
    Body::OfCall(assert),
)];

/// A label or type with property keys.
type Place = (Arc<str>, Vec<Arc<str>>);

/// What is wanted: what stands for each place that is not there yet.
#[derive(Default)]
struct Wanted(BTreeMap<Place, bool>);

impl Wanted {
    /// Those of `{Label: ['key', ['one', 'other']]}`.
    fn of(call: &Call<'_>, name: &str, given: &Value) -> Result<Self, ExecError> {
        let wrong = || {
            let told = told!("{name} are a Map such as {{Label: ['key', ['one', 'other']]}}");
            call.failed(told)
        };
        let entries = match given {
            Value::Null => return Ok(Wanted::default()),
            Value::Map(map) => map.entries(),
            _ => return Err(wrong()),
        };
        let key = |value: &Value| match value {
            Value::String(key) => Ok(Arc::clone(key)),
            _ => Err(wrong()),
        };
        let mut wanted = Wanted::default();
        for (label, keys) in entries {
            let Value::List(keys) = keys else {
                return Err(wrong());
            };
            for one in keys.iter() {
                let keys = match one {
                    Value::List(several) if !several.is_empty() => {
                        several.iter().map(key).collect::<Result<_, _>>()?
                    }
                    one => vec![key(one)?],
                };
                wanted.0.insert((Arc::clone(label), keys), false);
            }
        }
        Ok(wanted)
    }

    /// Whether this is wanted; it then is there.
    fn meets(&mut self, place: &Place) -> bool {
        let met = self.0.get_mut(place);
        met.map(|met| *met = true).is_some()
    }

    fn missing(self) -> impl Iterator<Item = Place> {
        self.0
            .into_iter()
            .filter(|(_, met)| !met)
            .map(|(place, _)| place)
    }
}

/// What is there, by its name in the schema.
struct Found {
    name: Arc<str>,
    place: Place,
    /// It can be one of those wanted: of nodes, and no text or point index.
    counts: bool,
    /// What it is called in a command.
    kind: &'static str,
    unique: bool,
}

fn assert(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let mut indexes = Wanted::of(call, "indexes", &args[0])?;
    let mut constraints = Wanted::of(call, "constraints", &args[1])?;
    let drops = !matches!(args.get(2), Some(Value::Boolean(false)));
    let catalog = call.caller.snapshot.catalog();
    let (plain, demanded) = (found_indexes(catalog), found_constraints(catalog));
    let mut rows = Rows::new();
    settle(call, &plain, &mut indexes, drops, &mut rows)?;
    let mut made = Vec::new();
    let mut of_constraints = Rows::new();
    settle(
        call,
        &demanded,
        &mut constraints,
        drops,
        &mut of_constraints,
    )?;
    for (label, keys) in indexes.missing() {
        let text = format!(
            "CREATE INDEX FOR (n:{}) ON ({})",
            quoted(&label),
            listed(&keys)
        );
        made.push((text, false, (label, keys)));
    }
    for (label, keys) in constraints.missing() {
        let demand = match keys.len() {
            1 => "IS UNIQUE",
            _ => "IS NODE KEY",
        };
        let (of, keys_text) = (quoted(&label), listed(&keys));
        let text = format!("CREATE CONSTRAINT FOR (n:{of}) REQUIRE ({keys_text}) {demand}");
        made.push((text, true, (label, keys)));
    }
    for (text, unique, place) in made {
        call.rows(&text, Vec::new())?;
        let to = if unique {
            &mut of_constraints
        } else {
            &mut rows
        };
        to.push(row(&place, unique, "CREATED"));
    }
    rows.extend(of_constraints);
    Ok(rows)
}

/// Keeps what is wanted, or all; drops the others.
fn settle(
    call: &Call<'_>,
    found: &[Found],
    wanted: &mut Wanted,
    drops: bool,
    rows: &mut Rows,
) -> Result<(), ExecError> {
    for own in found {
        let kept = (own.counts && wanted.meets(&own.place)) || !drops;
        if !kept {
            let text = format!("DROP {} {}", own.kind, quoted(&own.name));
            call.rows(&text, Vec::new())?;
        }
        let action = if kept { "KEPT" } else { "DROPPED" };
        rows.push(row(&own.place, own.unique, action));
    }
    Ok(())
}

fn row((label, keys): &Place, unique: bool, action: &str) -> Vec<Value> {
    let single = match &keys[..] {
        [key] => Value::String(Arc::clone(key)),
        _ => Value::Null,
    };
    vec![
        Value::String(Arc::clone(label)),
        single,
        Value::list(keys.iter().cloned().map(Value::String).collect()),
        Value::Boolean(unique),
        Value::text(action),
    ]
}

fn listed(keys: &[Arc<str>]) -> String {
    let keys: Vec<String> = keys
        .iter()
        .map(|key| format!("n.{}", quoted(key)))
        .collect();
    keys.join(", ")
}

fn place(catalog: &Catalog, entity: SchemaEntity, keys: &[KeyId]) -> (Place, bool) {
    let (name, is_node) = match entity {
        SchemaEntity::Node(label) => (catalog.label_name(label), true),
        SchemaEntity::Relationship(rel_type) => (catalog.type_name(rel_type), false),
        _ => (None, false),
    };
    let keys = keys
        .iter()
        .filter_map(|key| catalog.key_name(*key))
        .cloned();
    ((name.cloned().unwrap_or_default(), keys.collect()), is_node)
}

/// Indexes that no constraint owns.
fn found_indexes(catalog: &Catalog) -> Vec<Found> {
    let owned = |number: u32| {
        catalog
            .constraints()
            .iter()
            .any(|c| c.index == Some(number))
    };
    let indexes = catalog
        .indexes()
        .iter()
        .filter(|index| !owned(index.number));
    let found = indexes.map(|index| {
        let (place, is_node) = place(catalog, index.entity, &index.keys);
        Found {
            name: Arc::clone(&index.name),
            place,
            counts: is_node && index.kind == IndexKind::Range,
            kind: "INDEX",
            unique: false,
        }
    });
    found.collect()
}

/// Constraints that a statement of Cypher makes; those of declared tables stay.
fn found_constraints(catalog: &Catalog) -> Vec<Found> {
    let demands = catalog.constraints().iter().filter(|constraint| {
        let of_tables = matches!(
            constraint.kind,
            ConstraintKind::Typed { .. } | ConstraintKind::Ends(_)
        );
        !of_tables
    });
    let found = demands.map(|constraint| {
        let (place, is_node) = place(catalog, constraint.entity, &constraint.keys);
        let unique = matches!(
            constraint.kind,
            ConstraintKind::Unique | ConstraintKind::NodeKey
        );
        Found {
            name: Arc::clone(&constraint.name),
            place,
            counts: is_node && unique,
            kind: "CONSTRAINT",
            unique: true,
        }
    });
    found.collect()
}
