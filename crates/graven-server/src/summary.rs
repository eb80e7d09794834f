//! What is said before the first row of a statement and after its last one.

use std::sync::Arc;
use std::time::Instant;

use graven::pagecache::Reservation;
use graven::{PlanStep, QueryResult, Row, StatementKind, Summary, Value};

use crate::Version;
use crate::message::{Map, entry};
use crate::notification::{self, Filter};

/// A statement with rows left.
pub(crate) struct Stream {
    pub(crate) text: Arc<str>,
    pub(crate) result: QueryResult,
    pub(crate) ahead: Option<Row>,
    pub(crate) begun: Instant,
    /// Which notices its client wants.
    pub(crate) filter: Filter,
    /// Changes of databases that it has asked for.
    pub(crate) changes: u64,
    /// Of one of many that a transaction has open.
    pub(crate) memory: Option<Reservation>,
}

fn milliseconds(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}

impl Stream {
    pub(crate) fn new(
        text: &Arc<str>,
        result: QueryResult,
        begun: Instant,
        filter: Filter,
    ) -> Self {
        Stream {
            text: Arc::clone(text),
            result,
            ahead: None,
            begun,
            filter,
            changes: 0,
            memory: None,
        }
    }

    /// What is said before the first row.
    pub(crate) fn head(&self) -> Map {
        Map::from([
            entry("fields", self.result.columns().to_vec()),
            entry("t_first", milliseconds(self.begun)),
        ])
    }

    /// What is said after the last row; `database` is the name of what was asked.
    pub(crate) fn tail(&self, database: &str, version: Version) -> Map {
        let summary = self.result.summary();
        let has_columns = !self.result.columns().is_empty();
        let kind = match (summary.kind, has_columns) {
            (StatementKind::Writes, false) => "w",
            (StatementKind::Writes, true) => "rw",
            (StatementKind::ChangesSchema | StatementKind::OfSystem, _) => "s",
            _ => "r",
        };
        let mut tail = Map::from([
            entry("type", kind),
            entry("db", database),
            entry("t_last", milliseconds(self.begun)),
        ]);
        if let Some(commit) = &summary.commit {
            tail.extend([entry("bookmark", format!("graven:{}", commit.timestamp))]);
        }
        if summary.counters.any() || self.changes > 0 {
            tail.extend([entry("stats", counters(&summary, self.changes))]);
        }
        if let Some(plan) = self.result.plan() {
            let key = match self.result.is_profile() {
                true => "profile",
                false => "plan",
            };
            let mut map = match self.result.steps() {
                Some(step) => described(&step),
                None => Map::from([
                    entry("operatorType", "ProduceResults"),
                    entry("identifiers", Value::List(Vec::new())),
                    entry("children", Value::List(Vec::new())),
                ]),
            };
            let mut args = match map.remove("args") {
                Some(Value::Map(args)) => args,
                _ => Map::new(),
            };
            args.extend([
                entry("string-representation", plan.as_str()),
                entry("planner", "COST"),
                entry("planner-impl", "GRAVEN"),
                entry("runtime", "BATCHED"),
                entry("runtime-impl", "GRAVEN"),
                entry("version", "5"),
            ]);
            map.extend([entry("args", args)]);
            tail.extend([entry(key, map)]);
        }
        let (notices, filter, text) = (&summary.notices, &self.filter, &*self.text);
        if version >= Version(5, 5) {
            // A plan alone leaves out the result.
            let is_explained = self.result.plan().is_some() && !self.result.is_profile();
            let outcome = (has_columns && !is_explained, summary.rows > 0);
            let statuses = notification::statuses(notices, filter, text, outcome);
            tail.extend([entry("statuses", statuses)]);
        } else {
            let notices = notification::notifications(notices, filter, text);
            if !notices.is_empty() {
                tail.extend([entry("notifications", notices)]);
            }
        }
        tail
    }
}

/// The counts as drivers read them; those of users and databases are updates of the system.
fn counters(summary: &Summary, changes: u64) -> Map {
    let system = summary.counters.users_changed + changes;
    let changed = summary.counters.changed();
    let graph = changed.filter(|(name, _)| *name != "users_changed");
    let mut counters: Map = graph
        .map(|(name, count)| entry(&name.replace('_', "-"), number(count)))
        .collect();
    if !counters.is_empty() {
        counters.extend([entry("contains-updates", true)]);
    }
    if system > 0 {
        counters.extend([
            entry("system-updates", number(system)),
            entry("contains-system-updates", true),
        ]);
    }
    counters
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A step of a plan, as clients draw it. A hit of the database is an access to a page, whether it
/// was in memory or not.
fn described(step: &PlanStep) -> Map {
    let mut args = Map::from([
        entry("Details", step.details.as_str()),
        entry("EstimatedRows", step.estimated_rows),
    ]);
    let children: Vec<Value> = step.inputs.iter().map(described).map(Value::Map).collect();
    let mut map = Map::from([
        entry("operatorType", step.operator.as_str()),
        entry("identifiers", step.variables.clone()),
        entry("children", Value::List(children)),
    ]);
    if let Some(did) = &step.did {
        let accesses = number(did.hits.saturating_add(did.faults));
        let nanos = i64::try_from(did.time.as_nanos()).unwrap_or(i64::MAX);
        let (rows, hits, faults) = (number(did.rows), number(did.hits), number(did.faults));
        let ratio = did.hits as f64 / (did.hits + did.faults).max(1) as f64;
        map.extend([
            entry("rows", rows),
            entry("dbHits", accesses),
            entry("time", nanos),
            entry("pageCacheHits", hits),
            entry("pageCacheMisses", faults),
            entry("pageCacheHitRatio", ratio),
        ]);
        args.extend([
            entry("Rows", rows),
            entry("DbHits", accesses),
            entry("Time", nanos),
            entry("PageCacheHits", hits),
            entry("PageCacheMisses", faults),
        ]);
    }
    map.extend([entry("args", args)]);
    map
}
