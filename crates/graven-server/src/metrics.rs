//! Counters for Prometheus, as text over HTTP.
//!
//! # How it works
//! Whoever asks for `/metrics` gets the counters as they are then: those of the page cache for each kind of page, who holds how much of the
//! memory budget, and what the server did. Nothing is computed between two questions.
//!
//! # Source
//! Prometheus' text format, version 0.0.4.

use std::fmt::{Display, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use graven::Database;
use graven::pagecache::KindStats;
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

/// Lines of metrics being written.
struct Text(String);

impl Text {
    /// Begins a metric: `kind` is counter or gauge.
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A value, with labels.
    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (index, (key, text)) in labels.iter().enumerate() {
            let begin = if index == 0 { '{' } else { ',' };
            let text = text
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            let _ = write!(self.0, "{begin}{key}=\"{text}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.begin(name, kind, help);
        self.value(name, &[], value);
    }
}

/// All metrics as they are now.
pub(crate) fn text(database: &Database, counters: &Counters, open: usize) -> String {
    let mut text = Text(String::new());
    text.begin("graven_build_info", "gauge", "The program's version.");
    text.value(
        "graven_build_info",
        &[("version", env!("CARGO_PKG_VERSION"))],
        1,
    );
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let total = "counter";
    text.one(
        "graven_bolt_connections",
        "gauge",
        "Connections that are open.",
        open,
    );
    let help = "Connections that were accepted.";
    text.one(
        "graven_bolt_connections_total",
        total,
        help,
        of(&counters.connections),
    );
    let help = "Connections that were closed at once, for there were too many.";
    text.one(
        "graven_bolt_connections_refused_total",
        total,
        help,
        of(&counters.refused),
    );
    let help = "Statements that clients asked for.";
    text.one(
        "graven_bolt_statements_total",
        total,
        help,
        of(&counters.statements),
    );
    let help = "Messages that were answered with a failure.";
    text.one(
        "graven_bolt_failures_total",
        total,
        help,
        of(&counters.failures),
    );
    let help = "Rows that left for clients.";
    text.one("graven_bolt_rows_total", total, help, of(&counters.rows));
    // Those of the last checkpoint: nothing is counted.
    if let Ok(info) = database.info() {
        let help = "Nodes at the last checkpoint.";
        text.one("graven_nodes", "gauge", help, info.nodes);
        let help = "Relationships at the last checkpoint.";
        text.one("graven_relationships", "gauge", help, info.relationships);
    }
    if let Ok(file) = std::fs::metadata(database.path()) {
        text.one(
            "graven_file_bytes",
            "gauge",
            "Length of the data file.",
            file.len(),
        );
    }
    // The page cache is that of the process that owns the file.
    if let Ok(cache) = database.cache() {
        let budget = cache.budget();
        let gauge = "gauge";
        text.one(
            "graven_memory_limit_bytes",
            gauge,
            "The memory budget.",
            budget.limit(),
        );
        text.one(
            "graven_memory_used_bytes",
            gauge,
            "Memory that is held.",
            budget.used(),
        );
        text.one(
            "graven_memory_peak_bytes",
            gauge,
            "Most memory that was held.",
            budget.peak(),
        );
        text.begin("graven_memory_held_bytes", gauge, "Memory by who holds it.");
        for holder in budget.holders() {
            text.value(
                "graven_memory_held_bytes",
                &[("holder", holder.tag)],
                holder.bytes,
            );
        }
        let kinds = cache.stats().per_kind;
        let kinds: Vec<(String, KindStats)> = kinds
            .iter()
            .map(|(kind, stats)| (kind.to_string(), *stats))
            .collect();
        type Of = fn(&KindStats) -> f64;
        #[expect(clippy::cast_precision_loss, reason = "Prometheus keeps floats")]
        let counted: [(&str, &str, Of); 7] = [
            (
                "hits_total",
                "Accesses that found their page in memory.",
                |it| it.hits as f64,
            ),
            ("faults_total", "Pages brought in.", |it| it.faults as f64),
            (
                "evictions_background_total",
                "Pages evicted ahead of need.",
                |it| it.evictions_background as f64,
            ),
            (
                "evictions_cooperative_total",
                "Pages evicted by who needed room.",
                |it| it.evictions_cooperative as f64,
            ),
            (
                "wait_seconds_total",
                "Time that threads waited for pages.",
                |it| it.wait_ns as f64 / 1e9,
            ),
            ("read_bytes_total", "Bytes read from files.", |it| {
                it.bytes_read as f64
            }),
            (
                "written_bytes_total",
                "Bytes of pages written to files.",
                |it| it.bytes_written as f64,
            ),
        ];
        for (name, help, of) in counted {
            let name = format!("graven_cache_{name}");
            text.begin(&name, "counter", help);
            for (kind, stats) in &kinds {
                text.value(&name, &[("kind", kind)], of(stats));
            }
        }
    }
    text.0
}
