//! Goal: what became of a commit is known to the owner's successor, also when a checkpoint has cut
//! the log since. A statement whose owner ends before its first row runs again, and its reader
//! notices nothing. Where no process can take over, the outcome of a commit is reported as unknown,
//! and that of nothing else. A thread that waits for an owner that does not answer waits no longer
//! than its statement may take, or until it is cancelled.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use graven_storage::Durable;

use super::address::Listener;
use super::message::{Reply, Request};
use super::reply_timeout::ReplyTimeout;
use super::{committed, random_bytes};
use crate::instance::Backend;
use crate::{Config, Database, Params, TransactionOptions};

/// A new database opened twice: the second one is attached to the first.
fn owner_and_attached() -> (Database, Database, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shared.graven");
    let open = || {
        let config = Config {
            create: true,
            memory: 32 << 20,
            ..Config::default()
        };
        Database::open(&path, config).expect("opened or attached")
    };
    (open(), open(), folder)
}

#[test]
fn a_successor_knows_commits_from_before_a_checkpoint() {
    let (owner, other, _folder) = owner_and_attached();
    let Ok(Backend::Remote(attached)) = other.backend() else {
        panic!("the second one is attached");
    };
    let commit = random_bytes();
    let options = TransactionOptions::default().client_id(commit);
    let mut transaction = other
        .connect()
        .with_options(options)
        .begin()
        .expect("begun");
    let created = transaction.query("CREATE (:N {i: 1})", &Params::new());
    created.expect("created");
    transaction.commit().expect("committed");
    for number in 0..3 {
        let text = format!("MATCH (n:N) SET n.i = {number}");
        owner.connect().query(&text, &Params::new()).expect("set");
        owner.checkpoint().expect("a checkpoint");
    }
    drop(owner);
    assert!(committed(&other, &attached, commit).expect("an answer"));
    assert_eq!(other.attached_to(), None, "it has taken over");
    assert!(!committed(&other, &attached, random_bytes()).expect("an answer"));
}

#[test]
fn a_reader_whose_owner_ends_before_the_first_row_gets_its_rows() {
    let (owner, other, _folder) = owner_and_attached();
    assert!(
        matches!(other.backend(), Ok(Backend::Remote(_))),
        "attached"
    );
    let reader = std::thread::spawn(move || {
        let text = "UNWIND range(1, 7000000) AS i RETURN sum(i % 7) AS sum";
        let mut result = other.connect().query(text, &Params::new()).expect("begun");
        let row = result.next_row().expect("a row").expect("one row");
        assert!(result.next_row().expect("the end").is_none());
        (row.into_values(), other)
    });
    // Long enough for the statement to have begun, usually; whenever this comes, the answer is the
    // same.
    std::thread::sleep(Duration::from_millis(50));
    drop(owner);
    let (values, other) = reader.join().expect("no panic");
    assert_eq!(values, [crate::Value::Integer(21_000_000)]);
    let after = other.connect().query("RETURN 1 AS one", &Params::new());
    after.expect("run here");
    assert_eq!(other.attached_to(), None, "it has taken over");
}

fn opened(path: &Path, memory: u64, attach: bool) -> Database {
    let config = Config {
        create: true,
        memory,
        attach,
        ..Config::default()
    };
    Database::open(path, config).expect("opened or attached")
}

/// An owner that has run some statements, does the first commit it is asked for and ends before it
/// answers; gives what `next` opens after that.
fn silent_owner(
    before: &[&str],
    next: impl FnOnce(&Path) -> Option<Database> + Send + 'static,
) -> SilentOwner {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shared.graven");
    let owner = opened(&path, 32 << 20, false);
    for text in before {
        let done = owner.connect().query(text, &Params::new());
        done.expect(text);
    }
    let listener = Listener::bind(&path).expect("a socket");
    let place = path.clone();
    let thread = std::thread::spawn(move || {
        let mut socket = listener.accept().expect("a client");
        let mut transaction = None;
        loop {
            let request = Request::receive(&mut *socket).expect("a request");
            let reply = match request {
                Request::Hello { .. } => Reply::Welcome {
                    process: 0,
                    session: 1,
                    key: 1,
                    memory: 0,
                },
                Request::Begin { options } => {
                    let begun = owner.connect().begin_with(options).expect("begun");
                    let created = transaction
                        .insert(begun)
                        .query("CREATE (:N)", &Params::new());
                    created.expect("created");
                    Reply::Done(crate::summary::Commit::default())
                }
                Request::Commit => {
                    let commits = transaction.take().expect("begun").commit();
                    commits.expect("committed");
                    break;
                }
                Request::Run { options, text, .. } => {
                    let connection = owner.connect().with_options(options);
                    let done = connection.query(&text, &Params::new());
                    drop(done.expect("done"));
                    break;
                }
                other => panic!("{other:?} is not asked here"),
            };
            reply.send(&mut *socket).expect("sent");
        }
        drop((listener, owner, socket));
        next(&place)
    });
    SilentOwner {
        path,
        thread,
        _folder: folder,
    }
}

struct SilentOwner {
    path: PathBuf,
    thread: JoinHandle<Option<Database>>,
    _folder: tempfile::TempDir,
}

/// Memory with which a process can be attached but own nothing.
const TOO_LITTLE: u64 = 1;

fn one(path: &Path, text: &str) -> crate::Value {
    let connection = opened(path, 32 << 20, true).connect();
    let mut result = connection.query(text, &Params::new()).expect("run");
    let row = result.next_row().expect("a row").expect("one row");
    row.into_values().remove(0)
}

fn nodes(path: &Path) -> crate::Value {
    one(path, "MATCH (n:N) RETURN count(n)")
}

#[test]
fn a_commit_whose_outcome_is_unknown_says_so() {
    for explicit in [false, true] {
        let owner = silent_owner(&[], |_| None);
        let connection = opened(&owner.path, TOO_LITTLE, true).connect();
        let answer = match explicit {
            false => connection.query("CREATE (:N)", &Params::new()).map(|_| ()),
            true => connection
                .begin()
                .and_then(|begun| begun.commit().map(|_| ())),
        };
        let error = answer.expect_err("no process takes over");
        owner.thread.join().expect("no panic");
        assert_eq!(error.code(), "Transaction.OutcomeUnknown", "{error}");
        assert_eq!(error.durable(), Some(Durable::Unknown), "{error}");
        assert!(!error.is_retryable(), "{error}");
        assert!(error.message().contains("Config.Invalid"), "{error}");
        assert_eq!(nodes(&owner.path), crate::Value::Integer(1), "it is there");
        // What was never asked for has no outcome to be unknown.
        let error = connection.query("CREATE (:N)", &Params::new());
        let error = error.expect_err("no process takes over");
        assert_eq!(error.code(), "Config.Invalid", "{error}");
        assert_eq!(error.durable(), None);
    }
}

#[test]
fn a_read_is_told_why_no_process_takes_over() {
    let owner = silent_owner(&[], |_| None);
    let connection = opened(&owner.path, TOO_LITTLE, true).connect();
    let error = connection.query("MATCH (n) RETURN n", &Params::new());
    let error = error.expect_err("no process takes over");
    assert_eq!(error.code(), "Config.Invalid", "{error}");
    assert_eq!(error.durable(), None);
}

#[test]
fn another_process_that_takes_over_is_asked_for_the_outcome() {
    let owner = silent_owner(&[], |path| {
        // Late enough for the client to have tried before, usually; the answer is the same.
        std::thread::sleep(Duration::from_millis(100));
        Some(opened(path, 32 << 20, true))
    });
    let client = opened(&owner.path, TOO_LITTLE, true);
    let result = client.connect().query("CREATE (:N)", &Params::new());
    let result = result.expect("the successor knows");
    assert_eq!(result.summary().notices[0].code, "OwnerLost");
    let _successor = owner.thread.join().expect("no panic");
    assert_eq!(nodes(&owner.path), crate::Value::Integer(1), "done once");
    let count = client
        .connect()
        .query("MATCH (n:N) RETURN n", &Params::new());
    assert_eq!(count.expect("attached to it").count(), 1);
}

/// Goal: what a macro or a procedure changes is done once, as what a clause changes (AT-3).
#[test]
fn a_change_behind_a_call_is_done_once() {
    let before = [
        "CREATE SEQUENCE s",
        "CREATE MACRO following() AS nextval('s')",
    ];
    for (text, asked) in [
        ("RETURN following() AS x", "RETURN currval('s') AS x"),
        ("RETURN nextval('s') AS x", "RETURN currval('s') AS x"),
        (
            "CALL apoc.create.node(['N'], {}) YIELD node RETURN node",
            "MATCH (n:N) RETURN count(n)",
        ),
    ] {
        let owner = silent_owner(&before, |_| None);
        let client = opened(&owner.path, 32 << 20, true);
        let done = client.connect().query(text, &Params::new());
        drop(done.expect(text));
        owner.thread.join().expect("no panic");
        assert_eq!(one(&owner.path, asked), crate::Value::Integer(1), "{text}");
    }
}

/// Goal: batches that a procedure commits by themselves are not committed again (AT-3).
#[test]
fn a_procedure_in_transactions_is_not_run_again() {
    let owner = silent_owner(&[], |_| None);
    let client = opened(&owner.path, 32 << 20, true).connect();
    let text = "CALL apoc.periodic.iterate('RETURN 1 AS x', 'CREATE (:N)', {})";
    let error = client.query(text, &Params::new()).map(|_| ());
    let error = error.expect_err("its owner is lost");
    owner.thread.join().expect("no panic");
    assert_eq!(error.code(), "Statement.OwnerLost", "{error}");
    assert_eq!(nodes(&owner.path), crate::Value::Integer(1));
}

#[test]
fn names_of_files_count_from_where_the_statement_comes_from() {
    let (owner, other, folder) = owner_and_attached();
    let Ok(Backend::Remote(attached)) = other.backend() else {
        panic!("the second one is attached");
    };
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    std::fs::write(elsewhere.join("rows.csv"), "1\n2\n").expect("a file");
    for inside in [false, true] {
        let mut session = attached
            .session(ReplyTimeout::default())
            .expect("a session");
        if inside {
            let begun = session.begin(TransactionOptions::default());
            begun.expect("begun");
        }
        let mut rows = |text: &str| {
            let options = TransactionOptions::default();
            let mut access = crate::Access::default();
            access.count_from(elsewhere.as_path().into());
            let head = session.run(options, None, access, text, &Params::new());
            head.expect("run");
            let mut rows = Vec::new();
            while let super::client::ReplyPart::Rows(more) = session.next(text).expect("more") {
                rows.extend(more);
            }
            rows
        };
        let read = rows("LOAD CSV FROM 'rows.csv' AS row RETURN row[0], file()");
        let texts = |texts: [&str; 2]| texts.map(crate::Value::from).to_vec();
        let wanted = [texts(["1", "rows.csv"]), texts(["2", "rows.csv"])];
        assert_eq!(read, wanted, "in a transaction: {inside}");
        let name = format!("copy-{inside}.graven");
        rows(&format!("CALL graven.backup('{name}')"));
        assert!(elsewhere.join(name).exists(), "in a transaction: {inside}");
    }
    let here = owner.connect();
    let missing = here.query("LOAD CSV FROM 'rows.csv' AS row RETURN row", &Params::new());
    let missing = missing.and_then(|mut result| result.next_row());
    missing.expect_err("the owner's own statements count from its own place");
    assert_eq!(
        &*super::working_folder(),
        std::env::current_dir().expect("a folder")
    );
}

/// A process that holds the file and answers nothing, after so many requests that it does.
fn mute_owner(answers: usize) -> (PathBuf, mpsc::Sender<()>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shared.graven");
    let owner = opened(&path, 32 << 20, false);
    let listener = Listener::bind(&path).expect("a socket");
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let mut sockets = vec![listener.accept().expect("a client")];
        for _ in 0..answers {
            let socket = &mut *sockets[0];
            let request = Request::receive(socket).expect("a request");
            assert!(matches!(request, Request::Hello { .. }), "{request:?}");
            let welcome = Reply::Welcome {
                process: 0,
                session: 1,
                key: 1,
                memory: 0,
            };
            welcome.send(socket).expect("sent");
        }
        // Until the test is over.
        let _ = wait.recv();
        drop((owner, listener, sockets));
    });
    (path, done, folder)
}

fn patient_for(path: &Path, time: Duration) -> Result<Database, crate::Error> {
    let config = Config {
        timeout: Some(time),
        ..Config::default()
    };
    Database::open(path, config)
}

#[test]
fn a_timeout_is_kept_where_the_owner_does_not_answer() {
    let short = Duration::from_millis(20);
    let (path, _done, _folder) = mute_owner(0);
    let error = patient_for(&path, short).expect_err("the owner does not answer");
    assert_eq!(error.code(), "Statement.TimedOut", "{error}");
    assert!(error.is_retryable(), "nothing was asked");
    for (text, durable) in [
        ("CREATE (:N)", Some(Durable::Unknown)),
        ("MATCH (n) RETURN n", None),
    ] {
        let (path, _done, _folder) = mute_owner(1);
        // The greeting is answered.
        let client = patient_for(&path, Duration::from_secs(60)).expect("attached");
        let connection = client.connect().with_timeout(Some(short));
        let error = connection.query(text, &Params::new()).expect_err("mute");
        assert_eq!(error.code(), "Statement.TimedOut", "{text}: {error}");
        assert_eq!(error.durable(), durable, "{text}: {error}");
        assert_eq!(error.is_retryable(), durable.is_none(), "{text}: {error}");
        let told = error.message().contains("may have committed");
        assert_eq!(told, durable.is_some(), "{text}: {error}");
    }
}

#[test]
fn a_statement_is_cancelled_where_the_owner_does_not_answer() {
    let (path, _done, _folder) = mute_owner(1);
    let connection = opened(&path, 32 << 20, true).connect();
    let handle = connection.cancel_handle();
    let asked = std::thread::spawn(move || connection.query("CREATE (:N)", &Params::new()));
    while !asked.is_finished() {
        // The statement may begin late, and forgets what was asked before.
        std::thread::sleep(Duration::from_millis(100));
        handle.cancel();
    }
    let error = asked.join().expect("no panic").expect_err("cancelled");
    assert_eq!(error.code(), "Statement.Cancelled", "{error}");
    assert_eq!(error.durable(), Some(Durable::Unknown), "{error}");
}
