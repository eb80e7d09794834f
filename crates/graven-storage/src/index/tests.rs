//! Indexes against a sorted set: seeks, every kind of range, one leaf and several levels, many nodes a key,
//! and flipped bytes.

use super::*;
use crate::catalog::IndexDescription;
use crate::ids::{KeyId, LabelId};
use crate::sink::PageSink;
use graven_io::{File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache};
use std::collections::BTreeSet;

fn build(entries: &BTreeSet<(Vec<u8>, u64)>) -> (Arc<dyn File>, BuiltTree) {
    let file: Arc<dyn File> = Arc::new(MemoryFile::new("index"));
    let sink = PageSink::new(file.clone(), None).expect("sink");
    let mut writer = TreeWriter::new();
    let mut last: Option<&(Vec<u8>, u64)> = None;
    for entry in entries {
        let pushed = writer
            .push(&sink, entry.0.clone(), NodeId(entry.1))
            .expect("pushes");
        let expected = match last {
            Some(last) if last.0 == entry.0 => Pushed::Repeated(NodeId(last.1)),
            _ => Pushed::New,
        };
        assert_eq!(pushed, expected);
        let again = writer
            .push(&sink, entry.0.clone(), NodeId(entry.1))
            .expect("answers");
        assert_eq!(again, Pushed::OutOfOrder);
        last = Some(entry);
    }
    let tree = writer.finish(&sink).expect("finishes");
    sink.finish().expect("flushes");
    (file, tree)
}

fn open(file: Arc<dyn File>, tree: &BuiltTree) -> Index {
    let cache = PageCache::new(Config::new(Budget::new(1 << 20))).expect("cache");
    let description = IndexDescription {
        label: LabelId(0),
        keys: vec![KeyId(0)],
        unique: false,
        entries: tree.entries,
        distinct: tree.distinct,
        root: tree.root,
        height: tree.height,
    };
    Index::new(
        Arc::new(Pages::open(file, cache).expect("pages")),
        Arc::new(description),
    )
}

fn value(number: u64) -> PropertyValue {
    match number % 4 {
        0 => PropertyValue::Float(number as f64 / 8.0),
        1 => PropertyValue::string(&"x".repeat((number % 300) as usize)),
        2 => PropertyValue::Boolean(number.is_multiple_of(8)),
        _ => PropertyValue::Integer(number as i64 / 8 - 50),
    }
}

fn model(count: u64, spread: u64) -> Vec<(PropertyValue, u64)> {
    let mut state = 7_u64;
    (0..count)
        .map(|node| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(11);
            (value((state >> 33) % spread), node)
        })
        .collect()
}

/// Every seek and range agrees with a filter over all entries.
#[test]
fn seeks_and_ranges_agree_with_a_sorted_set() {
    for (count, spread) in [(0, 1), (1, 1), (300, 900), (6000, 40), (6000, 4000)] {
        let model = model(count, spread);
        let set: BTreeSet<(Vec<u8>, u64)> = model
            .iter()
            .map(|(value, node)| (key_bytes(value).expect("key"), *node))
            .collect();
        let (file, tree) = build(&set);
        assert_eq!(
            (tree.entries, tree.height > 0),
            (count, tree.footprint.pages > 1)
        );
        let distinct: BTreeSet<&Vec<u8>> = set.iter().map(|(key, _)| key).collect();
        assert_eq!(tree.distinct, distinct.len() as u64);
        let index = open(file, &tree);
        let mut pages = 0;
        let walked = index
            .walk(|_| pages += 1, |_, _| Ok(()))
            .expect("ST-IX-1 holds");
        assert_eq!((walked, pages), (count, tree.footprint.pages));
        for number in (0..spread.min(200)).chain([spread + 3]) {
            check_value(
                &index,
                &set,
                &value(number),
                &value(number * 3 % spread.max(1)),
            );
        }
    }
}

fn check_value(
    index: &Index,
    set: &BTreeSet<(Vec<u8>, u64)>,
    one: &PropertyValue,
    other: &PropertyValue,
) {
    let (a, b) = (key_bytes(one).expect("key"), key_bytes(other).expect("key"));
    let select = |keep: &dyn Fn(&Vec<u8>) -> bool| -> Vec<NodeId> {
        set.iter()
            .filter(|(key, _)| keep(key))
            .map(|(_, node)| NodeId(*node))
            .collect()
    };
    assert_eq!(
        index.seek(one).expect("seek"),
        select(&|key| *key == a),
        "{one:?}"
    );
    let range = |low, high| -> Vec<NodeId> {
        index
            .range(low, high)
            .expect("range")
            .collect::<Result<_>>()
            .expect("range")
    };
    use Bound::{Excluded, Included, Unbounded};
    let class = |key: &Vec<u8>| key[0] == a[0] && b[0] == a[0];
    assert_eq!(
        range(Included(one), Included(other)),
        select(&|k| class(k) && *k >= a && *k <= b)
    );
    assert_eq!(
        range(Included(one), Excluded(other)),
        select(&|k| class(k) && *k >= a && *k < b)
    );
    assert_eq!(
        range(Excluded(one), Included(other)),
        select(&|k| class(k) && *k > a && *k <= b)
    );
    assert_eq!(
        range(Excluded(one), Unbounded),
        select(&|k| k[0] == a[0] && *k > a)
    );
    assert_eq!(
        range(Unbounded, Excluded(one)),
        select(&|k| k[0] == a[0] && *k < a)
    );
    assert_eq!(range(Unbounded, Unbounded), select(&|_| true));
    assert_eq!(range(Included(&PropertyValue::Null), Unbounded), []);
}

/// A key too long is refused with its length; nothing else changes.
#[test]
fn a_key_too_long_is_refused() {
    let file: Arc<dyn File> = Arc::new(MemoryFile::new("index"));
    let sink = PageSink::new(file, None).expect("sink");
    let error = TreeWriter::new().push(&sink, vec![7; node::MAX_KEY_BYTES + 1], NodeId(1));
    assert!(
        matches!(error, Err(crate::Error::Limit { value: 2001, .. })),
        "{error:?}"
    );
}

/// A page whose bytes changed under a good checksum parses to an error or to other entries, never panics.
#[test]
fn st_ix_damaged_pages_never_panic() {
    let entries: Vec<node::NewEntry> = (0..40_u64)
        .map(|at| node::NewEntry {
            key: vec![1, 2, at as u8, 7],
            node: at * 300,
            child: None,
        })
        .collect();
    let payload = node::encode(0, &entries);
    for at in 0..payload.len() {
        for flip in [1, 0x80, 0xFF] {
            let mut damaged = payload.clone();
            damaged[at] ^= flip;
            for bytes in [&damaged[..], &damaged[..at]] {
                if let Ok(page) = NodePage::parse(bytes, 0) {
                    let _ = page.lower_bound(&[1, 2, 9], Place::Before);
                    let _ = (0..page.len())
                        .filter(|at| page.entry(*at).is_err())
                        .count();
                }
            }
        }
    }
}
