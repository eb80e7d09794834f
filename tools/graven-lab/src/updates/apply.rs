//! Several threads apply operations, others read what is acknowledged.
//!
//! # How it works
//! Operations are dealt out to the writers in turn. A writer waits with one until those that make
//! what it refers to are acknowledged. These stand earlier in the stream, so some writer can always
//! go on. Readers draw an acknowledged message and count what hangs on it: a message whose
//! transaction is acknowledged is there, with all that it was made with.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use graven::pagecache::record::set_query;
use graven::{Database, Params, Value};

use super::stream::{Entity, Operation};
use super::{Applied, Settings};

/// The statement of each kind of operation.
const STATEMENTS: [&str; 8] = [
    include_str!("../../../../queries/ldbc/IU1.cypher"),
    include_str!("../../../../queries/ldbc/IU2.cypher"),
    include_str!("../../../../queries/ldbc/IU3.cypher"),
    include_str!("../../../../queries/ldbc/IU4.cypher"),
    include_str!("../../../../queries/ldbc/IU5.cypher"),
    include_str!("../../../../queries/ldbc/IU6.cypher"),
    include_str!("../../../../queries/ldbc/IU7.cypher"),
    include_str!("../../../../queries/ldbc/IU8.cypher"),
];

/// Author and place, and what it answers or is contained in.
const WHOLE: &str = "MATCH (m:Message {id: $id}) RETURN COUNT { (m)-[:HAS_CREATOR]->() } + COUNT { \
    (m)-[:IS_LOCATED_IN]->() } AS ends, \
                     COUNT { (m)-[:REPLY_OF]->() } + COUNT { (m)<-[:CONTAINER_OF]-() } AS parents";

/// How far the writers have come.
struct Progress {
    done: Vec<AtomicBool>,
    /// Messages whose transactions are acknowledged.
    messages: Mutex<Vec<i64>>,
    waiting: (Mutex<()>, Condvar),
    /// Writers that have not come to their end.
    writing: AtomicU64,
    failed: AtomicBool,
    /// Operations that waited for no page.
    calm: AtomicU64,
}

impl Progress {
    fn finish(&self, place: usize, operation: &Operation) {
        if let Some(Entity::Message(id)) = operation.creates() {
            self.messages
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(id);
        }
        let _lock = self
            .waiting
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.done[place].store(true, Ordering::Release);
        self.waiting.1.notify_all();
    }

    /// Waits until all these are done; false if a thread has failed.
    fn wait_for(&self, places: &[usize]) -> bool {
        let mut lock = self
            .waiting
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.failed.load(Ordering::Acquire) {
                return false;
            }
            if places
                .iter()
                .all(|place| self.done[*place].load(Ordering::Acquire))
            {
                return true;
            }
            lock = self
                .waiting
                .1
                .wait(lock)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn fail(&self) {
        let _lock = self
            .waiting
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.failed.store(true, Ordering::Release);
        self.waiting.1.notify_all();
    }
}

/// Applies all operations, each recorded as a query of its own.
pub(super) fn apply(
    db: &Database,
    operations: &[Operation],
    settings: &Settings,
) -> Result<Applied, String> {
    let made: HashMap<Entity, usize> = operations
        .iter()
        .enumerate()
        .filter_map(|(place, operation)| Some((operation.creates()?, place)))
        .collect();
    let progress = Progress {
        done: operations.iter().map(|_| AtomicBool::new(false)).collect(),
        messages: Mutex::default(),
        waiting: Default::default(),
        writing: AtomicU64::new(settings.writers as u64),
        failed: AtomicBool::new(false),
        calm: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..settings.writers)
            .map(|writer| {
                let (progress, made) = (&progress, &made);
                scope.spawn(move || {
                    let outcome = write(db, operations, (writer, settings), made, progress);
                    if outcome.is_err() {
                        progress.fail();
                    }
                    progress.writing.fetch_sub(1, Ordering::AcqRel);
                    outcome
                })
            })
            .collect();
        let readers: Vec<_> = (0..settings.readers)
            .map(|reader| {
                let progress = &progress;
                scope.spawn(move || read(db, reader as u64 + 1, progress))
            })
            .collect();
        for writer in writers {
            writer.join().map_err(|_| "a writer has panicked")??;
        }
        let mut reads = 0;
        for reader in readers {
            reads += reader.join().map_err(|_| "a reader has panicked")??;
        }
        Ok(Applied {
            operations: operations.len(),
            reads,
            calm: progress.calm.load(Ordering::Relaxed),
        })
    })
}

fn write(
    db: &Database,
    operations: &[Operation],
    (writer, settings): (usize, &Settings),
    made: &HashMap<Entity, usize>,
    progress: &Progress,
) -> Result<(), String> {
    let connection = db.connect().with_options(settings.options.clone());
    for (place, operation) in operations
        .iter()
        .enumerate()
        .skip(writer)
        .step_by(settings.writers)
    {
        let needs = operation.needs();
        let before: Vec<usize> = needs
            .iter()
            .filter_map(|entity| made.get(entity).copied())
            .collect();
        if !progress.wait_for(&before) {
            return Ok(());
        }
        set_query(place as u32 + 1);
        let statement = STATEMENTS[usize::from(operation.kind) - 1];
        let result = connection.query(statement, &params(operation));
        let result = result.map_err(|e| format!("{operation:?}: {}", e.render()))?;
        let summary = result.summary();
        let is_calm = summary.pages.total().blocked == 0;
        progress
            .calm
            .fetch_add(u64::from(is_calm), Ordering::Relaxed);
        if !summary.counters.any() {
            return Err(format!("{operation:?}: nothing was changed"));
        }
        progress.finish(place, operation);
    }
    Ok(())
}

/// Asks for acknowledged messages until the writers are at their end.
fn read(db: &Database, seed: u64, progress: &Progress) -> Result<u64, String> {
    let connection = db.connect();
    let (mut reads, mut chance) = (0, seed);
    while progress.writing.load(Ordering::Acquire) > 0 {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        let drawn = {
            let messages = progress
                .messages
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            match messages.len() as u64 {
                0 => None,
                count => messages.get((chance % count) as usize).copied(),
            }
        };
        let Some(id) = drawn else {
            std::thread::yield_now();
            continue;
        };
        let asked = connection.query(WHOLE, &Params::new().with("id", id));
        let rows: Result<Vec<_>, _> = asked.and_then(Iterator::collect);
        let rows = rows.map_err(|e| format!("message {id}: {}", e.render()))?;
        let whole = [Value::Integer(2), Value::Integer(1)];
        if rows.len() != 1 || rows[0].values() != whole {
            progress.fail();
            return Err(format!(
                "message {id} is acknowledged and not whole: {rows:?}"
            ));
        }
        reads += 1;
    }
    Ok(reads)
}

/// Parameters of the statement of an operation.
fn params(operation: &Operation) -> Params {
    let number = |field| Value::Integer(operation.number(field));
    let text = |field| match operation.text(field) {
        "" => Value::Null,
        text => Value::from(text),
    };
    let texts = |field| match operation.list(field).map(Value::from).collect::<Vec<_>>() {
        none if none.is_empty() => Value::Null,
        texts => Value::List(texts),
    };
    let ids = |field| {
        let ids = operation.list(field).filter_map(|id| id.parse().ok());
        Value::List(ids.map(Value::Integer).collect())
    };
    let pairs = |field| {
        let pair = |(id, year)| {
            let entries = [("id", id), ("year", year)];
            let entries = entries.map(|(name, number)| (name.into(), Value::Integer(number)));
            Value::Map(BTreeMap::from(entries))
        };
        Value::List(operation.pairs(field).map(pair).collect())
    };
    let given: Vec<(&str, Value)> = match operation.kind {
        1 => vec![
            ("personId", number(0)),
            ("firstName", text(1)),
            ("lastName", text(2)),
            ("gender", text(3)),
            ("birthday", number(4)),
            ("creationDate", number(5)),
            ("locationIP", text(6)),
            ("browserUsed", text(7)),
            ("cityId", number(8)),
            ("languages", texts(9)),
            ("emails", texts(10)),
            ("tagIds", ids(11)),
            ("studyAt", pairs(12)),
            ("workAt", pairs(13)),
        ],
        2 => vec![
            ("personId", number(0)),
            ("postId", number(1)),
            ("creationDate", number(2)),
        ],
        3 => vec![
            ("personId", number(0)),
            ("commentId", number(1)),
            ("creationDate", number(2)),
        ],
        4 => vec![
            ("forumId", number(0)),
            ("title", text(1)),
            ("creationDate", number(2)),
            ("moderatorId", number(3)),
            ("tagIds", ids(4)),
        ],
        5 => vec![
            ("forumId", number(0)),
            ("personId", number(1)),
            ("joinDate", number(2)),
        ],
        6 => vec![
            ("postId", number(0)),
            ("imageFile", text(1)),
            ("creationDate", number(2)),
            ("locationIP", text(3)),
            ("browserUsed", text(4)),
            ("language", text(5)),
            ("content", text(6)),
            ("length", number(7)),
            ("authorId", number(8)),
            ("forumId", number(9)),
            ("countryId", number(10)),
            ("tagIds", ids(11)),
        ],
        7 => vec![
            ("commentId", number(0)),
            ("creationDate", number(1)),
            ("locationIP", text(2)),
            ("browserUsed", text(3)),
            ("content", text(4)),
            ("length", number(5)),
            ("authorId", number(6)),
            ("countryId", number(7)),
            ("parentId", Value::Integer(operation.parent())),
            ("tagIds", ids(10)),
        ],
        _ => {
            let (a, b) = (operation.number(0), operation.number(1));
            vec![
                ("firstId", Value::Integer(a.min(b))),
                ("secondId", Value::Integer(a.max(b))),
                ("creationDate", number(2)),
            ]
        }
    };
    given
        .into_iter()
        .fold(Params::new(), |params, (name, value)| {
            params.with(name, value)
        })
}
