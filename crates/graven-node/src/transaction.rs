//! `NativeTransaction`: statements that become visible together, or not at all.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graven::{Params, Transaction};
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

use crate::input::request;
use crate::js::Any;
use crate::opened::{Ends, Listed};
use crate::result::NativeResult;
use crate::session::Session;
use crate::told::Told;

/// See `package/transaction.js`.
#[napi]
pub struct NativeTransaction {
    held: Arc<Held>,
    _listed: Listed,
}

struct Held {
    session: Arc<Session>,
    /// None after it has ended.
    transaction: Mutex<Option<Transaction>>,
}

impl Held {
    fn transaction(&self) -> MutexGuard<'_, Option<Transaction>> {
        self.transaction
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn query(&self, text: &str, params: &Params, streams: bool) -> Result<NativeResult, Told> {
        let mut transaction = self.transaction();
        let transaction = transaction.as_mut().ok_or_else(ended)?;
        let result = match streams {
            true => transaction.stream(text, params)?,
            false => transaction.query(text, params)?,
        };
        NativeResult::begin(&self.session, result)
    }

    fn commit(&self) -> Result<(), Told> {
        let transaction = self.transaction().take().ok_or_else(ended)?;
        Ok(transaction.commit().map(drop)?)
    }

    fn rollback(&self) -> Result<(), Told> {
        self.transaction().take().ok_or_else(ended)?.rollback();
        Ok(())
    }
}

impl Ends for Held {
    fn end(&self) {
        // Dropping it rolls it back.
        drop(self.transaction().take());
    }
}

fn ended() -> Told {
    Told::usage("the transaction has ended: begin another one")
}

impl NativeTransaction {
    pub(crate) fn new(session: Arc<Session>, transaction: Transaction) -> Self {
        let opened = Arc::clone(&session.opened);
        let held = Arc::new(Held {
            session,
            transaction: Mutex::new(Some(transaction)),
        });
        let weak = Arc::downgrade(&held);
        NativeTransaction {
            held,
            _listed: opened.list(weak),
        }
    }
}

#[napi]
impl NativeTransaction {
    /// Runs a statement to its end, or up to its first rows if it `streams`.
    #[napi]
    pub fn query<'env>(
        &self,
        env: &'env Env,
        text: Any,
        params: Any,
        makers: Any,
        streams: bool,
    ) -> napi::Result<Object<'env>> {
        let (text, params) = request(env, text, params, makers)?;
        self.held.session.promise(env, &self.held, move |held| {
            held.query(&text, &params, streams)
        })
    }

    /// Runs a statement to its end, at once.
    #[napi]
    pub fn query_sync(
        &self,
        env: &Env,
        text: Any,
        params: Any,
        makers: Any,
    ) -> napi::Result<NativeResult> {
        let (text, params) = request(env, text, params, makers)?;
        self.held
            .session
            .sync(|| self.held.query(&text, &params, false))
    }

    /// Makes its changes visible and durable.
    #[napi]
    pub fn commit<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.held
            .session
            .promise(env, &self.held, |held| held.commit())
    }

    /// The same, at once.
    #[napi]
    pub fn commit_sync(&self) -> napi::Result<()> {
        self.held.session.sync(|| self.held.commit())
    }

    /// Undoes its changes.
    #[napi]
    pub fn rollback<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.held
            .session
            .promise(env, &self.held, |held| held.rollback())
    }

    /// The same, at once.
    #[napi]
    pub fn rollback_sync(&self) -> napi::Result<()> {
        self.held.session.sync(|| self.held.rollback())
    }
}
