//! Sorted records on their way from the thread that sorts them to the thread that writes them.
//!
//! # How it works
//! Sorting takes about as long as writing. So a worker sorts, and sends its records in batches, a
//! sorted range as it is; the writing thread takes one record after the other, as if it sorted
//! itself.
//!
//! # Concurrency
//! A channel for each job holds [`AHEAD`] batches: a thread that is further ahead waits.
//!
//! # Costs
//! A few ranges for each worker, or a megabyte, or some records where each is larger.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::distribute::SortedRange;
use crate::error::ImportError;
use crate::sort::Key;
use crate::sorted::Sorted;

/// Records of a batch, and bytes of them: the next one goes to another batch.
const BATCH: usize = 2048;
const BATCH_BYTES: usize = 128 << 10;
/// Batches that wait to be written.
const AHEAD: usize = 2;

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
    /// Records follow.
    Begin,
    Records(Batch),
    Range(SortedRange),
    End,
    Failed(ImportError),
}

/// What a worker sends to.
pub(crate) struct Sender(SyncSender<Message>);

/// Where the results of a worker arrive.
#[derive(Debug)]
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
        if self.0.send(Message::Begin).is_err() {
            return Ok(false);
        }
        let mut batch = Batch::default();
        loop {
            if let Some(range) = sorted.take_range()? {
                let before = std::mem::take(&mut batch);
                let sent = self.0.send(Message::Records(before));
                if sent
                    .and_then(|()| self.0.send(Message::Range(range)))
                    .is_err()
                {
                    return Ok(false);
                }
                continue;
            }
            let Some((key, bytes)) = sorted.next()? else {
                break;
            };
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
    pub(crate) fn next(&mut self) -> Result<Feed<'_>, ImportError> {
        match self.0.recv() {
            Ok(Message::Begin) => Ok(Feed {
                from: Source::Worker {
                    receive: &mut self.0,
                    part: Part::Records(Batch::default(), 0),
                },
            }),
            Ok(Message::Failed(error)) => Err(error),
            // As below.
            Err(_) => Err(ImportError::Cancelled),
            Ok(_) => unreachable!("records have a beginning"),
        }
    }
}

/// Sorted records, read once.
#[derive(Debug)]
pub(crate) struct Feed<'a> {
    from: Source<'a>,
}

#[derive(Debug)]
enum Source<'a> {
    /// Sorted by the thread that reads them.
    Here(Sorted),
    Worker {
        receive: &'a mut Receiver<Message>,
        part: Part,
    },
    Ended,
}

/// What a worker has sent.
#[derive(Debug)]
enum Part {
    /// Records, and the number of the next one.
    Records(Batch, usize),
    Range(SortedRange),
}

impl Part {
    fn is_empty(&self) -> bool {
        match self {
            Self::Records(batch, at) => *at == batch.keys.len(),
            Self::Range(range) => range.is_empty(),
        }
    }

    fn next(&mut self) -> Option<(Key, &[u8])> {
        match self {
            Self::Records(batch, at) => {
                let key = *batch.keys.get(*at)?;
                let from = at.checked_sub(1).map_or(0, |before| batch.ends[before]);
                *at += 1;
                Some((key, &batch.bytes[from..batch.ends[*at - 1]]))
            }
            Self::Range(range) => range.next(),
        }
    }
}

impl From<Sorted> for Feed<'_> {
    fn from(sorted: Sorted) -> Self {
        Self {
            from: Source::Here(sorted),
        }
    }
}

impl Feed<'_> {
    /// The next record in order.
    pub(crate) fn next(&mut self) -> Result<Option<(Key, &[u8])>, ImportError> {
        while let Source::Worker { receive, part } = &mut self.from
            && part.is_empty()
        {
            match receive.recv() {
                Ok(Message::Records(batch)) => *part = Part::Records(batch, 0),
                Ok(Message::Range(range)) => *part = Part::Range(range),
                Ok(Message::Failed(error)) => return Err(error),
                Ok(Message::End) => self.from = Source::Ended,
                Ok(Message::Begin) => unreachable!("records begin once"),
                // It panicked: its panic goes on where the threads are joined.
                Err(_) => return Err(ImportError::Cancelled),
            }
        }
        match &mut self.from {
            Source::Here(sorted) => sorted.next(),
            Source::Worker { part, .. } => Ok(part.next()),
            Source::Ended => Ok(None),
        }
    }
}
