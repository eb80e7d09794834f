//! Goal: what is predicted for another size or policy is what a cache of that size, or under that
//! policy, then does.

use super::*;
use crate::page::{self, HEADER_BYTES};
use crate::{Budget, Config, FileId, PageKind, PageRef, SizeClass};
use graven_io::MemoryFile;
use graven_types::rng::SplitMix64;
use std::sync::Arc;

const KIND: PageKind = PageKind::Adjacency;
const PAGES: u64 = 6_000;

fn cache(bytes: u64, policy: &str) -> (Arc<PageCache>, FileId) {
    let mut file = vec![0; PAGES as usize * crate::UNIT_BYTES];
    for (bytes, number) in file.chunks_exact_mut(crate::UNIT_BYTES).zip(0..) {
        bytes[HEADER_BYTES] = 1;
        page::seal(bytes, PageRef::new(SizeClass::MIN, number), KIND, 0, 8);
    }
    let mut config = Config::new(Budget::new(bytes));
    config.policy = policy.to_owned();
    let cache = PageCache::new(config).expect("a cache");
    let id = cache
        .add_file(Arc::new(MemoryFile::with_bytes("pages", &file)))
        .expect("added");
    (cache, id)
}

/// Accesses by a law in which page n is wanted about as often as 1 / n^0.8, spread over the file.
fn play(cache: &PageCache, id: FileId, accesses: u64) -> f64 {
    let before = cache.stats().per_kind;
    let mut random = SplitMix64::new(7);
    for _ in 0..accesses {
        let rank = (random.unit().powi(5) * PAGES as f64) as u64;
        let page = PageRef::new(SizeClass::MIN, rank * 2_477 % PAGES);
        drop(cache.pin(id, page, KIND).expect("pinned"));
    }
    cache.stats().per_kind.since(&before).total().hit_ratio()
}

#[test]
fn predictions_come_true_within_their_error() {
    let (watched, id) = cache(4 << 20, "lru");
    assert_eq!(watched.what_if(&POLICIES).expect("asked"), None);
    assert!(watched.watch().expect("room"));
    assert!(!watched.watch().expect("room"), "one watch is enough");
    let early = watched.what_if(&POLICIES).expect("asked").expect("watched");
    assert!(early.predictions.is_empty());
    play(&watched, id, 200_000);
    let answer = watched.what_if(&POLICIES).expect("asked").expect("watched");
    assert_eq!(answer.one_in, 8);
    assert!(answer.accesses > 15_000, "{answer:?}");
    let find = |policy: &str, factor: f64| {
        let found = answer.predictions.iter();
        found
            .into_iter()
            .find(|one| one.policy == policy && one.factor == factor)
            .expect("predicted")
    };
    for (policy, factor) in [
        ("lru", 0.5),
        ("lru", 1.0),
        ("lru", 2.0),
        ("lru", 4.0),
        ("random", 1.0),
        ("s3fifo", 2.0),
    ] {
        let predicted = find(policy, factor);
        let (real, id) = cache((f64::from(4 << 20) * factor) as u64, policy);
        play(&real, id, 100_000);
        let seen = play(&real, id, 100_000);
        let off = (predicted.hit_ratio - seen).abs();
        assert!(predicted.error < 0.1, "{predicted:?}");
        assert!(
            off <= predicted.error + 0.02,
            "{predicted:?}, seen {seen:.4}"
        );
        assert_eq!(predicted.is_current, policy == "lru");
    }
    watched.set_policy("clock").expect("changed");
    assert!(
        watched
            .what_if(&POLICIES)
            .expect("asked")
            .expect("still watched")
            .predictions[0]
            .policy
            == "clock"
    );
    assert!(watched.unwatch() && !watched.unwatch());
    assert_eq!(watched.what_if(&POLICIES).expect("asked"), None);
}

#[test]
fn a_policy_that_no_cache_runs_is_refused() {
    let (watched, id) = cache(2 << 20, "clock");
    watched.watch().expect("room");
    play(&watched, id, 20_000);
    let error = watched.what_if(&["lur"]).expect_err("no policy");
    assert!(error.to_string().contains("lur"), "{error}");
}
