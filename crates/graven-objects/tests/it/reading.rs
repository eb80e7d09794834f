//! Goal: every read gives the published bytes, whatever their places; near reads share a request;
//! the disk tier asks for a block once, stays in its budget and never gives a damaged block out.

use std::sync::Arc;

use graven_io::{AlignedBuffer, File, ReadRequest, Wait};
use graven_objects::{DiskTier, open};
use object_store::ObjectStore;

use crate::sample::{BODY, CHUNK, all, bytes, location, publish_bytes, store};

/// Places around everything that has an edge.
fn places() -> Vec<(u64, usize)> {
    let end = BODY + 8192;
    let mut places = Vec::new();
    for edge in [
        0,
        4096,
        65536,
        69632,
        CHUNK,
        2 * CHUNK,
        3 * CHUNK,
        BODY,
        end,
    ] {
        for before in [0, 1, 4096, 5000] {
            for length in [1, 4096, 70_000] {
                if edge >= before {
                    places.push((edge - before, length));
                }
            }
        }
    }
    places
}

#[test]
fn reads_of_any_place_give_what_was_published() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    let content = bytes(3);
    publish_bytes(&location, &content, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tier = Arc::new(DiskTier::open(folder.path(), 1 << 30).unwrap());
    for tier in [None, Some(tier.clone()), Some(tier)] {
        let file = open(&location, tier).unwrap();
        for (offset, length) in places() {
            let mut buf = vec![0xaa; length];
            let got = file.read_at(&mut buf, offset).unwrap();
            let wanted = &content[(offset as usize).min(content.len())..];
            assert_eq!(got, wanted.len().min(length), "{offset} {length}");
            assert!(buf[..got] == wanted[..got], "{offset} {length}");
        }
        assert!(all(&file) == content);
    }
}

#[test]
#[expect(unsafe_code, reason = "a queue reads into memory of its caller")]
fn a_queue_reads_many_at_once() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    let content = bytes(4);
    publish_bytes(&location, &content, 1).unwrap();
    let file = open(&location, None).unwrap();
    let mut queue = file.read_queue(64).unwrap();
    let mut buffers: Vec<AlignedBuffer> = (places().iter())
        .map(|(_, length)| AlignedBuffer::zeroed(*length))
        .collect();
    let requests: Vec<ReadRequest> = (places().iter().zip(&mut buffers).enumerate())
        .map(|(i, ((offset, length), buffer))| {
            // In two parts where there is room.
            let first = length.div_ceil(2);
            let start = buffer.as_mut_ptr();
            let mut request = ReadRequest::new(i as u64, *offset, start, first);
            if first < *length {
                assert!(request.push(start.wrapping_add(first), length - first));
            }
            request
        })
        .collect();
    let before = location.traffic().counts().requests;
    // SAFETY: the buffers outlive the queue's reads, which are reaped below.
    unsafe { queue.submit(&requests) }.unwrap();
    assert_eq!(queue.in_flight(), requests.len());
    let mut done = Vec::new();
    queue.reap(Wait::AtLeast(usize::MAX), &mut done).unwrap();
    assert_eq!((queue.in_flight(), done.len()), (0, requests.len()));
    for completion in done {
        let (offset, length) = places()[completion.token as usize];
        let got = completion.result.unwrap();
        let wanted = &content[(offset as usize).min(content.len())..];
        assert_eq!(got, wanted.len().min(length));
        assert!(buffers[completion.token as usize][..got] == wanted[..got]);
    }
    let asked = location.traffic().counts().requests - before;
    assert!(asked < 10, "{asked} requests for {} reads", requests.len());
    // A queue may go while requests are under way.
    // SAFETY: as above; nothing is written after the drop (OB-9).
    unsafe { queue.submit(&requests) }.unwrap();
    drop(queue);
}

#[test]
fn a_block_is_asked_for_once() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    let content = bytes(5);
    publish_bytes(&location, &content, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tier = || Some(Arc::new(DiskTier::open(folder.path(), 1 << 30).unwrap()));
    assert!(all(&open(&location, tier()).unwrap()) == content);
    // Another opening, as of another process; and of another snapshot that shares chunks.
    let mut changed = content.clone();
    changed[5 * CHUNK as usize] ^= 1;
    changed[100] ^= 1;
    publish_bytes(&location, &changed, 2).unwrap();
    let file = open(&location, tier()).unwrap();
    let before = location.traffic().counts();
    assert!(all(&file) == changed);
    let after = location.traffic().counts();
    assert_eq!(after.requests - before.requests, 1, "the chunk that is new");
    assert!(after.tier_reads > before.tier_reads);
}

#[test]
fn a_damaged_block_is_a_miss() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    let content = bytes(6);
    publish_bytes(&location, &content, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tier = Arc::new(DiskTier::open(folder.path(), 1 << 30).unwrap());
    let file = open(&location, Some(tier)).unwrap();
    assert!(all(&file) == content);
    let mut seed = 1_u64;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let mut stored = std::fs::read(&path).unwrap();
        for _ in 0..20 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize % stored.len();
            stored[at] ^= 1 << (seed % 8);
        }
        stored.truncate(stored.len() - (seed >> 60) as usize * 100);
        std::fs::write(&path, stored).unwrap();
    }
    assert!(all(&file) == content, "OB-10");
    let before = location.traffic().counts().requests;
    assert!(all(&file) == content);
    assert_eq!(location.traffic().counts().requests, before, "mended");
    // What the page cache found wrong is asked for again.
    assert!(file.forget(CHUNK, 4096));
    let mut page = [0; 4096];
    file.read_exact_at(&mut page, CHUNK).unwrap();
    assert_eq!(location.traffic().counts().requests, before + 1);
    assert!(page[..] == content[CHUNK as usize..CHUNK as usize + 4096]);
}

#[test]
fn a_tier_stays_in_its_budget() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    let folder = tempfile::tempdir().unwrap();
    let budget = 16 << 20;
    let tier = Arc::new(DiskTier::open(folder.path(), budget).unwrap());
    for seed in 0..8 {
        publish_bytes(&location, &bytes(seed + 10), seed).unwrap();
        let file = open(&location, Some(tier.clone())).unwrap();
        assert!(all(&file) == bytes(seed + 10));
        let used = tier.usage();
        assert!(used.bytes <= budget, "{used:?} of {budget}");
        assert!(used.chunks > 0);
    }
    let small = DiskTier::open(folder.path(), 1000).unwrap_err();
    assert!(small.to_string().contains("of no use"), "{small}");
    let file = folder.path().join("file");
    std::fs::write(&file, b"x").unwrap();
    let no_folder = DiskTier::open(&file, budget).unwrap_err();
    assert!(no_folder.to_string().contains("disk cache"), "{no_folder}");
}
