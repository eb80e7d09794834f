//! `graven serve`: answers drivers that speak Bolt until it is stopped.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use graven::{Database, Params};
use graven_server::{DatabaseFolder, FolderOptions, Options, Server, Tls, User};

use crate::argument;
use crate::failure::Failure;
use crate::interrupt::{self, SignalAction};
use crate::open::{How, Open, close};

/// The user that a server makes where there is none.
const FIRST_USER: &str = "graven";

/// Where the password is looked for besides a file.
const PASSWORD: &str = "GRAVEN_PASSWORD";

/// Answer the official Neo4j drivers (bolt:// and neo4j://, with a certificate bolt+s:// and
/// neo4j+s:// too) until Control-C or SIGTERM.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The database file
    #[arg(required_unless_present = "databases", conflicts_with = "databases")]
    db: Option<PathBuf>,
    #[command(flatten)]
    how: How,
    /// Serve all databases of a folder, NAME.graven each, with one memory budget; clients make and
    /// drop them (CREATE DATABASE)
    #[arg(long, value_name = "DIR")]
    databases: Option<PathBuf>,
    /// With --databases, the one of clients that name none [default: neo4j]
    #[arg(long, value_name = "NAME", requires = "databases")]
    default: Option<String>,
    /// Where to listen; 0.0.0.0:7687 for other machines, which then need a user
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7687")]
    bolt: String,
    /// With the URL of a published snapshot: how often to look for a newer one, with which
    /// statements go on that begin then [default: never]
    #[arg(long, value_parser = argument::time, value_name = "TIME")]
    refresh: Option<Duration>,
    /// Make an empty database where there is none; with --databases, the folder
    #[arg(long)]
    create: bool,
    /// A user besides those of the database, an admin; the password is the first line of
    /// --password-file, or of the variable GRAVEN_PASSWORD [default: the users of the database;
    /// without any, a new user `graven` with a generated password]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A file whose first line is the password of --user
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// Require no login: any client that reaches the address may read and change everything
    #[arg(long, conflicts_with = "user")]
    open_to_all: bool,
    /// A folder below which statements of clients may name files, and URLs below which they may
    /// name objects: s3://BUCKET/FOLDER/, gs://, az://, https://HOST/FOLDER/; once for each
    /// [default: they may name none]
    #[arg(long, value_name = "DIR|URL")]
    files: Vec<String>,
    /// A certificate in PEM form, followed by those that lead to the one that clients trust: TLS on
    /// the same port
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        conflicts_with = "tls_self_signed"
    )]
    tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// TLS with the certificate DIR/cert.pem and its key DIR/key.pem, which are made where there
    /// are none, for localhost and this machine's name: bolt+ssc://, or bolt+s:// where clients
    /// trust that certificate
    #[arg(long, value_name = "DIR")]
    tls_self_signed: Option<PathBuf>,
    /// Another name or address that the certificate made by --tls-self-signed is for
    #[arg(long, value_name = "NAME", requires = "tls_self_signed")]
    tls_name: Vec<String>,
    /// Refuse clients that do not use TLS
    #[arg(long)]
    tls_only: bool,
    /// Longest message of a client, with all its parameters; longer ones fail
    #[arg(long, value_parser = argument::bytes, value_name = "SIZE", default_value = "64MiB")]
    message_limit: u64,
    /// How often a client that waits for a long statement hears that the server is there; drivers
    /// give up after twice that time
    #[arg(long, value_parser = argument::time, value_name = "TIME", default_value = "60s")]
    keep_alive: Duration,
    /// Where a page shows what the database does, at http://HOST:PORT/, and counters for Prometheus
    /// at /metrics [default: nowhere]
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Option<String>,
    /// A name of this machine by which that page may be asked for, besides its own, localhost and
    /// addresses
    #[arg(long, value_name = "NAME")]
    metrics_host: Vec<String>,
    /// Connections at a time that have logged in; more are told that the server is full
    #[arg(long, value_name = "N", default_value_t = 1024)]
    connections: usize,
    /// A transaction that lasts longer is rolled back: 30s, 500ms, 5min [default: none is, but for
    /// the client's own tx_timeout]
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

/// Writes a password to a new file that only its owner can read.
fn keep_password(file: &Path, password: &str) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    writeln!(file, "{password}")?;
    file.sync_all()
}

/// What is served.
enum Served {
    File(Open, Database),
    Folder(Arc<DatabaseFolder>),
}

impl Served {
    /// The database that keeps the users.
    fn users(&self) -> &Database {
        match self {
            Served::File(_, database) => database,
            Served::Folder(folder) => folder.system(),
        }
    }

    fn is_read_only(&self) -> bool {
        matches!(self, Served::File(open, _) if open.is_read_only())
    }
}

/// Where the first password is kept.
fn password_file(served: &Served) -> PathBuf {
    let mut file = served.users().path().as_os_str().to_owned();
    if let Served::File(open, _) = served {
        open.db.as_os_str().clone_into(&mut file);
    }
    file.push("-password");
    file.into()
}

/// Makes a user where the database has none, and says how to log in. Where nothing may be
/// written, the server knows it alone.
fn first_user(served: &Served) -> Result<Option<User>, Failure> {
    let database = served.users();
    let file = password_file(served);
    if database.has_users()? {
        if file.exists() {
            eprintln!(
                "the first password of the user {FIRST_USER} is in {}",
                file.display()
            );
        }
        return Ok(None);
    }
    let user = User {
        name: FIRST_USER.to_owned(),
        password: graven::generated_password(),
    };
    if served.is_read_only() {
        eprintln!(
            "log in as {FIRST_USER} with the password {} (until this server ends)",
            user.password
        );
        return Ok(Some(user));
    }
    keep_password(&file, &user.password).map_err(|error| {
        Failure::failed(format!(
            "{}: the password cannot be kept there: {error}",
            file.display()
        ))
    })?;
    let params = Params::new()
        .with("name", FIRST_USER)
        .with("password", user.password.as_str());
    let made = "CREATE USER $name SET PASSWORD $password SET ROLE admin";
    database.connect().query(made, &params)?;
    eprintln!(
        "log in as {FIRST_USER} with the password {} (kept in {}, which only its owner can \
            read)",
        user.password,
        file.display()
    );
    Ok(None)
}

impl Serve {
    /// The folder and the URLs that are opened to clients.
    fn opened_files(&self) -> Result<(Option<PathBuf>, Vec<String>), Failure> {
        let all = self.files.iter().cloned();
        let (urls, folders): (Vec<String>, Vec<String>) =
            all.partition(|name| graven::is_url(name));
        match folders.as_slice() {
            [] => Ok((None, urls)),
            [folder] => Ok((Some(PathBuf::from(folder)), urls)),
            _ => Err(Failure::usage(
                "--files opens one folder, and any number of URLs: name one folder",
            )),
        }
    }

    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut options = Options::default();
        options.user = self.user()?;
        options.address.clone_from(&self.bolt);
        options.open_to_all = self.open_to_all;
        options.connections_max = self.connections;
        options.metrics.clone_from(&self.metrics);
        options.metrics_hosts.clone_from(&self.metrics_host);
        (options.files, options.urls) = self.opened_files()?;
        options.secret_files.extend(self.password_file.clone());
        options.transaction_timeout = self.transaction_timeout;
        options.idle_timeout = self.idle_timeout.0;
        options.tls = self.tls();
        options.tls_only = self.tls_only;
        options.message_bytes_max = usize::try_from(self.message_limit).unwrap_or(usize::MAX);
        options.keep_alive = self.keep_alive;
        let has_tls = options.tls.is_some();
        let tls_only = self.tls_only;
        let refresh = self.refresh;
        let served = self.opened()?;
        options.secret_files.push(password_file(&served));
        if options.user.is_none() && !options.open_to_all {
            options.user = first_user(&served)?;
        }
        interrupt::react(SignalAction::Remember);
        interrupt::react_to_termination();
        let server = match &served {
            Served::File(_, database) => Server::start(database.clone(), options)?,
            Served::Folder(folder) => Server::start_folder(folder, options)?,
        };
        eprintln!(
            "{} is served at {}://{}; Control-C ends it",
            server.path().display(),
            match (has_tls, tls_only) {
                (true, true) => "bolt+s",
                (true, false) => "bolt:// and bolt+s",
                (false, _) => "bolt",
            },
            server.address()
        );
        if let Some(address) = server.metrics_address() {
            eprintln!(
                "what it does is shown at http://{address}/, counters are at \
                    http://{address}/metrics"
            );
        }
        let mut looked = Instant::now();
        while !interrupt::asked() {
            std::thread::sleep(Duration::from_millis(100));
            if let (Some(every), Served::File(_, database)) = (refresh, &served)
                && looked.elapsed() >= every
            {
                match database.refresh() {
                    Ok(true) => eprintln!("a newer snapshot is served from now on"),
                    Ok(false) => {}
                    Err(error) => eprintln!("looking for a newer snapshot: {error}"),
                }
                looked = Instant::now();
            }
        }
        eprintln!("ending what runs; the same signal again ends the program at once");
        server.stop();
        match served {
            Served::File(_, database) => close(&database),
            Served::Folder(folder) => Ok(folder.close()?),
        }
    }

    /// Opens what is to be served.
    fn opened(self) -> Result<Served, Failure> {
        let Some(folder) = self.databases else {
            let db = self.db.expect("one of both is there");
            let open = Open { db, how: self.how };
            if self.refresh.is_some() && !open.is_published() {
                let what =
                    "--refresh is for the URL of a published snapshot; a file is read as it is";
                return Err(Failure::usage(what));
            }
            let database = open.database_to_serve(self.create)?;
            return Ok(Served::File(open, database));
        };
        let refresh = self.refresh.map(|_| "--refresh");
        if let Some(option) = self.how.of_one_file().or(refresh) {
            return Err(Failure::usage(format!(
                "{option} is for one file: serve that without --databases; ALTER DATABASE name SET \
                    ACCESS READ ONLY keeps clients from writing"
            )));
        }
        let mut options = FolderOptions::new(self.how.config());
        options.default = self.default;
        options.create = self.create;
        let folder = DatabaseFolder::open(&folder, options)?;
        for notice in folder.notices() {
            eprintln!("{notice}");
        }
        Ok(Served::Folder(folder))
    }

    /// Where the certificate comes from.
    fn tls(&self) -> Option<Tls> {
        match (&self.tls_cert, &self.tls_key, &self.tls_self_signed) {
            (Some(certificate), Some(key), _) => {
                let (certificate, key) = (certificate.clone(), key.clone());
                Some(Tls::Files { certificate, key })
            }
            (_, _, Some(folder)) => {
                let (folder, names) = (folder.clone(), self.tls_name.clone());
                Some(Tls::SelfSigned { folder, names })
            }
            _ => None,
        }
    }

    /// The user that the command line names.
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
