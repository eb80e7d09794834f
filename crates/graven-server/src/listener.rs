//! Starts a server, accepts connections, and ends all of it.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use graven::{Access, Database, Error, Role};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::admission::{Admission, UNKNOWN_MAX};
use crate::connection;
use crate::folder::DatabaseFolder;
use crate::login_throttle::LoginThrottle;
use crate::metrics::{self, Counters, Endpoint};
use crate::opened::Opened;
use crate::options::{Options, Tls};
use crate::served::Databases;
use crate::service::Service;
use crate::stage::Stage;
use crate::timeouts::Timeouts;
use crate::tls;
use crate::transport::Carriers;

/// Stack of a thread that answers: statements may lie deep.
const STACK: usize = 16 << 20;

/// Threads that move bytes.
const IO_THREADS: usize = 2;

/// Threads for what is no connection that has logged in: logins, and questions for counters.
const MORE_THREADS: usize = UNKNOWN_MAX + 32;

/// How long a thread without work stays.
const IDLE_THREADS: Duration = Duration::from_secs(10);

/// Pause after a connection that could not be accepted, and between two looks whether all have
/// ended.
const PAUSE: Duration = Duration::from_millis(5);
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Descriptors that the process needs besides those of connections.
const OTHER_DESCRIPTORS: u64 = 256;

/// A server that accepts connections until it is stopped or dropped.
#[derive(Debug)]
pub struct Server {
    /// Of the file or folder.
    path: PathBuf,
    address: SocketAddr,
    service: Arc<Service>,
    admission: Arc<Admission>,
    metrics: Option<Endpoint>,
    stage: watch::Sender<Stage>,
    runtime: Option<Runtime>,
}

fn cannot_listen(address: &str, error: &io::Error) -> Error {
    Error::usage(format!("{address}: cannot listen there: {error}"))
}

/// Lets the process have as many descriptors as the connections need, as far as the system allows.
fn allow_descriptors(connections: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let wanted = (connections + UNKNOWN_MAX) as u64 + OTHER_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    if limit
        .current
        .is_some_and(|current| current < wanted.min(most))
    {
        let current = Some(wanted.min(most));
        // Fewer connections are accepted then.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    }
}

/// The folder that clients may name files in, by its whole name.
fn folder(files: &Path) -> Result<Arc<Path>, Error> {
    let found = std::fs::canonicalize(files).and_then(|folder| match folder.is_dir() {
        true => Ok(folder),
        false => Err(io::ErrorKind::NotADirectory.into()),
    });
    match found {
        Ok(folder) => Ok(folder.into()),
        Err(error) => Err(Error::usage(format!(
            "{}: cannot be the folder of the clients' files: {error}",
            files.display()
        ))),
    }
}

/// The whole names of files that clients may not name: as they are called, and as what they lead
/// to is.
fn whole_names(files: impl Iterator<Item = PathBuf>) -> Arc<[PathBuf]> {
    let mut names = Vec::new();
    for file in files {
        if let (Some(folder), Some(name)) = (file.parent(), file.file_name()) {
            let folder = match folder.as_os_str().is_empty() {
                true => Path::new("."),
                false => folder,
            };
            names.extend(std::fs::canonicalize(folder).map(|folder| folder.join(name)));
        }
        names.extend(std::fs::canonicalize(&file));
    }
    names.sort();
    names.dedup();
    names.into()
}

impl Server {
    /// Starts to accept connections for a database.
    ///
    /// # Errors
    /// `Request.Invalid` where the address cannot be listened on, or no user could log in; errors
    /// of the database.
    pub fn start(database: Database, options: Options) -> Result<Server, Error> {
        let path = database.path().to_path_buf();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let opened = Arc::new(Opened::new(&name, database)?);
        Server::serve(Databases::File(opened), path, options)
    }

    /// Starts to accept connections for the databases of a folder.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_folder(folder: &Arc<DatabaseFolder>, options: Options) -> Result<Server, Error> {
        let path = folder.path().to_path_buf();
        let server = Server::serve(Databases::Folder(Arc::clone(folder)), path, options)?;
        folder.set_address(&server.address.to_string());
        Ok(server)
    }

    fn serve(databases: Databases, path: PathBuf, options: Options) -> Result<Server, Error> {
        let addresses = options.address.to_socket_addrs();
        let addresses: Vec<SocketAddr> = match addresses {
            Ok(addresses) => addresses.collect(),
            Err(error) => return Err(cannot_listen(&options.address, &error)),
        };
        if options.user.is_none() && !options.open_to_all && !databases.system().has_users()? {
            return Err(Error::usage(format!(
                "{}: any client that reaches this address could read and change everything: create \
                    a user in the \
                 database (CREATE USER), name a user and a password, or open the server to all",
                options.address
            )));
        }
        if options.tls_only && options.tls.is_none() {
            return Err(Error::usage(
                "the server is to accept TLS alone and has no certificate: give it one",
            ));
        }
        let carriers = Arc::new(Carriers {
            tls: options.tls.as_ref().map(tls::acceptor).transpose()?,
            tls_only: options.tls_only,
            open_to_all: options.open_to_all,
        });
        let files = options.files.as_deref().map(folder).transpose()?;
        let key = options.tls.as_ref().map(Tls::key);
        let kept = [path.clone()].into_iter().chain(key);
        let kept = whole_names(kept.chain(options.secret_files));
        // Before the first client asks.
        Access::without_files(Role::Reader).with_urls_below(&options.urls)?;
        allow_descriptors(options.connections_max);
        let runtime = Builder::new_multi_thread()
            .worker_threads(IO_THREADS)
            .max_blocking_threads(options.connections_max + MORE_THREADS)
            .thread_keep_alive(IDLE_THREADS)
            .thread_stack_size(STACK)
            .thread_name("bolt")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| cannot_listen(&options.address, &error))?;
        let listener = runtime.block_on(TcpListener::bind(&addresses[..]));
        let listener = listener.map_err(|error| cannot_listen(&options.address, &error))?;
        let address = listener.local_addr();
        let address = address.map_err(|error| cannot_listen(&options.address, &error))?;
        let service = Arc::new(Service {
            databases,
            user: options.user,
            open_to_all: options.open_to_all,
            files,
            kept,
            urls: options.urls,
            attempts: LoginThrottle::default(),
            timeouts: Timeouts {
                transaction: options.transaction_timeout,
                idle: options.idle_timeout.filter(|most| !most.is_zero()),
            },
            message_bytes_max: options.message_bytes_max,
            keep_alive: options.keep_alive,
            carriers,
            counters: Counters::default(),
            clients: Arc::default(),
            stopping: AtomicBool::new(false),
        });
        let admission = Admission::new(options.connections_max);
        let (stage, stop) = watch::channel(Stage::Runs);
        let metrics = options.metrics.map(|address| {
            let (service, admission) = (Arc::clone(&service), Arc::clone(&admission));
            let hosts = options.metrics_hosts;
            Endpoint::start(&runtime, &address, hosts, service, admission, stop.clone())
        });
        let metrics = metrics.transpose().map_err(Error::usage)?;
        let accepting = accept(listener, Arc::clone(&service), Arc::clone(&admission), stop);
        runtime.spawn(accepting);
        Ok(Server {
            path,
            address,
            service,
            admission,
            metrics,
            stage,
            runtime: Some(runtime),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where counters are to be had.
    #[must_use]
    pub fn metrics_address(&self) -> Option<String> {
        self.metrics.as_ref().map(Endpoint::address)
    }

    /// The file, or the folder, that is served.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Listens no more, and ends all connections, as BO-5 and BO-3 have it, within some seconds.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        self.service.stopping.store(true, Ordering::SeqCst);
        // First no more messages are read; clients that do not take their answers are cut off
        // later.
        for stage in [Stage::Deaf, Stage::Cut] {
            // There may be no connection left to receive it.
            let _ = self.stage.send(stage);
            let until = Instant::now() + ENDS_WITHIN / 2;
            while self.admission.open() > 0 && Instant::now() < until {
                std::thread::sleep(PAUSE);
            }
        }
        runtime.shutdown_timeout(ENDS_WITHIN / 2);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

async fn accept(
    listener: TcpListener,
    service: Arc<Service>,
    admission: Arc<Admission>,
    mut stop: watch::Receiver<Stage>,
) {
    let mut number = 0;
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|stage| *stage != Stage::Runs) => return,
            accepted = listener.accept() => accepted,
        };
        // Too many open files, for example: others may be closed meanwhile.
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        number += 1;
        metrics::count(&service.counters.connections);
        let place = admission.arrive(peer.ip());
        let service = Arc::clone(&service);
        let serving = connection::serve(service, stream, peer, place, number, stop.clone());
        tokio::spawn(serving);
    }
}
