//! Names of the catalogue, and values of columns as procedures read and write them.

use std::sync::Arc;

use graven_exec::Value;
use graven_storage::{Catalog, LabelId, TypeId};

pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        _ => String::new(),
    }
}

pub(super) fn count_of(value: &Value) -> u64 {
    match value {
        Value::Integer(count) => count.unsigned_abs(),
        _ => 0,
    }
}

pub(super) fn labels(catalog: &Catalog) -> impl Iterator<Item = (LabelId, &Arc<str>)> {
    (0..).map(LabelId).zip(catalog.labels())
}

pub(super) fn types(catalog: &Catalog) -> impl Iterator<Item = (TypeId, &Arc<str>)> {
    (0..).map(TypeId).zip(catalog.types())
}

pub(super) fn integer(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

pub(super) fn strings<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    Value::list(names.into_iter().map(Value::text).collect())
}
