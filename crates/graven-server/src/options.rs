//! How a server is started.

use std::path::PathBuf;
use std::time::Duration;

/// How long a client may leave something open without asking for anything, unless the options say so.
const IDLE: Duration = Duration::from_secs(600);

/// Connections at a time, unless the options say so: an idle one takes some kilobytes and no thread.
const CONNECTIONS: usize = 1024;

/// A user that the server knows by itself, an admin.
#[derive(Clone)]
pub struct User {
    /// Name.
    pub name: String,
    /// Password.
    pub password: String,
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl User {
    /// Whether name and password are these; takes as long whatever part of them is wrong.
    pub(crate) fn is(&self, name: &str, password: &str) -> bool {
        let own = [self.name.as_bytes(), &[0], self.password.as_bytes()].concat();
        let other = [name.as_bytes(), &[0], password.as_bytes()].concat();
        let differs = (0..own.len()).fold(own.len() ^ other.len(), |differs, at| {
            let other = other.get(at).copied().unwrap_or_default();
            differs | usize::from(own[at] ^ other)
        });
        differs == 0
    }
}

/// How a server is started. Start from [`Options::default`] and change fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Where it listens.
    pub address: String,
    /// Who may connect besides the users of the database.
    pub user: Option<User>,
    /// Nobody is asked who it is: whoever reaches the address may do everything but name files.
    pub open_to_all: bool,
    /// The folder below which clients may name files; none: they may name none.
    pub files: Option<PathBuf>,
    /// Connections at a time that have logged in; more are told that the server is full.
    pub connections_max: usize,
    /// Where counters for Prometheus are to be had (`/metrics`); none: nowhere.
    pub metrics: Option<String>,
    /// Names of this machine by which the page of counters may be asked for, besides its own, `localhost` and addresses.
    pub metrics_hosts: Vec<String>,
    /// A transaction that lasts longer is rolled back; none: only those whose client says so (`tx_timeout`).
    pub transaction_timeout: Option<Duration>,
    /// A transaction, or a statement with rows left, whose client asks for nothing for so long is ended; none: never.
    pub idle_timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            address: "127.0.0.1:7687".to_owned(),
            user: None,
            open_to_all: false,
            files: None,
            connections_max: CONNECTIONS,
            metrics: None,
            metrics_hosts: Vec::new(),
            transaction_timeout: None,
            idle_timeout: Some(IDLE),
        }
    }
}
