//! A file to publish: random bytes with a stretch of zeros, and a few bytes of overlay.

use std::sync::Arc;

use graven_io::{File, MemoryFile};
use graven_objects::{CHUNK_BYTES_MIN, Location, Published, Result, Snapshot, publish};
use object_store::ObjectStore;
use object_store::memory::InMemory;

/// Bytes of a chunk.
pub(crate) const CHUNK: u64 = CHUNK_BYTES_MIN;
/// Six chunks and a bit, one of them of zeros.
pub(crate) const BODY: u64 = 6 * CHUNK + 70_000;
/// Where the overlay begins.
const OVERLAY: [(u64, u64); 3] = [(0, 4096), (65536, 4096), (BODY, 8192)];

/// The bytes of the file for a seed.
pub(crate) fn bytes(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let mut bytes: Vec<u8> = (0..BODY + 8192).map(|_| next()).collect();
    bytes[2 * CHUNK as usize..3 * CHUNK as usize].fill(0);
    bytes
}

pub(crate) fn store() -> Arc<InMemory> {
    Arc::default()
}

pub(crate) fn location(store: &Arc<dyn ObjectStore>) -> Location {
    Location::in_store(store.clone(), "graph", "memory://test/graph")
}

/// Publishes these bytes as checkpoint `checkpoint` of one database.
pub(crate) fn publish_bytes(
    location: &Location,
    bytes: &[u8],
    checkpoint: u64,
) -> Result<Published> {
    publish_of(location, bytes, checkpoint, [7; 16])
}

pub(crate) fn publish_of(
    location: &Location,
    bytes: &[u8],
    checkpoint: u64,
    uuid: [u8; 16],
) -> Result<Published> {
    let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("a.graven", bytes));
    let mut seen = 0;
    let mut snapshot = Snapshot {
        file,
        body: BODY,
        overlay: OVERLAY.to_vec(),
        uuid,
        checkpoint,
        storage_format: 1,
        room: &mut |_| 3,
        verify: &mut |offset, part| {
            assert_eq!(offset, seen, "in order");
            seen += part.len() as u64;
            Ok(())
        },
        stop: Arc::new(|| false),
    };
    publish(location, &mut snapshot, Some(CHUNK))
}

/// All bytes of a file.
pub(crate) fn all(file: &dyn File) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}
