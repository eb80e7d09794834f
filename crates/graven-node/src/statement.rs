//! `NativeStatement`: a statement that is planned once and run often.

use std::sync::Arc;

use graven::{Params, Prepared};
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

use crate::input::Reader;
use crate::js::{Any, Js};
use crate::promise::promise;
use crate::result::NativeResult;
use crate::session::Session;
use crate::told::{Told, sync};

/// See `package/statement.js`.
#[napi]
pub struct NativeStatement {
    session: Arc<Session>,
    prepared: Arc<Prepared>,
}

impl NativeStatement {
    pub(crate) fn new(session: Arc<Session>, prepared: Prepared) -> Self {
        NativeStatement {
            session,
            prepared: Arc::new(prepared),
        }
    }
}

fn run(session: &Arc<Session>, prepared: &Prepared, params: &Params) -> Result<NativeResult, Told> {
    // How long statements may run is asked of the connection each time.
    let result = prepared.query_within(params, session.current().timeout())?;
    NativeResult::begin(session, result)
}

fn params(env: &Env, params: Any, makers: Any) -> napi::Result<Params> {
    sync(|| Reader::new(Js::new(env), makers)?.params(params))
}

#[napi]
impl NativeStatement {
    /// Runs it up to its first rows.
    #[napi]
    pub fn execute<'env>(
        &self,
        env: &'env Env,
        params: Any,
        makers: Any,
    ) -> napi::Result<Object<'env>> {
        let params = self::params(env, params, makers)?;
        let (session, prepared) = (Arc::clone(&self.session), Arc::clone(&self.prepared));
        let running = session.enter()?;
        promise(env, Some(running), move || {
            run(&session, &prepared, &params)
        })
    }

    /// The same, at once.
    #[napi]
    pub fn execute_sync(&self, env: &Env, params: Any, makers: Any) -> napi::Result<NativeResult> {
        let params = self::params(env, params, makers)?;
        sync(|| {
            let _running = self.session.enter()?;
            run(&self.session, &self.prepared, &params)
        })
    }
}
