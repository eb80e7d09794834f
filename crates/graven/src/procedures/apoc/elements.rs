//! `apoc.coll.elements`: the first ten elements of a list as columns, each by its kind, too.

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::Call;
use crate::right::Right;

/// By name.
pub(super) const TABLE: &[Procedure] = &[procedure(
    "apoc.coll.elements",
    "the first ten elements of a list as columns: `_1` whatever it is, `_1s` if it is a text, ...",
    (
        &[
            ("coll", TypeSet::LIST),
            ("limit", TypeSet::INTEGER),
            ("offset", TypeSet::INTEGER),
        ],
        1,
    ),
    Right::Read,
    &COLUMNS,
    Body::OfCall(elements),
)];

/// How many elements have columns.
const SHOWN: usize = 10;

macro_rules! columns_of {
    ($kind:ident, $($name:literal)*) => {
        [$(($name, TypeSet::$kind)),*]
    };
}

type Columns = [Field; SHOWN];
type ValueOf = fn(&Value) -> Option<Value>;

/// Columns of a kind, and the value that an element has there.
const KINDS: [(Columns, ValueOf); 10] = [
    (
        columns_of!(ANY, "_1" "_2" "_3" "_4" "_5" "_6" "_7" "_8" "_9" "_10"),
        |value| Some(value.clone()),
    ),
    (
        columns_of!(STRING, "_1s" "_2s" "_3s" "_4s" "_5s" "_6s" "_7s" "_8s" "_9s" "_10s"),
        |value| matches!(value, Value::String(_)).then(|| value.clone()),
    ),
    (
        columns_of!(INTEGER, "_1i" "_2i" "_3i" "_4i" "_5i" "_6i" "_7i" "_8i" "_9i" "_10i"),
        |value| match value {
            Value::Integer(_) => Some(value.clone()),
            #[expect(clippy::cast_possible_truncation, reason = "a float is cut")]
            Value::Float(float) => Some(Value::Integer(*float as i64)),
            _ => None,
        },
    ),
    (
        columns_of!(FLOAT, "_1f" "_2f" "_3f" "_4f" "_5f" "_6f" "_7f" "_8f" "_9f" "_10f"),
        |value| match value {
            Value::Integer(integer) => Some(Value::Float(*integer as f64)),
            Value::Float(_) => Some(value.clone()),
            _ => None,
        },
    ),
    (
        columns_of!(BOOLEAN, "_1b" "_2b" "_3b" "_4b" "_5b" "_6b" "_7b" "_8b" "_9b" "_10b"),
        |value| matches!(value, Value::Boolean(_)).then(|| value.clone()),
    ),
    (
        columns_of!(LIST, "_1l" "_2l" "_3l" "_4l" "_5l" "_6l" "_7l" "_8l" "_9l" "_10l"),
        |value| matches!(value, Value::List(_)).then(|| value.clone()),
    ),
    (
        columns_of!(MAP, "_1m" "_2m" "_3m" "_4m" "_5m" "_6m" "_7m" "_8m" "_9m" "_10m"),
        |value| matches!(value, Value::Map(_)).then(|| value.clone()),
    ),
    (
        columns_of!(NODE, "_1n" "_2n" "_3n" "_4n" "_5n" "_6n" "_7n" "_8n" "_9n" "_10n"),
        |value| matches!(value, Value::Node(_)).then(|| value.clone()),
    ),
    (
        columns_of!(RELATIONSHIP, "_1r" "_2r" "_3r" "_4r" "_5r" "_6r" "_7r" "_8r" "_9r" "_10r"),
        |value| matches!(value, Value::Relationship(_)).then(|| value.clone()),
    ),
    (
        columns_of!(PATH, "_1p" "_2p" "_3p" "_4p" "_5p" "_6p" "_7p" "_8p" "_9p" "_10p"),
        |value| matches!(value, Value::Path(_)).then(|| value.clone()),
    ),
];

/// All columns: kind by kind, and how many elements have some.
const COLUMNS: [Field; SHOWN * KINDS.len() + 1] = {
    let mut all = [("elements", TypeSet::INTEGER); SHOWN * KINDS.len() + 1];
    let mut at = 0;
    while at < SHOWN * KINDS.len() {
        all[at] = KINDS[at / SHOWN].0[at % SHOWN];
        at += 1;
    }
    all
};

fn elements(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let number = |at: usize, usual: i64| match args.get(at) {
        None => Ok(usual),
        Some(Value::Integer(number)) => Ok(*number),
        Some(other) => Err(call.failed(told!("limit and offset are Integers, not {other}"))),
    };
    let Value::List(list) = &args[0] else {
        return Err(call.failed(told!("coll is a List, not {}", args[0].type_name())));
    };
    let (limit, offset) = (number(1, -1)?, number(2, 0)?);
    let from = usize::try_from(offset).unwrap_or(0).min(list.len());
    let most = usize::try_from(limit).unwrap_or(SHOWN).min(SHOWN);
    let list = &list[from..list.len().min(from + most)];
    let mut row = Vec::with_capacity(COLUMNS.len());
    for (_, value) in KINDS {
        let own = list
            .iter()
            .map(|element| value(element).unwrap_or_default());
        row.extend(own);
        row.resize(row.len() + SHOWN - list.len(), Value::Null);
    }
    row.push(Value::Integer(
        i64::try_from(list.len()).unwrap_or(i64::MAX),
    ));
    Ok(vec![row])
}
