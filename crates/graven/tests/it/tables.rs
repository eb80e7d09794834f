//! Goal: types of properties, ends of relationships and statements about tables hold, are shown,
//! and outlive the process that made them.

use graven::{Config, Database, Params, Value};

fn making() -> Config {
    let mut config = Config::default();
    config.create = true;
    config
}

struct Fresh {
    _dir: tempfile::TempDir,
    path: std::path::PathBuf,
    db: Database,
}

fn fresh() -> Fresh {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tables.graven");
    let db = Database::open(&path, making()).unwrap();
    Fresh {
        _dir: dir,
        path,
        db,
    }
}

fn run(db: &Database, text: &str) -> Result<Vec<String>, String> {
    let rows = db
        .connect()
        .query(text, &Params::new())
        .and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    let line = |row: &graven::Row| {
        let values: Vec<String> = row.values().iter().map(Value::to_string).collect();
        values.join(" ")
    };
    match rows {
        Ok(rows) => Ok(rows.iter().map(line).collect()),
        Err(error) => Err(format!("{} {error}", error.code())),
    }
}

#[track_caller]
fn done(db: &Database, text: &str) {
    if let Err(error) = run(db, text) {
        panic!("{text}: {error}");
    }
}

#[track_caller]
fn rows(db: &Database, text: &str) -> Vec<String> {
    run(db, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn refused(db: &Database, text: &str, parts: &[&str]) {
    let error = run(db, text).expect_err(text);
    for part in parts {
        assert!(error.contains(part), "{text}: no `{part}` in: {error}");
    }
}

#[test]
fn type_constraints_hold_and_are_shown() {
    let Fresh { _dir, path, db } = fresh();
    done(&db, "CREATE (:Person {name: 'Ada', age: 36})");
    done(
        &db,
        "CREATE CONSTRAINT age FOR (p:Person) REQUIRE p.age IS :: INTEGER | FLOAT",
    );
    done(
        &db,
        "CREATE CONSTRAINT name FOR (p:Person) REQUIRE p.name IS TYPED STRING NOT NULL",
    );
    done(
        &db,
        "CREATE CONSTRAINT tags FOR ()-[k:KNOWS]-() REQUIRE k.tags :: LIST<STRING NOT NULL>",
    );
    done(
        &db,
        "CREATE CONSTRAINT small FOR (p:Person) REQUIRE p.level IS :: INT8",
    );
    done(
        &db,
        "CREATE CONSTRAINT ends FOR ()-[k:KNOWS]-() FROM Person TO Person",
    );
    for (text, part) in [
        (
            "CREATE (:Person {name: 'B', age: 'old'})",
            "must be INTEGER | FLOAT, not STRING",
        ),
        ("CREATE (:Person {age: 1})", "must have the property name"),
        ("CREATE (:Person {name: 'B', level: 300})", "must be INT8"),
        (
            "MATCH (p:Person) SET p.name = null",
            "must have the property name",
        ),
        (
            "MATCH (p:Person) CREATE (p)-[:KNOWS {tags: [1]}]->(p)",
            "must be LIST<STRING NOT NULL>",
        ),
        (
            "MATCH (p:Person) CREATE (p)-[:KNOWS]->(:Dog)",
            "must go from Person to Person",
        ),
    ] {
        refused(&db, text, &["ConstraintValidationFailed", part]);
    }
    refused(
        &db,
        "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.age IS :: STRING",
        &["Schema"],
    );
    refused(
        &db,
        "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.x IS :: MAP",
        &["no property holds a value of type MAP"],
    );
    let shown = "SHOW CONSTRAINTS YIELD name, type, propertyType RETURN name, type, propertyType \
        ORDER BY name";
    let expected = [
        r#""age" "NODE_PROPERTY_TYPE" "INTEGER | FLOAT""#,
        r#""ends" "RELATIONSHIP_ENDS" null"#,
        r#""name" "NODE_PROPERTY_TYPE" "STRING NOT NULL""#,
        r#""small" "NODE_PROPERTY_TYPE" "INT8""#,
        r#""tags" "RELATIONSHIP_PROPERTY_TYPE" "LIST<STRING NOT NULL>""#,
    ];
    assert_eq!(rows(&db, shown), expected);
    // What a statement shows makes the same constraint again.
    let texts = rows(
        &db,
        "SHOW CONSTRAINTS YIELD createStatement RETURN createStatement",
    );
    drop(db);
    let db = Database::open(&path, making()).unwrap();
    assert_eq!(rows(&db, shown), expected);
    refused(&db, "CREATE (:Person {age: 1})", &["MissingProperty"]);
    let other = fresh();
    for text in texts {
        let text = text.trim_matches('"').replace("\\\"", "\"");
        done(&other.db, &text);
    }
    assert_eq!(rows(&other.db, shown), expected);
}

#[test]
fn tables_are_made_filled_changed_and_dropped() {
    let Fresh { _dir, path, db } = fresh();
    done(
        &db,
        "CREATE NODE TABLE Person(name STRING, age INT16 DEFAULT 18, height DOUBLE, born DATE, \
            PRIMARY KEY(name))",
    );
    done(
        &db,
        "CREATE NODE TABLE IF NOT EXISTS Person(x STRING PRIMARY KEY)",
    );
    refused(
        &db,
        "CREATE NODE TABLE Person(x STRING PRIMARY KEY)",
        &["Person"],
    );
    done(
        &db,
        "CREATE NODE TABLE City(id SERIAL, name STRING, PRIMARY KEY(id))",
    );
    done(
        &db,
        "CREATE REL TABLE LivesIn(FROM Person TO City, since INT64 DEFAULT 1 + 1, MANY_ONE)",
    );
    done(
        &db,
        "CREATE (:Person {name: 'Ada', height: 2, born: '1990-01-01'}), (:Person {name: 'Bo', age: 3})",
    );
    done(
        &db,
        "UNWIND ['Rome', 'Oslo'] AS name CREATE (:City {name: name})",
    );
    done(&db, "MERGE (:City {name: 'Bern'})");
    assert_eq!(
        rows(
            &db,
            "MATCH (p:Person) RETURN p.age, p.height, p.born ORDER BY p.name"
        ),
        ["18 2.0 1990-01-01", "3 null null"]
    );
    assert_eq!(
        rows(&db, "MATCH (c:City) RETURN c.id, c.name ORDER BY c.id"),
        ["0 \"Rome\"", "1 \"Oslo\"", "2 \"Bern\""]
    );
    let lives = "MATCH (p:Person {name: 'Ada'}), (c:City {id: 0}) CREATE (p)-[:LivesIn]->(c)";
    done(&db, lives);
    refused(&db, lives, &["RelationshipEnds", "only one"]);
    refused(
        &db,
        "MATCH (p:Person), (c:City {id: 0}) CREATE (c)-[:LivesIn]->(p)",
        &["must go from Person to City"],
    );
    refused(&db, "CREATE (:Person {name: 'Cy', age: 40000})", &["INT16"]);
    refused(&db, "CREATE (:Person {name: 'Ada'})", &["name"]);
    assert_eq!(rows(&db, "MATCH ()-[l:LivesIn]->() RETURN l.since"), ["2"]);
    assert_eq!(
        rows(&db, "CALL table_info('Person') RETURN *").len(),
        4,
        "a row for each column"
    );
    assert_eq!(
        rows(
            &db,
            "CALL table_info('Person') WHERE name = 'age' RETURN name, type"
        ),
        ["\"age\" \"INT16\""]
    );
    assert_eq!(
        rows(&db, "CALL show_tables() RETURN name, type ORDER BY name"),
        [
            "\"City\" \"NODE\"",
            "\"LivesIn\" \"REL\"",
            "\"Person\" \"NODE\""
        ]
    );
    assert_eq!(
        rows(&db, "CALL show_connection('LivesIn') RETURN *"),
        ["\"Person\" \"City\" \"name\" \"id\""]
    );
    // What is shown makes the tables again.
    let copy = fresh();
    for text in rows(
        &db,
        "SHOW CONSTRAINTS YIELD createStatement RETURN createStatement",
    ) {
        let text = text.trim_matches('"').replace("\\\"", "\"");
        done(&copy.db, &text);
    }
    for table in ["Person", "City", "LivesIn"] {
        let columns = format!("CALL table_info('{table}') RETURN *");
        assert_eq!(rows(&copy.db, &columns), rows(&db, &columns));
    }
    done(&db, "ALTER TABLE Person ADD score INT64 DEFAULT 5");
    done(&db, "ALTER TABLE Person RENAME height TO tall");
    done(&db, "ALTER TABLE Person DROP born");
    done(&db, "ALTER TABLE City RENAME TO Town");
    done(&db, "ALTER TABLE LivesIn ADD FROM Town TO Town");
    done(&db, "CREATE (:Town {name: 'Lima'})");
    drop(db);
    let db = Database::open(&path, making()).unwrap();
    assert_eq!(
        rows(
            &db,
            "MATCH (p:Person {name: 'Ada'})-->(t:Town) RETURN p.score, p.tall, p.born, t.name"
        ),
        ["5 2.0 null \"Rome\""]
    );
    refused(&db, "DROP TABLE Person", &["LivesIn"]);
    done(&db, "DROP TABLE LivesIn");
    done(&db, "DROP TABLE Person");
    done(&db, "DROP TABLE IF EXISTS Person");
    refused(&db, "DROP TABLE Person", &["Person"]);
    assert_eq!(rows(&db, "MATCH (n) RETURN max(n.id)"), ["3"]);
    done(&db, "CREATE (:Person {name: 1})");
}

/// Defaults and serial numbers change nothing of what is imported.
#[test]
fn tables_come_back_with_their_rows() {
    let Fresh { _dir, db, .. } = fresh();
    done(
        &db,
        "CREATE NODE TABLE T(id SERIAL, age INT16 DEFAULT 18, PRIMARY KEY(id))",
    );
    for _ in 0..6 {
        done(&db, "CREATE (:T)");
    }
    done(&db, "MATCH (t:T) WHERE t.id IN [1, 3, 4] DELETE t");
    done(&db, "MATCH (t:T {id: 2}) SET t.age = null");
    let all = "MATCH (t:T) RETURN t.id, t.age ORDER BY t.id";
    assert_eq!(rows(&db, all), ["0 18", "2 null", "5 18"]);
    let folder = _dir.path().join("all");
    done(&db, &format!("EXPORT DATABASE '{}'", folder.display()));
    let copy = fresh();
    done(&copy.db, &format!("IMPORT DATABASE '{}'", folder.display()));
    assert_eq!(rows(&copy.db, all), rows(&db, all));
    done(&copy.db, "CREATE (:T)");
    assert_eq!(rows(&copy.db, all).last().map(String::as_str), Some("6 18"));
    done(&db, "MATCH (t:T {id: 0}) SET t.score = 99");
    done(&db, "ALTER TABLE T ADD score INT64 DEFAULT 5");
    let scores = "MATCH (t:T) RETURN t.score ORDER BY t.id";
    assert_eq!(rows(&db, scores), ["99", "5", "5"]);
}

/// An argument that a function needs in several places is evaluated once.
#[test]
fn arguments_are_evaluated_once() {
    let Fresh { _dir, db, .. } = fresh();
    let deep = format!("RETURN [1, 2]{} AS x", "[1:2]".repeat(12));
    assert_eq!(rows(&db, &deep), ["[1, 2]"]);
    let larger = "UNWIND range(1, 200) AS i WITH greatest(rand(), 0.5) AS x RETURN min(x) >= 0.5";
    assert_eq!(rows(&db, larger), ["true"]);
    assert_eq!(
        rows(&db, "RETURN date_part('days', interval('3 days'))"),
        ["3"]
    );
    let long = "RETURN cast({a: [x IN range(1, 1000) | x]} AS STRING) ENDS WITH '1000]}'";
    assert_eq!(rows(&db, long), ["true"]);
}

#[test]
fn tables_take_files_by_their_columns() {
    let Fresh { _dir, db, .. } = fresh();
    let dir = _dir.path();
    std::fs::write(
        dir.join("p.csv"),
        "ID,other,gone\n1,Ada,3 years 2 days\n2,Bo,\n",
    )
    .unwrap();
    std::fs::write(dir.join("k.csv"), "1,2,2021-06-30 10:00:00Z+00:00\n").unwrap();
    done(
        &db,
        "CREATE NODE TABLE P(id INT64, name STRING, gone INTERVAL, PRIMARY KEY(id))",
    );
    done(&db, "CREATE REL TABLE K(FROM P TO P, at TIMESTAMP)");
    done(
        &db,
        &format!("COPY P FROM '{}'", dir.join("p.csv").display()),
    );
    done(
        &db,
        &format!("COPY K FROM '{}'", dir.join("k.csv").display()),
    );
    assert_eq!(
        rows(
            &db,
            "MATCH (a:P)-[k:K]->(b) RETURN a.id, a.name, a.gone, k.at, b.name"
        ),
        ["1 \"Ada\" P3Y2D 2021-06-30T10:00 \"Bo\""]
    );
}

/// Goal: fields of a struct in a column are values of their types, through `WITH`, lists and
/// further structs; a column that is no struct has none, and what cannot be read is an error.
#[test]
fn fields_of_structs_are_read() {
    let Fresh { _dir, path: _, db } = fresh();
    let of = "STRUCT(a INT8, at TIMESTAMP, `in` STRUCT(x DOUBLE, tags STRING[]))";
    let made = format!("CREATE NODE TABLE T(k INT64, s {of}, l {of}[], t STRING, PRIMARY KEY(k))");
    done(&db, &made);
    done(
        &db,
        "CREATE (:T {k: 1, s: '{a: 5, at: 2011-08-20 11:25:30, in: {x: 2, tags: [u, v]}}', t: '{a: 5}'})",
    );
    done(&db, "CREATE (:T {k: 2, s: '{a: 300}'}), (:T {k: 3})");
    let one = "MATCH (n:T {k: 1}) ";
    for (wanted, given) in [
        ("RETURN n.s.a + 1, n.s.at.year", "6 2011"),
        ("WITH n.s AS s RETURN s.in.x, s.in.tags[1]", "2.0 \"v\""),
        ("WITH n AS m RETURN m.s.a", "5"),
        (
            "RETURN cast(n.s AS STRUCT(a INT64, at TIMESTAMP, `in` STRING)).a",
            "5",
        ),
    ] {
        assert_eq!(rows(&db, &format!("{one}{wanted}")), [given], "{wanted}");
    }
    let found = "MATCH (n:T) WHERE n.k <> 2 AND n.s.a = 5 RETURN n.k";
    assert_eq!(rows(&db, found), ["1"]);
    assert_eq!(rows(&db, "MATCH (n:T {k: 3}) RETURN n.s.a"), ["null"]);
    refused(
        &db,
        "MATCH (n:T {k: 2}) RETURN n.s.a",
        &["InvalidArgumentValue", "300 is no INT8"],
    );
    for none in ["n.t.a", "n.s.missing"] {
        refused(&db, &format!("{one}RETURN {none}"), &["has no property"]);
    }
    let declared = |text: &str| {
        let result = db
            .connect()
            .query(text, &Params::new().with("p", 1))
            .unwrap();
        let declared = result.declared_types().into_iter();
        declared.map(Option::unwrap_or_default).collect::<Vec<_>>()
    };
    assert_eq!(
        declared("MATCH (n:T) WITH n, collect(n.k) AS k RETURN k, n.s.at, n.t + '', n.l[0].a, n"),
        ["INT64[]", "TIMESTAMP", "", "INT8", ""]
    );
    assert_eq!(
        declared(
            "MATCH (n:T) WITH n, collect(n.k) AS k RETURN list_extract(k, 1), map([1.5], [n.t]), map([n], [1]), \
                CASE WHEN n.k > 1 THEN n.s.a ELSE n.k END, CASE n.k WHEN 1 THEN n.t END, $p"
        ),
        ["INT64", "MAP(DOUBLE, STRING)", "", "", "STRING", "$p"]
    );
}

#[test]
fn functions_of_kuzu_are_expressions() {
    let Fresh { _dir, db, .. } = fresh();
    let value = |text: &str| rows(&db, &format!("RETURN {text} AS x")).remove(0);
    for (text, expected) in [
        ("list_extract([5,2,8], -1)", "8"),
        ("list_filter([1,2,3], x -> x > 1)", "[2, 3]"),
        ("list_transform([1,2], x -> x * 2)", "[2, 4]"),
        ("list_reduce([1,2,3], (a, b) -> a + b)", "6"),
        ("list_any([1,2], x -> x = 2)", "true"),
        ("array_slice(['a','b','c','d'], -5, 2)", "[\"a\", \"b\"]"),
        ("[1,2,3][1:2]", "[1, 2]"),
        ("[1,2,3][2:]", "[2, 3]"),
        ("[1,2,3][:-1]", "[1, 2, 3]"),
        ("[1,2,3][0..1]", "[1]"),
        (
            "list_sort([3,null,1], 'DESC', 'NULLS LAST')",
            "[3, 1, null]",
        ),
        ("list_to_string(', ', [1,2])", "\"1, 2\""),
        ("struct_pack(a := 1, b := 'x').b", "\"x\""),
        ("map_extract(map(['a','b'], [1,2]), 'b')", "[2]"),
        ("cast('2020-02-30x' AS STRING) || 'y'", "\"2020-02-30xy\""),
        ("CAST('17', 'INT64') + 1", "18"),
        ("date_part('decade', date('1987-05-05'))", "198"),
        ("date_trunc('month', date('1987-05-05'))", "1987-05-01"),
        ("interval('3 days 2 hours')", "P3DT2H"),
        ("regexp_matches('aabb', 'ab')", "true"),
        ("levenshtein('kitten', 'sitting')", "3"),
        ("concat('a', 1, true)", "\"a1True\""),
        ("size(gen_random_uuid())", "36"),
        ("dayname(date('2024-01-01'))", "\"Monday\""),
        ("last_day(date('2024-02-10'))", "2024-02-29"),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
    refused(&db, "RETURN cast('x' AS INT64)", &["is no INT64"]);
    refused(&db, "RETURN cast(300 AS UINT8)", &["is no UINT8"]);
    done(
        &db,
        "CREATE (:A {n: 1})-[:K]->(:B {n: 2})-[:K]->(:C {n: 3}), (:A {n: 9})",
    );
    assert_eq!(
        rows(
            &db,
            "MATCH p = (a:A)-[:K* SHORTEST 1..4]->(c:C) RETURN length(p), label(a)"
        ),
        ["2 \"A\""]
    );
    assert_eq!(
        rows(
            &db,
            "MATCH (a:A)-[r:K* ALL SHORTEST 1..4]->(c:C) RETURN size(r)"
        ),
        ["2"]
    );
    assert_eq!(
        rows(&db, "MATCH ()-[r:K]->() RETURN label(r), count_if(true)"),
        ["\"K\" 2"]
    );
    refused(
        &db,
        "MATCH (a)-[:K* WALK 1..2]->(b) RETURN b",
        &["NotAvailable"],
    );
    done(&db, "CALL threads = 4");
    refused(&db, "CALL timeout = 4", &["set_query_timeout"]);
}

/// Goal: comments and names of types stay when the log is replayed, after a checkpoint, in a backup
/// and in an export; a rolled back one is gone.
#[test]
fn comments_and_names_of_types_outlive_their_process() {
    let Fresh { _dir, path, db } = fresh();
    for text in [
        "CREATE TYPE Ages AS INT64[]",
        "CREATE NODE TABLE P(id INT64, a Ages, n STRING DEFAULT 'x', PRIMARY KEY(id))",
        "CREATE REL TABLE K(FROM P TO P)",
        "COMMENT ON TABLE P IS 'it''s all'",
        "COMMENT ON TABLE K IS 'joined; twice'",
        "CREATE (:P {id: 1, a: [2]})",
    ] {
        done(&db, &text.replace("''", "\\'"));
    }
    let shown = |db: &Database| {
        let mut all = rows(db, "CALL show_tables() RETURN name, comment");
        all.extend(rows(db, "RETURN cast('[3]' AS ages)"));
        all
    };
    let wanted = ["\"P\" \"it's all\"", "\"K\" \"joined; twice\"", "[3]"];
    assert_eq!(shown(&db), wanted);
    let mut transaction = db.connect().begin().unwrap();
    for text in ["COMMENT ON TABLE P IS 'other'", "DROP TYPE Ages"] {
        drop(transaction.query(text, &Params::new()).unwrap());
    }
    transaction.rollback();
    assert_eq!(shown(&db), wanted);
    let folder = path.with_file_name("exported");
    done(&db, &format!("EXPORT DATABASE '{}'", folder.display()));
    let copy = path.with_file_name("copy.graven");
    done(&db, &format!("CALL graven.backup('{}')", copy.display()));
    drop(db);
    let db = Database::open(&path, Config::default()).unwrap();
    assert_eq!(shown(&db), wanted);
    done(&db, "CALL graven.checkpoint()");
    drop(db);
    assert_eq!(
        shown(&Database::open(&path, Config::default()).unwrap()),
        wanted
    );
    assert_eq!(
        shown(&Database::open(&copy, Config::default()).unwrap()),
        wanted
    );
    let other = Database::open(path.with_file_name("other.graven"), making()).unwrap();
    done(&other, &format!("IMPORT DATABASE '{}'", folder.display()));
    assert_eq!(shown(&other), wanted);
}
