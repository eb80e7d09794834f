//! Rows that were read ahead, and the first ones again.
//!
//! # How it works
//! A statement gives its rows in batches. The first batch is read when the statement is run, so
//! that most of what can go wrong goes wrong there; the next ones as rows are asked for. Batches
//! that were handed out are kept, up to [`KEPT`] rows, so that a program may begin again.
//!
//! # Invariants
//! * BI-2 What ended a statement before its last row is told each time that a row behind the ones
//!   at hand is asked for.
//! * BI-3 A result that was read to its end holds nothing of its statement: no memory of the budget
//!   and no snapshot, however late the language lets its object go.

use std::collections::VecDeque;
use std::ops::Range;

use graven::{Error, QueryResult, Rows, Summary};

use crate::column_type::ColumnType;

/// Rows handed out that are kept, so that a program may begin again.
pub const KEPT: usize = 10_000;

/// How far the rows of a statement are read.
#[derive(Debug)]
pub struct Reading {
    /// None after its last row, and after it was closed.
    result: Option<QueryResult>,
    /// What was known besides the rows when there were no more, and the plan.
    known: Option<(Summary, Option<String>)>,
    /// Rows that were read and not handed out; of the first batch those from `next` on.
    ahead: VecDeque<Rows>,
    next: usize,
    /// Rows handed out.
    given: usize,
    /// Batches that were handed out, [`KEPT`] rows at most; none if there were more.
    past: Option<Vec<Rows>>,
    /// What ended the statement before its last row.
    failed: Option<Error>,
    /// There are no rows behind those at hand.
    ended: bool,
    closed: bool,
}

impl Reading {
    /// Reads the first rows of a result.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn begin(result: QueryResult) -> Result<Reading, Error> {
        let mut reading = Reading {
            result: Some(result),
            known: None,
            ahead: VecDeque::new(),
            next: 0,
            given: 0,
            past: Some(Vec::new()),
            failed: None,
            ended: false,
            closed: false,
        };
        reading.read()?;
        Ok(reading)
    }

    /// Rows that were read and not handed out.
    #[must_use]
    pub fn at_hand(&self) -> usize {
        self.ahead.iter().map(Rows::len).sum::<usize>() - self.next
    }

    /// Whether it is known that there are no rows behind those at hand.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Rows handed out.
    #[must_use]
    pub fn given(&self) -> usize {
        self.given
    }

    /// Reads another batch; whether there was one.
    fn read(&mut self) -> Result<bool, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let Some(result) = &mut self.result else {
            return Ok(false);
        };
        match result.next_rows() {
            Ok(Some(rows)) => {
                self.ahead.push_back(rows);
                return Ok(true);
            }
            Ok(None) => {}
            Err(error) => self.failed = Some(error),
        }
        self.known = Some((result.summary(), result.plan()));
        self.ended = self.failed.is_none();
        self.result = None;
        self.failed.clone().map_or(Ok(false), Err)
    }

    /// Reads until there are at least so many rows at hand, or no more.
    ///
    /// # Errors
    /// Those of the statement; the rows before are at hand.
    pub fn read_up_to(&mut self, rows: usize) -> Result<(), Error> {
        while self.at_hand() < rows && self.read()? {}
        Ok(())
    }

    /// Takes the next rows of the first batch, up to so many: the batch, and which of its rows.
    pub fn take(&mut self, rows: usize) -> Option<(Rows, Range<usize>)> {
        let first = self.ahead.front()?;
        let range = self.next..first.len().min(self.next.saturating_add(rows));
        self.given += range.len();
        if range.end < first.len() {
            self.next = range.end;
            return Some((first.clone(), range));
        }
        self.next = 0;
        let first = self.ahead.pop_front()?;
        match &mut self.past {
            Some(past) if self.given <= KEPT => past.push(first.clone()),
            past => *past = None,
        }
        Some((first, range))
    }

    /// The batches with the next rows, up to so many, and how many rows of the first one were
    /// handed out; they stay the next rows.
    #[must_use]
    pub fn peek(&self, rows: usize) -> (Vec<Rows>, usize) {
        let mut batches = Vec::new();
        let mut seen = 0;
        for batch in &self.ahead {
            if seen >= self.next.saturating_add(rows) {
                break;
            }
            seen += batch.len();
            batches.push(batch.clone());
        }
        (batches, self.next)
    }

    /// Reads to the end: how many rows there are, those that were handed out included.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn count(&mut self) -> Result<usize, Error> {
        self.read_up_to(usize::MAX)?;
        Ok(self.given + self.at_hand())
    }

    /// Reads to the end: the types of the columns; none where the first rows are gone.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn column_types(&mut self, columns: usize) -> Result<Option<Vec<ColumnType>>, Error> {
        self.read_up_to(usize::MAX)?;
        let Some(past) = &self.past else {
            return Ok(None);
        };
        let mut types = vec![ColumnType::Unknown; columns];
        for rows in past.iter().chain(&self.ahead) {
            for (column, known) in types.iter_mut().enumerate() {
                for row in 0..rows.len() {
                    let value = rows.value(row, column).unwrap_or_default();
                    *known = std::mem::take(known).and(ColumnType::of(&value));
                }
            }
        }
        Ok(Some(types))
    }

    /// The next row is the first one again; false where the first rows are gone.
    pub fn begin_again(&mut self) -> bool {
        let Some(past) = &mut self.past else {
            return false;
        };
        // The first of the batches ahead, if rows of it were handed out, is whole.
        for rows in past.drain(..).rev() {
            self.ahead.push_front(rows);
        }
        (self.next, self.given) = (0, 0);
        true
    }

    /// The same as text, for a program that asked for rows that are gone.
    #[must_use]
    pub fn gone() -> String {
        format!(
            "the first rows are gone: a result keeps {KEPT} rows that were read; run the \
                statement again, or ask before reading them"
        )
    }

    /// What is known besides the rows; nothing after it was closed.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        let ended = self.known.as_ref().map(|(summary, _)| summary.clone());
        ended.or_else(|| self.result.as_ref().map(QueryResult::summary))
    }

    /// The plan of `EXPLAIN` and `PROFILE`.
    #[must_use]
    pub fn plan(&self) -> Option<String> {
        match &self.known {
            Some((_, plan)) => plan.clone(),
            None => self.result.as_ref().and_then(QueryResult::plan),
        }
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Ends the statement and gives its rows back; what it was reading from, to be dropped where
    /// that may wait.
    pub fn close(&mut self) -> Option<QueryResult> {
        self.failed = None;
        self.known = None;
        self.closed = true;
        self.ahead.clear();
        self.past = Some(Vec::new());
        self.next = 0;
        self.ended = true;
        self.result.take()
    }
}
