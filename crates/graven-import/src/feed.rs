//! Sorted records on their way from the thread that merges them to the thread that writes them.
//!
//! # How it works
//! Merging sorted runs takes about as long as writing what they hold. So a worker merges, and sends
//! its records in batches; the writing thread takes one after the other, as if it merged itself.
//!
//! # Concurrency
//! A channel for each worker holds [`AHEAD`] batches: a worker that is further ahead waits.
//!
//! # Costs
//! A megabyte for each worker, or some records where each is larger.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::error::ImportError;
use crate::sort::{Key, Sorted};

/// Records of a batch, and bytes of them: the next one goes to another batch.
const BATCH: usize = 2048;
const BATCH_BYTES: usize = 128 << 10;
/// Batches that wait to be written.
const AHEAD: usize = 4;

/// Records one after the other.
#[derive(Debug, Default)]
struct Batch {
    keys: Vec<Key>,
    /// Where the bytes of each record end.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum Message {
    /// So many records follow.
    Begin(u64),
    Records(Batch),
    End,
    Failed(ImportError),
}

/// What a worker sends to.
pub(crate) struct Sender(SyncSender<Message>);

/// Where the results of a worker arrive.
pub(crate) struct Results(Receiver<Message>);

/// The ends of a channel between a worker and the writing thread.
pub(crate) fn channel() -> (Sender, Results) {
    let (send, receive) = sync_channel(AHEAD);
    (Sender(send), Results(receive))
}

impl Sender {
    /// Sends all records, or why there are none; whether the worker is to go on.
    pub(crate) fn send(&self, sorted: Result<Sorted, ImportError>) -> bool {
        let sent = sorted.and_then(|sorted| self.send_all(sorted));
        sent.unwrap_or_else(|error| {
            // The writing thread has ended where it does not take the error.
            let _ = self.0.send(Message::Failed(error));
            false
        })
    }

    /// Whether the writing thread took all of them.
    fn send_all(&self, mut sorted: Sorted) -> Result<bool, ImportError> {
        if self.0.send(Message::Begin(sorted.records())).is_err() {
            return Ok(false);
        }
        let mut batch = Batch::default();
        while let Some((key, bytes)) = sorted.next()? {
            batch.keys.push(key);
            batch.bytes.extend_from_slice(bytes);
            batch.ends.push(batch.bytes.len());
            if batch.keys.len() == BATCH || batch.bytes.len() >= BATCH_BYTES {
                let full = std::mem::take(&mut batch);
                if self.0.send(Message::Records(full)).is_err() {
                    return Ok(false);
                }
            }
        }
        let last = [Message::Records(batch), Message::End];
        Ok(last.into_iter().all(|message| self.0.send(message).is_ok()))
    }
}

impl Results {
    /// The next result of the worker.
    pub(crate) fn next(&self) -> Result<Feed<'_>, ImportError> {
        match self.0.recv() {
            Ok(Message::Begin(records)) => Ok(Feed {
                records,
                from: Source::Worker {
                    receive: &self.0,
                    batch: Batch::default(),
                    at: 0,
                },
            }),
            Ok(Message::Failed(error)) => Err(error),
            _ => unreachable!("a worker ends early only after it sent its error"),
        }
    }
}

/// Sorted records, read once.
#[derive(Debug)]
pub(crate) struct Feed<'a> {
    records: u64,
    from: Source<'a>,
}

#[derive(Debug)]
enum Source<'a> {
    /// Merged by the thread that reads them.
    Here(Sorted),
    Worker {
        receive: &'a Receiver<Message>,
        batch: Batch,
        at: usize,
    },
    Ended,
}

impl From<Sorted> for Feed<'_> {
    fn from(sorted: Sorted) -> Self {
        Self {
            records: sorted.records(),
            from: Source::Here(sorted),
        }
    }
}

impl Feed<'_> {
    /// Number of records at the start.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// The next record in order.
    pub(crate) fn next(&mut self) -> Result<Option<(Key, &[u8])>, ImportError> {
        if let Source::Worker { receive, batch, at } = &mut self.from
            && *at == batch.keys.len()
        {
            match receive.recv() {
                Ok(Message::Records(next)) => (*batch, *at) = (next, 0),
                Ok(Message::Failed(error)) => return Err(error),
                Ok(Message::End) => self.from = Source::Ended,
                Ok(Message::Begin(_)) | Err(_) => {
                    unreachable!("a worker ends early only after it sent its error")
                }
            }
            return self.next();
        }
        match &mut self.from {
            Source::Here(sorted) => sorted.next(),
            Source::Worker { batch, at, .. } => {
                let from = at.checked_sub(1).map_or(0, |before| batch.ends[before]);
                let record = (batch.keys[*at], &batch.bytes[from..batch.ends[*at]]);
                *at += 1;
                Ok(Some(record))
            }
            Source::Ended => Ok(None),
        }
    }
}
