//! Goal: no flipped byte of a database file gives a wrong answer or a panic. Method: every byte of a small file that
//! has every kind of page is flipped in turn; opening and reading everything must either give the answers of the
//! intact file or an error, and `check` must find the flip unless it lies where nothing is stored.

use graven_io::{File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{
    Direction, GraphBuilder, NodeId, PropertyValue, RelId, Result, Store, Uniqueness,
};
use std::fmt::Write;
use std::sync::Arc;

fn sample() -> Vec<u8> {
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
    file.to_bytes()
}

fn open(bytes: &[u8], cache: &Arc<PageCache>) -> Result<Arc<Store>> {
    let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("sample.graven", bytes));
    Store::open(file, cache.clone())
}

/// Everything the store says, as text.
fn answers(store: &Store) -> Result<String> {
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
        let _ = write!(out, "{:?}", snapshot.relationship_endpoints(RelId(id))?);
        for key in snapshot.relationship_keys(RelId(id))? {
            let rel_type = catalog.type_of(RelId(id)).expect("it has ends");
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
        }
    }
    Ok(out)
}

#[test]
fn every_flipped_byte_is_found_or_harmless() {
    let mut bytes = sample();
    let cache = PageCache::new(Config::new(Budget::new(4 << 20))).unwrap();
    let expected = {
        let store = open(&bytes, &cache).unwrap();
        assert_eq!(store.check().unwrap().problems, []);
        answers(&store).unwrap()
    };
    let mut undetected = Vec::new();
    for at in 0..bytes.len() {
        // Content bytes of pages are covered by one checksum; a stride keeps the test short, headers are all taken.
        if at % 4096 >= 256 && at % 13 != 0 {
            continue;
        }
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
    assert!(
        undetected.iter().all(|at| in_free_space(*at, &bytes)),
        "undetected: {undetected:?}"
    );
}

/// Whether nothing is stored at `at`: its unit was never written.
fn in_free_space(at: usize, bytes: &[u8]) -> bool {
    let unit = at / 4096 * 4096;
    bytes[unit..unit + 4096].iter().all(|byte| *byte == 0)
}
