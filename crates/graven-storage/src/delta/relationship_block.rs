//! Relationships that recovery has read, in blocks.

use super::change::RelationshipChange;

/// Relationships of a block.
const BLOCK: usize = 4096;

/// Relationships that came or went, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Relationships {
    pub(super) blocks: Vec<Vec<(u64, RelationshipChange)>>,
    pub(super) len: usize,
    /// An id came that is not behind the one before.
    pub(super) mixed: bool,
    pub(super) first: u64,
    pub(super) last: u64,
    /// The bits of all ends.
    pub(super) nodes: u64,
}

impl Relationships {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, id: u64, it: RelationshipChange) {
        if self.len == 0 {
            (self.first, self.last) = (id, id);
        } else {
            self.mixed |= id <= self.last;
            self.first = self.first.min(id);
            self.last = self.last.max(id);
        }
        self.nodes |= it.start.0 | it.end.0;
        self.len += 1;
        if let Some(block) = self.blocks.last_mut().filter(|block| block.len() < BLOCK) {
            block.push((id, it));
        } else {
            let mut block = Vec::with_capacity(BLOCK);
            block.push((id, it));
            self.blocks.push(block);
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        (self.blocks.len() * BLOCK * size_of::<(u64, RelationshipChange)>()) as u64
    }

    /// Puts the ids in order. Ids are never used again, so what came twice was added and goes now
    /// (TX-4).
    pub(super) fn settle(&mut self) {
        if !std::mem::take(&mut self.mixed) {
            return;
        }
        let mut all = Vec::with_capacity(self.len);
        // Block by block, so that they are not there twice.
        self.blocks.drain(..).for_each(|block| all.extend(block));
        all.sort_by_key(|(id, _)| *id);
        let mut kept = 0;
        for at in 0..all.len() {
            if kept > 0 && all[kept - 1].0 == all[at].0 {
                kept -= 1;
            } else {
                all[kept] = all[at];
                kept += 1;
            }
        }
        all.truncate(kept);
        self.len = kept;
        self.blocks.push(all);
    }

    /// Calls `each` with all, ids ascending.
    #[inline]
    pub(crate) fn for_each(&self, each: impl FnMut(&(u64, RelationshipChange))) {
        self.iter().for_each(each);
    }

    /// All, ids ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(u64, RelationshipChange)> {
        assert!(!self.mixed, "settled before it is read");
        self.blocks.iter().flatten()
    }
}
