//! Layers whose lists of neighbours are made at the end: what recovery reads.
//!
//! # How it works
//! Entering every relationship into two ordered maps by itself is most of what reading a log of relationships costs. So
//! they are only kept by their ids, which ascend; when the layer is complete, its lists are sorted at once and
//! entered in order, or written to temporary pages without ever being a map ([`super::lower`]).
//!
//! # Costs
//! 64 bytes a relationship for one direction at a time while lists are made; sorting is a few passes over them (by digits).

use super::layer::{Change, EdgeKey, Layer, RelationshipChange, counted, slot_bytes};
use crate::ids::{Direction, RelId, TypeId};
use std::collections::BTreeMap;

/// A relationship and its entry in the lists that are being made.
const UNLISTED_BYTES: u64 =
    slot_bytes(size_of::<RelationshipChange>()) + 2 * size_of::<(EdgeKey, Change)>() as u64;

/// Entries of the lists of one direction, per type, ascending.
type Lists = BTreeMap<TypeId, Vec<(EdgeKey, Change)>>;

/// Fewer entries than this are sorted by comparing them.
const RADIX_MIN: usize = 1024;
/// Bits of a digit.
const DIGIT: u32 = 11;

/// Sorts by node, then neighbour; those with the same ends stay by their ids, as they come.
fn sort(entries: &mut Vec<(EdgeKey, Change)>) {
    if entries.len() < RADIX_MIN {
        entries.sort_by_key(|((node, neighbour, _), _)| (*node, *neighbour));
        return;
    }
    let ends: [fn(&EdgeKey) -> u64; 2] = [|key| key.1, |key| key.0];
    let mut sorted = entries.clone();
    for end in ends {
        let most = entries.iter().map(|(key, _)| end(key)).max().unwrap_or(0);
        for shift in (0..u64::BITS - most.leading_zeros()).step_by(DIGIT as usize) {
            let digit = |key: &EdgeKey| (end(key) >> shift) as usize & ((1 << DIGIT) - 1);
            let mut places = [0; 1 << DIGIT];
            entries.iter().for_each(|(key, _)| places[digit(key)] += 1);
            let mut behind = 0;
            for place in &mut places {
                behind += std::mem::replace(place, behind);
            }
            for entry in entries.iter() {
                let place = &mut places[digit(&entry.0)];
                sorted[*place] = *entry;
                *place += 1;
            }
            std::mem::swap(entries, &mut sorted);
        }
    }
}

impl Layer {
    /// Whether its lists are still to be made.
    pub(crate) fn is_unlisted(&self) -> bool {
        self.adjacency.is_empty() && !self.relationships.is_empty()
    }

    /// Enters relationships that `give` hands over, best by ascending ids, without their lists.
    pub(crate) fn put_unlisted<T>(
        &mut self,
        give: impl FnOnce(&mut dyn FnMut(RelId, RelationshipChange)) -> T,
    ) -> T {
        debug_assert!(self.adjacency.is_empty(), "lists are made at the end");
        let (mut more, mut undone) = (0, Vec::new());
        let given = counted(&mut self.relationships, &mut self.bytes, |relationships| {
            let mut filler = relationships.filler();
            give(&mut |id, change| match filler.put(id.0, change) {
                None => more += UNLISTED_BYTES,
                // Ids are never used again, so what is here already was added here and goes now (TX-4).
                Some(_) => undone.push(id.0),
            })
        });
        self.bytes += more;
        for id in undone {
            let gone = counted(&mut self.relationships, &mut self.bytes, |relationships| {
                relationships.remove(id)
            });
            if gone.is_some() {
                self.bytes = self.bytes.saturating_sub(UNLISTED_BYTES);
            }
        }
        given
    }

    /// The lists of one direction.
    pub(crate) fn lists(&self, direction: Direction) -> Lists {
        let mut lists = Lists::new();
        let mut count = BTreeMap::<TypeId, usize>::new();
        for (_, it) in self.relationships.iter() {
            *count.entry(it.rel_type).or_default() += 1;
        }
        for (id, it) in self.relationships.iter() {
            let (node, neighbour) = match direction {
                Direction::Out => (it.start.0, it.end.0),
                Direction::In => (it.end.0, it.start.0),
            };
            let entries = lists
                .entry(it.rel_type)
                .or_insert_with(|| Vec::with_capacity(count[&it.rel_type]));
            entries.push(((node, neighbour, id), it.change));
        }
        lists.values_mut().for_each(sort);
        lists
    }

    /// Makes the lists (TX-1).
    pub(crate) fn enter_lists(&mut self) {
        if !self.is_unlisted() {
            return;
        }
        for direction in [Direction::Out, Direction::In] {
            for (rel_type, entries) in self.lists(direction) {
                self.adjacency
                    .insert((rel_type, direction), entries.into_iter().collect());
            }
        }
        let count = self.relationships.len() as u64;
        self.bytes += count * (super::layer::RELATIONSHIP_BYTES - UNLISTED_BYTES);
    }
}

#[cfg(test)]
mod tests {
    //! Goal: a layer whose lists are made at the end is the one that gets every relationship by itself, also where some
    //! are added and go again.

    use super::*;
    use crate::ids::NodeId;

    #[test]
    fn lists_made_at_the_end_are_those_made_one_by_one() {
        let (mut one_by_one, mut at_the_end) = (Layer::default(), Layer::default());
        let mut seed = 11u64;
        for round in 0..60u64 {
            let mut given = Vec::new();
            for step in 0..round * 3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let relationship = RelationshipChange {
                    rel_type: TypeId((seed >> 60) as u32 % 3),
                    start: NodeId(seed >> 40 & 8191),
                    end: NodeId(seed >> 50 & 31),
                    change: match round % 7 {
                        0 => Change::Removed,
                        _ => Change::Added,
                    },
                };
                given.push((RelId(round * 1000 + step), relationship));
            }
            // Some of what came before goes again.
            let known: Vec<u64> = one_by_one.relationships.ids().step_by(13).collect();
            if round % 5 == 4 {
                given.splice(
                    0..0,
                    known.into_iter().map(|id| {
                        let before = *one_by_one.relationships.get(id).expect("known");
                        (RelId(id), before)
                    }),
                );
            }
            for (id, change) in &given {
                one_by_one.put_relationship(*id, *change);
            }
            at_the_end.put_unlisted(|put| given.iter().for_each(|(id, change)| put(*id, *change)));
        }
        assert!(at_the_end.is_unlisted());
        at_the_end.enter_lists();
        assert!(!at_the_end.is_unlisted());
        let by_id = |layer: &Layer| -> Vec<(u64, RelationshipChange)> {
            layer
                .relationships
                .iter()
                .map(|(id, it)| (id, *it))
                .collect()
        };
        assert_eq!(by_id(&one_by_one), by_id(&at_the_end));
        assert_eq!(one_by_one.adjacency, at_the_end.adjacency);
        assert_eq!(one_by_one.bytes(), at_the_end.bytes());
    }
}
