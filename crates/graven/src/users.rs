//! Users of a server: whether a password is right, and passwords that cannot be guessed.
//!
//! # How it works
//! A password that was found right is remembered for the life of the process by a keyed hash, with
//! the hash that the database keeps of it: connections of a pool log in without paying for Argon2
//! again, and another password in the database is another question. Both hashes are compared in a
//! time that does not depend on where they differ.

use crate::database::Database;
use crate::error::Error;
use crate::params::Params;
use crate::value::Value;

impl Database {
    /// Whether the database has users.
    ///
    /// # Errors
    /// Errors of asking the process that has the database open.
    pub fn has_users(&self) -> Result<bool, Error> {
        let users = self
            .connect()
            .query("SHOW USERS", &Params::new())?
            .next_row()?;
        Ok(users.is_some())
    }

    /// The name of the home database of a user, if there is such a user and it has one.
    ///
    /// # Errors
    /// As [`Database::has_users`].
    pub fn home_of(&self, user: &str) -> Result<Option<String>, Error> {
        let params = Params::new().with("user", user);
        let asked = "SHOW USERS YIELD user, home WHERE user = $user RETURN home";
        let row = self.connect().query(asked, &params)?.next_row()?;
        Ok(row.and_then(|row| Some(row.get(0)?.as_str()?.to_owned())))
    }

    /// Whether there is a user of this name and password that may connect.
    ///
    /// # Errors
    /// As [`Database::has_users`].
    pub fn is_user(&self, name: &str, password: &str) -> Result<bool, Error> {
        let params = Params::new().with("name", name).with("password", password);
        let asked = "CALL graven.users.isPassword($name, $password) YIELD right RETURN right";
        let row = self.connect().query(asked, &params)?.next_row()?;
        Ok(row.is_some_and(|row| row.get(0) == Some(&Value::Boolean(true))))
    }
}
