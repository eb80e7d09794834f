//! What the page cache holds, and how other sizes and policies would have done.

use std::sync::Arc;

use graven_exec::Value;
use graven_pagecache::shadow::POLICIES;

use super::{Rows, integer};
use crate::instance::Instance;

/// Resident pages by kind, label, type and property.
pub(super) fn contents(db: &Arc<Instance>, _: &[Value]) -> Result<Rows, String> {
    let text = |text: Option<&String>| text.map_or(Value::Null, |text| Value::text(text));
    let contents = db.store.snapshot().contents().map_err(|e| e.to_string())?;
    let rows = contents.iter().map(|(part, residency)| {
        vec![
            Value::text(&part.kind),
            text(part.label.as_ref()),
            text(part.rel_type.as_ref()),
            text(part.property.as_ref()),
            integer(residency.resident_pages),
            integer(residency.resident_bytes),
            integer(residency.pages),
            integer(residency.bytes),
            integer(residency.pinned_pages),
            integer(residency.dirty_pages),
            integer(residency.ahead_pages),
        ]
    });
    Ok(rows.collect())
}

/// Predictions from the accesses since the first call, which begins to watch.
pub(super) fn what_if(db: &Arc<Instance>, _: &[Value]) -> Result<Rows, String> {
    db.cache.watch().map_err(|e| e.to_string())?;
    let answer = db.cache.what_if(&POLICIES).map_err(|e| e.to_string())?;
    let Some(answer) = answer else {
        return Ok(Vec::new());
    };
    let rows = answer.predictions.iter().map(|one| {
        vec![
            Value::text(&one.policy),
            Value::Boolean(one.is_current),
            Value::Float(one.factor),
            integer(one.memory_bytes),
            Value::Float(one.hit_ratio),
            Value::Float(one.error),
            integer(one.faults),
            integer(answer.accesses),
            integer(answer.sampled),
        ]
    });
    Ok(rows.collect())
}

/// Ends watching and forgets what was seen; whether there was anything to end.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn end_what_if(db: &Arc<Instance>, _: &[Value]) -> Result<Rows, String> {
    Ok(vec![vec![Value::Boolean(db.cache.unwatch())]])
}
