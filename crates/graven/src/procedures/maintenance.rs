//! What `graven check`, `graven info` and `graven checkpoint` do, for statements: so a process asks
//! the one that has the database open.

use std::sync::Arc;
use std::time::Instant;

use graven_exec::{Deadline, ExecError, Value};
use graven_storage::Until;

use super::{DatabaseProcedures, Rows, integer};
use crate::check;
use crate::info;
use crate::instance::Instance;

/// How long the statement that calls a procedure wants its work.
pub(super) fn until(caller: &DatabaseProcedures) -> Until {
    let context = &caller.context;
    let left = context.deadline.map(Deadline::left);
    Until {
        moment: left.and_then(|left| Instant::now().checked_add(left)),
        cancelled: Some(Arc::clone(&context.cancel)),
    }
}

/// Fails where the statement that calls a procedure has to end.
pub(super) fn ended(caller: &DatabaseProcedures) -> Result<(), ExecError> {
    Deadline::check(caller.context.deadline, &caller.context.cancel)
}

/// One row for each store that was read, and one for each problem.
pub(super) fn check(caller: &DatabaseProcedures, _: &[Value]) -> Result<Rows, ExecError> {
    let until = until(caller);
    let stop = || until.is_over();
    let report = check::check(&caller.database.store, &mut |_| {}, &stop);
    ended(caller)?;
    let checked = report.checked.iter();
    let sound =
        checked.map(|(store, entries)| vec![Value::text(store), integer(*entries), Value::Null]);
    let problems = report.problems.iter();
    let damaged = problems.map(|problem| vec![Value::Null, Value::Null, Value::text(problem)]);
    Ok(sound.chain(damaged).collect())
}

/// One row, or none where everything is in the data file.
pub(super) fn checkpoint(caller: &DatabaseProcedures, _: &[Value]) -> Result<Rows, ExecError> {
    let mut options = graven_storage::CheckpointOptions::default();
    options.until = until(caller);
    // The caller waits for it.
    options.paced = false;
    let report = caller.database.store.checkpoint(options);
    let report = report.map_err(|error| match ended(caller) {
        Ok(()) => ExecError::Procedure {
            name: "graven.checkpoint".to_owned(),
            message: error.to_string(),
        },
        Err(ended) => ended,
    })?;
    let row = |report: graven_storage::CheckpointReport| {
        vec![
            integer(report.checkpoint),
            integer(report.written_bytes),
            integer(report.freed_bytes),
            integer(report.file_bytes),
            integer(report.held_bytes),
        ]
    };
    Ok(report.into_iter().map(row).collect())
}

/// One row.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn info(db: &Arc<Instance>, _: &[Value]) -> Result<Rows, String> {
    let info = info::describe(db);
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::text);
    let counts = |list: &[(String, u64)]| {
        let entries = list.iter();
        Value::map(
            entries
                .map(|(name, count)| (Arc::from(&**name), integer(*count)))
                .collect(),
        )
    };
    let described = |name: &str, numbers: &[(&str, u64)]| {
        let numbers = numbers.iter();
        let numbers = numbers.map(|(key, number)| (Arc::from(*key), integer(*number)));
        let name = (Arc::from("name"), Value::text(name));
        Value::map(std::iter::once(name).chain(numbers).collect())
    };
    let types = info.types.iter().map(|one| {
        let numbers = [
            ("relationships", one.relationships),
            ("bytes", one.adjacency_bytes),
        ];
        described(&one.name, &numbers)
    });
    let stores = info.stores.iter().map(|one| {
        let numbers = [
            ("pages", one.pages),
            ("bytes", one.bytes),
            ("entries", one.entries),
        ];
        described(&one.name, &numbers)
    });
    Ok(vec![vec![
        integer(info.file_bytes),
        integer(info.nodes),
        integer(info.relationships),
        counts(&info.labels),
        Value::list(types.collect()),
        Value::list(stores.collect()),
        text(&info.superblock_damage),
        Value::text(&info.reading.mode),
        text(&info.reading.mode_reason),
        integer(info.reading.alignment as u64),
        Value::text(&info.reading.queue),
        text(&info.reading.queue_reason),
        integer(info.memory),
        Value::text(&info.policy),
        counts(&info.holders),
    ]])
}
