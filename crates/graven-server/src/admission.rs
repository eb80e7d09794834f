//! Limits on open connections: connections that have logged in keep their place; the others have
//! places of their own, which they can lose.
//!
//! # How it works
//! A connection that has not logged in takes one of [`UNKNOWN_MAX`] places. Where all are taken,
//! the network that has most of them loses its oldest place. A client that logs in at once, as
//! drivers do, has logged in long before that. A connection that has logged in counts towards the
//! maximum of the server, and a single network may have only a part of that.
//!
//! # Invariants
//! * BO-6 Connections that have not logged in never keep a new one out, and take no place of those
//!   that have logged in.
//! * BO-7 One network never has all places, where there are more than a few.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::login_throttle::network;

/// Places for connections that have not logged in.
pub(crate) const UNKNOWN_MAX: usize = 128;

/// Of this many places one network leaves one to others.
const SHARE: usize = 8;

/// See the file header.
#[derive(Debug)]
pub(crate) struct Admission {
    most: usize,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    next: u64,
    /// By the order in which they came.
    unknown: BTreeMap<u64, (IpAddr, Arc<Notify>)>,
    known: HashMap<IpAddr, usize>,
    known_total: usize,
}

/// The place of a connection; given back on drop.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    admission: Arc<Admission>,
    number: u64,
    network: IpAddr,
    lost: Arc<Notify>,
    is_known: Mutex<bool>,
}

/// All places for those that have logged in are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full {
    /// By connections of the same network, where others still come in.
    pub(crate) of_network: bool,
    /// How many there are.
    pub(crate) places: usize,
}

impl Admission {
    pub(crate) fn new(most: usize) -> Arc<Admission> {
        Arc::new(Admission {
            most,
            places: Mutex::default(),
        })
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many one network may have.
    fn most_of_one(&self) -> usize {
        self.most - self.most / SHARE
    }

    /// Connections that have a place of either kind.
    pub(crate) fn open(&self) -> usize {
        let places = self.places();
        places.known_total + places.unknown.len()
    }

    /// A place for a connection that comes.
    pub(crate) fn arrive(self: &Arc<Self>, address: IpAddr) -> ConnectionSlot {
        let network = network(address);
        let mut places = self.places();
        if places.unknown.len() >= UNKNOWN_MAX {
            let mut counts: HashMap<IpAddr, usize> = HashMap::new();
            for (network, _) in places.unknown.values() {
                *counts.entry(*network).or_default() += 1;
            }
            let most = counts.into_iter().max_by_key(|(_, count)| *count);
            let loses = most.and_then(|(most, _)| {
                let mut oldest = places.unknown.iter();
                oldest
                    .find(|(_, (network, _))| *network == most)
                    .map(|(number, _)| *number)
            });
            if let Some((_, lost)) = loses.and_then(|number| places.unknown.remove(&number)) {
                lost.notify_one();
            }
        }
        places.next += 1;
        let (number, lost) = (places.next, Arc::new(Notify::new()));
        places.unknown.insert(number, (network, Arc::clone(&lost)));
        drop(places);
        ConnectionSlot {
            admission: Arc::clone(self),
            number,
            network,
            lost,
            is_known: Mutex::new(false),
        }
    }
}

impl ConnectionSlot {
    /// A place among those that have logged in, kept from now on.
    pub(crate) fn keep(&self) -> Result<(), Full> {
        let mut is_known = self.is_known.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_known {
            return Ok(());
        }
        let admission = &self.admission;
        let mut places = admission.places();
        let own = places.known.get(&self.network).copied().unwrap_or_default();
        let (all, of_one) = (admission.most, admission.most_of_one());
        if places.known_total >= all || own >= of_one {
            let of_network = places.known_total < all;
            let places = if of_network { of_one } else { all };
            return Err(Full { of_network, places });
        }
        places.unknown.remove(&self.number);
        places.known_total += 1;
        *places.known.entry(self.network).or_default() += 1;
        *is_known = true;
        Ok(())
    }

    /// Takes the place from the connection, which ends.
    pub(crate) fn end(&self) {
        self.lost.notify_one();
    }

    /// Ends when the place is lost, to another connection or because it was taken.
    pub(crate) async fn lost(&self) {
        self.lost.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let is_known = *self.is_known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut places = self.admission.places();
        if !is_known {
            places.unknown.remove(&self.number);
            return;
        }
        places.known_total -= 1;
        let left = places.known.get_mut(&self.network).map(|count| {
            *count -= 1;
            *count
        });
        if left == Some(0) {
            places.known.remove(&self.network);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Goal: those that do not log in lose their places to those that come, the greediest first;
    //! those that have, leave room to others.

    use super::*;
    use std::net::Ipv4Addr;

    fn address(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
    }

    #[test]
    fn the_greediest_loses_its_oldest_place() {
        let admission = Admission::new(8);
        let other = admission.arrive(address(2));
        let greedy: Vec<ConnectionSlot> = (0..UNKNOWN_MAX)
            .map(|_| admission.arrive(address(1)))
            .collect();
        assert_eq!(admission.open(), UNKNOWN_MAX);
        let more = admission.arrive(address(3));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let is_lost = |place: &ConnectionSlot| {
            let places = admission.places();
            !places.unknown.contains_key(&place.number)
        };
        runtime.expect("a runtime").block_on(greedy[0].lost());
        assert!(is_lost(&greedy[0]) && is_lost(&greedy[1]));
        assert!(!is_lost(&greedy[2]) && !is_lost(&other) && !is_lost(&more));
        // A connection that has lost its place may have logged in just then.
        assert_eq!(greedy[0].keep(), Ok(()));
        drop((greedy, other, more));
        assert_eq!(admission.open(), 0);
        assert!(admission.places().known.is_empty());
    }

    #[test]
    fn one_network_leaves_places_to_others() {
        let admission = Admission::new(16);
        let known = |last| {
            let place = admission.arrive(address(last));
            place.keep().map(|()| place)
        };
        let mut all: Vec<ConnectionSlot> = (0..14).map(|_| known(1).expect("room")).collect();
        assert_eq!(
            known(1).err(),
            Some(Full {
                of_network: true,
                places: 14
            })
        );
        all.extend((2..4).map(|last| known(last).expect("room")));
        assert_eq!(
            known(4).err(),
            Some(Full {
                of_network: false,
                places: 16
            })
        );
        all.pop();
        assert!(known(1).is_err());
        assert!(known(4).is_ok());
        assert_eq!(admission.open(), 15);
        assert!(Admission::new(1).arrive(address(1)).keep().is_ok());
    }
}
