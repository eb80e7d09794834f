//! Goal: what became of a commit is known to the owner's successor, also when a checkpoint has cut the log since; a
//! statement whose owner ends before its first row runs again, and its reader notices nothing.

use super::{committed, random_bytes};
use crate::database::Place;
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
    let Ok(Place::There(attached)) = other.place() else {
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
    assert!(matches!(other.place(), Ok(Place::There(_))), "attached");
    let reader = std::thread::spawn(move || {
        let text = "UNWIND range(1, 7000000) AS i RETURN sum(i % 7) AS sum";
        let mut result = other.connect().query(text, &Params::new()).expect("begun");
        let row = result.next_row().expect("a row").expect("one row");
        assert!(result.next_row().expect("the end").is_none());
        (row.into_values(), other)
    });
    // Long enough for the statement to have begun, usually; whenever this comes, the answer is the same.
    std::thread::sleep(std::time::Duration::from_millis(50));
    drop(owner);
    let (values, other) = reader.join().expect("no panic");
    assert_eq!(values, [crate::Value::Integer(21_000_000)]);
    let after = other.connect().query("RETURN 1 AS one", &Params::new());
    after.expect("run here");
    assert_eq!(other.attached_to(), None, "it has taken over");
}

#[test]
fn names_of_files_count_from_where_the_statement_comes_from() {
    let (owner, other, folder) = owner_and_attached();
    let Ok(Place::There(attached)) = other.place() else {
        panic!("the second one is attached");
    };
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    std::fs::write(elsewhere.join("rows.csv"), "1\n2\n").expect("a file");
    for inside in [false, true] {
        let mut session = attached.session().expect("a session");
        if inside {
            let begun = session.begin(TransactionOptions::default());
            begun.expect("begun");
        }
        let mut rows = |text: &str| {
            let options = TransactionOptions::default();
            let folder = elsewhere.as_path().into();
            let head = session.run(options, None, folder, text, &Params::new());
            head.expect("run");
            let mut rows = Vec::new();
            while let super::client::Part::Rows(more) = session.next().expect("more") {
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
