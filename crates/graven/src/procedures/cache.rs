//! What the page cache holds, and how other sizes and policies would have done.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::Value;
use graven_pagecache::shadow::POLICIES;

use super::entry::{Body, Procedure};
use super::{Rows, integer, warm};
use crate::instance::Instance;
use crate::right::Right;

/// The procedures of the page cache.
pub(super) const TABLE: &[Procedure] = &[
    Procedure {
        name: "graven.cache.contents",
        about: "what of the file is in memory, by kind, label, type and property",
        arguments: &[],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("kind", TypeSet::STRING),
            ("label", TypeSet::STRING),
            ("type", TypeSet::STRING),
            ("property", TypeSet::STRING),
            ("residentPages", TypeSet::INTEGER),
            ("residentBytes", TypeSet::INTEGER),
            ("pages", TypeSet::INTEGER),
            ("bytes", TypeSet::INTEGER),
            ("pinnedPages", TypeSet::INTEGER),
            ("dirtyPages", TypeSet::INTEGER),
            ("aheadPages", TypeSet::INTEGER),
        ],
        run: Body::OfDatabase(contents),
    },
    Procedure {
        name: "graven.cache.endWhatIf",
        about: "ends what the first graven.cache.whatIf began",
        arguments: &[],
        optional: 0,
        right: Right::Admin,
        columns: &[("watched", TypeSet::BOOLEAN)],
        run: Body::OfDatabase(end_what_if),
    },
    Procedure {
        name: "graven.cache.load",
        about: "reads into memory what graven.cache.save wrote down, until memory is nearly full",
        arguments: &[("file", TypeSet::STRING)],
        optional: 0,
        right: Right::Admin,
        columns: &[
            ("wanted", TypeSet::INTEGER),
            ("pages", TypeSet::INTEGER),
            ("bytes", TypeSet::INTEGER),
            ("full", TypeSet::BOOLEAN),
        ],
        run: Body::OfCaller(warm::load),
    },
    Procedure {
        name: "graven.cache.resize",
        about: "changes the memory budget",
        arguments: &[("size", TypeSet::ANY)],
        optional: 0,
        right: Right::Admin,
        columns: &[("before", TypeSet::INTEGER), ("after", TypeSet::INTEGER)],
        run: Body::OfDatabase(super::resize),
    },
    Procedure {
        name: "graven.cache.save",
        about: "writes down which parts of which stores are in memory, by ranges of ids",
        arguments: &[("file", TypeSet::STRING)],
        optional: 0,
        right: Right::Admin,
        columns: &[
            ("stores", TypeSet::INTEGER),
            ("ranges", TypeSet::INTEGER),
            ("pages", TypeSet::INTEGER),
        ],
        run: Body::OfCaller(warm::save),
    },
    Procedure {
        name: "graven.cache.setPolicy",
        about: "changes the replacement policy; no page is lost",
        arguments: &[("policy", TypeSet::STRING)],
        optional: 0,
        right: Right::Admin,
        columns: &[("before", TypeSet::STRING), ("after", TypeSet::STRING)],
        run: Body::OfDatabase(super::set_policy),
    },
    Procedure {
        name: "graven.cache.stats",
        about: "what happened to pages of each kind since the database was opened",
        arguments: &[],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("kind", TypeSet::STRING),
            ("hits", TypeSet::INTEGER),
            ("faults", TypeSet::INTEGER),
            ("hitRatio", TypeSet::FLOAT),
            ("evictionsBackground", TypeSet::INTEGER),
            ("evictionsCooperative", TypeSet::INTEGER),
            ("waitedMilliseconds", TypeSet::FLOAT),
            ("bytesRead", TypeSet::INTEGER),
        ],
        run: Body::OfDatabase(super::stats),
    },
    Procedure {
        name: "graven.cache.whatIf",
        about: "how other amounts of memory and other policies would have done",
        arguments: &[],
        optional: 0,
        right: Right::Admin,
        columns: &[
            ("policy", TypeSet::STRING),
            ("current", TypeSet::BOOLEAN),
            ("factor", TypeSet::FLOAT),
            ("memory", TypeSet::INTEGER),
            ("hitRatio", TypeSet::FLOAT),
            ("error", TypeSet::FLOAT),
            ("faults", TypeSet::INTEGER),
            ("accesses", TypeSet::INTEGER),
            ("sampled", TypeSet::INTEGER),
        ],
        run: Body::OfDatabase(what_if),
    },
];

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
