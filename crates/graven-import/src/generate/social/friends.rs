//! Friendships: friends are found among persons that are close in place, in interest, or by chance.
//!
//! # How it works
//! Three rounds. Each sorts the persons by one dimension and lets every person, in that order, meet
//! those after it. The one at distance `d` becomes a friend with probability `max(NEAR^d, FAR)`, as
//! long as both have room. A person has room until it has the round's share of the friends it is
//! meant to have (45 %, then 90 %, then all). Neighbours in the order meet mostly the same persons,
//! which makes triangles. Persons without room are passed over in constant time (a forest of
//! pointers to the next one with room).
//!
//! # Costs
//! About `1 / FAR` meetings per friendship; 8 bytes a friendship and 12 a person.
//!
//! # Source
//! Minh-Duc Pham, Peter Boncz, Orri Erling: S3G2, a Scalable Structure-Correlated Social Graph
//! Generator, TPCTC 2012; window and limit as in LDBC's generator.

use graven_types::rng::SplitMix64;

/// Probability of meeting the next one in the order; it falls by this factor at each step.
const NEAR: f64 = 0.95;
/// The probability falls no lower.
const FAR: f64 = 0.2;
/// A person looks no further than this in a round.
const REACH: usize = 10_000;
/// Share of the friends to be made by the end of each round.
const SHARES: [f64; 3] = [0.45, 0.9, 1.0];

/// Friendships as pairs of person numbers, smaller first, in no particular order.
pub(super) fn friendships(
    targets: &[u32],
    orders: [Vec<u32>; 3],
    random: &mut SplitMix64,
) -> Vec<(u32, u32)> {
    let mut circle = Circle {
        friends: vec![Vec::new(); targets.len()],
    };
    let mut thresholds = Vec::new();
    let mut probability = NEAR;
    while probability > FAR {
        thresholds.push(probability);
        probability *= NEAR;
    }
    for (order, share) in orders.into_iter().zip(SHARES) {
        let room: Vec<u32> = targets
            .iter()
            .map(|t| (f64::from(*t) * share + 0.999_999) as u32)
            .collect();
        circle.round(&order, &room, &thresholds, random);
    }
    let mut pairs = Vec::with_capacity(targets.iter().map(|t| *t as usize).sum::<usize>() / 2);
    for (a, friends) in circle.friends.iter().enumerate() {
        let a = a as u32;
        pairs.extend(friends.iter().filter(|b| a < **b).map(|b| (a, *b)));
    }
    pairs
}

struct Circle {
    friends: Vec<Vec<u32>>,
}

impl Circle {
    fn degree(&self, person: u32) -> u32 {
        self.friends[person as usize].len() as u32
    }

    /// One dimension: `order` lists the persons, `room` the friends each may have after it.
    fn round(&mut self, order: &[u32], room: &[u32], thresholds: &[f64], random: &mut SplitMix64) {
        let full = |circle: &Self, p: u32| circle.degree(p) >= room[p as usize];
        // next[i] leads to the first place at or after i whose person has room.
        let mut next: Vec<u32> = (0..=order.len() as u32).collect();
        for (i, person) in order.iter().enumerate() {
            if full(self, *person) {
                next[i] = i as u32 + 1;
            }
        }
        for (i, &person) in order.iter().enumerate() {
            if full(self, person) {
                continue;
            }
            let end = order.len().min(i + 1 + REACH);
            let mut at = find(&mut next, i + 1);
            // Distance counts those met, so that a crowd without room does not keep people apart.
            let mut distance = 0;
            while at < end && !full(self, person) {
                let other = order[at];
                let near = thresholds.get(distance).copied().unwrap_or(FAR);
                distance += 1;
                if random.unit() < near && !self.know(person, other) {
                    self.friends[person as usize].push(other);
                    self.friends[other as usize].push(person);
                    if full(self, other) {
                        next[at] = at as u32 + 1;
                    }
                }
                at = find(&mut next, at + 1);
            }
            next[i] = i as u32 + 1;
        }
    }

    fn know(&self, a: u32, b: u32) -> bool {
        let (a, b) = if self.degree(a) <= self.degree(b) {
            (a, b)
        } else {
            (b, a)
        };
        self.friends[a as usize].contains(&b)
    }
}

/// The end of the chain from `at`, shortening the chain on the way.
fn find(next: &mut [u32], mut at: usize) -> usize {
    while next[at] as usize != at {
        next[at] = next[next[at] as usize];
        at = next[at] as usize;
    }
    at
}
