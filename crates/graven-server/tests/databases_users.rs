//! Goal: rights, users and their homes are the same in all databases of a folder, and transactions
//! are shown and ended across them.

mod client;
mod folder;

use std::io::Read as _;

use graven::{Params, Value};

use client::*;
use folder::*;

#[test]
fn users_and_rights_are_the_same_in_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = opened(folder.path());
    let server = guarded(&databases);
    let mut root = Client::of(&server, "root", "secret");
    for text in [
        "CREATE DATABASE shop",
        "CREATE USER ada SET PASSWORD 'abc' SET ROLE admin SET HOME DATABASE shop",
        "CREATE USER eve SET PASSWORD 'abc'",
        "CREATE USER bob SET PASSWORD 'abc' SET ROLE writer",
        "ALTER USER bob SET HOME DATABASE shop",
    ] {
        root.rows(text);
    }
    assert_eq!(
        shown(&mut root, "SHOW USERS YIELD user, home ORDER BY user"),
        [
            "[\"ada\", \"shop\"]",
            "[\"bob\", \"shop\"]",
            "[\"eve\", null]"
        ]
    );
    for (text, code) in [
        ("ALTER USER bob SET HOME DATABASE other", NOT_FOUND),
        ("ALTER USER mallory SET HOME DATABASE shop", "Neo."),
    ] {
        let found = refused(&mut root, &run(text));
        assert!(found.starts_with(code), "{text}: {found}");
    }
    let mut ada = Client::of(&server, "ada", "abc");
    let (_, tail) = ada.rows("CREATE (:Item)");
    assert_eq!(tail["db"], "shop".into());
    assert_eq!(
        shown(&mut ada, "SHOW HOME DATABASE YIELD name"),
        ["[\"shop\"]"]
    );
    assert_eq!(
        shown(&mut ada, "SHOW DEFAULT DATABASE YIELD name"),
        ["[\"neo4j\"]"]
    );
    let mut eve = Client::of(&server, "eve", "abc");
    let mut bob = Client::of(&server, "bob", "abc");
    bob.rows("CREATE (:Item)");
    assert_eq!(
        shown(&mut eve, "USE shop MATCH (n) RETURN count(n)"),
        ["[2]"]
    );
    for text in [
        "CREATE DATABASE other",
        "DROP DATABASE shop",
        "STOP DATABASE shop",
        "ALTER DATABASE shop SET ACCESS READ ONLY",
        "CREATE ALIAS x FOR DATABASE shop",
        "ALTER USER eve SET HOME DATABASE shop",
        "USE shop CREATE (:Item)",
        "SHOW USERS",
    ] {
        assert_eq!(refused(&mut eve, &run(text)), FORBIDDEN, "{text}");
    }
    for text in ["CREATE DATABASE other", "DROP DATABASE shop"] {
        assert_eq!(refused(&mut bob, &run(text)), FORBIDDEN, "{text}");
    }
    // A role that is taken away is gone at once, everywhere.
    root.rows("REVOKE ROLE writer FROM bob");
    for database in ["shop", "neo4j"] {
        let message = run_on("CREATE (:Item)", database);
        assert_eq!(refused(&mut bob, &message), FORBIDDEN);
    }
    // The home goes along with a new name; a connection under the old one has no rights any more.
    root.rows("GRANT ROLE writer TO bob");
    let (_, tail) = root.rows("RENAME USER bob TO rob");
    assert!(matches!(&tail["stats"], Value::Map(stats) if stats["system-updates"] == 1.into()));
    let homes = "SHOW USERS YIELD user, home WHERE home = 'shop' RETURN user ORDER BY user";
    assert_eq!(shown(&mut root, homes), ["[\"ada\"]", "[\"rob\"]"]);
    let message = run_on("MATCH (n) RETURN n", "shop");
    assert_eq!(refused(&mut bob, &message), FORBIDDEN);
    let mut rob = Client::of(&server, "rob", "abc");
    assert_eq!(rob.rows("CREATE (:Item)").1["db"], "shop".into());
    root.rows("RENAME USER mallory IF EXISTS TO ada");
    for text in ["RENAME USER rob TO ada", "RENAME USER bob TO eve"] {
        assert!(refused(&mut root, &run(text)).starts_with("Neo."), "{text}");
    }
    root.rows("ALTER USER rob REMOVE HOME DATABASE SET STATUS ACTIVE SET ROLE reader");
    assert_eq!(shown(&mut root, homes), ["[\"ada\"]"]);
    root.rows("ALTER USER rob SET HOME DATABASE shop SET STATUS ACTIVE");
    root.rows("RENAME USER rob TO bob");
    root.rows("CREATE USER rob SET PASSWORD 'abc'");
    assert_eq!(shown(&mut root, homes), ["[\"ada\"]", "[\"bob\"]"]);
    // A user that is made anew has no home of the one before.
    root.rows("DROP USER bob");
    root.rows("CREATE USER bob SET PASSWORD 'abc'");
    root.rows("ALTER USER ada REMOVE HOME DATABASE");
    assert_eq!(
        shown(&mut root, "SHOW USERS YIELD home RETURN count(home)"),
        ["[0]"]
    );
}

/// A home is a part of its user: no commit has one without the other.
#[test]
fn a_home_changes_in_the_commit_of_its_user() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = opened(folder.path());
    let server = guarded(&databases);
    let mut root = Client::of(&server, "root", "secret");
    for text in [
        "CREATE DATABASE shop",
        "CREATE ALIAS store FOR DATABASE shop",
        "CREATE USER ada SET PASSWORD 'abc' SET HOME DATABASE Store",
        "CREATE USER bob SET PASSWORD 'abc' SET HOME DATABASE shop",
        "CREATE USER eve SET PASSWORD 'abc'",
    ] {
        root.rows(text);
    }
    let users = "SHOW USERS YIELD user, home ORDER BY user";
    // What one commit of the database of the users has, whatever a server does behind it.
    let alone = |text: &str| {
        let connection = databases.system().connect();
        let mut rows = connection.query(text, &Params::new()).expect(text);
        while rows.next_row().expect(text).is_some() {}
    };
    alone("RENAME USER bob TO rob");
    let with_homes = [
        "[\"ada\", \"store\"]",
        "[\"eve\", null]",
        "[\"rob\", \"shop\"]",
    ];
    assert_eq!(shown(&mut root, users), with_homes);
    assert_eq!(root.ask(BEGIN).0, 0x70);
    root.rows("RENAME USER rob TO bob");
    root.rows("ALTER USER eve SET HOME DATABASE shop");
    assert_eq!(root.ask(ROLLBACK).0, 0x70);
    assert_eq!(shown(&mut root, users), with_homes);
    // Dropped and made again in one transaction, or replaced: it has no home of the one before.
    assert_eq!(root.ask(BEGIN).0, 0x70);
    root.rows("DROP USER rob");
    root.rows("CREATE USER rob SET PASSWORD 'abc'");
    assert_eq!(root.ask(COMMIT).0, 0x70);
    root.rows("ALTER USER eve SET HOME DATABASE shop");
    root.rows("CREATE OR REPLACE USER eve SET PASSWORD 'abc'");
    alone("DROP USER ada");
    alone("CREATE USER ada SET PASSWORD 'abc'");
    assert_eq!(
        shown(&mut root, "SHOW USERS YIELD home RETURN count(home)"),
        ["[0]"]
    );
    // An alias means what it stands for when the user comes.
    root.rows("ALTER USER ada SET HOME DATABASE store");
    root.rows("CREATE OR REPLACE ALIAS store FOR DATABASE neo4j");
    let mut ada = Client::of(&server, "ada", "abc");
    assert_eq!(ada.rows("RETURN 1").1["db"], "neo4j".into());
    drop(server);
    // What earlier builds kept apart comes to the users with the next start.
    alone(
        "CREATE (:Home {user: 'eve', database: 'shop'}), (:Home {user: 'eve2', database: 'shop'})",
    );
    alone("CREATE (:Home {user: 'rob', database: 'gone'})");
    databases.close().expect("closed");
    drop(databases);
    let databases = opened(folder.path());
    let home = |user: &str| databases.system().home_of(user).expect("asked");
    assert_eq!(home("eve").as_deref(), Some("shop"));
    assert_eq!(home("rob"), None);
    let told = databases
        .notices()
        .iter()
        .any(|it| it.contains("gone, the home database of user rob"));
    assert!(told, "{:?}", databases.notices());
    assert_eq!(home("eve2"), None);
    let left = databases.system().connect();
    let mut left = left
        .query("MATCH (h:Home) RETURN count(h)", &Params::new())
        .expect("counted");
    let counted = left.next_row().expect("counted").expect("a row");
    assert_eq!(counted.values(), [0.into()]);
}

#[test]
fn transactions_are_shown_and_ended_across_databases() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = opened(folder.path());
    let server = guarded(&databases);
    let mut root = Client::of(&server, "root", "secret");
    for text in [
        "CREATE DATABASE shop",
        "CREATE USER bob SET PASSWORD 'abc' SET ROLE writer",
        "CREATE USER eve SET PASSWORD 'abc'",
    ] {
        root.rows(text);
    }
    let mut bob = Client::of(&server, "bob", "abc");
    let mut eve = Client::of(&server, "eve", "abc");
    assert_eq!(bob.ask(&begin_on("shop")).0, 0x70);
    bob.rows("CREATE (:Item)");
    let (signature, head) = root.ask(&run("SHOW TRANSACTIONS"));
    let Value::Map(head) = head else {
        panic!("{head}")
    };
    assert_eq!(signature, 0x70);
    assert_eq!(
        head["fields"].to_string(),
        "[\"database\", \"transactionId\", \"currentQueryId\", \"connectionId\", \
            \"clientAddress\", \"username\", \"currentQuery\", \"startTime\", \"status\", \
            \"elapsedTime\"]"
    );
    assert_eq!(root.ask(DISCARD_ALL).0, 0x70);
    let of_shop = "SHOW TRANSACTIONS YIELD database, transactionId, connectionId, clientAddress, \
        username, currentQueryId WHERE database = 'shop' RETURN transactionId, connectionId, \
        clientAddress, username, currentQueryId";
    let rows = root.rows(of_shop).0;
    let [Value::List(row)] = &rows[..] else {
        panic!("{rows:?}")
    };
    let id = row[0].as_str().expect("an id").to_owned();
    assert!(id.starts_with("shop-transaction-"), "{id}");
    assert!(row[1].as_str().is_some_and(|it| it.starts_with("bolt-")));
    assert_eq!(
        row[2],
        bob.0.local_addr().expect("an address").to_string().into()
    );
    assert_eq!((&row[3], &row[4]), (&"bob".into(), &"".into()));
    let own = "SHOW TRANSACTIONS YIELD currentQuery, currentQueryId, database WHERE currentQueryId \
        STARTS WITH 'query-' RETURN database";
    assert_eq!(shown(&mut root, own), ["[\"neo4j\"]"]);
    // Others see and end their own alone.
    assert!(shown(&mut eve, of_shop).is_empty());
    let ends = format!("TERMINATE TRANSACTIONS '{id}', 'none-transaction-1'");
    assert_eq!(
        shown(&mut eve, &ends),
        [
            format!("[\"{id}\", null, \"Transaction not found.\"]"),
            "[\"none-transaction-1\", null, \"Transaction not found.\"]".to_owned()
        ]
    );
    let composed = "SHOW TRANSACTIONS YIELD transactionId AS id, database WHERE database = 'shop' \
        TERMINATE TRANSACTIONS id YIELD username, message RETURN username, message";
    assert_eq!(
        shown(&mut root, composed),
        ["[\"bob\", \"Transaction terminated.\"]"]
    );
    assert_eq!(
        refused(&mut bob, &run("CREATE (:Item)")),
        "Neo.ClientError.Transaction.Terminated"
    );
}

#[test]
fn connections_are_listed_and_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = opened(folder.path());
    let server = guarded(&databases);
    let mut root = Client::of(&server, "root", "secret");
    root.rows("CREATE USER bob SET PASSWORD 'abc' SET ROLE writer");
    root.rows("CREATE USER eve SET PASSWORD 'abc'");
    let mut bob = Client::of(&server, "bob", "abc");
    let mut eve = Client::of(&server, "eve", "abc");
    let listed = "CALL dbms.listConnections() YIELD username AS u RETURN u ORDER BY u";
    assert_eq!(
        shown(&mut root, listed),
        ["[\"bob\"]", "[\"eve\"]", "[\"root\"]"]
    );
    assert_eq!(shown(&mut eve, listed), ["[\"eve\"]"]);
    let id = "CALL dbms.listConnections() YIELD connectionId, clientAddress AS a RETURN \
        connectionId, a";
    let rows = bob.rows(id).0;
    let [Value::List(row)] = &rows[..] else {
        panic!("{rows:?}")
    };
    let id = row[0].as_str().expect("an id").to_owned();
    let address = bob.0.local_addr().expect("an address").to_string();
    assert_eq!(row[1], address.into());
    let ends = format!("CALL dbms.killConnection('{id}')");
    assert_eq!(
        shown(&mut eve, &ends),
        [format!(
            "[\"{id}\", \"n/a\", \"No connection found with this id\"]"
        )]
    );
    assert_eq!(
        shown(&mut root, &ends),
        [format!("[\"{id}\", \"bob\", \"Connection found\"]")]
    );
    let mut rest = Vec::new();
    let _ = bob.0.read_to_end(&mut rest);
    assert_eq!(
        shown(&mut root, listed),
        ["[\"eve\"]", "[\"root\"]"],
        "{rest:?}"
    );
}
