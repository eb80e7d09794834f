//! Several processes on one file: the first owns it, the others attach to it through a local
//! socket.
//!
//! # How it works
//! The process that holds the kernel's lock of the data file is the owner. It listens on a socket
//! that can be found from the file ([`address`]). A process that finds the file locked connects,
//! and its statements run in the owner, under the owner's budget and next to the owner's own
//! ([`owner`]); rows are streamed back ([`client`]). When the owner ends or is killed the kernel
//! gives up its lock: every attached process tries to take it, one gets it, recovers the database
//! and listens in turn, the others attach to that one.
//!
//! # Invariants
//! * AT-3 Every commit asked for from another process bears a name made by that process and kept in
//!   the log. When the owner is lost before the answer came, the new owner says whether the commit
//!   is there: then it is reported as done, otherwise the statement runs again. So a statement is
//!   neither lost nor done twice. One with a subquery or procedure that has transactions of its own
//!   is never run again: it ends with an error.
//! * AT-4 A result of which rows have been handed out is not begun again: a lost owner is a
//!   retryable error then, and for a statement that wrote, an error that says that it is durable.
//! * AT-5 An open transaction dies with its owner; the next use of it gives a retryable error.
//! * AT-6 What was opened, begun or asked before a `fork` does nothing in the child: each way in
//!   gives `Database.Forked`, dropping is silent and leaks ([`graven_io::ProcessLocal`]), and
//!   descriptors of files, locks and sockets are cut off (IO-7). So the child can neither write to
//!   the file nor speak in its parent's name. When the parent ends its lock is free and its
//!   conversations are over, whatever processes it has forked.
//! * AT-7 Where no process can take over and say what became of a commit, the error says that this
//!   is unknown, and is not retryable. A statement that only reads, and a request that never left,
//!   keep the error of taking over.
//! * AT-8 Relative names of files in a statement count from the working directory of the process
//!   that asked for it, which goes with it.
//!
//! # Concurrency
//! A session does one thing at a time; a process has as many sessions as it has statements running.

pub(crate) mod address;
pub(crate) mod client;
pub(crate) mod cursor;
mod message;
pub(crate) mod owner;
pub(crate) mod reply_timeout;
mod summary;
mod terms;
mod wire;

#[cfg(test)]
mod tests;

use crate::random::random_bytes;
use crate::remote::terms::Terms;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use graven_storage::{Durable, TransactionOptions};

use client::{Attached, Failure, Lost, Session};
use cursor::RemoteCursor;

use crate::connection::Connection;
use crate::database::Database;
use crate::error::{Error, Retry};
use crate::instance::Backend;
use crate::params::Params;
use crate::summary::Commit;

/// How long another process may need to begin taking over, where this one cannot.
const OTHERS_WAIT: Duration = Duration::from_secs(1);

/// What relative names of files in this process's statements count from, wherever they run.
fn working_folder() -> Arc<Path> {
    let known = std::env::current_dir();
    // One that cannot be told (it was removed) may not turn into the owner's.
    let folder =
        known.unwrap_or_else(|_| PathBuf::from(format!("/proc/{}/cwd", std::process::id())));
    folder.into()
}

fn terms(connection: &Connection) -> Terms {
    Terms {
        cancelling: connection.cancelling(),
        access: connection.access().clone(),
        timeout: connection.timeout(),
    }
}

/// Runs a statement in the owner, whichever process that is by the time it is done.
pub(crate) fn query(
    connection: &Connection,
    attached: Arc<Attached>,
    text: &str,
    params: &Params,
) -> Result<crate::QueryResult, Error> {
    let commit = random_bytes();
    let options = connection.options().client_id(commit);
    let lost = match RemoteCursor::start(&attached, &options, text, params, &terms(connection)) {
        Ok(result) => return Ok(result.into()),
        Err(Failure::Answer(error)) => return Err(error),
        Err(Failure::Lost(Lost { asked: true, .. })) => attached,
        Err(Failure::Lost(_)) => {
            connection.database().settle(Some(&attached))?;
            return connection.query(text, params);
        }
    };
    if graven_cypher::is_in_transactions(text) {
        // What it has committed cannot be told apart from what it has not: it is not run again.
        return Err(Error::new(
            "Statement.OwnerLost",
            "the process that ran the statement has ended: batches that it had committed stay, the \
                others are not done",
        ));
    }
    // AT-3: neither lost nor done twice.
    let database = connection.database();
    if graven_cypher::only_reads(text) {
        database.settle(Some(&lost))?;
        return connection.query(text, params);
    }
    match committed(database, &lost, commit)? {
        true => Ok(RemoteCursor::without_rows().into()),
        false => connection.query(text, params),
    }
}

/// Whether the commit of this name is there, after its owner was lost. Where this process cannot
/// take over, one that can is asked (AT-7).
fn committed(
    database: &Database,
    lost: &Arc<Attached>,
    commit: message::CommitId,
) -> Result<bool, Error> {
    let ask = |attached| {
        database.ask(attached, |attached: &Attached| {
            attached.has_committed(commit)
        })
    };
    let known = database.settle(Some(lost)).and_then(|place| match place {
        Backend::Local(inner) => Ok(inner.store.has_committed(&commit)),
        Backend::Remote(attached) => ask(attached),
    });
    known.or_else(|why| match database.another_owner(OTHERS_WAIT) {
        Some(attached) => ask(attached).map_err(|error| outcome_unknown(&error)),
        None => Err(outcome_unknown(&why)),
    })
}

/// AT-7.
fn outcome_unknown(why: &Error) -> Error {
    let message = format!(
        "the process that was to commit ended before it answered, and its place could not be taken \
            ({}: {}); the \
         outcome is unknown: when the database can be opened again, check before retrying",
        why.code(),
        why.message()
    );
    Error::new("Transaction.OutcomeUnknown", message).with_durable(Durable::Unknown)
}

/// A transaction in the owner.
#[derive(Debug)]
pub(crate) struct AttachedTransaction {
    connection: Connection,
    attached: Arc<Attached>,
    /// None once it has ended.
    session: Option<Session>,
    commit: message::CommitId,
}

impl AttachedTransaction {
    /// Begins one.
    pub(crate) fn begin(
        connection: Connection,
        mut attached: Arc<Attached>,
        options: &TransactionOptions,
    ) -> Result<Option<Self>, Error> {
        let commit = options.client_id.unwrap_or_else(random_bytes);
        let options = options.clone().client_id(commit);
        loop {
            let begun = attached
                .session(terms(&connection).reply_timeout())
                .and_then(|mut session| {
                    session.begin(options.clone())?;
                    Ok(session)
                });
            match begun {
                Ok(session) => {
                    return Ok(Some(AttachedTransaction {
                        connection,
                        attached,
                        session: Some(session),
                        commit,
                    }));
                }
                Err(Failure::Answer(error)) => return Err(error),
                Err(Failure::Lost(_)) => {}
            }
            attached = match connection.database().settle(Some(&attached))? {
                Backend::Remote(attached) => attached,
                // Nothing has begun: the caller begins here.
                Backend::Local(_) => return Ok(None),
            };
        }
    }

    /// Runs a statement; all its rows are fetched, for the session has one thing at a time.
    pub(crate) fn query(
        &mut self,
        text: &str,
        params: &Params,
    ) -> Result<crate::QueryResult, Error> {
        let Some(mut session) = self.session.take() else {
            return Err(owner_lost());
        };
        let terms = terms(&self.connection);
        session.wait(terms.reply_timeout());
        let options = TransactionOptions::default();
        let done = RemoteCursor::on(&self.attached, session, &options, text, params, &terms)
            .and_then(RemoteCursor::fetch_all);
        match done {
            Ok((result, session)) => {
                self.session = Some(session);
                Ok(result.into())
            }
            Err(Failure::Answer(error)) => Err(error),
            Err(Failure::Lost(_)) => Err(owner_lost()),
        }
    }

    /// How long its next statements may run.
    pub(crate) fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.connection.set_timeout(timeout);
    }

    /// Commits; where the owner is lost meanwhile, the new one knows.
    pub(crate) fn commit(mut self) -> Result<Commit, Error> {
        let Some(mut session) = self.session.take() else {
            return Err(owner_lost());
        };
        match session.commit() {
            Ok(commit) => {
                self.attached.keep(session);
                Ok(commit)
            }
            Err(Failure::Answer(error)) => Err(error),
            Err(Failure::Lost(Lost { asked: false, .. })) => Err(owner_lost()),
            Err(Failure::Lost(_)) => {
                match committed(self.connection.database(), &self.attached, self.commit)? {
                    true => Ok(Commit::default()),
                    false => Err(owner_lost()),
                }
            }
        }
    }
}

impl Drop for AttachedTransaction {
    fn drop(&mut self) {
        if let Some(mut session) = self.session.take()
            && session.rollback().is_ok()
        {
            self.attached.keep(session);
        }
    }
}

fn owner_lost() -> Error {
    Error::with_retry(
        "Transaction.OwnerLost",
        "the process that ran this transaction has ended, and the transaction with it: begin again",
        Retry::MayHelp,
    )
}
