//! What the server and its database do, over HTTP: counters for Prometheus, and a page for people.
//!
//! # How it works
//! `/metrics` answers with the counters as they are then ([`series`]). `/` is a page that asks for
//! the same as JSON ([`state`]) every few seconds and draws it. Nothing is computed between two
//! questions, and nothing can be changed from here. [`endpoint`] checks which users may ask.
//!
//! # Source
//! Prometheus' text format, version 0.0.4.

mod endpoint;
mod series;
mod state;

use std::sync::atomic::{AtomicU64, Ordering};

use graven::{Database, Error};

pub(crate) use endpoint::Endpoint;

use crate::served::Databases;

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

    /// What there is at `path`; `open` connections are open. Behind `?database=` may stand which
    /// database is asked for; otherwise it is the one of clients that name none.
    pub(crate) fn at(
        path: &str,
        wanted: Option<&str>,
        (databases, counters): (&Databases, &Counters),
        open: usize,
    ) -> Answer {
        let one = match wanted {
            Some(name) => databases.named(name),
            None => match databases.home_of(None) {
                Ok(home) => databases.named(&home),
                Err(error) => Err(error.into()),
            },
        };
        let of = |state: &dyn Fn(&Database) -> Result<state::Json, Error>| match &one {
            Ok(opened) => Answer::json(state(&opened.database)),
            Err(failure) => Answer {
                status: 404,
                ..Answer::new(
                    "application/json",
                    serde_json::json!({"error": failure.message}).to_string(),
                )
            },
        };
        match path {
            "/" => Answer::new(
                "text/html; charset=utf-8",
                include_str!("metrics/page.html"),
            ),
            "/metrics" => Answer::new(
                "text/plain; version=0.0.4; charset=utf-8",
                series::text(databases, counters, open),
            ),
            "/state.json" => of(&|database| {
                let mut state = state::state(database, counters, open)?;
                if matches!(databases, Databases::Folder(_)) {
                    let all = databases.all_open();
                    let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
                    state["databases"] = serde_json::json!(names);
                }
                Ok(state)
            }),
            "/contents.json" => of(&state::contents),
            "/graph.json" => of(&state::graph),
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
