//! A place in object storage, named by a URL.
//!
//! # How it works
//! The scheme chooses the store. Credentials, endpoint and region come from the environment, by the
//! names that the stores' own tools use (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `GOOGLE_*`,
//! `AZURE_*`). A request that fails because of the network or of the server is repeated with
//! back-off; one that makes no progress ends after a timeout.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientConfigKey, GetOptions, ObjectStore, ObjectStoreScheme, RetryConfig,
};
use url::Url;

use crate::attempts::repeated;
use crate::error::{Error, Result};
use crate::manifest::{Manifest, Pointer, hash};
use crate::runtime::{self, Pending, Stop};
use crate::traffic::Traffic;

/// Name of the pointer.
const POINTER: &str = "current.json";
/// Bytes of a pointer at most.
const POINTER_BYTES_MAX: u64 = 64 << 10;
/// Bytes of a manifest with its overlay at most: chunks of a file of some terabytes.
const MANIFEST_BYTES_MAX: u64 = 256 << 20;
/// How long a request may take from its start to the end of its answer.
const TIMEOUT: &str = "60 seconds";
/// How long an answer may stand still.
const READ_TIMEOUT: &str = "15 seconds";
/// How long a connection may take.
const CONNECT_TIMEOUT: &str = "5 seconds";
/// How long a request is repeated.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
/// How often at most.
const RETRIES_MAX: usize = 8;

/// A place in object storage.
#[derive(Clone, Debug)]
pub struct Location {
    pub(crate) store: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
    traffic: Arc<Traffic>,
}

/// Whether `text` is a URL and no path of a file.
#[must_use]
pub fn is_url(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once("://") else {
        return false;
    };
    let mut letters = scheme.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

impl Location {
    /// The place that `url` names; nothing is asked of it yet.
    ///
    /// # Errors
    /// [`Error::Url`] for what is no URL, for a scheme that no store has, and where a store's
    /// settings in the environment cannot work.
    pub fn new(url: &str) -> Result<Location> {
        let wrong = |why: String| Error::Url {
            url: url.to_owned(),
            why,
        };
        let parsed = Url::parse(url).map_err(|error| wrong(format!("it is no URL: {error}")))?;
        // Messages, listings and logs show the URL.
        if parsed.password().is_some() || parsed.query().is_some() {
            return Err(Error::Url {
                url: parsed[..url::Position::BeforeUsername].to_owned() + "...",
                why: "a URL here has no password and no query: credentials come from the \
                      environment"
                    .to_owned(),
            });
        }
        let (scheme, prefix) = ObjectStoreScheme::parse(&parsed).map_err(|_| {
            wrong(
                "no store has this scheme; use s3://BUCKET/PREFIX/, gs://, az://, file:///FOLDER/, \
                 or http:// and https:// to read"
                    .to_owned(),
            )
        })?;
        let store = store(scheme, &parsed, &retries()).map_err(|error| wrong(error.to_string()))?;
        Ok(Location {
            store,
            prefix,
            url: url.to_owned(),
            traffic: Arc::default(),
        })
    }

    /// A place in `store`, called `url` in messages.
    #[must_use]
    pub fn in_store(store: Arc<dyn ObjectStore>, prefix: &str, url: &str) -> Location {
        Location {
            store,
            prefix: Path::from(prefix),
            url: url.to_owned(),
            traffic: Arc::default(),
        }
    }

    /// The URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What was asked of the store through this location and its clones.
    #[must_use]
    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    pub(crate) fn pointer_path(&self) -> Path {
        self.prefix.clone().join(POINTER)
    }

    pub(crate) fn manifests(&self) -> Path {
        self.prefix.clone().join("manifests")
    }

    pub(crate) fn manifest_path(&self, hash: &str) -> Path {
        self.manifests().join(hash)
    }

    pub(crate) fn chunks(&self) -> Path {
        self.prefix.clone().join("chunks")
    }

    pub(crate) fn chunk_path(&self, hash: &str) -> Path {
        self.chunks().join(hash)
    }

    pub(crate) fn error(
        &self,
        action: &'static str,
        object: &Path,
        error: &object_store::Error,
    ) -> Error {
        Error::of(&self.url, action, object, error)
    }

    /// Runs a task of this location to its end.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        task: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        runtime::wait(task).unwrap_or_else(|error| Err(self.not_started(&error)))
    }

    /// Runs a task of this location to its end, or until `stop` says so.
    pub(crate) fn wait_until<T: Send + 'static>(
        &self,
        stop: &Stop,
        task: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let started = Pending::start(task).map_err(|error| self.not_started(&error))?;
        self.answer_of(started, stop)
    }

    /// What a task of this location gives, unless `stop` says so before.
    pub(crate) fn answer_of<T: Send + 'static>(
        &self,
        task: Pending<Result<T>>,
        stop: &Stop,
    ) -> Result<T> {
        let answer = task.wait(stop).map_err(|error| self.not_started(&error))?;
        answer.unwrap_or_else(|| Err(self.stopped()))
    }

    /// The error of work that was ended by its [`Stop`].
    pub(crate) fn stopped(&self) -> Error {
        Error::Stopped {
            url: self.url.clone(),
        }
    }

    /// The error of a task that did not run.
    pub(crate) fn not_started(&self, error: &std::io::Error) -> Error {
        Error::Request {
            url: self.url.clone(),
            action: "starting",
            object: "requests".to_owned(),
            why: error.to_string(),
            denied: false,
        }
    }

    /// All of an object, which has `most` bytes at most, and what the store calls its state.
    async fn read(
        &self,
        path: &Path,
        most: u64,
    ) -> std::result::Result<(Bytes, State), object_store::Error> {
        self.traffic.request();
        let answer = self.store.get_opts(path, GetOptions::default()).await?;
        let state = State {
            e_tag: answer.meta.e_tag.clone(),
            version: answer.meta.version.clone(),
        };
        // A store may send more than it says.
        let mut bytes = Vec::new();
        let mut parts = answer.into_stream();
        while let Some(part) = parts.next().await {
            let part = part?;
            if (bytes.len() + part.len()) as u64 > most {
                let source = format!("it has more than {most} bytes");
                return Err(object_store::Error::Generic {
                    store: "snapshot",
                    source: source.into(),
                });
            }
            bytes.extend_from_slice(&part);
        }
        self.traffic.came(bytes.len());
        Ok((bytes.into(), state))
    }

    /// The pointer, and what the store calls its state; `None` where there is none.
    pub(crate) async fn pointer(&self) -> Result<Option<(Pointer, State)>> {
        repeated(&self.traffic, || self.pointer_once()).await
    }

    async fn pointer_once(&self) -> Result<Option<(Pointer, State)>> {
        let path = self.pointer_path();
        match self.read(&path, POINTER_BYTES_MAX).await {
            Ok((bytes, state)) => {
                let pointer = Pointer::decode(&self.url, POINTER, &bytes)?;
                Ok(Some((pointer, state)))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.error("reading", &path, &error)),
        }
    }

    /// The pointer; an error where there is none.
    pub(crate) async fn pointer_there(&self) -> Result<Pointer> {
        let pointer = self.pointer().await?;
        pointer.map(|(pointer, _)| pointer).ok_or_else(|| {
            let object = self.pointer_path().to_string();
            Error::NoSnapshot {
                url: self.url.clone(),
                object,
            }
        })
    }

    /// A manifest and the bytes of its overlay, checked against their name.
    pub(crate) async fn manifest(&self, name: &str) -> Result<(Manifest, Bytes)> {
        let path = self.manifest_path(name);
        repeated(&self.traffic, || self.manifest_once(name, &path)).await
    }

    async fn manifest_once(&self, name: &str, path: &Path) -> Result<(Manifest, Bytes)> {
        let read = self.read(path, MANIFEST_BYTES_MAX).await;
        let (bytes, _) = read.map_err(|error| self.error("reading", path, &error))?;
        if hash(&bytes) == name {
            return Manifest::decode(&self.url, path.as_ref(), &bytes);
        }
        Err(Error::Damaged {
            url: self.url.clone(),
            object: path.to_string(),
            what: format!("its {} bytes have the hash {}", bytes.len(), hash(&bytes)),
        })
    }
}

/// What a store calls the state of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct State {
    pub(crate) e_tag: Option<String>,
    pub(crate) version: Option<String>,
}

fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: RETRIES_MAX,
        retry_timeout: RETRY_TIMEOUT,
    }
}

/// Settings of every client, before the environment's.
fn client_settings() -> [(ClientConfigKey, &'static str); 3] {
    [
        (ClientConfigKey::Timeout, TIMEOUT),
        (ClientConfigKey::ReadTimeout, READ_TIMEOUT),
        (ClientConfigKey::ConnectTimeout, CONNECT_TIMEOUT),
    ]
}

/// Whether the environment says it already.
fn is_set(store: &str, key: ClientConfigKey) -> bool {
    let name = format!("{store}_{}", key.as_ref().to_ascii_uppercase());
    std::env::var_os(name).is_some()
}

/// Another part of the program may have chosen a library for TLS: then that is used.
pub(crate) fn choose_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The client of the store that `url` leads to.
pub(crate) fn store(
    scheme: ObjectStoreScheme,
    url: &Url,
    retries: &RetryConfig,
) -> std::result::Result<Arc<dyn ObjectStore>, object_store::Error> {
    choose_tls();
    Ok(match scheme {
        ObjectStoreScheme::Local => Arc::new(LocalFileSystem::new().with_fsync(true)),
        ObjectStoreScheme::AmazonS3 => {
            let mut builder = AmazonS3Builder::from_env().with_url(url.as_str());
            for (key, value) in client_settings() {
                if !is_set("AWS", key) {
                    builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
                }
            }
            Arc::new(builder.with_retry(retries.clone()).build()?)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let mut builder = GoogleCloudStorageBuilder::from_env().with_url(url.as_str());
            for (key, value) in client_settings() {
                if !is_set("GOOGLE", key) {
                    builder = builder.with_config(GoogleConfigKey::Client(key), value);
                }
            }
            Arc::new(builder.with_retry(retries.clone()).build()?)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let mut builder = MicrosoftAzureBuilder::from_env().with_url(url.as_str());
            for (key, value) in client_settings() {
                if !is_set("AZURE", key) {
                    builder = builder.with_config(AzureConfigKey::Client(key), value);
                }
            }
            Arc::new(builder.with_retry(retries.clone()).build()?)
        }
        ObjectStoreScheme::Http => {
            let mut builder =
                HttpBuilder::new().with_url(url[..url::Position::BeforePath].to_owned());
            for (key, value) in client_settings() {
                builder = builder.with_config(key, value);
            }
            // A folder of a web server needs no secrecy by itself: pages are checked.
            builder = builder.with_config(ClientConfigKey::AllowHttp, "true");
            Arc::new(builder.with_retry(retries.clone()).build()?)
        }
        other => {
            return Err(object_store::Error::NotImplemented {
                operation: "snapshots".to_owned(),
                implementer: format!("{other:?}"),
            });
        }
    })
}
