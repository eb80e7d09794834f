//! Commands about users, and the hashes of passwords.
//!
//! # How it works
//! A password is hashed with Argon2id and a random salt, with the parameters that the crate
//! recommends; the hash says them, so that they may change. The commands change the list of users
//! that the statement's transaction keeps.
//!
//! # Costs
//! A hash takes 19 MiB and some tens of milliseconds of one processor, also to compare. At most
//! [`AT_ONCE`] are computed at a time.
//!
//! # Source
//! RFC 9106; OWASP's recommendation for Argon2id.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Argon2, Params};
use graven_cypher::plan::users::{Given, UserCommand, UserSettings};
use graven_storage::{Role, SchemaClash, UserDescription};
use graven_types::told;

use crate::error::{ExecError, Result};
use crate::query_context::QueryContext;
use crate::value::Value;

/// Hashes that are computed at a time.
const AT_ONCE: usize = 2;

/// What a hash may ask for to be compared with, in KiB and in passes over these: that of a file
/// from elsewhere may ask for anything.
const MEMORY_KIB_MAX: u32 = 64 << 10;
const PASSES_MAX: u32 = 16;

/// Longest password, in bytes.
pub const PASSWORD_BYTES_MAX: usize = 1024;

/// Other names of roles, which Neo4j has.
const ALIASES: &[(&str, Role)] = &[
    ("editor", Role::Writer),
    ("publisher", Role::Writer),
    ("architect", Role::Writer),
    ("public", Role::Reader),
];

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// A place among those that compute a hash.
struct Turn;

impl Turn {
    fn take() -> Turn {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = ENDED
            .wait_while(running, |running| *running >= AT_ONCE)
            .unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}

/// The hash of a password.
///
/// # Errors
/// [`ExecError::Argument`] for an empty or a very long one.
pub fn hash_password(password: &str) -> Result<Arc<str>> {
    let argument = |message: String| ExecError::Argument { message };
    if password.is_empty() || password.len() > PASSWORD_BYTES_MAX {
        let message = told!("a password has from 1 to {PASSWORD_BYTES_MAX} bytes");
        return Err(argument(message));
    }
    let _turn = Turn::take();
    let salt = SaltString::generate(&mut OsRng);
    let hash = Argon2::default().hash_password(password.as_bytes(), &salt);
    let hash = hash.map_err(|error| argument(told!("the password cannot be hashed: {error}")))?;
    Ok(hash.to_string().into())
}

/// Whether a hash is that of a password.
#[must_use]
pub fn is_password(hash: &str, password: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else {
        return false;
    };
    let is_usual = Params::try_from(&hash)
        .is_ok_and(|asked| asked.m_cost() <= MEMORY_KIB_MAX && asked.t_cost() <= PASSES_MAX);
    if password.len() > PASSWORD_BYTES_MAX || !is_usual {
        return false;
    }
    let _turn = Turn::take();
    let found = Argon2::default().verify_password(password.as_bytes(), &hash);
    found.is_ok()
}

/// The text of a name or a password.
fn text(given: &Given, what: &str, rt: &QueryContext) -> Result<Arc<str>> {
    let text = match given {
        Given::Text(text) => Arc::clone(text),
        Given::Parameter(name) => match rt.parameter(name)? {
            Value::String(text) => Arc::clone(text),
            _ => {
                let message = told!("{what} in the parameter ${name} is text");
                return Err(ExecError::Argument { message });
            }
        },
    };
    if text.is_empty() {
        let message = told!("{what} is empty");
        return Err(ExecError::Argument { message });
    }
    Ok(text)
}

fn role(given: &Given, rt: &QueryContext) -> Result<Role> {
    let name = text(given, "the name of a role", rt)?;
    let alias = || {
        let mut all = ALIASES.iter();
        all.find(|(alias, _)| alias.eq_ignore_ascii_case(&name))
    };
    let known = Role::named(&name).or_else(|| alias().map(|(_, role)| *role));
    known.ok_or_else(|| ExecError::Argument {
        message: told!("there is no role {name}: the roles are reader, writer and admin"),
    })
}

/// Sets what is named.
fn set(user: &mut UserDescription, settings: &UserSettings, rt: &QueryContext) -> Result<()> {
    if let Some(password) = &settings.password {
        user.password = hash_password(&text(password, "the password", rt)?)?;
    }
    if let Some(given) = &settings.role {
        user.role = role(given, rt)?;
    }
    if let Some(home) = &settings.home {
        user.home = match home {
            None => None,
            Some(home) => {
                let home = text(home, "the name of a database", rt)?;
                Some(home.to_lowercase().into())
            }
        };
    }
    user.suspended = settings.suspended.unwrap_or(user.suspended);
    user.change_required = settings.change_required.unwrap_or(user.change_required);
    if user.suspended && rt.user.as_deref() == Some(&*user.name) {
        let message = "a user cannot suspend itself".to_owned();
        return Err(ExecError::Argument { message });
    }
    Ok(())
}

fn missing(name: &str) -> ExecError {
    let what = "user";
    let name = name.to_owned();
    graven_storage::Error::NoSuchSchema { what, name }.into()
}

fn taken(name: &str) -> ExecError {
    let (what, name, clash) = ("user", name.to_owned(), SchemaClash::Name);
    graven_storage::Error::SchemaExists { what, name, clash }.into()
}

/// Runs one.
pub(crate) fn run(command: &UserCommand, rt: &QueryContext) -> Result<()> {
    let transaction = rt.writer()?.transaction();
    let user_name = |given: &Given| text(given, "the name of a user", rt);
    let known = |name: &str| transaction.user(name);
    match command {
        UserCommand::Create {
            name,
            or_replace,
            if_not_exists,
            settings,
        } => {
            let name = user_name(name)?;
            if known(&name).is_some() && !or_replace {
                if *if_not_exists {
                    return Ok(());
                }
                return Err(taken(&name));
            }
            let mut user = UserDescription {
                name,
                role: Role::Reader,
                password: "".into(),
                suspended: false,
                change_required: false,
                home: None,
            };
            set(&mut user, settings, rt)?;
            transaction.put_user(user)?;
        }
        UserCommand::Alter {
            name,
            if_exists,
            settings,
        } => {
            let name = user_name(name)?;
            match known(&name) {
                Some(mut user) => {
                    set(&mut user, settings, rt)?;
                    transaction.put_user(user)?;
                }
                None if *if_exists => {}
                None => return Err(missing(&name)),
            }
        }
        UserCommand::SetOwnPassword { from, to } => {
            let user = rt.user.as_deref().and_then(known);
            let Some(mut user) = user else {
                let message =
                    "no user of the database runs this statement, so there is no password to set"
                        .to_owned();
                return Err(ExecError::Argument { message });
            };
            let (from, to) = (
                text(from, "the password", rt)?,
                text(to, "the password", rt)?,
            );
            let refused = if !is_password(&user.password, &from) {
                Some("the old password is another one")
            } else if from == to {
                Some("the new password is the old one")
            } else {
                None
            };
            if let Some(message) = refused {
                let message = message.to_owned();
                return Err(ExecError::Argument { message });
            }
            user.password = hash_password(&to)?;
            user.change_required = false;
            transaction.put_user(user)?;
        }
        UserCommand::Rename {
            from,
            to,
            if_exists,
        } => {
            let (from, to) = (user_name(from)?, user_name(to)?);
            if known(&from).is_none() {
                return if *if_exists {
                    Ok(())
                } else {
                    Err(missing(&from))
                };
            }
            if known(&to).is_some() {
                return Err(taken(&to));
            }
            transaction.rename_user(&from, &to)?;
        }
        UserCommand::Drop { name, if_exists } => {
            let name = user_name(name)?;
            if rt.user.as_deref() == Some(&*name) {
                let message = "a user cannot drop itself".to_owned();
                return Err(ExecError::Argument { message });
            }
            if !transaction.drop_user(&name)? && !if_exists {
                return Err(missing(&name));
            }
        }
        UserCommand::Grant { roles, users } | UserCommand::Revoke { roles, users } => {
            let grants = matches!(command, UserCommand::Grant { .. });
            for given in users {
                let name = user_name(given)?;
                let mut user = known(&name).ok_or_else(|| missing(&name))?;
                for given in roles {
                    let role = role(given, rt)?;
                    user.role = match grants {
                        true => user.role.max(role),
                        // Each role may do what those before it may: what is left is the least.
                        false if user.role == role => Role::Reader,
                        false => user.role,
                    };
                }
                transaction.put_user(user)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_by_its_hash_alone() {
        let hash = hash_password("correct horse").expect("hashed");
        assert!(hash.starts_with("$argon2id$"), "{hash}");
        assert!(is_password(&hash, "correct horse"));
        for other in ["", "correct", "correct horse ", &"x".repeat(5000)] {
            assert!(!is_password(&hash, other), "{other}");
        }
        assert_ne!(
            hash,
            hash_password("correct horse").expect("hashed"),
            "salted"
        );
        assert!(!is_password("no hash", "x"));
        // One that asks for four gigabytes is not computed.
        let costly = hash.replace("m=19456", "m=4194304");
        assert_ne!(costly, &*hash);
        assert!(!is_password(&costly, "correct horse"));
        assert!(hash_password("").is_err());
    }
}
