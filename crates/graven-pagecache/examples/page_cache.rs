//! A page cache as a library: write a file of pages, read it through a small memory, look at the
//! counters.
//!
//! `cargo run --release -p graven-pagecache --example page_cache`

use graven_io::{OpenOptions, open};
use graven_pagecache::{Budget, Config, PageCache, PageKind, PageRef, SizeClass, page};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("graven-example-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = open(
        folder.join("numbers.pages"),
        &OpenOptions {
            create: true,
            ..OpenOptions::default()
        },
    )?;

    // 256 pages of 64 KiB, each filled with its own number and sealed: checksum, place and kind in
    // its header.
    let class = SizeClass::KIB_64;
    let pages: Vec<PageRef> = (0..256)
        .map(|number| PageRef::new(class, number * class.units()))
        .collect();
    let mut buffer = graven_io::AlignedBuffer::zeroed(class.bytes());
    for (number, reference) in pages.iter().enumerate() {
        buffer[page::HEADER_BYTES..][..8].copy_from_slice(&(number as u64).to_le_bytes());
        page::seal(&mut buffer, *reference, PageKind::NodeColumn, 0, 8);
        file.write_all_at(&buffer, reference.offset_bytes())?;
    }
    file.sync_data()?;

    // 16 MiB of file through 4 MiB of memory.
    let budget = Budget::new(4 << 20);
    let mut config = Config::new(Arc::clone(&budget));
    config.policy = "clock".to_owned();
    let cache = PageCache::new(config)?;
    let id = cache.add_file(Arc::clone(&file))?;

    // A batch: reads go out together, pages come back in order, one pinned at a time.
    let mut sum = 0;
    cache.pin_many(id, &pages, PageKind::NodeColumn, |_, pin| {
        sum += u64::from_le_bytes(pin[..8].try_into().expect("eight bytes"));
        Ok::<(), graven_pagecache::Error>(())
    })?;
    println!("sum of all pages: {sum}");

    // One value of a page without pinning it.
    let value = cache.read(id, pages[200], PageKind::NodeColumn, |view| view.u64_at(0))?;
    println!("page 200 holds {value}");

    // More memory while running, and another policy.
    cache.resize(32 << 20)?;
    cache.set_policy("gclock:max=7")?;
    for reference in &pages {
        cache.pin(id, *reference, PageKind::NodeColumn)?;
    }

    let stats = cache.stats();
    for (kind, events) in stats.per_kind.iter() {
        println!(
            "{kind}: {} hits, {} faults, {} evictions, {} bytes read, waited {} us",
            events.hits,
            events.faults,
            events.evictions(),
            events.bytes_read,
            events.wait_ns / 1000
        );
    }
    println!("{} pages in memory; {:?}", stats.resident_pages, budget);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
