//! Statements one after another, each by itself or between `BEGIN` and `COMMIT`.

use std::time::Duration;

use graven::{Commit, Connection, Error, Params, QueryResult, Transaction};

/// A connection, and the transaction that is open on it.
pub(crate) struct Session {
    connection: Connection,
    transaction: Option<Transaction>,
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
}

impl Session {
    pub(crate) fn new(connection: Connection) -> Self {
        Session {
            connection,
            transaction: None,
        }
    }

    /// How long the next statements may run, in an open transaction too.
    pub(crate) fn set_timeout(&mut self, timeout: Option<Duration>) {
        if let Some(transaction) = &mut self.transaction {
            transaction.set_timeout(timeout);
        }
        self.connection = self.connection.clone().with_timeout(timeout);
    }

    /// Whether a transaction is open.
    pub(crate) fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Whether a text is `BEGIN`, `COMMIT` or `ROLLBACK`, which are no statements of the language.
    pub(crate) fn is_command(text: &str) -> bool {
        let mut words = text.split_whitespace().map(str::to_ascii_uppercase);
        let word = words.next().unwrap_or_default();
        matches!(word.as_str(), "BEGIN" | "COMMIT" | "ROLLBACK")
            && words.all(|word| word == "TRANSACTION")
    }

    /// Runs a statement in the open transaction, or by itself.
    pub(crate) fn run(&mut self, text: &str, params: &Params) -> Result<Answer, Error> {
        let mut words = text.split_whitespace().map(str::to_ascii_uppercase);
        let word = words.next().unwrap_or_default();
        let alone = words.all(|w| w == "TRANSACTION");
        match word.as_str() {
            "BEGIN" if alone => self.begin(),
            "COMMIT"
                if alone
                    && self
                        .transaction
                        .as_ref()
                        .is_some_and(Transaction::has_failed) =>
            {
                Err(Error::usage(
                    "a statement of this transaction has failed: only ROLLBACK is left",
                ))
            }
            "COMMIT" if alone => match self.transaction.take() {
                Some(transaction) => transaction.commit().map(Answer::Committed),
                None => Err(none_open("COMMIT")),
            },
            "ROLLBACK" if alone => match self.transaction.take() {
                Some(transaction) => {
                    transaction.rollback();
                    Ok(Answer::RolledBack)
                }
                None => Err(none_open("ROLLBACK")),
            },
            _ => {
                let result = match &mut self.transaction {
                    Some(transaction) => transaction.query(text, params),
                    None => self.connection.query(text, params),
                };
                Ok(Answer::Result(Box::new(result?)))
            }
        }
    }

    fn begin(&mut self) -> Result<Answer, Error> {
        if self.in_transaction() {
            return Err(Error::usage(
                "a transaction is open: COMMIT or ROLLBACK it first",
            ));
        }
        self.transaction = Some(self.connection.begin()?);
        Ok(Answer::Begun)
    }
}

fn none_open(word: &str) -> Error {
    Error::usage(format!("{word} without BEGIN: no transaction is open"))
}
