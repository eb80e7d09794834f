//! The result of a statement: rows one after another, then what it cost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use graven_cypher::Plan;
use graven_cypher::plan::PlanMode;
use graven_exec::{Batch, ExecError, Execution};
use graven_pagecache::{PerKind, Scope};
use graven_storage::Snapshot;

use crate::error::Error;
use crate::materialise::Materialiser;
use crate::plan_text;
use crate::value::Value;

/// Rows of a statement. Owns its view of the data, keeps no page between batches; dropping it ends the
/// statement.
pub struct QueryResult {
    plan: Arc<Plan>,
    columns: Arc<[String]>,
    execution: Option<Execution>,
    values: Materialiser,
    batch: Option<(Batch, usize)>,
    rows: u64,
    pages: PerKind,
    begun: Instant,
    elapsed: Option<Duration>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

impl Row {
    /// The value of a column by its 0-based place.
    #[must_use]
    pub fn get(&self, column: usize) -> Option<&Value> {
        self.values.get(column)
    }

    /// The value of a column by its heading.
    #[must_use]
    pub fn get_by_name(&self, column: &str) -> Option<&Value> {
        let place = self.columns.iter().position(|name| name == column)?;
        self.values.get(place)
    }

    /// All values in the order of the columns.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// All values, taken out.
    #[must_use]
    pub fn into_values(self) -> Vec<Value> {
        self.values
    }
}

/// What is known of a statement besides its rows; complete when the rows are at their end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Rows given so far.
    pub rows: u64,
    /// Time from the start to the last row, that of the reader included.
    pub elapsed: Duration,
    /// What is worth knowing of the statement.
    pub notices: Vec<Notice>,
    /// What happened to pages of each kind on behalf of this statement.
    pub pages: PerKind,
}

/// Something worth telling about a valid statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Stable code, for example `UnknownLabel`.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// 1-based line and column, where it has a place in the text.
    pub position: Option<(u32, u32)>,
}

impl QueryResult {
    pub(crate) fn start(
        plan: Arc<Plan>,
        snapshot: Snapshot,
        execute: impl FnOnce(Arc<Plan>, Snapshot) -> Result<Execution, ExecError>,
    ) -> Result<Self, Error> {
        let begun = Instant::now();
        let scope = Scope::start();
        let execution = match plan.mode {
            PlanMode::Explain => None,
            PlanMode::Execute | PlanMode::Profile => {
                Some(execute(Arc::clone(&plan), snapshot.clone())?)
            }
        };
        let columns: Vec<String> = plan
            .columns
            .iter()
            .map(|(name, _)| name.to_string())
            .collect();
        Ok(QueryResult {
            columns: columns.into(),
            execution,
            values: Materialiser::new(snapshot),
            batch: None,
            rows: 0,
            pages: scope.finish(),
            begun,
            elapsed: None,
            plan,
        })
    }

    /// Headings, in order; none for statements without `RETURN`.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The next row, or none at the end.
    ///
    /// # Errors
    /// What goes wrong while the statement runs. It has ended then; another call gives no row.
    pub fn next_row(&mut self) -> Result<Option<Row>, Error> {
        let scope = Scope::start();
        let row = self.advance();
        self.pages += &scope.finish();
        if !matches!(row, Ok(Some(_))) && self.elapsed.is_none() {
            self.elapsed = Some(self.begun.elapsed());
        }
        row
    }

    fn advance(&mut self) -> Result<Option<Row>, Error> {
        while self
            .batch
            .as_ref()
            .is_none_or(|(batch, at)| *at >= batch.len())
        {
            let Some(execution) = &mut self.execution else {
                return Ok(None);
            };
            if self.elapsed.is_some() {
                return Ok(None);
            }
            let Some(batch) = execution.next_batch()? else {
                return Ok(None);
            };
            self.values.next_batch();
            self.batch = Some((batch, 0));
        }
        let Some((batch, at)) = &mut self.batch else {
            return Ok(None);
        };
        let row = batch.row(*at);
        *at += 1;
        let values = row.into_iter().map(|value| self.values.value(value));
        let values = values.collect::<Result<Vec<Value>, Error>>()?;
        self.rows += 1;
        Ok(Some(Row {
            columns: Arc::clone(&self.columns),
            values,
        }))
    }

    /// What is known so far besides the rows.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let notices = self.plan.notices.iter().map(|notice| Notice {
            code: notice.code.to_owned(),
            message: notice.message.clone(),
            position: notice.position,
        });
        Summary {
            rows: self.rows,
            elapsed: self.elapsed.unwrap_or_else(|| self.begun.elapsed()),
            notices: notices.collect(),
            pages: self.pages,
        }
    }

    /// Whether the statement began with `EXPLAIN`: it has a plan and no rows.
    #[must_use]
    pub fn is_explain(&self) -> bool {
        self.plan.mode == PlanMode::Explain
    }

    /// Whether the statement began with `PROFILE`.
    #[must_use]
    pub fn is_profile(&self) -> bool {
        self.plan.mode == PlanMode::Profile
    }

    /// The plan as text, for `EXPLAIN` and, with what each step did so far, for `PROFILE`.
    #[must_use]
    pub fn plan(&self) -> Option<String> {
        match self.plan.mode {
            PlanMode::Execute => None,
            PlanMode::Explain => Some(
                graven_cypher::explain::explain(&self.plan)
                    .trim_end()
                    .to_owned(),
            ),
            PlanMode::Profile => self
                .execution
                .as_ref()
                .map(|e| plan_text::profile(&self.plan, &e.profile())),
        }
    }
}

impl Iterator for QueryResult {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().transpose()
    }
}

impl std::fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryResult")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}
