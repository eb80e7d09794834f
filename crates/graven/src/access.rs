//! The user of a connection, and what its statements may do.
//!
//! # How it works
//! A [`Connection`](crate::Connection) has an [`Access`]; a program's own may do everything. A
//! server gives each client's connection that of its user. What a statement needs is known with its
//! plan ([`Right`]) and compared before it runs; a procedure's right stands in its table and is
//! compared when it is called. A statement may name the files and URLs that its access has
//! ([`FileAccess`]), whatever clause or procedure names them. A user of the database is looked up
//! at the beginning of each statement: a role that is taken away is gone at once.
//!
//! # Invariants
//! * AC-1 A process that attaches, or a client of a server, gets at most the access that was asked
//!   for and granted there.

use graven_storage::Store;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_exec::{FileAccess, Opened};
use graven_objects::Allowed;
use graven_storage::{Role, UserDescription};

use crate::error::{Error, READ_MODE};
use crate::right::Right;

/// What the statements of a connection may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub(crate) user: Option<Arc<str>>,
    /// The user is one of the database, which says its role at the beginning of each statement.
    pub(crate) listed: bool,
    pub(crate) role: Role,
    pub(crate) reads_only: bool,
    pub(crate) files: FileAccess,
    /// Where users are looked up, if not in the database that a statement runs on.
    pub(crate) users: Option<Users>,
}

/// The store that users are looked up in.
#[derive(Clone)]
pub(crate) struct Users(pub(crate) Arc<Store>);

impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Users")
    }
}

impl PartialEq for Users {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Users {}

impl Default for Access {
    fn default() -> Self {
        Access {
            user: None,
            listed: false,
            role: Role::Admin,
            reads_only: false,
            files: FileAccess::default(),
            users: None,
        }
    }
}

impl Access {
    /// Everything, but for files: none may be named.
    #[must_use]
    pub fn without_files(role: Role) -> Access {
        Access {
            role,
            files: FileAccess::closed(),
            ..Access::default()
        }
    }

    /// That of a user which the server knows.
    #[must_use]
    pub fn with_user(mut self, name: &str) -> Access {
        self.user = Some(name.into());
        self.listed = false;
        self
    }

    /// That of a user of the database, whose role is looked up as often as it is needed.
    #[must_use]
    pub fn with_listed_user(mut self, name: &str) -> Access {
        self.user = Some(name.into());
        self.listed = true;
        self
    }

    /// Files below this folder may be named.
    #[must_use]
    pub fn with_files_below(mut self, folder: &Path) -> Access {
        let mut opened = Opened::below(folder);
        if let FileAccess::Opened(before) = self.files {
            (opened.urls, opened.kept) = (before.urls, before.kept);
        }
        self.files = FileAccess::Opened(opened);
        self
    }

    /// Of files below the opened folder, these may not be named, nor what lies beside them under a
    /// name that goes on with `-`; of a folder, no database in it. Names are whole ones.
    #[must_use]
    pub fn without_files_of(mut self, kept: &Arc<[PathBuf]>) -> Access {
        if let FileAccess::Opened(opened) = &mut self.files {
            opened.kept = Arc::clone(kept);
        }
        self
    }

    /// Of URLs, those that lie below these may be named, and these: buckets, folders in them, web
    /// servers, folders of these.
    ///
    /// # Errors
    /// `Config.Invalid` for what is no such URL.
    ///
    /// # Examples
    /// ```
    /// use graven::{Access, Role};
    /// let access = Access::without_files(Role::Reader).with_urls_below(&["s3://data/in/"])?;
    /// assert!(Access::without_files(Role::Reader).with_urls_below(&["data/in"]).is_err());
    /// # Ok::<(), graven::Error>(())
    /// ```
    pub fn with_urls_below<T: AsRef<str>>(mut self, urls: &[T]) -> Result<Access, Error> {
        let urls = Allowed::below(urls).map_err(|error| Error::config(error.to_string()))?;
        if let FileAccess::Any(_) = self.files {
            self.files = FileAccess::closed();
        }
        if let FileAccess::Opened(opened) = &mut self.files {
            opened.urls = urls;
        }
        Ok(self)
    }

    /// Nothing may be changed, whatever the role.
    #[must_use]
    pub fn reading_only(mut self, only: bool) -> Access {
        self.reads_only |= only;
        self
    }

    /// At most what `other` has, too.
    pub(crate) fn within(mut self, other: &Access) -> Access {
        self.role = self.role.min(other.role);
        self.reads_only |= other.reads_only;
        if other.files == FileAccess::closed() {
            self.files = FileAccess::closed();
        }
        self
    }

    /// Relative names count from `folder`, where any file may be named.
    pub(crate) fn count_from(&mut self, folder: Arc<Path>) {
        if let FileAccess::Any(from) = &mut self.files {
            *from = Some(folder);
        }
    }

    /// Whether there is nothing that it does not allow, but perhaps to name files.
    pub(crate) fn is_unbounded(&self) -> bool {
        self.role == Role::Admin && !self.reads_only && !self.listed
    }

    /// Whether its role is that of an admin now.
    pub(crate) fn is_admin(&self, store: &Store) -> bool {
        let listed = || {
            self.listed_user(store)
                .is_some_and(|user| user.role == Role::Admin)
        };
        self.role == Role::Admin && (!self.listed || listed())
    }

    /// Where users are looked up by a statement that runs on this store.
    pub(crate) fn users_of<'a>(&'a self, store: &'a Store) -> &'a Store {
        self.users.as_ref().map_or(store, |users| &users.0)
    }

    /// The user of the database, as it is now.
    pub(crate) fn listed_user(&self, store: &Store) -> Option<UserDescription> {
        let name = self.user.as_deref()?;
        let snapshot = self.users_of(store).snapshot();
        let mut users = snapshot.users().iter();
        users.find(|user| &*user.name == name).cloned()
    }

    /// Compares what is needed with what may be done; `own`: it concerns only the user itself.
    pub(crate) fn check(
        &self,
        users: impl FnOnce() -> Option<UserDescription>,
        (right, own): (Right, bool),
        what: &dyn std::fmt::Display,
    ) -> Result<(), Error> {
        if self.reads_only && right > Right::Read {
            let message = format!("{what} writes, but its session or transaction is read-only");
            return Err(Error::new(READ_MODE, message));
        }
        let mut role = self.role;
        if self.listed {
            let name = self.user.as_deref().unwrap_or_default();
            role = match users() {
                None => {
                    let message =
                        format!("there is no user {name} any more: log in as another one");
                    return Err(Error::new("Security.Forbidden", message));
                }
                Some(user) if user.suspended => {
                    let message = format!("the user {name} is suspended: ask an admin");
                    return Err(Error::new("Security.Forbidden", message));
                }
                Some(user) if user.change_required && !own => {
                    let message = format!(
                        "the user {name} has to set another password first: ALTER CURRENT USER SET \
                            PASSWORD FROM 'old' TO 'new'"
                    );
                    return Err(Error::new("Security.CredentialsExpired", message));
                }
                Some(user) => user.role.min(role),
            };
        }
        let wanted = right.role();
        if own || role >= wanted {
            return Ok(());
        }
        let granted = match &self.user {
            Some(name) => format!("the user {name} has the role {role}"),
            None => format!("this connection has the role {role}"),
        };
        let message = format!("{what} needs the role {wanted}, and {granted}");
        Err(Error::new("Security.Forbidden", message))
    }
}

#[cfg(test)]
mod tests {
    //! Goal: each role does what it may and nothing more, through statements, transactions and
    //! procedures; a role that is taken away is gone with the next statement; files are closed but
    //! for a folder; passwords are shown nowhere.

    use super::*;
    use crate::{Config, Connection, Database, Params};

    fn code(connection: &Connection, text: &str) -> String {
        let ran = connection.query(text, &Params::new());
        let ran = ran.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
        ran.map_or_else(|error| error.code().to_owned(), |_| "done".to_owned())
    }

    #[test]
    fn each_role_does_what_it_may() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config {
            create: true,
            ..Config::default()
        };
        let database = Database::open(folder.path().join("r.graven"), config).expect("opened");
        let own = database.connect();
        for (name, role) in [("ada", "admin"), ("bob", "writer"), ("eve", "reader")] {
            let made = format!("CREATE USER {name} SET PASSWORD 'SECRET' SET ROLE {role}");
            assert_eq!(code(&own, &made), "done");
        }
        assert_eq!(
            code(&own, "CREATE USER eve SET PASSWORD 'SECRET'"),
            "Schema.UserExists"
        );
        assert!(database.has_users().expect("asked"));
        assert!(database.is_user("eve", "SECRET").expect("asked"));
        for (name, password) in [("eve", "secret"), ("eve", ""), ("mallory", "SECRET")] {
            assert!(!database.is_user(name, password).expect("asked"), "{name}");
        }
        std::fs::create_dir(folder.path().join("open")).expect("a folder");
        std::fs::write(folder.path().join("open/a.csv"), "1\n").expect("a file");
        let of = |name: &str| {
            let access = Access::without_files(Role::Admin).with_listed_user(name);
            database.connect().with_access(access)
        };
        let forbidden = "Security.Forbidden";
        let statements = [
            ("MATCH (n) RETURN count(n)", 0),
            ("SHOW CURRENT USER", 0),
            ("CREATE (:N)", 1),
            ("CREATE INDEX FOR (n:N) ON (n.x)", 1),
            ("CREATE USER x IF NOT EXISTS SET PASSWORD 'y'", 2),
            ("GRANT ROLE reader TO ada", 2),
            ("SHOW USERS", 2),
            ("CALL graven.cache.setPolicy('lru')", 2),
            ("CALL graven.cache.resize('64MiB')", 2),
            ("CALL graven.backup('copy.graven')", 3),
            ("LOAD CSV FROM 'a.csv' AS row RETURN row", 3),
            ("LOAD CSV FROM 'file:///etc/hostname' AS row RETURN row", 3),
        ];
        for (may, name) in ["eve", "bob", "ada"].into_iter().enumerate() {
            let connection = of(name);
            for (text, needs) in statements {
                let wanted = if needs <= may { "done" } else { forbidden };
                if text.starts_with("CREATE INDEX") && may > 1 {
                    continue;
                }
                assert_eq!(code(&connection, text), wanted, "{name}: {text}");
                let reading = connection.clone();
                let access = reading.access().clone().reading_only(true);
                let reading = reading.with_access(access);
                if needs > 0 {
                    assert_ne!(code(&reading, text), "done", "{name} reads: {text}");
                }
            }
        }
        // Lists say the same.
        let listed = |name: &str, text: &str| {
            let found = of(name).query(text, &Params::new());
            found
                .expect(text)
                .next_row()
                .expect(text)
                .expect("a row")
                .values()[0]
                .to_string()
        };
        let count = |by: &str, of: &str, only: &str| {
            let text = format!(
                "SHOW {of} EXECUTABLE {by} YIELD name WHERE '{only}' IN ['', name] \
                    RETURN count(*)"
            );
            let name = if by.is_empty() { "eve" } else { "ada" };
            listed(name, &text).parse::<u64>().expect("a number")
        };
        // One procedure for each right.
        let procedures = ["db.labels", "apoc.create.node", "graven.cache.resize"];
        for (by, may) in [
            ("", [true, false, false]),
            ("BY eve", [true, false, false]),
            ("BY bob", [true, true, false]),
            ("BY CURRENT USER", [true, true, true]),
            ("BY ada", [true, true, true]),
            ("BY mallory", [false, false, false]),
        ] {
            let found = procedures.map(|name| count(by, "PROCEDURES", name) > 0);
            assert_eq!(found, may, "{by}");
            assert_eq!(count(by, "FUNCTIONS", "") > 0, may[0], "{by}");
        }
        let others = "SHOW PROCEDURES EXECUTABLE BY ada";
        assert_eq!(code(&of("eve"), others), forbidden);
        let own = "SHOW PROCEDURES EXECUTABLE BY eve";
        assert_eq!(code(&of("eve"), own), "done");
        let own = database.connect();
        // A folder is opened.
        let access = Access::without_files(Role::Admin);
        let access = access.with_files_below(&folder.path().join("open"));
        let admin = database.connect().with_access(access);
        assert_eq!(
            code(&admin, "LOAD CSV FROM 'file:///a.csv' AS row RETURN row"),
            "done"
        );
        for outside in ["../r.graven", "/etc/hostname", "file:///../r.graven"] {
            let text = format!("LOAD CSV FROM '{outside}' AS row RETURN row");
            assert_ne!(code(&admin, &text), "done", "{outside}");
        }
        assert_ne!(code(&admin, "CALL graven.backup('../out.graven')"), "done");
        assert_eq!(code(&admin, "CALL graven.backup('in.graven')"), "done");
        assert!(folder.path().join("open/in.graven").exists());
        assert!(!folder.path().join("out.graven").exists());
        // What is taken away is gone at once.
        let bob = of("bob");
        let mut begun = bob.begin().expect("begun");
        assert_eq!(code(&own, "REVOKE ROLE writer FROM bob"), "done");
        assert_eq!(code(&bob, "CREATE (:N)"), forbidden);
        let refused = begun.query("CREATE (:N)", &Params::new()).map(|_| ());
        assert_eq!(
            refused.map_err(|error| error.code().to_owned()),
            Err(forbidden.to_owned())
        );
        assert_eq!(
            code(
                &of("eve"),
                "ALTER CURRENT USER SET PASSWORD FROM 'x' TO 'y'"
            ),
            "ArgumentError.InvalidArgumentValue"
        );
        assert_eq!(
            code(
                &of("eve"),
                "ALTER CURRENT USER SET PASSWORD FROM 'SECRET' TO 'y'"
            ),
            "done"
        );
        assert!(database.is_user("eve", "y").expect("asked"));
        assert_eq!(
            code(&own, "ALTER USER eve SET PASSWORD CHANGE REQUIRED"),
            "done"
        );
        assert_eq!(code(&of("eve"), "RETURN 1"), "Security.CredentialsExpired");
        assert_eq!(code(&own, "ALTER USER eve SET STATUS SUSPENDED"), "done");
        assert!(!database.is_user("eve", "y").expect("asked"));
        assert_eq!(code(&own, "DROP USER eve"), "done");
        assert_eq!(code(&of("eve"), "RETURN 1"), forbidden);
        // A user with another name keeps password and role.
        assert_eq!(code(&of("bob"), "RENAME USER bob TO rob"), forbidden);
        assert_eq!(code(&own, "GRANT ROLE writer TO bob"), "done");
        assert_eq!(code(&own, "RENAME USER bob TO ada"), "Schema.UserExists");
        assert_eq!(code(&own, "RENAME USER bob TO bob"), "Schema.UserExists");
        assert_eq!(code(&own, "RENAME USER eve TO rob"), "Schema.UserNotFound");
        assert_eq!(code(&own, "RENAME USER eve IF EXISTS TO rob"), "done");
        assert_eq!(code(&own, "RENAME USER bob TO Aaron"), "done");
        assert!(database.is_user("Aaron", "SECRET").expect("asked"));
        assert!(!database.is_user("bob", "SECRET").expect("asked"));
        assert_eq!(code(&of("Aaron"), "CREATE (:N)"), "done");
        assert_eq!(code(&of("bob"), "RETURN 1"), forbidden);
    }
}
