//! Goal: files that are no intact database are refused with the right reason and stay as they are.

use graven_io::{File, MemoryFile};
use graven_pagecache::page::{self, HEADER_BYTES};
use graven_pagecache::{Budget, Config, PageCache, PageKind, PageRef, SizeClass};
use graven_storage::{
    CheckpointOptions, Error, GraphBuilder, PropertyValue, Store, StoreWriter, TransactionOptions,
    WriterOptions,
};
use graven_types::vector::{CoordinateType, Number, Vector};
use std::sync::Arc;

const SECOND: usize = 64 << 10;

fn intact() -> Vec<u8> {
    let file = MemoryFile::new("intact.graven");
    let mut builder = GraphBuilder::new();
    builder.node(&["A"], &[]);
    builder.build(Arc::new(file.clone())).unwrap();
    file.to_bytes()
}

/// Opens `bytes`; whatever comes of it, the file must not change.
fn open(bytes: &[u8]) -> Result<Arc<Store>, Error> {
    let file = MemoryFile::with_bytes("some.graven", bytes);
    let cache = PageCache::new(Config::new(Budget::new(1 << 20))).unwrap();
    let opened = Store::open(Arc::new(file.clone()), cache);
    assert!(file.to_bytes() == bytes, "opening changed the file");
    opened
}

/// Changes a field of the superblock at `offset` and seals it again.
fn reseal(bytes: &mut [u8], offset: usize, field: usize, value: &[u8]) {
    let page = &mut bytes[offset..offset + 4096];
    page[HEADER_BYTES + field..HEADER_BYTES + field + value.len()].copy_from_slice(value);
    let reference = PageRef::new(SizeClass::MIN, offset as u64 / 4096);
    page::seal(page, reference, PageKind::Superblock, 0, 128);
}

#[test]
fn other_files_are_refused() {
    assert!(matches!(open(&[]), Err(Error::Empty { .. })));
    assert!(matches!(
        open(b"name,age\nbob,3\n"),
        Err(Error::Foreign { .. })
    ));
    assert!(matches!(
        open(&vec![0; 200_000]),
        Err(Error::Foreign { .. })
    ));
    assert!(matches!(
        open(&b"SQLite format 3\0".repeat(9000)),
        Err(Error::Foreign { .. })
    ));
    let bytes = intact();
    for length in [4096, 70_000, bytes.len() - 1] {
        let error = open(&bytes[..length]).unwrap_err();
        assert!(
            matches!(error, Error::Truncated { .. }),
            "{length}: {error}"
        );
    }
}

#[test]
fn other_formats_and_unknown_features_are_named() {
    let mut bytes = intact();
    for offset in [0, SECOND] {
        reseal(&mut bytes, offset, 8, &7u32.to_le_bytes());
    }
    let error = open(&bytes).unwrap_err();
    assert!(matches!(error, Error::Format { found: 7, .. }), "{error}");
    assert!(
        error.to_string().contains("the build that wrote it"),
        "{error}"
    );
    let mut bytes = intact();
    for offset in [0, SECOND] {
        reseal(&mut bytes, offset, 48, &16u64.to_le_bytes());
    }
    assert!(matches!(
        open(&bytes),
        Err(Error::UnknownFeature { unknown: 16, .. })
    ));
}

/// Goal: a file of the format before, which this one can copy, is told how.
#[test]
fn the_format_before_is_named_with_what_to_do() {
    let mut bytes = intact();
    for offset in [0, SECOND] {
        reseal(&mut bytes, offset, 8, &0u32.to_le_bytes());
    }
    let error = open(&bytes).unwrap_err();
    assert!(matches!(error, Error::Format { found: 0, .. }), "{error}");
    assert!(error.to_string().contains("graven upgrade"), "{error}");
}

/// Goal: a build that computes checksums in another way is a newer one, not damage; but one damaged
/// superblock says nothing.
#[test]
fn another_format_is_named_whatever_its_checksums() {
    let mut bytes = intact();
    for offset in [0, SECOND] {
        assert!(open(&bytes).is_ok());
        bytes[offset + HEADER_BYTES + 8] = 9;
    }
    let error = open(&bytes).unwrap_err();
    assert!(matches!(error, Error::Format { found: 9, .. }), "{error}");
    bytes[SECOND + HEADER_BYTES + 8] = 8;
    let error = open(&bytes).unwrap_err();
    assert!(matches!(error, Error::Superblocks { .. }), "{error}");
}

/// Goal: what this build wrote names plain texts as a feature, which builds without it refuse; a
/// file of theirs is read, and names it from the first checkpoint on that writes something.
#[test]
fn files_name_the_features_of_their_columns() {
    let written = |store: &Store| store.superblock().superblock.features.incompatible;
    let mut bytes = intact();
    assert_eq!(written(&open(&bytes).unwrap()), 1);
    for offset in [0, SECOND] {
        reseal(&mut bytes, offset, 48, &0u64.to_le_bytes());
    }
    let data = MemoryFile::with_bytes("some.graven", &bytes);
    let store =
        crate::transactions::open(Arc::new(data), Arc::new(MemoryFile::new("log"))).unwrap();
    assert_eq!(written(&store), 0);
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    transaction.create_node(&[], &[]).unwrap();
    transaction.commit().unwrap();
    store.checkpoint(CheckpointOptions::default()).unwrap();
    assert_eq!(written(&store), 1);
    store.close().unwrap();
}

/// Goal: a file says that it holds vectors from the checkpoint on that writes the first, in a list
/// or not, short or long, and so does one that was written at once.
#[test]
fn files_name_vectors_once_they_hold_one() {
    let written = |store: &Store| store.superblock().superblock.features.incompatible;
    let vector = |dimension: usize| {
        let numbers = (0..dimension).map(|at| Number::Float(at as f64));
        PropertyValue::Vector(Vector::new(CoordinateType::Float32, numbers).unwrap())
    };
    let values = [
        vector(3),
        vector(4096),
        PropertyValue::List([vector(2)].into()),
    ];
    for value in values {
        let data = MemoryFile::with_bytes("some.graven", &intact());
        let log = MemoryFile::new("log");
        let open = || {
            let (data, log) = (Arc::new(data.clone()), Arc::new(log.clone()));
            crate::transactions::open(data, log).unwrap()
        };
        let store = open();
        for (value, features) in [(PropertyValue::from("a"), 1), (value.clone(), 9)] {
            let transaction = store.begin(TransactionOptions::default()).unwrap();
            let key = transaction.key("made").unwrap();
            transaction.create_node(&[], &[(key, value)]).unwrap();
            transaction.commit().unwrap();
            store.checkpoint(CheckpointOptions::default()).unwrap();
            assert_eq!(written(&store), features);
        }
        store.close().unwrap();
        let store = open();
        assert_eq!(written(&store), 9);
        assert_eq!(store.check().unwrap().problems, []);
        let mut builder = GraphBuilder::new();
        builder.node(&[], &[("made", value)]);
        builder.build(Arc::new(MemoryFile::new("built"))).unwrap();
        assert_eq!(written(&builder.open(1 << 20).unwrap()), 9);
    }
}

/// A checkpoint of a newer build writes one superblock; the other one must not lead to the past.
#[test]
fn one_superblock_of_a_newer_build_refuses_the_file() {
    for offset in [0, SECOND] {
        let mut bytes = intact();
        reseal(&mut bytes, offset, 8, &7u32.to_le_bytes());
        assert!(matches!(open(&bytes), Err(Error::Format { found: 7, .. })));
        let mut bytes = intact();
        reseal(&mut bytes, offset, 48, &16u64.to_le_bytes());
        assert!(matches!(
            open(&bytes),
            Err(Error::UnknownFeature { unknown: 16, .. })
        ));
    }
}

#[test]
fn one_damaged_superblock_is_reported_and_two_are_refused() {
    let mut bytes = intact();
    bytes[SECOND + 100] ^= 1;
    let store = open(&bytes).unwrap();
    assert_eq!(store.superblock().superblock.checkpoint, 1);
    assert_eq!(store.check().unwrap().problems.len(), 1);
    assert!(store.info().superblock_damage.is_some());
    bytes[100] ^= 1;
    assert!(matches!(open(&bytes), Err(Error::Superblocks { .. })));
    let mut bytes = intact();
    bytes[100] ^= 1;
    assert_eq!(open(&bytes).unwrap().superblock().superblock.checkpoint, 2);
}

#[test]
fn bulk_writing_takes_new_files_only() {
    let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("other", b"something"));
    assert!(StoreWriter::create(file, WriterOptions::default()).is_err());
}

/// Until the superblocks are written an interrupted bulk load is no database.
#[test]
fn unfinished_loads_do_not_open() {
    let file = MemoryFile::new("unfinished.graven");
    let mut writer = StoreWriter::create(Arc::new(file.clone()), WriterOptions::default()).unwrap();
    writer.add_nodes(3, &[]).unwrap();
    drop(writer);
    assert!(open(&file.to_bytes()).is_err());
}
