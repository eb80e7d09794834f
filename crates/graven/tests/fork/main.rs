//! Goal: in a process made by `fork` everything that was opened before refuses and harms no other
//! process, neither used nor dropped. Opened again the database works there as in any other
//! process. The parent notices nothing, and what it leaves can be had at once when it ends.
//!
//! A binary of its own: its tests run one after another, so that few threads are there when a
//! process is made.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use graven::{Config, Connection, Database, Error, Params, Prepared, QueryResult, Transaction};

/// How a child ends whose expectations were not met.
const FAILED: i32 = 3;

static ONE_AFTER_ANOTHER: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AFTER_ANOTHER
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// A process that was forked, and where it says what went wrong.
struct Child {
    process: libc::pid_t,
    report: PathBuf,
}

/// Runs `body` in a process forked here, which then ends as programs do.
fn fork(folder: &Path, body: impl FnOnce()) -> Child {
    let report = folder.join("child-failed");
    // SAFETY: the child runs `body`, which needs no other thread and no lock of the test, and ends.
    let process = unsafe { libc::fork() };
    assert!(process >= 0, "fork: {}", std::io::Error::last_os_error());
    if process != 0 {
        return Child { process, report };
    }
    let Err(panic) = catch_unwind(AssertUnwindSafe(body)) else {
        std::process::exit(0);
    };
    // Without the report the status still says so.
    let _ = std::fs::write(&report, said(&*panic));
    std::process::exit(FAILED)
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words")
}

impl Child {
    /// How it ended: 0 if well, minus the signal if by one.
    fn status(&self) -> i32 {
        let mut status = 0;
        // SAFETY: a place for the status of a child of this process.
        let waited = unsafe { libc::waitpid(self.process, &raw mut status, 0) };
        assert_eq!(waited, self.process);
        match libc::WIFEXITED(status) {
            true => libc::WEXITSTATUS(status),
            false => -libc::WTERMSIG(status),
        }
    }

    fn ends_well(&self) {
        let status = self.status();
        let report = std::fs::read_to_string(&self.report).unwrap_or_default();
        assert_eq!(status, 0, "{report}");
    }
}

fn open(path: &Path) -> Database {
    let mut config = Config::default();
    config.memory = 8 << 20;
    config.create = true;
    Database::open(path, config).expect("opened or attached")
}

fn run(db: &Database, text: &str) {
    let result = db.connect().query(text, &Params::new()).expect(text);
    result.for_each(|row| drop(row.expect(text)));
}

/// The names of all nodes, in order.
fn names(db: &Database) -> String {
    let text = "MATCH (n:N) RETURN n.name ORDER BY n.name";
    let result = db.connect().query(text, &Params::new()).expect(text);
    let name = |row: Result<graven::Row, Error>| match row.expect(text).values() {
        [graven::Value::String(name)] => name.to_string(),
        other => panic!("{other:?}"),
    };
    result.map(name).collect()
}

fn is_sound(path: &Path, expected: &str) {
    let db = open(path);
    assert_eq!(db.attached_to(), None, "no other process has the file");
    let report = db.check(&mut |_| {}).expect("checked");
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert_eq!(names(&db), expected);
}

fn refused<T>(result: Result<T, Error>) {
    let error = result.err().expect("refused");
    assert_eq!(error.code(), "Database.Forked", "{error}");
    let parent = std::os::unix::process::parent_id();
    let process = format!("process {parent} ");
    assert!(error.message().contains(&process), "{error}");
}

/// All that can be open when a process forks.
struct Everything {
    db: Database,
    connection: Connection,
    prepared: Prepared,
    result: QueryResult,
    transactions: [Transaction; 3],
}

impl Everything {
    fn of(db: Database) -> Everything {
        let connection = db.connect();
        let text = "UNWIND range(1, 100000) AS i RETURN i, 'a text that fills frames: ' + i";
        let mut result = connection.query(text, &Params::new()).expect(text);
        result.next_row().expect(text).expect("a row");
        let prepared = connection.prepare("MATCH (n:N {name: 'a'}) RETURN n.name");
        let prepared = prepared.expect("prepared");
        let kept = prepared.query(&Params::new()).expect("run");
        kept.for_each(|row| drop(row.expect("a row")));
        let begun = || {
            let mut transaction = connection.begin().expect("begun");
            let text = "CREATE (:N {name: 'never'})";
            transaction.query(text, &Params::new()).expect(text);
            transaction
        };
        Everything {
            transactions: [begun(), begun(), begun()],
            db,
            connection,
            prepared,
            result,
        }
    }

    /// Uses it where nothing of it may be used, and drops it.
    fn must_refuse(self) {
        let none = Params::new();
        let Everything {
            db,
            connection,
            prepared,
            mut result,
            transactions: [mut queried, committed, rolled_back],
        } = self;
        refused(connection.query("MATCH (n) RETURN count(n)", &none));
        refused(connection.query("CREATE (:N {name: 'never'})", &none));
        refused(connection.prepare("RETURN 1"));
        refused(connection.begin());
        refused(prepared.query(&none));
        refused(result.next_row());
        refused(result.next_rows());
        assert_eq!(result.plan(), None);
        refused(queried.query("CREATE (:N {name: 'never'})", &none));
        refused(committed.commit());
        rolled_back.rollback();
        refused(db.checkpoint());
        refused(db.backup(db.path().with_extension("copy")));
        refused(db.set_memory(16 << 20));
        refused(db.names());
        refused(db.check(&mut |_| {}));
        refused(db.info());
        refused(db.cache());
        refused(db.close());
        assert_eq!(db.attached_to(), None);
        assert_eq!(db.memory(), 8 << 20);
        connection.cancel_handle().cancel();
        drop((result, queried, prepared, connection, db));
    }

    /// Goes on with it where it was opened.
    fn goes_on(mut self) -> Database {
        let mut rows = 1;
        while self.result.next_row().expect("a row").is_some() {
            rows += 1;
        }
        assert_eq!(rows, 100_000);
        for transaction in self.transactions {
            transaction.rollback();
        }
        let mut result = self.prepared.query(&Params::new()).expect("run");
        assert!(result.next_row().expect("a row").is_some());
        self.db
    }
}

/// The owner of a new database that holds one name, and a user of it: another handle attached to
/// it, or the owner itself.
fn owner_and_user(path: &Path, attached: bool) -> (Database, Database) {
    let owner = open(path);
    run(&owner, "CREATE (:N {name: 'a'})");
    let user = match attached {
        true => open(path),
        false => owner.clone(),
    };
    (owner, user)
}

/// Goal: a child uses everything that it has inherited and ends, while its parent commits; no other
/// process is harmed.
fn refuses(attached: bool) {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("forked.graven");
    let (owner, db) = owner_and_user(&path, attached);
    assert_eq!(db.attached_to().is_some(), attached);
    let mut everything = Some(Everything::of(db.clone()));
    let (attached_before, mut others) = (open(&path), Some((owner.clone(), db.clone())));
    let child = fork(folder.path(), || {
        everything.take().expect("inherited").must_refuse();
        drop(others.take());
    });
    for name in ["b", "c", "d"] {
        run(&db, &format!("CREATE (:N {{name: '{name}'}})"));
    }
    child.ends_well();
    run(&attached_before, "CREATE (:N {name: 'e'})");
    // Sockets and their file are as they were: others can attach.
    let late = open(&path);
    assert!(late.attached_to().is_some());
    run(&late, "CREATE (:N {name: 'f'})");
    let db_again = everything.take().expect("ours").goes_on();
    let expected = "abcdef";
    assert_eq!(names(&db_again), expected);
    drop((db, db_again, owner, late, attached_before, others));
    is_sound(&path, expected);
}

#[test]
fn a_child_of_the_owner_is_refused() {
    refuses(false);
}

#[test]
fn a_child_of_an_attached_process_is_refused() {
    refuses(true);
}

/// Goal: opened again in the child the database is attached to, read and written, also through a
/// grandchild.
fn works_opened_again(attached: bool) {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("forked.graven");
    let (owner, db) = owner_and_user(&path, attached);
    let parent = std::process::id();
    let child = fork(folder.path(), || {
        refused(db.connect().query("RETURN 1", &Params::new()));
        let again = open(&path);
        assert_eq!(again.attached_to(), Some(parent));
        run(&again, "CREATE (:N {name: 'b'})");
        let mut transaction = again.connect().begin().expect("begun");
        let text = "CREATE (:N {name: 'c'})";
        transaction.query(text, &Params::new()).expect(text);
        let grandchild = fork(folder.path(), || {
            refused(again.connect().query("RETURN 1", &Params::new()));
            run(&open(&path), "CREATE (:N {name: 'd'})");
        });
        grandchild.ends_well();
        transaction.commit().expect("committed");
        assert_eq!(names(&again), "abcd");
    });
    child.ends_well();
    let expected = "abcd";
    assert_eq!(names(&db), expected);
    drop((db, owner));
    is_sound(&path, expected);
}

#[test]
fn a_child_of_the_owner_attaches_to_it() {
    works_opened_again(false);
}

#[test]
fn a_child_of_an_attached_process_attaches_to_the_owner() {
    works_opened_again(true);
}

/// Goal: when a process closes its database or is killed, a child that it has forked keeps neither
/// the lock of the file nor the sockets alive. The next one, which may be that child, owns the
/// file, and attached processes are told.
#[test]
fn what_the_parent_leaves_can_be_had_at_once() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("forked.graven");
    let done = folder.path().join("done");
    // The owner is a process of its own, killed below; its child outlives it.
    let owner = fork(folder.path(), || {
        let db = open(&path);
        run(&db, "CREATE (:N {name: 'a'})");
        let _child = fork(folder.path(), || {
            refused(db.connect().query("RETURN 1", &Params::new()));
            std::fs::write(folder.path().join("ready"), "").expect("written");
            wait_for(&done);
        });
        wait_for(&done);
    });
    wait_for(&folder.path().join("ready"));
    let attached = open(&path);
    assert_eq!(attached.attached_to(), Some(owner.process.unsigned_abs()));
    let mut transaction = attached.connect().begin().expect("begun");
    // SAFETY: a child of this process that has not been waited for.
    unsafe { libc::kill(owner.process, libc::SIGKILL) };
    assert_eq!(owner.status(), -libc::SIGKILL);
    let lost = transaction.query("CREATE (:N {name: 'never'})", &Params::new());
    assert_eq!(
        lost.expect_err("its owner is dead").code(),
        "Transaction.OwnerLost"
    );
    run(&attached, "CREATE (:N {name: 'b'})");
    assert_eq!(attached.attached_to(), None);
    // The same where the parent only closes, and its child takes over.
    let child = fork(folder.path(), || {
        wait_for(&done);
        is_sound(&path, "abc");
        run(&open(&path), "CREATE (:N {name: 'd'})");
    });
    run(&attached, "CREATE (:N {name: 'c'})");
    drop((transaction, attached));
    is_sound(&path, "abc");
    std::fs::write(&done, "").expect("written");
    child.ends_well();
    is_sound(&path, "abcd");
}

/// Waits for another process of the test, which makes this file; or takes the folder away where it
/// fails.
fn wait_for(file: &Path) {
    while !file.exists() {
        let folder = file.parent().expect("in a folder");
        assert!(
            folder.exists(),
            "the test has ended without {}",
            file.display()
        );
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
