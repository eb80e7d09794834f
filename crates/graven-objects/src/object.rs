//! One object, read by ranges.
//!
//! # How it works
//! The first request asks for the beginning of the object and tells its size and its tag. Reads
//! come out of windows ([`crate::windows`]); what is not there is asked for, several ranges at
//! once. Where reads go from front to back, the next window is on its way while the last one is
//! used. A web server that knows no ranges is asked for the whole file, which is copied
//! ([`crate::copies`]).
//!
//! # Invariants
//! * OB-18: all bytes are those of one state of the object: an answer with another tag or size is
//!   an error.
//! * OB-19: a wait ends soon after its [`Stop`] says so.
//!
//! # Concurrency
//! Any thread may read; one at a time does.
//!
//! # Costs
//! Memory: the windows, which take what they may ([`crate::windows`]), and what is on its way,
//! which takes no more than that: one window ahead, or the ranges that are asked for together.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{GetOptions, GetRange, GetResult};
use parking_lot::Mutex;

use crate::attempts::repeated;
use crate::clients::Client;
use crate::copies::{Copy, DISK_BUDGET, no_copy};
use crate::error::{Error, Result, chain};
use crate::hints::explained;
use crate::object_url::{Allowed, ObjectUrl, Store};
use crate::ranges::{Joined, Piece, join_within};
use crate::runtime::{Pending, Stop};
use crate::traffic::{Traffic, TrafficCounts};
use crate::windows::{Next, SMALL, Windows};

/// Requests under way at once for one object.
const REQUESTS: usize = 8;
/// Bytes copied at a time into a file.
const COPIED: usize = 1 << 20;

/// What a statement asks for objects with: what it may name, and when its waiting ends.
#[derive(Clone)]
pub struct Asking {
    /// The URLs that may be named.
    pub allowed: Allowed,
    /// When waiting ends.
    pub stop: Stop,
    /// Bytes that the copy of an object may have which can only be read as a whole.
    pub disk_budget: u64,
}

impl std::fmt::Debug for Asking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asking")
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

impl Asking {
    /// All URLs, waiting without end, and [`DISK_BUDGET`].
    #[must_use]
    pub fn freely() -> Asking {
        Asking {
            allowed: Allowed::All,
            stop: Arc::new(|| false),
            disk_budget: DISK_BUDGET,
        }
    }

    /// Refuses a URL that may not be named.
    pub(crate) fn check(&self, url: &ObjectUrl) -> Result<()> {
        if self.allowed.allows(url) {
            return Ok(());
        }
        Err(Error::Forbidden {
            url: url.text().to_owned(),
            why: "this URL is closed to clients; the server opens a bucket, a folder or a web \
                  server to them with --files URL"
                .to_owned(),
        })
    }
}

/// What requests need.
#[derive(Debug)]
struct Shared {
    client: Client,
    url: ObjectUrl,
    size: u64,
    tag: Option<String>,
    traffic: Traffic,
}

/// What changes while an object is read.
#[derive(Debug)]
struct State {
    windows: Windows,
    /// The range that is on its way.
    ahead: Option<(Range<u64>, Pending<Result<Bytes>>)>,
}

/// An object, open for reading.
pub struct Object {
    shared: Arc<Shared>,
    state: Mutex<State>,
    /// The whole object, of a server that knows no ranges.
    copy: Option<File>,
    stop: Stop,
    /// Bytes that a copy may have.
    disk_budget: u64,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object")
            .field("url", &self.shared.url.text())
            .field("size", &self.shared.size)
            .finish_non_exhaustive()
    }
}

/// Waits for a task about `url`.
pub(crate) fn wait<T: Send + 'static>(
    url: &ObjectUrl,
    stop: &Stop,
    task: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    waited(url, stop, Pending::start(task))
}

fn waited<T: Send + 'static>(
    url: &ObjectUrl,
    stop: &Stop,
    pending: std::io::Result<Pending<Result<T>>>,
) -> Result<T> {
    match pending.and_then(|pending| pending.wait(stop)) {
        Ok(Some(answer)) => answer,
        Ok(None) => Err(Error::Stopped {
            url: url.text().to_owned(),
        }),
        Err(error) => Err(Error::object(url.text(), error.to_string())),
    }
}

/// What the first request found.
enum Found {
    Ranges(u64, Option<String>, Bytes),
    /// The server knows no ranges.
    Whole,
}

impl Object {
    /// Opens the object at `url` with the request for its first bytes, of which there are `first`;
    /// windows take up to `memory` bytes.
    ///
    /// # Errors
    /// [`Error::Forbidden`]; [`Error::Object`]; [`Error::Stopped`].
    pub fn open(url: &ObjectUrl, asking: &Asking, first: u64, memory: u64) -> Result<Object> {
        asking.check(url)?;
        if url.store() != Store::Web && (url.key.is_empty() || url.key.ends_with('/')) {
            let why =
                format!("it is a folder; name an object, or a pattern such as {url}*.parquet");
            return Err(Error::object(url.text(), why));
        }
        let client = Client::of(url, &asking.allowed)?;
        let ask = (client.clone(), url.clone());
        let found = wait(url, &asking.stop, async move {
            beginning(&ask.0, &ask.1, first.max(1)).await
        })?;
        let (size, tag, begun, copy) = match found {
            Found::Ranges(size, tag, begun) => (size, tag, begun, None),
            Found::Whole => {
                let file = download(url, &client, asking)?;
                let size = file.metadata().map_err(|error| no_copy(url, &error))?;
                (size.len(), None, Bytes::new(), Some(file))
            }
        };
        let mut windows = Windows::new(size, memory.max(SMALL));
        let traffic = Traffic::default();
        if copy.is_none() {
            traffic.request();
            traffic.came(begun.len());
            windows.put(0, begun);
        }
        Ok(Object {
            shared: Arc::new(Shared {
                client,
                url: url.clone(),
                size,
                tag,
                traffic,
            }),
            state: Mutex::new(State {
                windows,
                ahead: None,
            }),
            copy,
            stop: asking.stop.clone(),
            disk_budget: asking.disk_budget,
        })
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &ObjectUrl {
        &self.shared.url
    }

    /// Its bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.shared.size
    }

    /// About how many bytes it holds in memory.
    #[must_use]
    pub fn held(&self) -> usize {
        let state = self.state.lock();
        let ahead = state.ahead.as_ref();
        let ahead = ahead.map_or(0, |(range, _)| range.end - range.start);
        state.windows.held() + usize::try_from(ahead).unwrap_or(0)
    }

    /// What was asked of the store.
    #[must_use]
    pub fn traffic(&self) -> TrafficCounts {
        self.shared.traffic.counts()
    }

    /// These parts will be read, a group after the other, each from front to back: they are asked
    /// for in large pieces, and nothing beside them.
    pub fn expect(&self, groups: &[Vec<Range<u64>>]) {
        let mut state = self.state.lock();
        state.ahead = None;
        state.windows.expect(groups);
    }

    /// Reads up to as many bytes as `into` has; none at the end.
    ///
    /// # Errors
    /// [`Error::Object`]; [`Error::Stopped`].
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        if let Some(copy) = &self.copy {
            let read = copy.read_at(into, offset);
            return read.map_err(|error| no_copy(&self.shared.url, &error));
        }
        if offset >= self.shared.size || into.is_empty() {
            return Ok(0);
        }
        let mut state = self.state.lock();
        loop {
            let count = state.windows.copy(offset, into);
            if count > 0 {
                return Ok(count);
            }
            if (self.stop)() {
                return Err(Error::Stopped {
                    url: self.shared.url.text().to_owned(),
                });
            }
            self.load(&mut state, offset, into.len() as u64)?;
        }
    }

    /// Brings what a read at `offset` needs.
    fn load(&self, state: &mut State, offset: u64, wanted: u64) -> Result<()> {
        let url = &self.shared.url;
        if let Some((range, pending)) = state.ahead.take_if(|(range, _)| range.start == offset) {
            let bytes = waited(url, &self.stop, Ok(pending))?;
            state.windows.put(range.start, bytes);
            self.start_ahead(state);
            return Ok(());
        }
        match state.windows.next(offset, wanted) {
            Next::Loose(range, goes_on) => {
                let (shared, asked) = (self.shared.clone(), range.clone());
                let url = &self.shared.url;
                let bytes = wait(url, &self.stop, async move { shared.get(asked).await })?;
                state.windows.put(range.start, bytes);
                if goes_on {
                    self.start_ahead(state);
                }
            }
            Next::Parts(parts) => {
                let pieces = parts.iter().enumerate().map(|(read, (_, range))| Piece {
                    read,
                    at: 0,
                    chunk: 0,
                    range: range.clone(),
                });
                let pieces: Vec<_> = pieces.collect();
                let joined = join_within(&pieces, state.windows.memory());
                for (read, start, bytes) in self.fetch_pieces(joined)? {
                    state.windows.put_part(parts[read].0, start, bytes);
                }
            }
        }
        Ok(())
    }

    /// Asks for the range behind the last window and goes on.
    fn start_ahead(&self, state: &mut State) {
        let Some(range) = state.windows.ahead() else {
            return;
        };
        let (shared, asked) = (self.shared.clone(), range.clone());
        let started = Pending::start(async move { shared.get(asked).await });
        // What cannot be started now is asked for when it is read.
        state.ahead = started.ok().map(|pending| (range, pending));
    }

    /// The bytes of the pieces of these ranges: which one, where it starts, and what it has.
    fn fetch_pieces(&self, joined: Vec<Joined>) -> Result<Vec<(usize, u64, Bytes)>> {
        let shared = self.shared.clone();
        wait(&self.shared.url, &self.stop, async move {
            let asked = joined.into_iter().map(|joined| {
                let shared = shared.clone();
                async move {
                    let bytes = shared.get(joined.range.clone()).await?;
                    Ok::<_, Error>(cut(&joined, &bytes))
                }
            });
            let asked = stream::iter(asked.collect::<Vec<_>>());
            let cut: Vec<_> = asked.buffered(REQUESTS).try_collect().await?;
            Ok(cut.into_iter().flatten().collect())
        })
    }

    /// All of it in a file without a name.
    ///
    /// # Errors
    /// As [`Object::read_at`]; no room for it in the disk budget or on the disk.
    pub fn whole(&self) -> Result<File> {
        let url = &self.shared.url;
        if let Some(copy) = &self.copy {
            return copy.try_clone().map_err(|error| no_copy(url, &error));
        }
        let mut file = Copy::begin(url, Some(self.shared.size), self.disk_budget)?;
        let (mut at, mut bytes) = (0, vec![0; COPIED]);
        loop {
            let count = self.read_at(&mut bytes, at)?;
            if count == 0 {
                return Ok(file.finish());
            }
            file.write(&bytes[..count])?;
            at += count as u64;
        }
    }
}

/// The pieces of an answer. Each has bytes of its own, so that what lies between them goes at once,
/// and no piece keeps another one.
fn cut(joined: &Joined, bytes: &Bytes) -> Vec<(usize, u64, Bytes)> {
    let pieces = joined.pieces.iter().map(|piece| {
        let from = (piece.range.start - joined.range.start) as usize;
        let to = (piece.range.end - joined.range.start) as usize;
        let own = match joined.pieces.len() {
            1 => bytes.clone(),
            _ => Bytes::copy_from_slice(&bytes[from..to]),
        };
        (piece.read, piece.range.start, own)
    });
    pieces.collect()
}

/// The first bytes of an object, its size and its tag.
async fn beginning(client: &Client, url: &ObjectUrl, first: u64) -> Result<Found> {
    let ranged = GetOptions {
        range: Some(GetRange::Bounded(0..first)),
        ..GetOptions::default()
    };
    let traffic = Traffic::default();
    let begun = repeated(&traffic, || async {
        match client.store.get_opts(&client.path, ranged.clone()).await {
            Ok(answer) => {
                let (size, tag) = (answer.meta.size, answer.meta.e_tag.clone());
                let range = answer.range.clone();
                Ok(Ok((size, tag, body(url, answer, &range).await?)))
            }
            Err(error) => Ok(Err(error)),
        }
    });
    let refused = match begun.await.map_err(|error| last(url, error))? {
        Ok((size, tag, bytes)) => return Ok(Found::Ranges(size, tag, bytes)),
        Err(refused) => refused,
    };
    if let (object_store::Error::NotSupported { .. }, Some(_)) = (&refused, &client.web) {
        return Ok(Found::Whole);
    }
    // There is no first byte in an empty object.
    if chain(&refused).contains("416") {
        let head = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        if let Ok(answer) = client.store.get_opts(&client.path, head).await
            && answer.meta.size == 0
        {
            return Ok(Found::Ranges(0, answer.meta.e_tag.clone(), Bytes::new()));
        }
    }
    Err(explained(url, "reading", &refused))
}

/// The body of an answer, which has to have the bytes of `range`.
async fn body(url: &ObjectUrl, answer: GetResult, range: &Range<u64>) -> Result<Bytes> {
    let wanted = range.end - range.start;
    let wrong = |what: String| Error::Damaged {
        url: url.text().to_owned(),
        object: url.file_name().to_owned(),
        what,
    };
    let mut bytes = Vec::with_capacity(usize::try_from(wanted).unwrap_or(0).min(8 << 20));
    let mut parts = answer.into_stream();
    while let Some(part) = parts.next().await {
        let part = part.map_err(|error| {
            wrong(format!(
                "the answer for the bytes {range:?} broke off: {}",
                chain(&error)
            ))
        })?;
        // A store may send more than it says.
        if (bytes.len() + part.len()) as u64 > wanted {
            return Err(wrong(format!("more came than the bytes {range:?}")));
        }
        bytes.extend_from_slice(&part);
    }
    match bytes.len() as u64 == wanted {
        true => Ok(bytes.into()),
        false => Err(wrong(format!(
            "{} bytes came of the bytes {range:?}",
            bytes.len()
        ))),
    }
}

/// The error after the last attempt.
fn last(url: &ObjectUrl, error: Error) -> Error {
    match error {
        Error::Damaged { what, .. } => Error::object(url.text(), what),
        other => other,
    }
}

impl Shared {
    /// The bytes of a range; an answer that breaks off is asked for again.
    async fn get(self: &Arc<Self>, range: Range<u64>) -> Result<Bytes> {
        let got = repeated(&self.traffic, || self.get_once(range.clone())).await;
        got.map_err(|error| last(&self.url, error))
    }

    async fn get_once(&self, range: Range<u64>) -> Result<Bytes> {
        self.traffic.request();
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            ..GetOptions::default()
        };
        let answer = self.client.store.get_opts(&self.client.path, options).await;
        let answer = answer.map_err(|error| explained(&self.url, "reading", &error))?;
        let other_tag = match (&self.tag, &answer.meta.e_tag) {
            (Some(first), Some(now)) => first != now,
            _ => false,
        };
        if other_tag || answer.meta.size != self.size {
            let why = "it was changed while it was read: run the statement again";
            return Err(Error::object(self.url.text(), why));
        }
        let bytes = body(&self.url, answer, &range).await?;
        self.traffic.came(bytes.len());
        Ok(bytes)
    }
}

/// Copies all of a file of a web server that knows no ranges.
fn download(url: &ObjectUrl, client: &Client, asking: &Asking) -> Result<File> {
    let (Some(client), Some(web)) = (client.web.clone(), url.web.clone()) else {
        return Err(Error::object(url.text(), "its store answers no ranges"));
    };
    let (asked, disk_budget) = (url.clone(), asking.disk_budget);
    wait(url, &asking.stop, async move {
        let traffic = Traffic::default();
        let copy = || copy_once(&asked, (&client, web.as_str()), disk_budget);
        let copied = repeated(&traffic, copy).await;
        copied.map_err(|error| last(&asked, error))
    })
}

async fn copy_once(
    url: &ObjectUrl,
    (client, web): (&reqwest::Client, &str),
    disk_budget: u64,
) -> Result<File> {
    let failed = |error: reqwest::Error| Error::Damaged {
        url: url.text().to_owned(),
        object: url.file_name().to_owned(),
        what: format!("the answer broke off: {}", chain(&error.without_url())),
    };
    let answer = client.get(web).send().await.map_err(failed)?;
    let mut answer = answer.error_for_status().map_err(failed)?;
    let mut copy = Copy::begin(url, answer.content_length(), disk_budget)?;
    while let Some(part) = answer.chunk().await.map_err(failed)? {
        copy.write(&part)?;
    }
    Ok(copy.finish())
}
