//! Attempts to log in: after failures, further ones from the same address wait, longer each time.
//!
//! # How it works
//! Some failures are free, for people mistype. From then on an address may try again only after a
//! pause that doubles with each failure, up to some seconds. An attempt that comes earlier waits
//! for its turn, and is refused without a look at it where that takes too long: many connections at
//! a time do not make guessing faster. A success forgets the failures of its address; so does time.
//!
//! # Invariants
//! * BO-4 Between two looks at passwords from an address lies the pause that its failures have
//!   earned.
//!
//! # Costs
//! An entry for each address that failed lately, at most some thousands. What an address is: of
//! IPv6 the first 64 bits, which one machine can choose the rest of.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures without a pause.
const FREE: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// An attempt waits no longer for its turn.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// Failures are forgotten after so long without another one.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// Addresses that are remembered; the one that failed longest ago makes room.
const ADDRESSES_MAX: usize = 4096;

/// How an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attempt {
    Right,
    Wrong,
    /// It was not looked at: too many failed before.
    TooSoon,
}

#[derive(Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Failures {
    /// When the next attempt is looked at.
    fn next(&self) -> Instant {
        let doubled = self.count.checked_sub(FREE);
        let pause = doubled.map_or(Duration::ZERO, |by| PAUSE * (1 << by.min(16)));
        self.last + pause.min(PAUSE_MAX)
    }
}

/// See the file header.
#[derive(Debug, Default)]
pub(crate) struct LoginThrottle {
    table: Mutex<Table>,
    /// An attempt has ended.
    fewer: Condvar,
}

#[derive(Debug, Default)]
struct Table {
    failures: HashMap<IpAddr, Failures>,
    /// Addresses of which a password is being looked at, which takes a while and holds no lock.
    asked: HashSet<IpAddr>,
}

/// An attempt whose password is being looked at.
struct Asked<'a> {
    attempts: &'a LoginThrottle,
    address: IpAddr,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.attempts.lock().asked.remove(&self.address);
        self.attempts.fewer.notify_all();
    }
}

/// What failures are counted by.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address @ IpAddr::V4(_) => address,
    }
}

impl LoginThrottle {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks `is_right` when it is this attempt's turn; one of an address at a time.
    pub(crate) fn make(&self, address: IpAddr, is_right: impl FnOnce() -> bool) -> Attempt {
        let address = network(address);
        let until = Instant::now() + WAIT_MAX;
        let mut table = self.lock();
        loop {
            let now = Instant::now();
            let next = table.failures.get(&address).map_or(now, Failures::next);
            let is_asked = table.asked.contains(&address);
            if next <= now && !is_asked {
                break;
            }
            if next > until || now >= until {
                return Attempt::TooSoon;
            }
            let pause = if is_asked { until - now } else { next - now };
            let waited = self.fewer.wait_timeout(table, pause);
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        table.asked.insert(address);
        drop(table);
        // However it ends, the next attempt has its turn.
        let asked = Asked {
            attempts: self,
            address,
        };
        let right = is_right();
        let mut table = self.lock();
        let made = match right {
            true => {
                table.failures.remove(&address);
                Attempt::Right
            }
            false => {
                failed(&mut table.failures, address);
                Attempt::Wrong
            }
        };
        drop(table);
        drop(asked);
        made
    }
}

/// Notes a failure.
fn failed(failures: &mut HashMap<IpAddr, Failures>, address: IpAddr) {
    let now = Instant::now();
    failures.retain(|_, failed| now - failed.last < FORGOTTEN);
    if failures.len() >= ADDRESSES_MAX
        && !failures.contains_key(&address)
        && let Some(oldest) = failures.iter().min_by_key(|(_, failed)| failed.last)
    {
        let oldest = *oldest.0;
        failures.remove(&oldest);
    }
    let failed = failures.entry(address).or_insert(Failures {
        count: 0,
        last: now,
    });
    failed.count += 1;
    failed.last = now;
}

#[cfg(test)]
mod tests {
    //! Goal: an address that guesses has to wait; other addresses do not, and no address waits
    //! after a success.

    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    impl LoginThrottle {
        /// As if so many had failed just now.
        fn with(address: IpAddr, count: u32) -> LoginThrottle {
            let attempts = LoginThrottle::default();
            let last = Instant::now();
            let failed = Failures { count, last };
            attempts.lock().failures.insert(address, failed);
            attempts
        }
    }

    #[test]
    fn each_failure_makes_the_pause_longer_up_to_a_limit() {
        let last = Instant::now();
        let pause = |count| Failures { count, last }.next() - last;
        assert_eq!(pause(FREE - 1), Duration::ZERO);
        assert_eq!(pause(FREE), PAUSE);
        assert_eq!(pause(FREE + 2), PAUSE * 4);
        assert_eq!(pause(u32::MAX), PAUSE_MAX);
    }

    #[test]
    fn an_attempt_waits_for_its_turn() {
        let attempts = LoginThrottle::with(HERE, FREE);
        let turn = attempts.lock().failures[&HERE].next();
        let made = attempts.make(HERE, || Instant::now() >= turn);
        assert_eq!(made, Attempt::Right);
        assert!(attempts.lock().failures.is_empty());
    }

    #[test]
    fn many_at_a_time_are_not_looked_at() {
        let attempts = LoginThrottle::with(HERE, 1000);
        let guess = || attempts.make(HERE, || panic!("the password was checked"));
        let made: Vec<Attempt> = std::thread::scope(|scope| {
            let guessing: Vec<_> = (0..8).map(|_| scope.spawn(guess)).collect();
            assert_eq!(attempts.make(THERE, || true), Attempt::Right);
            guessing.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert_eq!(made, [Attempt::TooSoon; 8]);
    }

    #[test]
    fn what_is_remembered_has_an_end() {
        let attempts = LoginThrottle::default();
        for number in 0..ADDRESSES_MAX as u32 + 9 {
            let address = IpAddr::V4(number.into());
            assert_eq!(attempts.make(address, || false), Attempt::Wrong);
        }
        assert_eq!(attempts.lock().failures.len(), ADDRESSES_MAX);
        let of = |last| IpAddr::V6(Ipv6Addr::new(1, 2, 3, 4, 5, 6, 7, last));
        assert_eq!(network(of(1)), network(of(2)));
    }
}
