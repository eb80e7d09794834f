//! Users of a server: names, roles and hashes of passwords, kept with indexes and constraints.
//!
//! # How it works
//! The list is part of the schema: a transaction changes it, the log holds it whole, and the
//! catalogue keeps it, and with it backups and checkpoints. The store compares no passwords and
//! checks no rights; it keeps what it is given.
//!
//! # On disk
//! Behind everything else of the catalogue, and of the schema in the log, only where there are
//! users: the version (varint, 1; 2 where a user has a home), count; each: name, role (varint: 1
//! reader, 2 writer, 3 admin), flags (varint: 1 suspended, 2 a new password is wanted, 4 it has a
//! home), hash of the password as text, and the name of the home where it has one.

use crate::bytes::{Decoded, Malformed, Reader, put_text, put_varint};
use std::fmt;
use std::sync::Arc;

const VERSION: u64 = 1;
/// Builds that know no homes refuse it, so that none is lost.
const VERSION_WITH_HOMES: u64 = 2;
const SUSPENDED: u64 = 1;
const CHANGE_REQUIRED: u64 = 2;
const HAS_HOME: u64 = 4;

/// What a user may do; each role may do what those before it may.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// Reads.
    Reader,
    /// Changes data and schema.
    Writer,
    /// Changes users and settings, copies the database, ends statements of others.
    Admin,
}

impl Role {
    /// All roles, the least first.
    pub const ALL: [Role; 3] = [Role::Reader, Role::Writer, Role::Admin];

    /// The name in statements and lists.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Writer => "writer",
            Role::Admin => "admin",
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Role> {
        let mut all = Role::ALL.into_iter();
        all.find(|role| role.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A user as the catalogue lists it.
#[derive(Clone, PartialEq, Eq)]
pub struct UserDescription {
    /// Its name.
    pub name: Arc<str>,
    /// What it may do.
    pub role: Role,
    /// The hash of its password, in the form of the function that made it.
    pub password: Arc<str>,
    /// It may not connect.
    pub suspended: bool,
    /// It has to set another password first.
    pub change_required: bool,
    /// The name of the database that it means where it names none.
    pub home: Option<Arc<str>>,
}

impl fmt::Debug for UserDescription {
    /// Without the hash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserDescription")
            .field("name", &self.name)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

pub(crate) fn put(out: &mut Vec<u8>, users: &[UserDescription]) {
    let has_homes = users.iter().any(|user| user.home.is_some());
    let version = if has_homes {
        VERSION_WITH_HOMES
    } else {
        VERSION
    };
    put_varint(out, version);
    put_varint(out, users.len() as u64);
    for user in users {
        put_text(out, &user.name);
        put_varint(out, user.role as u64 + 1);
        let suspended = if user.suspended { SUSPENDED } else { 0 };
        let change_required = if user.change_required {
            CHANGE_REQUIRED
        } else {
            0
        };
        let home = if user.home.is_some() { HAS_HOME } else { 0 };
        put_varint(out, suspended | change_required | home);
        put_text(out, &user.password);
        if let Some(home) = &user.home {
            put_text(out, home);
        }
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> Decoded<Vec<UserDescription>> {
    let version = reader.varint()?;
    let known = match version {
        VERSION => SUSPENDED | CHANGE_REQUIRED,
        VERSION_WITH_HOMES => SUSPENDED | CHANGE_REQUIRED | HAS_HOME,
        _ => {
            let what = format!(
                "users of version {version}, at most version {VERSION_WITH_HOMES} expected"
            );
            return Err(Malformed(what));
        }
    };
    let mut users: Vec<UserDescription> = Vec::new();
    for _ in 0..reader.length()? {
        let name = Arc::from(reader.text()?);
        let role = reader.varint()?;
        let mut all = Role::ALL.into_iter();
        let role = all
            .find(|known| *known as u64 + 1 == role)
            .ok_or_else(|| Malformed(format!("unknown role {role} of a user")))?;
        let flags = reader.varint()?;
        if flags & !known != 0 {
            return Err(Malformed(format!("unknown flags {flags:#x} of a user")));
        }
        if users.last().is_some_and(|last| last.name >= name) {
            return Err(Malformed::new("users are not in the order of their names"));
        }
        users.push(UserDescription {
            name,
            role,
            password: Arc::from(reader.text()?),
            suspended: flags & SUSPENDED != 0,
            change_required: flags & CHANGE_REQUIRED != 0,
            home: match flags & HAS_HOME {
                0 => None,
                _ => Some(Arc::from(reader.text()?)),
            },
        });
    }
    Ok(users)
}

#[cfg(test)]
mod tests {
    //! Goal: users come back from the catalogue and from the log, in whatever way the store was
    //! left, and damaged bytes are refused.

    use super::*;
    use crate::GraphBuilder;
    use crate::catalog::Catalog;

    fn user(name: &str, role: Role) -> UserDescription {
        UserDescription {
            name: name.into(),
            role,
            password: "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA".into(),
            suspended: role == Role::Reader,
            change_required: role == Role::Admin,
            home: (role == Role::Writer).then(|| "shop".into()),
        }
    }

    #[test]
    fn users_come_back_from_bytes() {
        let users = vec![
            user("ada", Role::Admin),
            user("bob", Role::Writer),
            user("eve", Role::Reader),
        ];
        let some = [("x", 1i64.into())];
        for properties in [&some[..], &[]] {
            let mut builder = GraphBuilder::new();
            builder.node(&["A"], properties);
            let store = builder.open(1 << 20).expect("opened");
            let mut catalog: Catalog = store.snapshot().catalog().clone();
            catalog.users.clone_from(&users);
            let back = Catalog::decode(&catalog.encode()).expect("readable");
            assert_eq!(back, catalog);
        }
        let mut out = Vec::new();
        put(&mut out, &users[..1]);
        assert_eq!(out[0], 1, "builds that know no homes read users without");
        assert_eq!(read(&mut Reader::new(&out)).as_deref(), Ok(&users[..1]));
        out.clear();
        put(&mut out, &users);
        assert_eq!(read(&mut Reader::new(&out)), Ok(users));
        for at in 0..out.len() {
            let mut changed = out.clone();
            changed[at] ^= 0xff;
            let _ = read(&mut Reader::new(&changed));
            assert!(read(&mut Reader::new(&out[..at])).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_hash_is_not_printed() {
        assert!(!format!("{:?}", user("ada", Role::Admin)).contains("argon2"));
    }
}
