//! Goal: procedures read and change the settings of the database they are called on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use graven::{Access, Config, Database, Params, Right, Role, Value};

use crate::graph::social;

#[test]
fn the_cache_is_resized_and_its_policy_changed_by_call() {
    let social = social();
    let rows = social.rows("CALL graven.cache.resize('8MiB')");
    assert_eq!(
        rows[0].get_by_name("before"),
        Some(&Value::Integer(4 << 20))
    );
    assert_eq!(rows[0].get_by_name("after"), Some(&Value::Integer(8 << 20)));
    assert_eq!(social.db.memory(), 8 << 20);
    let rows = social.rows("CALL graven.cache.setPolicy('lru') YIELD after RETURN after");
    assert!(
        matches!(rows[0].get(0), Some(Value::String(s)) if s.contains("lru")),
        "{rows:?}"
    );
    let error = social
        .db
        .connect()
        .query("CALL graven.cache.resize('3 apples')", &Params::new())
        .and_then(|r| r.collect::<Result<Vec<_>, _>>())
        .expect_err("no size");
    assert_eq!(error.code(), "ProcedureError.ProcedureFailed");
    assert!(error.message().contains("3 apples"), "{error}");
}

/// What a transaction has made is in its own lists, and in no others before it commits.
#[test]
fn a_transaction_lists_its_own_indexes_and_constraints() {
    let social = social();
    let none = Params::new();
    let lists = [
        "SHOW INDEXES WHERE name = 'own'",
        "SHOW CONSTRAINTS WHERE name = 'only'",
        "CALL db.indexes() YIELD name WHERE name = 'own' RETURN name",
        "CALL db.constraints() YIELD name WHERE name = 'only' RETURN name",
    ];
    let connection = social.db.connect();
    let mut transaction = connection.begin().expect("a transaction");
    for text in [
        "CREATE INDEX own FOR (n:Fresh) ON (n.a)",
        "CREATE CONSTRAINT only FOR (n:Fresh) REQUIRE n.b IS UNIQUE",
    ] {
        transaction.query(text, &none).expect(text);
    }
    for text in lists {
        assert_eq!(
            transaction.query(text, &none).expect(text).count(),
            1,
            "{text}"
        );
        assert!(social.rows(text).is_empty(), "{text}");
    }
    transaction.commit().expect("committed");
    for text in lists {
        assert_eq!(social.rows(text).len(), 1, "{text}");
    }
}

#[test]
fn names_are_listed() {
    let social = social();
    let labels = social.rows("CALL db.labels() YIELD label RETURN label ORDER BY label");
    let labels: Vec<&str> = labels.iter().filter_map(|r| r.get(0)?.as_str()).collect();
    assert_eq!(labels, ["Message", "Person", "Post"]);
    assert_eq!(social.rows("CALL db.relationshipTypes()").len(), 2);
    assert_eq!(social.rows("CALL db.propertyKeys()").len(), 4);
    assert!(social.rows("CALL graven.procedures()").len() >= 7);
    assert_eq!(
        social
            .rows("CALL db.ping() YIELD success WHERE success RETURN success")
            .len(),
        1
    );
    assert_eq!(social.rows("CALL db.awaitIndexes(300)").len(), 0);
    assert_eq!(
        social
            .rows("CALL db.awaitIndexes() MATCH (p:Post) RETURN p")
            .len(),
        1
    );
    social.rows("CREATE INDEX known FOR (p:Person) ON (p.unused)");
    assert_eq!(social.rows("CALL db.awaitIndex('known', 1)").len(), 0);
}

#[test]
fn statistics_name_kinds_of_pages() {
    let social = social();
    social.rows("MATCH (p:Person)-[:KNOWS]-(f) RETURN p.name, f.name");
    let rows = social.rows("CALL graven.cache.stats()");
    let kinds: Vec<&str> = rows
        .iter()
        .filter_map(|r| r.get_by_name("kind")?.as_str())
        .collect();
    assert!(!kinds.is_empty());
    let faults: i64 = rows
        .iter()
        .filter_map(|r| r.get_by_name("faults")?.as_integer())
        .sum();
    assert!(faults > 0, "{rows:?}");
}

#[test]
fn the_log_counts_commits_and_syncs() {
    let social = social();
    let stats = |column: &str| {
        let rows = social.rows("CALL graven.log.stats()");
        assert_eq!(rows.len(), 1);
        let value = rows[0].get_by_name(column).expect(column);
        value.as_integer().expect(column)
    };
    let (commits, bytes) = (stats("commits"), stats("bytesWritten"));
    social.rows("CREATE (:Person {name: 'Zoe'})");
    assert_eq!(stats("commits"), commits + 1);
    assert!(stats("bytesWritten") > bytes);
    assert!(stats("syncs") > 0 && stats("bytesToRecover") > 0);
    assert_eq!(stats("bytesNotDurable"), 0);
}

/// A value as text without quotes.
fn plain(value: Option<&Value>) -> String {
    let text = value.map_or_else(String::new, ToString::to_string);
    text.replace('"', "")
}

/// The first column as text.
fn texts(social: &crate::graph::Social, statement: &str) -> Vec<String> {
    let rows = social.rows(statement);
    rows.iter().map(|row| plain(row.get(0))).collect()
}

#[test]
fn what_runs_is_shown_and_can_be_ended() {
    let social = social();
    let connection = social.db.connect();
    let long = "UNWIND range(1, 100000000) AS x RETURN x";
    let mut running = connection.query(long, &Params::new()).expect("starts");
    running.next_row().expect("a row");
    let open = social.db.connect().begin().expect("begins");
    let shown = texts(
        &social,
        "SHOW TRANSACTIONS YIELD currentQuery, status, elapsedTime, memory, transactionId, \
            startTime \
         WHERE elapsedTime >= duration('PT0S') OR memory >= 0 RETURN currentQuery + '|' + status",
    );
    assert!(shown.contains(&format!("{long}|Running")), "{shown:?}");
    assert!(shown.contains(&"|Idle".to_owned()), "{shown:?}");
    assert!(
        shown.iter().any(|s| s.starts_with("SHOW TRANSACTIONS")),
        "{shown:?}"
    );
    let ids = texts(
        &social,
        "SHOW TRANSACTIONS YIELD transactionId, currentQuery WHERE currentQuery STARTS WITH \
            'UNWIND' RETURN transactionId",
    );
    let [id] = &ids[..] else { panic!("{ids:?}") };
    assert_eq!(social.rows(&format!("SHOW TRANSACTIONS '{id}'")).len(), 1);
    let told = social.rows(&format!(
        "TERMINATE TRANSACTIONS '{id}', 'none-transaction-999999' YIELD message"
    ));
    let told: Vec<&str> = told.iter().filter_map(|row| row.get(0)?.as_str()).collect();
    assert_eq!(told, ["Transaction terminated.", "Transaction not found."]);
    let end = loop {
        match running.next_row() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ran to its end"),
            Err(error) => break error,
        }
    };
    assert_eq!(end.code(), "Statement.Cancelled");
    drop((running, open));
    assert_eq!(social.rows("SHOW TRANSACTIONS").len(), 1);

    let mut idle = social.db.connect().begin().expect("begins");
    social.rows(
        "SHOW TRANSACTIONS YIELD status, transactionId AS id WHERE status = 'Idle' RETURN id",
    );
    let ids = texts(
        &social,
        "SHOW TRANSACTIONS YIELD transactionId, status WHERE status = 'Idle' RETURN transactionId",
    );
    social.rows(&format!("TERMINATE TRANSACTION '{}'", ids[0]));
    let error = idle
        .query("RETURN 1", &Params::new())
        .expect_err("terminated");
    assert_eq!(error.code(), "Transaction.Terminated");
}

#[test]
fn the_lists_that_clients_ask_for_have_their_columns() {
    let social = social();
    let columns = |statement: &str| {
        let result = social.db.connect().query(statement, &Params::new());
        let result = result.unwrap_or_else(|e| panic!("{statement}: {}", e.render()));
        result.columns().join(" ")
    };
    assert_eq!(
        columns("SHOW PROCEDURES YIELD name, signature ORDER BY name LIMIT 2"),
        "name signature"
    );
    assert_eq!(
        columns("SHOW ALL FUNCTIONS YIELD name RETURN count(name) AS n"),
        "n"
    );
    assert_eq!(
        columns("SHOW DEFAULT DATABASE YIELD name, currentStatus"),
        "name currentStatus"
    );
    assert!(columns("SHOW DATABASES").starts_with("name type aliases"));
    assert!(columns("SHOW DATABASE test YIELD *").contains("requestedStatus"));
    assert!(columns("SHOW PROCEDURES EXECUTABLE BY CURRENT USER YIELD *").contains("mode"));
    for what in ["DATABASES", "DATABASE neo4j", "HOME DATABASE"] {
        let mut known = columns(&format!("SHOW {what}"));
        if what == "HOME DATABASE" {
            known = known.replace(" constituents", " default home constituents");
        }
        assert_eq!(
            known,
            "name type aliases access address role writer requestedStatus currentStatus \
                statusMessage default home constituents"
        );
    }
    assert_eq!(
        columns("SHOW ALIASES FOR DATABASE"),
        "name composite database location url user"
    );
    assert!(columns("CALL db.indexes()").contains("uniqueness"));
    assert!(columns("CALL db.constraints()").contains("description"));
    let names = texts(
        &social,
        "SHOW FUNCTIONS YIELD name WHERE name STARTS WITH 'to' RETURN name ORDER BY name LIMIT 1",
    );
    assert_eq!(names, ["toBoolean"]);
    let first = texts(
        &social,
        "SHOW PROCEDURES YIELD name ORDER BY name DESC SKIP 1 LIMIT 1",
    );
    assert_eq!(first, ["tx.getMetaData"]);
}

/// The statements with which LangChain's `Neo4jGraph` reads a schema, word for word.
const NODE_PROPERTIES: &str = r#"
CALL apoc.meta.data()
YIELD label, other, elementType, type, property
WHERE NOT type = "RELATIONSHIP" AND elementType = "node"
  AND NOT label IN $EXCLUDED_LABELS
WITH label AS nodeLabels, collect({property:property, type:type}) AS properties
RETURN {labels: nodeLabels, properties: properties} AS output
"#;
const REL_PROPERTIES: &str = r#"
CALL apoc.meta.data()
YIELD label, other, elementType, type, property
WHERE NOT type = "RELATIONSHIP" AND elementType = "relationship"
      AND NOT label in $EXCLUDED_LABELS
WITH label AS nodeLabels, collect({property:property, type:type}) AS properties
RETURN {type: nodeLabels, properties: properties} AS output
"#;
const RELATIONSHIPS: &str = r#"
CALL apoc.meta.data()
YIELD label, other, elementType, type, property
WHERE type = "RELATIONSHIP" AND elementType = "node"
UNWIND other AS other_node
WITH * WHERE NOT label IN $EXCLUDED_LABELS
    AND NOT other_node IN $EXCLUDED_LABELS
RETURN {start: label, type: property, end: toString(other_node)} AS output
"#;
const INDEXES: &str = r"
CALL apoc.schema.nodes() YIELD label, properties, type, size,
valuesSelectivity WHERE type = 'RANGE' RETURN *,
size * valuesSelectivity as distinctValues
";

#[test]
fn databases_are_listed_as_far_as_they_are_named() {
    let social = social();
    let own = social.db.path().file_stem().expect("a name");
    let own = own.to_string_lossy();
    let all = [own.as_ref(), "system"];
    for (text, wanted) in [
        ("SHOW DATABASES".to_owned(), &all[..]),
        ("SHOW DATABASE neo4j".to_owned(), &all[..1]),
        (format!("SHOW DATABASE `{}`", own.to_uppercase()), &all[..1]),
        ("SHOW DATABASE $name".to_owned(), &all[..1]),
        ("SHOW DATABASE system".to_owned(), &all[1..]),
        ("SHOW DATABASE other".to_owned(), &[]),
        ("SHOW HOME DATABASE".to_owned(), &all[..1]),
        ("SHOW DEFAULT DATABASE".to_owned(), &all[..1]),
    ] {
        for rest in [
            "",
            "YIELD *",
            "YIELD name",
            "YIELD name WHERE true RETURN name",
        ] {
            let text = format!("{text} {rest}");
            let params = Params::new().with("name", "Neo4j");
            let found = social.db.connect().query(&text, &params).expect(&text);
            let names: Vec<String> = found
                .map(|row| {
                    row.expect(&text).values()[0]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned()
                })
                .collect();
            assert_eq!(names, wanted, "{text}");
        }
    }
    for (text, wanted) in [
        ("SHOW ALIASES FOR DATABASE", &["neo4j"][..]),
        ("SHOW ALIAS neo4j FOR DATABASE", &["neo4j"]),
        ("SHOW ALIASES other FOR DATABASES", &[]),
    ] {
        assert_eq!(texts(&social, text), wanted, "{text}");
    }
}

#[test]
fn schemas_are_read_with_the_statements_of_clients() {
    let social = social();
    let ask = |statement: &str| {
        let excluded = vec!["_Bloom_Perspective_", "_Bloom_Scene_"];
        let params = Params::new().with("EXCLUDED_LABELS", Value::from(excluded));
        let result = social.db.connect().query(statement, &params);
        let result = result.unwrap_or_else(|e| panic!("{statement}: {}", e.render()));
        let mut rows: Vec<String> = result.map(|row| plain(row.expect("row").get(0))).collect();
        rows.sort();
        rows
    };
    let nodes = ask(NODE_PROPERTIES).join("\n");
    for part in [
        "labels: Person",
        "labels: Post",
        "property: name",
        "type: STRING",
        "type: INTEGER",
    ] {
        assert!(nodes.contains(part), "{part} in {nodes}");
    }
    assert!(
        ask(REL_PROPERTIES).join(" ").contains("type"),
        "{:?}",
        ask(REL_PROPERTIES)
    );
    let relationships = ask(RELATIONSHIPS).join("\n");
    assert!(
        relationships.contains("start: Person") && relationships.contains("type: KNOWS"),
        "{relationships}"
    );
    assert!(ask("SHOW CONSTRAINTS").len() <= 10);
    assert!(!ask(INDEXES).is_empty());
    let types = ask(
        "CALL db.schema.nodeTypeProperties() YIELD nodeType, propertyName, propertyTypes, \
            mandatory \
                     RETURN nodeType + ' ' + propertyName + ' ' + propertyTypes[0] + ' ' + \
                     toString(mandatory)",
    );
    assert!(
        types.contains(&":`Person` name String true".to_owned()),
        "{types:?}"
    );
    assert!(!ask("CALL db.schema.relTypeProperties()").is_empty());
    let graph = ask(
        "CALL db.schema.visualization() YIELD nodes, relationships RETURN toString(size(nodes)) + \
            ' ' + toString(size(relationships) > 1)",
    );
    assert_eq!(graph, ["3 true"]);
}

/// Goal: contents counts each resident page once, names labels, types and properties, and never
/// more than there is.
#[test]
fn contents_tell_what_is_in_memory() {
    let social = social();
    social.rows("MATCH (p:Person)-[:KNOWS]-(f) RETURN p.name, f.name");
    let rows = social.rows("CALL graven.cache.contents()");
    let text = |row: &graven::Row, name: &str| {
        let value = row.get_by_name(name).and_then(|v| v.as_str());
        value.unwrap_or_default().to_owned()
    };
    let number = |row: &graven::Row, name: &str| {
        row.get_by_name(name)
            .and_then(Value::as_integer)
            .unwrap_or(-1)
    };
    for row in &rows {
        let all = number(row, "pages");
        assert!(all == 0 || number(row, "residentPages") <= all, "{row:?}");
        assert!(
            number(row, "residentBytes") >= 4096 * number(row, "residentPages"),
            "{row:?}"
        );
    }
    let resident = |kind: &str, column: &str, name: &str| {
        let of = rows
            .iter()
            .filter(|row| text(row, "kind") == kind && text(row, column) == name);
        of.map(|row| number(row, "residentPages")).sum::<i64>()
    };
    assert!(resident("adjacency", "type", "KNOWS") > 0, "{rows:?}");
    assert!(resident("node column", "property", "name") > 0, "{rows:?}");
    assert!(resident("node column", "label", "Person") > 0, "{rows:?}");
    let total: i64 = rows.iter().map(|row| number(row, "residentPages")).sum();
    let cache = social.db.cache().expect("open here").stats();
    // Looking reads the directory.
    assert!(
        total as u64 <= cache.resident_pages && total > 0,
        "{total} of {}",
        cache.resident_pages
    );
}

/// Goal: the first call begins to watch, later ones predict, and the end frees the memory.
#[test]
fn what_if_predicts_after_it_was_asked_once() {
    let social = social();
    assert!(social.rows("CALL graven.cache.whatIf()").is_empty());
    let before = social.db.cache().expect("open here").budget().used();
    for _ in 0..2_000 {
        social.rows("MATCH (p:Person)-[:KNOWS]-(f) RETURN count(f.name)");
    }
    let rows = social.rows(
        "CALL graven.cache.whatIf() YIELD current, factor, hitRatio, error WHERE current RETURN *",
    );
    let ended = social.rows("CALL graven.cache.endWhatIf()");
    assert_eq!(ended[0].get_by_name("watched"), Some(&Value::Boolean(true)));
    assert!(social.db.cache().expect("open here").budget().used() < before);
    // A graph of a few pages may have none in the sample; where it has, everything fits.
    if let [_, now, ..] = &rows[..] {
        let ratio = now
            .get_by_name("hitRatio")
            .and_then(Value::as_float)
            .expect("a ratio");
        assert!(ratio > 0.99, "{rows:?}");
    }
    assert_eq!(
        social.rows("CALL graven.cache.endWhatIf()")[0].get_by_name("watched"),
        Some(&Value::Boolean(false))
    );
}

/// Goal: a procedure of the program runs only for users that have the right it was added with.
#[test]
fn procedures_of_the_program_carry_a_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    let db = Database::open(folder.path().join("p.graven"), config).expect("made");
    let calls = Arc::new(AtomicUsize::new(0));
    let rights = [
        (Right::Read, "READ"),
        (Right::Write, "WRITE"),
        (Right::Admin, "DBMS"),
    ];
    for (right, mode) in rights {
        let (calls, signature) = (Arc::clone(&calls), format!("my.{mode}() :: (n :: INTEGER)"));
        let body = move |_: &[Value]| {
            calls.fetch_add(1, Ordering::Relaxed);
            Ok(vec![vec![Value::Integer(7)]])
        };
        db.register_procedure(&signature, right, body)
            .expect("added");
    }
    let run = |access: Access, text: &str| {
        let connection = db.connect().with_access(access);
        let ran = connection.query(text, &Params::new());
        let rows = ran.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
        rows.map(|rows| rows.len()).map_err(|e| e.code().to_owned())
    };
    for (needs, (_, mode)) in rights.iter().enumerate() {
        let shown = format!(
            "SHOW PROCEDURES YIELD name, mode WHERE name = 'my.{mode}' AND mode = '{mode}'"
        );
        assert_eq!(run(Access::default(), &shown), Ok(1), "{shown}");
        for (has, role) in [Role::Reader, Role::Writer, Role::Admin]
            .into_iter()
            .enumerate()
        {
            for reads_only in [false, true] {
                let access = Access::without_files(role).reading_only(reads_only);
                let before = calls.load(Ordering::Relaxed);
                let ran = run(access, &format!("CALL my.{mode}()"));
                let wanted = match (reads_only && needs > 0, needs <= has) {
                    (true, _) => Err("Security.ReadMode".to_owned()),
                    (false, true) => Ok(1),
                    (false, false) => Err("Security.Forbidden".to_owned()),
                };
                assert_eq!(ran, wanted, "{mode} by {role}, {reads_only}");
                let did = calls.load(Ordering::Relaxed) - before;
                assert_eq!(did == 1, wanted.is_ok(), "{mode} by {role}, {reads_only}");
            }
        }
    }
}

#[test]
fn other_engines_are_told_the_plan_and_the_state_of_the_graph() {
    let social = social();
    let statement = "MATCH (p:Person)-[:KNOWS]->(f) RETURN p.name, count(f)";
    let params = Params::new().with("text", statement);
    let ask = "CALL graven.logicalPlan($text) YIELD plan RETURN plan";
    let rows = social.db.connect().query(ask, &params).expect("valid");
    let rows: Vec<_> = rows.collect::<Result<_, _>>().expect("planned");
    let plan = rows[0].get(0).and_then(Value::as_str).expect("a text");
    assert!(plan.contains(r#""op":"Aggregate""#), "{plan}");
    let wrong = Params::new().with("text", "MATCH (p RETURN p");
    let error = (social.db.connect().query(ask, &wrong))
        .and_then(|r| r.collect::<Result<Vec<_>, _>>())
        .expect_err("no statement");
    assert!(error.message().contains("SyntaxError"), "{error}");

    let mut small = graven::Config::default();
    small.create = true;
    small.memory = 16 << 20;
    let folder = tempfile::tempdir().expect("a folder");
    let small = graven::Database::open(folder.path().join("small.graven"), small).expect("opened");
    let long = format!("RETURN [{}1]", "1,".repeat(50_000));
    let error = (small
        .connect()
        .query(ask, &Params::new().with("text", long.as_str())))
    .and_then(|r| r.collect::<Result<Vec<_>, _>>())
    .expect_err("more than the memory");
    assert!(error.message().contains("memory limit"), "{error}");

    let state = || format!("{:?}", social.rows("CALL graven.snapshot()")[0].values());
    let before = state();
    assert_eq!(state(), before, "SK-3: nothing changed");
    social.rows("CREATE (:Person {name: 'new'})");
    let after = state();
    assert_ne!(after, before, "SK-3: a commit");
    social.db.checkpoint().expect("room");
    assert_eq!(state(), after, "SK-3: a checkpoint changes no graph");
}
