//! Goal: what became of a commit is known to the owner's successor, also when a checkpoint has cut the log since.

use super::{committed, random_bytes};
use crate::database::Place;
use crate::{Config, Database, Params, TransactionOptions};

#[test]
fn a_successor_knows_commits_from_before_a_checkpoint() {
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
    let (owner, other) = (open(), open());
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
