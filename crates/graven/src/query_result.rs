//! The result of a statement, wherever it runs: in this process, or in the one that owns the
//! database.

use std::sync::Arc;

use graven_io::ProcessLocal;
use graven_pagecache::Budget;

use crate::error::Error;
use crate::plan_steps::PlanStep;
use crate::remote::cursor::RemoteCursor;
use crate::result::LocalCursor;
use crate::row::Row;
use crate::rows::Rows;
use crate::summary::Summary;

/// Rows of a statement. Owns its view of the data, keeps no page between batches; dropping it ends
/// the statement.
#[derive(Debug)]
pub struct QueryResult(ProcessLocal<Source>);

enum Source {
    Local(Box<LocalCursor>),
    Remote(Box<RemoteCursor>),
}

impl From<LocalCursor> for QueryResult {
    fn from(running: LocalCursor) -> Self {
        QueryResult(ProcessLocal::new(Source::Local(Box::new(running))))
    }
}

impl From<RemoteCursor> for QueryResult {
    fn from(attached: RemoteCursor) -> Self {
        QueryResult(ProcessLocal::new(Source::Remote(Box::new(attached))))
    }
}

impl QueryResult {
    /// Headings, in order; none for statements without `RETURN`.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        match &*self.0 {
            Source::Local(here) => here.columns(),
            Source::Remote(there) => there.columns(),
        }
    }

    /// For each column the declared type of its values, as it was written: that of a column of a
    /// table, or of a cast. None where the statement does not say one. A parameter has its name
    /// here, as `$name`, a column of a frame `$frame.column`: what they are, the program knows.
    #[must_use]
    pub fn declared_types(&self) -> Vec<Option<String>> {
        match &*self.0 {
            Source::Local(here) => here.declared_types(),
            Source::Remote(there) => there.declared_types(),
        }
    }

    /// The next row, or none at the end.
    ///
    /// # Errors
    /// What goes wrong while the statement runs. It has ended then; another call gives no row.
    pub fn next_row(&mut self) -> Result<Option<Row>, Error> {
        Error::unless_at(self.0.home())?;
        match &mut *self.0 {
            Source::Local(here) => here.next_row(),
            Source::Remote(there) => there.next_row(),
        }
    }

    /// The next rows in columns, at least one, or none at the end: for programs that read many rows
    /// and want no object for each. May be mixed with [`QueryResult::next_row`].
    ///
    /// # Errors
    /// As [`QueryResult::next_row`].
    pub fn next_rows(&mut self) -> Result<Option<Rows>, Error> {
        Error::unless_at(self.0.home())?;
        match &mut *self.0 {
            Source::Local(here) => here.next_rows(),
            Source::Remote(there) => there.next_rows(),
        }
    }

    /// Whether the statement may go on: for programs that work long on one row, such as those that
    /// write it somewhere.
    ///
    /// # Errors
    /// Once the statement was cancelled or its time is over. The rows of a statement that has done
    /// all it does, and those of another process, may always be worked on.
    pub fn check(&self) -> Result<(), Error> {
        match &*self.0 {
            Source::Local(here) => here.check(),
            Source::Remote(_) => Ok(()),
        }
    }

    /// The budget that rows are charged to; none for rows of another process.
    pub(crate) fn budget(&self) -> Option<Arc<Budget>> {
        match &*self.0 {
            Source::Local(here) => here.budget(),
            Source::Remote(_) => None,
        }
    }

    /// What is known so far besides the rows.
    #[must_use]
    pub fn summary(&self) -> Summary {
        match &*self.0 {
            Source::Local(here) => here.summary(),
            Source::Remote(there) => there.summary(),
        }
    }

    /// Whether the statement began with `EXPLAIN`: it has a plan and no rows.
    #[must_use]
    pub fn is_explain(&self) -> bool {
        match &*self.0 {
            Source::Local(here) => here.is_explain(),
            Source::Remote(there) => there.is_explain(),
        }
    }

    /// Whether the statement began with `PROFILE`.
    #[must_use]
    pub fn is_profile(&self) -> bool {
        match &*self.0 {
            Source::Local(here) => here.is_profile(),
            Source::Remote(there) => there.is_profile(),
        }
    }

    /// The plan as text, for `EXPLAIN` and, with what each step did so far, for `PROFILE`.
    #[must_use]
    pub fn plan(&self) -> Option<String> {
        Error::unless_at(self.0.home()).ok()?;
        match &*self.0 {
            Source::Local(here) => here.plan(),
            Source::Remote(there) => there.plan(),
        }
    }
}

impl QueryResult {
    /// The plan as a tree of steps, for `EXPLAIN` and, with what each step did so far, for
    /// `PROFILE`; none for other statements, and for those that run in another process.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// let explained = db.connect().query("EXPLAIN MATCH (n) RETURN n", &graven::Params::new())?;
    /// println!("{:?}", explained.steps().map(|step| step.operator));
    /// # Ok::<(), graven::Error>(())
    /// ```
    #[must_use]
    pub fn steps(&self) -> Option<PlanStep> {
        Error::unless_at(self.0.home()).ok()?;
        match &*self.0 {
            Source::Local(here) => here.steps(),
            Source::Remote(_) => None,
        }
    }

    /// Runs the statement to its end and keeps its rows, for as long as it is asked for them: what
    /// its transaction does next changes none of them.
    ///
    /// # Errors
    /// As [`QueryResult::next_row`]; `Memory.Limit` where the rows do not fit.
    pub fn keep_rows(&mut self) -> Result<(), Error> {
        Error::unless_at(self.0.home())?;
        match &mut *self.0 {
            Source::Local(here) => here.keep_rows(),
            // They are kept where they come from.
            Source::Remote(_) => Ok(()),
        }
    }
}

impl Iterator for QueryResult {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().transpose()
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, columns) = match self {
            Source::Local(here) => ("Local", here.columns()),
            Source::Remote(there) => ("Remote", there.columns()),
        };
        f.debug_struct(name)
            .field("columns", &columns)
            .finish_non_exhaustive()
    }
}
