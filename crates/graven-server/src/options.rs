//! How a server is started.

use std::path::PathBuf;
use std::time::Duration;

/// Name of the private key in a folder with a certificate that the server made.
pub(crate) const KEY: &str = "key.pem";

/// How long a client may leave something open without asking for anything, unless the options say
/// so.
const IDLE: Duration = Duration::from_secs(600);

/// How often a client that waits hears of the server, unless the options say so.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Longest message, unless the options say so.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Connections at a time, unless the options say so: an idle one takes some kilobytes and no
/// thread.
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

/// Where a server has its certificate from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tls {
    /// Files in PEM form.
    Files {
        /// The certificate, and those that lead to the one that clients trust.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// A folder with a pair that the server makes where there is none: `cert.pem` and `key.pem`.
    SelfSigned {
        /// The folder.
        folder: PathBuf,
        /// Names and addresses of this machine that it is for, besides `localhost` and its own
        /// name.
        names: Vec<String>,
    },
}

impl Tls {
    /// The file of the private key.
    pub(crate) fn key(&self) -> PathBuf {
        match self {
            Tls::Files { key, .. } => key.clone(),
            Tls::SelfSigned { folder, .. } => folder.join(KEY),
        }
    }
}

/// How a server is started. Start from [`Options::default`] and change fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Where it listens.
    pub address: String,
    /// A user that may connect besides the users of the database.
    pub user: Option<User>,
    /// No client needs to log in: any client that reaches the address may do everything but name
    /// files.
    pub open_to_all: bool,
    /// The folder below which clients may name files; none: they may name none.
    pub files: Option<PathBuf>,
    /// Files below that folder that clients may not name all the same, besides those of the
    /// databases and the key of the certificate: those with passwords.
    pub secret_files: Vec<PathBuf>,
    /// URLs below which clients may name objects and files of web servers; none: they may name
    /// none.
    pub urls: Vec<String>,
    /// Connections at a time that have logged in; more are told that the server is full.
    pub connections_max: usize,
    /// The certificate, which makes TLS possible on the same port; none: no TLS.
    pub tls: Option<Tls>,
    /// What is said outside of TLS is refused.
    pub tls_only: bool,
    /// Longest message that is taken; longer ones are refused, and the connection goes on.
    pub message_bytes_max: usize,
    /// How often a client that waits is told that the server is there; a driver gives up after
    /// twice that time.
    pub keep_alive: Duration,
    /// Where counters for Prometheus are to be had (`/metrics`); none: nowhere.
    pub metrics: Option<String>,
    /// Names of this machine by which the page of counters may be asked for, besides its own,
    /// `localhost` and addresses.
    pub metrics_hosts: Vec<String>,
    /// A transaction that lasts longer is rolled back; none: only those whose client says so
    /// (`tx_timeout`).
    pub transaction_timeout: Option<Duration>,
    /// A transaction, or a statement with rows left, whose client asks for nothing for so long is
    /// ended; none: never.
    pub idle_timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            address: "127.0.0.1:7687".to_owned(),
            user: None,
            open_to_all: false,
            files: None,
            secret_files: Vec::new(),
            urls: Vec::new(),
            connections_max: CONNECTIONS,
            tls: None,
            tls_only: false,
            message_bytes_max: MESSAGE_BYTES_MAX,
            keep_alive: KEEP_ALIVE,
            metrics: None,
            metrics_hosts: Vec::new(),
            transaction_timeout: None,
            idle_timeout: Some(IDLE),
        }
    }
}
