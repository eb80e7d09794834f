//! `NativeDatabase`: a file with its page cache.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven::Config;
use graven_binding::{Location, set_config};
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

use crate::connection::NativeConnection;
use crate::exit;
use crate::input::text_of;
use crate::js::Any;
use crate::opened::Opened;
use crate::promise::{promise, promise_apart};
use crate::settings::{Settings, pair};
use crate::told::{Told, sync};

/// See `package/database.js`.
#[napi]
pub struct NativeDatabase {
    opened: Arc<Opened>,
}

fn open(path: &str, settings: &Settings) -> Result<NativeDatabase, Told> {
    let mut config = Config::default();
    config.create = true;
    for setting in settings {
        let (name, value) = pair(setting)?;
        set_config(&mut config, name, value)?;
    }
    if config.read_only {
        config.create = false;
    }
    let location = Location::of(Path::new(path), &config)?;
    let database = graven::Database::open(location.path, config)?;
    let opened = Opened::new(database, location.folder);
    exit::note(Arc::downgrade(&opened));
    Ok(NativeDatabase { opened })
}

#[napi]
impl NativeDatabase {
    /// The version of the package.
    #[napi]
    pub fn version() -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    /// The format of data files.
    #[napi]
    pub fn storage_version() -> u32 {
        graven::STORAGE_FORMAT
    }

    /// Opens a file, or makes it.
    #[napi]
    pub fn open<'env>(env: &'env Env, path: Any, settings: Settings) -> napi::Result<Object<'env>> {
        let path = text_of(env, path, "the path")?;
        promise(env, None, move || open(&path, &settings))
    }

    /// The same, at once.
    #[napi]
    pub fn open_sync(env: &Env, path: Any, settings: Settings) -> napi::Result<NativeDatabase> {
        let path = text_of(env, path, "the path")?;
        sync(|| open(&path, &settings))
    }

    /// A connection.
    #[napi]
    pub fn connect(&self, settings: Settings) -> napi::Result<NativeConnection> {
        sync(|| NativeConnection::new(&self.opened, &settings))
    }

    /// Waits for what runs, ends what is open, makes all durable.
    #[napi]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let opened = Arc::clone(&self.opened);
        promise_apart(env, move || opened.close())
    }

    /// The same, at once.
    #[napi]
    pub fn close_sync(&self) -> napi::Result<()> {
        sync(|| self.opened.close())
    }

    /// Folds what was committed into the data file; whether there was something.
    #[napi]
    pub fn checkpoint<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.promise(env, |database| Ok(database.checkpoint()?.is_some()))
    }

    /// Copies the database, or what has changed since an earlier copy; bytes that were written.
    #[napi]
    pub fn backup<'env>(
        &self,
        env: &'env Env,
        path: String,
        since: Option<String>,
    ) -> napi::Result<Object<'env>> {
        self.promise(env, move |database| {
            let path = PathBuf::from(path);
            let bytes = match since {
                Some(since) => database.backup_since(path, PathBuf::from(since))?.0,
                None => database.backup(path)?,
            };
            Ok(bytes as f64)
        })
    }

    /// Looks for a newer version of a database in object storage; whether there was one.
    #[napi]
    pub fn refresh<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.promise(env, graven::Database::refresh)
    }

    /// Changes the budget while statements run.
    #[napi]
    pub fn set_memory<'env>(&self, env: &'env Env, size: String) -> napi::Result<Object<'env>> {
        self.promise(env, move |database| {
            database.set_memory(graven::parse_bytes(&size)?)
        })
    }

    /// Changes the replacement policy while statements run.
    #[napi]
    pub fn set_policy<'env>(&self, env: &'env Env, policy: String) -> napi::Result<Object<'env>> {
        self.promise(env, move |database| database.set_policy(&policy))
    }

    /// The budget in bytes.
    #[napi(getter)]
    pub fn memory(&self) -> napi::Result<f64> {
        sync(|| {
            let _running = self.opened.enter(None)?;
            Ok(self.opened.database.memory() as f64)
        })
    }

    /// The file.
    #[napi(getter)]
    pub fn path(&self) -> String {
        self.opened.database.path().display().to_string()
    }

    /// The process that owns the file, if it is another one.
    #[napi(getter)]
    pub fn attached_to(&self) -> Option<u32> {
        self.opened.database.attached_to()
    }
}

impl NativeDatabase {
    fn promise<'env, T: napi::bindgen_prelude::ToNapiValue + Send + 'static>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&graven::Database) -> Result<T, graven::Error> + Send + 'static,
    ) -> napi::Result<Object<'env>> {
        let opened = Arc::clone(&self.opened);
        let running = opened.enter(None)?;
        promise(env, Some(running), move || Ok(work(&opened.database)?))
    }
}

impl Drop for NativeDatabase {
    fn drop(&mut self) {
        self.opened.abandon();
    }
}
