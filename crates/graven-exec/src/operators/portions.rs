//! Rows of a batch, as many at a time as what is computed of them has room for.
//!
//! # How it works
//! An operator that computes columns of a batch, and writes or groups what they hold, needs both at
//! once: the columns, and room for pages or groups. The columns stay charged to the statement until
//! the work on them is done ([`Held`]). Where there is no room for those of all rows, half of the
//! rows come first, and so on: only a single row may be too large.
//!
//! # Costs
//! One batch of rows as a rule, without a copy. After a refusal the rows are sliced, and computed
//! again.

use crate::batch::Batch;
use crate::error::Result;
use crate::growth::Held;
use crate::query_context::QueryContext;

/// Hands what `compute` makes of rows to `work`, until all rows of the batch are done.
///
/// # Errors
/// Those of `work`; those of `compute`, where it is not for want of memory, or for a single row.
pub(crate) fn in_portions<T>(
    batch: &Batch,
    rt: &QueryContext,
    mut compute: impl FnMut(&Batch, &Held) -> Result<T>,
    mut work: impl FnMut(&Batch, T) -> Result<()>,
) -> Result<()> {
    let (mut done, mut some) = (0, batch.len());
    while done < batch.len() {
        let end = batch.len().min(done + some);
        let sliced = (end - done < batch.len()).then(|| batch.slice(done, end));
        let rows = sliced.as_ref().unwrap_or(batch);
        let held = rt.growth.hold();
        match compute(rows, &held) {
            Err(error) if error.is_of_memory() && rows.len() > 1 => some = rows.len() / 2,
            Err(error) => return Err(error),
            Ok(computed) => {
                work(rows, computed)?;
                done = end;
            }
        }
    }
    Ok(())
}
