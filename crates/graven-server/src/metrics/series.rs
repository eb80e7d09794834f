//! The series of metrics: what the server did, what the file holds, how much of the memory budget
//! each holder has, the page cache for each kind of page, and the log.

use std::fmt::{Display, Write};
use std::sync::atomic::Ordering;

use graven::pagecache::{Budget, KindStats, PageKind};
use graven::{Database, LogStats};

use super::Counters;

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

/// All metrics as they are now. Page cache and log are those of the process that owns the file: a
/// server that is attached to another one does not have them.
pub(crate) fn text(database: &Database, counters: &Counters, open: usize) -> String {
    let mut text = Text(String::new());
    of_server(&mut text, counters, open);
    of_file(&mut text, database);
    if let Ok(cache) = database.cache() {
        of_memory(&mut text, cache.budget());
        of_cache(&mut text, cache.stats().per_kind.iter());
    }
    if let Ok(log) = database.log_stats() {
        of_log(&mut text, &log);
    }
    text.0
}

fn of_server(text: &mut Text, counters: &Counters, open: usize) {
    let name = "graven_build_info";
    text.begin(name, "gauge", "The program's version.");
    text.value(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let name = "graven_bolt_connections";
    text.one(name, "gauge", "Connections that are open.", open);
    for (name, help, counter) in [
        (
            "connections",
            "Connections that were accepted.",
            &counters.connections,
        ),
        (
            "connections_refused",
            "Connections that were closed at once because too many were open.",
            &counters.refused,
        ),
        (
            "statements",
            "Statements that clients asked for.",
            &counters.statements,
        ),
        (
            "failures",
            "Messages that were answered with a failure.",
            &counters.failures,
        ),
        ("rows", "Rows that left for clients.", &counters.rows),
    ] {
        let name = format!("graven_bolt_{name}_total");
        text.one(&name, "counter", help, counter.load(Ordering::Relaxed));
    }
}

/// Nodes and relationships are those of the last checkpoint: nothing is counted for this.
fn of_file(text: &mut Text, database: &Database) {
    let gauge = "gauge";
    if let Ok(info) = database.info() {
        let help = "Nodes at the last checkpoint.";
        text.one("graven_nodes", gauge, help, info.nodes);
        let help = "Relationships at the last checkpoint.";
        text.one("graven_relationships", gauge, help, info.relationships);
    }
    if let Ok(file) = std::fs::metadata(database.path()) {
        let help = "Length of the data file.";
        text.one("graven_file_bytes", gauge, help, file.len());
    }
}

fn of_memory(text: &mut Text, budget: &Budget) {
    for (name, help, bytes) in [
        ("limit", "The memory budget.", budget.limit()),
        ("used", "Memory that is held.", budget.used()),
        ("peak", "Most memory that was held.", budget.peak()),
    ] {
        text.one(&format!("graven_memory_{name}_bytes"), "gauge", help, bytes);
    }
    let name = "graven_memory_held_bytes";
    text.begin(name, "gauge", "Memory by holder.");
    for holder in budget.holders() {
        text.value(name, &[("holder", holder.tag)], holder.bytes);
    }
}

fn of_cache<'a>(text: &mut Text, kinds: impl Iterator<Item = (PageKind, &'a KindStats)>) {
    let kinds: Vec<(String, &KindStats)> = kinds
        .map(|(kind, stats)| (kind.to_string(), stats))
        .collect();
    type Of = fn(&KindStats) -> f64;
    #[expect(clippy::cast_precision_loss, reason = "Prometheus keeps floats")]
    let counted: [(&str, &str, Of); 7] = [
        ("hits", "Accesses that found their page in memory.", |it| {
            it.hits as f64
        }),
        ("faults", "Pages brought in.", |it| it.faults as f64),
        (
            "evictions_background",
            "Pages evicted ahead of need.",
            |it| it.evictions_background as f64,
        ),
        (
            "evictions_cooperative",
            "Pages evicted by threads that needed room.",
            |it| it.evictions_cooperative as f64,
        ),
        (
            "wait_seconds",
            "Time that threads waited for pages.",
            |it| it.wait_ns as f64 / 1e9,
        ),
        ("read_bytes", "Bytes read from files.", |it| {
            it.bytes_read as f64
        }),
        ("written_bytes", "Bytes of pages written to files.", |it| {
            it.bytes_written as f64
        }),
    ];
    for (name, help, of) in counted {
        let name = format!("graven_cache_{name}_total");
        text.begin(&name, "counter", help);
        for (kind, stats) in &kinds {
            text.value(&name, &[("kind", kind)], of(stats));
        }
    }
}

fn of_log(text: &mut Text, log: &LogStats) {
    for (name, help, view) in [
        (
            "commit",
            "Time that commits waited for the log.",
            &log.commit_ns,
        ),
        ("sync", "Time of syncs of the log.", &log.sync_ns),
    ] {
        let name = format!("graven_log_{name}_seconds");
        text.begin(&name, "summary", help);
        for (quantile, share) in [("0.5", 0.5), ("0.99", 0.99)] {
            let value = view.percentile(share) as f64 / 1e9;
            text.value(&name, &[("quantile", quantile)], value);
        }
        text.value(&format!("{name}_sum"), &[], view.sum() as f64 / 1e9);
        text.value(&format!("{name}_count"), &[], view.count());
    }
    let help = "Bytes written to the log.";
    let name = "graven_log_written_bytes_total";
    text.one(name, "counter", help, log.bytes_written);
    let help = "Bytes of the log that the next opening would read after a crash, at most.";
    text.one("graven_log_recovery_bytes", "gauge", help, log.live_bytes);
    let help = "Bytes of the log that were committed and are not on the device yet.";
    let late = log.end.0.saturating_sub(log.durable.0);
    text.one("graven_log_not_durable_bytes", "gauge", help, late);
}
