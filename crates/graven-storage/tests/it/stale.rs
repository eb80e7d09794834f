//! Goal: whatever lies where a page was written last, an older page, another one, or zeros, no
//! answer is wrong.
//!
//! Method: a database lives through some checkpoints, and its file is kept after each. Then writes
//! of the last state are undone one by one: a page is what it was earlier (*lost*), two pages
//! change places (*swapped*), a page lies where another one should (*misdirected*, what was to be
//! there lost), or there are zeros. All but the last are intact pages with valid checksums. The
//! file is opened with its log and asked everything: each answer is that of the intact file, or an
//! error. `cargo xtask flips` takes ten thousand of them.

use crate::damage::answers;
use crate::transactions::open;
use graven_io::MemoryFile;
use graven_pagecache::page::{self, PageHeader};
use graven_pagecache::{PageRef, UNIT_BYTES};
use graven_storage::{
    CheckpointOptions, GraphBuilder, NodeId, PropertyValue, RelId, Store, TransactionOptions,
    Uniqueness,
};
use graven_types::rng::SplitMix64;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Cases by default.
const CASES: u64 = 600;
/// Cases of one history.
const CASES_OF_ONE: u64 = 200;
const NODES: u64 = 60;

/// A database that was killed, and what its data file was before.
struct Life {
    earlier: Vec<Vec<u8>>,
    data: Vec<u8>,
    log: Vec<u8>,
}

impl Life {
    fn of(seed: u64) -> Life {
        let mut random = SplitMix64::new(seed);
        let mut builder = GraphBuilder::new();
        for id in 0..NODES as i64 {
            let text = PropertyValue::string(&"first ".repeat(random.place(300)));
            builder.node(
                &["A"],
                &[("id", PropertyValue::Integer(id * 7)), ("name", text)],
            );
        }
        for id in 0..NODES * 3 {
            let (start, end) = (NodeId(random.below(NODES)), NodeId(random.below(NODES)));
            let since = PropertyValue::Integer(id as i64);
            builder.relationship(start, "KNOWS", end, &[("since", since)]);
        }
        builder.index("A", "id", Uniqueness::Unique);
        let (data, log) = (MemoryFile::new("data"), MemoryFile::new("log"));
        builder.build(Arc::new(data.clone())).unwrap();
        let mut earlier = vec![data.to_bytes()];
        let store = open(Arc::new(data.clone()), Arc::new(log.clone())).unwrap();
        for round in 0..5 {
            change(&store, &mut random, round);
            store.checkpoint(CheckpointOptions::default()).unwrap();
            earlier.push(data.to_bytes());
        }
        // What only the log has is there as well.
        change(&store, &mut random, 5);
        let life = Life {
            earlier,
            data: data.to_bytes(),
            log: log.to_bytes(),
        };
        drop(store);
        life
    }

    fn answers(&self, data: &[u8]) -> Result<String, graven_storage::Error> {
        let data = MemoryFile::with_bytes("data", data);
        let log = MemoryFile::with_bytes("log", &self.log);
        answers(&*open(Arc::new(data), Arc::new(log))?)
    }
}

fn change(store: &Arc<Store>, random: &mut SplitMix64, round: u64) {
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    let name = transaction.key("name").unwrap();
    let (id, since) = (
        transaction.key("id").unwrap(),
        transaction.key("since").unwrap(),
    );
    let knows = transaction.rel_type("KNOWS").unwrap();
    let label = transaction.label("A").unwrap();
    for _ in 0..3 {
        let text = "changed ".repeat(random.place(1200));
        let node = NodeId(random.below(NODES));
        let text = PropertyValue::string(&text);
        transaction.set_node_property(node, name, &text).unwrap();
        let number = PropertyValue::Integer((round * 1000 + node.0) as i64 * 7);
        transaction.set_node_property(node, id, &number).unwrap();
        let new = PropertyValue::Integer(random.bits() as i64 >> 8);
        let made = transaction.create_node(&[label], &[(id, new)]).unwrap();
        let value = PropertyValue::Integer(round as i64);
        let start = NodeId(random.below(NODES));
        transaction
            .create_relationship(start, knows, made, &[(since, value)])
            .unwrap();
    }
    // It may be gone already.
    let _ = transaction.delete_relationship(RelId(random.below(NODES * 3)));
    transaction.commit().unwrap();
}

/// The intact pages of a file, also those that nothing reaches any more, and superblocks.
fn pages(bytes: &[u8]) -> Vec<PageRef> {
    let mut pages = Vec::new();
    for at in (0..bytes.len()).step_by(UNIT_BYTES) {
        let header = PageHeader::read(&bytes[at..]);
        let named = PageRef::from_raw(header.page_ref).filter(|it| it.offset_bytes() == at as u64);
        pages.extend(named.filter(|it| {
            let page = bytes.get(at..at + it.len_bytes());
            page.is_some_and(|page| page::verify(page, *it, None).is_ok())
        }));
    }
    pages
}

fn range(page: PageRef) -> std::ops::Range<usize> {
    let start = page.offset_bytes() as usize;
    start..start + page.len_bytes()
}

/// Undoes or misplaces one write; what was done, or nothing where the file stays as it is.
fn spoil(life: &Life, data: &mut [u8], random: &mut SplitMix64, now: &[PageRef]) -> Option<String> {
    let page = now[random.place(now.len())];
    let lose = |data: &mut [u8], random: &mut SplitMix64, page: PageRef| {
        let earlier = &life.earlier[random.place(life.earlier.len())];
        let before = earlier.get(range(page));
        let before = before.filter(|before| **before != data[range(page)]);
        before.map(|before| data[range(page)].copy_from_slice(before))
    };
    match random.below(8) {
        0..5 => lose(data, random, page).map(|()| format!("{page} lost")),
        5 => {
            let other = now[random.place(now.len())];
            if other == page || other.class() != page.class() {
                return None;
            }
            let (one, two) = (data[range(page)].to_vec(), data[range(other)].to_vec());
            data[range(page)].copy_from_slice(&two);
            data[range(other)].copy_from_slice(&one);
            Some(format!("{page} and {other} swapped"))
        }
        6 => {
            let other = now[random.place(now.len())];
            if other == page || other.class() != page.class() {
                return None;
            }
            let misdirected = data[range(page)].to_vec();
            data[range(other)].copy_from_slice(&misdirected);
            lose(data, random, page);
            Some(format!("{page} written to {other}"))
        }
        _ => {
            data[range(page)].fill(0);
            Some(format!("{page} zeroed"))
        }
    }
}

#[test]
fn no_lost_or_misplaced_write_gives_a_wrong_answer() {
    let asked = std::env::var("GRAVEN_STALE_CASES").ok();
    let cases = asked.map_or(CASES, |cases| cases.parse().expect("a number"));
    let mut found: BTreeMap<&str, u64> = BTreeMap::new();
    let mut done = 0;
    for seed in 0.. {
        let life = Life::of(seed);
        let expected = life.answers(&life.data).unwrap();
        let now = pages(&life.data);
        let mut random = SplitMix64::new(seed ^ 0x57a1e);
        let mut data = life.data.clone();
        for _ in 0..CASES_OF_ONE {
            let Some(what) = spoil(&life, &mut data, &mut random, &now) else {
                continue;
            };
            let outcome = match life.answers(&data) {
                Err(_) => "found",
                Ok(answers) => {
                    assert!(
                        answers == expected,
                        "history {seed}, {what}: a wrong answer"
                    );
                    "harmless"
                }
            };
            *found.entry(outcome).or_default() += 1;
            done += 1;
            data.copy_from_slice(&life.data);
        }
        if done >= cases {
            break;
        }
    }
    println!("{done} cases: {found:?}");
    assert!(found["found"] > cases / 8, "{found:?}");
}
