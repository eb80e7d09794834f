//! `graven_transaction`: statements that become visible together, or not at all.

use std::ffi::c_char;

use graven_binding::Folder;

use crate::error::{Error, guard, quiet, there};
use crate::parameters::params;
use crate::result::QueryResult;
use crate::text::text;
use crate::value::Value;

/// Statements that see each other's changes and become visible together, or not at all.
pub struct Transaction {
    transaction: graven::Transaction,
    folder: Folder,
}

impl Transaction {
    pub(crate) fn new(transaction: graven::Transaction, folder: Folder) -> Self {
        Transaction {
            transaction,
            folder,
        }
    }
}

/// Runs a statement of the transaction to its end, as graven_query() does otherwise. A statement
/// that fails fails the transaction: graven_rollback() is all that is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_transaction_query(
    transaction: Option<&mut Transaction>,
    statement: *const c_char,
    parameters: Option<&Value>,
    error: Option<&mut *mut Error>,
) -> Option<Box<QueryResult>> {
    guard(error, || {
        let transaction = there(transaction, "transaction")?;
        // SAFETY: CA-2.
        let statement = unsafe { text(statement, "statement") }?;
        let params = params(parameters)?;
        let result = transaction.transaction.query(statement, &params)?;
        QueryResult::begin(result, transaction.folder.clone())
    })
}

/// Commits, and frees the transaction in every case. False with an error for which
/// graven_error_retryable() is true where another transaction was in the way: run it all again.
#[unsafe(no_mangle)]
pub extern "C" fn graven_commit(
    transaction: Option<Box<Transaction>>,
    error: Option<&mut *mut Error>,
) -> bool {
    let done = guard(error, || {
        there(transaction, "transaction")?
            .transaction
            .commit()
            .map(drop)
    });
    done.is_some()
}

/// Undoes everything, and frees the transaction. A null pointer is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn graven_rollback(transaction: Option<Box<Transaction>>) {
    quiet((), || {
        if let Some(transaction) = transaction {
            transaction.transaction.rollback();
        }
    });
}
