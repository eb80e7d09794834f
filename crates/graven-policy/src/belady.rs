//! Belady's MIN: evict the page whose next use is farthest; the bound that nothing online beats.
//!
//! # How it works
//! Every access has at most one earlier access whose next use it is, so a resident page is fully
//! described by the position of its next use. A set of positions (a 64-ary tree of bits) holds the
//! resident pages that are used again, a count those that are not. Access `i` is a hit exactly when
//! `i` is in the set; the victim is the largest member, or any of the never-used-again. No page is
//! looked up at all.
//!
//! With *bypass* the newcomer is a candidate too, which bounds policies that may refuse to admit a
//! page.
//!
//! # Costs
//! One backward pass for next uses (4 bytes an access), then a few bit operations an access; 1/8
//! byte an access for the set.
//!
//! # Source
//! L. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5(2), 1966.

use crate::registry::Spec;

/// Whether a newcomer may be turned away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bypass {
    /// Every fault brings its page in.
    Never,
    /// A newcomer whose next use is farthest is not brought in.
    Allowed,
}

/// Marks an access whose page is not used again.
const NEVER: u32 = u32::MAX;

/// The variant that a specification names; `None` for the policies that do not need the future.
#[must_use]
pub fn bypass_of(spec: &Spec) -> Option<Bypass> {
    let bypass = spec.name == "min" && spec.params.contains(&("bypass", "yes".to_string()));
    (spec.name == "min").then_some(if bypass {
        Bypass::Allowed
    } else {
        Bypass::Never
    })
}

/// Position of the next access to the same page, [`u32::MAX`] for none; pages are `0..unique`.
///
/// # Panics
/// On traces of 2^32 - 1 accesses and more.
#[must_use]
pub fn next_uses(pages: &[u32], unique: usize) -> Vec<u32> {
    assert!(
        pages.len() < NEVER as usize,
        "a trace of {} accesses is too long",
        pages.len()
    );
    let mut later = vec![NEVER; unique];
    let mut next = vec![NEVER; pages.len()];
    for (i, &page) in pages.iter().enumerate().rev() {
        next[i] = std::mem::replace(&mut later[page as usize], i as u32);
    }
    next
}

/// Hits of the optimal policy on a trace of pages `0..unique` in an empty cache of `capacity`
/// pages.
///
/// # Panics
/// As [`next_uses`].
#[must_use]
pub fn hits(pages: &[u32], unique: usize, capacity: usize, bypass: Bypass) -> u64 {
    let next = next_uses(pages, unique);
    let mut uses = PositionSet::new(pages.len());
    let (mut used_again, mut dead, mut hits) = (0, 0, 0);
    for (i, &next) in next.iter().enumerate() {
        if uses.remove(i) {
            hits += 1;
            used_again -= 1;
        } else if used_again + dead == capacity {
            if dead > 0 {
                dead -= 1;
            } else {
                let farthest = uses.max();
                if bypass == Bypass::Allowed && farthest.is_none_or(|far| next as usize > far) {
                    continue;
                }
                used_again -= usize::from(farthest.is_some_and(|far| uses.remove(far)));
            }
        }
        if next == NEVER {
            dead += 1;
        } else {
            used_again += 1;
            uses.insert(next as usize);
        }
    }
    hits
}

/// A set of positions below a fixed bound with its largest member: level 0 has a bit per position,
/// every level above a bit per non-zero word.
struct PositionSet {
    levels: Vec<Vec<u64>>,
}

impl PositionSet {
    fn new(bound: usize) -> Self {
        let mut levels = Vec::new();
        let mut bits = bound.max(1);
        loop {
            bits = bits.div_ceil(64);
            levels.push(vec![0; bits]);
            if bits == 1 {
                return Self { levels };
            }
        }
    }

    #[inline]
    fn insert(&mut self, mut at: usize) {
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let was_empty = *word == 0;
            *word |= 1 << (at % 64);
            if !was_empty {
                return;
            }
            at /= 64;
        }
    }

    #[inline]
    fn remove(&mut self, mut at: usize) -> bool {
        if self.levels[0][at / 64] >> (at % 64) & 1 == 0 {
            return false;
        }
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                break;
            }
            at /= 64;
        }
        true
    }

    #[inline]
    fn max(&self) -> Option<usize> {
        self.levels.iter().rev().try_fold(0, |word, level| {
            let bits = level[word];
            (bits != 0).then(|| word * 64 + 63 - bits.leading_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graven_types::rng::SplitMix64;

    /// Goal: equals the definition, a scan over all resident pages at every fault.
    #[test]
    fn equals_the_definition() {
        let mut rng = SplitMix64::new(5);
        let pages: Vec<u32> = (0..3_000)
            .map(|_| (rng.place(60) * rng.place(60) / 60) as u32)
            .collect();
        let next = next_uses(&pages, 60);
        for capacity in [1, 2, 5, 20, 60] {
            for bypass in [Bypass::Never, Bypass::Allowed] {
                let mut resident: Vec<(u32, u32)> = Vec::new();
                let mut expected = 0;
                for (&page, &next) in pages.iter().zip(&next) {
                    if let Some(entry) = resident.iter_mut().find(|(p, _)| *p == page) {
                        entry.1 = next;
                        expected += 1;
                        continue;
                    }
                    resident.push((page, next));
                    if resident.len() > capacity {
                        let last = resident.len() - 1;
                        let end = if bypass == Bypass::Allowed {
                            last
                        } else {
                            last - 1
                        };
                        let far = (0..=end).max_by_key(|&i| resident[i].1).unwrap();
                        resident.remove(far);
                    }
                }
                assert_eq!(
                    hits(&pages, 60, capacity, bypass),
                    expected,
                    "{capacity} {bypass:?}"
                );
            }
        }
    }
}
