//! Goal: writing statements, transactions and schema commands do what they say, seen from outside;
//! what is committed is there after opening again, what failed or was rolled back is not.

use graven::{Config, Connection, Database, Params, Value};

/// An empty database in a folder of its own.
fn empty() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().expect("folder");
    let db = open(&folder);
    (folder, db)
}

fn open(folder: &tempfile::TempDir) -> Database {
    let mut config = Config::default();
    config.memory = 32 << 20;
    config.create = true;
    Database::open(folder.path().join("test.graven"), config).expect("opens")
}

fn rows(connection: &Connection, text: &str) -> Vec<Vec<Value>> {
    let result = connection.query(text, &Params::new());
    let result = result.unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    result.map(|row| row.expect("row").into_values()).collect()
}

fn number(connection: &Connection, text: &str) -> i64 {
    rows(connection, text)[0][0].as_integer().expect("a number")
}

fn fails(connection: &Connection, text: &str) -> String {
    let error = connection.query(text, &Params::new()).err();
    error
        .unwrap_or_else(|| panic!("{text} works"))
        .code()
        .to_owned()
}

#[test]
fn what_is_committed_is_there_after_opening_again() {
    let (folder, db) = empty();
    let connection = db.connect();
    let result = connection
        .query(
            "CREATE (a:P {id: 1})-[:R {w: 2.5}]->(b:P {id: 2})",
            &Params::new(),
        )
        .expect("creates");
    let counters = result.summary().counters;
    assert_eq!(
        (counters.nodes_created, counters.relationships_created),
        (2, 1)
    );
    assert!(result.summary().commit.is_some());
    drop((result, connection, db));
    let db = open(&folder);
    let found = rows(&db.connect(), "MATCH (a)-[r:R]->(b) RETURN a.id, r.w, b.id");
    assert_eq!(
        found,
        [[Value::Integer(1), Value::Float(2.5), Value::Integer(2)]]
    );
}

#[test]
fn barriers_keep_a_clause_from_its_own_effects() {
    let (_folder, db) = empty();
    let connection = db.connect();
    rows(&connection, "UNWIND range(1, 3000) AS i CREATE (:A {i: i})");
    rows(&connection, "MATCH (n) CREATE (:B)");
    assert_eq!(number(&connection, "MATCH (n) RETURN count(n)"), 6000);
    rows(&connection, "MATCH (a:A {i: 1}), (b:B) CREATE (:B)");
    assert_eq!(number(&connection, "MATCH (b:B) RETURN count(b)"), 6000);
    // A clause is done for all rows before the next: both see the end.
    let sums = "UNWIND [1, 2] AS i MATCH (a:A {i: 1}) SET a.s = i RETURN collect(a.s)";
    let both = Value::from(vec![2, 2]);
    assert_eq!(rows(&connection, sums), [[both]]);
    // MERGE sees what its own earlier rows created.
    rows(&connection, "UNWIND [1, 1, 2] AS i MERGE (:M {i: i})");
    assert_eq!(number(&connection, "MATCH (m:M) RETURN count(m)"), 2);
    let counted =
        "UNWIND [1, 1, 1] AS i MATCH (a:A {i: 7}) SET a.c = coalesce(a.c, 0) + i RETURN max(a.c)";
    assert_eq!(number(&connection, counted), 3);
    // LIMIT does not keep the rows behind it from being written.
    rows(
        &connection,
        "UNWIND range(1, 5000) AS i CREATE (n:L) RETURN n LIMIT 1",
    );
    assert_eq!(number(&connection, "MATCH (n:L) RETURN count(n)"), 5000);
}

#[test]
fn barriers_know_what_conditions_and_counted_ends_read() {
    let (_folder, db) = empty();
    let connection = db.connect();
    rows(&connection, "CREATE (:A), (c:C)-[:R]->(c)");
    // "Has any label" reads every label.
    let any = "MATCH (a) OPTIONAL MATCH (b)--(:%) REMOVE b:C RETURN count(b)";
    assert_eq!(number(&connection, any), 2);
    rows(
        &connection,
        "UNWIND range(1, 3000) AS i CREATE (:S:B {i: i})",
    );
    rows(
        &connection,
        "MATCH (b:S {i: 1}) MATCH (a:S) WHERE a.i > 1 CREATE (a)-[:R]->(b)",
    );
    // So does counting the ends of a search that have a label.
    let ends = "MATCH (a:S)-[:R*1..3]->(b:B) WITH a, count(DISTINCT b) AS ends \
                REMOVE a:B RETURN sum(ends)";
    assert_eq!(number(&connection, ends), 2999);
}

#[test]
fn what_counts_in_a_pattern_may_have_been_created_before() {
    let (_folder, db) = empty();
    let connection = db.connect();
    rows(&connection, "CREATE (:S)");
    let path = "(a)-[:R]->(:B)-[:Q]->(:B)";
    for (counts, found) in [
        (
            "MATCH (a)-[:R]->()-[:Q]->(:B) RETURN count(*) AS n",
            [1, 2, 3],
        ),
        (
            "MATCH (a)-[:R|Q*1..3]->(b) RETURN count(DISTINCT b) AS n",
            [8, 10, 12],
        ),
        ("MATCH (a)-[:R]->(b:B) RETURN count(*) AS n", [7, 8, 9]),
        (
            "MATCH (a)--(b)--(c) WHERE b <> c RETURN count(*) AS n",
            [10, 11, 12],
        ),
        (
            "RETURN COUNT { (a)-[:R]->(:B)-[]->(:B) } AS n",
            [13, 14, 15],
        ),
    ] {
        let text = format!(
            "UNWIND [1, 2, 3] AS i MATCH (a:S) \
             CALL {{ WITH a CREATE {path} WITH a {counts} }} RETURN n ORDER BY i"
        );
        let found = found.map(|n| vec![Value::Integer(n)]);
        assert_eq!(rows(&connection, &text), found, "{text}");
    }
}

#[test]
fn merge_foreach_and_subqueries_write() {
    let (_folder, db) = empty();
    let connection = db.connect();
    let merge = "UNWIND [1, 2, 1] AS i MERGE (n:P {id: i}) ON CREATE SET n.made = 1 \
                 ON MATCH SET n.met = 1 RETURN count(n)";
    assert_eq!(number(&connection, merge), 3);
    assert_eq!(
        number(
            &connection,
            "MATCH (n:P) RETURN sum(n.made) * 10 + sum(n.met)"
        ),
        21
    );
    rows(
        &connection,
        "FOREACH (i IN range(1, 3) | CREATE (:F {i: i}))",
    );
    assert_eq!(number(&connection, "MATCH (f:F) RETURN sum(f.i)"), 6);
    let each = "UNWIND [2, 3] AS k CALL (k) { FOREACH (i IN [7, 8] | CREATE (:G {i: i})) \
                WITH k MATCH (g:G) RETURN count(g) * k AS n } RETURN sum(n)";
    assert_eq!(number(&connection, each), 2 * 2 + 4 * 3);
    let unit = "MATCH (p:P) CALL { WITH p CREATE (:C {of: p.id}) } RETURN count(*)";
    assert_eq!(number(&connection, unit), 2);
    assert_eq!(number(&connection, "MATCH (c:C) RETURN sum(c.of)"), 3);
    assert_eq!(
        fails(&connection, "UNWIND [null] AS x MERGE (:P {id: x})"),
        "SemanticError.MergeReadOwnWrites"
    );
}

#[test]
fn deleting_and_its_mistakes() {
    let (_folder, db) = empty();
    let connection = db.connect();
    rows(&connection, "CREATE (:X {n: 1})-[:R]->(:Y)");
    let connected = "ConstraintVerificationFailed.DeleteConnectedNode";
    assert_eq!(fails(&connection, "MATCH (x:X) DELETE x"), connected);
    let gone = "EntityNotFound.DeletedEntityAccess";
    assert_eq!(
        fails(&connection, "MATCH (x:X) DETACH DELETE x RETURN x.n"),
        gone
    );
    // A failed statement leaves nothing behind.
    assert_eq!(number(&connection, "MATCH ()-[r]->() RETURN count(r)"), 1);
    let kind = "MATCH ()-[r]->() DELETE r RETURN type(r)";
    assert_eq!(rows(&connection, kind), [[Value::from("R")]]);
    rows(&connection, "MATCH (n) DELETE n");
    assert_eq!(number(&connection, "MATCH (n) RETURN count(n)"), 0);
    let list = "TypeError.InvalidPropertyType";
    assert_eq!(fails(&connection, "CREATE (n) SET n.x = [{a: 1}]"), list);
}

#[test]
fn a_transaction_is_all_or_nothing() {
    let (_folder, db) = empty();
    let connection = db.connect();
    let none = Params::new();
    let mut transaction = connection.begin().expect("begins");
    transaction
        .query("CREATE (:T {id: 1})", &none)
        .expect("creates");
    let own = transaction
        .query("MATCH (t:T) RETURN count(t)", &none)
        .expect("reads");
    let own: Vec<_> = own.map(|row| row.expect("row").into_values()).collect();
    assert_eq!(own, [[Value::Integer(1)]]);
    assert_eq!(number(&connection, "MATCH (t:T) RETURN count(t)"), 0);
    transaction.rollback();
    assert_eq!(number(&connection, "MATCH (t:T) RETURN count(t)"), 0);
    let mut transaction = connection.begin().expect("begins");
    transaction
        .query("CREATE (:T {id: 2})", &none)
        .expect("creates");
    assert!(transaction.query("RETURN 1 / 0", &none).is_err());
    let refused = transaction
        .query("CREATE (:T)", &none)
        .expect_err("has failed");
    assert_eq!(refused.code(), "Transaction.Failed");
    assert_eq!(
        transaction.commit().expect_err("has failed").code(),
        "Transaction.Failed"
    );
    assert_eq!(number(&connection, "MATCH (t:T) RETURN count(t)"), 0);
}

#[test]
fn conflicts_are_retried_by_single_statements_and_told_by_transactions() {
    let (_folder, db) = empty();
    let connection = db.connect();
    let none = Params::new();
    rows(&connection, "CREATE (:Counter {n: 0})");
    let add = "MATCH (c:Counter) SET c.n = c.n + 1";
    let mut first = connection.begin().expect("begins");
    first.query(add, &none).expect("runs");
    rows(&connection, add);
    let conflict = first.commit().expect_err("another transaction was first");
    assert!(conflict.is_retryable(), "{}", conflict.code());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let connection = db.connect();
                for _ in 0..10 {
                    rows(&connection, add);
                }
            });
        }
    });
    assert_eq!(number(&connection, "MATCH (c:Counter) RETURN c.n"), 41);
}

#[test]
fn indexes_and_constraints_come_and_go() {
    let (_folder, db) = empty();
    let connection = db.connect();
    rows(
        &connection,
        "UNWIND range(1, 50) AS i CREATE (:P {id: i, name: 'n' + i})",
    );
    rows(
        &connection,
        "CREATE CONSTRAINT p_id FOR (p:P) REQUIRE p.id IS UNIQUE",
    );
    rows(
        &connection,
        "CREATE CONSTRAINT p_id IF NOT EXISTS FOR (p:P) REQUIRE p.id IS UNIQUE",
    );
    rows(&connection, "CREATE INDEX p_name FOR (p:P) ON (p.name)");
    let found = rows(
        &connection,
        "SHOW INDEXES YIELD name, properties RETURN name, properties",
    );
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(rows(&connection, "SHOW CONSTRAINTS").len(), 1);
    let duplicate = "ConstraintValidationFailed.Duplicate";
    assert_eq!(fails(&connection, "CREATE (:P {id: 7})"), duplicate);
    let plan = connection.query(
        "EXPLAIN MATCH (p:P {name: 'n7'}) RETURN p.id",
        &Params::new(),
    );
    assert!(
        plan.expect("plans")
            .plan()
            .expect("plan")
            .contains("IndexSeek")
    );
    assert_eq!(
        number(&connection, "MATCH (p:P {name: 'n7'}) RETURN p.id"),
        7
    );
    rows(&connection, "DROP CONSTRAINT p_id");
    rows(&connection, "DROP CONSTRAINT p_id IF EXISTS");
    assert_eq!(fails(&connection, "DROP INDEX nothing"), "Schema.NotFound");
    rows(&connection, "CREATE (:P {id: 7})");
}

#[test]
fn load_csv_reads_files_and_names_what_is_wrong() {
    let (folder, db) = empty();
    let connection = db.connect();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, "id;name\n1;Ada\n2;\"B; \"\"o\"\"\"\n3;\n").expect("written");
    let url = format!("file://{}", path.display());
    let text = format!(
        "LOAD CSV WITH HEADERS FROM '{url}' AS line FIELDTERMINATOR ';' \
         CREATE (:P {{id: toInteger(line.id), name: line.name}})"
    );
    rows(&connection, &text);
    let found = rows(&connection, "MATCH (p:P) RETURN p.name ORDER BY p.id");
    let expected = [
        [Value::from("Ada")],
        [Value::from("B; \"o\"")],
        [Value::Null],
    ];
    assert_eq!(found, expected);
    // Quotes within a field are text; a column without a name is passed over; names of files may be
    // coded.
    let odd = path.with_file_name("odd people.csv");
    std::fs::write(&odd, "a,,b\n1,x\"y,\"2\n3\"\n4,\"z\",5\n").expect("written");
    let odd = format!("file://{}", odd.display()).replace(' ', "%20");
    let text = format!("LOAD CSV WITH HEADERS FROM '{odd}' AS line RETURN line.a, line.b");
    let expected = [
        [Value::from("1"), Value::from("2\n3")],
        [Value::from("4"), Value::from("5")],
    ];
    assert_eq!(rows(&connection, &text), expected);
    // Within quotes a backslash makes a quote or a backslash plain; elsewhere it is text.
    std::fs::write(
        &path,
        "a;\"b \\\"c\\\" \\\\\";\"d\\e\";f\\\"g\n\"\\\"\n;\";2\n",
    )
    .expect("written");
    let text = format!("LOAD CSV FROM '{url}' AS line FIELDTERMINATOR ';' RETURN line");
    let list = |items: &[&str]| [Value::List(items.iter().map(|i| Value::from(*i)).collect())];
    let expected = [
        list(&["a", "b \"c\" \\", "d\\e", "f\\\"g"]),
        list(&["\"\n;", "2"]),
    ];
    assert_eq!(rows(&connection, &text), expected);
    // What gzip or zstd has packed is unpacked, whatever its name.
    let plain = b"x,y\n1,2\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, plain).expect("packed");
    let packed = [
        gzip.finish().expect("packed"),
        zstd::encode_all(&plain[..], 1).expect("packed"),
    ];
    for bytes in packed {
        std::fs::write(&path, bytes).expect("written");
        let text = format!("LOAD CSV WITH HEADERS FROM '{url}' AS line RETURN line.y");
        assert_eq!(rows(&connection, &text), [[Value::from("2")]]);
    }
    std::fs::write(&path, "a\n\"b\nc\nd").expect("written");
    let text = format!("LOAD CSV FROM '{url}' AS line RETURN line");
    let mut result = connection.query(&text, &Params::new()).expect("starts");
    let error = result.find_map(Result::err).expect("fails");
    assert!(
        error.message().contains("people.csv, line 2: a quoted"),
        "{}",
        error.message()
    );
}

#[test]
fn a_profile_tells_what_the_commit_cost() {
    let (_folder, db) = empty();
    let connection = db.connect();
    let create = "PROFILE UNWIND range(1, 2000) AS i CREATE (:Thing {i: i})";
    let result = connection.query(create, &Params::new()).unwrap();
    let commit = result.summary().commit.unwrap();
    assert!(commit.log_bytes > 2000 && commit.group == 1 && commit.checkpoint.is_zero());
    let plan = result.plan().unwrap();
    let line = plan.lines().last().unwrap();
    let bytes = format!("commit: {} bytes of log, ", commit.log_bytes);
    assert!(line.starts_with(&bytes), "{line}");
    assert!(line.contains("ms waited for the device, 1 commit shared the wait"));
    assert!(line.ends_with("no concurrent checkpoint"), "{line}");
    // A checkpoint that works beside commits shows in one of them.
    let stop = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    let seen = std::thread::scope(|scope| {
        let checkpoints = scope.spawn(|| {
            // Not for ever, should the commits beside it fail.
            for _ in 0..20_000 {
                if stop.load(order) {
                    break;
                }
                db.checkpoint().unwrap();
            }
        });
        let mut seen = false;
        for i in 0..2000 {
            let change = format!("PROFILE MATCH (t:Thing {{i: {}}}) SET t.seen = {i}", i + 1);
            let result = connection.query(&change, &Params::new()).unwrap();
            let plan = result.plan().unwrap();
            let told = plan.contains("a concurrent checkpoint for ");
            assert_eq!(told, !result.summary().commit.unwrap().checkpoint.is_zero());
            seen |= told;
            if seen {
                break;
            }
        }
        stop.store(true, order);
        checkpoints.join().unwrap();
        seen
    });
    assert!(
        seen,
        "two thousand commits beside checkpoints and none met one"
    );
}

#[test]
fn a_duplicate_and_a_node_that_is_held_are_told_in_words_of_the_language() {
    let (_folder, db) = empty();
    let connection = db.connect();
    rows(
        &connection,
        "CREATE CONSTRAINT d FOR (n:D) REQUIRE (n.day, n.at) IS UNIQUE",
    );
    let create = "CREATE (:D {day: date('2015-07-21'), at: [1, 2]})";
    rows(&connection, create);
    let error = connection
        .query(create, &Params::new())
        .map(drop)
        .expect_err("twice");
    let words = "already exists with label `D` and properties `day` = 2015-07-21, `at` = [1, 2]";
    assert!(error.message().contains(words), "{}", error.message());
    rows(&connection, "MATCH (n:D) CREATE (n)-[:R]->(:E)");
    let error = connection.query("MATCH (n:D) DELETE n", &Params::new());
    let error = error.map(drop).expect_err("held");
    assert!(
        error.message().contains("has 1 relationship;"),
        "{}",
        error.message()
    );
    let result = connection.query(
        "MATCH (n:D) SET n.c = coalesce(n.c, 0) + 1 RETURN n.c",
        &Params::new(),
    );
    let mut result = result.expect("runs");
    while result.next_row().expect("runs").is_some() {}
    assert_eq!(result.summary().notices, []);
}

#[test]
fn records_say_their_line_and_their_file() {
    let social = crate::graph::social();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("some.csv");
    std::fs::write(&path, "a,b\n1,\"x\ny\"\n\n3,z\n4,\n").expect("written");
    let load = format!(
        "LOAD CSV WITH HEADERS FROM 'file://{}' AS r",
        path.display()
    );
    let lines = |rest: &str| -> Vec<Vec<Value>> {
        let rows = social.rows(&format!("{load} {rest}"));
        rows.iter().map(|row| row.values().to_vec()).collect()
    };
    let numbers = |found: [i64; 3]| -> Vec<Vec<Value>> {
        found.iter().map(|n| vec![Value::Integer(*n)]).collect()
    };
    // A record begins where it begins: one has a line end within quotes, and blank lines are none.
    let begin = numbers([2, 5, 6]);
    assert_eq!(lines("RETURN linenumber()"), begin);
    assert_eq!(lines("WITH linenumber() AS l RETURN l"), begin);
    assert_eq!(
        lines("CALL (r) { RETURN lineNumber() AS l } RETURN l"),
        begin
    );
    assert_eq!(
        lines("WITH r, linenumber() AS l ORDER BY linenumber() RETURN l"),
        begin
    );
    let sorted =
        lines("WITH r ORDER BY linenumber() DESC WHERE linenumber() > 2 RETURN toInteger(r.a)");
    assert_eq!(sorted, numbers([4, 3, 0])[..2]);
    assert_eq!(
        lines("RETURN max(linenumber()), count(*)"),
        [[6.into(), 3.into()]]
    );
    let file = path.display().to_string();
    assert_eq!(lines("RETURN DISTINCT file()"), [[file.into()]]);
}

#[test]
fn records_end_with_any_line_end() {
    let social = crate::graph::social();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ends.csv");
    let cells = |text: &[u8], headers: &str| -> Vec<String> {
        std::fs::write(&path, text).expect("written");
        let url = path.display();
        let rows = social.rows(&format!(
            "LOAD CSV {headers} FROM 'file://{url}' AS r RETURN r, linenumber()"
        ));
        let line = |row: &graven::Row| {
            let cells: Vec<String> = row.values().iter().map(Value::to_string).collect();
            cells.join(" ")
        };
        rows.iter().map(line).collect()
    };
    let three = ["[\"a\", \"b\"] 1", "[\"1\", \"x\"] 2", "[\"2\", null] 3"];
    for text in [
        "a,b\n1,x\n2,",
        "a,b\r1,x\r2,\r",
        "a,b\r\n1,x\r\n2,\r\n",
        "a,b\r1,x\n2,\r\n",
        "\u{feff}a,b\r\n1,x\r2,\n",
    ] {
        assert_eq!(cells(text.as_bytes(), ""), three, "{text:?}");
    }
    assert_eq!(
        cells(b"a,b\r1,x\r\r\r\"2\r3\",\"y\"\r\n", "WITH HEADERS"),
        ["{a: \"1\", b: \"x\"} 2", "{a: \"2\\r3\", b: \"y\"} 5"]
    );
    // An end that lies on the border of what is read at a time.
    let long = format!("{},1\r\n{},2\r3,3", "x".repeat(8189), "y".repeat(8190));
    assert_eq!(cells(long.as_bytes(), "").len(), 3);
    assert_eq!(cells(b"", "").len(), 0);
    assert_eq!(cells(b"\r\r\n\n", "").len(), 0);
}
