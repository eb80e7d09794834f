//! Goal: each way in which a command about indexes, constraints or users fails has the code and the
//! GQL status that Neo4j 5.26 has for it.

mod client;

use graven::{Config, Database, Value};
use graven_server::{Options, Server};

use client::*;

/// Code and status of what a statement fails with, or `done`.
fn outcome(client: &mut Client, text: &str) -> String {
    let mut answer = client.ask(&run(text));
    if answer.0 == 0x70 {
        answer = client.ask(PULL_ALL);
        while answer.0 == 0x71 {
            answer = client.answer();
        }
    }
    let told = match answer {
        (0x7f, Value::Map(told)) => told,
        (0x70, _) => return "done".to_owned(),
        (kind, other) => panic!("{text}: {kind:x}: {other}"),
    };
    assert_eq!(client.ask(RESET).0, 0x70);
    let said = |name: &str| told[name].as_str().expect("text").to_owned();
    let code = said("neo4j_code");
    format!("{} {}", code.trim_start_matches("Neo."), said("gql_status"))
}

#[test]
fn schema_commands_fail_with_the_codes_of_neo4j() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    config.memory = 32 << 20;
    let database = Database::open(folder.path().join("s.graven"), config).expect("opened");
    let mut options = Options::default();
    options.address = "127.0.0.1:0".to_owned();
    options.open_to_all = true;
    let server = Server::start(database, options).expect("a server");
    let mut client = Client::connect(&server, 8);
    assert_eq!(client.ask(HELLO).0, 0x70);
    assert_eq!(client.ask(LOGON).0, 0x70);
    let mut number = 0;
    let lines = include_str!("schema_codes.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (text, wanted) = line.split_once(" => ").expect("a statement => its outcome");
        assert_eq!(outcome(&mut client, text), wanted, "{text}");
        number += 1;
    }
    assert!(number > 40, "{number}");
}
