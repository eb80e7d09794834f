//! Sorted records on their way from the thread that sorts them to the thread that writes them.
//!
//! # How it works
//! Sorting takes about as long as writing. So one thread sorts, and sends its records in batches, a
//! sorted range as it is; the writing thread takes one record after the other, as if it sorted
//! itself.
//!
//! # Concurrency
//! A channel for each job holds [`AHEAD`] batches: a sorting thread that is further ahead waits.
//!
//! # Costs
//! A few ranges for each job, or a megabyte, or some records where each is larger.

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
    Records(Batch),
    Range(SortedRange),
    End,
    Failed(ImportError),
}

/// What the sorting thread sends to.
pub(crate) struct Sender(SyncSender<Message>);

/// The ends of a channel between the thread that sorts and the one that writes.
pub(crate) fn channel() -> (Sender, Feed) {
    let (send, receive) = sync_channel(AHEAD);
    let part = Part::Records(Batch::default(), 0);
    (Sender(send), Feed(Source::Sent { receive, part }))
}

impl Sender {
    /// Sends all records, or why there are none. Where the writing thread does not take them, it
    /// has ended, and knows why.
    pub(crate) fn send(&self, sorted: Result<Sorted, ImportError>) {
        if let Err(error) = sorted.and_then(|sorted| self.send_all(sorted)) {
            let _ = self.0.send(Message::Failed(error));
        }
    }

    /// Sends them as long as the writing thread takes them.
    fn send_all(&self, mut sorted: Sorted) -> Result<(), ImportError> {
        let mut batch = Batch::default();
        loop {
            if let Some(range) = sorted.take_range()? {
                let before = std::mem::take(&mut batch);
                let sent = self.0.send(Message::Records(before));
                if sent
                    .and_then(|()| self.0.send(Message::Range(range)))
                    .is_err()
                {
                    return Ok(());
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
                    return Ok(());
                }
            }
        }
        for last in [Message::Records(batch), Message::End] {
            let _ = self.0.send(last);
        }
        Ok(())
    }
}

/// Sorted records, read once.
#[derive(Debug)]
pub(crate) struct Feed(Source);

#[derive(Debug)]
enum Source {
    /// Sorted by the thread that reads them.
    Here(Sorted),
    Sent {
        receive: Receiver<Message>,
        part: Part,
    },
    Ended,
}

/// What was sent last.
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

impl From<Sorted> for Feed {
    fn from(sorted: Sorted) -> Self {
        Self(Source::Here(sorted))
    }
}

impl Feed {
    /// The next record in order.
    pub(crate) fn next(&mut self) -> Result<Option<(Key, &[u8])>, ImportError> {
        while let Source::Sent { receive, part } = &mut self.0
            && part.is_empty()
        {
            match receive.recv() {
                Ok(Message::Records(batch)) => *part = Part::Records(batch, 0),
                Ok(Message::Range(range)) => *part = Part::Range(range),
                Ok(Message::Failed(error)) => return Err(error),
                Ok(Message::End) => self.0 = Source::Ended,
                // The sorting thread panicked: its panic goes on where the threads are joined.
                Err(_) => return Err(ImportError::Cancelled),
            }
        }
        match &mut self.0 {
            Source::Here(sorted) => sorted.next(),
            Source::Sent { part, .. } => Ok(part.next()),
            Source::Ended => Ok(None),
        }
    }
}
