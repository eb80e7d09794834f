//! Making, dropping, stopping and starting databases of a folder, and their aliases.
//!
//! # How it works
//! A change is checked, and then made ([`DatabaseFolder::make`]). Both happen under the lock of
//! changes; clients are served meanwhile. Dropping and stopping first keep new statements away from
//! the database, then end what runs there, and then close it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use graven::{Change, Database, DatabaseManager, Error, Params, Value};
use graven_io::{FileLock, Use};

use super::names::{self, SYSTEM};
use super::settings::State;
use super::{DatabaseFolder, cannot, not_found};
use crate::opened::Opened;

/// How long what runs in a database that is dropped or stopped may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// The folder that copies of dropped databases are kept in.
const DUMPS: &str = "dumps";

/// Removes the files beside a data file that is no longer there.
pub(super) fn remove_beside(data: &Path) -> Result<(), Error> {
    for behind in names::BESIDE {
        let path = names::with(data, behind);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(cannot("be removed", &path, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn refused(message: String) -> Error {
    Error::of_database_manager("ArgumentError.InvalidArgumentValue", message)
}

fn exists(what: &str, name: &str) -> Error {
    let code = match what {
        "alias" => "Database.AliasExists",
        _ => "Database.Exists",
    };
    Error::of_database_manager(code, format!("there is {what} `{name}` already"))
}

/// Ends what runs in a database, and waits until it has, for some seconds.
fn end_all(opened: &Opened) {
    let until = Instant::now() + ENDS_WITHIN;
    let connection = opened.database.connect();
    let ids = || {
        let asked = "SHOW TRANSACTIONS YIELD transactionId RETURN collect(transactionId)";
        let row = connection.query(asked, &Params::new()).ok()?.next_row();
        row.ok().flatten()?.get(0).cloned()
    };
    // The question itself is one of them.
    while let Some(Value::List(running)) = ids()
        && running.len() > 1
        && Instant::now() < until
    {
        let params = Params::new().with("ids", Value::List(running));
        // What has ended meanwhile is not found, which is as good.
        let ended = connection.query("TERMINATE TRANSACTIONS $ids", &params);
        let _ = ended.map(|mut rows| while let Ok(Some(_)) = rows.next_row() {});
        std::thread::sleep(PAUSE);
    }
}

/// The lock of a data file that this server has not open.
fn locked(data: &Path) -> Result<Option<FileLock>, Error> {
    if !data.exists() {
        return Ok(None);
    }
    let lock = FileLock::try_acquire(data, Use::Alone);
    match lock.map_err(|error| cannot("be locked", data, &error))? {
        Some(lock) => Ok(Some(lock)),
        None => Err(Error::of_database_manager(
            "Database.InUse",
            format!(
                "{} is open in another process: end it first",
                data.display()
            ),
        )),
    }
}

impl DatabaseFolder {
    /// Whether the change can be made now: none if there is nothing to do.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub(crate) fn checked(&self, change: Change) -> Result<Option<Change>, Error> {
        Ok(match change {
            Change::Create {
                name,
                replaces,
                if_missing,
            } => self.checked_create(&name, replaces, if_missing)?,
            Change::Drop {
                name,
                if_exists,
                cascades,
                dumps,
            } => {
                let Some(name) = self.existing(&name, if_exists)? else {
                    return Ok(None);
                };
                if name == self.default {
                    return Err(refused(format!(
                        "`{name}` is the default database of this server, which stays: start it \
                            with another --default, or CREATE OR REPLACE DATABASE {name}"
                    )));
                }
                let aliases = self.aliases_of(&name);
                if !cascades && !aliases.is_empty() {
                    return Err(refused(format!(
                        "`{name}` has aliases ({}): drop them first, or write DROP DATABASE {name} \
                            CASCADE ALIASES",
                        aliases.join(", ")
                    )));
                }
                if dumps {
                    self.named(&name)?;
                }
                Some(Change::Drop {
                    name,
                    if_exists,
                    cascades,
                    dumps,
                })
            }
            Change::SetAccess {
                name,
                if_exists,
                reads_only,
            } => {
                let name = self.existing(&name, if_exists)?;
                name.map(|name| Change::SetAccess {
                    name,
                    if_exists,
                    reads_only,
                })
            }
            Change::SetWanted { name, is_wanted } => {
                let name = self.existing(&name, false)?;
                name.map(|name| Change::SetWanted { name, is_wanted })
            }
            Change::SetAlias {
                name,
                target,
                is_new,
                replaces,
                condition,
            } => {
                let name = names::of_alias(&name)?;
                let target = self.existing(&target, false)?.unwrap_or_default();
                let known = self.known();
                if known.entries.contains_key(&name) {
                    return Err(exists("a database", &name));
                }
                match (known.aliases.contains_key(&name), is_new) {
                    (true, true) if !replaces && condition => return Ok(None),
                    (true, true) if !replaces => return Err(exists("alias", &name)),
                    (false, false) if condition => return Ok(None),
                    (false, false) => return Err(no_alias(&name)),
                    _ => {}
                }
                Some(Change::SetAlias {
                    name,
                    target,
                    is_new,
                    replaces,
                    condition,
                })
            }
            Change::DropAlias { name, if_exists } => {
                let name = name.to_lowercase();
                match (self.known().aliases.contains_key(&name), if_exists) {
                    (true, _) => Some(Change::DropAlias { name, if_exists }),
                    (false, true) => None,
                    (false, false) => return Err(no_alias(&name)),
                }
            }
        })
    }

    fn checked_create(
        &self,
        name: &str,
        replaces: bool,
        if_missing: bool,
    ) -> Result<Option<Change>, Error> {
        let name = names::of_database(name)?;
        let known = self.known();
        if known.aliases.contains_key(&name) {
            return Err(exists("alias", &name));
        }
        match known.entries.contains_key(&name) {
            true if if_missing => return Ok(None),
            true if !replaces => return Err(exists("a database", &name)),
            _ => {}
        }
        Ok(Some(Change::Create {
            name,
            replaces,
            if_missing,
        }))
    }

    /// The name of a database that is to be changed; none: it need not exist and does not.
    fn existing(&self, name: &str, if_exists: bool) -> Result<Option<String>, Error> {
        if name.eq_ignore_ascii_case(SYSTEM) {
            let message = "`system` keeps the users and is as it is".to_owned();
            return Err(refused(message));
        }
        match self.resolve(name) {
            Some(name) => Ok(Some(name)),
            None if if_exists => Ok(None),
            None => Err(not_found(name)),
        }
    }

    fn aliases_of(&self, name: &str) -> Vec<String> {
        let known = self.known();
        let all = known.aliases.iter();
        let own = all.filter(|(_, target)| *target == name);
        own.map(|(alias, _)| alias.clone()).collect()
    }

    /// Makes a change that was checked.
    pub(super) fn make(&self, change: Change) -> Result<(), Error> {
        match change {
            Change::Create { name, .. } => {
                let is_there = self.known().entries.contains_key(&name);
                match is_there {
                    true => self.replace(&name),
                    false => self.create(&name),
                }
            }
            Change::Drop { name, dumps, .. } => {
                let aliases = self.aliases_of(&name);
                self.remove(&name, dumps)?;
                // It is dropped: what is left of its settings is forgotten now, or by the next
                // start and before a database of its name is made.
                self.known_mut().aliases.retain(|_, target| *target != name);
                let _ = self.settings.drop_aliases(&aliases);
                let _ = self.settings.forget(&name);
                Ok(())
            }
            Change::SetAccess {
                name, reads_only, ..
            } => self.set_state(&name, |state| state.reads_only = reads_only),
            Change::SetWanted { name, is_wanted } => match is_wanted {
                true => self.start(&name),
                false => self.stop(&name),
            },
            Change::SetAlias { name, target, .. } => {
                self.settings.set_alias(&name, &target)?;
                self.known_mut().aliases.insert(name, target);
                Ok(())
            }
            Change::DropAlias { name, .. } => {
                self.settings.drop_aliases(std::slice::from_ref(&name))?;
                self.known_mut().aliases.remove(&name);
                Ok(())
            }
        }
    }

    /// Makes an empty database (DF-1, DF-2).
    fn create(&self, name: &str) -> Result<(), Error> {
        let data = names::file(&self.folder, name);
        if data.exists() {
            let message = format!(
                "{} came here while the server runs: it is served after the next start, or move it \
                    away to make an empty database",
                data.display()
            );
            return Err(Error::of_database_manager("Database.Exists", message));
        }
        self.settings.forget(name)?;
        let opened = match self.open_one(name, true) {
            Ok(opened) => opened,
            Err(error) => {
                // Where it was made and cannot be used nothing of it stays.
                if data.exists() && fs::remove_file(&data).is_ok() {
                    remove_beside(&data)?;
                }
                return Err(error);
            }
        };
        let entry = super::Entry {
            state: State::default(),
            open: Some(opened),
            message: String::new(),
        };
        self.known_mut().entries.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Takes a database away from clients, and waits until what runs there has ended. It comes back
    /// where `then` fails, which is done to its open database, if it has one.
    fn taken(
        &self,
        name: &str,
        then: impl FnOnce(Option<&Opened>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let data = names::file(&self.folder, name);
        let entry = self.known_mut().entries.remove(name);
        let open = entry.as_ref().and_then(|entry| entry.open.clone());
        let done = match &open {
            Some(open) => {
                open.set_gone(&format!("the database `{name}` was dropped"));
                end_all(open);
                then(Some(open))
            }
            // Another process may have it.
            None => locked(&data).and_then(|_lock| then(None)),
        };
        if done.is_err() {
            if let Some(open) = &open {
                open.set_back();
            }
            if let Some(entry) = entry {
                self.known_mut().entries.insert(name.to_owned(), entry);
            }
        }
        done
    }

    /// Takes a database and its files away (DF-1), after a copy of it was made if `dumps`.
    fn remove(&self, name: &str, dumps: bool) -> Result<(), Error> {
        let data = names::file(&self.folder, name);
        let dropped = names::dropped(&data);
        self.taken(name, |open| {
            match open {
                // No client writes to it any more: the copy has every commit.
                Some(open) if dumps => self.dump(name, &open.database)?,
                _ => {}
            }
            // A file that is gone already is dropped.
            if data.exists() {
                let renamed = graven_io::durable_rename(&data, &dropped);
                renamed.map_err(|error| cannot("be dropped", &data, &error))?;
            }
            // From here on it is dropped; the next start removes what cannot be removed now.
            if let Some(open) = open {
                let _ = open.database.close();
            }
            if remove_beside(&data).is_ok() {
                let _ = fs::remove_file(&dropped);
            }
            Ok(())
        })
    }

    /// Puts an empty database in the place of another one, by one rename (DF-1).
    fn replace(&self, name: &str) -> Result<(), Error> {
        let data = names::file(&self.folder, name);
        let new = names::unfinished(&data);
        let mut config = self.config.clone();
        config.create = true;
        Database::open(&new, config)?.close()?;
        let swapped = self.taken(name, |open| {
            if let Some(open) = open {
                // What its log has goes into the file, so that no log is left for the new one.
                let _ = open.database.close();
            }
            let renamed = graven_io::durable_rename(&new, &data);
            renamed.map_err(|error| cannot("be replaced", &data, &error))
        });
        if let Err(error) = swapped {
            let _ = fs::remove_file(&new);
            let _ = remove_beside(&new);
            return Err(error);
        }
        remove_beside(&data)?;
        self.settings.forget(name)?;
        let entry = self.entry(name, State::default());
        let message = entry.message.clone();
        self.known_mut().entries.insert(name.to_owned(), entry);
        match message.is_empty() {
            true => Ok(()),
            false => Err(Error::of_database_manager("Database.Closed", message)),
        }
    }

    /// Copies a database before it is dropped.
    fn dump(&self, name: &str, database: &Database) -> Result<(), Error> {
        let folder = self.folder.join(DUMPS);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(cannot("be made", &folder, &error));
            }
            _ => {}
        }
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let stamp = since.unwrap_or_default().as_millis();
        let file = folder.join(format!("{name}-{stamp}.graven"));
        let file = std::path::absolute(&file).unwrap_or(file);
        let params = Params::new().with("file", file.to_string_lossy().as_ref());
        let connection = database.connect();
        let mut copied = connection.query("CALL graven.backup($file)", &params)?;
        copied.next_row().map(|_| ())
    }

    fn set_state(&self, name: &str, set: impl FnOnce(&mut State)) -> Result<(), Error> {
        let state = self.known().entries.get(name).map(|entry| entry.state);
        let mut state = state.ok_or_else(|| not_found(name))?;
        set(&mut state);
        self.settings.set_state(name, state)?;
        if let Some(entry) = self.known_mut().entries.get_mut(name) {
            entry.state = state;
            if let Some(open) = &entry.open {
                open.set_reads_only(state.reads_only);
            }
        }
        Ok(())
    }

    fn start(&self, name: &str) -> Result<(), Error> {
        self.set_state(name, |state| state.is_stopped = false)?;
        let state = match self.known().entries.get(name) {
            Some(entry) if entry.open.is_none() => entry.state,
            _ => return Ok(()),
        };
        let entry = self.entry(name, state);
        let failed = (!entry.message.is_empty()).then(|| entry.message.clone());
        self.known_mut().entries.insert(name.to_owned(), entry);
        match failed {
            None => Ok(()),
            Some(why) => Err(Error::of_database_manager(
                "Database.Closed",
                format!("the database `{name}` cannot be started: {why}"),
            )),
        }
    }

    fn stop(&self, name: &str) -> Result<(), Error> {
        self.set_state(name, |state| state.is_stopped = true)?;
        let open: Option<Arc<Opened>> = {
            let mut known = self.known_mut();
            let entry = known.entries.get_mut(name);
            entry.and_then(|entry| {
                entry.message.clear();
                entry.open.take()
            })
        };
        let Some(open) = open else { return Ok(()) };
        open.set_gone(&format!("the database `{name}` was stopped"));
        end_all(&open);
        let database: Database = open.database.clone();
        database.close()
    }
}

fn no_alias(name: &str) -> Error {
    let message =
        format!("there is no alias `{name}` on this server; SHOW ALIASES FOR DATABASE lists them");
    Error::of_database_manager("NotAvailable.DatabaseNotFound", message)
}
