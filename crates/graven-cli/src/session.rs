//! Statements one after another, each by itself or between `BEGIN` and `COMMIT`.

use std::time::Duration;

use clap::Args;
use graven::{
    Access, CancelHandle, Commit, Connection, Durability, Error, Isolation, Params, QueryResult,
    Transaction, TransactionOptions,
};

use crate::argument;
use crate::control::{Control, TransactionModes};

/// A connection, and the transaction that is open on it.
pub(crate) struct Session {
    connection: Connection,
    /// Of statements by themselves, and of transactions that say nothing else.
    options: TransactionOptions,
    transaction: Option<Transaction>,
}

/// What the transactions of a session promise.
#[derive(Args, Debug)]
pub(crate) struct Promised {
    /// What transactions rule out: snapshot (all but write skew) or serializable
    #[arg(long, value_name = "LEVEL", default_value = "snapshot", value_parser = argument::isolation)]
    isolation: Isolation,
    /// When a commit returns: full, relaxed (with a time: relaxed:50ms) or off [default: full; off
    /// for :memory:]
    #[arg(long, value_name = "LEVEL", value_parser = argument::durability)]
    durability: Option<Durability>,
}

/// What a statement came to.
pub(crate) enum Answer {
    /// Rows.
    Result(Box<QueryResult>),
    /// `BEGIN`.
    Begun,
    /// `COMMIT`.
    Committed(Commit),
    /// `ROLLBACK`.
    RolledBack,
    /// A setting.
    Set,
}

impl Session {
    /// `temporary`: the database is gone at the end.
    pub(crate) fn new(connection: Connection, promised: &Promised, temporary: bool) -> Self {
        let unless_said = match temporary {
            true => Durability::Off,
            false => Durability::Full,
        };
        let options = TransactionOptions::default()
            .isolation(promised.isolation)
            .durability(promised.durability.unwrap_or(unless_said));
        Session {
            connection: connection.with_options(options.clone()),
            options,
            transaction: None,
        }
    }

    /// What the next transactions rule out; the open one goes on as it is.
    pub(crate) fn set_isolation(&mut self, isolation: Isolation) {
        self.options.isolation = isolation;
        self.connection = self.connection.clone().with_options(self.options.clone());
    }

    /// When the commits of the next transactions return; the open one goes on as it is.
    pub(crate) fn set_durability(&mut self, durability: Durability) {
        self.options.durability = durability;
        self.connection = self.connection.clone().with_options(self.options.clone());
    }

    /// How long the next statements may run, in an open transaction too.
    pub(crate) fn set_timeout(&mut self, timeout: Option<Duration>) {
        if let Some(transaction) = &mut self.transaction {
            transaction.set_timeout(timeout);
        }
        self.connection = self.connection.clone().with_timeout(timeout);
    }

    /// Cancels what it runs.
    pub(crate) fn cancel_handle(&self) -> CancelHandle {
        self.connection.cancel_handle()
    }

    /// Whether a transaction is open.
    pub(crate) fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Runs a statement in the open transaction, or by itself.
    pub(crate) fn run(&mut self, text: &str, params: &Params) -> Result<Answer, Error> {
        let Some(control) = Control::read(text) else {
            let result = match &mut self.transaction {
                Some(transaction) => transaction.query(text, params),
                None => self.connection.query(text, params),
            };
            return Ok(Answer::Result(Box::new(result?)));
        };
        match (control.map_err(Error::usage)?, &self.transaction) {
            (Control::Begin(promises), _) => self.begin(promises),
            (Control::Timeout(timeout), _) => {
                self.set_timeout(timeout);
                Ok(Answer::Set)
            }
            (Control::Commit, Some(open)) if open.has_failed() => Err(Error::usage(
                "a statement of this transaction has failed: only ROLLBACK is left",
            )),
            (Control::Commit, _) => match self.transaction.take() {
                Some(transaction) => transaction.commit().map(Answer::Committed),
                None => Err(none_open("COMMIT")),
            },
            (Control::Rollback, _) => match self.transaction.take() {
                Some(transaction) => {
                    transaction.rollback();
                    Ok(Answer::RolledBack)
                }
                None => Err(none_open("ROLLBACK")),
            },
        }
    }

    fn begin(&mut self, promises: TransactionModes) -> Result<Answer, Error> {
        if self.in_transaction() {
            return Err(Error::usage(
                "a transaction is open: COMMIT or ROLLBACK it first",
            ));
        }
        let options = promises.over(&self.options);
        let access = Access::default().reading_only(promises.reads_only);
        let connection = self.connection.clone().with_access(access);
        self.transaction = Some(connection.begin_with(options)?);
        Ok(Answer::Begun)
    }
}

fn none_open(word: &str) -> Error {
    Error::usage(format!("{word} without BEGIN: no transaction is open"))
}
