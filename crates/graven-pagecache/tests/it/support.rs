//! Files of sealed pages whose content says which page they are, and a generator of numbers.

use graven_io::{File, MemoryFile};
use graven_pagecache::{
    Budget, Config, FileId, PageCache, PageKind, PagePin, PageRef, SizeClass, page,
};
use std::sync::Arc;

pub(crate) const KIND: PageKind = PageKind::Adjacency;

/// The bytes of page `reference`: every eighth byte group names the page and its place in it.
pub(crate) fn content(reference: PageRef) -> Vec<u8> {
    let mut bytes = vec![0; reference.len_bytes()];
    let payload = reference.class().payload_bytes();
    for at in (0..payload).step_by(8) {
        let value = word_of(reference, at);
        bytes[page::HEADER_BYTES + at..page::HEADER_BYTES + at + 8]
            .copy_from_slice(&value.to_le_bytes());
    }
    page::seal(&mut bytes, reference, KIND, 1, payload);
    bytes
}

/// What a page holds at byte `at` of its payload.
pub(crate) fn word_of(reference: PageRef, at: usize) -> u64 {
    reference.raw().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at as u64
}

/// Checks first, last and some middle words of a pinned page.
pub(crate) fn check(pin: &PagePin, reference: PageRef) {
    let payload: &[u8] = pin;
    assert_eq!(payload.len(), reference.class().payload_bytes());
    for at in [0, payload.len() / 16 * 8, payload.len() - 8] {
        let found = u64::from_le_bytes(payload[at..at + 8].try_into().unwrap());
        assert_eq!(found, word_of(reference, at), "{reference} at {at}");
    }
}

/// A file of `count` pages of one class, one behind the other.
pub(crate) fn file_of(class: SizeClass, count: u64) -> (MemoryFile, Vec<PageRef>) {
    mixed_file(&vec![class; count as usize])
}

/// A file of pages of the given classes, one behind the other.
pub(crate) fn mixed_file(classes: &[SizeClass]) -> (MemoryFile, Vec<PageRef>) {
    let file = MemoryFile::new("pages");
    let mut unit = 0;
    let mut pages = Vec::new();
    for class in classes {
        let reference = PageRef::new(*class, unit);
        file.write_all_at(&content(reference), reference.offset_bytes())
            .unwrap();
        pages.push(reference);
        unit = reference.end_unit();
    }
    (file, pages)
}

/// A cache of `bytes` with `adjust` applied to its configuration.
pub(crate) fn cache_with(bytes: u64, adjust: impl FnOnce(&mut Config)) -> Arc<PageCache> {
    let mut config = Config::new(Budget::new(bytes));
    adjust(&mut config);
    PageCache::new(config).unwrap()
}

/// A cache of `bytes` over `file`.
pub(crate) fn cache_over(bytes: u64, file: impl File + 'static) -> (Arc<PageCache>, FileId) {
    let cache = cache_with(bytes, |_| ());
    let id = cache.add_file(Arc::new(file)).unwrap();
    (cache, id)
}

/// Recounts everything and checks that nothing is pinned and the budget holds.
pub(crate) fn settle_and_check(cache: &PageCache) {
    cache.check().unwrap();
    let stats = cache.stats();
    assert_eq!(stats.pinned_pages, 0, "every pin was given back");
    assert!(
        cache.budget().used() <= cache.budget().limit(),
        "{:?}",
        cache.budget()
    );
}
