//! Goal: the group commit keeps LG-2 and LG-3 whatever the threads' order. Method: `group.rs`
//! compiled over the locks of `shuttle`, which runs random schedules of a few threads against a
//! device that knows what it has written and synced, and whose syncs may fail.

mod sync {
    pub(super) use shuttle::sync::atomic::{AtomicU32, Ordering};
    pub(super) use shuttle::sync::{Mutex, MutexGuard};
    pub(super) use shuttle::thread::{Thread, current, park};

    /// For some steps of the others, which is as good as any time.
    pub(super) fn park_for(_: std::time::Duration, is_called: impl Fn() -> bool) {
        for _ in 0..3 {
            if is_called() {
                return;
            }
            shuttle::thread::yield_now();
        }
    }
}

#[path = "group.rs"]
#[allow(dead_code, reason = "the model drives a part of it")]
#[allow(clippy::duplicate_mod, reason = "the same code over other locks")]
mod group;

use std::sync::Arc;
use std::time::Duration;

use group::{Device, Group};
use shuttle::sync::Mutex;
use shuttle::thread;

use crate::Lsn;

#[derive(Debug, Default)]
struct Disk {
    appended: u64,
    written: u64,
    synced: u64,
    syncs: u64,
    /// The sync with this number fails, and everything written since the last one is gone.
    failing: Option<u64>,
    broken: bool,
    served: u32,
    /// The syncer waits for its group.
    patient: bool,
    /// Calls at this moment, to see that roles are exclusive.
    writing: bool,
    syncing: bool,
}

struct Simulated(Mutex<Disk>);

impl Device for Simulated {
    fn write(&self, durable: Lsn, _even_empty: bool) -> Result<Lsn, Arc<str>> {
        let target = {
            let mut disk = self.0.lock().unwrap();
            assert!(!disk.writing, "one writer");
            assert!(
                durable.0 <= disk.synced,
                "LG-2: {durable} is called durable"
            );
            disk.writing = true;
            disk.appended
        };
        thread::yield_now();
        let mut disk = self.0.lock().unwrap();
        disk.writing = false;
        disk.written = target;
        Ok(Lsn(target))
    }

    fn sync(&self) -> Result<(), Arc<str>> {
        let reached = {
            let mut disk = self.0.lock().unwrap();
            assert!(!disk.broken, "LG-3: no sync after a failed one");
            assert!(!disk.syncing, "one syncer");
            disk.syncing = true;
            disk.written
        };
        thread::yield_now();
        let mut disk = self.0.lock().unwrap();
        disk.syncing = false;
        disk.syncs += 1;
        if disk.failing == Some(disk.syncs) {
            disk.broken = true;
            return Err("the disk is gone".into());
        }
        disk.synced = reached;
        Ok(())
    }

    fn served(&self, group: u32) {
        self.0.lock().unwrap().served += group;
    }

    fn group_wait_max(&self) -> Option<Duration> {
        self.0.lock().unwrap().patient.then_some(Duration::ZERO)
    }
}

fn run(failing: Option<u64>, patient: bool) {
    let disk = Arc::new(Simulated(Mutex::new(Disk {
        failing,
        patient,
        ..Disk::default()
    })));
    let group = Arc::new(Group::new(Lsn(0)));
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let (disk, group) = (Arc::clone(&disk), Arc::clone(&group));
            thread::spawn(move || {
                for _ in 0..2 {
                    let lsn = {
                        let mut disk = disk.0.lock().unwrap();
                        disk.appended += 1;
                        Lsn(disk.appended)
                    };
                    if client == 3 {
                        let _ = group.wait_written(&*disk, lsn);
                        continue;
                    }
                    match group.wait_durable(&*disk, lsn) {
                        Ok(_) => assert!(disk.0.lock().unwrap().synced >= lsn.0, "LG-2: {lsn}"),
                        Err(_) => {
                            assert!(disk.0.lock().unwrap().broken, "no error without a cause")
                        }
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    let disk = disk.0.lock().unwrap();
    assert!(group.durable().0 <= disk.synced, "LG-2");
    assert_eq!(group.failed().is_some(), disk.broken);
    if !disk.broken {
        assert!((1..=6).contains(&disk.syncs));
        // Fewer where another thread's sync had covered a commit before it asked.
        assert!(disk.served <= 6, "no commit is served twice");
    }
}

#[test]
fn no_commit_is_acknowledged_too_early() {
    for patient in [false, true] {
        shuttle::check_random(move || run(None, patient), 3000);
        shuttle::check_pct(move || run(None, patient), 1500, 3);
    }
}

#[test]
fn a_failed_sync_ends_everything() {
    for patient in [false, true] {
        shuttle::check_random(move || run(Some(2), patient), 2000);
        shuttle::check_pct(move || run(Some(1), patient), 1000, 3);
    }
}
