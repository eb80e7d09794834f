//! Goal: a client that speaks the protocol byte by byte gets what the specification says, at every
//! step of a conversation, and nothing that it does harms others.

mod client;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use graven::{Config, Database, Params, Value};
use graven_server::{Options, Server, User};

use client::*;

struct Served {
    server: Server,
    database: Database,
    _folder: tempfile::TempDir,
}

fn served(options: impl FnOnce(&mut Options)) -> Served {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.memory = 16 << 20;
    config.create = true;
    let database = Database::open(folder.path().join("social.graven"), config).expect("a database");
    let mut own = Options::default();
    own.address = "127.0.0.1:0".to_owned();
    options(&mut own);
    own.open_to_all |= own.user.is_none() && own.metrics_hosts.is_empty();
    let server = Server::start(database.clone(), own).expect("a server");
    Served {
        server,
        database,
        _folder: folder,
    }
}

fn count(database: &Database, label: &str) -> i64 {
    let text = format!("MATCH (n:{label}) RETURN count(n)");
    number(database, &text, &Params::new())
}

#[test]
fn rows_come_in_parts_of_the_size_that_is_asked_for() {
    let served = served(|_| {});
    let mut client = Client::greeted(&served.server);
    let (signature, head) = client.ask(&run("UNWIND [1, 2, 3, 4, 5] AS x RETURN x, 'a' AS a"));
    let Value::Map(head) = head else {
        panic!("{head}")
    };
    assert_eq!((signature, &head["fields"]), (0x70, &vec!["x", "a"].into()));
    for (first, more) in [(1, true), (3, true), (5, false)] {
        client.send(PULL_TWO);
        for x in first..=5.min(first + 1) {
            assert_eq!(
                client.answer(),
                (0x71, Value::List(vec![x.into(), "a".into()]))
            );
        }
        let (signature, Value::Map(tail)) = client.answer() else {
            panic!("no map")
        };
        assert_eq!((signature, tail.contains_key("has_more")), (0x70, more));
        assert_eq!(tail.contains_key("type"), !more);
    }
    assert_eq!(
        Client::failure(client.ask(PULL_TWO)),
        "Neo.ClientError.Request.Invalid"
    );
    assert_eq!(client.ask(RESET).0, 0x70);
    assert_eq!(
        client
            .ask(&run("UNWIND range(1, 1000000000) AS x RETURN x"))
            .0,
        0x70
    );
    assert_eq!(client.ask(DISCARD_ALL).0, 0x70);
    assert_eq!(client.rows("RETURN 1").0.len(), 1);
}

#[test]
fn after_a_failure_everything_is_ignored_until_a_reset() {
    let served = served(|_| {});
    let mut client = Client::greeted(&served.server);
    client.send(&run("RETURN nobody"));
    client.send(PULL_ALL);
    client.send(&run("CREATE (:Never)"));
    client.send(PULL_ALL);
    assert_eq!(
        Client::failure(client.answer()),
        "Neo.ClientError.Statement.SyntaxError"
    );
    for _ in 0..3 {
        assert_eq!(client.answer().0, 0x7e);
    }
    assert_eq!(client.ask(RESET).0, 0x70);
    assert_eq!(client.rows("RETURN 1").0.len(), 1);
    assert_eq!(count(&served.database, "Never"), 0);
}

#[test]
fn transactions_are_committed_and_rolled_back() {
    let served = served(|_| {});
    let mut client = Client::greeted(&served.server);
    let (rows, tail) = client.rows("CREATE (n:Alone) RETURN n");
    assert_eq!(rows.len(), 1);
    assert_eq!(tail["type"], "rw".into());
    // What it is there for, whatever it changes.
    for (text, kind) in [
        ("EXPLAIN CREATE (n:Never)", "w"),
        ("EXPLAIN MATCH (n) SET n.x = 1 RETURN n", "rw"),
        ("MATCH (n:Nobody) SET n.x = 1", "w"),
        ("EXPLAIN CREATE INDEX FOR (n:Never) ON (n.x)", "s"),
        ("EXPLAIN MATCH (n) RETURN n", "r"),
    ] {
        assert_eq!(client.rows(text).1["type"], kind.into(), "{text}");
    }
    assert!(matches!(&tail["stats"], Value::Map(stats) if stats["nodes-created"] == 1.into()));
    assert!(
        tail["bookmark"]
            .as_str()
            .is_some_and(|it| it.starts_with("graven:"))
    );
    assert_eq!(client.ask(BEGIN).0, 0x70);
    client.rows("CREATE (:Together)");
    assert_eq!(count(&served.database, "Together"), 0);
    // Two statements with rows left at a time, the first one pulled last.
    assert_eq!(client.ask(&run("UNWIND [1, 2, 3] AS x RETURN x")).0, 0x70);
    assert_eq!(client.rows("MATCH (n:Together) RETURN count(n)").0.len(), 1);
    client.send(&[
        0xb1, 0x3f, 0xa2, 0x81, b'n', 0xff, 0x83, b'q', b'i', b'd', 1,
    ]);
    assert_eq!(
        (0..4).map(|_| client.answer().0).collect::<Vec<_>>(),
        [0x71, 0x71, 0x71, 0x70]
    );
    assert_eq!(client.ask(COMMIT).0, 0x70);
    assert_eq!(count(&served.database, "Together"), 1);
    for end in [ROLLBACK, RESET] {
        assert_eq!(client.ask(BEGIN).0, 0x70);
        client.rows("CREATE (:Undone)");
        assert_eq!(client.ask(end).0, 0x70);
    }
    assert_eq!(count(&served.database, "Undone"), 0);
    // A client that goes away in the middle of a transaction leaves nothing open.
    assert_eq!(client.ask(BEGIN).0, 0x70);
    client.rows("MATCH (n:Alone) SET n.by = 'who went away'");
    drop(client);
    let mut client = Client::greeted(&served.server);
    let open = "SHOW TRANSACTIONS YIELD transactionId RETURN count(*) AS open";
    let alone = (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        // The one that asks.
        client.rows(open).0 == [vec![1].into()]
    });
    assert!(alone, "its transaction is still there");
}

#[test]
fn a_reset_and_the_end_of_a_connection_stop_what_runs() {
    let served = served(|_| {});
    let endless = run("UNWIND range(1, 1000000000000) AS x WITH count(x) AS n RETURN n");
    let mut client = Client::greeted(&served.server);
    for pulls in [1, 40] {
        client.send(&endless);
        // More than wait for their turn.
        (0..pulls).for_each(|_| client.send(PULL_ALL));
        client.send(RESET);
        assert_eq!(client.answer().0, 0x70);
        let first = client.answer();
        assert!(matches!(first.0, 0x7e | 0x7f), "{first:?}");
        (1..pulls).for_each(|_| assert_eq!(client.answer().0, 0x7e));
        assert_eq!(client.answer().0, 0x70);
        assert_eq!(client.rows("RETURN 1").0.len(), 1);
    }
    client.send(&endless);
    client.send(PULL_ALL);
    assert_eq!(client.answer().0, 0x70);
    drop(client);
    ends(&served.database, "range(1, 1000000000000)");
}

/// Waits until no statement with this text runs.
fn ends(database: &Database, text: &str) {
    waits_until(|| shown(database, text) == 0);
}

fn waits_until(is_so: impl Fn() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never is");
}

/// How many statements with this text run.
fn shown(database: &Database, text: &str) -> i64 {
    let running = "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery CONTAINS $text AND NOT \
        currentQuery STARTS WITH 'SHOW' RETURN count(*)";
    number(database, running, &Params::new().with("text", text))
}

/// What a statement says in its only row.
fn number(database: &Database, text: &str, params: &Params) -> i64 {
    let row = database
        .connect()
        .query(text, params)
        .expect("runs")
        .next_row();
    let number = row.expect("runs").and_then(|row| row.get(0)?.as_integer());
    number.expect("a number")
}

#[test]
fn users_are_asked_for_their_passwords() {
    let served = served(|options| {
        options.user = Some(User {
            name: "ada".to_owned(),
            password: "secret".to_owned(),
        });
    });
    let logon = |password: &str| {
        let mut message = vec![0xb1, 0x6a, 0xa3];
        for text in [
            "scheme",
            "basic",
            "principal",
            "ada",
            "credentials",
            password,
        ] {
            message.push(0x80 | u8::try_from(text.len()).expect("short"));
            message.extend(text.as_bytes());
        }
        message
    };
    for wrong in [
        LOGON.to_vec(),
        logon("Secret"),
        logon("secre"),
        logon(""),
        run("RETURN 1"),
    ] {
        let mut client = Client::connect(&served.server, 3);
        assert_eq!(client.ask(HELLO).0, 0x70);
        let code = Client::failure(client.ask(&wrong));
        assert_eq!(code, "Neo.ClientError.Security.Unauthorized");
        assert_eq!(client.0.read(&mut [0]).expect("the end"), 0);
    }
    let mut client = Client::connect(&served.server, 3);
    assert_eq!(client.ask(HELLO).0, 0x70);
    assert_eq!(client.ask(&logon("secret")).0, 0x70);
    assert_eq!(client.rows("RETURN 1").0.len(), 1);
}

#[test]
fn nodes_have_the_form_of_the_version() {
    let served = served(|_| {});
    let mut newer = Client::greeted(&served.server);
    let text = "CREATE (a:A {x: 1})-[r:R]->(b) RETURN a, r, elementId(a), elementId(r)";
    let (rows, _) = newer.rows(text);
    let Value::List(row) = &rows[0] else {
        panic!("no row")
    };
    let (Value::List(node), Value::List(relationship)) = (&row[0], &row[1]) else {
        panic!("no structures: {row:?}");
    };
    assert_eq!((node.len(), relationship.len()), (5, 9));
    assert_eq!((&node[4], &relationship[6]), (&row[2], &row[3]));
    let mut older = Client::connect(&served.server, 4);
    assert_eq!(older.ask(HELLO).0, 0x70);
    let (rows, _) = older.rows("MATCH p = (:A)-[r]->() RETURN p");
    let Value::List(row) = &rows[0] else {
        panic!("no row")
    };
    let Value::List(path) = &row[0] else {
        panic!("no path")
    };
    assert_eq!(path[3], vec![1, 1].into());
    assert!(
        matches!(&path[1], Value::List(nodes) if matches!(&nodes[0], Value::List(it) if it.len() == 4))
    );
}

#[test]
fn what_is_no_message_ends_the_connection_alone() {
    let served = served(|options| options.connections_max = 3);
    let mut others = Client::greeted(&served.server);
    for nonsense in [
        &[0xff; 40][..],
        &[0xb1, 0x99, 0xa0],
        &[0xb3, 0x10, 1, 2, 3],
        &[0xb1, 0x3f, 0xd6, 0xff, 0xff, 0xff, 0xff],
    ] {
        let mut client = Client::greeted(&served.server);
        let code = Client::failure(client.ask(nonsense));
        assert_eq!(code, "Neo.ClientError.Request.Invalid");
        assert_eq!(client.0.read(&mut [0]).expect("the end"), 0);
    }
    assert_eq!(others.rows("RETURN 1").0.len(), 1);
    // More clients than the server takes at a time: they are told so, and connections that have not
    // logged in take no place.
    let _idle: Vec<TcpStream> = (0..300)
        .map(|_| TcpStream::connect(served.server.address()).expect("a connection"))
        .collect();
    let more = [(); 2].map(|()| Client::greeted(&served.server));
    let mut refused = Client::connect(&served.server, 3);
    assert_eq!(refused.ask(HELLO).0, 0x70);
    let code = Client::failure(refused.ask(LOGON));
    assert_eq!(code, "Neo.TransientError.Request.NoThreadsAvailable");
    assert_eq!(refused.0.read(&mut [0]).expect("the end"), 0);
    assert_eq!(others.rows("RETURN 1").0.len(), 1);
    drop(more);
    waits_until(|| {
        let mut client = Client::connect(&served.server, 3);
        client.ask(HELLO);
        client.ask(LOGON).0 == 0x70
    });
}

#[test]
fn other_machines_need_a_user() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    let database = Database::open(folder.path().join("x.graven"), config).expect("a database");
    let mut options = Options::default();
    options.address = "0.0.0.0:0".to_owned();
    let error = Server::start(database.clone(), options.clone()).expect_err("open to all");
    options.address = "127.0.0.1:0".to_owned();
    assert!(
        Server::start(database.clone(), options.clone()).is_err(),
        "here, too"
    );
    assert!(error.message().contains("name a user"), "{error}");
    options.open_to_all = true;
    assert!(Server::start(database.clone(), options.clone()).is_ok());
    options.address = "nowhere.invalid:1".to_owned();
    assert!(Server::start(database, options).is_err());
}

#[test]
fn counters_are_those_of_what_was_done() {
    let served = served(|options| options.metrics = Some("127.0.0.1:0".to_owned()));
    let address = served.server.metrics_address().expect("it listens");
    let get = |path: &str| get(&address, path);
    let mut client = Client::greeted(&served.server);
    client.rows("CREATE (:A)-[:R]->(:B)");
    served.database.checkpoint().expect("a checkpoint");
    client.rows("UNWIND [1, 2, 3] AS x RETURN x");
    assert_eq!(client.ask(&run("RETURN nobody")).0, 0x7f);
    let said = get("/metrics");
    assert!(
        said.starts_with("HTTP/1.1 200") && said.contains("version=0.0.4"),
        "{said}"
    );
    for line in [
        "graven_bolt_connections 1",
        "graven_bolt_statements_total 3",
        "graven_bolt_failures_total 1",
        "graven_bolt_rows_total 3",
        "graven_nodes 2",
        "graven_relationships 1",
        "graven_memory_limit_bytes 16777216",
        "# TYPE graven_cache_hits_total counter",
        "graven_log_commit_seconds_count 1",
        "graven_log_not_durable_bytes 0",
    ] {
        assert!(said.lines().any(|it| it == line), "{line} is not in {said}");
    }
    let series = said.lines().filter(|line| line.starts_with("graven_"));
    let mut names: Vec<&str> = series
        .filter_map(|line| Some(line.rsplit_once(' ')?.0))
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "a value that is said twice: {said}");
    assert!(get("/nothing").starts_with("HTTP/1.1 404"));
    let page = get("/");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    for (path, part) in [
        ("/state.json", "\"statements\":3"),
        ("/state.json", "\"commits\":1"),
        ("/contents.json", "\"residentBytes\""),
        ("/graph.json", r#"{"end":"B","start":"A","type":"R"}"#),
    ] {
        assert!(
            page.contains(&path[1..]),
            "the page does not ask for {path}"
        );
        let said = get(path);
        assert!(
            said.starts_with("HTTP/1.1 200") && said.contains(part),
            "{path}: {said}"
        );
    }
}

#[test]
fn a_value_that_is_none_is_a_failure_and_not_the_end() {
    let served = served(|_| {});
    let mut client = Client::greeted(&served.server);
    let zone = b"Nowhere/There";
    let mut message = vec![0xb3, 0x10, 0x88];
    message.extend(b"RETURN 1");
    message.extend([
        0xa1,
        0x81,
        b'z',
        0xb3,
        0x69,
        0,
        0,
        0x80 | u8::try_from(zone.len()).expect("short"),
    ]);
    message.extend(zone);
    message.push(0xa0);
    assert_eq!(
        Client::failure(client.ask(&message)),
        "Neo.ClientError.Request.Invalid"
    );
    assert_eq!(client.ask(&message).0, 0x7e);
    assert_eq!(client.ask(RESET).0, 0x70);
    assert_eq!(client.rows("RETURN 1").0.len(), 1);
}

#[test]
fn before_it_has_logged_in_a_client_sends_little() {
    let served = served(|_| {});
    let mut client = Client::connect(&served.server, 3);
    client.0.write_all(&[0xff, 0xff]).expect("sent");
    // The server may have closed the connection before all of it was sent.
    let _ = client.0.write_all(&[0x91; 0xffff]);
    let _ = client.0.write_all(&[0xff, 0xff]);
    // It is told so, unless the connection was reset before.
    let mut said = Vec::new();
    let _ = client.0.read_to_end(&mut said);
    assert!(said.is_empty() || said.windows(9).any(|part| part == b"a message"));
    assert_eq!(Client::greeted(&served.server).rows("RETURN 1").0.len(), 1);
}

#[test]
fn both_names_of_the_database_are_routed() {
    let served = served(|_| {});
    let mut client = Client::greeted(&served.server);
    for (name, known) in [
        ("social", true),
        ("neo4j", true),
        ("Neo4J", true),
        ("system", true),
        ("other", false),
    ] {
        let mut message = vec![0xb3, 0x66, 0xa0, 0x90, 0xa1, 0x82, b'd', b'b'];
        message.push(0x80 | u8::try_from(name.len()).expect("short"));
        message.extend(name.as_bytes());
        let answer = client.ask(&message);
        match (known, answer) {
            (true, (0x70, Value::Map(map))) => {
                let Value::Map(table) = &map["rt"] else {
                    panic!("no table")
                };
                assert_eq!(table["db"], name.into());
            }
            (false, answer) => {
                assert_eq!(
                    Client::failure(answer),
                    "Neo.ClientError.Database.DatabaseNotFound"
                );
            }
            (true, (signature, other)) => panic!("{signature:x}: {other}"),
        }
    }
}

const TIMED_OUT: &str = "Neo.ClientError.Transaction.TransactionTimedOut";

#[test]
fn what_is_left_open_ends_by_itself() {
    let served = served(|options| options.idle_timeout = Some(Duration::from_millis(50)));
    let mut client = Client::greeted(&served.server);
    // In a transaction, and outside of one with rows left.
    let rows = run("UNWIND range(1, 1000000000000) AS x RETURN x");
    for (begins, asks_last) in [(BEGIN, COMMIT), (&rows, PULL_TWO)] {
        assert_eq!(client.ask(begins).0, 0x70);
        // None but the one that asks.
        let open = "SHOW TRANSACTIONS YIELD transactionId RETURN count(*)";
        waits_until(|| number(&served.database, open, &Params::new()) == 1);
        assert_eq!(Client::failure(client.ask(asks_last)), TIMED_OUT);
        assert_eq!(client.ask(RESET).0, 0x70);
    }
    assert_eq!(client.rows("RETURN 1").0.len(), 1);
}

#[test]
fn a_transaction_lasts_no_longer_than_it_may() {
    let served = served(|options| options.transaction_timeout = Some(Duration::from_millis(300)));
    let mut client = Client::greeted(&served.server);
    let endless = run("UNWIND range(1, 1000000000000) AS x WITH count(x) AS n RETURN n");
    assert_eq!(client.ask(BEGIN).0, 0x70);
    assert_eq!(client.ask(&endless).0, 0x70);
    assert_eq!(Client::failure(client.ask(PULL_ALL)), TIMED_OUT);
    assert_eq!(client.ask(RESET).0, 0x70);
    // Its statements are short, it is not.
    assert_eq!(client.ask(BEGIN).0, 0x70);
    let short = run("CREATE (:Late)");
    let answers = (0..1_000_000).map(|at| client.ask(if at % 2 == 0 { &short } else { PULL_ALL }));
    let failed = answers.into_iter().find(|answer| answer.0 != 0x70);
    assert_eq!(Client::failure(failed.expect("it ends")), TIMED_OUT);
    assert_eq!(client.ask(RESET).0, 0x70);
    assert_eq!(count(&served.database, "Late"), 0);
}

#[test]
fn a_row_without_end_ends_with_its_statement_and_the_connection() {
    let served = served(|options| options.transaction_timeout = Some(Duration::from_millis(300)));
    let mut client = Client::greeted(&served.server);
    // A hundred gigabytes, of one text.
    let row = run(
        "WITH reduce(s = 'abcdefgh', i IN range(1, 17) | s + s) AS t \
        RETURN [x IN range(1, 100000) | t] AS l",
    );
    assert_eq!(client.ask(&row).0, 0x70);
    client.send(PULL_ALL);
    let mut sent = 0;
    let mut part = vec![0; 1 << 20];
    while let Ok(count @ 1..) = client.0.read(&mut part) {
        sent += count;
    }
    assert!((1 << 20..50 << 30).contains(&sent), "{sent}");
    let open = "SHOW TRANSACTIONS YIELD transactionId RETURN count(*)";
    waits_until(|| number(&served.database, open, &Params::new()) == 1);
}

#[test]
fn a_server_that_ends_answers_what_it_was_doing() {
    let served = served(|_| {});
    let address = served.server.address();
    let mut client = Client::greeted(&served.server);
    client.send(&run(
        "UNWIND range(1, 1000000000000) AS x WITH count(x) AS n RETURN n",
    ));
    client.send(PULL_ALL);
    assert_eq!(client.answer().0, 0x70);
    let mut idle = Client::greeted(&served.server);
    assert_eq!(idle.ask(BEGIN).0, 0x70);
    idle.rows("CREATE (:Gone)");
    let running = "range(1, 1000000000000)";
    waits_until(|| shown(&served.database, running) > 0);
    served.server.stop();
    let code = Client::failure(client.answer());
    assert_eq!(code, "Neo.ClientError.Transaction.Terminated");
    for mut client in [client, idle] {
        assert_eq!(client.0.read(&mut [0]).expect("the end"), 0);
    }
    assert!(TcpStream::connect(address).is_err(), "it is closed");
    assert_eq!(count(&served.database, "Gone"), 0);
    assert_eq!(shown(&served.database, running), 0);
}
