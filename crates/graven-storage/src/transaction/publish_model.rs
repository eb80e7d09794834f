//! Goal: commits become visible in order, none before it is durable, and none returns before it is
//! visible (TX-9, TX-16), nor before what it conflicts with is (TX-18), whatever the threads'
//! order, with less than full durability among them, beside versions that are replaced by a
//! checkpoint, and where a sync fails. Method: `publish.rs` compiled over the locks of `shuttle`,
//! which runs random schedules of a few committing threads against a log that knows what it has
//! synced.

mod sync {
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
}

#[path = "publish.rs"]
#[allow(clippy::duplicate_mod, reason = "the same code over other locks")]
mod publish;

use publish::{Publisher, VersionSink, Versioned};
use shuttle::sync::Mutex;
use shuttle::thread;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default)]
struct Version {
    timestamp: u64,
    lsn: u64,
    /// End of the newest commit in it that has to be durable first.
    awaited: u64,
    /// How often a checkpoint has replaced it.
    generation: u64,
}

impl Versioned for Version {
    fn timestamp(&self) -> u64 {
        self.timestamp
    }

    fn lsn(&self) -> u64 {
        self.lsn
    }
}

/// When a commit may be acknowledged: when it is durable, when it says so, at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durability {
    Full,
    Relaxed,
    Off,
}

#[derive(Debug, Default)]
struct Log {
    synced: u64,
    syncs: u64,
    failing: Option<u64>,
    broken: bool,
}

#[derive(Default)]
struct Store {
    /// The newest version, under the commit lock.
    applied: Mutex<Version>,
    visible: Mutex<Version>,
    log: Mutex<Log>,
    publisher: Publisher<Version>,
}

impl VersionSink<Version> for Store {
    type Error = &'static str;

    fn retire(&self, _versions: Vec<Version>) {}

    fn make_visible(&self, version: Version) -> Version {
        let synced = self.log.lock().unwrap().synced;
        let mut visible = self.visible.lock().unwrap();
        assert!(visible.timestamp <= version.timestamp, "TX-9: in order");
        assert!(visible.generation <= version.generation, "none is lost");
        assert!(
            version.awaited <= synced,
            "TX-9: {version:?} is shown, {synced} is durable"
        );
        std::mem::replace(&mut *visible, version)
    }

    fn durable(&self) -> u64 {
        self.log.lock().unwrap().synced
    }

    fn failure(&self) -> Option<&'static str> {
        self.log
            .lock()
            .unwrap()
            .broken
            .then_some("the disk is gone")
    }
}

impl Store {
    /// One commit; false if the log failed.
    fn commit(&self, durability: Durability) -> bool {
        let relaxed = durability != Durability::Full;
        let version = {
            let mut applied = self.applied.lock().unwrap();
            applied.timestamp += 1;
            applied.lsn += 1;
            if !relaxed {
                applied.awaited = applied.lsn;
            }
            self.publisher.push(*applied, durability == Durability::Off);
            *applied
        };
        if !relaxed && !self.sync() {
            self.publisher.wake();
            return false;
        }
        match self.publisher.publish(version.timestamp, self) {
            Ok(()) => {
                let visible = *self.visible.lock().unwrap();
                assert!(visible.timestamp >= version.timestamp, "TX-16");
                true
            }
            Err(_) => {
                assert!(self.log.lock().unwrap().broken, "no error without a cause");
                false
            }
        }
    }

    /// A commit that conflicts with the newest one.
    fn conflict(&self) -> bool {
        let met = self.applied.lock().unwrap().timestamp;
        match self.publisher.wait_visible(met, self) {
            Ok(()) => {
                assert!(self.visible.lock().unwrap().timestamp >= met, "TX-18");
                true
            }
            Err(_) => {
                assert!(self.log.lock().unwrap().broken, "no error without a cause");
                false
            }
        }
    }

    /// Makes everything appended durable.
    fn sync(&self) -> bool {
        let reached = self.applied.lock().unwrap().lsn;
        thread::yield_now();
        let mut log = self.log.lock().unwrap();
        log.syncs += 1;
        log.broken |= log.failing == Some(log.syncs);
        if !log.broken {
            log.synced = log.synced.max(reached);
        }
        !log.broken
    }

    /// What a checkpoint does to the newest version.
    fn replace(&self) {
        let mut applied = self.applied.lock().unwrap();
        applied.generation += 1;
        self.publisher.replace_newest(*applied, self);
    }
}

fn run(failing: Option<u64>) {
    let store = Arc::new(Store::default());
    store.log.lock().unwrap().failing = failing;
    let clients: Vec<_> = (0..5)
        .map(|client| {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                let mut all = true;
                for round in 0..2 {
                    match client {
                        0 => store.replace(),
                        4 => all &= store.conflict(),
                        1 => all &= store.commit([Durability::Relaxed, Durability::Off][round]),
                        _ => all &= store.commit(Durability::Full),
                    }
                }
                all
            })
        })
        .collect();
    let outcomes: Vec<bool> = clients.into_iter().map(|it| it.join().unwrap()).collect();
    let visible = *store.visible.lock().unwrap();
    if failing.is_none() {
        assert!(outcomes.iter().all(|all| *all));
        assert_eq!((visible.timestamp, visible.generation), (6, 2));
    }
}

#[test]
fn commits_become_visible_in_order() {
    shuttle::check_random(|| run(None), 3000);
    shuttle::check_pct(|| run(None), 1500, 3);
}

#[test]
fn a_failed_sync_shows_nothing_more() {
    shuttle::check_random(|| run(Some(2)), 2000);
    shuttle::check_pct(|| run(Some(1)), 1000, 3);
}
