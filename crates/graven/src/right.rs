//! Rights: what a statement or a procedure needs, from reading to administering.

use graven_storage::Role;

/// What a statement or a procedure needs. A session with access mode `READ` runs what needs
/// [`Right::Read`] alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Right {
    /// It changes nothing.
    Read,
    /// It changes data or schema.
    Write,
    /// It changes users or settings, names files, or concerns statements of others.
    Admin,
}

impl Right {
    /// As `SHOW PROCEDURES` says it.
    pub(crate) fn mode(self) -> &'static str {
        match self {
            Right::Read => "READ",
            Right::Write => "WRITE",
            Right::Admin => "DBMS",
        }
    }

    pub(crate) fn role(self) -> Role {
        match self {
            Right::Read => Role::Reader,
            Right::Write => Role::Writer,
            Right::Admin => Role::Admin,
        }
    }
}
