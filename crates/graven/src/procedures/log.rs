//! What the log did: commits, syncs and how long they took, in one row.

use std::sync::Arc;

use graven_exec::Value;

use super::{Rows, integer};
use crate::instance::Instance;

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn stats(db: &Arc<Instance>, _: &[Value]) -> Result<Rows, String> {
    let stats = db.store.log_stats();
    let milliseconds = |nanoseconds: u64| Value::Float(nanoseconds as f64 / 1e6);
    Ok(vec![vec![
        integer(stats.commit_ns.count()),
        milliseconds(stats.commit_ns.percentile(0.5)),
        milliseconds(stats.commit_ns.percentile(0.99)),
        integer(stats.sync_ns.count()),
        milliseconds(stats.sync_ns.percentile(0.5)),
        milliseconds(stats.sync_ns.percentile(0.99)),
        Value::Float(stats.group.mean()),
        integer(stats.bytes_written),
        integer(stats.end.0.saturating_sub(stats.durable.0)),
        integer(stats.live_bytes),
        integer(stats.free_bytes),
    ]])
}
