//! Goal: a server of a folder has the databases that its files and its clients' commands say, each
//! client reaches the one that it names, and what was dropped, stopped or damaged is told clearly.

mod client;
mod folder;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use graven::{Config, Database, DatabaseManager, Params, Value};
use graven_server::{DatabaseFolder, FolderOptions};

use client::*;
use folder::*;

#[test]
fn clients_choose_among_databases() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = opened(folder.path());
    let server = served(&databases, |_| {});
    let mut client = Client::greeted(&server);
    assert_eq!(
        shown(
            &mut client,
            "SHOW DATABASES YIELD name, type, default, home"
        ),
        [
            "[\"neo4j\", \"standard\", true, true]",
            "[\"system\", \"system\", false, false]"
        ]
    );
    let (_, tail) = client.rows("CREATE DATABASE Shop");
    assert_eq!(tail["db"], "system".into());
    assert!(matches!(&tail["stats"], Value::Map(stats) if stats["system-updates"] == 1.into()));
    assert!(folder.path().join("shop.graven").exists());
    client.rows_of(&run_on("CREATE (:Item {name: 'tea'})", "SHOP"));
    client.rows("CREATE (:Person)-[:KNOWS]->(:Person)");
    for (message, found, at) in [
        (run("MATCH (n) RETURN count(n)"), 2, "neo4j"),
        (run_on("MATCH (n) RETURN count(n)", "shop"), 1, "shop"),
        (run("USE shop MATCH (n) RETURN count(n)"), 1, "shop"),
        (
            run("USE graph.byName('shop') MATCH (n) RETURN count(n)"),
            1,
            "shop",
        ),
        (
            run("USE graph.byName('sh' + toLower('OP')) MATCH (n) RETURN count(n)"),
            1,
            "shop",
        ),
        (
            run_with_name("USE graph.byName($name) MATCH (n) RETURN count(n)", "SHOP"),
            1,
            "shop",
        ),
        (
            run_with_name(
                "CALL { USE graph.byName($name) MATCH (n) RETURN count(n) AS n } RETURN n",
                "shop",
            ),
            1,
            "shop",
        ),
        (
            run_on("USE neo4j MATCH (n) RETURN count(n)", "shop"),
            2,
            "neo4j",
        ),
    ] {
        let (rows, tail) = client.rows_of(&message);
        assert_eq!(rows, [Value::List(vec![found.into()])]);
        assert_eq!(tail["db"], at.into());
    }
    // Functions of APOC compute names, too, and a name that chance gives is computed once.
    let (rows, tail) =
        client.rows("USE graph.byName(apoc.text.join(['sh', 'op'], '')) MATCH (n) RETURN count(n)");
    assert_eq!(rows, [Value::List(vec![1.into()])]);
    assert_eq!(tail["db"], "shop".into());
    let by_chance = "CASE WHEN rand() < 0.5 THEN 'shop' ELSE 'neo4j' END";
    let mut reached = std::collections::BTreeSet::new();
    for round in 0..40 {
        let in_transaction = round % 2 == 0;
        if in_transaction {
            assert_eq!(client.ask(BEGIN).0, 0x70);
        }
        let text = format!("USE graph.byName({by_chance}) MATCH (n) RETURN count(n)");
        let (rows, tail) = client.rows(&text);
        if in_transaction {
            assert_eq!(client.ask(ROLLBACK).0, 0x70);
        }
        let at = tail["db"].as_str().expect("a name").to_owned();
        let here = if at == "shop" { 1 } else { 2 };
        assert_eq!(rows, [Value::List(vec![here.into()])], "{at}");
        reached.insert(at);
    }
    assert_eq!(reached.len(), 2, "{reached:?}");
    // Each name of a statement counts: the second one is for another database.
    let text = "USE graph.byName('sh' + 'op') RETURN 1 AS x UNION USE graph.byName('neo' + '4j') \
                RETURN 1 AS x";
    assert_eq!(refused(&mut client, &run(text)), NOT_FOUND);
    // A transaction may be moved by its first statement, and by no other.
    assert_eq!(client.ask(BEGIN).0, 0x70);
    assert_eq!(client.rows("USE shop CREATE (:Item) RETURN 1").0.len(), 1);
    assert_eq!(
        refused(&mut client, &run("USE neo4j MATCH (n) RETURN n")),
        "Neo.ClientError.Statement.AccessMode"
    );
    assert_eq!(client.ask(&begin_on("shop")).0, 0x70);
    client.rows("CREATE (:Item)");
    assert_eq!(client.ask(COMMIT).0, 0x70);
    assert_eq!(
        shown(&mut client, "USE shop MATCH (n) RETURN count(n)"),
        ["[2]"]
    );
    for message in [
        run_with_name("USE graph.byName($name) RETURN 1", "other"),
        run_on("RETURN 1", "other"),
        run("USE other RETURN 1"),
        begin_on("other"),
    ] {
        assert_eq!(refused(&mut client, &message), NOT_FOUND);
    }
    // The name behind the outer USE is not that of a statement within.
    for message in [
        run_with_name(
            "USE graph.byName($name) CALL apoc.cypher.run('USE graph.byName(\"neo4j\") RETURN 1 AS x', {}) \
                YIELD value RETURN value",
            "shop",
        ),
        run_with_name(
            "USE graph.byName($name) CALL apoc.cypher.doIt('USE graph.byName(\"neo4j\") CREATE (:X)', {}) \
                YIELD value RETURN value",
            "shop",
        ),
    ] {
        let code = refused(&mut client, &message);
        assert_eq!(code, "Neo.ClientError.Procedure.ProcedureCallFailed");
    }
    // `system` has no graph.
    for text in [
        "MATCH (n) RETURN n",
        "CREATE (n)",
        "CREATE INDEX FOR (n:N) ON (n.x)",
    ] {
        assert_eq!(
            refused(&mut client, &run_on(text, "system")),
            "Neo.ClientError.Statement.UnsupportedAdministrationCommand",
            "{text}"
        );
    }
    client.rows_of(&run_on("RETURN 1", "system"));
    client.rows_of(&run_on("CALL dbms.components()", "system"));
    // All share one budget.
    let memory = |name: &str| {
        let listed = databases.databases().into_iter();
        let mut named = listed.filter(|listed| listed.name == name);
        let database = named.next().and_then(|it| it.database).expect(name);
        Arc::as_ptr(database.cache().expect(name).budget()).addr()
    };
    assert_eq!(memory("shop"), memory("neo4j"));
    drop(server);
    databases.close().expect("closed");
    drop(databases);
    let databases = opened(folder.path());
    let server = served(&databases, |_| {});
    let mut client = Client::greeted(&server);
    assert_eq!(
        shown(&mut client, "USE shop MATCH (n) RETURN count(n)"),
        ["[2]"]
    );
}

#[test]
fn databases_are_made_changed_and_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = opened(folder.path());
    let server = served(&databases, |_| {});
    let mut client = Client::greeted(&server);
    for text in [
        "CREATE DATABASE shop",
        "CREATE DATABASE shop IF NOT EXISTS",
        "CREATE OR REPLACE DATABASE shop",
        "DROP DATABASE other IF EXISTS",
        "ALTER DATABASE other IF EXISTS SET ACCESS READ ONLY",
        "CREATE ALIAS store FOR DATABASE shop",
        "CREATE ALIAS store IF NOT EXISTS FOR DATABASE shop",
    ] {
        client.rows(text);
    }
    let (rows, _) = client.rows("CREATE DATABASE second WAIT 5 SECONDS");
    assert!(rows[0].to_string().ends_with("true]"), "{rows:?}");
    for (text, code) in [
        (
            "CREATE DATABASE shop",
            "Neo.ClientError.Database.ExistingDatabaseFound",
        ),
        (
            "CREATE DATABASE store",
            "Neo.ClientError.Database.ExistingAliasFound",
        ),
        (
            "CREATE ALIAS shop FOR DATABASE second",
            "Neo.ClientError.Database.ExistingDatabaseFound",
        ),
        (
            "CREATE ALIAS store FOR DATABASE second",
            "Neo.ClientError.Database.ExistingAliasFound",
        ),
        (
            "CREATE DATABASE `../x`",
            "Neo.ClientError.Statement.ArgumentError",
        ),
        (
            "CREATE DATABASE system",
            "Neo.ClientError.Statement.ArgumentError",
        ),
        (
            "DROP DATABASE system",
            "Neo.ClientError.Statement.ArgumentError",
        ),
        (
            "DROP DATABASE neo4j",
            "Neo.ClientError.Statement.ArgumentError",
        ),
        (
            "DROP DATABASE shop",
            "Neo.ClientError.Statement.ArgumentError",
        ),
        ("DROP DATABASE other", NOT_FOUND),
        ("STOP DATABASE other", NOT_FOUND),
        ("DROP ALIAS other FOR DATABASE", NOT_FOUND),
        ("CREATE ALIAS x FOR DATABASE other", NOT_FOUND),
    ] {
        assert_eq!(refused(&mut client, &run(text)), code, "{text}");
    }
    assert_eq!(
        shown(
            &mut client,
            "SHOW ALIASES FOR DATABASE YIELD name, database"
        ),
        ["[\"store\", \"shop\"]"]
    );
    client.rows_of(&run_on("CREATE (:Item)", "store"));
    assert_eq!(
        shown(&mut client, "USE store MATCH (n) RETURN count(n)"),
        ["[1]"]
    );
    // Access, and what stays over a new start.
    client.rows("ALTER DATABASE shop SET ACCESS READ ONLY");
    assert_eq!(
        refused(&mut client, &run_on("CREATE (:Item)", "shop")),
        "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase"
    );
    client.rows("STOP DATABASE second");
    assert_eq!(
        refused(&mut client, &run_on("RETURN 1", "second")),
        "Neo.TransientError.General.DatabaseUnavailable"
    );
    drop((client, server));
    databases.close().expect("closed");
    drop(databases);
    let databases = opened(folder.path());
    let server = served(&databases, |_| {});
    let mut client = Client::greeted(&server);
    assert_eq!(
        shown(
            &mut client,
            "SHOW DATABASES YIELD name, access, requestedStatus, currentStatus, aliases WHERE name \
                IN ['shop', 'second'] RETURN name, access, requestedStatus, currentStatus, aliases"
        ),
        [
            "[\"second\", \"read-write\", \"offline\", \"offline\", []]",
            "[\"shop\", \"read-only\", \"online\", \"online\", [\"store\"]]"
        ]
    );
    client.rows("START DATABASE second");
    client.rows_of(&run_on("CREATE (:Item)", "second"));
    client.rows("DROP DATABASE second DUMP DATA");
    let dumps = std::fs::read_dir(folder.path().join("dumps")).expect("dumps");
    let dumps: Vec<_> = dumps.map(|file| file.expect("a file").path()).collect();
    let kept = Database::open(&dumps[0], Config::default()).expect("a copy");
    let counted = kept
        .connect()
        .query("MATCH (n:Item) RETURN count(n)", &Params::new())
        .expect("counted")
        .next_row()
        .expect("a row");
    assert_eq!(counted.expect("a row").get(0), Some(&1.into()));
    client.rows("DROP DATABASE shop CASCADE ALIASES DESTROY DATA");
    assert!(shown(&mut client, "SHOW ALIASES FOR DATABASE").is_empty());
    // The next one of the name begins with nothing set.
    client.rows("CREATE DATABASE shop");
    client.rows_of(&run_on("CREATE (:Item)", "shop"));
    // A change in a transaction is made by its commit.
    assert_eq!(client.ask(BEGIN).0, 0x70);
    client.rows("CREATE DATABASE late");
    assert_eq!(client.ask(ROLLBACK).0, 0x70);
    assert!(!folder.path().join("late.graven").exists());
    assert_eq!(client.ask(BEGIN).0, 0x70);
    client.rows("CREATE DATABASE late");
    assert!(!folder.path().join("late.graven").exists());
    assert_eq!(client.ask(COMMIT).0, 0x70);
    client.rows_of(&run_on("RETURN 1", "late"));
}

#[test]
fn dropping_ends_what_is_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = opened(folder.path());
    let server = served(&databases, |_| {});
    let mut admin = Client::greeted(&server);
    admin.rows("CREATE DATABASE shop");
    let mut idle = Client::greeted(&server);
    assert_eq!(idle.ask(&begin_on("shop")).0, 0x70);
    idle.rows("CREATE (:Item)");
    let mut busy = Client::greeted(&server);
    let long = "UNWIND range(1, 1000000000000) AS x WITH x WHERE x < 0 RETURN x";
    assert_eq!(busy.ask(&run_on(long, "shop")).0, 0x70);
    busy.send(PULL_ALL);
    std::thread::sleep(Duration::from_millis(100));
    admin.rows("DROP DATABASE shop");
    for answer in [busy.answer(), idle.ask(&run("RETURN 1"))] {
        let (0x7f, Value::Map(failure)) = answer else {
            panic!("{answer:?}");
        };
        let said = failure["message"].to_string();
        assert!(said.contains("the database `shop` was dropped"), "{said}");
    }
    for client in [&mut busy, &mut idle] {
        assert_eq!(client.ask(RESET).0, 0x70);
        assert_eq!(refused(client, &run_on("RETURN 1", "shop")), NOT_FOUND);
        client.rows("RETURN 1");
    }
    admin.rows("CREATE DATABASE shop");
    assert_eq!(
        shown(&mut idle, "USE shop MATCH (n) RETURN count(n)"),
        ["[0]"]
    );
    let files = std::fs::read_dir(folder.path()).expect("listed");
    let names = files.map(|file| file.expect("a file").file_name());
    let left = names.filter(|name| name.to_string_lossy().contains("-dropped-"));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_damaged_file_stops_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(opened(folder.path()));
    std::fs::write(folder.path().join("broken.graven"), vec![7; 9000]).expect("written");
    std::fs::write(folder.path().join("Wrong_Name.graven"), "").expect("written");
    std::fs::write(folder.path().join("half.graven-new-x"), "x").expect("written");
    std::fs::write(folder.path().join("gone.graven-dropped-1"), "x").expect("written");
    std::fs::write(folder.path().join("gone.graven-wal"), "x").expect("written");
    let databases = opened(folder.path());
    let said = databases.notices().join("\n");
    assert!(said.contains("broken is offline"), "{said}");
    assert!(said.contains("Wrong_Name.graven is not served"), "{said}");
    for file in [
        "half.graven-new-x",
        "gone.graven-dropped-1",
        "gone.graven-wal",
    ] {
        assert!(!folder.path().join(file).exists(), "{file}");
    }
    let server = served(&databases, |_| {});
    let mut client = Client::greeted(&server);
    let rows = shown(
        &mut client,
        "SHOW DATABASE broken YIELD currentStatus, requestedStatus, statusMessage, writer",
    );
    assert!(
        rows[0].starts_with("[\"offline\", \"online\", "),
        "{rows:?}"
    );
    assert!(rows[0].contains("broken.graven"), "{rows:?}");
    assert_eq!(
        refused(&mut client, &run_on("RETURN 1", "broken")),
        "Neo.TransientError.General.DatabaseUnavailable"
    );
    client.rows("DROP DATABASE broken");
    assert!(!folder.path().join("broken.graven").exists());
    client.rows("CREATE DATABASE broken");
    // What was copied into the folder meanwhile is not taken for a new database.
    let copied = folder.path().join("copied.graven");
    std::fs::copy(folder.path().join("neo4j.graven"), &copied).expect("copied");
    assert_eq!(
        refused(&mut client, &run("CREATE DATABASE copied")),
        "Neo.ClientError.Database.ExistingDatabaseFound"
    );
    assert!(copied.exists());
    // One server has the folder.
    let second = DatabaseFolder::open(folder.path(), options()).map(|_| ());
    let second = second.expect_err("it is taken");
    assert_eq!(second.code(), "Database.InUse");
}

#[test]
fn a_folder_is_not_taken_for_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    let open = |path: &Path, set: &dyn Fn(&mut FolderOptions)| {
        let mut options = options();
        set(&mut options);
        let opened = DatabaseFolder::open(path, options);
        opened
            .map(|it| it.default_name())
            .map_err(|error| error.to_string())
    };
    let error = open(&missing, &|_| {}).expect_err("missing");
    assert!(error.contains("--create"), "{error}");
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "x").expect("written");
    let error = open(&file, &|_| {}).expect_err("a file");
    assert!(error.contains("leave out --databases"), "{error}");
    let error = open(folder.path(), &|_| {}).expect_err("other files");
    assert!(error.contains("no databases in it"), "{error}");
    assert_eq!(
        open(&missing, &|options| {
            options.create = true;
            options.default = Some("Main".to_owned());
        }),
        Ok("main".to_owned())
    );
    let error = open(&missing, &|options| {
        options.default = Some("mian".to_owned())
    });
    let error = error.expect_err("mistyped");
    assert!(error.contains("it has main"), "{error}");
    assert!(!missing.join("mian.graven").exists());
}

#[test]
fn the_commands_of_the_guide_run() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/server.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let (_, rest) = guide
        .split_once("```\nCREATE DATABASE shop\n")
        .expect("the commands");
    let (commands, _) = rest.split_once("```").expect("their end");
    let folder = tempfile::tempdir().expect("a folder");
    let databases = opened(folder.path());
    let server = served(&databases, |_| {});
    let mut client = Client::greeted(&server);
    client.rows("CREATE USER ada SET PASSWORD 'abc'");
    client.rows("CREATE DATABASE shop");
    for command in commands.lines() {
        client.rows(command);
    }
    assert_eq!(
        shown(&mut client, "SHOW DATABASES YIELD name"),
        ["[\"neo4j\"]", "[\"system\"]"]
    );
}

#[test]
fn counters_are_told_apart_by_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = opened(folder.path());
    let server = served(&databases, |options| {
        options.metrics = Some("127.0.0.1:0".to_owned());
    });
    let address = server.metrics_address().expect("it listens");
    let mut client = Client::greeted(&server);
    client.rows("CREATE DATABASE shop");
    let said = get(&address, "/metrics");
    for line in [
        "graven_nodes{database=\"shop\"} 0",
        "graven_nodes{database=\"neo4j\"} 0",
        "graven_memory_limit_bytes 33554432",
        "graven_log_commit_seconds_count{database=\"shop\"} ",
        "graven_cache_hits_total{database=\"system\",kind=",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let types = said.lines().filter(|line| line.starts_with("# TYPE "));
    let mut names: Vec<&str> = types.collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "a metric that begins twice: {said}");
    for (path, part) in [
        ("/state.json", "neo4j.graven"),
        ("/state.json?database=shop", "shop.graven"),
        ("/state.json?database=other", "there is no database `other`"),
    ] {
        let said = get(&address, path);
        assert!(said.contains(part), "{path}: {said}");
    }
}
