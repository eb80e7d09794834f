//! Keeps the rows whose predicate is true.
//!
//! # How it works
//! Where few rows of a batch are kept, they wait for those of the next batches: what reads
//! properties of them then asks for many pages at once, and works through full batches. The first
//! rows never wait, and the wait doubles from batch to batch, so no more than twice the input is
//! read that a `LIMIT` above needs.
//!
//! # Invariants
//! * EX-88 Rows leave in the order in which they came, and before an error that the input or the
//!   predicate has behind them.
//!
//! # Costs
//! Rows that wait are copied once more. Up to [`ENOUGH`] rows wait, of at most [`BYTES`] bytes and
//! one batch, fewer under a small budget, and not much longer than [`WAIT`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Rows};
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;

/// Rows that wait for no others.
const ENOUGH: usize = 256;
/// Bytes of rows that wait for no others.
const BYTES: usize = 64 << 10;
/// The most batches of the input that rows wait for.
const PATIENCE_MAX: u32 = 64;
/// Rows that have waited so long leave with the next batch of a slow input.
const WAIT: Duration = Duration::from_millis(100);

/// See the file header.
pub(crate) struct Filter {
    input: BoxedOperator,
    predicate: Arc<Compiled>,
    /// Batches of the input that rows wait for.
    patience: u32,
    /// What came behind rows that left.
    late: Option<ExecError>,
}

impl Filter {
    /// Filters `input`.
    pub(crate) fn new(input: BoxedOperator, predicate: Arc<Compiled>) -> Self {
        Self {
            input,
            predicate,
            patience: 1,
            late: None,
        }
    }

    /// What is kept of the next batch, perhaps nothing.
    fn kept(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        let kept = self.predicate.true_rows(Rows::all(&batch), rt)?;
        Ok(Some(match kept.len() == batch.len() {
            true => batch,
            false => batch.gather(&kept),
        }))
    }
}

impl PhysicalOperator for Filter {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if let Some(error) = self.late.take() {
            return Err(error);
        }
        let (mut first, mut more) = (None, Vec::new());
        let (mut rows, mut bytes, mut read) = (0, 0, 0);
        let (enough, most) = (ENOUGH.min(rt.batch_rows()), BYTES.min(rt.batch_bytes()));
        let mut since = None;
        while rows < enough && bytes < most && (rows == 0 || read < self.patience) {
            let batch = match self.kept(rt) {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(error) if rows == 0 => return Err(error),
                Err(error) => {
                    self.late = Some(error);
                    break;
                }
            };
            read += 1;
            if batch.is_empty() {
                continue;
            }
            rows += batch.len();
            if self.patience > 1 {
                bytes += batch.heap_bytes();
                let since = *since.get_or_insert_with(Instant::now);
                if since.elapsed() > WAIT {
                    read = self.patience;
                }
            }
            match first {
                None => first = Some(batch),
                Some(_) => more.push(batch),
            }
        }
        self.patience = (self.patience * 2).min(PATIENCE_MAX);
        Ok(match (first, more.is_empty()) {
            (Some(first), false) => {
                more.insert(0, first);
                Some(Batch::concat(&more))
            }
            (first, _) => first,
        })
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.patience = 1;
        self.late = None;
    }
}
