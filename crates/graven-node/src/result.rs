//! `NativeResult`: rows one batch after another.
//!
//! # How it works
//! `read` is a job that reads until there are rows at hand; `rows` makes objects of some of them,
//! on the thread of JavaScript. `package/result.js` asks for both: a row is seldom waited for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graven::QueryResult;
use graven_binding::Reading;
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use serde_json::{Map, Value as Json, json};

use crate::js::{Any, Js};
use crate::opened::{Ends, Listed};
use crate::output::Writer;
use crate::session::Session;
use crate::threads;
use crate::told::{Told, sync};

/// See `package/result.js`.
#[napi]
pub struct NativeResult {
    held: Arc<Held>,
    _listed: Listed,
}

struct Held {
    session: Arc<Session>,
    names: Vec<String>,
    declared: Vec<Option<String>>,
    reading: Mutex<Reading>,
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows, unless the result was closed.
    fn reading(&self) -> Result<MutexGuard<'_, Reading>, Told> {
        let reading = self.lock();
        match reading.is_closed() {
            false => Ok(reading),
            true => Err(Told::usage("the result was closed, or its database")),
        }
    }

    /// Reads until so many rows are at hand, or no more; an error behind rows comes after them.
    fn read(&self, rows: u32) -> Result<(), Told> {
        let mut reading = self.reading()?;
        match reading.read_up_to(rows as usize) {
            Err(error) if reading.at_hand() == 0 => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn column_types(&self) -> Result<Vec<String>, Told> {
        let types = self.reading()?.column_types(self.names.len())?;
        let types = types.ok_or_else(|| Told::usage(Reading::gone()))?;
        Ok(types.iter().map(ToString::to_string).collect())
    }
}

impl Ends for Held {
    fn end(&self) {
        drop(self.lock().close());
    }
}

impl NativeResult {
    pub(crate) fn begin(session: &Arc<Session>, result: QueryResult) -> Result<Self, Told> {
        let (names, declared) = (result.columns().to_vec(), result.declared_types());
        let held = Arc::new(Held {
            names,
            declared,
            reading: Mutex::new(Reading::begin(result)?),
            session: Arc::clone(session),
        });
        let weak = Arc::downgrade(&held);
        Ok(NativeResult {
            held,
            _listed: session.opened.list(weak),
        })
    }
}

#[napi]
impl NativeResult {
    /// Headings.
    #[napi(getter)]
    pub fn names(&self) -> Vec<String> {
        self.held.names.clone()
    }

    /// Declared types of the columns, where there are some.
    #[napi(getter)]
    pub fn declared(&self) -> Vec<Option<String>> {
        self.held.declared.clone()
    }

    /// Rows at hand.
    #[napi(getter)]
    pub fn at_hand(&self) -> napi::Result<u32> {
        sync(|| Ok(u32::try_from(self.held.reading()?.at_hand()).unwrap_or(u32::MAX)))
    }

    /// Whether it is known that no rows come behind those at hand.
    #[napi(getter)]
    pub fn has_ended(&self) -> napi::Result<bool> {
        sync(|| Ok(self.held.reading()?.has_ended()))
    }

    /// Reads until so many rows are at hand, or no more.
    #[napi]
    pub fn read<'env>(&self, env: &'env Env, rows: u32) -> napi::Result<Object<'env>> {
        self.held
            .session
            .promise(env, &self.held, move |held| held.read(rows))
    }

    /// The same, at once.
    #[napi]
    pub fn read_sync(&self, rows: u32) -> napi::Result<()> {
        self.held.session.sync(|| self.held.read(rows))
    }

    /// Takes rows at hand, up to so many, as an array of objects.
    #[napi]
    pub fn rows(&self, env: &Env, most: u32, bigints: bool, makers: Any) -> napi::Result<Any> {
        sync(|| {
            let js = Js::new(env);
            let writer = Writer::new(js, makers, bigints)?;
            let mut names = Vec::with_capacity(self.held.names.len());
            for name in &self.held.names {
                names.push((&**name, js.string(name)?));
            }
            let mut reading = self.held.reading()?;
            let (most, mut at) = (most as usize, 0);
            let array = js.array(most.min(reading.at_hand()))?;
            while at < most {
                let Some((rows, range)) = reading.take(most - at) else {
                    break;
                };
                writer.rows(array, at, &names, (&rows, range.clone()))?;
                at += range.len();
            }
            Ok(array)
        })
    }

    /// Reads to the end: how many rows there are.
    #[napi]
    pub fn count<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.held
            .session
            .promise(env, &self.held, |held| Ok(held.reading()?.count()? as f64))
    }

    /// The same, at once.
    #[napi]
    pub fn count_sync(&self) -> napi::Result<f64> {
        self.held
            .session
            .sync(|| Ok(self.held.reading()?.count()? as f64))
    }

    /// Reads to the end: the types of the columns.
    #[napi]
    pub fn column_types<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.held
            .session
            .promise(env, &self.held, |held| held.column_types())
    }

    /// The same, at once.
    #[napi]
    pub fn column_types_sync(&self) -> napi::Result<Vec<String>> {
        self.held.session.sync(|| self.held.column_types())
    }

    /// The next row is the first one again.
    #[napi]
    pub fn begin_again(&self) -> napi::Result<()> {
        sync(|| match self.held.reading()?.begin_again() {
            true => Ok(()),
            false => Err(Told::usage(Reading::gone())),
        })
    }

    /// What is known besides the rows, as JSON.
    #[napi]
    pub fn summary(&self) -> napi::Result<String> {
        sync(|| {
            let reading = self.held.reading()?;
            let known = reading.summary().map(|it| summary(&it, reading.plan()));
            Ok(known.unwrap_or(Json::Null).to_string())
        })
    }

    /// Ends the statement; on another thread, if a job has the result.
    #[napi]
    pub fn close(&self) {
        if let Ok(mut reading) = self.held.reading.try_lock() {
            drop(reading.close());
            return;
        }
        let held = Arc::clone(&self.held);
        // If its database closes, that ends it, too.
        if let Ok(running) = held.session.opened.enter(None) {
            threads::run(move || {
                held.end();
                drop(running);
            });
        }
    }
}

fn summary(known: &graven::Summary, plan: Option<String>) -> Json {
    let milliseconds = |it: std::time::Duration| it.as_secs_f64() * 1e3;
    let notices = known.notices.iter().map(|notice| {
        let (line, column) = notice.position.unzip();
        json!({ "code": notice.code, "message": notice.message, "line": line, "column": column })
    });
    let pages = known.pages.iter().map(|(kind, counts)| {
        let counts = json!({
            "hits": counts.hits,
            "faults": counts.faults,
            "blocked": counts.blocked,
            "evictions": counts.evictions(),
            "waitNs": counts.wait_ns,
            "bytesRead": counts.bytes_read,
        });
        (kind.to_string(), counts)
    });
    let counters = known.counters.named().into_iter();
    let counters = counters.map(|(name, count)| (name.to_owned(), Json::from(count)));
    json!({
        "rows": known.rows,
        "milliseconds": milliseconds(known.elapsed),
        "compilingMilliseconds": milliseconds(known.planning),
        "notices": notices.collect::<Vec<_>>(),
        "pages": pages.collect::<Map<_, _>>(),
        "counters": counters.collect::<Map<_, _>>(),
        "plan": plan,
    })
}
