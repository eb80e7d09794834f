//! A run of bytes of any length as a chain of pages with a directory.
//!
//! # How it works
//! The head page holds the length and the references of the other pages, then the first bytes. What
//! does not fit goes to pages of 64 KiB. Readers prefetch all parts together. Used for the
//! catalogue, free space and values too long for a segment.
//!
//! # On disk
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 8 | bytes in all |
//! | 8 | 4 | number of parts behind the head |
//! | 12 | 4 | bytes held by the head itself |
//! | 16 | 8 x parts | page references |
//! | | | the head's own bytes |
//!
//! A part is bytes alone.

use crate::bytes::{Decoded, Malformed, Reader};
use crate::long_bytes::LongBytes;
use crate::page_output::{PageOutput, ReservedPages};
use crate::pages::Pages;
use crate::{Error, Result};
use graven_pagecache::{PageKind, PageRef, SizeClass};

const HEAD_BYTES: usize = 16;
const PART_BYTES: usize = SizeClass::KIB_64.payload_bytes();

/// Pages and bytes that something occupies on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Footprint {
    pub(crate) pages: u64,
    pub(crate) bytes: u64,
    /// There are vectors among its values.
    pub(crate) vectors: bool,
}

impl Footprint {
    pub(crate) fn add(&mut self, page: PageRef) {
        self.pages += 1;
        self.bytes += page.len_bytes() as u64;
    }
}

/// Writes `bytes` as a chain of pages of `kind`; where its head is.
pub(crate) fn write(
    sink: &dyn PageOutput,
    kind: PageKind,
    bytes: &[u8],
    footprint: &mut Footprint,
) -> Result<PageRef> {
    let own = if HEAD_BYTES + bytes.len() <= PART_BYTES {
        bytes.len()
    } else {
        0
    };
    let (own, rest) = bytes.split_at(own);
    let mut head = Vec::with_capacity(HEAD_BYTES + own.len());
    head.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    head.extend_from_slice(&(rest.len().div_ceil(PART_BYTES) as u32).to_le_bytes());
    head.extend_from_slice(&(own.len() as u32).to_le_bytes());
    for part in rest.chunks(PART_BYTES) {
        let page = sink.append(kind, part)?;
        footprint.add(page);
        head.extend_from_slice(&page.raw().to_le_bytes());
    }
    head.extend_from_slice(own);
    let page = sink.append(kind, &head)?;
    footprint.add(page);
    Ok(page)
}

/// Room for a chain of up to `bytes` bytes whose content is known later: the head, then the parts.
pub(crate) fn reserve(output: &impl ReservedPages, bytes: usize) -> Result<Vec<PageRef>> {
    let parts = match HEAD_BYTES + bytes <= PART_BYTES {
        true => 0,
        false => bytes.div_ceil(PART_BYTES),
    };
    let own = if parts == 0 { bytes } else { parts * 8 };
    let head = SizeClass::for_payload_bytes(HEAD_BYTES + own).ok_or(Error::Limit {
        what: "bytes of a chain",
        value: bytes as u64,
        limit: SizeClass::STORED_MAX.bytes() as u64 / 8 * PART_BYTES as u64,
    })?;
    let classes = std::iter::once(head).chain((0..parts).map(|_| SizeClass::KIB_64));
    classes.map(|class| output.reserve(class)).collect()
}

/// Writes `bytes` to the pages that [`reserve`] gave; the head.
pub(crate) fn write_to(
    output: &impl ReservedPages,
    pages: &[PageRef],
    kind: PageKind,
    bytes: &[u8],
) -> Result<PageRef> {
    let (head_page, parts) = (pages[0], &pages[1..]);
    let (own, rest) = bytes.split_at(if parts.is_empty() { bytes.len() } else { 0 });
    let mut head = Vec::with_capacity(HEAD_BYTES + own.len());
    head.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    head.extend_from_slice(&(parts.len() as u32).to_le_bytes());
    head.extend_from_slice(&(own.len() as u32).to_le_bytes());
    let mut rest = rest;
    for (at, part) in parts.iter().enumerate() {
        let share = rest.len().div_ceil(parts.len() - at);
        let (here, behind) = rest.split_at(share);
        let part = output.write(*part, kind, here)?;
        head.extend_from_slice(&part.raw().to_le_bytes());
        rest = behind;
    }
    head.extend_from_slice(own);
    output.write(head_page, kind, &head)
}

/// The pages of the chain that begins at `head`, the head first.
pub(crate) fn pages_of(pages: &Pages, head: PageRef, kind: PageKind) -> Result<Vec<PageRef>> {
    let pin = pages.pin(head, kind)?;
    let (_, parts, _) = pages.checked(head, kind, read_head(&pin))?;
    Ok(std::iter::once(head).chain(parts).collect())
}

/// Bytes of the chain that begins at `head`.
pub(crate) fn length(pages: &Pages, head: PageRef, kind: PageKind) -> Result<u64> {
    let pin = pages.pin(head, kind)?;
    pages.checked(head, kind, Reader::new(&pin).u64())
}

/// Reads the chain that begins at `head`; calls `visit` with every page of it.
pub(crate) fn read(
    pages: &Pages,
    head: PageRef,
    kind: PageKind,
    mut visit: impl FnMut(PageRef),
) -> Result<LongBytes> {
    visit(head);
    let (length, parts, own) = {
        let pin = pages.pin(head, kind)?;
        pages.checked(head, kind, read_head(&pin))?
    };
    let room = own.len() + parts.len() * PART_BYTES;
    let room = usize::try_from(length).map_or(room, |length| length.min(room));
    let mut bytes = LongBytes::with_room(pages.budget(), room);
    bytes.extend(&own);
    pages.prefetch(&parts, kind);
    for part in parts {
        visit(part);
        let pin = pages.pin(part, kind)?;
        bytes.extend(&pin);
    }
    if bytes.len() as u64 != length {
        let what = format!("chain of {length} bytes has {}", bytes.len());
        return pages.checked(head, kind, Err(Malformed(what)));
    }
    Ok(bytes)
}

fn read_head(payload: &[u8]) -> Decoded<(u64, Vec<PageRef>, Vec<u8>)> {
    let mut reader = Reader::new(payload);
    let length = reader.u64()?;
    let count = reader.u32()? as usize;
    let own = reader.u32()? as usize;
    if count > reader.remaining() / 8 {
        return Err(Malformed(format!(
            "chain of {count} parts in {} bytes",
            payload.len()
        )));
    }
    let parts: Decoded<Vec<_>> = (0..count)
        .map(|_| Pages::reference(reader.u64()?))
        .collect();
    Ok((length, parts?, reader.take(own)?.to_vec()))
}
