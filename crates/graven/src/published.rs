//! What a database does with snapshots in object storage: publishing, following, counting.

use graven_storage::Until;

use crate::database::Database;
use crate::error::Error;
use crate::instance::Backend;
use crate::objects::{Published, TrafficCounts, publish};
use crate::params::Params;
use crate::value::Value;

impl Database {
    /// Publishes what was committed so far as an immutable snapshot at `url` (`s3://`, `gs://`,
    /// `az://`, `file://`), from where [`Database::open`] reads it. Only chunks that the snapshot
    /// before has not are sent; `chunk_bytes` is that snapshot's unless it is given, or 8 MiB.
    /// Where another process has the database open, that process does it, with its environment.
    ///
    /// # Errors
    /// `Io.Failed` and `Database.Damaged`, and the snapshot before stays the newest then;
    /// `Database.Exists` where another database was published there; `Database.InUse` where another
    /// publish ended meanwhile; `Config.Invalid` for a URL or a size that cannot work.
    pub fn publish(&self, url: &str, chunk_bytes: Option<u64>) -> Result<Published, Error> {
        match self.backend()? {
            Backend::Local(inner) => publish(&inner.store, url, chunk_bytes, &Until::DONE),
            Backend::Remote(_) => self.let_owner_publish(url, chunk_bytes),
        }
    }

    /// Goes on with the newest snapshot, where the database was opened by a URL; whether there was
    /// a newer one. Statements that run finish with the snapshot they began with.
    ///
    /// # Errors
    /// `Io.Failed` where the store does not answer, and the snapshot that is open stays;
    /// `Request.Invalid` for a database in a file.
    pub fn refresh(&self) -> Result<bool, Error> {
        let inner = self.inner()?;
        match &inner.source {
            Some(source) => source.follow(|file| {
                inner.store.follow(file)?;
                inner.plans.clear();
                Ok(())
            }),
            None => Err(Error::usage(format!(
                "{} is a file, which is always read as it is now; only a database that was opened \
                 by a URL has newer snapshots",
                self.path().display()
            ))),
        }
    }

    /// What was asked of object storage since the database was opened; `None` for a file.
    #[must_use]
    pub fn traffic(&self) -> Option<TrafficCounts> {
        let source = self.inner().ok()?.source.as_ref()?;
        Some(source.traffic())
    }

    fn let_owner_publish(&self, url: &str, chunk_bytes: Option<u64>) -> Result<Published, Error> {
        let mut params = Params::new();
        params.set("url", url);
        let chunk = chunk_bytes.map(|bytes| Value::from(bytes.cast_signed()));
        params.set("chunk", chunk.unwrap_or(Value::Null));
        let mut result = self.connect().query(
            "CALL graven.publish($url, $chunk) YIELD checkpoint, bytes, chunks, sentChunks, \
             sentBytes, unchanged RETURN checkpoint, bytes, chunks, sentChunks, sentBytes, unchanged",
            &params,
        )?;
        let row = result.next_row()?;
        let value = |at: usize| row.as_ref().and_then(|row| row.values().get(at));
        let number = |at| {
            let number = value(at).and_then(Value::as_integer);
            number.map_or(0, i64::unsigned_abs)
        };
        Ok(Published {
            checkpoint: number(0),
            length: number(1),
            chunks: number(2),
            sent_chunks: number(3),
            sent_bytes: number(4),
            unchanged: value(5) == Some(&Value::Boolean(true)),
        })
    }
}
