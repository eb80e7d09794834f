//! What can go wrong with objects, with their names.

use std::io;
use std::ops::Range;

use object_store::path::Path;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong with objects.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The URL leads to no store.
    #[error("{url}: {why}")]
    Url {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no snapshot.
    #[error(
        "{url} holds no published snapshot: {object} is missing; publish one with `graven publish \
         DB {url}`"
    )]
    NoSnapshot {
        /// The location.
        url: String,
        /// The object that was looked for.
        object: String,
    },
    /// An object is missing that a manifest names.
    #[error(
        "{url}: {object} is missing; it was deleted, perhaps by `graven gc` because a newer snapshot \
         was published: open the database again"
    )]
    Missing {
        /// The location.
        url: String,
        /// The object.
        object: String,
    },
    /// The store did not do what was asked.
    #[error("{url}: {action} {object} failed: {why}")]
    Request {
        /// The location.
        url: String,
        /// What was tried.
        action: &'static str,
        /// On which object.
        object: String,
        /// What the store said.
        why: String,
        /// Whether credentials are missing or do not suffice.
        denied: bool,
    },
    /// An object is not what its name says.
    #[error("{url}: {object} is damaged: {what}")]
    Damaged {
        /// The location.
        url: String,
        /// The object.
        object: String,
        /// What is wrong.
        what: String,
    },
    /// A snapshot of a newer build.
    #[error(
        "{url}: {object} is of snapshot format {found}, and this build knows {known}; use a newer \
         build"
    )]
    Format {
        /// The location.
        url: String,
        /// The object.
        object: String,
        /// Its format.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// Snapshots of another database are there.
    #[error(
        "{url} holds snapshots of another database ({found}), this one is {ours}; publish to \
         another place, or delete what is there"
    )]
    OtherDatabase {
        /// The location.
        url: String,
        /// Identity there.
        found: String,
        /// Identity of the database that was to be published.
        ours: String,
    },
    /// Another publish ended while this one ran.
    #[error(
        "{url}: another publish ended while this one ran, and its snapshot stays; publish again to \
         replace it"
    )]
    Conflict {
        /// The location.
        url: String,
    },
    /// The file that is published cannot be read.
    #[error(transparent)]
    Io(#[from] graven_io::Error),
    /// A setting cannot work.
    #[error("{0}")]
    Setting(String),
    /// An object that a statement names cannot be read or written.
    #[error("{url}: {why}")]
    Object {
        /// Its URL, without what may be secret.
        url: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The statement may not name the URL.
    #[error("{url}: {why}")]
    Forbidden {
        /// The URL.
        url: String,
        /// Why not.
        why: String,
    },
    /// The wait for a store was ended by what asked.
    #[error("{url}: the wait for it was ended")]
    Stopped {
        /// What was asked for.
        url: String,
    },
}

impl Error {
    /// The error for a request of `action` on `object` that failed.
    pub(crate) fn of(
        url: &str,
        action: &'static str,
        object: &Path,
        error: &object_store::Error,
    ) -> Error {
        use object_store::Error as Store;
        if matches!(error, Store::NotFound { .. }) {
            return Error::Missing {
                url: url.to_owned(),
                object: object.to_string(),
            };
        }
        let denied = matches!(
            error,
            Store::PermissionDenied { .. } | Store::Unauthenticated { .. }
        );
        let mut why = chain(error);
        if denied {
            why.push_str(
                "; credentials come from the environment, such as AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY",
            );
        }
        Error::Request {
            url: url.to_owned(),
            action,
            object: object.to_string(),
            why,
            denied,
        }
    }
}

impl Error {
    /// The same, about these bytes of its object.
    pub(crate) fn of_range(mut self, range: &Range<u64>) -> Error {
        if let Error::Request { object, .. } = &mut self {
            *object = format!("the bytes {range:?} of {object}");
        }
        self
    }
}

impl Error {
    pub(crate) fn object(url: impl Into<String>, why: impl Into<String>) -> Error {
        Error::Object {
            url: url.into(),
            why: why.into(),
        }
    }

    /// What is wrong, without the URL.
    #[must_use]
    pub fn why(&self) -> String {
        match self {
            Error::Object { why, .. } | Error::Forbidden { why, .. } => why.clone(),
            Error::Stopped { .. } => "the wait for it was ended".to_owned(),
            other => other.to_string(),
        }
    }
}

/// The error with its causes, each said once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = next.source();
    }
    text
}

/// The error of a read, in the standard library's terms.
pub(crate) fn io_error(error: &Error) -> io::Error {
    let kind = match error {
        Error::Missing { .. } => io::ErrorKind::NotFound,
        Error::Request { denied: true, .. } => io::ErrorKind::PermissionDenied,
        Error::Request { .. } => io::ErrorKind::HostUnreachable,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}
