//! What is left of a file in which nothing can be found any more: its intact pages, counted by
//! kind.
//!
//! # How it works
//! Pages name themselves: where one could begin, the header is read, and if it names this place,
//! the page is verified.
//!
//! # Costs
//! Reads the file once, front to back.

use crate::Result;
use graven_io::{AlignedBuffer, File};
use graven_pagecache::page;
use graven_pagecache::{PageKind, PageRef, SizeClass, UNIT_BYTES};
use std::collections::BTreeMap;

/// Says how many pages of which kinds are intact.
pub(super) fn intact_pages(file: &dyn File) -> Result<String> {
    let units = file.len()? / UNIT_BYTES as u64;
    let mut buffer = AlignedBuffer::zeroed(SizeClass::STORED_MAX.bytes());
    let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
    let mut unit = 0;
    while unit < units {
        let offset = unit * UNIT_BYTES as u64;
        file.read_exact_at(&mut buffer[..UNIT_BYTES], offset)?;
        let header = page::PageHeader::read(&buffer[..UNIT_BYTES]);
        let named = PageRef::from_raw(header.page_ref).filter(|page| page.unit() == unit);
        let whole = named.filter(|page| page.end_unit() <= units);
        let Some(found) = whole else {
            unit += 1;
            continue;
        };
        let bytes = &mut buffer[..found.len_bytes()];
        file.read_exact_at(bytes, offset)?;
        match page::verify(bytes, found, None) {
            Ok(()) => {
                *counts.entry(header.kind).or_default() += 1;
                unit = found.end_unit();
            }
            Err(_) => unit += 1,
        }
    }
    let kinds = counts.iter().map(|(kind, count)| {
        let name = PageKind::from_u8(*kind).map_or("unknown", PageKind::name);
        format!("{count} {name}")
    });
    let total: u64 = counts.values().sum();
    Ok(match total {
        0 => "no page of the file is intact".to_owned(),
        _ => format!(
            "{total} pages of the file are intact ({})",
            kinds.collect::<Vec<_>>().join(", ")
        ),
    })
}
