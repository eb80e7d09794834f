//! The rows of a statement that runs in the owner.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graven_pagecache::PerKind;
use graven_storage::{Durable, TransactionOptions, WriteCounters};

use super::client::{Attached, Failure, Head, Lost, ReplyPart, Session};
use super::summary::StatementOutcome;
use super::terms::Terms;
use crate::cancel::Registration;
use crate::error::{Error, Retry};
use crate::params::Params;
use crate::row::Row;
use crate::rows::Rows;
use crate::summary::{Notice, StatementKind, Summary};
use crate::value::Value;

/// Rows on their way from the owner.
pub(crate) struct RemoteCursor {
    text: Arc<str>,
    head: Head,
    columns: Arc<[String]>,
    rows: VecDeque<Vec<Value>>,
    /// Where more rows come from; none at the end.
    source: Option<(Arc<Attached>, Session)>,
    /// Lets the statement be cancelled while it runs.
    registration: Option<Registration>,
    ended: Option<Box<StatementOutcome>>,
    given: u64,
    begun: Instant,
}

impl RemoteCursor {
    /// Starts a statement on a session of its own and waits for its first rows: an owner that ends
    /// before them is lost without loss, for nothing has been handed out (AT-4).
    pub(crate) fn start(
        attached: &Arc<Attached>,
        options: &TransactionOptions,
        text: &str,
        params: &Params,
        terms: &Terms,
    ) -> Result<Self, Failure> {
        let session = attached.session(terms.reply_timeout())?;
        let mut result = Self::on(attached, session, options, text, params, terms)?;
        while result.rows.is_empty() && result.is_open() {
            result.advance()?;
        }
        Ok(result)
    }

    fn is_open(&self) -> bool {
        self.ended.is_none() && self.source.is_some()
    }

    /// Starts a statement on this session.
    pub(crate) fn on(
        attached: &Arc<Attached>,
        mut session: Session,
        options: &TransactionOptions,
        text: &str,
        params: &Params,
        terms: &Terms,
    ) -> Result<Self, Failure> {
        let registration =
            Registration::new(Arc::clone(&terms.cancelling), attached, session.handle());
        let mut access = terms.access.clone();
        access.count_from(super::working_folder());
        let options = options.clone();
        let head = session.run(options, terms.timeout, access, text, params)?;
        let mut result = RemoteCursor {
            text: Arc::from(text),
            columns: head.columns.clone().into(),
            head,
            rows: VecDeque::new(),
            source: Some((Arc::clone(attached), session)),
            registration: Some(registration),
            ended: None,
            given: 0,
            begun: Instant::now(),
        };
        if result.head.explain {
            // There are no rows, and the plan is what was asked for.
            while result.fetch()? {}
        }
        Ok(result)
    }

    /// The result of a statement that is committed, but whose rows were lost with the owner that
    /// computed them.
    pub(crate) fn without_rows() -> Self {
        RemoteCursor {
            text: Arc::from(""),
            head: Head {
                columns: Vec::new(),
                declared: Vec::new(),
                explain: false,
                profile: false,
            },
            columns: Arc::from([]),
            rows: VecDeque::new(),
            source: None,
            registration: None,
            ended: Some(Box::new(done_without_answer())),
            given: 0,
            begun: Instant::now(),
        }
    }

    /// Fetches all rows, so that the session is free again.
    pub(crate) fn fetch_all(mut self) -> Result<(Self, Session), Failure> {
        while self.fetch()? {}
        match self.source.take() {
            Some((_, session)) => Ok((self, session)),
            None => Err(Failure::Lost(Lost {
                why: "the statement has ended twice".to_owned(),
                asked: true,
            })),
        }
    }

    /// Fetches some rows; false at the end, where the session is free.
    fn fetch(&mut self) -> Result<bool, Failure> {
        let Some((_, session)) = &mut self.source else {
            return Ok(false);
        };
        match session.next(&self.text)? {
            ReplyPart::Rows(rows) => {
                self.rows.extend(rows);
                Ok(true)
            }
            ReplyPart::End(ended) => {
                self.ended = Some(ended);
                self.registration = None;
                Ok(false)
            }
        }
    }

    /// Fetches some rows; gives the session back where it is between two requests again, and up
    /// where it is lost.
    fn advance(&mut self) -> Result<(), Failure> {
        let fetched = self.fetch();
        if let Ok(true) = fetched {
            return Ok(());
        }
        self.registration = None;
        let source = self.source.take();
        if let (Ok(_) | Err(Failure::Answer(_)), Some((attached, session))) = (&fetched, source) {
            attached.keep(session);
        }
        fetched.map(|_| ())
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(crate) fn declared_types(&self) -> Vec<Option<String>> {
        let declared = self.head.declared.iter().cloned();
        declared
            .map(|of| Some(of).filter(|of| !of.is_empty()))
            .collect()
    }

    /// The next rows in columns, or none at the end.
    pub(crate) fn next_rows(&mut self) -> Result<Option<Rows>, Error> {
        let mut rows = Vec::new();
        while let Some(row) = self.next_row()? {
            rows.push(row.into_values());
            // What has come already; more is fetched with the next call.
            if self.rows.is_empty() {
                break;
            }
        }
        let columns = Arc::clone(&self.columns);
        Ok((!rows.is_empty()).then(|| Rows::of_rows(columns, rows)))
    }

    pub(crate) fn next_row(&mut self) -> Result<Option<Row>, Error> {
        loop {
            if let Some(values) = self.rows.pop_front() {
                self.given += 1;
                return Ok(Some(Row::new(Arc::clone(&self.columns), values)));
            }
            if !self.is_open() {
                return Ok(None);
            }
            match self.advance() {
                Ok(()) => {}
                // It was committed before its columns came (AT-4), and there are no rows to lose.
                Err(Failure::Lost(_)) if self.columns.is_empty() => {
                    self.ended = Some(Box::new(done_without_answer()));
                }
                Err(Failure::Lost(_)) => return Err(rows_lost()),
                Err(Failure::Answer(error)) => return Err(error),
            }
        }
    }

    pub(crate) fn summary(&self) -> Summary {
        let known = self.ended.as_ref().map(|ended| ended.summary.clone());
        Summary {
            rows: self.given,
            ..known.unwrap_or_else(|| nothing_known(self.begun.elapsed()))
        }
    }

    pub(crate) fn is_explain(&self) -> bool {
        self.head.explain
    }

    pub(crate) fn is_profile(&self) -> bool {
        self.head.profile
    }

    /// There at the end only.
    pub(crate) fn plan(&self) -> Option<String> {
        self.ended.as_ref().and_then(|ended| ended.plan.clone())
    }
}

impl Drop for RemoteCursor {
    fn drop(&mut self) {
        // A result that was not read to its end: the statement is stopped, and the session with it.
        if let (Some((attached, session)), None) = (&self.source, &self.ended) {
            crate::cancel::cancel_there(attached, session.handle());
        }
    }
}

/// The end of a statement whose owner was lost after its commit.
fn done_without_answer() -> StatementOutcome {
    let lost = Notice {
        code: "OwnerLost".to_owned(),
        message: "the process that ran the statement has ended; the statement is committed, its \
            rows are lost"
            .to_owned(),
        position: None,
    };
    StatementOutcome {
        summary: Summary {
            notices: vec![lost],
            ..nothing_known(Duration::ZERO)
        },
        plan: None,
    }
}

fn nothing_known(elapsed: Duration) -> Summary {
    Summary {
        rows: 0,
        elapsed,
        planning: Duration::ZERO,
        notices: Vec::new(),
        pages: PerKind::default(),
        counters: WriteCounters::default(),
        commit: None,
        kind: StatementKind::default(),
    }
}

/// AT-4.
fn rows_lost() -> Error {
    Error::with_retry(
        "Statement.OwnerLost",
        "the process that ran the statement has ended before all rows were read; if the statement \
            wrote, it is \
         committed; run it again for its rows",
        Retry::MayHelp,
    )
    .with_durable(Durable::Yes)
}
