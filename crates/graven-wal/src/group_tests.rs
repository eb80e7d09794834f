//! Goal: clients that commit again and again share syncs, instead of half of them being late for
//! each. Method: two threads and a device whose syncs take a while. Without waiting for each other
//! each sync would serve one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use crate::Lsn;
use crate::group::{Device, Group};

const COMMITS: u64 = 100;

#[derive(Default)]
struct Slow {
    appended: AtomicU64,
    syncs: AtomicU64,
}

impl Device for Slow {
    fn write(&self, _durable: Lsn, _even_empty: bool) -> Result<Lsn, Arc<str>> {
        Ok(Lsn(self.appended.load(SeqCst)))
    }

    fn sync(&self) -> Result<(), Arc<str>> {
        self.syncs.fetch_add(1, SeqCst);
        thread::sleep(Duration::from_millis(1));
        Ok(())
    }

    fn served(&self, _group: u32) {}

    fn group_wait_max(&self) -> Option<Duration> {
        Some(Duration::from_millis(500))
    }
}

#[test]
fn clients_share_syncs() {
    let (disk, group) = (Slow::default(), Group::new(Lsn(0)));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..COMMITS {
                    let lsn = Lsn(disk.appended.fetch_add(1, SeqCst) + 1);
                    group.wait_durable(&disk, lsn).expect("durable");
                }
            });
        }
    });
    // Some at the beginning and at the end serve one.
    let syncs = disk.syncs.load(SeqCst);
    assert!(syncs < COMMITS + COMMITS / 4, "{syncs} syncs");
}
