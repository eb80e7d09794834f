//! Chunks of large transactions, kept until their commit record comes: in temporary pages where the
//! store has them, so that a transaction may be larger than memory.

use crate::Result;
use crate::store::Store;
use graven_pagecache::{SizeClass, TemporaryPage};

/// Temporary pages of 64 KiB.
const PAGE_BYTES: usize = (64 << 10) - 64;

/// See the file header.
pub(super) enum Chunk {
    Memory(Vec<u8>),
    Pages(Vec<TemporaryPage>),
}

impl Chunk {
    pub(super) fn keep(store: &Store, payload: &[u8]) -> Result<Chunk> {
        let Some(out) = store.temporary_pages() else {
            return Ok(Chunk::Memory(payload.to_vec()));
        };
        let mut pages = Vec::new();
        for piece in payload.chunks(PAGE_BYTES) {
            let class = SizeClass::for_payload_bytes(piece.len()).unwrap_or(SizeClass::STORED_MAX);
            let mut page = out.allocate(class)?;
            page[..piece.len()].copy_from_slice(piece);
            pages.push(page.finish(piece.len()));
        }
        Ok(Chunk::Pages(pages))
    }

    pub(super) fn read(self) -> Result<Vec<u8>> {
        match self {
            Chunk::Memory(payload) => Ok(payload),
            Chunk::Pages(pages) => {
                let mut payload = Vec::new();
                for page in pages {
                    payload.extend_from_slice(&page.pin()?);
                }
                Ok(payload)
            }
        }
    }
}
