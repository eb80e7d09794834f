//! A database that is open, as all connections that use it share it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graven::{Database, Error, Params};
use tokio::sync::watch;

/// An open database under its name.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) name: String,
    /// What ids of text begin with.
    pub(crate) store: String,
    pub(crate) database: Database,
    /// Clients change nothing in it.
    reads_only: AtomicBool,
    /// Why it is no longer there, once that is so.
    gone: watch::Sender<Option<Arc<str>>>,
}

impl Opened {
    /// # Errors
    /// Errors of the database.
    pub(crate) fn new(name: &str, database: Database) -> Result<Opened, Error> {
        let known = database
            .connect()
            .query("CALL db.info() YIELD id RETURN id", &Params::new())?
            .next_row()?;
        let store = known.and_then(|row| row.get(0).and_then(|id| id.as_str().map(str::to_owned)));
        Ok(Opened {
            name: name.to_owned(),
            store: store.unwrap_or_default(),
            database,
            reads_only: AtomicBool::new(false),
            gone: watch::Sender::new(None),
        })
    }

    pub(crate) fn reads_only(&self) -> bool {
        self.reads_only.load(Ordering::SeqCst)
    }

    pub(crate) fn set_reads_only(&self, only: bool) {
        self.reads_only.store(only, Ordering::SeqCst);
    }

    /// From now on sessions end what they have open in it.
    pub(crate) fn set_gone(&self, why: &str) {
        self.gone.send_replace(Some(why.into()));
    }

    /// Sessions may begin something in it again.
    pub(crate) fn set_back(&self) {
        self.gone.send_replace(None);
    }

    /// Why it is no longer there.
    pub(crate) fn gone(&self) -> Option<Arc<str>> {
        self.gone.borrow().clone()
    }

    /// Waits until it is no longer there.
    pub(crate) async fn until_gone(self: Arc<Self>) {
        let mut gone = self.gone.subscribe();
        // The sender lives as long as this.
        let _ = gone.wait_for(Option::is_some).await;
    }
}
