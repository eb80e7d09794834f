//! Goal: what a client sends and is sent takes no memory beyond the budget, in whatever values it
//! comes; files of the server stay closed below the folder that is open to clients.

mod client;
mod process;

use std::path::Path;

use graven::{Config, Database, Value};
use graven_server::{Options, Server, User};

use client::*;
use process::resident_bytes;

fn served(folder: &Path, options: impl FnOnce(&mut Options)) -> Server {
    let mut config = Config::default();
    config.memory = 16 << 20;
    config.create = true;
    let database = Database::open(folder.join("own.graven"), config).expect("a database");
    let mut own = Options::default();
    own.address = "127.0.0.1:0".to_owned();
    options(&mut own);
    own.open_to_all |= own.user.is_none();
    Server::start(database, own).expect("a server")
}

/// A message that is longer than a chunk.
fn send_long(client: &mut Client, message: &[u8]) {
    use std::io::Write;
    let mut wire = Vec::new();
    for chunk in message.chunks(0xffff) {
        let length = u16::try_from(chunk.len()).expect("a chunk");
        wire.extend(length.to_be_bytes());
        wire.extend(chunk);
    }
    wire.extend([0, 0]);
    client.0.write_all(&wire).expect("sent");
}

/// A statement with a list of so many such items as its parameter `p`.
fn with_list(item: &[u8], count: u32) -> Vec<u8> {
    let mut message = vec![0xb3, 0x10, 0x88];
    message.extend(b"RETURN 1");
    message.extend([0xa1, 0x81, b'p', 0xd6]);
    message.extend(count.to_be_bytes());
    message.extend(item.repeat(count as usize));
    message.push(0xa0);
    message
}

#[test]
fn what_messages_become_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = served(folder.path(), |_| {});
    let mut client = Client::greeted(&server);
    let before = resident_bytes();
    for (item, count) in [
        (&[0xa1, 0x81, b'a', 0x01][..], 500_000),
        (&[0x91, 0x90], 1_000_000),
        (&[0x81, b'x'], 1_000_000),
        (&[0x01], 2_000_000),
    ] {
        send_long(&mut client, &with_list(item, count));
        let failure = Client::failure(client.answer());
        assert!(failure.contains("MemoryPool"), "{failure}");
        assert_eq!(client.ask(RESET).0, 0x70);
    }
    // Messages that wait while another one is answered.
    let long = run("UNWIND range(1, 1000000000) AS x RETURN count(x)");
    assert_eq!(client.ask(&long).0, 0x70);
    client.send(PULL_ALL);
    let waiting = with_list(&[0x01], 50_000);
    for _ in 0..600 {
        send_long(&mut client, &waiting);
    }
    client.send(RESET);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 40 << 20, "{grown} bytes");
    while client.answer().0 != 0x70 {}
    assert_eq!(client.rows("RETURN 1").0.len(), 1);
    // Results that are left open.
    assert_eq!(client.ask(BEGIN).0, 0x70);
    let open = run("UNWIND [1, 2] AS x RETURN x");
    let mut count = 0;
    let failure = loop {
        match client.ask(&open) {
            (0x70, _) => count += 1,
            failed => break Client::failure(failed),
        }
    };
    assert!(failure.contains("MemoryPool"), "{failure}");
    assert!((500..3000).contains(&count), "{count}");
    assert_eq!(client.ask(RESET).0, 0x70);
    // What is said of a transaction is kept as long as that.
    let mut begin = vec![0xb1, 0x11, 0xa1, 0x8b];
    begin.extend(b"tx_metadata");
    begin.extend([0xa1, 0x81, b'a', 0xd2, 0, 2, 0, 0]);
    begin.extend([b'x'; 0x2_0000]);
    send_long(&mut client, &begin);
    let failure = Client::failure(client.answer());
    assert_eq!(failure, "Neo.ClientError.Request.Invalid");
    // A login has some texts, and no thousands of maps.
    let mut unknown = Client::connect(&server, 3);
    assert_eq!(unknown.ask(HELLO).0, 0x70);
    let mut logon = vec![0xb1, 0x6a, 0xa1, 0x86];
    logon.extend(b"scheme");
    logon.extend([0xd5, 0x0c, 0x00]);
    logon.extend([0xa1, 0x81, b'a', 0x01].repeat(0xc00));
    assert_eq!(unknown.ask(&logon).0, 0x7f);
}

#[test]
fn long_values_leave_whole_and_in_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = served(folder.path(), |_| {});
    let mut client = Client::greeted(&server);
    for length in [0xfffe, 0xffff, 0x1_0000, 0x2_0003, 3_000_000] {
        let text = format!(
            "RETURN left(reduce(t = 'ab', i IN range(1, 21) | t + t), {length}) AS t, {{a: 1}} AS m"
        );
        let (rows, _) = client.rows(&text);
        let Value::List(row) = &rows[0] else {
            panic!("no row")
        };
        let long = row[0].as_str().expect("a text");
        assert_eq!(long.len(), length);
        assert!(long.bytes().enumerate().all(|(at, b)| b == b"ab"[at % 2]));
        assert!(matches!(&row[1], Value::Map(map) if map.len() == 1));
    }
    // A list of more than a chunk, and a path that is long.
    let (rows, _) = client.rows("RETURN size(range(1, 10)), [x IN range(1, 200) | toString(x)]");
    assert_eq!(rows.len(), 1);
    client.rows(
        "UNWIND range(1, 200) AS x CREATE (:Way {x: x}) WITH count(*) AS c \
         UNWIND range(1, 199) AS x MATCH (a:Way {x: x}), (b:Way {x: x + 1}) CREATE (a)-[:TO]->(b)",
    );
    let (rows, _) = client.rows(
        "MATCH p = (:Way {x: 1})-[:TO*199]->(b) RETURN size(nodes(p)), b.x, length(p), p IS NULL",
    );
    assert_eq!(rows.len(), 1);
}

#[test]
fn files_of_the_server_stay_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    let secret = place.join("secret.txt");
    for name in ["own.graven-password", "secret.txt", "key.txt", "open.csv"] {
        std::fs::write(place.join(name), "a,b\n").expect("a file");
    }
    std::fs::hard_link(place.join("own.graven-password"), place.join("link.csv")).expect("a link");
    let server = served(place, |options| {
        options.files = Some(place.to_path_buf());
        options.secret_files.push(secret.clone());
        options.user = Some(User {
            name: "app".to_owned(),
            password: "p".to_owned(),
        });
    });
    let mut client = Client::of(&server, "app", "p");
    client.rows("CREATE (:N {x: 1})");
    assert_eq!(
        client
            .rows("LOAD CSV FROM 'file:///open.csv' AS r RETURN r")
            .0
            .len(),
        1
    );
    for name in [
        "own.graven",
        "own.graven-wal",
        "own.graven-password",
        "./own.graven-password",
        "secret.txt",
        "link.csv",
    ] {
        for text in [
            format!("LOAD CSV FROM 'file:///{name}' AS r RETURN r"),
            format!("LOAD FROM '{name}' (FORMAT 'csv', HEADER false) RETURN 1"),
            format!("CALL apoc.load.json('{name}')"),
            format!("COPY (RETURN 1 AS x) TO '{name}' (FORMAT 'csv')"),
            format!("CALL apoc.export.csv.query('RETURN 1 AS x', '{name}', {{}})"),
            format!("CALL graven.backup('{name}')"),
            format!("CALL graven.cache.save('{name}')"),
            format!("CALL graven.cache.load('{name}')"),
        ] {
            client.send(&run(&text));
            client.send(PULL_ALL);
            let mut refused = String::new();
            for _ in 0..2 {
                match client.answer() {
                    (0x7f, Value::Map(map)) => refused = map["message"].to_string(),
                    (0x7e | 0x70, _) => {}
                    (signature, other) => panic!("{text}: {signature:x} {other}"),
                }
            }
            assert!(refused.contains("closed to clients"), "{text}: {refused}");
            assert_eq!(client.ask(RESET).0, 0x70);
        }
    }
    // What a client may write does not replace a database, wherever it is.
    client.rows("CALL graven.backup('copy.graven')");
    for text in [
        "COPY (RETURN 1 AS x) TO 'copy.graven' (FORMAT 'csv')",
        "CALL apoc.export.csv.query('RETURN 1 AS x', 'copy.graven', {})",
    ] {
        let failure = Client::failure(client.ask(&run(text)));
        assert_eq!(failure, "Neo.ClientError.Security.Forbidden", "{text}");
        assert_eq!(client.ask(RESET).0, 0x70);
    }
    client.rows("COPY (RETURN 1 AS x) TO 'open.csv'");
}

/// What the text, or the kind of a parameter, tells to be wrong is told otherwise than what is
/// wrong with a value that is computed.
#[test]
fn what_the_text_tells_has_codes_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = served(folder.path(), |_| ());
    let mut client = Client::of(&server, "app", "p");
    // Parameters of a kind that their places do not take are told as what the text is.
    for (text, code) in [
        ("UNWIND [1] AS x RETURN x LIMIT $name", "SyntaxError"),
        ("UNWIND [1] AS x RETURN x SKIP $name", "SyntaxError"),
        ("UNWIND [1] AS x RETURN x IN $name", "SyntaxError"),
        ("RETURN -$name", "SyntaxError"),
        ("RETURN $name.x", "SyntaxError"),
        ("CREATE (n $name)", "SyntaxError"),
        ("MATCH (n) WHERE $name RETURN n", "SyntaxError"),
        (
            "UNWIND [1] AS x RETURN x LIMIT toInteger($name)",
            "TypeError",
        ),
        ("UNWIND [null, $name] AS n SET n.x = 1", "ArgumentError"),
        ("UNWIND [null, $name] AS n SET n:X", "TypeError"),
        ("UNWIND [1] AS x RETURN x LIMIT -1", "SyntaxError"),
        ("UNWIND [1] AS x RETURN x LIMIT 1.5", "SyntaxError"),
        (
            "UNWIND [1] AS x RETURN x LIMIT toInteger('-1')",
            "ArgumentError",
        ),
        (
            "UNWIND [1] AS x RETURN x SKIP toInteger('-1')",
            "ArgumentError",
        ),
    ] {
        client.send(&run_with_name(text, "x"));
        client.send(PULL_ALL);
        let mut told = String::new();
        for _ in 0..2 {
            if let (0x7f, Value::Map(map)) = client.answer() {
                told = map["code"].as_str().expect("a text").to_owned();
            }
        }
        let code = format!("Neo.ClientError.Statement.{code}");
        assert_eq!(told, code, "{text}");
        assert_eq!(client.ask(RESET).0, 0x70);
    }
}

/// Whatever a statement that names a file is told, it is told in the words of that statement.
#[test]
fn errors_name_files_as_the_statement_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("real");
    std::fs::create_dir_all(place.join("folder")).expect("folders");
    std::fs::write(place.join("text.csv"), "a,b\n").expect("a file");
    std::fs::write(place.join("copy.graven"), "no database").expect("a file");
    let server = served(&place, |options| {
        options.files = Some(place.clone());
        options.user = Some(User {
            name: "app".to_owned(),
            password: "p".to_owned(),
        });
    });
    let mut client = Client::of(&server, "app", "p");
    let real = place.canonicalize().expect("a folder");
    let real = real.to_str().expect("a text");
    let mut failed = 0;
    for name in [
        "folder",
        "text.csv",
        "copy.graven",
        "none/there",
        "none.csv",
        "text.csv/in",
        "../out",
        "",
    ] {
        for text in [
            format!("LOAD CSV FROM 'file:///{name}' AS r RETURN r"),
            format!("LOAD FROM '{name}' (FORMAT 'parquet') RETURN 1"),
            format!("LOAD FROM '{name}' (FORMAT 'json') RETURN 1"),
            format!("COPY A FROM '{name}'"),
            format!("CALL apoc.load.json('{name}')"),
            format!("CALL apoc.load.csv('{name}')"),
            format!("COPY (RETURN 1 AS x) TO '{name}' (FORMAT 'csv')"),
            format!("CALL apoc.export.csv.query('RETURN 1 AS x', '{name}', {{}})"),
            format!("CALL apoc.export.json.all('{name}', {{}})"),
            format!("CALL graven.backup('{name}')"),
            format!("CALL graven.backup('new', '{name}')"),
            format!("CALL graven.backup('{name}', 'copy.graven')"),
            format!("CALL graven.cache.save('{name}')"),
            format!("CALL graven.cache.load('{name}')"),
            format!("EXPORT DATABASE '{name}'"),
            format!("IMPORT DATABASE '{name}'"),
        ] {
            client.send(&run(&text));
            client.send(PULL_ALL);
            let mut told = String::new();
            let mut ended = 0;
            while ended < 2 {
                let answer = client.answer();
                ended += u32::from(answer.0 != 0x71);
                match answer {
                    (0x7f, Value::Map(map)) => told = map["message"].to_string(),
                    (0x7e | 0x70 | 0x71, _) => {}
                    (signature, other) => panic!("{text}: {signature:x} {other}"),
                }
            }
            failed += u32::from(!told.is_empty());
            let leads = told.contains(real) || told.contains("/proc/self");
            assert!(!leads, "{text}: {told}");
            assert_eq!(client.ask(RESET).0, 0x70);
        }
    }
    assert!(failed > 60, "{failed} statements failed");
}
