//! What Kuzu lists by calls, and has no name of its own here: functions, indexes, sequences,
//! macros, settings, and what columns hold. Extensions and attached databases are lists without
//! rows.
//!
//! # Cost
//! Of `graven.storageInfo`: a look at all values of the table.

use graven_cypher::{TableView, TypeSet};
use graven_exec::{ExecError, Value};
use graven_files::literal;
use graven_storage::{Catalog, MacroDescription, Note, NoteKind, SequenceDescription, StoreKind};
use graven_types::told;

use super::entry::{Body, Procedure, procedure};
use super::inner::Call;
use super::{Rows, integer};
use crate::right::Right;
use crate::tables;

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "graven.clearWarnings",
        "CALL clear_warnings(): forgets what graven.loadErrors lists",
        (&[], 0),
        Right::Read,
        &[],
        Body::OfCaller(super::clear_warnings),
    ),
    procedure(
        "graven.comments",
        "comments on tables, and the statements that make them again",
        (&[], 0),
        Right::Read,
        &[
            ("table", TypeSet::STRING),
            ("comment", TypeSet::STRING),
            ("createStatement", TypeSet::STRING),
        ],
        Body::OfCall(|call, _| Ok(notes(call, NoteKind::Comment))),
    ),
    procedure(
        "graven.kuzuAttached",
        "CALL show_attached_databases(): there are none",
        (&[], 0),
        Right::Read,
        &[
            ("name", TypeSet::STRING),
            ("database type", TypeSet::STRING),
        ],
        Body::OfCall(nothing),
    ),
    procedure(
        "graven.kuzuExtensions",
        "CALL show_official_extensions(): there are none",
        (&[], 0),
        Right::Read,
        &[("name", TypeSet::STRING), ("description", TypeSet::STRING)],
        Body::OfCall(nothing),
    ),
    procedure(
        "graven.kuzuFunctions",
        "CALL show_functions(): SHOW FUNCTIONS with the columns of Kuzu",
        (&[], 0),
        Right::Read,
        &[
            ("name", TypeSet::STRING),
            ("type", TypeSet::STRING),
            ("signature", TypeSet::STRING),
        ],
        Body::Statement(
            "SHOW FUNCTIONS YIELD name, aggregating, signature \
                RETURN name, CASE WHEN aggregating THEN 'AGGREGATE FUNCTION' \
                ELSE 'SCALAR FUNCTION' END AS type, signature",
        ),
    ),
    procedure(
        "graven.kuzuIndexes",
        "CALL show_indexes(): SHOW INDEXES with the columns of Kuzu",
        (&[], 0),
        Right::Read,
        &[
            ("table_name", TypeSet::STRING),
            ("index_name", TypeSet::STRING),
            ("index_type", TypeSet::STRING),
            ("property_names", TypeSet::LIST),
            ("extension_loaded", TypeSet::BOOLEAN),
            ("index_definition", TypeSet::STRING),
        ],
        Body::Statement(
            "SHOW INDEXES YIELD name, type, labelsOrTypes, properties, owningConstraint, \
                createStatement WHERE owningConstraint IS NULL AND type <> 'LOOKUP' \
                RETURN labelsOrTypes[0] AS table_name, name AS index_name, type AS index_type, \
                properties AS property_names, true AS extension_loaded, \
                createStatement AS index_definition",
        ),
    ),
    procedure(
        "graven.kuzuLoaded",
        "CALL show_loaded_extensions(): there are none",
        (&[], 0),
        Right::Read,
        &[
            ("extension name", TypeSet::STRING),
            ("extension source", TypeSet::STRING),
            ("extension path", TypeSet::STRING),
        ],
        Body::OfCall(nothing),
    ),
    procedure(
        "graven.kuzuMacros",
        "CALL show_macros(): macros and the statements that make them",
        (&[], 0),
        Right::Read,
        &[("name", TypeSet::STRING), ("definition", TypeSet::STRING)],
        Body::OfCall(macros),
    ),
    procedure(
        "graven.kuzuSequences",
        "CALL show_sequences(): sequences with the columns of Kuzu",
        (&[], 0),
        Right::Read,
        &[
            ("name", TypeSet::STRING),
            ("database name", TypeSet::STRING),
            ("start value", TypeSet::INTEGER),
            ("increment", TypeSet::INTEGER),
            ("min value", TypeSet::INTEGER),
            ("max value", TypeSet::INTEGER),
            ("cycle", TypeSet::BOOLEAN),
        ],
        Body::OfCall(|call, _| Ok(rows(call, shown))),
    ),
    procedure(
        "graven.sequences",
        "sequences, the numbers that they gave last, and the statements that make them again",
        (&[], 0),
        Right::Read,
        &[
            ("name", TypeSet::STRING),
            ("lastValue", TypeSet::INTEGER),
            ("createStatements", TypeSet::LIST),
        ],
        Body::OfCall(|call, _| Ok(rows(call, made))),
    ),
    procedure(
        "graven.typeNames",
        "names of types, and the statements that make them again",
        (&[], 0),
        Right::Read,
        &[
            ("name", TypeSet::STRING),
            ("type", TypeSet::STRING),
            ("createStatement", TypeSet::STRING),
        ],
        Body::OfCall(|call, _| Ok(notes(call, NoteKind::Type))),
    ),
    procedure(
        "graven.storageInfo",
        "CALL storage_info(table): how many values the columns of a table have, the least and the \
            largest one",
        (&[("table", TypeSet::STRING)], 1),
        Right::Read,
        &[
            ("table_type", TypeSet::STRING),
            ("node_group_id", TypeSet::INTEGER),
            ("column_name", TypeSet::STRING),
            ("data_type", TypeSet::STRING),
            ("start_page_idx", TypeSet::INTEGER),
            ("num_pages", TypeSet::INTEGER),
            ("num_values", TypeSet::INTEGER),
            ("min", TypeSet::STRING),
            ("max", TypeSet::STRING),
            ("compression", TypeSet::STRING),
        ],
        Body::OfCall(storage_info),
    ),
];

/// Types for which Kuzu keeps no bounds.
const UNBOUNDED: &[&str] = &[
    "STRING", "BLOB", "UUID", "INTERVAL", "STRUCT", "MAP", "UNION", "JSON",
];

/// Settings that are taken and have no meaning, so that there is no value to tell.
const WITHOUT_VALUE: &[&str] = &[
    "auto_checkpoint",
    "checkpoint_threshold",
    "disable_map_key_check",
    "enable_plan_optimizer",
    "enable_semi_mask",
    "enable_zone_map",
    "file_search_path",
    "force_checkpoint_on_close",
    "home_directory",
    "progress_bar",
    "progress_bar_time",
    "recursive_pattern_factor",
    "spill_to_disk",
    "var_length_extend_max_depth",
    "warning_limit",
];

/// `CALL current_setting('name')`.
pub(super) fn setting(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let Some(Value::String(name)) = args.first() else {
        return Err(call.failed("the name of a setting is a String"));
    };
    let value = match name.to_ascii_lowercase().as_str() {
        "recursive_pattern_semantic" => Value::text("TRAIL"),
        "threads" => Value::text(&call.on.database.tuning.threads.to_string()),
        "timeout" => {
            let timeout = call.on.connection.timeout();
            Value::text(&timeout.map_or(0, |timeout| timeout.as_millis()).to_string())
        }
        other if WITHOUT_VALUE.contains(&other) => Value::Null,
        _ => return Err(call.failed(told!("there is no setting {name}"))),
    };
    Ok(vec![vec![value]])
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn nothing(_: &Call<'_>, _: &[Value]) -> Result<Rows, ExecError> {
    Ok(Rows::new())
}

/// A row for each column, for each direction of relationships.
fn storage_info(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let Some(Value::String(name)) = args.first() else {
        return Err(call.failed("the name of a table is a String"));
    };
    let catalog = call.caller.snapshot.catalog();
    let Some((name, table)) = tables::called(catalog, name) else {
        return Err(call.failed(told!("there is no table {name}")));
    };
    let mut quoted = String::new();
    literal::name(&mut quoted, &name);
    let mut text = match table.of_nodes {
        true => format!("MATCH (x:{quoted}) RETURN count(*) AS first"),
        false => format!("MATCH ()-[x:{quoted}]->() RETURN count(*) AS first"),
    };
    for (idx, column) in table.columns.iter().enumerate() {
        let mut key = String::new();
        literal::name(&mut key, &column.name);
        let upper = column.of.to_ascii_uppercase();
        let unbounded = |word: &&str| upper.starts_with(word);
        let bounds = match upper.contains('[') || UNBOUNDED.iter().any(unbounded) {
            true => format!(", null AS least{idx}, null AS largest{idx}"),
            false => format!(", min(x.{key}) AS least{idx}, max(x.{key}) AS largest{idx}"),
        };
        text.push_str(&format!(", count(x.{key}) AS count{idx}{bounds}"));
    }
    let found = call.rows(&text, Vec::new())?;
    let values = found.into_iter().next().unwrap_or_default();
    let mut rows = Rows::new();
    let directions: &[&str] = match table.of_nodes {
        true => &[""],
        false => &["fwd_", "bwd_"],
    };
    let kind = if table.of_nodes { "NODE" } else { "REL" };
    let mut values = values.into_iter().skip(1);
    for column in &table.columns {
        // Without rows there may be no group.
        let count = values.next().unwrap_or(Value::Integer(0));
        let bounds = [values.next(), values.next()].map(|bound| bound_text(bound.as_ref()));
        let pages = pages(catalog, &table, &name, &column.name);
        for direction in directions {
            let [min, max] = bounds.clone();
            rows.push(vec![
                Value::text(kind),
                Value::Integer(0),
                Value::text(&format!("{direction}{}", column.name)),
                Value::String(column.of.clone()),
                Value::Null,
                integer(pages),
                count.clone(),
                min,
                max,
                Value::Null,
            ]);
        }
    }
    Ok(rows)
}

/// The pages of a column in the file; nodes of all labels share those of a property.
fn pages(catalog: &Catalog, table: &TableView, name: &str, column: &str) -> u64 {
    let Some(key) = catalog.key(column) else {
        return 0;
    };
    let kind = match table.of_nodes {
        true => Some(StoreKind::NodeColumn(key)),
        false => {
            let rel_type = catalog.rel_type(name);
            rel_type.map(|rel_type| StoreKind::RelationshipColumn(rel_type, key))
        }
    };
    let store = kind.and_then(|kind| catalog.store(kind));
    store.map_or(0, |store| store.pages)
}

/// A bound as Kuzu writes it; null if it is of no type that has one there.
fn bound_text(value: Option<&Value>) -> Value {
    match value {
        Some(Value::Boolean(true)) => Value::text("True"),
        Some(Value::Boolean(false)) => Value::text("False"),
        Some(Value::Integer(number)) => Value::text(&number.to_string()),
        Some(Value::Float(number)) => Value::text(&format!("{number:.6}")),
        Some(stored @ Value::Stored(_)) => Value::text(&stored.to_string().replace('T', " ")),
        _ => Value::Null,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn macros(call: &Call<'_>, _: &[Value]) -> Result<Rows, ExecError> {
    let all = call.caller.snapshot.catalog().macros().iter();
    let rows = all.map(|known| vec![Value::String(known.name.clone()), definition(known)]);
    Ok(rows.collect())
}

fn definition(of: &MacroDescription) -> Value {
    let mut text = String::from("CREATE MACRO ");
    literal::name(&mut text, &of.name);
    text.push('(');
    for (idx, (name, default)) in of.parameters.iter().enumerate() {
        text.push_str(if idx > 0 { ", " } else { "" });
        literal::name(&mut text, name);
        if let Some(default) = default {
            text.push_str(&format!(" := {default}"));
        }
    }
    text.push_str(&format!(") AS {}", of.body));
    Value::text(&text)
}

fn notes(call: &Call<'_>, kind: NoteKind) -> Rows {
    let notes = tables::notes(call.caller.snapshot.catalog(), kind);
    let row = |note: &Note| {
        let mut name = String::new();
        literal::name(&mut name, &note.name);
        let made = match kind {
            NoteKind::Type => format!("CREATE TYPE {name} AS {}", note.text),
            NoteKind::Comment => {
                let mut made = format!("COMMENT ON TABLE {name} IS ");
                literal::quoted(&mut made, &note.text);
                made
            }
        };
        vec![
            Value::String(note.name.clone()),
            Value::String(note.text.clone()),
            Value::text(&made),
        ]
    };
    notes.map(row).collect()
}

fn rows(call: &Call<'_>, row: fn(SequenceDescription) -> Vec<Value>) -> Rows {
    let all = call.caller.snapshot.sequences();
    all.into_iter().map(row).collect()
}

fn shown(sequence: SequenceDescription) -> Vec<Value> {
    vec![
        Value::String(sequence.name),
        Value::text("local(graven)"),
        Value::Integer(sequence.start),
        Value::Integer(sequence.increment),
        Value::Integer(sequence.min),
        Value::Integer(sequence.max),
        Value::Boolean(sequence.cycle),
    ]
}

/// One that has given a number is made again with it as its start, and gives it.
fn made(sequence: SequenceDescription) -> Vec<Value> {
    let mut name = String::new();
    literal::name(&mut name, &sequence.name);
    let create = format!(
        "CREATE SEQUENCE {name} START {} INCREMENT {} MINVALUE {} MAXVALUE {}{}",
        sequence.last.unwrap_or(sequence.start),
        sequence.increment,
        sequence.min,
        sequence.max,
        if sequence.cycle { " CYCLE" } else { "" },
    );
    let mut statements = vec![Value::text(&create)];
    if sequence.last.is_some() {
        let mut advance = String::from("RETURN nextval(");
        literal::quoted(&mut advance, &sequence.name);
        advance.push(')');
        statements.push(Value::text(&advance));
    }
    vec![
        Value::String(sequence.name),
        sequence.last.map_or(Value::Null, Value::Integer),
        Value::list(statements),
    ]
}
