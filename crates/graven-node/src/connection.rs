//! `NativeConnection`: where statements are run.

use std::sync::Arc;

use graven::Params;
use graven_binding::several;
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

use crate::input::{request, text_of};
use crate::js::Any;
use crate::opened::Opened;
use crate::result::NativeResult;
use crate::session::Session;
use crate::settings::Settings;
use crate::statement::NativeStatement;
use crate::told::{Told, sync};
use crate::transaction::NativeTransaction;

/// See `package/connection.js`.
#[napi]
pub struct NativeConnection {
    session: Arc<Session>,
}

/// The results of all statements of a text.
fn query(session: &Arc<Session>, text: &str, params: &Params) -> Result<Vec<NativeResult>, Told> {
    let connection = session.current();
    let run = |text: &str| NativeResult::begin(session, connection.query(text, params)?);
    let several = several(text);
    if several.is_empty() {
        return Ok(vec![run(text)?]);
    }
    several.iter().map(|text| run(text)).collect()
}

fn prepare(session: &Arc<Session>, text: &str) -> Result<NativeStatement, Told> {
    let prepared = session.current().prepare(text)?;
    Ok(NativeStatement::new(Arc::clone(session), prepared))
}

fn begin(session: &Arc<Session>, settings: &Settings) -> Result<NativeTransaction, Told> {
    let transaction = session.with(settings)?.begin()?;
    Ok(NativeTransaction::new(Arc::clone(session), transaction))
}

impl NativeConnection {
    pub(crate) fn new(opened: &Arc<Opened>, settings: &Settings) -> Result<Self, Told> {
        let session = Session::new(opened, settings)?;
        Ok(NativeConnection { session })
    }
}

#[napi]
impl NativeConnection {
    /// Runs the statements of a text up to their first rows.
    #[napi]
    pub fn query<'env>(
        &self,
        env: &'env Env,
        text: Any,
        params: Any,
        makers: Any,
    ) -> napi::Result<Object<'env>> {
        let (text, params) = request(env, text, params, makers)?;
        self.session.promise(env, &self.session, move |session| {
            query(session, &text, &params)
        })
    }

    /// The same, at once.
    #[napi]
    pub fn query_sync(
        &self,
        env: &Env,
        text: Any,
        params: Any,
        makers: Any,
    ) -> napi::Result<Vec<NativeResult>> {
        let (text, params) = request(env, text, params, makers)?;
        self.session.sync(|| query(&self.session, &text, &params))
    }

    /// Checks and plans a statement.
    #[napi]
    pub fn prepare<'env>(&self, env: &'env Env, text: Any) -> napi::Result<Object<'env>> {
        let text = text_of(env, text, "statement")?;
        self.session
            .promise(env, &self.session, move |session| prepare(session, &text))
    }

    /// The same, at once.
    #[napi]
    pub fn prepare_sync(&self, env: &Env, text: Any) -> napi::Result<NativeStatement> {
        let text = text_of(env, text, "statement")?;
        self.session.sync(|| prepare(&self.session, &text))
    }

    /// Begins a transaction.
    #[napi]
    pub fn begin<'env>(&self, env: &'env Env, settings: Settings) -> napi::Result<Object<'env>> {
        self.session
            .promise(env, &self.session, move |session| begin(session, &settings))
    }

    /// The same, at once.
    #[napi]
    pub fn begin_sync(&self, settings: Settings) -> napi::Result<NativeTransaction> {
        self.session.sync(|| begin(&self.session, &settings))
    }

    /// Changes settings for the statements that begin from now on.
    #[napi]
    pub fn set(&self, settings: Settings) -> napi::Result<()> {
        sync(|| self.session.change(&settings))
    }

    /// Stops the statements that run.
    #[napi]
    pub fn interrupt(&self) {
        self.session.cancel.cancel();
    }
}
