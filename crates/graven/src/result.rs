//! A statement that runs in this process: rows one after another, then what it cost.

use crate::counts::Counts;
use crate::row::Row;
use crate::summary::Notice;
use crate::summary::StatementKind;
use crate::summary::Summary;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graven_cypher::Plan;
use graven_cypher::explain::{Step, explain_steps};
use graven_cypher::plan::{Operator, PlanMode};
use graven_exec::{Batch, ExecError, Execution, ProfileTree};
use graven_pagecache::{Budget, PerKind, Reservation};
use graven_storage::{Snapshot, Transaction, WriteCounters};

use crate::error::Error;
use crate::materialise::Materialiser;
use crate::plan_cache::CompiledStatement;
use crate::plan_steps::{PlanStep, steps};
use crate::plan_text;
use crate::rows::Rows;
use crate::statements::StatementGuard;
use crate::summary::Commit;
use crate::value::Value;
use crate::within::Within;

/// Rows of a statement run here. Owns its view of the data, keeps no page between batches; dropping
/// it ends the statement.
pub(crate) struct LocalCursor {
    plan: Arc<Plan>,
    /// The statement, for the places of errors.
    text: Arc<str>,
    /// What the plan is charged.
    _plan_memory: Option<Arc<Reservation>>,
    kind: StatementKind,
    columns: Arc<[String]>,
    /// Boxed, as all that makes a result large.
    execution: Option<Box<Execution>>,
    values: Materialiser,
    batch: Option<(Batch, usize)>,
    /// Whether no page is read to complete the rows of the batch, so that nothing needs counting.
    is_complete: bool,
    /// Rows of a statement that has run to its end, with the memory they take.
    kept: Option<(std::vec::IntoIter<Row>, Reservation)>,
    counters: WriteCounters,
    commit: Option<Commit>,
    profile: Option<String>,
    rows: u64,
    counts: Counts,
    begun: Instant,
    elapsed: Option<Duration>,
    /// How long planning took.
    planning: Duration,
    /// Its place among the statements that run.
    guard: Option<StatementGuard>,
    /// Its place among the statements of its transaction, and what becomes of that.
    within: Option<Within>,
    /// What its operators did, once they are gone.
    profile_tree: Option<ProfileTree>,
    /// The operators of its physical plan, where they are shown.
    shown: Option<Step>,
}

/// Bytes of values that are handed out at once where they must be read for that.
const ROWS_BYTES: usize = 1 << 20;

impl LocalCursor {
    pub(crate) fn start(
        planned: CompiledStatement,
        snapshot: Snapshot,
        begun: Instant,
        execute: impl FnOnce(Arc<Plan>, Snapshot) -> Result<Execution, ExecError>,
    ) -> Result<Self, Error> {
        let mut counts = Counts::start();
        let CompiledStatement {
            plan,
            columns,
            text,
            does,
            memory,
            planning,
            ..
        } = planned;
        let execution = execute(Arc::clone(&plan), snapshot.clone());
        let execution = execution.map_err(|error| Error::running(error, &text))?;
        let shown = (plan.mode != PlanMode::Execute).then(|| execution.physical().steps(&plan));
        let runs = plan.mode != PlanMode::Explain;
        let execution = runs.then(|| Box::new(execution));
        counts.add();
        let mut values = Materialiser::new(snapshot);
        if let Some(execution) = &execution {
            values.charge_to(execution.budget());
        }
        Ok(LocalCursor {
            columns,
            execution,
            values,
            batch: None,
            is_complete: false,
            kept: None,
            counters: WriteCounters::default(),
            commit: None,
            profile: None,
            rows: 0,
            counts,
            begun,
            elapsed: None,
            planning,
            guard: None,
            within: None,
            profile_tree: None,
            shown,
            plan,
            text,
            _plan_memory: memory,
            kind: does.kind,
        })
    }

    /// Runs at this place until its last row.
    pub(crate) fn sits(&mut self, guard: StatementGuard) {
        self.guard = Some(guard);
    }

    /// Runs within a transaction, until its last row.
    pub(crate) fn is_within(&mut self, within: Within) {
        self.within = Some(within);
    }

    /// Runs to the end and keeps the rows that are left.
    pub(crate) fn keep_rows(&mut self) -> Result<(), Error> {
        let Some(budget) = self.execution.as_ref().map(|it| Arc::clone(it.budget())) else {
            return Ok(());
        };
        if self.kept.is_some() || self.elapsed.is_some() {
            return Ok(());
        }
        let mut memory = budget.empty_reservation("result");
        let mut rows = Vec::new();
        while let Some(row) = self.next_row()? {
            let bytes: usize = row.values.iter().map(Value::bytes).sum();
            memory.grow(bytes as u64).map_err(Error::of_kept_rows)?;
            rows.push(row);
        }
        self.rows -= rows.len() as u64;
        self.kept = Some((rows.into_iter(), memory));
        Ok(())
    }

    /// As [`crate::QueryResult::check`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        match &self.execution {
            Some(execution) => {
                let checked = execution.check_cancelled();
                checked.map_err(|error| Error::running(error, &self.text))
            }
            None => Ok(()),
        }
    }

    /// The budget of its rows.
    pub(crate) fn budget(&self) -> Option<Arc<Budget>> {
        let kept = self.kept.as_ref().map(|(_, memory)| memory.budget());
        let running = self.execution.as_ref().map(|it| it.budget());
        kept.or(running).map(Arc::clone)
    }

    /// Headings, in order; none for statements without `RETURN`.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Declared types of the columns.
    pub(crate) fn declared_types(&self) -> Vec<Option<String>> {
        let declared = self.plan.declared.iter();
        declared
            .map(|of| of.as_deref().map(str::to_owned))
            .collect()
    }

    /// The next row, or none at the end.
    ///
    /// # Errors
    /// What goes wrong while the statement runs. It has ended then; another call gives no row.
    pub(crate) fn next_row(&mut self) -> Result<Option<Row>, Error> {
        if let Some(within) = &self.within
            && self.kept.is_none()
        {
            within.check()?;
        }
        if self.is_at_hand() {
            return self.take_row().map(Some);
        }
        self.works();
        let row = self.advance();
        self.counts.add();
        if !matches!(row, Ok(Some(_))) {
            self.ended(row.is_ok());
        }
        row
    }

    /// The next rows in columns, or none at the end.
    ///
    /// # Errors
    /// As [`LocalCursor::next_row`].
    pub(crate) fn next_rows(&mut self) -> Result<Option<Rows>, Error> {
        self.works();
        let rows = self.advance_rows();
        self.counts.add();
        if !matches!(rows, Ok(Some(_))) {
            self.ended(rows.is_ok());
        }
        rows
    }

    /// Computes the first rows, and keeps them for the caller: for a statement that does something
    /// whether or not its rows are read.
    pub(crate) fn begin_now(&mut self) -> Result<(), Error> {
        self.works();
        let loaded = self.load();
        self.counts.add();
        loaded.map(|_| ())
    }

    /// The calling thread goes on with the statement.
    fn works(&mut self) {
        if let Some(guard) = &self.guard {
            guard.works();
        }
        self.counts.scope.start_again();
    }

    /// There are no more rows; `well`: nothing went wrong.
    fn ended(&mut self, well: bool) {
        if self.elapsed.is_none() {
            self.elapsed = Some(self.begun.elapsed());
            self.guard = None;
            if let Some(within) = &mut self.within {
                within.ended(well);
            }
            // After an error there may be rows left.
            self.batch = None;
        }
    }

    /// Runs the statement to its end and keeps its rows. Nodes and relationships are given as they
    /// are then.
    pub(crate) fn complete(
        mut self,
        budget: &Arc<Budget>,
        before: &WriteCounters,
        transaction: &Transaction,
    ) -> Result<Self, Error> {
        self.counts.scope.start_again();
        let mut memory = budget.empty_reservation("result");
        let mut batches = Vec::new();
        if let Some(execution) = &mut self.execution {
            let text = &self.text;
            let mut next = || execution.next_batch().map_err(|e| Error::running(e, text));
            while let Some(batch) = next()? {
                memory
                    .grow(batch.heap_bytes() as u64)
                    .map_err(Error::of_kept_rows)?;
                batches.push(batch);
            }
            let checked = execution.check_unique_keys();
            checked.map_err(|e| Error::running(e, text))?;
        }
        let deleted = self.execution.as_ref().map(|it| it.take_deleted());
        self.values = Materialiser::at_the_end(transaction.snapshot(), deleted.unwrap_or_default());
        let mut rows = Vec::new();
        for batch in batches {
            self.values.next_batch();
            for row in 0..batch.len() {
                let values = batch.row(row).into_iter().map(|v| self.values.value(v));
                let values = values.collect::<Result<Vec<Value>, Error>>()?;
                let bytes: usize = values.iter().map(Value::bytes).sum();
                memory.grow(bytes as u64).map_err(Error::of_kept_rows)?;
                rows.push(Row {
                    columns: Arc::clone(&self.columns),
                    values,
                });
            }
        }
        self.counters = transaction.counters() - *before;
        if self.plan.mode == PlanMode::Profile {
            let execution = self.execution.as_ref();
            self.profile_tree = execution.map(|e| e.profile());
            let tree = self.profile_tree.as_ref();
            let shown = self.shown.as_ref().zip(tree);
            self.profile = shown.map(|(steps, tree)| plan_text::profile(&self.plan, steps, tree));
        }
        self.kept = Some((rows.into_iter(), memory));
        self.execution = None;
        self.counts.add();
        Ok(self)
    }

    /// Notes what the commit of the statement did.
    pub(crate) fn committed(&mut self, commit: Commit) {
        if let Some(profile) = &mut self.profile {
            profile.push_str(&format!(
                "\ncommit: {} bytes of log, {:.3} ms waited for the device, {} commit{} shared the \
                    wait, ",
                commit.log_bytes,
                commit.waited.as_secs_f64() * 1e3,
                commit.group,
                if commit.group == 1 { "" } else { "s" },
            ));
            profile.push_str(&match commit.checkpoint.is_zero() {
                true => "no concurrent checkpoint".to_owned(),
                false => format!(
                    "a concurrent checkpoint for {:.3} ms",
                    commit.checkpoint.as_secs_f64() * 1e3
                ),
            });
        }
        self.commit = Some(commit);
    }

    /// Nodes and relationships that the statement made.
    pub(crate) fn created(&self) -> (u64, u64) {
        let counters = &self.counters;
        (counters.nodes_created, counters.relationships_created)
    }

    /// Notes what the batches of a subquery in transactions did before what is left of the
    /// statement.
    pub(crate) fn batches_done(
        &mut self,
        pages: &PerKind,
        counters: WriteCounters,
        commit: Option<Commit>,
    ) {
        self.counts.pages += pages;
        self.counters += counters;
        self.commit = match (self.commit, commit) {
            (Some(last), Some(before)) => Some(last.after(before)),
            (last, before) => last.or(before),
        };
    }

    fn advance(&mut self) -> Result<Option<Row>, Error> {
        if let Some((rows, _)) = &mut self.kept {
            let row = rows.next();
            self.rows += u64::from(row.is_some());
            if row.is_none() {
                self.kept = None;
            }
            return Ok(row);
        }
        match self.load()? {
            true => self.take_row().map(Some),
            false => Ok(None),
        }
    }

    fn advance_rows(&mut self) -> Result<Option<Rows>, Error> {
        /// Of those that are kept.
        const TOGETHER: usize = 1024;
        if let Some((kept, _)) = &mut self.kept {
            let rows: Vec<_> = kept.take(TOGETHER).map(Row::into_values).collect();
            self.rows += rows.len() as u64;
            if rows.is_empty() {
                self.kept = None;
                return Ok(None);
            }
            return Ok(Some(Rows::of_rows(Arc::clone(&self.columns), rows)));
        }
        if !self.load()? {
            return Ok(None);
        }
        if !self.is_complete {
            return self.some_rows().map(Some);
        }
        let (batch, at) = self.batch.take().expect("just loaded");
        let range = at..batch.len();
        let mut rows = Rows::new(Arc::clone(&self.columns), range.len());
        for column in batch.columns() {
            if !rows.share(column, range.clone()) {
                let values = range
                    .clone()
                    .map(|row| self.values.value(column.value(row)));
                rows.push(values.collect::<Result<_, _>>()?);
            }
        }
        self.rows += rows.len() as u64;
        Ok(Some(rows))
    }

    /// Rows of the batch, which has some, whose values must be read: no more than take about
    /// [`ROWS_BYTES`].
    fn some_rows(&mut self) -> Result<Rows, Error> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while bytes < ROWS_BYTES && matches!(&self.batch, Some((batch, at)) if *at < batch.len()) {
            let row = self.take_row()?;
            bytes += row.values.iter().map(Value::bytes).sum::<usize>();
            rows.push(row.values);
        }
        Ok(Rows::of_rows(Arc::clone(&self.columns), rows))
    }

    /// Makes sure that the batch has another row; false at the end.
    fn load(&mut self) -> Result<bool, Error> {
        while self
            .batch
            .as_ref()
            .is_none_or(|(batch, at)| *at >= batch.len())
        {
            let Some(execution) = &mut self.execution else {
                return Ok(false);
            };
            if self.elapsed.is_some() {
                return Ok(false);
            }
            self.batch = None;
            let batch = execution.next_batch();
            if let Some(pages) = execution.take_thread_pages() {
                self.counts.pages += &pages;
            }
            let Some(batch) = batch.map_err(|error| Error::running(error, &self.text))? else {
                return Ok(false);
            };
            self.values.next_batch();
            self.is_complete = batch
                .columns()
                .iter()
                .all(|column| Materialiser::is_complete(column));
            self.batch = Some((batch, 0));
        }
        Ok(true)
    }

    /// Whether the batch has another row and it is complete.
    fn is_at_hand(&self) -> bool {
        self.is_complete && matches!(&self.batch, Some((batch, at)) if *at < batch.len())
    }

    /// The next row of the batch, which has one.
    fn take_row(&mut self) -> Result<Row, Error> {
        // What is read of the row may be long.
        if !self.is_complete
            && let Some(execution) = &self.execution
        {
            let ended = execution.check_cancelled();
            ended.map_err(|error| Error::running(error, &self.text))?;
        }
        let (batch, at) = self.batch.as_mut().expect("there is a row");
        self.values.next_row();
        let mut values = Vec::with_capacity(batch.columns().len());
        for column in batch.columns() {
            values.push(self.values.value(column.value(*at))?);
        }
        *at += 1;
        self.rows += 1;
        Ok(Row {
            columns: Arc::clone(&self.columns),
            values,
        })
    }

    /// What is known so far besides the rows.
    pub(crate) fn summary(&self) -> Summary {
        let notices = self.plan.notices.iter().map(|notice| Notice {
            code: notice.code.to_owned(),
            message: notice.message.clone(),
            position: notice.position,
        });
        Summary {
            rows: self.rows,
            elapsed: self.elapsed.unwrap_or_else(|| self.begun.elapsed()),
            planning: self.planning,
            notices: notices.chain(self.without_effect()).collect(),
            pages: self.counts.pages,
            counters: self.counters,
            commit: self.commit,
            kind: self.kind,
        }
    }

    /// The notice of a command about the schema that has run and found nothing to do.
    fn without_effect(&self) -> Option<Notice> {
        let has_run = self.elapsed.is_some() && self.plan.mode != PlanMode::Explain;
        if self.kind != StatementKind::ChangesSchema || !has_run || self.counters.any() {
            return None;
        }
        let mut told = None;
        self.plan.root.visit(&mut |node| {
            if let Operator::Schema { command, .. } = &node.op {
                told = command.without_effect();
            }
        });
        told.map(|(code, message)| Notice {
            code: code.to_owned(),
            message,
            position: None,
        })
    }

    /// Whether the statement began with `EXPLAIN`: it has a plan and no rows.
    pub(crate) fn is_explain(&self) -> bool {
        self.plan.mode == PlanMode::Explain
    }

    /// Whether the statement began with `PROFILE`.
    pub(crate) fn is_profile(&self) -> bool {
        self.plan.mode == PlanMode::Profile
    }

    /// The plan as text, for `EXPLAIN` and, with what each step did so far, for `PROFILE`.
    pub(crate) fn plan(&self) -> Option<String> {
        match self.plan.mode {
            PlanMode::Execute => None,
            PlanMode::Explain => {
                let steps = self.shown.as_ref()?;
                Some(explain_steps(&self.plan, steps).trim_end().to_owned())
            }
            PlanMode::Profile => self.profile.clone().or_else(|| {
                let shown = self.shown.as_ref().zip(self.execution.as_ref());
                shown.map(|(steps, e)| plan_text::profile(&self.plan, steps, &e.profile()))
            }),
        }
    }
}

impl LocalCursor {
    /// The plan as steps, for `EXPLAIN` and, with what each did so far, for `PROFILE`.
    pub(crate) fn steps(&self) -> Option<PlanStep> {
        let shown = self.shown.as_ref()?;
        let now = match self.plan.mode {
            PlanMode::Profile => self.execution.as_ref().map(|it| it.profile()),
            PlanMode::Execute | PlanMode::Explain => None,
        };
        let did = now.as_ref().or(self.profile_tree.as_ref());
        Some(steps(&self.plan, shown, did))
    }
}
