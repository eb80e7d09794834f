//! Goal: several processes write to one database, and none of their acknowledged statements is lost
//! or done twice when the process that owns the file is killed, nor when a torture kills writers of
//! several threads.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::program::{folder, graven};

fn rows(db: &str, text: &str) -> serde_json::Value {
    let said = graven(["query", db, text, "--format", "json"]).ok();
    let whole: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    whole["rows"].clone()
}

/// A shell that adds one to the counter until it is stopped or killed.
struct Client {
    child: Child,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    /// Whether the last statement got no answer.
    worker: JoinHandle<bool>,
}

impl Client {
    fn start(db: &str) -> Client {
        let mut child = Command::new(env!("CARGO_BIN_EXE_graven"))
            .args(["shell", db, "--format", "json", "--memory", "32MiB"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("piped");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let (stop, acknowledged) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&acknowledged));
        let worker = std::thread::spawn(move || {
            while !stopped.load(SeqCst) {
                let mut line = String::new();
                let asked = writeln!(input, "MATCH (c:Counter) SET c.n = c.n + 1;");
                if asked.is_err() || output.read_line(&mut line).is_err() || !line.ends_with('\n') {
                    return true;
                }
                assert!(!line.contains("\"error\""), "{line}");
                count.fetch_add(1, SeqCst);
            }
            false
        });
        Client {
            child,
            stop,
            acknowledged,
            worker,
        }
    }

    fn wait_for(&self, more: u64) {
        let from = self.acknowledged.load(SeqCst);
        let begun = Instant::now();
        while self.acknowledged.load(SeqCst) < from + more && !self.worker.is_finished() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no answers come");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Acknowledged statements, and those without an answer.
    fn end(mut self, kill: bool) -> (u64, u64) {
        match kill {
            true => self.child.kill().expect("killed"),
            false => self.stop.store(true, SeqCst),
        }
        let unanswered = self.worker.join().expect("only answers without errors");
        self.child.wait().expect("ends");
        (self.acknowledged.load(SeqCst), u64::from(unanswered))
    }
}

#[test]
fn no_statement_is_lost_or_done_twice_when_the_owner_is_killed() {
    let folder = folder("processes");
    let db = folder.join("counter.graven").display().to_string();
    graven(["query", &db, "CREATE (:Counter {n: 0})"]).ok();
    let mut clients = Vec::new();
    for _ in 0..4 {
        // The one before it has answers, so the first is the owner.
        let client = Client::start(&db);
        client.wait_for(5);
        clients.push(client);
    }
    let (mut acknowledged, mut unanswered) = (0, 0);
    let mut count = |(done, open): (u64, u64)| {
        acknowledged += done;
        unanswered += open;
    };
    // The first kill hits the owner; which of the others took over is theirs to settle, so all but
    // one go in turn.
    for _ in 0..3 {
        count(clients.remove(0).end(true));
        clients.iter().for_each(|client| client.wait_for(20));
    }
    clients
        .into_iter()
        .for_each(|client| count(client.end(false)));
    let n = rows(&db, "MATCH (c:Counter) RETURN c.n")[0][0].as_u64();
    let n = n.expect("a number");
    assert!(
        (acknowledged..=acknowledged + unanswered).contains(&n),
        "{acknowledged} acknowledged, {unanswered} without answer, but the counter says {n}"
    );
    graven(["check", &db]).ok();
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_short_torture_loses_nothing() {
    let folder = folder("torture");
    let directory = folder.display().to_string();
    let args = [
        "torture",
        &directory,
        "--rounds",
        "4",
        "--seconds",
        "6",
        "--full-disk-mib",
        "2",
    ];
    let said = graven(args.into_iter().chain(["--json"])).ok();
    let report: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    for count in [
        "kills",
        "acknowledged",
        "checkpoint_kills",
        "checkpoints",
        "refused",
        "after_room",
    ] {
        assert!(report[count].as_u64() > Some(0), "{count}: {}", said.out);
    }
    assert_eq!(report["full_disks"], 2, "{}", said.out);
    let left = std::fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(left, 0, "files are left behind");
    std::fs::remove_dir_all(folder).expect("removed");
}

/// Goal: `graven cache` asks the process that has the database open, and says so where there is
/// none.
#[test]
fn a_warm_set_is_saved_and_loaded_where_the_memory_is() {
    let folder = folder("warm");
    let place = |name: &str| folder.join(name).display().to_string();
    let (db, set) = (place("warm.graven"), place("hot.warm"));
    rows(&db, "UNWIND range(1, 20000) AS n CREATE (:Counter {n: n})");
    let alone = graven(["cache", "save", &db, &set]);
    assert!(
        alone.code == 1 && alone.err.contains("no process has"),
        "{alone:?}"
    );
    let client = Client::start(&db);
    client.wait_for(1);
    let saved = graven(["cache", "save", &db, &set]).ok();
    assert!(saved.out.contains("ranges of ids"), "{saved:?}");
    let loaded = graven(["cache", "load", &db, &set]).ok();
    assert!(loaded.out.contains("pages are in memory"), "{loaded:?}");
    client.end(false);
}
