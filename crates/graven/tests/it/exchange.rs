//! Goal: a graph that is exported and imported is the same graph, whatever its values, names and
//! labels, in every format. Method: generated graphs with values of all types; both are read by the
//! same query, ids aside.

use std::time::Duration;

use graven::{Access, Config, Connection, Database, Params, Role};

/// Literals of all types a property can have.
const VALUES: &[&str] = &[
    "1",
    "-9223372036854775807",
    "1.5",
    "-0.0",
    "1e300",
    "0.0 / 0.0",
    "1.0 / 0.0",
    "true",
    "''",
    "'a,b'",
    "'say \"hi\"'",
    "'line\\nfeed;\\n'",
    "' blank '",
    "'007'",
    "'null'",
    "date('2024-02-29')",
    "date('-0044-03-15')",
    "localtime('10:00:00.000000001')",
    "time('10:00+01:00')",
    "localdatetime('2024-01-01T10:00')",
    "localdatetime('2024-01-01T10:00:00.000000001')",
    "datetime('2024-01-01T10:00Z')",
    "datetime('2024-07-01T10:00+02:00[Europe/Berlin]')",
    "duration('P1Y2M3DT4.5S')",
    "point({x: 1, y: 2.5})",
    "point({longitude: 1, latitude: 2, height: 3})",
    "[]",
    "[1, 2]",
    "['a', 'it\\'s']",
    "[date('2024-01-01')]",
    "[1.5, 2]",
    "vector([-128, 127], 2, INTEGER8)",
    "vector([0.1, -3.4e38], 2, FLOAT32)",
    "vector(range(1, 4096), 4096, FLOAT)",
    "[vector([1], 1, INTEGER), vector([2], 1, INTEGER)]",
];

fn database() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    let db = Database::open(folder.path().join("it.graven"), config).expect("opened");
    (folder, db)
}

fn run(db: &Database, text: &str) -> Vec<String> {
    let rows = db.connect().query(text, &Params::new());
    let rows = rows.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    let rows = rows.unwrap_or_else(|error| panic!("{text}: {error}"));
    rows.iter()
        .map(|row| format!("{:?}", row.values()))
        .collect()
}

/// More of them, beside those that are drawn.
const RARE: &[&str] = &[
    "9223372036854775807",
    "-9223372036854775807 - 1",
    "4.9e-324",
    "1.7976931348623157e308",
    "-1.0 / 0.0",
    "0.1 + 0.2",
    "9007199254740993",
    "'\\u0000\\u0001\\u007f\\u0085'",
    "'\\ufefftext'",
    "'\\r'",
    "'\\r\\n'",
    "'\\t'",
    "'\\\\'",
    "'\\\\\"'",
    "'\"'",
    "'+5'",
    "'1e5'",
    "'1.50'",
    "'9007199254740993.0'",
    "'NaN'",
    "'true'",
    "'2024-01-01'",
    "'[1, 2]'",
    "'{a: 1}'",
    "'\u{1f600}\u{e9}'",
    "'#!|'",
    "date('+999999999-12-31')",
    "date('-999999999-01-01')",
    "localtime('23:59:59.999999999')",
    "time('10:00:00.000000001-18:00')",
    "localdatetime('+999999999-12-31T23:59:59.999999999')",
    "localdatetime('1677-09-21T00:12:43.145224191')",
    "datetime('0001-01-01T00:00:00.000000001Z')",
    "datetime('2024-10-27T02:30+01:00[Europe/Berlin]')",
    "datetime('2024-10-27T02:30+02:00[Europe/Berlin]')",
    "datetime('2024-01-01T10:00+05:45')",
    "datetime('2024-01-01T10:00Z[UTC]')",
    "duration('PT-0.000000001S')",
    "duration('P-1M2DT-3.5S')",
    "['']",
    "['', 'null', 'a,b', '\"', '\\n']",
    "[true, false]",
    "[0.1, 1e300, -0.0]",
    "[localtime('10:00'), localtime('23:59:59.999999999')]",
    "[datetime('2024-01-01T10:00Z'), datetime('2024-01-01T10:00+01:00')]",
    "[duration('P1D'), duration('PT1S')]",
    "[point({x: 1, y: 2}), point({x: -0.0, y: 1e300})]",
    "[1, 'a', true, 2.5]",
];

/// All of a graph, in an order that does not hang on ids.
fn graph(db: &Database) -> Vec<String> {
    let mut all = run(db, "MATCH (n) RETURN labels(n), properties(n)");
    all.extend(run(
        db,
        "MATCH (a)-[r]->(b) RETURN properties(a), labels(a), type(r), properties(r), \
            properties(b), labels(b)",
    ));
    all.sort();
    all.extend(run(
        db,
        "SHOW CONSTRAINTS YIELD createStatement RETURN createStatement",
    ));
    all.extend(run(
        db,
        "SHOW INDEXES YIELD createStatement RETURN createStatement",
    ));
    all
}

/// Numbers that follow each other without a pattern.
struct Random(u64);

impl Random {
    fn place(&mut self, length: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("64 bits") % length
    }
}

fn generated(db: &Database, seed: u64) {
    let mut random = Random(seed);
    run(
        db,
        "CREATE CONSTRAINT unique_nr FOR (n:A) REQUIRE n.nr IS UNIQUE",
    );
    run(db, "CREATE INDEX by_name FOR (n:`B c`) ON (n.`a key`)");
    let keys = ["x", "`a key`", "`exported_id`", "`q``uote`"];
    let labels = ["", ":A", ":`B c`", ":A:`B c`", ":Exported", ":A:Z"];
    let properties = |random: &mut Random| {
        let mut entries = Vec::new();
        for key in keys {
            // One key holds values of one type, the others whatever comes.
            let value = match key {
                "x" => VALUES[5 * (random.place(2))],
                _ => VALUES[random.place(VALUES.len())],
            };
            if random.place(3) > 0 {
                entries.push(format!("{key}: {value}"));
            }
        }
        entries
    };
    let nodes = 30;
    for nr in 0..nodes {
        let mut entries = properties(&mut random);
        entries.push(format!("nr: {nr}"));
        let label = labels[random.place(labels.len())];
        run(db, &format!("CREATE (n{label} {{{}}})", entries.join(", ")));
    }
    for _ in 0..40 {
        let (a, b) = (random.place(nodes), random.place(nodes));
        let name = ["KNOWS", "`of kind`"][random.place(2)];
        let entries = properties(&mut random).join(", ");
        run(
            db,
            &format!(
                "MATCH (a {{nr: {a}}}), (b {{nr: {b}}}) CREATE (a)-[:{name} {{{entries}}}]->(b)"
            ),
        );
    }
    // Ids with holes.
    run(db, "MATCH (n {nr: 3}) DETACH DELETE n");
}

#[test]
fn an_exported_graph_comes_back() {
    for (seed, format) in [(1, "PARQUET"), (2, "CSV"), (3, "JSON")] {
        let (folder, db) = database();
        generated(&db, seed);
        let place = folder.path().join("out");
        let place = place.display();
        let files = run(&db, &format!("EXPORT DATABASE '{place}' (FORMAT {format})"));
        assert!(files.len() >= 3, "{files:?}");
        let (_other, back) = database();
        run(&back, &format!("IMPORT DATABASE '{place}'"));
        assert_eq!(graph(&back), graph(&db), "{format}");
        // Not into one that has nodes, not over what is there.
        for text in [
            format!("IMPORT DATABASE '{place}'"),
            format!("EXPORT DATABASE '{place}'"),
        ] {
            assert!(
                back.connect().query(&text, &Params::new()).is_err(),
                "{text}"
            );
        }
    }
}

/// Goal: each value comes back alone in its column, and in one with all others.
#[test]
fn every_value_comes_back_alone_and_among_others() {
    let (folder, db) = database();
    for (nr, value) in VALUES.iter().chain(RARE).enumerate() {
        let text = format!("CREATE (:V {{nr: {nr}, own{nr}: {value}, any: {value}}})");
        run(&db, &text);
        let twice = format!("CREATE (:W{nr} {{v: {value}}})-[:R{nr} {{v: {value}}}]->(:W{nr})");
        run(&db, &twice);
    }
    let wanted = graph(&db);
    for format in ["PARQUET", "CSV", "JSON"] {
        let place = folder.path().join(format);
        let place = place.display();
        run(&db, &format!("EXPORT DATABASE '{place}' (FORMAT {format})"));
        let (_other, back) = database();
        run(&back, &format!("IMPORT DATABASE '{place}'"));
        for (found, wanted) in graph(&back).iter().zip(&wanted) {
            assert_eq!(found, wanted, "{format}");
        }
        assert_eq!(graph(&back).len(), wanted.len(), "{format}");
    }
}

/// Goal: an export takes no more memory than some of its rows, and says so where one is too large.
#[test]
fn a_database_larger_than_memory_is_exported() {
    let (folder, large) = database();
    run(
        &large,
        "UNWIND range(1, 12) AS x CREATE (:N {s: reduce(t = 'ab,', i IN range(1, 19) | t + t) + x})",
    );
    large.close().expect("closed");
    let mut config = Config::default();
    config.memory = 10 << 20;
    let db = Database::open(folder.path().join("it.graven"), config).expect("opened");
    for format in ["CSV", "JSON"] {
        let place = folder.path().join(format);
        let place = place.display();
        run(&db, &format!("EXPORT DATABASE '{place}' (FORMAT {format})"));
        let (_other, back) = database();
        run(&back, &format!("IMPORT DATABASE '{place}'"));
        assert_eq!(graph(&back), graph(&db), "{format}");
    }
    let place = folder.path().join("PARQUET");
    let text = format!("EXPORT DATABASE '{}' (FORMAT PARQUET)", place.display());
    let refused = db.connect().query(&text, &Params::new()).map(|_| ());
    let refused = refused.expect_err("no room for a row of columns, pages and packed bytes");
    assert_eq!(refused.code(), "Memory.Limit");
    assert!(refused.to_string().contains("FORMAT CSV"), "{refused}");
    assert!(!place.exists(), "nothing is left of it");
}

/// Goal: texts within statements of the schema are those that were given, whatever stands in them.
#[test]
fn semicolons_within_a_schema_come_back() {
    let (folder, db) = database();
    for text in [
        "CREATE MACRO text() AS 'a;\nb \\';\n'",
        "CREATE MACRO quoted(x) AS \"it's;\n\" || x.`k;\n`",
        "CREATE MACRO noted(x := ';\n') AS /* one; \n */ x + // 'more;\n ';\n'",
        "CREATE MACRO returned() AS 1 + // one;\r 2",
        "CREATE CONSTRAINT given FOR (n:P) REQUIRE n.k IS :: STRING DEFAULT 'c;\nd'",
    ] {
        run(&db, text);
    }
    let place = folder.path().join("out");
    let place = place.display();
    run(&db, &format!("EXPORT DATABASE '{place}'"));
    let (_other, back) = database();
    run(&back, &format!("IMPORT DATABASE '{place}'"));
    for text in [
        "CALL show_macros()",
        "RETURN text(), quoted({`k;\n`: 'v'}), noted(), returned()",
        "CREATE (n:P) RETURN n.k",
    ] {
        assert_eq!(run(&back, text), run(&db, text), "{text}");
    }
}

/// Goal: an export by Kuzu brings each of several sequences up to its last number.
#[test]
fn sequences_of_an_export_by_kuzu_come_back() {
    let (folder, db) = database();
    let place = folder.path().join("of_kuzu");
    std::fs::create_dir(&place).expect("made");
    let sequence = |name: &str| {
        format!(
            "DROP SEQUENCE IF EXISTS `{name}`;\nCREATE SEQUENCE IF NOT EXISTS `{name}` START WITH \
             5 INCREMENT BY 1 MINVALUE 0 MAXVALUE 99 NO CYCLE;\nRETURN nextval('{name}');\n"
        )
    };
    let schema = format!(
        "CREATE NODE TABLE T(id INT64, PRIMARY KEY(id));\n{}{}",
        sequence("a"),
        sequence("b")
    );
    std::fs::write(place.join("schema.cypher"), schema).expect("written");
    std::fs::write(place.join("copy.cypher"), "CREATE (:T {id: 1});\n").expect("written");
    run(&db, &format!("IMPORT DATABASE '{}'", place.display()));
    assert_eq!(
        run(&db, "MATCH (t:T) RETURN t.id, nextval('a'), nextval('b')"),
        run(&db, "RETURN 1, 6 AS a, 6 AS b")
    );
}

/// Goal: columns of every kind that a table may have, and what they are by default, come back.
#[test]
fn columns_of_all_types_come_back() {
    let (folder, db) = database();
    for text in [
        "CREATE NODE TABLE T(k INT64, s STRUCT(x INT64, y STRING), m MAP(STRING, INT64), \
            ms MAP(STRING, INT64)[], u UNION(n INT64, w STRING), d DECIMAL(5, 2), i INT128, \
            l INT64[3], b BLOB, t TIMESTAMP_MS, PRIMARY KEY(k))",
        "ALTER TABLE T ADD usual MAP(STRING, INT64) DEFAULT map(['a', 'b'], [1, 2])",
        "CREATE (:T {k: 1, s: {x: 1, y: 'b'}, m: map(['k'], [1]), u: 5, d: 1.5, i: 7, \
            l: [1, 2, 3], t: '2020-01-02 03:04:05.678'})",
    ] {
        run(&db, text);
    }
    let all = [
        "CALL table_info('T') RETURN *",
        "SHOW CONSTRAINTS YIELD name, propertyType RETURN * ORDER BY name",
        "CREATE (:T {k: 2})",
        "MATCH (t:T) RETURN t.* ORDER BY t.k",
        "MATCH (t:T) RETURN t.s.y, map_extract(t.usual, 'b'), union_tag(t.u) ORDER BY t.k",
    ];
    for format in ["parquet", "csv", "json"] {
        let place = folder.path().join(format);
        let place = place.display();
        run(&db, "MATCH (t:T {k: 2}) DELETE t");
        run(&db, &format!("EXPORT DATABASE '{place}' (FORMAT {format})"));
        let (_other, back) = database();
        run(&back, &format!("IMPORT DATABASE '{place}'"));
        for text in all {
            assert_eq!(run(&back, text), run(&db, text), "{format}: {text}");
        }
    }
}

#[test]
fn an_export_takes_options() {
    let (folder, db) = database();
    generated(&db, 4);
    run(&db, "CREATE MACRO twice(x) AS 2 * x");
    let place = folder.path().join("not").join("there").join("yet");
    let place = place.display();
    let options = "format = 'csv', header = true, delim = ';', quote = '|', escape = '|'";
    run(&db, &format!("EXPORT DATABASE '{place}' ({options})"));
    let (_other, back) = database();
    run(&back, &format!("IMPORT DATABASE '{place}'"));
    assert_eq!(graph(&back), graph(&db));
    assert_eq!(run(&back, "RETURN twice(2)"), run(&back, "RETURN 4"));

    run(
        &db,
        "CREATE CONSTRAINT only FOR (n:Only) REQUIRE n.k IS UNIQUE",
    );
    let bare = folder.path().join("bare");
    let bare = bare.display();
    run(
        &db,
        &format!("EXPORT DATABASE '{bare}' (SCHEMA_ONLY = true)"),
    );
    let (_third, empty) = database();
    run(&empty, &format!("IMPORT DATABASE '{bare}'"));
    assert_eq!(
        run(&empty, "MATCH (n) RETURN count(*)"),
        run(&empty, "RETURN 0")
    );
    let named = "SHOW CONSTRAINTS YIELD name WHERE name = 'only' RETURN name";
    assert_eq!(run(&empty, named), run(&db, named));

    for (options, part) in [
        ("FORMAT = 'PARQUET', HEADER = true", "options of CSV"),
        ("FORMAT = 'CSV', HEADER = false", "headers"),
        ("COLOUR = 'red'", "COLOUR"),
        ("SCHEMA_ONLY = 1", "SCHEMA_ONLY"),
        ("FORMAT = false", "FORMAT"),
    ] {
        let text = format!("EXPORT DATABASE '{bare}-{part}' ({options})");
        let refused = db.connect().query(&text, &Params::new());
        let said = refused.expect_err(options).to_string();
        assert!(said.contains(part), "{options}: {said}");
    }
}

#[test]
fn an_import_that_fails_leaves_no_nodes() {
    let (folder, db) = database();
    run(
        &db,
        "UNWIND range(1, 100) AS i CREATE (:P {i: i})-[:K]->(:Q)",
    );
    let place = folder.path().join("out");
    run(&db, &format!("EXPORT DATABASE '{}'", place.display()));
    std::fs::write(place.join("relationships-0.parquet"), "no parquet").expect("written");
    let (_other, back) = database();
    let text = format!("IMPORT DATABASE '{}'", place.display());
    let said = back
        .connect()
        .query(&text, &Params::new())
        .expect_err("damaged")
        .to_string();
    assert!(said.contains("relationships-0.parquet"), "{said}");
    assert_eq!(
        run(&back, "MATCH (n) RETURN count(*)"),
        run(&back, "RETURN 0")
    );
}

/// A folder with these statements, and an empty database.
fn scripts(copy: &str) -> (tempfile::TempDir, Database) {
    let (folder, db) = database();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).expect("made");
    std::fs::write(out.join("schema.cypher"), "").expect("written");
    std::fs::write(out.join("copy.cypher"), copy).expect("written");
    (folder, db)
}

fn refused(connection: &Connection, text: &str) -> graven::Error {
    let rows = connection.query(text, &Params::new());
    let rows = rows.and_then(|mut rows| rows.next_row().map(drop));
    rows.expect_err(text)
}

#[test]
fn an_import_reads_nothing_outside_the_open_folder() {
    let (folder, db) = scripts("CREATE (:P)");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a secret").expect("written");
    let script = folder.path().join("out/schema.cypher");
    std::fs::remove_file(&script).expect("removed");
    std::os::unix::fs::symlink(&secret, &script).expect("linked");
    let access = Access::without_files(Role::Admin).with_files_below(folder.path());
    let connection = db.connect().with_access(access);
    let error = refused(&connection, "IMPORT DATABASE 'out'");
    assert_eq!(error.code(), "Security.Forbidden", "{error}");
    std::fs::remove_file(&script).expect("removed");
    std::fs::create_dir(&script).expect("made");
    let error = refused(&connection, "IMPORT DATABASE 'out'");
    assert!(!error.to_string().contains("secret"), "{error}");
    std::fs::remove_dir(&script).expect("removed");
    std::fs::write(&script, "").expect("written");
    let mut done = connection
        .query("IMPORT DATABASE 'out'", &Params::new())
        .expect("imported");
    assert!(done.next_row().expect("a row").is_some());
}

#[test]
fn errors_of_imported_statements_keep_their_codes() {
    for (text, code) in [
        ("CREATE (:P {x: 1}) RETURN", "SyntaxError.UnexpectedSyntax"),
        ("RETURN 1 / 0", "ArithmeticError.InvalidValue"),
        (
            "UNWIND range(1, 9) AS i RETURN toInteger([[i], i][0])",
            "TypeError.InvalidArgumentValue",
        ),
    ] {
        let (folder, db) = scripts(text);
        let place = folder.path().join("out");
        let error = refused(
            &db.connect(),
            &format!("IMPORT DATABASE '{}'", place.display()),
        );
        assert_eq!(error.code(), code, "{text}: {error}");
        assert!(error.to_string().contains("IMPORT DATABASE: "), "{error}");
    }
}

#[test]
fn an_import_within_itself_and_one_that_takes_too_long_end() {
    let (folder, db) = scripts("");
    let place = folder.path().join("out");
    let itself = format!("IMPORT DATABASE '{}'", place.display());
    std::fs::write(place.join("copy.cypher"), &itself).expect("written");
    let error = refused(&db.connect(), &itself);
    assert!(error.to_string().contains("12 deep"), "{error}");
    let long = "UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x";
    std::fs::write(place.join("copy.cypher"), long).expect("written");
    let limited = db.connect().with_timeout(Some(Duration::from_millis(100)));
    let error = refused(&limited, &itself);
    assert_eq!(error.code(), "Statement.TimedOut", "{error}");
}
