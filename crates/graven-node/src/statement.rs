//! `NativeStatement`: a statement that is planned once and run often.

use std::sync::Arc;

use graven::{Params, Prepared};
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

use crate::input::Reader;
use crate::js::{Any, Js};
use crate::result::NativeResult;
use crate::session::Session;
use crate::told::{Told, sync};

/// See `package/statement.js`.
#[napi]
pub struct NativeStatement {
    held: Arc<Held>,
}

struct Held {
    session: Arc<Session>,
    prepared: Prepared,
}

impl Held {
    fn run(&self, params: &Params) -> Result<NativeResult, Told> {
        // How long statements may run is asked of the connection each time.
        let timeout = self.session.current().timeout();
        let result = self.prepared.query_within(params, timeout)?;
        NativeResult::begin(&self.session, result)
    }
}

impl NativeStatement {
    pub(crate) fn new(session: Arc<Session>, prepared: Prepared) -> Self {
        let held = Arc::new(Held { session, prepared });
        NativeStatement { held }
    }
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
        let session = &self.held.session;
        session.promise(env, &self.held, move |held| held.run(&params))
    }

    /// The same, at once.
    #[napi]
    pub fn execute_sync(&self, env: &Env, params: Any, makers: Any) -> napi::Result<NativeResult> {
        let params = self::params(env, params, makers)?;
        self.held.session.sync(|| self.held.run(&params))
    }
}
