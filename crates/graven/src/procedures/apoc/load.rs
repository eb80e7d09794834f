//! `apoc.load.*`: what files of JSON and XML hold, as rows.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, MoreRows, Value};
use graven_pagecache::Reservation;
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::{Call, Started};
use super::VALUE;
use super::file;
use crate::right::Right;

const OF_URL: (&[Field], usize) = (
    &[
        ("urlOrKeyOrBinary", TypeSet::ANY),
        ("path", TypeSet::STRING),
        ("config", TypeSet::MAP),
    ],
    1,
);

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.load.json",
        "the value, or the elements of the list, in a file of JSON",
        OF_URL,
        Right::Read,
        VALUE,
        Body::Streams(|call, args| load_json(call, args, READ_MAPS)),
    ),
    procedure(
        "apoc.load.jsonArray",
        "the value in a file of JSON; the maps of a list one by one",
        (
            &[
                ("url", TypeSet::STRING),
                ("path", TypeSet::STRING),
                ("config", TypeSet::MAP),
            ],
            1,
        ),
        Right::Read,
        &[("value", TypeSet::ANY)],
        Body::Streams(|call, args| load_json(call, args, READ_ARRAY)),
    ),
    procedure(
        "apoc.load.jsonParams",
        "as apoc.load.json; there are no headers and no payload, as no addresses are read",
        (
            &[
                ("urlOrKeyOrBinary", TypeSet::ANY),
                ("headers", TypeSet::MAP),
                ("payload", TypeSet::STRING),
                ("path", TypeSet::STRING),
                ("config", TypeSet::MAP),
            ],
            3,
        ),
        Right::Read,
        VALUE,
        Body::Streams(|call, args| {
            let is_empty = |value: &Value| match value {
                Value::Null => true,
                Value::Map(map) => map.entries().is_empty(),
                Value::String(text) => text.is_empty(),
                _ => false,
            };
            if args.iter().skip(1).take(2).any(|sent| !is_empty(sent)) {
                let told = "only files are read, to which no headers and no payload are sent";
                return Err(call.failed(told));
            }
            let path = args.get(3).cloned().unwrap_or_default();
            let file = args.first().cloned().unwrap_or_default();
            load_json(call, &[file, path], READ_MAPS)
        }),
    ),
    procedure(
        "apoc.load.xml",
        "the elements at a path in a file of XML, as maps",
        (
            &[
                ("urlOrBinary", TypeSet::ANY),
                ("path", TypeSet::STRING),
                ("config", TypeSet::MAP),
                ("simple", TypeSet::BOOLEAN),
            ],
            1,
        ),
        Right::Read,
        VALUE,
        Body::Streams(load_xml),
    ),
];

/// Each element of a list, or the value, as a map.
const READ_MAPS: &str = "WITH apoc.json.path($text, $path) AS whole \
    WHERE whole IS NOT NULL OR $path IN ['', '$'] \
    UNWIND CASE WHEN valueType(whole) STARTS WITH 'LIST' THEN whole ELSE [whole] END AS part \
    RETURN CASE WHEN valueType(part) STARTS WITH 'MAP' THEN part ELSE {result: part} END AS value";

/// The maps of a list, or the value.
const READ_ARRAY: &str = "WITH apoc.json.path($text, $path) AS whole \
    WHERE whole IS NOT NULL OR $path IN ['', '$'] \
    UNWIND CASE WHEN NOT valueType(whole) STARTS WITH 'LIST' THEN [whole] \
        WHEN size(whole) = 0 OR valueType(whole[0]) STARTS WITH 'MAP' THEN whole \
        ELSE [whole] END AS value RETURN value";

/// A path within what a file holds; the usual one if it is null.
fn path(call: &Call<'_>, given: Option<&Value>, usual: &str) -> Result<Value, ExecError> {
    match given {
        None | Some(Value::Null) => Ok(Value::text(usual)),
        Some(path @ Value::String(_)) => Ok(path.clone()),
        Some(other) => {
            let told = told!("a path is a String, not {}", other.type_name());
            Err(call.failed(told))
        }
    }
}

/// The elements of a list that a statement reads out of the text of a file.
fn load_json(call: &Call<'_>, args: &[Value], read: &str) -> Result<Box<dyn MoreRows>, ExecError> {
    let path = path(call, args.get(1), "")?;
    let (text, memory) = file::text(call, args.first())?;
    // An empty file holds nothing.
    let text = match &text {
        Value::String(own) if own.is_empty() => Value::text("[]"),
        _ => text,
    };
    let params = vec![(Arc::from("text"), text), (Arc::from("path"), path)];
    let rows = call.start(read, params)?;
    Ok(Box::new(OfText { rows, memory }))
}

fn load_xml(call: &Call<'_>, args: &[Value]) -> Result<Box<dyn MoreRows>, ExecError> {
    let path = path(call, args.get(1), "/")?;
    if let Some(Value::Map(config)) = args.get(2) {
        let mut given = config.entries().iter();
        if let Some((key, _)) = given.find(|(key, _)| &**key != "failOnError") {
            return Err(call.failed(told!("there is no option {key}; there is failOnError")));
        }
        if config.get("failOnError") == Some(&Value::Boolean(false)) {
            let told = "failOnError: false is not available: an error ends the statement";
            return Err(call.failed(told));
        }
    }
    let simple = args.get(3) == Some(&Value::Boolean(true));
    let (text, memory) = file::text(call, args.first())?;
    let params = vec![
        (Arc::from("text"), text),
        (Arc::from("path"), path),
        (Arc::from("simple"), Value::Boolean(simple)),
    ];
    let read = "UNWIND graven.xml($text, $path, $simple) AS value RETURN value";
    let rows = call.start(read, params)?;
    Ok(Box::new(OfText { rows, memory }))
}

/// Rows that a text in memory gives.
struct OfText {
    rows: Started,
    #[expect(dead_code, reason = "given back on drop")]
    memory: Reservation,
}

impl MoreRows for OfText {
    fn next(&mut self) -> Result<Option<Rows>, ExecError> {
        self.rows.next()
    }
}
