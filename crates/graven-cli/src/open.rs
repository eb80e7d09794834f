//! Opening a database as the arguments ask.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use graven::{Config, Database, IoMode, Touches, touches};

use crate::argument;
use crate::control::Control;
use crate::failure::Failure;

/// The database and how to open it.
#[derive(Args, Debug)]
pub(crate) struct Open {
    /// The database file
    pub(crate) db: PathBuf,
    /// The whole memory budget: pages, operators, results [default: a quarter of the memory there is]
    #[arg(long, value_parser = argument::bytes, value_name = "SIZE")]
    memory: Option<u64>,
    /// Replacement policy of the page cache, with parameters as in gclock:max=7
    #[arg(long, default_value = graven::DEFAULT_POLICY)]
    policy: String,
    /// Threads that one statement may use where it reads many nodes [default: the cores there are]
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
    /// How pages are read: direct or buffered
    #[arg(long, default_value = "direct")]
    io: IoMode,
    /// Never write to the file
    #[arg(long)]
    read_only: bool,
}

impl Open {
    /// Opens it.
    pub(crate) fn database(&self) -> Result<Database, Failure> {
        self.open(false, None)
    }

    /// Opens it, a new one if there is none; says so on standard error then. Statements, and the answer of the process that has it open, may take so
    /// long.
    pub(crate) fn database_or_new(&self, timeout: Option<Duration>) -> Result<Database, Failure> {
        let new = !self.read_only && !self.db.exists();
        let db = self.open(new, timeout)?;
        if new {
            eprintln!(
                "{} did not exist: made an empty database",
                self.db.display()
            );
        }
        Ok(db)
    }

    /// Opens it for these statements: a new one if there is none, unless they only read, and a mistyped name would be
    /// answered as if nothing were stored.
    pub(crate) fn database_for(
        &self,
        statements: &[&str],
        timeout: Option<Duration>,
    ) -> Result<Database, Failure> {
        if self.read_only || self.db.exists() {
            return self.open(false, timeout);
        }
        let mut all = Vec::new();
        for statement in statements {
            if Control::read(statement).is_none() {
                all.push(touches(statement).map_err(|e| Failure::failed(e.render()))?);
            }
        }
        if all.contains(&Touches::Writes) || !all.contains(&Touches::Reads) {
            return self.database_or_new(timeout);
        }
        let opened = self.open(false, timeout);
        opened.map_err(|failure| match failure {
            Failure::Failed(message) => Failure::Failed(format!(
                "{message}; statements that write, such as CREATE, make it too"
            )),
            other => other,
        })
    }

    fn open(&self, create: bool, timeout: Option<Duration>) -> Result<Database, Failure> {
        let mut config = Config::default();
        config.timeout = timeout;
        config.create = create;
        if let Some(memory) = self.memory {
            config.memory = memory;
        }
        if let Some(threads) = self.threads {
            config.threads = threads.get();
        }
        config.policy.clone_from(&self.policy);
        config.io = self.io;
        config.read_only = self.read_only;
        Ok(Database::open(&self.db, config)?)
    }
}
