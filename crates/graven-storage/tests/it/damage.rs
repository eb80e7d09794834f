//! Goal: no flipped byte of a database file gives a wrong answer or a panic, and `check` finds it
//! unless nothing is stored there.
//!
//! Method: bytes are flipped in the file, which is then opened, asked everything, and checked:
//! answers are those of the intact file or errors. `cargo xtask flips` takes every byte; here it is
//! some of every page and of what is outside of pages, because bytes of a page reach a reader only
//! if the page is verified (PC-2), and one that is not reads the same whichever byte of it was
//! flipped. Against the verification alone every byte of every page is flipped.

use graven_io::{File, MemoryFile};
use graven_pagecache::page::{self, HEADER_BYTES, PageHeader};
use graven_pagecache::{Budget, Config, PageCache, PageRef, UNIT_BYTES};
use graven_storage::{
    CheckpointOptions, Direction, Error, GraphBuilder, NodeId, PropertyValue, RelId, Result, Store,
    TransactionOptions, Uniqueness,
};
use std::fmt::Write;
use std::sync::Arc;

pub(crate) fn sample() -> Vec<u8> {
    let mut builder = GraphBuilder::new();
    for id in 0..40i64 {
        let labels: &[&str] = if id % 3 == 0 { &["A"] } else { &["A", "B"] };
        let mut properties = vec![
            ("id", PropertyValue::Integer(id * 7)),
            ("name", PropertyValue::string("n")),
        ];
        if id == 5 {
            properties.push(("text", PropertyValue::string(&"long ".repeat(1000))));
        }
        builder.node(labels, &properties);
    }
    for id in 0..120u64 {
        let (start, end) = (NodeId(id * 7 % 40), NodeId(id * 11 % 37));
        builder.relationship(
            start,
            "KNOWS",
            end,
            &[("since", PropertyValue::Integer(id as i64))],
        );
    }
    builder.index("A", "id", Uniqueness::Unique);
    let file = MemoryFile::new("sample.graven");
    builder.build(Arc::new(file.clone())).unwrap();
    change(file).to_bytes()
}

/// Changes some of everything and folds it in, so that the file is one that checkpoints wrote.
/// Gives a backup, whose superblocks have the same content: without a log, an older one would lead
/// to an older state.
fn change(file: MemoryFile) -> MemoryFile {
    let cache = PageCache::new(Config::new(Budget::new(4 << 20))).unwrap();
    let store = Store::open(Arc::new(file), cache.clone()).unwrap();
    for round in 0..3u64 {
        let transaction = store.begin(TransactionOptions::default()).unwrap();
        let (name, knows) = (
            transaction.key("name").unwrap(),
            transaction.rel_type("KNOWS").unwrap(),
        );
        let since = transaction.key("since").unwrap();
        let text = PropertyValue::string(&"m".repeat(30 + round as usize * 4000));
        transaction
            .set_node_property(NodeId(round), name, &text)
            .unwrap();
        let node = transaction
            .create_node(&[], &[(name, "new".into())])
            .unwrap();
        for end in [round, round, 39] {
            let value = PropertyValue::Integer(end as i64);
            transaction
                .create_relationship(node, knows, NodeId(end), &[(since, value)])
                .unwrap();
        }
        transaction.delete_relationship(RelId(round * 9)).unwrap();
        transaction.commit().unwrap();
        store.checkpoint(CheckpointOptions::default()).unwrap();
    }
    let out = MemoryFile::new("sample.graven");
    store.backup(Arc::new(out.clone()), cache).unwrap();
    out
}

pub(crate) fn open(bytes: &[u8], cache: &Arc<PageCache>) -> Result<Arc<Store>> {
    let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("sample.graven", bytes));
    Store::open(file, cache.clone())
}

/// Everything the store says, as text.
pub(crate) fn answers(store: &Store) -> Result<String> {
    let snapshot = store.snapshot();
    let catalog = snapshot.catalog();
    let mut out = format!(
        "{:?} {:?} {:?}",
        catalog.labels(),
        catalog.types(),
        catalog.keys()
    );
    let count = snapshot.node_count();
    for id in 0..count {
        let node = NodeId(id);
        let _ = write!(
            out,
            "{:?} {:?}",
            snapshot.labels_of(node)?,
            snapshot.node_keys(node)?
        );
        for key in snapshot.node_keys(node)? {
            let column = snapshot.node_column(key).expect("the key has a column");
            let _ = write!(out, " {:?}", column.get(id)?);
        }
        for direction in [Direction::Out, Direction::In] {
            for number in 0..catalog.types().len() as u32 {
                let mut neighbours = Vec::new();
                let rel_type = graven_storage::TypeId(number);
                snapshot
                    .adjacency(rel_type, direction)?
                    .neighbours(node, &mut neighbours)?;
                let _ = write!(out, " {neighbours:?}");
            }
        }
    }
    for id in 0..catalog.relationship_id_limit() {
        match snapshot.relationship_endpoints(RelId(id)) {
            Ok(ends) => _ = write!(out, "{ends:?}"),
            Err(Error::NoSuchRelationship { .. }) => continue,
            Err(error) => return Err(error),
        }
        for key in snapshot.relationship_keys(RelId(id))? {
            let (rel_type, _, _) = snapshot.relationship_endpoints(RelId(id))?;
            let column = snapshot
                .relationship_column(rel_type, key)
                .expect("the key has a column");
            let _ = write!(out, " {:?}", column.get(id)?);
        }
    }
    for index in catalog.indexes() {
        let index = snapshot
            .index(index.label().expect("it is one of nodes"), index.keys[0])
            .expect("it is in the catalogue");
        for id in 0..count as i64 {
            let _ = write!(out, "{:?}", index.seek(&PropertyValue::Integer(id * 7))?);
            let mut found = Vec::new();
            let whole = index.find(&PropertyValue::Integer(id * 7), 4, &mut found)?;
            let _ = write!(out, "{whole} {found:?}");
        }
    }
    Ok(out)
}

/// The pages of an intact file, and the bytes of units that are in none: superblocks and free ones.
fn pages_and_rest(bytes: &[u8]) -> (Vec<PageRef>, Vec<usize>) {
    let (mut pages, mut rest) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < bytes.len() {
        let header = PageHeader::read(&bytes[at..]);
        let found = PageRef::from_raw(header.page_ref).filter(|it| it.offset_bytes() == at as u64);
        let intact = found.filter(|it| {
            let page = bytes.get(at..at + it.len_bytes());
            page.is_some_and(|page| page::verify(page, *it, None).is_ok())
        });
        match intact {
            Some(page) => {
                pages.push(page);
                at += page.len_bytes();
            }
            None => {
                rest.extend(at..(at + UNIT_BYTES).min(bytes.len()));
                at += UNIT_BYTES;
            }
        }
    }
    (pages, rest)
}

/// Every byte of a page, one bit of it or each in turn: verification finds it.
fn flip_against_verification(bytes: &mut [u8], reference: PageRef, all_bits: bool) {
    let start = reference.offset_bytes() as usize;
    let page = &mut bytes[start..start + reference.len_bytes()];
    for at in 0..page.len() {
        for bit in (0..8).filter(|bit| all_bits || at % 8 == *bit) {
            page[at] ^= 1 << bit;
            assert!(
                page::verify(page, reference, None).is_err(),
                "byte {at} of {reference:?} may be flipped"
            );
            page[at] ^= 1 << bit;
        }
    }
}

#[test]
fn every_flipped_byte_is_found_or_harmless() {
    // `cargo xtask flips` takes more of them.
    let all = std::env::var_os("GRAVEN_FLIP_ALL").is_some();
    let mut bytes = sample();
    let cache = PageCache::new(Config::new(Budget::new(4 << 20))).unwrap();
    let (expected, free) = {
        let store = open(&bytes, &cache).unwrap();
        assert_eq!(store.check().unwrap().problems, []);
        (answers(&store).unwrap(), free_units(&store))
    };
    let (pages, rest) = pages_and_rest(&bytes);
    let mut places: Vec<usize> = (rest.iter().copied())
        .filter(|at| at % UNIT_BYTES < 256 || at % 97 == 0)
        .collect();
    for page in &pages {
        flip_against_verification(&mut bytes, *page, all);
        let start = page.offset_bytes() as usize;
        let last = page.len_bytes() - 1;
        let inside = (HEADER_BYTES..last).step_by(1021).take(2);
        let chosen = (0..HEADER_BYTES).step_by(13).chain(inside).chain([last]);
        places.extend(chosen.map(|at| start + at));
    }
    if all {
        places = (0..bytes.len()).collect();
        println!("{} bytes in {} pages", bytes.len(), pages.len());
    }
    let mut undetected = Vec::new();
    for at in places {
        bytes[at] ^= 1 << (at % 8);
        if let Ok(store) = open(&bytes, &cache) {
            if let Ok(found) = answers(&store) {
                assert!(found == expected, "a wrong answer after flipping byte {at}");
            }
            if store.check().unwrap().problems.is_empty() {
                undetected.push(at);
            }
        }
        bytes[at] ^= 1 << (at % 8);
    }
    undetected.retain(|at| !free[at / UNIT_BYTES]);
    assert!(undetected.is_empty(), "undetected: {undetected:?}");
}

/// For every unit of the file, whether nothing is stored there.
fn free_units(store: &Store) -> Vec<bool> {
    let units = store.file().len().unwrap().div_ceil(UNIT_BYTES as u64);
    let file_units = store.superblock().superblock.file_units;
    let free = store.free_space().unwrap();
    let is_free = |unit| free.iter().any(|it| (it.unit..it.end()).contains(&unit));
    (0..units)
        .map(|unit| unit >= file_units || is_free(unit))
        .collect()
}
