//! What all connections of a server share: the databases it serves, and which users may log in.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graven::{Access, Error, Role};

use crate::clients::ClientList;
use crate::failure::Failure;
use crate::login_throttle::{Attempt, LoginThrottle};
use crate::metrics::Counters;
use crate::options::User;
use crate::served::Databases;
use crate::timeouts::Timeouts;
use crate::transport::Carriers;

/// What does not change while a server runs.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) databases: Databases,
    /// A user that may connect besides the users of the database.
    pub(crate) user: Option<User>,
    /// No client needs to log in.
    pub(crate) open_to_all: bool,
    /// Below which clients may name files.
    pub(crate) files: Option<Arc<Path>>,
    /// What they may not name there: databases and secrets.
    pub(crate) kept: Arc<[PathBuf]>,
    /// Below which they may name URLs.
    pub(crate) urls: Vec<String>,
    pub(crate) attempts: LoginThrottle,
    pub(crate) timeouts: Timeouts,
    /// Longest message of a client that has logged in.
    pub(crate) message_bytes_max: usize,
    /// How often a client that waits is told that the server is there.
    pub(crate) keep_alive: Duration,
    pub(crate) carriers: Arc<Carriers>,
    pub(crate) counters: Counters,
    pub(crate) clients: Arc<ClientList>,
    /// It ends: nothing new is begun.
    pub(crate) stopping: AtomicBool,
}

impl Service {
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn access(&self) -> Result<Access, Error> {
        let mut access = Access::without_files(Role::Admin);
        if let Databases::Folder(folder) = &self.databases {
            access = access.with_users_of(folder.system())?;
        }
        let access = access.with_urls_below(&self.urls)?;
        Ok(match &self.files {
            Some(folder) => access.with_files_below(folder).without_files_of(&self.kept),
            None => access,
        })
    }

    /// What the user `name`, with `password`, may do; without a name: what any client may.
    pub(crate) fn log_in(
        &self,
        from: IpAddr,
        said: Option<(&str, &str)>,
    ) -> Result<Access, Failure> {
        if self.open_to_all {
            let access = self.access()?;
            return Ok(match said {
                Some((name, _)) if !name.is_empty() => access.with_user(name),
                _ => access,
            });
        }
        let Some((name, password)) = said else {
            return Err(Failure::unauthorized(
                "this server asks for a user and a password: log in with scheme basic",
            ));
        };
        let own = self.access()?;
        let mut access = None;
        let mut failed = None;
        let is_right = || {
            if self
                .user
                .as_ref()
                .is_some_and(|user| user.is(name, password))
            {
                access = Some(own.clone().with_user(name));
                return true;
            }
            match self.databases.system().is_user(name, password) {
                Ok(true) => access = Some(own.clone().with_listed_user(name)),
                Ok(false) => {}
                // Nothing was found out about the password.
                Err(error) => {
                    failed = Some(error);
                    return true;
                }
            }
            access.is_some()
        };
        let made = self.attempts.make(from, is_right);
        if let Some(error) = failed {
            return Err(error.into());
        }
        match (made, access) {
            (Attempt::Right, Some(access)) => Ok(access),
            (Attempt::TooSoon, _) => Err(Failure::too_many_attempts()),
            _ => Err(Failure::unauthorized("the name or the password is wrong")),
        }
    }
}
