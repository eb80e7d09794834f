//! What a connection shares with its statements, transactions and results.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graven::{CancelHandle, Durability};
use graven_binding::{ConnectionOptions, set_connection};
use napi::Env;
use napi::bindgen_prelude::{Object, ToNapiValue};

use crate::opened::{Opened, Running};
use crate::promise::promise;
use crate::settings::{Settings, pair};
use crate::told::{Told, sync};

/// A connection of the library, its settings, and the database that it is of.
pub(crate) struct Session {
    pub(crate) opened: Arc<Opened>,
    state: Mutex<(graven::Connection, ConnectionOptions)>,
    pub(crate) cancel: CancelHandle,
}

impl Session {
    pub(crate) fn new(opened: &Arc<Opened>, settings: &Settings) -> Result<Arc<Session>, Told> {
        let _running = opened.enter(None)?;
        let mut options = ConnectionOptions::default();
        if opened.is_temporary {
            // What ends with the program need not wait for the device.
            options = options.durability(Durability::Off);
        }
        let connection = options.apply(opened.database.connect());
        let session = Session {
            opened: Arc::clone(opened),
            cancel: connection.cancel_handle(),
            state: Mutex::new((connection, options)),
        };
        session.change(settings)?;
        Ok(Arc::new(session))
    }

    fn state(&self) -> MutexGuard<'_, (graven::Connection, ConnectionOptions)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn current(&self) -> graven::Connection {
        self.state().0.clone()
    }

    /// The connection with other settings, for a transaction.
    pub(crate) fn with(&self, settings: &Settings) -> Result<graven::Connection, Told> {
        let (mut connection, mut options) = self.state().clone();
        for setting in settings {
            let (name, value) = pair(setting)?;
            connection = set_connection(connection, &mut options, name, value)?;
        }
        Ok(connection)
    }

    /// Changes settings for the statements that begin from now on.
    pub(crate) fn change(&self, settings: &Settings) -> Result<(), Told> {
        let mut state = self.state();
        for setting in settings {
            let (name, value) = pair(setting)?;
            let (current, mut options) = state.clone();
            *state = (set_connection(current, &mut options, name, value)?, options);
        }
        Ok(())
    }

    /// Notes that something of it runs.
    ///
    /// # Errors
    /// `Database.Closed`.
    fn enter(&self) -> Result<Running, Told> {
        self.opened.enter(Some(&self.cancel))
    }

    /// Does `work` with something of it on another thread.
    pub(crate) fn promise<'env, H: Send + Sync + 'static, T: ToNapiValue + Send + 'static>(
        &self,
        env: &'env Env,
        held: &Arc<H>,
        work: impl FnOnce(&Arc<H>) -> Result<T, Told> + Send + 'static,
    ) -> napi::Result<Object<'env>> {
        let held = Arc::clone(held);
        promise(env, Some(self.enter()?), move || work(&held))
    }

    /// Does `work` at once.
    pub(crate) fn sync<T>(&self, work: impl FnOnce() -> Result<T, Told>) -> napi::Result<T> {
        sync(|| {
            let _running = self.enter()?;
            work()
        })
    }
}
