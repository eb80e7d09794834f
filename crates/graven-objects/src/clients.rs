//! Clients of the stores that statements name, kept between statements.
//!
//! # How it works
//! A client holds connections and credentials, so statements that follow each other share it. It
//! is known by its store, its bucket and the settings of the environment: other settings make
//! another client. Web servers have one client for all hosts.
//!
//! A web server may answer that a file is elsewhere. The client follows where the statement may
//! name that place, too, and never from `https` to `http`.
//!
//! # Invariants
//! * OB-16: a statement that may name some URLs only sends requests to web servers below these
//!   only, whatever a server answers.
//!
//! # Concurrency
//! One list for the process. A process made by `fork` shares no client with the one it came from:
//! their connections would mix.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use object_store::client::{HttpClient, HttpConnector};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig};
use parking_lot::Mutex;
use url::Url;

use crate::error::{Error, Result, chain};
use crate::hints::hint;
use crate::location::{choose_tls, store};
use crate::object_url::{Allowed, ObjectUrl, Store};

/// Clients that are kept.
const KEPT: usize = 32;
/// Places that a web server may lead to, one after the other.
const REDIRECTS_MAX: usize = 10;
/// How long a connection to a web server may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer may stand still.
const READ_TIMEOUT: Duration = Duration::from_secs(15);

/// What a client is known by: the process, its settings, and the store and bucket or the URLs that
/// it may be led to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Known {
    Bucket(u32, u64, Store, String),
    Web(u32, u64, Allowed),
}

#[derive(Clone, Debug)]
enum Kept {
    Bucket(Arc<dyn ObjectStore>),
    Web(reqwest::Client),
}

/// The clients, the one that was used last at the end.
static CLIENTS: Mutex<Vec<(Known, Kept)>> = Mutex::new(Vec::new());

/// What asks a store.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// Where an object is, in the store.
    pub(crate) path: Path,
    /// For a web server, which may know no ranges.
    pub(crate) web: Option<reqwest::Client>,
}

/// Fewer attempts than where a database is read: a statement waits for its error.
fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: 5,
        retry_timeout: Duration::from_secs(60),
    }
}

/// A number for the settings of the environment that clients are made by.
fn settings() -> u64 {
    const BEGIN: [&str; 4] = ["AWS_", "GOOGLE_", "AZURE_", "SSL_CERT_"];
    let mut found: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| {
            let name = name.to_string_lossy().to_ascii_uppercase();
            name.ends_with("_PROXY") || BEGIN.iter().any(|begin| name.starts_with(begin))
        })
        .collect();
    found.sort();
    let mut hasher = DefaultHasher::new();
    found.hash(&mut hasher);
    hasher.finish()
}

/// The client that is kept under this name, or the one that `make` makes.
fn kept(known: Known, make: impl FnOnce() -> Result<Kept>) -> Result<Kept> {
    let mut clients = CLIENTS.lock();
    if let Some(at) = clients.iter().position(|(name, _)| *name == known) {
        let found = clients.remove(at);
        clients.push(found);
    } else {
        let made = make()?;
        if clients.len() == KEPT {
            clients.remove(0);
        }
        clients.push((known, made));
    }
    Ok(clients.last().expect("just put there").1.clone())
}

impl Client {
    /// What asks for `url`.
    ///
    /// # Errors
    /// Settings of the environment that cannot work.
    pub(crate) fn of(url: &ObjectUrl, allowed: &Allowed) -> Result<Client> {
        let process = std::process::id();
        let Some(web) = &url.web else {
            let known = Known::Bucket(process, settings(), url.store, url.bucket.clone());
            let Kept::Bucket(store) = kept(known, || Ok(Kept::Bucket(bucket(url)?)))? else {
                unreachable!("it is known as a bucket");
            };
            let path = Path::parse(&url.key);
            return Ok(Client {
                store,
                path: path.map_err(|error| Error::object(url.text(), error.to_string()))?,
                web: None,
            });
        };
        let known = Known::Web(process, settings(), allowed.clone());
        let Kept::Web(client) = kept(known, || Ok(Kept::Web(web_client(url, allowed)?)))? else {
            unreachable!("it is known as a web client");
        };
        // The store of this one file: its URL keeps its query.
        let store = HttpBuilder::new()
            .with_url(web.as_str())
            .with_retry(retries())
            .with_http_connector(Connector(client.clone()))
            .build();
        Ok(Client {
            store: Arc::new(store.map_err(|error| Error::object(url.text(), chain(&error)))?),
            path: Path::default(),
            web: Some(client),
        })
    }
}

/// The client of a bucket.
fn bucket(url: &ObjectUrl) -> Result<Arc<dyn ObjectStore>> {
    let (scheme, name) = match url.store {
        Store::S3 => (ObjectStoreScheme::AmazonS3, "s3"),
        Store::Google => (ObjectStoreScheme::GoogleCloudStorage, "gs"),
        Store::Azure => (ObjectStoreScheme::MicrosoftAzure, "az"),
        Store::Web => unreachable!("a web server has no buckets"),
    };
    let of_bucket = format!("{name}://{}/", url.bucket);
    let parsed = Url::parse(&of_bucket)
        .map_err(|error| Error::object(url.text(), format!("it is no URL: {error}")))?;
    store(scheme, &parsed, &retries()).map_err(|error| {
        let why = chain(&error);
        let hint = hint(url.store, &why);
        Error::object(
            url.text(),
            format!("its store cannot be asked: {why}{hint}"),
        )
    })
}

/// Hands out a client that is there already.
#[derive(Debug)]
struct Connector(reqwest::Client);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

fn web_client(url: &ObjectUrl, allowed: &Allowed) -> Result<reqwest::Client> {
    choose_tls();
    let allowed = allowed.clone();
    let follow = reqwest::redirect::Policy::custom(move |attempt| {
        match may_follow(attempt.previous(), attempt.url(), &allowed) {
            Ok(()) => attempt.follow(),
            Err(why) => attempt.error(why),
        }
    });
    let made = reqwest::Client::builder()
        .user_agent(concat!("graven/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .redirect(follow)
        .build();
    made.map_err(|error| Error::object(url.text(), chain(&error)))
}

/// Whether a client that came from these URLs may go on to `next`.
fn may_follow(previous: &[Url], next: &Url, allowed: &Allowed) -> std::result::Result<(), String> {
    let Some(next_url) = ObjectUrl::of_web(next.clone()) else {
        return Err("the server leads to a URL with a user name in it".to_owned());
    };
    if previous.len() > REDIRECTS_MAX {
        return Err(format!(
            "the server leads to more than {REDIRECTS_MAX} places one after the other"
        ));
    }
    if next.scheme() == "http" && previous.iter().any(|url| url.scheme() == "https") {
        return Err(format!(
            "the server leads from https to {next_url}, which is not followed"
        ));
    }
    match allowed.allows(&next_url) {
        true => Ok(()),
        false => Err(format!(
            "the server leads to {next_url}, which is not opened to clients"
        )),
    }
}

#[cfg(test)]
mod tests {
    //! Goal: a server leads a client nowhere else than the client may go.

    use super::*;

    #[test]
    fn a_server_leads_nowhere_else() {
        let url = |text: &str| Url::parse(text).unwrap();
        let allowed = Allowed::below(&["https://data.test/open/"]).unwrap();
        let from = [url("https://data.test/open/a.csv")];
        for (next, allowed_some, allowed_all) in [
            ("https://data.test/open/b.csv", true, true),
            ("https://data.test/secret/b.csv", false, true),
            ("https://other.test/open/b.csv", false, true),
            ("http://169.254.169.254/latest", false, false),
            ("http://data.test/open/b.csv", false, false),
            ("https://a:b@data.test/open/b.csv", false, false),
        ] {
            let next_url = url(next);
            let may = |allowed| may_follow(&from, &next_url, allowed).is_ok();
            assert_eq!(may(&allowed), allowed_some, "{next}");
            assert_eq!(may(&Allowed::All), allowed_all, "{next}");
        }
        let many = vec![url("https://data.test/open/a.csv"); REDIRECTS_MAX + 1];
        assert!(may_follow(&many, &many[0], &allowed).is_err());
    }
}
