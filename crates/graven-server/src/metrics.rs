//! Counters for Prometheus, as text over HTTP.
//!
//! # How it works
//! Whoever asks for `/metrics` gets the counters as they are then ([`series`]). Nothing is computed between two questions.
//!
//! # Source
//! Prometheus' text format, version 0.0.4.

pub(crate) mod series;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

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

/// A thread that answers questions over HTTP until this is dropped.
pub(crate) struct Endpoint {
    server: Arc<tiny_http::Server>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Endpoint {
    /// Listens at an address; `text` says what is to be said.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) fn start(
        address: &str,
        text: impl Fn() -> String + Send + 'static,
    ) -> Result<Self, String> {
        let server = tiny_http::Server::http(address);
        let server = Arc::new(server.map_err(|error| format!("{address}: {error}"))?);
        let own = Arc::clone(&server);
        let thread = thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                for request in own.incoming_requests() {
                    // Whoever asked may have gone.
                    let _ = answer(request, &text);
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

fn answer(request: Request, text: &impl Fn() -> String) -> std::io::Result<()> {
    let is_read = matches!(request.method(), Method::Get | Method::Head);
    match request.url() {
        "/metrics" if is_read => {
            let kind = b"text/plain; version=0.0.4; charset=utf-8";
            let header = Header::from_bytes(b"Content-Type", kind).expect("both are ASCII");
            request.respond(Response::from_string(text()).with_header(header))
        }
        _ => {
            let text = "counters are at /metrics\n";
            request.respond(Response::from_string(text).with_status_code(404))
        }
    }
}
