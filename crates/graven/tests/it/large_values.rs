//! Goal: values are charged where they grow, whatever makes them; what fits when it is done for
//! fewer rows at a time is done; what was written with much memory opens with little; a deadline is
//! kept within an expression, a text and a deletion.

use std::path::{Path, PathBuf};
use std::time::Duration;

use graven::{Config, Connection, Database, Error, Params, Value};

const MIB: u64 = 1 << 20;

fn open(path: &Path, memory: u64) -> Result<Database, Error> {
    let mut config = Config::default();
    (config.memory, config.threads, config.create) = (memory, 2, true);
    Database::open(path, config)
}

fn in_folder(memory: u64) -> (tempfile::TempDir, PathBuf, Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("values.graven");
    let db = open(&path, memory).expect("opens");
    (folder, path, db)
}

/// The first value of the last row.
fn value(connection: &Connection, text: &str) -> Result<Value, Error> {
    let mut last = Value::Null;
    for row in connection.query(text, &Params::new())? {
        last = row?.into_values().swap_remove(0);
    }
    Ok(last)
}

/// A text of `2^doublings` bytes, for `s`.
fn with_text(doublings: u32) -> String {
    format!("WITH reduce(t = 'a', i IN range(1, {doublings}) | t + t) AS s ")
}

#[test]
fn what_no_memory_holds_is_refused_before_it_is_made() {
    let (_folder, _, db) = in_folder(16 * MIB);
    let connection = db.connect();
    let greedy = [
        "RETURN size(replace(s, 'a', s))",
        "RETURN size(replace(s, '', s))",
        "RETURN size(split(s + s, ''))",
        "RETURN size(split(s + s, 'a'))",
        "RETURN size([x IN range(1, 100) | s + x])",
        "RETURN size([s+1, s+2, s+3, s+4, s+5, s+6, s+7, s+8, s+9, s+10, s+11, s+12, s+13, s+14, \
            s+15, s+16, s+17])",
        "RETURN size(reduce(l = [], x IN range(1, 100) | l + [s + x]))",
        "RETURN size(reduce(t = '', x IN range(1, 100) | t + s))",
        "UNWIND range(1, 100) AS x RETURN size(collect(s + x))",
        "RETURN size(keys(reduce(m = {}, x IN range(1, 40) | {a: m, b: s + x})))",
        "RETURN size(toStringList(range(1, 600000)))",
        "RETURN size([x IN split(s, '') | [x, x + 'b']])",
        "RETURN size(COLLECT { UNWIND range(1, 100) AS x RETURN s + x })",
        "RETURN size(range(1, 3000000))",
    ];
    for text in greedy {
        let error = value(&connection, &(with_text(20) + text)).expect_err(text);
        assert_eq!(error.code(), "Memory.Limit", "{text}: {error}");
        assert!(
            error.message().contains("in use ("),
            "holders are named: {error}"
        );
    }
    // The statement has filled the budget by itself: it would do so again.
    let alone = with_text(20) + "RETURN size(replace(s, 'a', s))";
    let error = value(&connection, &alone).expect_err("too large");
    assert!(!error.is_retryable(), "{error}");
    assert_eq!(
        value(&connection, "RETURN 1").expect("goes on"),
        Value::Integer(1)
    );
}

#[test]
fn rows_are_done_some_at_a_time_where_all_do_not_fit() {
    let (_folder, _, db) = in_folder(16 * MIB);
    let connection = db.connect();
    let count = |text: &str, expected: i64| {
        let found = value(&connection, &(with_text(20) + text));
        let found = found.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(found, Value::Integer(expected), "{text}");
    };
    let each = 1 << 20;
    count(
        "UNWIND range(100, 299) AS x RETURN sum(size(s + x))",
        200 * (each + 3),
    );
    count(
        "UNWIND range(100, 299) AS x WITH s + x AS t RETURN sum(size(t))",
        200 * (each + 3),
    );
    count(
        "UNWIND range(100, 299) AS x WITH s, x WHERE size(s + x) > 7 RETURN count(*)",
        200,
    );
    count(
        "RETURN size([x IN range(1, 200) WHERE size(s + x) > 7])",
        200,
    );
    count("RETURN size([x IN range(1, 2000) | s])", 2000);
}

/// What is in the file is charged as what is computed: by `xtask memory` with the memory that the
/// system gives.
#[test]
fn values_of_the_file_are_charged_before_they_are_read() {
    let (_folder, path, db) = in_folder(256 * MIB);
    let connection = db.connect();
    let many = with_text(20) + "UNWIND range(1, 40) AS x CREATE (:N {s: s + x, x: x})";
    value(&connection, &many).expect("made");
    value(&connection, &(with_text(25) + "CREATE (:One {s: s})")).expect("made");
    db.close().expect("closed");
    let db = open(&path, 16 * MIB).expect("opens");
    let connection = db.connect();
    for (text, expected) in [
        (
            "MATCH (n:N) RETURN sum(size(n.s))",
            40 * (1 << 20) + 9 + 31 * 2,
        ),
        ("MATCH (n:N) WHERE n.s ENDS WITH 'a7' RETURN n.x", 7),
        (
            "MATCH (n:N) WITH n ORDER BY n.x DESC RETURN properties(n).x",
            1,
        ),
    ] {
        let found = value(&connection, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(found, Value::Integer(expected), "{text}");
    }
    for text in [
        "MATCH (n:One) RETURN size(n.s)",
        "MATCH (n:One) RETURN n",
        "MATCH (n:One) RETURN properties(n)",
        "MATCH (n:One) WHERE n.s CONTAINS 'b' RETURN 1",
    ] {
        let error = value(&connection, text).expect_err(text);
        assert_eq!(error.code(), "Memory.Limit", "{text}: {error}");
    }
    assert!(db.check(&mut |_| {}).expect("checked").problems.is_empty());
}

/// Goal: an error about a long text quotes a part of it only, whatever is wrong.
#[test]
fn errors_quote_a_part_of_long_texts() {
    let (_folder, _, db) = in_folder(64 * MIB);
    let connection = db.connect();
    let wrong = [
        "RETURN abs(s)",
        "RETURN s - 1",
        "RETURN {a: 1}[s] + [1][s]",
        "RETURN date(s)",
        "RETURN datetime({epochSeconds: s})",
        "RETURN datetime({timezone: s})",
        "RETURN datetime.fromEpoch([1], s)",
        "RETURN duration(s)",
        "RETURN localtime(s)",
        "RETURN point({x: 1, y: 2, crs: s})",
        "RETURN cast(s AS INT64)",
        "RETURN cast(1 AS DECIMAL(1, 0)) + cast(s AS DECIMAL(1, 0))",
        "RETURN round(1.5, 1, s)",
        "RETURN normalize('a', s)",
        "RETURN 'a' =~ ('(' + s)",
        "RETURN vector(s, 1, INTEGER)",
        "RETURN vector([1], 1, s)",
        "RETURN apoc.util.validatePredicate(true, '%s', [s])",
        "RETURN apoc.util.validatePredicate(true, s, [])",
        "RETURN apoc.convert.fromJsonMap(s)",
        "RETURN apoc.date.format(1, s)",
        "RETURN apoc.date.convertFormat(s, 'yyyy', 'MM')",
        "RETURN apoc.util.compress('a', {compression: s})",
        "RETURN apoc.map.get({}, s)",
        "RETURN apoc.number.exact.add(s, 'x')",
        "CALL apoc.atomic.remove({a: s}, s, 1, 1) YIELD oldValue RETURN oldValue",
        "CALL apoc.create.node([s], s) YIELD node RETURN node",
        "CALL apoc.path.subgraphNodes(s, {}) YIELD node RETURN node",
        "CALL apoc.cypher.run(left(s, 50000), {}) YIELD value RETURN value",
        "CALL apoc.load.json(s) YIELD value RETURN value",
        "CALL graven.cache.resize(s) YIELD before RETURN before",
        "CALL apoc.util.validate(true, s, [s])",
        "LOAD CSV FROM s AS r RETURN r",
        "UNWIND [1] AS x WITH x, s WHERE s RETURN x",
        "RETURN 1 AS x LIMIT toInteger(s)",
        "UNWIND [1] AS x CALL (s) { CREATE (:N {k: {a: s}}) } RETURN 1",
        "CREATE (n:N) SET n[s] = {a: s}",
    ];
    for text in wrong {
        let text = format!("{}{text}", with_text(20));
        let error = value(&connection, &text).expect_err(&text);
        let shown = error.to_string();
        assert!(shown.len() < 20_000, "{text}: {} bytes", shown.len());
        assert_ne!(error.code(), "Memory.Limit", "{text}: {error}");
    }
}

/// A record, a packed file, a folder that stands for all that is no plain file.
#[test]
fn records_of_files_are_charged_while_they_are_read() {
    let (folder, _, db) = in_folder(16 * MIB);
    let connection = db.connect();
    let path = folder.path().join("fields.csv");
    std::fs::write(&path, "1,".repeat(1 << 20)).expect("written");
    let load = |path: &Path| {
        let text = format!("LOAD CSV FROM '{}' AS r RETURN size(r)", path.display());
        value(&connection, &text)
    };
    let error = load(&path).expect_err("a million fields");
    assert_eq!(error.code(), "Memory.Limit", "{error}");
    let error = load(folder.path()).expect_err("a folder");
    assert!(error.message().contains("no regular file"), "{error}");
    std::fs::write(&path, "1,2\n".repeat(50_000)).expect("written");
    assert_eq!(load(&path).expect("short records"), Value::Integer(2));
}

/// Goal: what many values share is counted once, and what is made of each of them is counted.
#[test]
fn what_values_share_is_counted_once() {
    let (_folder, _path, db) = in_folder(16 * MIB);
    let connection = db.connect();
    let shared = with_text(20) + "UNWIND range(1, 200) AS x WITH collect([{a: s, b: x}, s]) AS l ";
    let size = value(&connection, &(shared.clone() + "RETURN size(l)"));
    assert_eq!(size.expect("one text"), Value::Integer(200));
    let made = shared + "RETURN size([e IN l | e[1] + e[0].b])";
    let error = value(&connection, &made).expect_err("200 texts");
    assert_eq!(error.code(), "Memory.Limit", "{error}");
}

/// Files as a process that was killed leaves them.
fn as_after_a_kill(path: &Path, to: &Path) {
    for suffix in ["", "-wal"] {
        let name = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        std::fs::copy(name(path), name(to)).expect("copied");
    }
}

#[test]
fn a_value_larger_than_a_temporary_page_opens_in_little_memory() {
    let (folder, path, db) = in_folder(256 * MIB);
    let made = with_text(23) + "CREATE (n:N {s: s + 'z'}) RETURN size(n.s)";
    let size = Value::Integer((1 << 23) + 1);
    assert_eq!(value(&db.connect(), &made).expect("made"), size);
    for memory in [64, 16, 1] {
        let copy = folder.path().join(format!("{memory}.graven"));
        as_after_a_kill(&path, &copy);
        let db = open(&copy, memory * MIB).unwrap_or_else(|e| panic!("{memory} MiB: {e}"));
        let count = value(&db.connect(), "MATCH (n:N) RETURN count(*)");
        assert_eq!(count.expect("counted"), Value::Integer(1));
        if memory == 64 {
            let text = "MATCH (n:N) RETURN size(n.s)";
            assert_eq!(value(&db.connect(), text).expect("read"), size);
        }
    }
}

#[test]
fn names_that_would_not_open_again_are_refused() {
    let (folder, path, db) = in_folder(MIB);
    let connection = db.connect();
    let mut made = 0;
    let error = loop {
        let text = format!(
            "UNWIND range({made}, {}) AS x CREATE (:A)-[:$('T' + x)]->(:A)",
            made + 49
        );
        match value(&connection, &text) {
            Ok(_) => made += 50,
            Err(error) => break error,
        }
        assert!(made < 5000, "400 types or so have room");
    };
    assert_eq!(error.code(), "Memory.Limit", "{error}");
    assert!(error.message().contains("`T"), "{error}");
    let copy = folder.path().join("copy.graven");
    as_after_a_kill(&path, &copy);
    let db = open(&copy, MIB).expect("opens");
    let count = value(&db.connect(), "MATCH ()-[r]->() RETURN count(r)");
    assert_eq!(count.expect("counted"), Value::Integer(made));
}

#[test]
fn texts_of_the_schema_are_bounded_and_logged_alone() {
    for (memory, letters) in [(16 * MIB, 50_000), (MIB, 3_000)] {
        let (folder, path, db) = in_folder(memory);
        let connection = db.connect();
        let long = "1 + ".repeat(100) + "size('" + &"a".repeat(letters) + "')";
        let mut made = 0;
        let error = loop {
            match value(
                &connection,
                &format!("CREATE MACRO m{made}(x) AS x + {long}"),
            ) {
                Ok(_) => made += 1,
                Err(error) => break error,
            }
            assert!(
                made < 100,
                "a sixteenth of the memory has room for 20 or so"
            );
        };
        assert_eq!(error.code(), "Memory.Limit", "{error}");
        assert!(made > 10, "{made} in {memory}");
        value(&connection, "CREATE SEQUENCE s").expect("there is room for little more");
        for _ in 0..200 {
            value(&connection, "RETURN nextval('s')").expect("a number");
        }
        let log = std::fs::metadata(path.with_file_name("values.graven-wal")).expect("a log");
        assert!(log.len() < 8 * MIB, "{} bytes of log", log.len());
        let copy = folder.path().join("copy.graven");
        as_after_a_kill(&path, &copy);
        for next in [201, 202] {
            // From the log, then from the file.
            let again = open(&copy, memory).expect("opens");
            let connection = again.connect();
            let macros = value(&connection, "CALL show_macros() RETURN count(*)");
            assert_eq!(macros.expect("counted"), Value::Integer(made));
            let given = value(&connection, "RETURN nextval('s')").expect("a number");
            assert_eq!(given, Value::Integer(next));
            again.close().expect("closed");
        }
        // What is too much can be made less.
        value(&connection, "DROP MACRO m0").expect("dropped");
        value(&connection, "CREATE MACRO m(x) AS x + 1").expect("made");
    }
}

/// 60,000 times a text, with its number in the place of `{}`.
fn many(text: &str, between: &str) -> String {
    let texts = (0..60_000).map(|n| text.replace("{}", &n.to_string()));
    texts.collect::<Vec<_>>().join(between)
}

#[test]
fn a_deadline_is_kept_within_expressions_texts_and_deletions() {
    let (_folder, _, db) = in_folder(256 * MIB);
    let connection = db.connect();
    let hub = "CREATE (h:Hub) WITH h UNWIND range(1, 60000) AS x CREATE (h)-[:R]->(:Leaf)";
    value(&connection, hub).expect("made");
    let long = "UNWIND range(1, 60) AS x CREATE (:Long {l: range(1, 50000)})";
    value(&connection, long).expect("made");
    db.checkpoint().expect("in the file");
    let ors: Vec<String> = (0..100_000).map(|n| format!("x = {n}")).collect();
    let slow = [
        // Each of them is one evaluation for one row.
        "RETURN size([x IN range(1, 20000) | size([y IN range(1, 3000) WHERE y % 7 = x])])"
            .to_owned(),
        "RETURN any(x IN range(1, 20000) WHERE any(y IN range(1, 3000) WHERE x * y < 0))"
            .to_owned(),
        "RETURN reduce(a = 0, x IN range(1, 20000) | a + size(range(1, x)))".to_owned(),
        format!(
            "UNWIND [1] AS x WITH x WHERE {} RETURN count(*)",
            ors.join(" OR ")
        ),
        "MATCH (h:Hub) DETACH DELETE h".to_owned(),
        // One match each: the engine goes back, looks ahead and looks behind through the whole text
        // at every character.
        with_text(17) + "RETURN s =~ '(?:a(?!.*x))*b'",
        with_text(17) + "RETURN s =~ '(?:(?>a*)|a)*b'",
        with_text(14) + "RETURN s =~ '(?:a(?<=a+))*b'",
        with_text(15) + "RETURN s =~ '(a*)*\\\\1b'",
        // Names, columns and conditions of a text.
        format!("MATCH (n:{}) RETURN count(*)", many("L{}", "|")),
        format!("MATCH (n)-[:{}]->() RETURN count(*)", many("T{}", "|")),
        format!("MATCH (n:Hub) RETURN {}", many("n.k{}", ", ")),
        format!(
            "MATCH (n:Hub) WITH {} RETURN count(c3)",
            many("n.x + {} AS c{}", ", ")
        ),
        format!("MATCH (n:Hub) SET {}", many("n.k{} = {}", ", ")),
        format!("MATCH (n:{}) RETURN count(*)", many("L{}", "&")),
        format!("MATCH (n:Hub) SET {}", many("n:L{}", ", ")),
        format!("CREATE {}", many("(:C), (c{})", ", ")),
        // Long values of the file.
        "MATCH (n:Long) RETURN count(n.l)".to_owned(),
        "MATCH (n:Long) RETURN count(properties(n))".to_owned(),
        "MATCH (n:Long) RETURN n".to_owned(),
        "MATCH (n:Long) SET n.m = n.l".to_owned(),
    ];
    let hurried = connection.with_timeout(Some(Duration::from_millis(15)));
    for text in &slow {
        let shown: String = text.chars().take(80).collect();
        let error = value(&hurried, text).expect_err(&shown);
        assert_eq!(error.code(), "Statement.TimedOut", "{shown}: {error}");
    }
    let count = value(&db.connect(), "MATCH (:Hub)-[r]->() RETURN count(r)");
    assert_eq!(count.expect("counted"), Value::Integer(60_000));
}

/// Goal: what the parts of a text make of each other is bounded, and told.
#[test]
fn parts_that_depend_on_all_before_them_are_bounded() {
    let (_folder, _, db) = in_folder(16 * MIB);
    let connection = db.connect();
    let text = |count: usize| {
        let parts = vec!["EXISTS { (n)--() }"; count].join(" OR ");
        format!("MATCH (n) WHERE {parts} RETURN count(*)")
    };
    assert_eq!(
        value(&connection, &text(40)).expect("few"),
        Value::Integer(0)
    );
    let error = value(&connection, &text(2000)).expect_err("too many");
    assert_eq!(error.code(), "SyntaxError.StatementTooLong", "{error}");
    // Labels that come one by one leave no trace of those in between.
    let one = value(&connection, "CREATE (n:N) RETURN 1");
    assert_eq!(one.expect("made"), Value::Integer(1));
    let labels: Vec<String> = (0..3000).map(|n| format!("n:L{n}")).collect();
    let set = format!(
        "MATCH (n:N) SET {} RETURN size(labels(n))",
        labels.join(", ")
    );
    assert_eq!(value(&connection, &set).expect("set"), Value::Integer(3001));
    db.checkpoint().expect("in the file");
    let bytes = std::fs::metadata(db.path()).expect("a file").len();
    assert!(bytes < 2 * MIB, "{bytes}");
}

/// A list that nests deeper than the file holds is refused by every way that stores it; one that is
/// as deep as allowed is there after a checkpoint and an opening.
#[test]
fn lists_nest_no_deeper_than_the_file_holds() {
    let (_folder, path, db) = in_folder(16 * MIB);
    let connection = db.connect();
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let (most, more) = (nested(64), nested(65));
    value(&connection, "CREATE (:A)-[:R]->(:B)").expect("made");
    let ways = [
        "CREATE (:Deep {x: VALUE})",
        "UNWIND range(1, 3) AS i CREATE (:Deep {x: VALUE})",
        "MATCH (a:A) SET a.x = VALUE",
        "MATCH (a:A) SET a += {x: VALUE}",
        "MATCH (:A)-[r:R]->() SET r.x = VALUE",
        "MATCH (a:A), (b:B) CREATE (a)-[:S {x: VALUE}]->(b)",
        "MERGE (:Deep {x: VALUE})",
    ];
    for way in ways {
        let error = value(&connection, &way.replace("VALUE", &more)).expect_err(way);
        assert_eq!(
            error.code(),
            "TypeError.InvalidPropertyType",
            "{way}: {error}"
        );
        value(&connection, &way.replace("VALUE", &most)).unwrap_or_else(|e| panic!("{way}: {e}"));
    }
    let text = "MATCH (n:Deep) RETURN count(n.x)";
    let count = value(&connection, text).expect("counted");
    drop(connection);
    db.close().expect("closed");
    let db = open(&path, 16 * MIB).expect("opens");
    assert_eq!(value(&db.connect(), text).expect("counted"), count);
    let report = db.check(&mut |_| {}).expect("checked");
    assert!(report.problems.is_empty(), "{report:?}");
}

/// Every unknown name of a statement is compared with all names there are: of many, the first are
/// told.
#[test]
fn many_unknown_names_are_told_in_part() {
    let (_folder, _, db) = in_folder(256 * MIB);
    let text = format!("MATCH (n:{}) RETURN count(*) AS c", many("L{}", "|"));
    let connection = db.connect();
    let mut result = connection.query(&text, &Params::new()).expect("runs");
    let row = result.next().expect("one").expect("a row");
    assert_eq!(row.into_values(), [Value::Integer(0)]);
    let told = result.summary().notices.len();
    assert!((1..=100).contains(&told), "{told} notices");
}

/// Goal: a sort of texts that are almost as large as the memory ends, with its rows or an error:
/// runs that are merged leave the cache room to read them.
#[test]
fn sorts_of_texts_as_large_as_the_memory_end() {
    let (_folder, path, db) = in_folder(256 * MIB);
    let made = with_text(20) + "UNWIND range(1, 24) AS x CREATE (:N {s: s + x, x: x})";
    value(&db.connect(), &made).expect("made");
    db.close().expect("closed");
    for memory in [4, 16] {
        let db = open(&path, memory * MIB).expect("opens");
        let text = "MATCH (n:N) WITH n.s AS s, n.x AS x ORDER BY s DESC RETURN count(x)";
        match value(&db.connect(), text) {
            Ok(count) => assert_eq!(count, Value::Integer(24), "{memory} MiB"),
            Err(error) => assert_eq!(error.code(), "Memory.Limit", "{memory} MiB: {error}"),
        }
    }
}

/// A source has columns that a plan can name: a record of a million fields is an error at once, and
/// a long one says what the limit is.
#[test]
fn sources_of_too_many_columns_are_refused() {
    let (folder, _, db) = in_folder(4 * MIB);
    let connection = db.connect();
    let load = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        let text = format!("LOAD FROM '{}' RETURN count(*)", path.display());
        value(&connection, &text)
            .expect_err(name)
            .message()
            .to_owned()
    };
    let fields = "1,".repeat(1 << 20);
    let object = (0..20_000)
        .map(|n| format!("\"k{n}\":1"))
        .collect::<Vec<_>>();
    let object = format!("{{{}}}", object.join(","));
    for (name, content, wanted) in [
        ("fields.csv", fields.as_str(), "10000"),
        ("keys.json", object.as_str(), "10000 keys"),
        ("long.csv", &"abcdefgh".repeat(1 << 18), "memory limit"),
        (
            "open.csv",
            &format!("a,\"{}", "text\n".repeat(1 << 18)),
            "memory limit",
        ),
    ] {
        let error = load(name, content);
        assert!(error.contains(wanted), "{name}: {error}");
    }
}

/// Nodes, relationships and paths are numbers for the executor and complete in a row: what they
/// take there is charged. In rows of their own there is room for each.
#[test]
fn nodes_relationships_and_paths_of_a_row_are_charged() {
    let (_folder, path, db) = in_folder(256 * MIB);
    let made = "UNWIND range(1, 20000) AS i CREATE (:P {i: i, t: 'text ' + i, u: [i, i]})\
        -[:R {j: i}]->(:Q)";
    value(&db.connect(), made).expect("made");
    drop(db);
    let db = open(&path, 8 * MIB).expect("opens");
    let connection = db.connect();
    for end in ["n", "r", "p", "[n, r]", "{a: p}", "nodes(p)"] {
        let all = format!("MATCH p = (n:P)-[r:R]->() RETURN collect({end})");
        let error = value(&connection, &all).expect_err(&all);
        assert_eq!(error.code(), "Memory.Limit", "{all}: {error}");
        let each = format!("MATCH p = (n:P)-[r:R]->() RETURN {end}");
        value(&connection, &each).expect(&each);
    }
}

/// What a statement has of its parameters beside the caller is charged.
#[test]
fn lists_and_maps_of_parameters_are_charged() {
    let (_folder, _, db) = in_folder(8 * MIB);
    let connection = db.connect();
    let with = |items: usize| {
        let items: Vec<Value> = (0..items as i64).map(Value::Integer).collect();
        let params = Params::new().with("p", items);
        let mut result = connection.query("RETURN size($p)", &params)?;
        result.next_row()
    };
    with(50_000).expect("there is room");
    let error = with(1_000_000).expect_err("there is none");
    assert_eq!(error.code(), "Memory.Limit", "{error}");
    with(50_000).expect("it was given back");
}

/// A condition that is computed row by row, as an operand fails for some rows, gives back what it
/// took for a row before the next.
#[test]
fn conditions_row_by_row_give_back_what_they_took() {
    let (_folder, _, db) = in_folder(8 * MIB);
    let text = "UNWIND range(0, 499) AS x WITH x WHERE x = 0 OR (1 / x >= 0 AND \
        size([y IN range(1, 3000) | 'a text of some length ' + y]) > 5) RETURN count(*)";
    let count = value(&db.connect(), text).expect(text);
    assert_eq!(count, Value::Integer(500));
}
