//! A job and the promise that it settles.

use napi::bindgen_prelude::{Object, ToNapiValue};
use napi::{Env, JsDeferred};

use crate::told::{Told, guard};
use crate::{opened, threads};

type Resolver<T> = Box<dyn FnOnce(Env) -> napi::Result<T>>;

/// Does `work` on another thread; what it gives becomes the value of the promise. `running` says
/// that it runs: it is let go before the promise is settled.
pub(crate) fn promise<'env, T: ToNapiValue + Send + 'static>(
    env: &'env Env,
    running: Option<opened::Running>,
    work: impl FnOnce() -> Result<T, Told> + Send + 'static,
) -> napi::Result<Object<'env>> {
    let (deferred, promise) = env.create_deferred::<T, Resolver<T>>()?;
    threads::run(move || settle(deferred, running, work));
    Ok(promise)
}

/// As [`promise`] for work that may wait for other jobs (ND-4).
pub(crate) fn promise_apart<'env, T: ToNapiValue + Send + 'static>(
    env: &'env Env,
    work: impl FnOnce() -> Result<T, Told> + Send + 'static,
) -> napi::Result<Object<'env>> {
    let (deferred, promise) = env.create_deferred::<T, Resolver<T>>()?;
    threads::run_apart(move || settle(deferred, None, work));
    Ok(promise)
}

fn settle<T: ToNapiValue + Send + 'static>(
    deferred: JsDeferred<T, Resolver<T>>,
    running: Option<opened::Running>,
    work: impl FnOnce() -> Result<T, Told>,
) {
    let done = guard(work);
    drop(running);
    match done {
        Ok(value) => deferred.resolve(Box::new(move |_| Ok(value))),
        Err(told) => deferred.reject(told.into()),
    }
}
