//! Rows of a batch, as many at a time as what is computed of them has room for.
//!
//! # How it works
//! An operator that computes columns of a batch, and writes or groups what they hold, needs both at
//! once: the columns, and room for pages or groups. The columns stay charged to the statement until
//! the work on them is done ([`Held`]). Where there is no room for those of all rows, a quarter of
//! the rows come first, and so on: only a single row may be too large. Operators that hand computed
//! rows on ([`super::project`]) take as many in the same way, and charge them until the next.
//!
//! # Costs
//! One batch of rows as a rule, without a copy. After a refusal the rows are sliced, and computed
//! again.

use std::borrow::Cow;

use crate::batch::Batch;
use crate::error::Result;
use crate::growth::Held;
use crate::query_context::QueryContext;

/// After a refusal so many times fewer rows are tried: those that just fit leave no room for what
/// comes behind them.
const FEWER: usize = 4;

/// What `compute` makes of the rows from number `from` on, `most` of them or as many as there is
/// room for, and these rows.
///
/// # Errors
/// Those of `compute`, where it is not for want of memory, or for a single row.
pub(crate) fn some_rows<T>(
    batch: &Batch,
    from: usize,
    most: usize,
    mut compute: impl FnMut(&Batch) -> Result<T>,
) -> Result<(T, Cow<'_, Batch>)> {
    let mut some = most;
    loop {
        let rows = match some < batch.len() {
            true => Cow::Owned(batch.slice(from, from + some)),
            false => Cow::Borrowed(batch),
        };
        match compute(&rows) {
            Err(error) if error.is_of_memory() && some > 1 => some = (some / FEWER).max(1),
            computed => return Ok((computed?, rows)),
        }
    }
}

/// Hands what `compute` makes of rows to `work`, until all rows of the batch are done.
///
/// # Errors
/// Those of `work`, and as [`some_rows`].
pub(crate) fn in_portions<T>(
    batch: &Batch,
    rt: &QueryContext,
    mut compute: impl FnMut(&Batch, &Held) -> Result<T>,
    mut work: impl FnMut(&Batch, T) -> Result<()>,
) -> Result<()> {
    let (mut done, mut some) = (0, batch.len());
    while done < batch.len() {
        let most = some.min(batch.len() - done);
        let ((computed, held), rows) = some_rows(batch, done, most, |rows| {
            let held = rt.growth.hold();
            Ok((compute(rows, &held)?, held))
        })?;
        some = rows.len();
        done += some;
        work(&rows, computed)?;
        drop(held);
    }
    Ok(())
}
