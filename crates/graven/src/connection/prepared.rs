//! A statement that is planned once and run often.

use super::Connection;
use crate::error::Error;
use crate::instance::{Backend, Instance};
use crate::params::Params;
use crate::plan_cache::{CachedPlan, CompiledStatement};
use crate::query_result::QueryResult;
use graven_exec::Deadline;
use graven_io::ProcessLocal;
use graven_storage::Snapshot;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A statement that has been checked and planned. Threads that share one wait for each other for a
/// moment at the beginning of each statement; clones do not.
#[derive(Debug)]
pub struct Prepared {
    text: Arc<str>,
    connection: Connection,
    /// The plan used last.
    remembered: ProcessLocal<Mutex<Option<CachedPlan>>>,
}

impl Clone for Prepared {
    fn clone(&self) -> Self {
        Prepared::new(Arc::clone(&self.text), self.connection.clone())
    }
}

impl Prepared {
    /// Runs it.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn query(&self, params: &Params) -> Result<QueryResult, Error> {
        self.query_on(&self.connection, params)
    }

    /// As [`Prepared::query`], for as long as this at most, whatever its connection was given.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn query_within(
        &self,
        params: &Params,
        timeout: Option<Duration>,
    ) -> Result<QueryResult, Error> {
        let connection = self.connection.clone().with_timeout(timeout);
        self.query_on(&connection, params)
    }

    fn query_on(&self, connection: &Connection, params: &Params) -> Result<QueryResult, Error> {
        let inner = match connection.db.backend()? {
            Backend::Local(inner) => inner,
            Backend::Remote(_) => return connection.query(&self.text, params),
        };
        connection.cancel.reset();
        let deadline = connection.deadline();
        let snapshot = inner.store.snapshot();
        let planned = self.plan(&inner, params, &snapshot, deadline)?;
        connection.start(&inner, planned, params, snapshot, deadline)
    }

    pub(super) fn new(text: Arc<str>, connection: Connection) -> Self {
        Prepared {
            text,
            connection,
            remembered: ProcessLocal::default(),
        }
    }

    fn plan(
        &self,
        inner: &Instance,
        params: &Params,
        snapshot: &Snapshot,
        deadline: Option<Deadline>,
    ) -> Result<CompiledStatement, Error> {
        // Read before planning: a plan made meanwhile counts as older than it is.
        let generation = inner.plans.generation();
        let functions = self.connection.functions();
        let nodes = snapshot.node_count();
        let mut remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(planned) = remembered
            .as_ref()
            .and_then(|it| it.get(params, snapshot, nodes, (generation, functions)))
        {
            return Ok(planned);
        }
        let connection = &self.connection;
        let planned = connection.plan(inner, &self.text, params, snapshot, deadline)?;
        *remembered = CachedPlan::new(&planned, params, nodes, generation);
        Ok(planned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::database::Database;

    /// Goal: a statement gives the same each time it is started from its kept physical plan, and
    /// nothing of a run is held by the plan afterwards (EX-83).
    #[test]
    fn short_reads_leave_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config {
            create: true,
            ..Config::default()
        };
        let db = Database::open(folder.path().join("kept.graven"), config).expect("opened");
        let connection = db.connect();
        let texts = [
            "CREATE (:P {id: 1})-[:KNOWS]->(:P {id: 2})",
            "CREATE INDEX FOR (p:P) ON (p.id)",
            "MATCH (p:P {id: $id}) RETURN p.id",
            "MATCH (p:P {id: $id})-[k:KNOWS]-(f:P) RETURN f.id, k.since ORDER BY k.since, f.id",
            "MATCH (p:P {id: $id})-[:KNOWS]-(f) RETURN count(DISTINCT f.id)",
            "MATCH (p:P {id: $id})-[:KNOWS]-(f) RETURN DISTINCT f.id LIMIT 2",
            "MATCH (p:P {id: $id}) RETURN p.id IN [$id, 2]",
            "MATCH (p:P {id: $id}) RETURN p.id / 0",
            "MATCH (p:P {id: $id}) SET p.x = 1 RETURN p.x",
        ];
        for text in texts {
            let prepared = connection.prepare(text).expect("valid");
            for round in 0..3 {
                let params = Params::new().with("id", 1 + round % 2);
                let rows = |result: Result<QueryResult, Error>| {
                    let rows = result.and_then(Iterator::collect::<Result<Vec<_>, _>>);
                    rows.map_err(|error| error.to_string())
                };
                let first = rows(prepared.query(&params));
                if text.starts_with("CREATE") {
                    break;
                }
                assert_eq!(rows(connection.query(text, &params)), first, "{text}");
                let operators = [
                    "NodeSeek",
                    "Expand",
                    "Sort",
                    "Aggregate",
                    "Distinct",
                    "Project",
                ];
                let mut holders = db.inner().expect("here").budget.holders().into_iter();
                let held = holders.find(|it| operators.contains(&it.tag) && it.bytes > 0);
                assert_eq!(held, None, "{text}");
            }
        }
    }

    /// Goal: a statement that writes from the physical plan of its run before does what it does
    /// from a new one: whatever it reads, sets and creates, whatever names have come since, after
    /// an error and in a transaction. Method: each statement with the same text again and again in
    /// one database, with a text of its own each time in another.
    #[test]
    fn physical_plans_of_writing_statements_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = |name: &str| {
            let config = Config {
                create: true,
                ..Config::default()
            };
            Database::open(folder.path().join(name), config).expect("opened")
        };
        let (same, other) = (open("same.graven"), open("other.graven"));
        let texts = [
            "CREATE (a:P {id: $id})-[:KNOWS {since: $id}]->(b:P {id: -$id, name: $name})",
            "CREATE (a:P {id: $id + 100}) SET a.twice = 2 * $id RETURN a.twice, a.id",
            "MATCH (a:P {id: $id}) SET a.seen = $id, a:Seen RETURN a.seen, labels(a)",
            "MATCH (a:P {id: $id})-[k:KNOWS]->(b) SET k += {last: $id}, b.last = k.last RETURN \
                    b.id, b.last",
            "MATCH (a:P) WHERE a.id >= $id REMOVE a.twice RETURN count(*)",
            "MATCH (a:Late) SET a.found = $id RETURN count(*)",
            "MATCH (a:P {id: $id}), (b:P {id: $id}) CREATE (a)-[:LIKES {by: $name}]->(b) \
                    RETURN a.id",
            "MERGE (a:Q {id: $id}) ON MATCH SET a.again = true RETURN a.again",
            "MATCH (a:P {id: $id})-[:LIKES]->(b) DETACH DELETE b",
            "UNWIND range(1, $id) AS i CREATE (:R {i: 10 / (i - $id + 2)})",
            "CREATE (:R {i: 1 / ($id - 2)})",
        ];
        let mut failed = 0;
        for round in 0..4i64 {
            for (place, text) in texts.iter().enumerate() {
                if round == 2 && place == 5 {
                    // Until now the label was unknown.
                    for db in [&same, &other] {
                        let made = db
                            .connect()
                            .query("CREATE (:Late), (:Late)", &Params::new());
                        made.expect("created");
                    }
                }
                let params = Params::new().with("id", 1 + round % 3).with("name", "Ada");
                let rows = |db: &Database, text: &str, inside: bool| {
                    let connection = db.connect();
                    let rows = |mut result: QueryResult| {
                        let rows = result.by_ref().map(|row| row.expect("a row").into_values());
                        let rows: Vec<_> = rows.collect();
                        (rows, result.summary().counters)
                    };
                    if !inside {
                        let rows = connection.query(text, &params).map(rows);
                        return rows.map_err(|error| error.to_string());
                    }
                    let mut transaction = connection.begin().expect("begun");
                    let rows = transaction.query(text, &params).map(rows);
                    if rows.is_ok() {
                        transaction.commit().expect("committed");
                    }
                    rows.map_err(|error| error.to_string())
                };
                let inside = round == 3 && place % 2 == 0;
                let its_own = format!("{text} // {round}");
                let answer = rows(&same, text, inside);
                failed += u32::from(answer.is_err());
                assert_eq!(
                    answer,
                    rows(&other, &its_own, inside),
                    "{text}, round {round}"
                );
            }
        }
        assert!(failed >= 2, "{failed}: some fail");
        let all = "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) \
            RETURN id(n), labels(n), properties(n), type(r), properties(r), id(m) ORDER BY id(n), \
            id(m), type(r)";
        let read = |db: &Database| {
            let rows = db.connect().query(all, &Params::new()).expect("read");
            rows.map(|row| row.expect("a row").into_values())
                .collect::<Vec<_>>()
        };
        assert!(read(&same).len() > 10);
        assert_eq!(read(&same), read(&other));
        let holders = same.inner().expect("here").budget.holders();
        let of_operators = [
            "NodeSeek",
            "Expand",
            "Create",
            "Set",
            "Project",
            "Aggregate",
        ];
        let held = holders
            .into_iter()
            .find(|it| of_operators.contains(&it.tag) && it.bytes > 0);
        assert_eq!(held, None);
        let inner = Arc::downgrade(same.inner().expect("here"));
        drop(same);
        assert!(inner.upgrade().is_none(), "plans hold no database");
    }
}
