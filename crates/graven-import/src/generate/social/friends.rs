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
//! What is asked of a person that is met lies by its place in the order ([`Places`]): a person
//! meets those in a window of [`REACH`] places, which stay in the caches.
//!
//! Two persons meet at most once in a round, so only friendships of earlier rounds can repeat. A
//! round's friends of a person lie within [`REACH`] places behind it, so a round is kept as
//! [`Round`]: the places of the persons, and for each place the distances to its friends.
//!
//! # Costs
//! About `1 / FAR` meetings per friendship. 52 bytes a person, and 2 bytes a friendship of the
//! first two rounds, in scratch files if there are more than a share of the memory takes.
//!
//! # Source
//! Minh-Duc Pham, Peter Boncz, Orri Erling: S3G2, a Scalable Structure-Correlated Social Graph
//! Generator, TPCTC 2012; window and limit as in LDBC's generator.

use std::sync::Arc;

use graven_pagecache::huge_pages;

use crate::error::ImportError;
use crate::progress::Meter;
use crate::scratch::{Scratch, ScratchFile};
use graven_types::rng::SplitMix64;

/// Probability of meeting the next one in the order; it falls by this factor at each step.
const NEAR: f64 = 0.95;
/// The probability falls no lower.
const FAR: f64 = 0.2;
/// A person looks no further than this in a round.
const REACH: usize = 10_000;
/// Share of the friends to be made by the end of each round.
const SHARES: [f64; 3] = [0.45, 0.9, 1.0];
const PERSONS_PER_REPORT: usize = 1 << 12;

/// Where scratch files are, and how many bytes of distances a round keeps in memory.
pub(super) struct Room<'a> {
    pub(super) scratch: &'a Arc<Scratch>,
    pub(super) bytes: usize,
}

/// Gives every friendship to `take` as a pair of person numbers, in no particular order.
pub(super) fn friendships(
    targets: &[u32],
    orders: [Vec<u32>; 3],
    random: &mut SplitMix64,
    room: &Room<'_>,
    meter: &mut Meter<'_>,
    take: &mut dyn FnMut(u32, u32) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut thresholds = Vec::new();
    let mut probability = NEAR;
    while probability > FAR {
        thresholds.push(probability);
        probability *= NEAR;
    }
    let mut circle = Circle {
        targets,
        degrees: huge_pages::zeros(targets.len()),
        earlier: Vec::new(),
        thresholds,
        made: 0,
    };
    let last = SHARES.len() - 1;
    for (i, (order, share)) in orders.into_iter().zip(SHARES).enumerate() {
        let mut distances = Distances::new(room, targets.len());
        circle.round(&order, share, random, &mut distances, meter, take)?;
        if i < last {
            circle.earlier.push(Round::new(&order, distances)?);
        }
    }
    Ok(())
}

struct Circle<'a> {
    targets: &'a [u32],
    degrees: Vec<u32>,
    earlier: Vec<Round>,
    thresholds: Vec<f64>,
    made: u64,
}

/// The persons of a round by their place in its order: those that a person meets lie together.
struct Places<'a> {
    /// How many friends more each may have.
    room: Vec<u32>,
    /// Earlier rounds, and the place that each has there.
    earlier: Vec<(&'a Round, Vec<u32>)>,
}

impl Places<'_> {
    fn is_full(&self, at: usize) -> bool {
        self.room[at] == 0
    }

    /// Whether two became friends in an earlier round.
    fn know(&self, a: usize, b: usize) -> Result<bool, ImportError> {
        for (round, places) in &self.earlier {
            if round.made(places[a], places[b])? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Circle<'_> {
    /// One dimension: `order` lists the persons; `share` of its friends a person has after it.
    fn round(
        &mut self,
        order: &[u32],
        share: f64,
        random: &mut SplitMix64,
        distances: &mut Distances<'_>,
        meter: &mut Meter<'_>,
        take: &mut dyn FnMut(u32, u32) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let most = |targets: &[u32], degrees: &[u32], person: u32| {
            let of_share = f64::from(targets[person as usize]) * share + 0.999_999;
            (of_share as u32).max(degrees[person as usize])
        };
        let by_place = |of: &dyn Fn(u32) -> u32| {
            let mut all = huge_pages::with_capacity(order.len());
            all.extend(order.iter().map(|person| of(*person)));
            all
        };
        let (targets, degrees) = (self.targets, &self.degrees);
        let room = |person: u32| most(targets, degrees, person) - degrees[person as usize];
        let earlier = self.earlier.iter();
        let mut places = Places {
            room: by_place(&room),
            earlier: earlier
                .map(|round| (round, by_place(&|person| round.places[person as usize])))
                .collect(),
        };
        // next[i] leads to the first place at or after i whose person has room.
        let mut next: Vec<u32> = huge_pages::with_capacity(order.len() + 1);
        next.extend(0..=order.len() as u32);
        for (i, next) in next.iter_mut().take(order.len()).enumerate() {
            *next += u32::from(places.is_full(i));
        }
        for (i, &person) in order.iter().enumerate() {
            if i % PERSONS_PER_REPORT == 0 {
                meter.at(self.made)?;
            }
            distances.begin_person();
            if places.is_full(i) {
                continue;
            }
            let end = order.len().min(i + 1 + REACH);
            let mut at = find(&mut next, i + 1);
            // Distance counts those met, so that a crowd without room does not keep people apart.
            let mut distance = 0;
            while at < end && !places.is_full(i) {
                let near = self.thresholds.get(distance).copied().unwrap_or(FAR);
                distance += 1;
                if random.unit() < near && !places.know(i, at)? {
                    places.room[i] -= 1;
                    places.room[at] -= 1;
                    self.made += 1;
                    distances.push((at - i) as u16)?;
                    take(person, order[at])?;
                    if places.is_full(at) {
                        next[at] = at as u32 + 1;
                    }
                }
                at = find(&mut next, at + 1);
            }
            next[i] = i as u32 + 1;
        }
        for (person, left) in order.iter().zip(places.room) {
            let most = most(targets, &self.degrees, *person);
            self.degrees[*person as usize] = most - left;
        }
        Ok(())
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

/// The distances to the friends of each place, ascending, one place after the other.
struct Distances<'a> {
    room: &'a Room<'a>,
    /// Where those of each place begin, counted in distances.
    begins: Vec<u64>,
    file: Option<ScratchFile>,
    /// What is not in the file yet; all, without a file.
    tail: Vec<u16>,
    written: u64,
}

/// Bytes of a distance.
const WIDTH: usize = 2;
const WRITE_BYTES: usize = 64 << 10;

impl<'a> Distances<'a> {
    fn new(room: &'a Room<'a>, persons: usize) -> Self {
        Self {
            room,
            begins: huge_pages::with_capacity(persons + 1),
            file: None,
            tail: Vec::new(),
            written: 0,
        }
    }

    fn len(&self) -> u64 {
        self.written + self.tail.len() as u64
    }

    fn begin_person(&mut self) {
        self.begins.push(self.len());
    }

    fn push(&mut self, distance: u16) -> Result<(), ImportError> {
        self.tail.push(distance);
        let bytes = self.tail.len() * WIDTH;
        let most = match self.file {
            None => self.room.bytes.max(WRITE_BYTES),
            Some(_) => WRITE_BYTES,
        };
        if bytes >= most {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        if self.file.is_none() {
            self.file = Some(self.room.scratch.file()?);
        }
        let file = self.file.as_mut().expect("just made");
        for part in self.tail.chunks(WRITE_BYTES / WIDTH) {
            let bytes: Vec<u8> = part.iter().flat_map(|d| d.to_le_bytes()).collect();
            file.append(&bytes)?;
        }
        self.written += self.tail.len() as u64;
        self.tail = Vec::new();
        Ok(())
    }
}

/// The friendships of a round that is over.
struct Round {
    /// The place of each person.
    places: Vec<u32>,
    /// As in [`Distances`], and the end of all.
    begins: Vec<u64>,
    file: Option<ScratchFile>,
    memory: Vec<u16>,
}

impl Round {
    fn new(order: &[u32], mut distances: Distances<'_>) -> Result<Self, ImportError> {
        let mut places = huge_pages::zeros(order.len());
        for (place, person) in order.iter().enumerate() {
            places[*person as usize] = place as u32;
        }
        distances.begin_person();
        if distances.file.is_some() {
            distances.flush()?;
        }
        Ok(Self {
            places,
            begins: distances.begins,
            file: distances.file,
            memory: distances.tail,
        })
    }

    /// Whether those at two places became friends in this round.
    fn made(&self, a: u32, b: u32) -> Result<bool, ImportError> {
        let (first, distance) = (a.min(b) as usize, a.abs_diff(b) as usize);
        if distance > REACH {
            return Ok(false);
        }
        let (from, to) = (self.begins[first], self.begins[first + 1]);
        if from == to {
            return Ok(false);
        }
        let distance = distance as u16;
        let Some(file) = &self.file else {
            let its = &self.memory[from as usize..to as usize];
            return Ok(its.binary_search(&distance).is_ok());
        };
        let mut bytes = [0; 4096];
        let mut at = from;
        while at < to {
            let count = (to - at).min((bytes.len() / WIDTH) as u64);
            let part = &mut bytes[..count as usize * WIDTH];
            file.read(part, at * WIDTH as u64)?;
            let (numbers, _) = part.as_chunks::<WIDTH>();
            let mut numbers = numbers.iter().map(|n| u16::from_le_bytes(*n));
            if numbers.any(|n| n == distance) {
                return Ok(true);
            }
            at += count;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the friendships do not depend on whether the rounds fit in memory.
    #[test]
    fn scratch_files_change_no_friendship() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(folder.path().join("scratch"), 0).unwrap();
        let targets: Vec<u32> = (0..3_000).map(|i| i % 197).collect();
        let order = |seed| {
            let mut order: Vec<u32> = (0..3_000).collect();
            crate::generate::random::stream(seed, 0).shuffle(&mut order);
            order
        };
        let mut made = [0, usize::MAX].map(|bytes| {
            let room = Room {
                scratch: &scratch,
                bytes,
            };
            let mut go_on = |_: crate::Progress<'_>| std::ops::ControlFlow::Continue(());
            let mut pairs = Vec::new();
            friendships(
                &targets,
                [order(1), order(2), order(3)],
                &mut crate::generate::random::stream(9, 0),
                &room,
                &mut Meter::new(&mut go_on),
                &mut |a, b| {
                    pairs.push((a.min(b), a.max(b)));
                    Ok(())
                },
            )
            .unwrap();
            pairs
        });
        assert!(
            scratch.spilled() > 2 * WRITE_BYTES as u64,
            "{}",
            scratch.spilled()
        );
        assert_eq!(made[0], made[1]);
        made[0].sort_unstable();
        assert!(made[0].len() > 50_000);
        assert!(made[0].windows(2).all(|w| w[0] != w[1]));
    }
}
