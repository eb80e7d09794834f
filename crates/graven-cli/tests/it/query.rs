//! Goal: `graven query` and `graven info`: formats, parameters, notices, and a clear screen for
//! every mistake.

use crate::program::{first_start, graven, graven_reading, network};

const THREE_HOPS: &str =
    "MATCH (p:Person {id: $id})-[:KNOWS*1..3]-(f:Person) RETURN count(DISTINCT f) AS n";

#[test]
fn results_come_as_csv_json_and_table() {
    let db = &network().db;
    let statement = "MATCH (p:Person) RETURN count(p) AS persons";
    let csv = graven(["query", db, statement]).ok();
    let count: i64 = csv
        .out
        .strip_prefix("persons\n")
        .expect("a heading")
        .trim()
        .parse()
        .expect("a number");
    assert!(count > 100, "{count}");
    let json = graven(["query", db, statement, "--format", "json"]).ok();
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(
        json,
        serde_json::json!({"columns": ["persons"], "rows": [[count]]})
    );
    let table = graven(["query", db, statement, "--format", "table"]).ok();
    assert!(
        table.out.contains("persons") && table.out.ends_with("1 row\n"),
        "{}",
        table.out
    );
}

#[test]
fn a_statement_that_takes_too_long_is_ended() {
    let db = &network().db;
    let endless = "MATCH p = (:Person)-[:KNOWS*]-(:Person) RETURN count(p)";
    let said = graven(["query", db, endless, "--timeout", "50ms"]);
    assert!(said.err.contains("50 ms"), "{}", said.err);
    let statement = "MATCH (p:Person) RETURN count(p) > 0 AS some";
    let said = graven(["query", db, statement, "--timeout", "1h"]).ok();
    assert_eq!(said.out, "some\ntrue\n");
    let wrong = graven(["query", db, statement, "--timeout", "5"]);
    assert!(wrong.err.contains("is not a time"), "{}", wrong.err);
}

/// Goal: where values share a long text, writing their row ends with the statement, and a table
/// keeps no more of it in memory than it shows.
#[test]
fn a_row_that_is_too_long_to_write_is_ended() {
    let text = "WITH reduce(s = 'abcdefgh', i IN range(1, 17) | s + s) AS t \
        RETURN [x IN range(1, 100000) | t] AS l";
    for format in ["csv", "json"] {
        let wanted = [":memory:", text, "--timeout", "500ms", "--format", format];
        let said = graven(["query"].into_iter().chain(wanted));
        assert!(said.err.contains("500 ms"), "{}", said.err);
        assert!(said.out.len() > 1 << 20, "{}", said.out.len());
    }
    let rows = "UNWIND range(1, 3) AS x RETURN x;\n";
    let input = format!("{text};\n{rows}");
    let shell = ["shell", ":memory:", "--memory", "16MiB", "--format", "json"];
    let said = graven_reading(shell, &input);
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(
        lines[0].contains("Memory.Limit"),
        "{}",
        &lines[0][..300.min(lines[0].len())]
    );
    assert!(lines[1].contains("[1], [2], [3]"), "{}", lines[1]);
    let wanted = ["query", ":memory:", text, "--format", "table"];
    let said = graven(wanted).ok();
    assert!(said.out.contains("cut here") && said.out.len() < 16 << 20);
}

#[test]
fn the_three_hop_question_runs_in_a_mebibyte() {
    let db = &network().db;
    let param = format!("id={}", first_start());
    let ample = graven(["query", db, THREE_HOPS, "--param", &param]).ok();
    let small = graven([
        "query", db, THREE_HOPS, "--param", &param, "--memory", "1MiB",
    ])
    .ok();
    assert_eq!(ample.out, small.out);
    let buffered = graven([
        "query", db, THREE_HOPS, "--param", &param, "--io", "buffered",
    ])
    .ok();
    assert_eq!(ample.out, buffered.out);
}

#[test]
fn parameters_come_singly_or_as_json() {
    let db = &network().db;
    let rows = |args: &[&str]| {
        let mut all = vec!["query", db, "RETURN $a AS a, $b AS b", "--format", "json"];
        all.extend(args);
        let said = graven(all).ok();
        let json: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
        json["rows"][0].clone()
    };
    assert_eq!(
        rows(&["--param", "a=1", "--param", "b=Ada"]),
        serde_json::json!([1, "Ada"])
    );
    assert_eq!(
        rows(&["--params", "{\"a\": [1.5], \"b\": null}"]),
        serde_json::json!([[1.5], null])
    );
    let file = network().tables.join("params.json");
    std::fs::write(&file, "{\"a\": {\"k\": true}, \"b\": 2}").expect("written");
    let at = format!("@{}", file.display());
    assert_eq!(
        rows(&["--params", &at, "--param", "b=3"]),
        serde_json::json!([{"k": true}, 3])
    );
}

#[test]
fn statements_come_from_a_file_or_standard_input() {
    let db = &network().db;
    let text = "// two statements\nRETURN ';' AS a;\nRETURN 2 AS b";
    let said = graven_reading(["query", db, "--file", "-"], text).ok();
    assert_eq!(said.out, "a\n;\nb\n2\n");
}

#[test]
fn unknown_names_give_a_notice_on_standard_error() {
    let said = graven(["query", &network().db, "MATCH (p:Persn) RETURN p"]).ok();
    assert_eq!(said.out, "p\n");
    assert!(
        said.err.contains("notice:") && said.err.contains("Persn"),
        "{}",
        said.err
    );
}

#[test]
fn mistakes_are_shown_with_line_and_caret() {
    let said = graven(["query", &network().db, "MATCH (p:Person) RETRUN p"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(
        said.err.contains("MATCH (p:Person) RETRUN p") && said.err.contains('^'),
        "{}",
        said.err
    );
}

#[test]
fn a_file_that_is_no_database_is_named() {
    let network = network();
    let missing = network.tables.join("none.graven").display().to_string();
    let said = graven(["query", &missing, "RETURN 1", "--read-only"]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("none.graven") && said.err.contains("graven import"),
        "{}",
        said.err
    );
    let folder = network.tables.display().to_string();
    let table = network.tables.join("knows.csv").display().to_string();
    for path in [&folder, &table] {
        let said = graven(["query", path, "RETURN 1"]);
        assert_eq!((said.code, said.out.as_str()), (1, ""));
        assert!(
            said.err.starts_with("error:") && said.err.contains(path),
            "{}",
            said.err
        );
        assert_eq!(
            said.err.trim_end().lines().count(),
            1,
            "one line is enough: {}",
            said.err
        );
    }
}

#[test]
fn wrong_usage_is_exit_code_two() {
    let db = &network().db;
    for args in [
        vec!["query"],
        vec!["query", db],
        vec!["query", db, ""],
        vec!["query", db, "RETURN 1", "--memory", "lots"],
        vec!["query", db, "RETURN 1", "--format", "xml"],
        vec!["query", db, "RETURN 1", "--params", "[1]"],
        vec!["frobnicate"],
    ] {
        let said = graven(&args);
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        assert!(
            said.out.is_empty() && !said.err.is_empty(),
            "{args:?}: {said:?}"
        );
    }
}

#[test]
fn info_shows_stores_and_reading() {
    // A file of its own: a process that attaches to a database of another process is told to ask
    // that one.
    let copy = network().tables.join("info.graven");
    std::fs::copy(&network().db, &copy).expect("copied");
    let db = &copy.display().to_string();
    let said = graven(["info", db]).ok();
    for part in [
        "KNOWS forward",
        "KNOWS reverse",
        "index Person(id)",
        "bytes/relationship",
        "reads ",
        "queue ",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let json: serde_json::Value =
        serde_json::from_str(&graven(["info", db, "--json"]).ok().out).expect("JSON");
    assert!(
        json["types"][0]["bytes_per_relationship"]
            .as_f64()
            .is_some_and(|b| b > 0.0)
    );
    assert!(json["io"].is_string() && json["queue"].is_string());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let db = &network().db;
    let program = env!("CARGO_BIN_EXE_graven");
    let line =
        format!("'{program}' query '{db}' 'UNWIND range(1, 1000000) AS x RETURN x' | head -n 3");
    let output = std::process::Command::new("sh")
        .args(["-c", &line])
        .output()
        .expect("runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "x\n1\n2\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_mistyped_name_of_a_database_is_no_empty_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("nosuch.graven");
    let db = path.to_str().expect("UTF-8");
    for reads in [
        "MATCH (n) RETURN count(n)",
        "CALL db.labels()",
        "EXPLAIN MATCH (n:Person) RETURN n",
        "SHOW INDEXES",
    ] {
        let said = graven(["query", db, reads]);
        assert_eq!(said.code, 1, "{reads}: {said:?}");
        for part in ["does not exist", "graven import", "CREATE"] {
            assert!(said.err.contains(part), "{reads}: {}", said.err);
        }
        assert!(!path.exists(), "{reads}");
    }
    let said = graven(["query", db, "MATCH (n RETURN n"]);
    assert!(said.err.contains("expected `)`"), "{}", said.err);
    assert!(!path.exists());
    // Nor does what looks at nothing; what writes makes it.
    let said = graven(["query", db, "RETURN 1 + 1 AS two"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(!path.exists());
    let statements = "MATCH (n) RETURN count(n) AS n; BEGIN; CREATE (:A); COMMIT; MATCH (n) RETURN \
        count(n) AS n;";
    let said = graven_reading(["query", db, "--file", "-"], statements).ok();
    assert_eq!(
        said.out,
        "n\n0\nbegun\n1 node created, 1 label added\ncommitted\nn\n1\n"
    );
    assert!(said.err.contains("made an empty database"), "{}", said.err);
}

#[test]
fn files_fill_a_database_that_is_not_there_yet() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("p.csv"), "name,age\nAda,36\n").expect("written");
    let (first, csv, out) = (at("first.graven"), at("p.csv"), at("out"));
    graven(["query", &first, &format!("COPY P FROM '{csv}'")]).ok();
    graven(["query", &first, &format!("EXPORT DATABASE '{out}'")]).ok();
    let load = format!("LOAD FROM '{csv}' WITH * CREATE (:P {{name: name, age: age}})");
    let import = format!("IMPORT DATABASE '{out}'");
    let count = "MATCH (p:P {name: 'Ada', age: 36}) RETURN count(*) AS n";
    for (name, statement) in [("second.graven", &load), ("third.graven", &import)] {
        let db = at(name);
        let said = graven(["query", &db, statement]).ok();
        assert!(said.err.contains("made an empty database"), "{}", said.err);
        assert_eq!(graven(["query", &db, count]).ok().out, "n\n1\n", "{name}");
    }
    let absent = format!("COPY P FROM '{}'", at("absent.csv"));
    let said = graven(["query", &at("fourth.graven"), &absent]);
    assert!(said.err.contains("absent.csv"), "{}", said.err);
    assert!(!folder.path().join("fourth.graven").exists());
}
