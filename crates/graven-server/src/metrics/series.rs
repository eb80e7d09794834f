//! The series of metrics: what the server did, what the file holds, how much of the memory budget
//! each holder has, the page cache for each kind of page, and the log.

use std::fmt::{Display, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use graven::pagecache::{Budget, KindStats};
use graven::{Database, HistogramView, LogStats};

use super::Counters;
use crate::opened::Opened;
use crate::served::Databases;

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

/// One of the databases that are served.
struct One<'a> {
    database: &'a Database,
    /// `database`, where a server has several.
    labels: Vec<(&'a str, &'a str)>,
}

impl<'a> One<'a> {
    /// Its labels and one more.
    fn with(&self, name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
        let own = self.labels.iter().copied();
        own.chain([(name, value)]).collect()
    }
}

/// All metrics as they are now. Page cache and log are those of the process that owns the file: a
/// server that is attached to another one does not have them. What is of one database of several
/// has its name as a label.
pub(crate) fn text(databases: &Databases, counters: &Counters, open: usize) -> String {
    let mut text = Text(String::new());
    of_server(&mut text, counters, open);
    let opened = databases.all_open();
    let named = matches!(databases, Databases::Folder(_));
    let one = |it: &'_ Arc<Opened>| -> Vec<(&'static str, String)> {
        let label = named.then(|| ("database", it.name.clone()));
        label.into_iter().collect()
    };
    let labels: Vec<_> = opened.iter().map(one).collect();
    let all: Vec<One<'_>> = opened
        .iter()
        .zip(&labels)
        .map(|(it, labels)| One {
            database: &it.database,
            labels: labels
                .iter()
                .map(|(name, value)| (*name, &**value))
                .collect(),
        })
        .collect();
    of_files(&mut text, &all);
    if let Some(budget) = databases.budget() {
        of_memory(&mut text, &budget);
    }
    of_caches(&mut text, &all);
    of_logs(&mut text, &all);
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
fn of_files(text: &mut Text, all: &[One<'_>]) {
    let infos: Vec<_> = all
        .iter()
        .filter_map(|one| Some((one, one.database.info().ok()?)))
        .collect();
    let files: Vec<_> = all
        .iter()
        .filter_map(|one| Some((one, std::fs::metadata(one.database.path()).ok()?.len())))
        .collect();
    if !infos.is_empty() {
        let name = "graven_nodes";
        text.begin(name, "gauge", "Nodes at the last checkpoint.");
        for (one, info) in &infos {
            text.value(name, &one.labels, info.nodes);
        }
        let name = "graven_relationships";
        text.begin(name, "gauge", "Relationships at the last checkpoint.");
        for (one, info) in &infos {
            text.value(name, &one.labels, info.relationships);
        }
    }
    if !files.is_empty() {
        let name = "graven_file_bytes";
        text.begin(name, "gauge", "Length of the data file.");
        for (one, length) in &files {
            text.value(name, &one.labels, length);
        }
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

fn of_caches(text: &mut Text, all: &[One<'_>]) {
    let caches = all
        .iter()
        .filter_map(|one| Some((one, one.database.cache().ok()?)));
    let kinds: Vec<(&One<'_>, Vec<(String, KindStats)>)> = caches
        .map(|(one, cache)| {
            let stats = cache.stats();
            let kinds = stats.per_kind.iter();
            (
                one,
                kinds
                    .map(|(kind, stats)| (kind.to_string(), *stats))
                    .collect(),
            )
        })
        .collect();
    if kinds.is_empty() {
        return;
    }
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
        for (one, kinds) in &kinds {
            for (kind, stats) in kinds {
                text.value(&name, &one.with("kind", kind), of(stats));
            }
        }
    }
}

fn of_logs(text: &mut Text, all: &[One<'_>]) {
    let logs = all.iter();
    let logs: Vec<(&One<'_>, LogStats)> = logs
        .filter_map(|one| Some((one, one.database.log_stats().ok()?)))
        .collect();
    if logs.is_empty() {
        return;
    }
    type View = fn(&LogStats) -> &HistogramView;
    let timed: [(&str, &str, View); 2] = [
        ("commit", "Time that commits waited for the log.", |log| {
            &log.commit_ns
        }),
        ("sync", "Time of syncs of the log.", |log| &log.sync_ns),
    ];
    for (name, help, of) in timed {
        let name = format!("graven_log_{name}_seconds");
        text.begin(&name, "summary", help);
        for (one, log) in &logs {
            let view = of(log);
            for (quantile, share) in [("0.5", 0.5), ("0.99", 0.99)] {
                let value = view.percentile(share) as f64 / 1e9;
                text.value(&name, &one.with("quantile", quantile), value);
            }
            text.value(&format!("{name}_sum"), &one.labels, view.sum() as f64 / 1e9);
            text.value(&format!("{name}_count"), &one.labels, view.count());
        }
    }
    type Of = fn(&LogStats) -> u64;
    let counted: [(&str, &str, &str, Of); 3] = [
        (
            "written_bytes_total",
            "counter",
            "Bytes written to the log.",
            |log| log.bytes_written,
        ),
        (
            "recovery_bytes",
            "gauge",
            "Bytes of the log that the next opening would read after a crash, at most.",
            |log| log.live_bytes,
        ),
        (
            "not_durable_bytes",
            "gauge",
            "Bytes of the log that were committed and are not on the device yet.",
            |log| log.end.0.saturating_sub(log.durable.0),
        ),
    ];
    for (name, kind, help, of) in counted {
        let name = format!("graven_log_{name}");
        text.begin(&name, kind, help);
        for (one, log) in &logs {
            text.value(&name, &one.labels, of(log));
        }
    }
}
