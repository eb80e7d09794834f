//! The numbers of a type's vertices: the places of their ids among all ids of the type.
//!
//! # How it works
//! Ids are split into blocks of 4,096. A block knows how many ids stand before it and which of its
//! own there are: in a list while these are few, else in a bit map. The number of an id is the
//! count before its block and that of the smaller ids in it.
//!
//! # Costs
//! Two bytes for each id of a block with less than 256, else 512 bytes a block.

use std::collections::BTreeMap;

/// Ids of a block, as a power of two.
const BLOCK_BITS: u32 = 12;
/// Words of its bit map.
const WORDS: usize = 1 << (BLOCK_BITS - 6);
/// Ids from which on a bit map is smaller than a list.
const LIST_MAX: usize = 256;

enum Ids {
    /// In ascending order.
    List(Vec<u16>),
    Map(Box<[u64; WORDS]>),
}

struct Block {
    /// Ids in the blocks before, once [`Numbers::seal`] has counted them.
    before: u64,
    ids: Ids,
}

/// See the file header.
#[derive(Default)]
pub(super) struct Numbers {
    blocks: BTreeMap<u64, Block>,
    len: u64,
}

fn split(id: u64) -> (u64, u16) {
    let within = id & ((1 << BLOCK_BITS) - 1);
    (id >> BLOCK_BITS, u16::try_from(within).unwrap_or(0))
}

impl Numbers {
    /// Takes an id that was not taken before.
    pub(super) fn insert(&mut self, id: u64) {
        let (block, within) = split(id);
        let block = self.blocks.entry(block).or_insert_with(|| Block {
            before: 0,
            ids: Ids::List(Vec::new()),
        });
        self.len += 1;
        match &mut block.ids {
            Ids::Map(words) => words[usize::from(within >> 6)] |= 1 << (within & 63),
            Ids::List(ids) => {
                let at = ids.partition_point(|known| *known < within);
                ids.insert(at, within);
                if ids.len() >= LIST_MAX {
                    let mut words = Box::new([0; WORDS]);
                    for id in ids {
                        words[usize::from(*id >> 6)] |= 1 << (*id & 63);
                    }
                    block.ids = Ids::Map(words);
                }
            }
        }
    }

    /// Counts the ids before each block, after the last one was taken.
    pub(super) fn seal(&mut self) {
        let mut before = 0;
        for block in self.blocks.values_mut() {
            block.before = before;
            before += match &mut block.ids {
                Ids::List(ids) => {
                    ids.shrink_to_fit();
                    ids.len() as u64
                }
                Ids::Map(words) => words.iter().map(|word| u64::from(word.count_ones())).sum(),
            };
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The number of an id, if it is one of these.
    pub(super) fn of(&self, id: u64) -> Option<u64> {
        let (block, within) = split(id);
        let block = self.blocks.get(&block)?;
        let smaller = match &block.ids {
            Ids::List(ids) => ids.binary_search(&within).ok()? as u64,
            Ids::Map(words) => {
                let at = usize::from(within >> 6);
                let bit = 1u64 << (within & 63);
                if words[at] & bit == 0 {
                    return None;
                }
                let before = words[..at].iter().map(|w| u64::from(w.count_ones()));
                before.sum::<u64>() + u64::from((words[at] & (bit - 1)).count_ones())
            }
        };
        Some(block.before + smaller)
    }
}

#[cfg(test)]
mod tests {
    //! Goal: numbers are the places of the ids in ascending order, in whatever order they came.

    use super::*;

    #[test]
    fn numbers_follow_the_ids() {
        for (step, count) in [(1, 10_000), (3, 5000), (17, 3000), (4096, 5), (9973, 2000)] {
            let ids: Vec<u64> = (0..count).map(|at| at * step + 5).collect();
            let mut numbers = Numbers::default();
            // Every other one first, so that they do not come in their order.
            let (even, odd): (Vec<u64>, Vec<u64>) = ids.iter().partition(|id| **id % 2 == 0);
            odd.iter().chain(&even).for_each(|id| numbers.insert(*id));
            numbers.seal();
            assert_eq!(numbers.len(), count);
            for (number, id) in ids.iter().enumerate() {
                assert_eq!(numbers.of(*id), Some(number as u64), "{step}: {id}");
            }
            assert_eq!(numbers.of(4), None);
            assert_eq!(numbers.of(ids[ids.len() - 1] + 1), None);
        }
    }
}
