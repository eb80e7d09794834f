//! Publishing a snapshot: chunks, manifest, pointer.
//!
//! # How it works
//! The file is read once, from front to back, chunk by chunk; a chunk's hash says whether the store
//! has it. What the newest manifest names is there. Other objects are taken for there only if they
//! are young, so that an interrupted publish goes on where it was, and none of them is what `gc` is
//! about to delete. Before the pointer changes, the store lists what it has, and every chunk must
//! be in that list with its length.
//!
//! # Invariants
//! * OB-6: a publish that ends early, at whatever point, has changed nothing that a reader sees. It
//!   ends early soon after its [`Stop`] says so; a pointer that is on its way arrives first.
//!
//! # Concurrency
//! The caller's thread reads and hashes; up to [`UPLOADS`] chunks are on their way meanwhile.
//!
//! # Costs
//! Memory of the chunks on their way and the one that is read, as [`Snapshot::room`] allows.
//! Requests: pointer, manifest, two lists (one request for each thousand chunks), one for each new
//! chunk, manifest and pointer.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::StreamExt;
use graven_io::File;
use object_store::path::Path;
use object_store::{PutMode, PutOptions, PutPayload, UpdateVersion};

use crate::error::{Error, Result};
use crate::location::{Location, State};
use crate::manifest::{CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, Manifest, Pointer, hash};
use crate::runtime::{Pending, Stop};

/// Bytes of a chunk unless it is said otherwise.
pub const CHUNK_BYTES: u64 = 8 << 20;
/// Chunks on their way at once, where there is memory for them.
pub const UPLOADS: usize = 4;
/// An object that no manifest names is taken for there when it is younger than this: far younger
/// than what `gc` deletes.
const REUSE: Duration = Duration::from_secs(60 * 60);

/// Looks at bytes that are to be published, with their offset: why they must not be, if so.
pub type Verify<'a> = dyn FnMut(u64, &[u8]) -> std::result::Result<(), String> + 'a;

/// What is published: a file that stays as it is.
pub struct Snapshot<'a> {
    /// Its bytes.
    pub file: Arc<dyn File>,
    /// Bytes that go into chunks; behind them all is overlay.
    pub body: u64,
    /// Offset and length of the ranges that go into the manifest, ascending.
    pub overlay: Vec<(u64, u64)>,
    /// Identity of the database.
    pub uuid: [u8; 16],
    /// Number of the checkpoint that it is.
    pub checkpoint: u64,
    /// Format of the data file.
    pub storage_format: u32,
    /// Told how long a chunk is: for how many of them there is memory, up to [`UPLOADS`] and one.
    pub room: &'a mut dyn FnMut(u64) -> usize,
    /// Told of the bytes of the body in order: why they must not be published, if so.
    pub verify: &'a mut Verify<'a>,
    /// Says that nothing is to be published any more.
    pub stop: Stop,
}

impl std::fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("file", &self.file)
            .field("checkpoint", &self.checkpoint)
            .finish_non_exhaustive()
    }
}

/// What a publish did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Published {
    /// Number of the checkpoint that is the newest snapshot now.
    pub checkpoint: u64,
    /// Length of the file.
    pub length: u64,
    /// Its chunks, those of zeros not counted.
    pub chunks: u64,
    /// Chunks that were sent.
    pub sent_chunks: u64,
    /// Bytes that were sent, the manifest's too.
    pub sent_bytes: u64,
    /// The newest snapshot was this one already: nothing was sent.
    pub unchanged: bool,
}

/// Publishes `snapshot` at `location`, in chunks of `chunk_bytes`; those of the snapshot before are
/// kept, where there is one.
///
/// # Errors
/// [`Error::Setting`] for chunks that are too small or large; [`Error::OtherDatabase`];
/// [`Error::Conflict`]; [`Error::Request`] and [`Error::Io`]; [`Error::Stopped`]. The old snapshot
/// stays then.
pub fn publish(
    location: &Location,
    snapshot: &mut Snapshot<'_>,
    chunk_bytes: Option<u64>,
) -> Result<Published> {
    let from = location.clone();
    let before = location.wait_until(&snapshot.stop, async move { Before::of(&from).await })?;
    let uuid = snapshot.uuid.iter().map(|byte| format!("{byte:02x}"));
    let uuid: String = uuid.collect();
    if let Some((_, manifest, _)) = &before.newest
        && manifest.uuid != uuid
    {
        return Err(Error::OtherDatabase {
            url: location.url().to_owned(),
            found: manifest.uuid.clone(),
            ours: uuid,
        });
    }
    let mut manifest = Manifest::new(uuid, snapshot.checkpoint, snapshot.storage_format);
    manifest.chunk_bytes = size_of_chunks(chunk_bytes, before.newest.as_ref().map(|it| &it.1))?;
    manifest.length = snapshot.file.len()?;
    manifest.body = snapshot.body;
    manifest.overlay.clone_from(&snapshot.overlay);
    let mut overlay = Vec::new();
    for (offset, length) in &snapshot.overlay {
        let start = overlay.len();
        overlay.resize(start + *length as usize, 0);
        snapshot
            .file
            .read_exact_at(&mut overlay[start..], *offset)?;
    }
    if let Some((_, newest, bytes)) = &before.newest
        && before.is_whole
        && newest.overlay == manifest.overlay
        && **bytes == *overlay
        && (newest.length, newest.body) == (manifest.length, manifest.body)
        && newest.chunk_bytes == manifest.chunk_bytes
    {
        // The superblocks hold the checksums of all that they lead to.
        return Ok(Published {
            checkpoint: newest.checkpoint,
            length: newest.length,
            chunks: newest.chunks.iter().flatten().count() as u64,
            unchanged: true,
            ..Published::default()
        });
    }
    let chunk = manifest.chunk_bytes.min(manifest.body);
    let room = (snapshot.room)(chunk);
    if room == 0 {
        return Err(Error::Setting(format!(
            "there is no memory for a chunk of {chunk} bytes"
        )));
    }
    let mut published = send_chunks(location, snapshot, &before.there, &mut manifest, room)?;
    manifest.published_ms = now_ms();
    let bytes = manifest.encode(&overlay);
    published.sent_bytes += bytes.len() as u64;
    let to = location.clone();
    let state = before.newest.map(|(state, ..)| state);
    let pointer = location.wait_until(&snapshot.stop, async move {
        write_manifest(&to, &manifest, bytes).await
    })?;
    let to = location.clone();
    location.wait(async move { replace_pointer(&to, pointer, state).await })?;
    Ok(published)
}

/// What is asked for, or what the snapshot before has: with another size no chunk would be the
/// same.
fn size_of_chunks(asked: Option<u64>, before: Option<&Manifest>) -> Result<u64> {
    let size = asked
        .or(before.map(|it| it.chunk_bytes))
        .unwrap_or(CHUNK_BYTES);
    if (CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&size) && size.is_power_of_two() {
        return Ok(size);
    }
    Err(Error::Setting(format!(
        "chunks of {size} bytes: a chunk has a power of two of bytes, 1 MiB to 64 MiB"
    )))
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_millis() as u64)
}

/// What a location holds when a publish begins.
struct Before {
    newest: Option<(State, Manifest, Bytes)>,
    /// Chunks that need not be sent.
    there: HashSet<String>,
    /// Every chunk of the newest snapshot is there with its length; else publishing again mends it.
    is_whole: bool,
}

impl Before {
    async fn of(location: &Location) -> Result<Before> {
        let newest = match location.pointer().await? {
            None => None,
            Some((pointer, state)) => {
                let (manifest, overlay) = location.manifest(&pointer.manifest).await?;
                Some((state, manifest, overlay))
            }
        };
        let named = newest.iter().flat_map(|(_, manifest, _)| {
            let chunks = manifest.chunks.iter().enumerate();
            chunks.filter_map(|(at, name)| Some((name.as_ref()?, manifest.chunk_length(at))))
        });
        let named: HashMap<&String, u64> = named.collect();
        let mut there = HashSet::new();
        for (name, object) in list(location, &location.chunks()).await? {
            let is_there = match named.get(&name) {
                Some(length) => object.bytes == *length,
                None => object.age < REUSE,
            };
            if is_there {
                there.insert(name);
            }
        }
        let is_whole = named.keys().all(|name| there.contains(*name));
        Ok(Before {
            newest,
            there,
            is_whole,
        })
    }
}

/// An object as the store lists it.
pub(crate) struct Listed {
    pub(crate) path: Path,
    pub(crate) bytes: u64,
    pub(crate) age: Duration,
}

/// The objects below `folder` by their names.
pub(crate) async fn list(location: &Location, folder: &Path) -> Result<HashMap<String, Listed>> {
    let mut found = HashMap::new();
    let mut objects = location.store.list(Some(folder));
    while let Some(object) = objects.next().await {
        let object = match object {
            Ok(object) => object,
            // A folder that nothing was put into yet.
            Err(object_store::Error::NotFound { .. }) => break,
            Err(error) => return Err(location.error("listing", folder, &error)),
        };
        let modified = u64::try_from(object.last_modified.timestamp_millis()).unwrap_or(0);
        if let Some(name) = object.location.filename() {
            let listed = Listed {
                bytes: object.size,
                age: Duration::from_millis(now_ms().saturating_sub(modified)),
                path: object.location.clone(),
            };
            found.insert(name.to_owned(), listed);
        }
    }
    Ok(found)
}

/// Sends what is not `there`, and lists all in `manifest`; `room` chunks are in memory at once.
fn send_chunks(
    location: &Location,
    snapshot: &mut Snapshot<'_>,
    there: &HashSet<String>,
    manifest: &mut Manifest,
    room: usize,
) -> Result<Published> {
    let mut published = Published {
        checkpoint: snapshot.checkpoint,
        length: manifest.length,
        ..Published::default()
    };
    let mut under_way = VecDeque::new();
    let mut sent = HashSet::new();
    let mut offset = 0;
    let stop = Arc::clone(&snapshot.stop);
    while offset < manifest.body {
        if under_way.len() >= room
            && let Some(oldest) = under_way.pop_front()
        {
            location.answer_of(oldest, &stop)?;
        }
        if stop() {
            return Err(location.stopped());
        }
        let mut chunk = vec![0; manifest.chunk_bytes.min(manifest.body - offset) as usize];
        snapshot.file.read_exact_at(&mut chunk, offset)?;
        (snapshot.verify)(offset, &chunk).map_err(|what| Error::Damaged {
            url: location.url().to_owned(),
            object: format!(
                "{}, which was to be published,",
                snapshot.file.path().display()
            ),
            what,
        })?;
        for (start, bytes) in &manifest.overlay {
            // The manifest says these; here they would make the chunk another one each time.
            let from = (*start).clamp(offset, offset + chunk.len() as u64);
            let to = (start + bytes).clamp(from, offset + chunk.len() as u64);
            chunk[(from - offset) as usize..(to - offset) as usize].fill(0);
        }
        offset += chunk.len() as u64;
        if chunk.iter().all(|byte| *byte == 0) {
            manifest.chunks.push(None);
            continue;
        }
        let name = hash(&chunk);
        published.chunks += 1;
        manifest.chunks.push(Some(name.clone()));
        if there.contains(&name) || !sent.insert(name.clone()) {
            continue;
        }
        published.sent_chunks += 1;
        published.sent_bytes += chunk.len() as u64;
        let to = location.clone();
        let started = Pending::start(async move {
            let path = to.chunk_path(&name);
            let put = to
                .store
                .put_opts(&path, PutPayload::from(chunk), PutOptions::default());
            let put = put.await;
            put.map(drop)
                .map_err(|error| to.error("writing", &path, &error))
        });
        let started = started.map_err(|error| location.not_started(&error))?;
        under_way.push_back(started);
    }
    for chunk in under_way {
        location.answer_of(chunk, &stop)?;
    }
    Ok(published)
}

/// Checks that all is there, then writes the manifest; what the pointer to it is.
async fn write_manifest(
    location: &Location,
    manifest: &Manifest,
    bytes: Vec<u8>,
) -> Result<(String, Vec<u8>)> {
    let there = list(location, &location.chunks()).await?;
    for (index, chunk) in manifest.chunks.iter().enumerate() {
        let Some(name) = chunk else { continue };
        let wanted = manifest.chunk_length(index);
        let found = there.get(name).map(|object| object.bytes);
        if found != Some(wanted) {
            let found = found.map_or("missing".to_owned(), |bytes| format!("of {bytes} bytes"));
            return Err(Error::Damaged {
                url: location.url().to_owned(),
                object: location.chunk_path(name).to_string(),
                what: format!(
                    "it has {wanted} bytes and is {found} there; delete it and publish again"
                ),
            });
        }
    }
    let name = hash(&bytes);
    let path = location.manifest_path(&name);
    let put = location
        .store
        .put_opts(&path, bytes.into(), PutOptions::default());
    put.await
        .map_err(|error| location.error("writing", &path, &error))?;
    let pointer = Pointer::to(manifest, name.clone()).encode();
    Ok((name, pointer))
}

/// Puts the pointer where the one that was read at the beginning still is (OB-3).
async fn replace_pointer(
    location: &Location,
    (name, bytes): (String, Vec<u8>),
    before: Option<State>,
) -> Result<()> {
    use object_store::Error as Store;
    let path = location.pointer_path();
    let payload = PutPayload::from(bytes);
    let conflict = || Error::Conflict {
        url: location.url().to_owned(),
    };
    let mode = match &before {
        None => PutMode::Create,
        Some(state) => PutMode::Update(UpdateVersion {
            e_tag: state.e_tag.clone(),
            version: state.version.clone(),
        }),
    };
    let put = location.store.put_opts(&path, payload.clone(), mode.into());
    let refused = match put.await {
        Ok(_) => return Ok(()),
        Err(Store::NotImplemented { .. } | Store::NotSupported { .. }) => None,
        Err(Store::Precondition { .. } | Store::AlreadyExists { .. }) => Some(conflict()),
        Err(error) => Some(location.error("writing", &path, &error)),
    };
    if let Some(refused) = refused {
        // An answer may have been lost: then what was repeated met what it had put itself.
        return match location.pointer().await {
            Ok(Some((now, _))) if now.manifest == name => Ok(()),
            _ => Err(refused),
        };
    }
    // A store without conditions: the time between these two requests is all that is left.
    let now = location.pointer().await?.map(|(_, state)| state);
    if now != before {
        return Err(conflict());
    }
    let put = location
        .store
        .put_opts(&path, payload, PutOptions::default());
    put.await
        .map_err(|error| location.error("writing", &path, &error))?;
    Ok(())
}
