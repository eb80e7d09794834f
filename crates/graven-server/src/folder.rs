//! A folder of databases that one server serves: which there are, how they are opened, made and
//! dropped.
//!
//! # How it works
//! The folder says which databases there are: each `NAME.graven` in it is the database `NAME`.
//! `system.graven` keeps the users of all of them and what is set of them ([`settings`]). All are
//! opened at the start and share one memory budget. One that cannot be opened is listed as offline,
//! with the reason, and stops nothing. Each change of the folder runs alone ([`changes`]).
//!
//! # Invariants
//! * DF-1 A database is there when its finished file has its name, by a rename that is durable. It
//!   is dropped when its file has lost that name, by another one. Between the two a kill leaves
//!   what was there before, and files that the next start removes.
//! * DF-2 What is set of a database that was dropped is not set of the next one of its name: making
//!   one forgets it first.
//! * DF-3 `system` is owned by the server alone: no other process opens it meanwhile.
//!
//! # Cost
//! A name is found in a map, under a lock that is held for that alone.

mod changes;
pub(crate) mod names;
mod settings;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use graven::pagecache::Budget;
use graven::{Change, Config, Database, DatabaseManager, Error, Listed, Params};

use crate::opened::Opened;
use names::{Found, SYSTEM, USUAL};
use settings::{Settings, State};

/// A database of the folder.
#[derive(Debug)]
struct Entry {
    state: State,
    /// The open database.
    open: Option<Arc<Opened>>,
    /// Why it is not open.
    message: String,
}

/// What is known of the folder.
#[derive(Debug, Default)]
struct Known {
    entries: BTreeMap<String, Entry>,
    /// Other names of databases.
    aliases: BTreeMap<String, String>,
}

impl Known {
    /// The name of the database that is meant.
    fn resolve(&self, name: &str) -> Option<String> {
        let name = name.to_lowercase();
        let name = self.aliases.get(&name).unwrap_or(&name);
        self.entries.contains_key(name).then(|| name.clone())
    }
}

/// The databases of a folder, open.
#[derive(Debug)]
pub struct DatabaseFolder {
    folder: PathBuf,
    /// How each is opened.
    config: Config,
    budget: Arc<Budget>,
    /// The name of the default database.
    default: String,
    system: Arc<Opened>,
    settings: Settings,
    known: RwLock<Known>,
    /// Held by the one that changes the folder.
    changing: Mutex<()>,
    /// Where clients reach the server, once it listens.
    address: OnceLock<String>,
    /// What the start has made or found, in words.
    notices: Vec<String>,
}

/// How a folder is opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FolderOptions {
    /// How each of its databases is opened; `memory` is for all of them together.
    pub config: Config,
    /// The database of clients that name none; it has to exist unless the folder is empty. None:
    /// `neo4j`, which is made where it is missing.
    pub default: Option<String>,
    /// Make the folder, or begin one among other files.
    pub create: bool,
}

impl FolderOptions {
    /// With this configuration, and nothing made but in an empty folder.
    #[must_use]
    pub fn new(config: Config) -> FolderOptions {
        FolderOptions {
            config,
            default: None,
            create: false,
        }
    }
}

/// An error about the name of a database.
fn not_found(name: &str) -> Error {
    Error::of_database_manager(
        "NotAvailable.DatabaseNotFound",
        format!("there is no database `{name}` on this server; SHOW DATABASES lists them"),
    )
}

fn cannot(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::of_database_manager(
        "Io.Failed",
        format!("{}: cannot {what}: {error}", path.display()),
    )
}

/// What is in the folder: names of databases, and notices about what is none.
fn look(folder: &Path) -> Result<(Vec<String>, Vec<String>, bool), Error> {
    let listed = fs::read_dir(folder).map_err(|error| cannot("be read", folder, &error))?;
    let (mut databases, mut notices, mut is_empty) = (Vec::new(), Vec::new(), true);
    for file in listed {
        let file = file.map_err(|error| cannot("be read", folder, &error))?;
        is_empty = false;
        match names::found(&file.file_name().to_string_lossy()) {
            Found::Database(name) => databases.push(name),
            Found::Misnamed => notices.push(format!(
                "{} is not served: the name of a database has 3 to 63 of a-z, 0-9, dot and dash, \
                    and begins with a letter; rename the file",
                file.path().display()
            )),
            _ => {}
        }
    }
    databases.sort();
    Ok((databases, notices, is_empty))
}

/// Removes what a kill in the middle of a change has left.
fn tidy(folder: &Path) -> Result<(), Error> {
    let listed = fs::read_dir(folder).map_err(|error| cannot("be read", folder, &error))?;
    for file in listed {
        let file = file.map_err(|error| cannot("be read", folder, &error))?;
        let path = file.path();
        match names::found(&file.file_name().to_string_lossy()) {
            Found::Dropped(name) => {
                let data = names::file(folder, &name);
                if !data.exists() {
                    changes::remove_beside(&data)?;
                }
            }
            Found::Unfinished => {}
            _ => continue,
        }
        fs::remove_file(&path).map_err(|error| cannot("be removed", &path, &error))?;
    }
    Ok(())
}

impl DatabaseFolder {
    /// Opens all databases of a folder.
    ///
    /// # Errors
    /// `Database.NotFound` where there is no such folder, or none with databases;
    /// `Database.InUse` where another server has it; errors of `system.graven`.
    pub fn open(folder: impl AsRef<Path>, options: FolderOptions) -> Result<Arc<Self>, Error> {
        let folder = folder.as_ref().to_path_buf();
        if options.create && !folder.exists() {
            fs::create_dir(&folder).map_err(|error| cannot("be made", &folder, &error))?;
        }
        if !folder.is_dir() {
            let message = match folder.exists() {
                true => format!(
                    "{} is a file, not a folder of databases: leave out --databases to serve it",
                    folder.display()
                ),
                false => format!(
                    "{} does not exist; --create makes an empty folder of databases",
                    folder.display()
                ),
            };
            return Err(Error::of_database_manager("Database.NotFound", message));
        }
        let (databases, mut notices, is_empty) = look(&folder)?;
        if databases.is_empty() && !is_empty && !options.create {
            let message = format!(
                "{} has other files and no databases in it; --create begins with an empty one",
                folder.display()
            );
            return Err(Error::of_database_manager("Database.NotFound", message));
        }
        let has_others = databases.iter().any(|name| name != SYSTEM);
        let default = match &options.default {
            None => USUAL.to_owned(),
            Some(name) => names::of_database(name)?,
        };
        if has_others && options.default.is_some() && !databases.contains(&default) {
            let others = databases.iter().filter(|name| *name != SYSTEM);
            let others: Vec<&str> = others.map(String::as_str).collect();
            let message = format!(
                "{} has no database `{default}` to be the default; it has {}",
                folder.display(),
                others.join(", ")
            );
            return Err(Error::of_database_manager("Database.NotFound", message));
        }
        let mut config = options.config;
        let budget = config.budget.clone();
        let budget = budget.unwrap_or_else(|| Budget::new(config.memory));
        config.budget = Some(Arc::clone(&budget));
        let mut alone = config.clone();
        alone.attach = false;
        alone.create = true;
        let system = Database::open(names::file(&folder, SYSTEM), alone)?;
        // From here on no other server is at work here (DF-3).
        tidy(&folder)?;
        let (databases, ..) = look(&folder)?;
        let settings = Settings::of(&system);
        let mut states = settings.states()?;
        let mut aliases = settings.aliases()?;
        // A kill during a drop leaves aliases of what is gone.
        let gone = aliases
            .iter()
            .filter(|(_, target)| !databases.contains(target));
        let gone: Vec<String> = gone.map(|(alias, _)| alias.clone()).collect();
        if !gone.is_empty() {
            settings.drop_aliases(&gone)?;
            aliases.retain(|alias, _| !gone.contains(alias));
        }
        let system = Arc::new(Opened::new(SYSTEM, system)?);
        let opened = DatabaseFolder {
            known: RwLock::new(Known {
                entries: BTreeMap::new(),
                aliases,
            }),
            default: default.clone(),
            settings,
            system,
            config,
            budget,
            changing: Mutex::new(()),
            address: OnceLock::new(),
            notices: Vec::new(),
            folder,
        };
        for name in databases.iter().filter(|name| *name != SYSTEM) {
            let state = states.remove(name).unwrap_or_default();
            let entry = opened.entry(name, state);
            if !entry.message.is_empty() && !state.is_stopped {
                notices.push(format!("{name} is offline: {}", entry.message));
            }
            opened.known_mut().entries.insert(name.clone(), entry);
        }
        if !databases.contains(&default) {
            opened.change(Change::Create {
                name: default.clone(),
                replaces: false,
                if_missing: false,
            })?;
            notices.push(format!("made the empty database {default}"));
        }
        for (user, home) in opened.settings.earlier_homes()? {
            if opened.resolve(&home).is_none() {
                notices.push(format!(
                    "{home}, the home database of user {user}, is not in the folder: the user has \
                        the default one now"
                ));
            }
        }
        let opened = Arc::new(DatabaseFolder { notices, ..opened });
        opened.take_over_homes()?;
        Ok(opened)
    }

    /// Homes that earlier builds kept beside the users become a part of them, in one commit.
    fn take_over_homes(self: &Arc<Self>) -> Result<(), Error> {
        let homes = self.settings.earlier_homes()?;
        if homes.is_empty() {
            return Ok(());
        }
        let connection = self.system().connect();
        let connection = connection.with_database_manager(Arc::clone(self) as _);
        let mut transaction = connection.begin()?;
        for (user, home) in homes {
            if self.resolve(&home).is_some() {
                let params = Params::new().with("user", user).with("home", home);
                let text = "ALTER USER $user IF EXISTS SET HOME DATABASE $home";
                transaction.query(text, &params)?;
            }
        }
        transaction.query("MATCH (h:Home) DELETE h", &Params::new())?;
        transaction.commit().map(|_| ())
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens one of the folder, unless it was stopped; an error is its message.
    fn entry(&self, name: &str, state: State) -> Entry {
        let opened = match state.is_stopped {
            true => Ok(None),
            false => self.open_one(name, false).map(Some),
        };
        let message = match &opened {
            Ok(_) => String::new(),
            Err(error) => error.message().to_owned(),
        };
        let open = opened.ok().flatten();
        if let Some(open) = &open {
            open.set_reads_only(state.reads_only);
        }
        Entry {
            state,
            open,
            message,
        }
    }

    /// Opens the file of a database.
    fn open_one(&self, name: &str, create: bool) -> Result<Arc<Opened>, Error> {
        let mut config = self.config.clone();
        config.create = create;
        let database = Database::open(names::file(&self.folder, name), config)?;
        if database.attached_to() == Some(std::process::id()) {
            return Err(Error::of_database_manager(
                "Database.InUse",
                format!("what ran in `{name}` is still ending: try it again in a moment"),
            ));
        }
        if let Some(process) = database.attached_to() {
            return Err(Error::of_database_manager(
                "Database.InUse",
                format!("process {process} has the file open: end it, then START DATABASE {name}"),
            ));
        }
        Opened::new(name, database).map(Arc::new)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The database that keeps the users.
    #[must_use]
    pub fn system(&self) -> &Database {
        &self.system.database
    }

    /// What the start has made, and files that are not served, in words.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The memory budget of all its databases.
    #[must_use]
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// The open database of this name or alias.
    ///
    /// # Errors
    /// There is none, or it is offline.
    pub(crate) fn named(&self, name: &str) -> Result<Arc<Opened>, Error> {
        if name.eq_ignore_ascii_case(SYSTEM) {
            return Ok(Arc::clone(&self.system));
        }
        let known = self.known();
        let resolved = known.resolve(name).ok_or_else(|| not_found(name))?;
        let entry = &known.entries[&resolved];
        entry.open.clone().ok_or_else(|| {
            let why = match entry.state.is_stopped {
                true => format!("it was stopped; START DATABASE {resolved}"),
                false => entry.message.clone(),
            };
            Error::of_database_manager(
                "Database.Closed",
                format!("the database `{resolved}` is offline: {why}"),
            )
        })
    }

    /// All that are open, `system` last.
    pub(crate) fn all_open(&self) -> Vec<Arc<Opened>> {
        let known = self.known();
        let open = known
            .entries
            .values()
            .filter_map(|entry| entry.open.clone());
        open.chain([Arc::clone(&self.system)]).collect()
    }

    /// Where clients reach the server from now on.
    pub(crate) fn set_address(&self, address: &str) {
        // A folder is served by one server.
        let _ = self.address.set(address.to_owned());
    }

    /// The name of the database of a user that names none.
    pub(crate) fn home_of(&self, user: Option<&str>) -> Result<String, Error> {
        let home = user.map(|user| self.system.database.home_of(user));
        let home = home.transpose()?.flatten();
        Ok(home.unwrap_or_else(|| self.default_name()))
    }

    /// Closes all databases.
    ///
    /// # Errors
    /// The first one that cannot be closed; the others are.
    pub fn close(&self) -> Result<(), Error> {
        let closed = self.all_open().into_iter().map(|it| it.database.close());
        closed.fold(Ok(()), Result::and)
    }
}

impl DatabaseManager for DatabaseFolder {
    fn databases(&self) -> Vec<Listed> {
        let known = self.known();
        let aliases_of = |name: &String| {
            let all = known.aliases.iter();
            let own = all.filter(|(_, target)| *target == name);
            own.map(|(alias, _)| alias.clone()).collect()
        };
        let listed = known.entries.iter().map(|(name, entry)| Listed {
            name: name.clone(),
            aliases: aliases_of(name),
            reads_only: entry.state.reads_only,
            is_wanted: !entry.state.is_stopped,
            message: entry.message.clone(),
            database: entry.open.as_ref().map(|open| open.database.clone()),
        });
        let mut listed: Vec<Listed> = listed.collect();
        listed.push(Listed {
            name: SYSTEM.to_owned(),
            aliases: Vec::new(),
            reads_only: false,
            is_wanted: true,
            message: String::new(),
            database: Some(self.system.database.clone()),
        });
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        listed
    }

    fn resolve(&self, name: &str) -> Option<String> {
        if name.eq_ignore_ascii_case(SYSTEM) {
            return Some(SYSTEM.to_owned());
        }
        self.known().resolve(name)
    }

    fn default_name(&self) -> String {
        self.default.clone()
    }

    fn change(&self, change: Change) -> Result<(), Error> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = self.checked(change)?;
        plan.map_or(Ok(()), |change| self.make(change))
    }

    fn address(&self) -> String {
        self.address.get().cloned().unwrap_or_default()
    }
}
