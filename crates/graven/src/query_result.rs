//! The result of a statement, wherever it runs: in this process, or in the one that owns the
//! database.

use graven_io::Local;

use crate::attach::result::AttachedResult;
use crate::error::Error;
use crate::plan_steps::PlanStep;
use crate::result::Running;
use crate::row::Row;
use crate::rows::Rows;
use crate::summary::Summary;

/// Rows of a statement. Owns its view of the data, keeps no page between batches; dropping it ends
/// the statement.
#[derive(Debug)]
pub struct QueryResult(Local<Source>);

enum Source {
    Here(Box<Running>),
    There(Box<AttachedResult>),
}

impl From<Running> for QueryResult {
    fn from(running: Running) -> Self {
        QueryResult(Local::new(Source::Here(Box::new(running))))
    }
}

impl From<AttachedResult> for QueryResult {
    fn from(attached: AttachedResult) -> Self {
        QueryResult(Local::new(Source::There(Box::new(attached))))
    }
}

impl QueryResult {
    /// Headings, in order; none for statements without `RETURN`.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        match &*self.0 {
            Source::Here(here) => here.columns(),
            Source::There(there) => there.columns(),
        }
    }

    /// The next row, or none at the end.
    ///
    /// # Errors
    /// What goes wrong while the statement runs. It has ended then; another call gives no row.
    pub fn next_row(&mut self) -> Result<Option<Row>, Error> {
        Error::unless_at(self.0.home())?;
        match &mut *self.0 {
            Source::Here(here) => here.next_row(),
            Source::There(there) => there.next_row(),
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
            Source::Here(here) => here.next_rows(),
            Source::There(there) => there.next_rows(),
        }
    }

    /// What is known so far besides the rows.
    #[must_use]
    pub fn summary(&self) -> Summary {
        match &*self.0 {
            Source::Here(here) => here.summary(),
            Source::There(there) => there.summary(),
        }
    }

    /// Whether the statement began with `EXPLAIN`: it has a plan and no rows.
    #[must_use]
    pub fn is_explain(&self) -> bool {
        match &*self.0 {
            Source::Here(here) => here.is_explain(),
            Source::There(there) => there.is_explain(),
        }
    }

    /// Whether the statement began with `PROFILE`.
    #[must_use]
    pub fn is_profile(&self) -> bool {
        match &*self.0 {
            Source::Here(here) => here.is_profile(),
            Source::There(there) => there.is_profile(),
        }
    }

    /// The plan as text, for `EXPLAIN` and, with what each step did so far, for `PROFILE`.
    #[must_use]
    pub fn plan(&self) -> Option<String> {
        Error::unless_at(self.0.home()).ok()?;
        match &*self.0 {
            Source::Here(here) => here.plan(),
            Source::There(there) => there.plan(),
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
            Source::Here(here) => here.steps(),
            Source::There(_) => None,
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
            Source::Here(here) => here.keep_rows(),
            // They are kept where they come from.
            Source::There(_) => Ok(()),
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
            Source::Here(here) => ("Here", here.columns()),
            Source::There(there) => ("There", there.columns()),
        };
        f.debug_struct(name)
            .field("columns", &columns)
            .finish_non_exhaustive()
    }
}
