//! What the server and its database do, over HTTP: counters for Prometheus, and a page for people.
//!
//! # How it works
//! Whoever asks for `/metrics` gets the counters as they are then ([`series`]); `/` is a page that asks for the same as JSON ([`state`]) every few seconds
//! and draws it. Nothing is computed between two questions, and nothing can be changed from here.
//!
//! # Source
//! Prometheus' text format, version 0.0.4.

mod series;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use graven::{Database, Error};
use tiny_http::{Header, Method, Request, Response};

/// What the server did since it was started.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) statements: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) rows: AtomicU64,
}

/// Counts another one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// What is said at an address.
pub(crate) struct Answer {
    status: u16,
    kind: &'static str,
    text: String,
}

impl Answer {
    fn new(kind: &'static str, text: impl Into<String>) -> Answer {
        let (status, text) = (200, text.into());
        Answer { status, kind, text }
    }

    fn json(state: Result<state::Json, Error>) -> Answer {
        let kind = "application/json";
        match state {
            Ok(state) => Answer::new(kind, state.to_string()),
            Err(error) => Answer {
                status: 503,
                ..Answer::new(
                    kind,
                    serde_json::json!({"error": error.message()}).to_string(),
                )
            },
        }
    }

    /// What there is at `path`; `open` connections are open.
    pub(crate) fn at(path: &str, database: &Database, counters: &Counters, open: usize) -> Answer {
        match path {
            "/" => Answer::new(
                "text/html; charset=utf-8",
                include_str!("metrics/page.html"),
            ),
            "/metrics" => Answer::new(
                "text/plain; version=0.0.4; charset=utf-8",
                series::text(database, counters, open),
            ),
            "/state.json" => Answer::json(state::state(database, counters, open)),
            "/contents.json" => Answer::json(state::contents(database)),
            "/graph.json" => Answer::json(state::graph(database)),
            _ => Answer {
                status: 404,
                ..Answer::new(
                    "text/plain",
                    "counters are at /metrics, a page of them is at /\n",
                )
            },
        }
    }
}

/// A thread that answers questions over HTTP until this is dropped.
pub(crate) struct Endpoint {
    server: Arc<tiny_http::Server>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Endpoint {
    /// Listens at an address; `say` tells what is to be said where.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) fn start(
        address: &str,
        say: impl Fn(&str) -> Answer + Send + 'static,
    ) -> Result<Self, String> {
        let server = tiny_http::Server::http(address);
        let server = Arc::new(server.map_err(|error| format!("{address}: {error}"))?);
        let own = Arc::clone(&server);
        let thread = thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                for request in own.incoming_requests() {
                    // Whoever asked may have gone.
                    let _ = answer(request, &say);
                }
            });
        match thread {
            Ok(thread) => Ok(Endpoint {
                server,
                thread: Some(thread),
            }),
            Err(error) => Err(format!("{address}: {error}")),
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        self.server.server_addr().to_string()
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Endpoint").field(&self.address()).finish()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            // It only says what others counted.
            let _ = thread.join();
        }
    }
}

fn answer(request: Request, say: &impl Fn(&str) -> Answer) -> std::io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(Response::from_string("only GET\n").with_status_code(405));
    }
    let path = request.url().split('?').next().unwrap_or_default();
    let Answer { status, kind, text } = say(path);
    let mut response = Response::from_string(text).with_status_code(status);
    // The page has all it needs in itself and asks nobody but this server.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";
    for (name, value) in [
        ("Content-Type", kind),
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", policy),
    ] {
        response.add_header(Header::from_bytes(name, value).expect("both are ASCII"));
    }
    request.respond(response)
}
