//! `graven serve`: answers drivers that speak Bolt until it is stopped.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use graven_server::{Options, Server, User};

use crate::argument;
use crate::failure::Failure;
use crate::interrupt::{self, Reaction};
use crate::open::Open;

/// Where the password is looked for besides a file.
const PASSWORD: &str = "GRAVEN_PASSWORD";

/// Answer the official Neo4j drivers (bolt:// and neo4j://, without TLS) until Control-C or SIGTERM.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    open: Open,
    /// Where to listen; 0.0.0.0:7687 for other machines, which then need a user
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7687")]
    bolt: String,
    /// Who may connect; the password is the first line of --password-file, or of the variable GRAVEN_PASSWORD [default:
    /// everybody]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A file whose first line is the password of --user
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// Let other machines connect without a user
    #[arg(long, conflicts_with = "user")]
    open_to_all: bool,
    /// Where a page shows what the database does, at http://HOST:PORT/, and counters for Prometheus at /metrics [default:
    /// nowhere]
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Option<String>,
    /// Connections at a time; more are closed at once
    #[arg(long, value_name = "N", default_value_t = 256)]
    connections: usize,
    /// A transaction that lasts longer is rolled back: 30s, 500ms, 5min [default: none is, but for the client's own tx_timeout]
    #[arg(long, value_parser = argument::time, value_name = "TIME")]
    transaction_timeout: Option<Duration>,
    /// A transaction whose client asks for nothing for so long is rolled back; `never`: none is
    #[arg(long, value_parser = idle, value_name = "TIME", default_value = "10min")]
    idle_timeout: Idle,
}

/// How long a client may ask for nothing, if that has an end.
#[derive(Clone, Copy, Debug)]
struct Idle(Option<Duration>);

fn idle(text: &str) -> Result<Idle, String> {
    match text {
        "never" => Ok(Idle(None)),
        text => argument::time(text).map(|time| Idle(Some(time))),
    }
}

impl Serve {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut options = Options::default();
        options.user = self.user()?;
        options.address.clone_from(&self.bolt);
        options.open_to_all = self.open_to_all;
        options.connections_max = self.connections;
        options.metrics.clone_from(&self.metrics);
        options.transaction_timeout = self.transaction_timeout;
        options.idle_timeout = self.idle_timeout.0;
        let database = self.open.database_or_new(None)?;
        interrupt::react(Reaction::Remember);
        interrupt::react_to_termination();
        let server = Server::start(database.clone(), options)?;
        eprintln!(
            "{} is served at bolt://{}; Control-C ends it",
            server.path().display(),
            server.address()
        );
        if let Some(address) = server.metrics_address() {
            eprintln!(
                "what it does is shown at http://{address}/, counters are at http://{address}/metrics"
            );
        }
        while !interrupt::asked() {
            std::thread::sleep(Duration::from_millis(100));
        }
        eprintln!("ending what runs; the same signal again ends the program at once");
        server.stop();
        Ok(database.close()?)
    }

    /// Who may connect.
    fn user(&self) -> Result<Option<User>, Failure> {
        let Some(name) = &self.user else {
            return Ok(None);
        };
        let password = match &self.password_file {
            Some(file) => {
                let text = std::fs::read_to_string(file);
                text.map_err(|error| Failure::failed(format!("{}: {error}", file.display())))?
            }
            None => std::env::var(PASSWORD).map_err(|_| {
                Failure::usage(format!(
                    "--user needs a password: name a file with --password-file, or set {PASSWORD}"
                ))
            })?,
        };
        let password = password.lines().next().unwrap_or_default().to_owned();
        if password.is_empty() {
            return Err(Failure::usage("the password is empty"));
        }
        let name = name.clone();
        Ok(Some(User { name, password }))
    }
}
