//! Goal: only what changed is sent; an interrupted publish leaves the old snapshot whole; `gc`
//! takes what no pointer holds and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use graven_objects::{Error, GRACE, Location, gc, newest, open};
use object_store::ObjectStore;

use crate::failing_store::FailingStore;
use crate::sample::{BODY, CHUNK, all, bytes, location, publish_bytes, publish_of, store};

#[test]
fn a_snapshot_is_read_as_it_was_published() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    let content = bytes(1);
    let published = publish_bytes(&location, &content, 5).unwrap();
    assert_eq!(published.sent_chunks, 6, "seven chunks, one of zeros");
    let file = open(&location, None).unwrap();
    assert_eq!(file.manifest().checkpoint, 5);
    assert!(all(&file) == content);
}

#[test]
fn only_changed_chunks_are_sent() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    let mut content = bytes(1);
    publish_bytes(&location, &content, 1).unwrap();
    let again = publish_bytes(&location, &content, 1).unwrap();
    assert!(again.unchanged && again.sent_bytes == 0);
    // The overlay alone, as after a checkpoint that changed no page of the body.
    content[100] ^= 1;
    let overlay = publish_bytes(&location, &content, 2).unwrap();
    assert_eq!((overlay.sent_chunks, overlay.unchanged), (0, false));
    // The superblocks are new whenever anything is.
    content[100] ^= 2;
    content[4 * CHUNK as usize + 5] ^= 1;
    let one = publish_bytes(&location, &content, 3).unwrap();
    assert_eq!(
        one.sent_chunks, 1,
        "the superblocks were not changed, the chunk was"
    );
}

#[test]
fn an_interrupted_publish_leaves_the_old_snapshot_whole() {
    let (old, new) = (bytes(1), bytes(2));
    // Six chunks, the manifest, the pointer: it ends at each of them.
    for writes in 0..8 {
        let memory = store();
        let whole: Arc<dyn ObjectStore> = memory.clone();
        let sound = location(&whole);
        publish_bytes(&sound, &old, 1).unwrap();
        let reader = open(&sound, None).unwrap();
        let failing = location(&FailingStore::after(&memory, writes));
        let error = publish_bytes(&failing, &new, 2).unwrap_err();
        assert!(error.to_string().contains("the power went"), "{error}");
        assert_eq!(
            newest(&sound).unwrap().checkpoint,
            1,
            "after {writes} writes"
        );
        assert!(all(&open(&sound, None).unwrap()) == old);
        // What came through is not sent again.
        let published = publish_bytes(&sound, &new, 2).unwrap();
        let there = u64::try_from(writes).unwrap().min(6);
        assert!(
            published.sent_chunks <= 6 - there,
            "{published:?} after {writes}"
        );
        assert!(all(&open(&sound, None).unwrap()) == new);
        assert!(all(&reader) == old, "OB-4: it keeps what it opened");
    }
}

#[test]
fn of_two_publishes_at_once_one_fails() {
    for unconditional in [false, true] {
        let memory = store();
        let store: Arc<dyn ObjectStore> = Arc::new(FailingStore {
            inner: memory.clone(),
            writes: AtomicI64::new(i64::MAX),
            unconditional,
        });
        let place = location(&store);
        publish_bytes(&place, &bytes(1), 1).unwrap();
        let file = graven_io::MemoryFile::with_bytes("b.graven", &bytes(2));
        let between = place.clone();
        let mut published = false;
        let mut slow = graven_objects::Snapshot {
            file: Arc::new(file),
            body: BODY,
            overlay: vec![(0, 4096), (65536, 4096), (BODY, 8192)],
            uuid: [7; 16],
            checkpoint: 2,
            storage_format: 1,
            room: &mut |_| 3,
            verify: &mut |_, _| {
                if !published {
                    published = true;
                    publish_bytes(&between, &bytes(3), 3).unwrap();
                }
                Ok(())
            },
            stop: Arc::new(|| false),
        };
        let error = graven_objects::publish(&place, &mut slow, None).unwrap_err();
        assert!(matches!(error, Error::Conflict { .. }), "{error}");
        assert_eq!(newest(&place).unwrap().checkpoint, 3);
    }
}

#[test]
fn another_database_does_not_overwrite() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    publish_bytes(&location, &bytes(1), 1).unwrap();
    let error = publish_of(&location, &bytes(2), 9, [8; 16]).unwrap_err();
    assert!(matches!(error, Error::OtherDatabase { .. }), "{error}");
    assert!(error.to_string().contains("0707"), "{error}");
}

/// Publishes a second version.
fn publish_second<'a>(
    location: &Location,
    verify: &'a mut graven_objects::Verify<'a>,
    stop: graven_objects::Stop,
) -> Result<graven_objects::Published, Error> {
    let mut snapshot = graven_objects::Snapshot {
        file: Arc::new(graven_io::MemoryFile::with_bytes("b.graven", &bytes(2))),
        body: BODY,
        overlay: vec![(BODY, 8192)],
        uuid: [7; 16],
        checkpoint: 2,
        storage_format: 1,
        room: &mut |_| 3,
        verify,
        stop,
    };
    graven_objects::publish(location, &mut snapshot, None)
}

#[test]
fn a_damaged_source_is_not_published() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    let mut torn = |_, _: &[u8]| Err("page 7 is torn".to_owned());
    let error = publish_second(&location, &mut torn, Arc::new(|| false)).unwrap_err();
    assert!(error.to_string().contains("page 7 is torn"), "{error}");
    assert!(matches!(newest(&location), Err(Error::NoSnapshot { .. })));
}

#[test]
fn a_publish_that_is_stopped_changes_nothing() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    publish_bytes(&location, &bytes(1), 1).unwrap();
    let stopped = Arc::new(AtomicBool::new(false));
    let looks = Arc::clone(&stopped);
    let mut stops = |_, _: &[u8]| {
        stopped.store(true, Ordering::Relaxed);
        Ok(())
    };
    let stop = Arc::new(move || looks.load(Ordering::Relaxed));
    let error = publish_second(&location, &mut stops, stop).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
    assert_eq!(newest(&location).unwrap().checkpoint, 1);
}

#[test]
fn a_collection_takes_what_no_pointer_holds() {
    let store: Arc<dyn ObjectStore> = store();
    let location = location(&store);
    assert!(matches!(
        gc(&location, Duration::ZERO, false),
        Err(Error::NoSnapshot { .. })
    ));
    publish_bytes(&location, &bytes(1), 1).unwrap();
    let reader = open(&location, None).unwrap();
    let new = bytes(2);
    publish_bytes(&location, &new, 2).unwrap();
    // All of it is younger than a day.
    let kept = gc(&location, GRACE, false).unwrap();
    assert_eq!((kept.deleted_chunks, kept.deleted_snapshots), (0, 0));
    assert_eq!(kept.kept_snapshots, 2);
    let dry = gc(&location, Duration::ZERO, true).unwrap();
    assert_eq!((dry.deleted_chunks, dry.deleted_snapshots), (6, 1));
    assert!(all(&reader) == bytes(1), "nothing was deleted yet");
    let done = gc(&location, Duration::ZERO, false).unwrap();
    assert_eq!(done, dry);
    assert!(all(&open(&location, None).unwrap()) == new, "OB-7");
    let mut some = [0; 100];
    let gone = graven_io::File::read_at(&reader, &mut some, CHUNK).unwrap_err();
    assert!(gone.to_string().contains("graven gc"), "{gone}");
}

#[test]
fn a_folder_is_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/graph/", folder.path().display());
    let location = Location::new(&url).unwrap();
    let missing = open(&location, None).unwrap_err();
    assert!(missing.to_string().contains("graven publish"), "{missing}");
    let mut content = bytes(1);
    publish_bytes(&location, &content, 1).unwrap();
    content[5 * CHUNK as usize] ^= 1;
    content[100] ^= 1;
    let second = publish_bytes(&location, &content, 2).unwrap();
    assert_eq!(second.sent_chunks, 1);
    assert!(all(&open(&location, None).unwrap()) == content);
    let done = gc(&location, Duration::ZERO, false).unwrap();
    assert_eq!((done.deleted_chunks, done.deleted_snapshots), (1, 1));
    // What is no snapshot is refused with its name.
    std::fs::write(folder.path().join("graph/current.json"), "{}").unwrap();
    let foreign = open(&location, None).unwrap_err();
    assert!(
        foreign.to_string().contains("not written by Graven"),
        "{foreign}"
    );
}

#[test]
fn urls_that_lead_nowhere_say_why() {
    for (url, why) in [
        ("s4://bucket/graph", "no store has this scheme"),
        ("s3://", "no store has this scheme"),
        ("memory:///a", "snapshots"),
    ] {
        let error = Location::new(url).unwrap_err().to_string();
        assert!(error.contains(why), "{url}: {error}");
    }
    assert!(graven_objects::is_url("s3://bucket/graph/"));
    assert!(!graven_objects::is_url("folder/social.graven"));
    assert!(!graven_objects::is_url("a/b://c"));
}

#[test]
fn publishing_again_mends_a_snapshot_without_a_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::new(&format!("file://{}/", folder.path().display())).unwrap();
    publish_bytes(&location, &bytes(1), 1).unwrap();
    assert!(publish_bytes(&location, &bytes(1), 1).unwrap().unchanged);
    let chunks = || std::fs::read_dir(folder.path().join("chunks")).unwrap();
    let paths: Vec<_> = chunks().map(|chunk| chunk.unwrap().path()).collect();
    std::fs::remove_file(&paths[0]).unwrap();
    let short = std::fs::OpenOptions::new().write(true).open(&paths[1]);
    short.unwrap().set_len(7).unwrap();
    let mended = publish_bytes(&location, &bytes(1), 1).unwrap();
    assert_eq!((mended.unchanged, mended.sent_chunks), (false, 2));
    assert!(all(&open(&location, None).unwrap()) == bytes(1));
}

#[test]
fn a_url_with_secrets_is_refused_without_showing_them() {
    for url in [
        "https://user:hidden@host/graph/",
        "https://host/graph/?sig=hidden",
        "s3://bucket/graph/?token=hidden",
    ] {
        let error = Location::new(url).unwrap_err();
        assert!(matches!(error, Error::Url { .. }), "{url}");
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
}
