//! What is said before the first row of a statement and after its last one.

use std::sync::Arc;
use std::time::Instant;

use graven::{QueryResult, Row, StatementKind, Summary, Value};

use crate::Version;
use crate::message::Map;
use crate::notification::{self, Filter};
use crate::session::entry;

/// A statement with rows left.
pub(crate) struct Stream {
    pub(crate) text: Arc<str>,
    pub(crate) result: QueryResult,
    pub(crate) ahead: Option<Row>,
    pub(crate) begun: Instant,
    /// Which notices its client wants.
    pub(crate) filter: Filter,
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
            (StatementKind::ChangesSchema, _) => "s",
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
        if summary.counters.any() {
            tail.extend([entry("stats", counters(&summary))]);
        }
        if let Some(plan) = self.result.plan() {
            let key = match self.result.is_profile() {
                true => "profile",
                false => "plan",
            };
            tail.extend([entry(key, plan_of(&plan, summary.rows))]);
        }
        let (notices, filter, text) = (&summary.notices, &self.filter, &*self.text);
        if version >= Version(5, 5) {
            let outcome = (has_columns, summary.rows > 0);
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

fn counters(summary: &Summary) -> Map {
    let changed = summary.counters.changed();
    let mut counters: Map = changed
        .map(|(name, count)| {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            entry(&name.replace('_', "-"), count)
        })
        .collect();
    counters.extend([entry("contains-updates", true)]);
    counters
}

/// The plan as a client shows it: one operator, whose text is all of it.
fn plan_of(text: &str, rows: u64) -> Map {
    let args = Map::from([
        entry("string-representation", text),
        entry("planner", "GRAVEN"),
        entry("runtime", "GRAVEN"),
    ]);
    Map::from([
        entry("operatorType", "ProduceResults"),
        entry("identifiers", Value::List(Vec::new())),
        entry("args", args),
        entry("children", Value::List(Vec::new())),
        entry("rows", i64::try_from(rows).unwrap_or(i64::MAX)),
        entry("dbHits", 0),
    ])
}
