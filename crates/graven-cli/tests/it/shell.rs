//! Goal: a program can drive the shell through a pipe: one answer a statement, in order, with a
//! usable exit code.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::program::{graven_reading, network};
use crate::terminal;

fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{l}: {e}")))
        .collect()
}

#[test]
fn every_statement_is_one_object_on_one_line() {
    let input = "RETURN 1 AS a;\nRETURN\n  'x;y' AS b; RETURN 2 AS c;\nRETRUN 3;\nMATCH (p:Nobody) \
        RETURN p;";
    let said = graven_reading(["shell", &network().db, "--format", "json"], input);
    assert_eq!(said.code, 1, "one of them failed: {said:?}");
    let lines = json_lines(&said.out);
    assert_eq!(lines.len(), 5, "{}", said.out);
    assert_eq!(lines[0]["columns"], serde_json::json!(["a"]));
    assert_eq!(lines[1]["rows"], serde_json::json!([["x;y"]]));
    assert_eq!(lines[2]["summary"]["rows"], 1);
    assert_eq!(lines[3]["error"]["line"], 1);
    assert!(
        lines[3]["error"]["code"]
            .as_str()
            .is_some_and(|c| c.starts_with("SyntaxError"))
    );
    assert_eq!(
        lines[4]["summary"]["notices"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn what_fails_while_it_runs_has_its_place() {
    let input = "UNWIND [1, 0] AS x\nRETURN 2, 10 / x;";
    let said = graven_reading(["shell", &network().db, "--format", "json"], input);
    let error = &json_lines(&said.out)[0]["error"];
    assert_eq!(error["code"], "ArithmeticError.InvalidValue");
    assert_eq!((&error["line"], &error["column"]), (&2.into(), &11.into()));
    let said = graven_reading(["shell", &network().db], input);
    let caret = format!("2 | RETURN 2, 10 / x\n  | {}^^^^^^", " ".repeat(10));
    assert!(said.err.contains(&caret), "{said:?}");
}

#[test]
fn fail_fast_ends_at_the_first_failure() {
    let input = "RETURN 1 AS a;\nRETRUN;\nRETURN 2 AS b;\n";
    let said = graven_reading(
        ["shell", &network().db, "--format", "json", "--fail-fast"],
        input,
    );
    assert_eq!(said.code, 1);
    assert_eq!(json_lines(&said.out).len(), 2);
}

#[test]
fn an_answer_comes_before_the_next_statement_is_written() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_graven"))
        .args(["shell", &network().db, "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("piped");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    for n in 0..3 {
        writeln!(input, "RETURN {n} AS n;").expect("written");
        let mut line = String::new();
        output.read_line(&mut line).expect("read");
        let answer: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answer["rows"], serde_json::json!([[n]]));
    }
    drop(input);
    assert!(child.wait().expect("ends").success());
}

#[test]
fn the_shells_own_commands_work_from_a_pipe() {
    let input = ":param id 3\nRETURN $id + 1 AS x;\n:memory 8MiB\n:policy \
        lru\n:schema\n:help\n:quit\nRETURN 9;";
    // A copy of its own: memory and policy are those of the process that has the file open.
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("own.graven");
    std::fs::copy(&network().db, &own).expect("copied");
    let own = own.to_str().expect("a name");
    let said = graven_reading(["shell", own, "--memory", "16MiB"], input).ok();
    assert!(said.out.starts_with("x\n4\n"), "{}", said.out);
    assert!(
        said.out.contains("KNOWS") && said.out.contains(":format"),
        "{}",
        said.out
    );
    assert!(!said.out.contains('9'), ":quit ends it: {}", said.out);
    let said = graven_reading(["shell", &network().db], ":frobnicate\n");
    assert_eq!(said.code, 1);
    assert!(said.err.contains(":help"), "{}", said.err);
}

#[test]
fn after_a_failure_only_rollback_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("failed.graven");
    let input =
        "BEGIN;\nCREATE (:A);\nRETURN 1/0;\nCOMMIT;\nROLLBACK;\nMATCH (a) RETURN count(a);\n";
    let said = graven_reading(["shell", db.to_str().expect("a name")], input);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("only ROLLBACK"), "{}", said.err);
    assert!(
        said.out.ends_with("rolled back\ncount(a)\n0\n"),
        "{}",
        said.out
    );
}

/// Control-C on a terminal ends the statement that runs, not the shell.
#[test]
fn control_c_cancels_a_statement_on_a_terminal() {
    use std::io::Read;
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("cancelled.graven");
    let (mut terminal, mut child) = terminal::start(&["shell", db.to_str().expect("a name")]);
    let mut heard = String::new();
    let mut until = |terminal: &mut std::fs::File, what: &str| {
        let mut bytes = [0; 4096];
        let end = loop {
            if let Some(at) = heard.find(what) {
                break at + what.len();
            }
            let read = terminal.read(&mut bytes).expect("the shell goes on");
            heard.push_str(&String::from_utf8_lossy(&bytes[..read]));
        };
        heard.drain(..end);
    };
    until(&mut terminal, "graven> ");
    let endless = "UNWIND range(1, 1000000000000) AS x RETURN sum(x) AS total;\r";
    terminal.write_all(endless.as_bytes()).expect("typed");
    until(&mut terminal, "total;");
    // The shell has the line; now it runs.
    std::thread::sleep(std::time::Duration::from_secs(1));
    terminal.write_all(b"\x03").expect("typed");
    until(&mut terminal, "cancelled");
    until(&mut terminal, "graven> ");
    terminal.write_all(b"RETURN 40 + 2 AS n;\r").expect("typed");
    until(&mut terminal, "42");
    until(&mut terminal, "graven> ");
    terminal.write_all(b":quit\r").expect("typed");
    assert!(child.wait().expect("ends").success());
}

/// A statement without rows answers as well, and only once it is durable: what was answered
/// survives a kill.
#[test]
fn every_statement_is_acknowledged_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("acknowledged.graven");
    let db = db.to_str().expect("a name");
    let mut child = Command::new(env!("CARGO_BIN_EXE_graven"))
        .args(["shell", db])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("piped");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    for (statement, expected) in [
        (
            "CREATE (:N {i: 1})-[:R]->(:N {i: 2});",
            "2 nodes created, 1 relationship created, 2 properties set, 2 labels added",
        ),
        ("MATCH (n:N {i: 7}) SET n.i = 8;", "no changes"),
        ("BEGIN;", "begun"),
        ("MATCH (n:N {i: 2}) SET n.i = 3;", "1 property set"),
        ("COMMIT;", "committed"),
        ("BEGIN;", "begun"),
        (
            "MATCH (n:N) DETACH DELETE n;",
            "2 nodes deleted, 1 relationship deleted",
        ),
        ("ROLLBACK;", "rolled back"),
    ] {
        writeln!(input, "{statement}").expect("written");
        let mut line = String::new();
        output.read_line(&mut line).expect("read");
        assert_eq!(line.trim_end(), expected, "{statement}");
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    let said = graven_reading(["query", db, "MATCH (n:N) RETURN sum(n.i)"], "").ok();
    assert_eq!(said.out, "sum(n.i)\n4\n");
}

/// What a transaction rules out, and when its commit returns, can be said in the shell: write skew
/// of two shells passes at snapshot and conflicts at serializable; a commit that waits for nothing
/// shares no sync.
#[test]
fn transactions_promise_what_was_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("promises.graven");
    let db = db.to_str().expect("a name");
    let shell = |options: &[&str]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_graven"))
            .args(["shell", db, "--format", "json"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("piped");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let ask = move |statement: &str| -> serde_json::Value {
            writeln!(input, "{statement}").expect("written");
            let mut line = String::new();
            output.read_line(&mut line).expect("read");
            serde_json::from_str(&line).unwrap_or_else(|e| panic!("{statement}: {line}: {e}"))
        };
        (child, ask)
    };
    let (mut first, mut ask_first) = shell(&[]);
    ask_first("CREATE (:A {v: 1}), (:B {v: 1});");
    for (options, begin, conflicts) in [
        (&[][..], "BEGIN;", false),
        (&[], "BEGIN SERIALIZABLE;", true),
        (&["--isolation", "serializable"], "BEGIN;", true),
        (&[], ":isolation serializable\n:begin", true),
    ] {
        let (mut second, mut ask_second) = shell(options);
        ask_first("BEGIN SERIALIZABLE;");
        ask_second(begin);
        for ask in [&mut ask_first as &mut dyn FnMut(&str) -> _, &mut ask_second] {
            ask("MATCH (a:A), (b:B) RETURN a.v + b.v;");
        }
        ask_first("MATCH (a:A) SET a.v = a.v + 1;");
        ask_second("MATCH (b:B) SET b.v = b.v + 1;");
        let done = ask_first("COMMIT;");
        assert_eq!(
            done["error"],
            serde_json::Value::Null,
            "{options:?} {begin}"
        );
        let code = &ask_second("COMMIT;")["error"]["code"];
        assert_eq!(code == "Transaction.Conflict", conflicts, "{begin}: {code}");
        drop(ask_second);
        second.wait().expect("ends");
    }
    let mut waits = |statements: [&str; 3]| {
        let answers = statements.map(&mut ask_first);
        let group = &answers[2]["summary"]["commit"]["group"];
        // A commit that waits may share its wait with one before that did not.
        group.as_u64().expect("a number") > 0
    };
    assert!(waits(["BEGIN;", "CREATE (:C);", "COMMIT;"]));
    assert!(!waits(["BEGIN DURABILITY off;", "CREATE (:C);", "COMMIT;"]));
    let relaxed = ":durability relaxed:5ms\nBEGIN;";
    assert!(!waits([relaxed, "CREATE (:C);", "COMMIT;"]));
    assert!(waits(["BEGIN DURABILITY full;", "CREATE (:C);", "COMMIT;"]));
    let refused = ask_first("BEGIN DURABILITY sometimes;");
    assert_eq!(refused["error"]["code"], "Request.Invalid", "{refused}");
    drop(ask_first);
    first.wait().expect("ends");
}

/// A database in memory is new for each run and leaves no file; what wants a file says so.
#[test]
fn a_database_in_memory_is_gone_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_graven"))
            .args(args)
            .current_dir(&folder)
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("the program ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.success(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    for _ in 0..2 {
        let create = "CREATE NODE TABLE T(id INT64, PRIMARY KEY(id))";
        let (done, out, err) = said(&["query", ":memory:", create]);
        assert!(done && out == "2 constraints added\n", "{out} {err}");
        assert_eq!(err, "");
    }
    assert!(said(&["shell", ":memory:"]).0);
    for refused in [
        &["check", ":memory:"][..],
        &["backup", ":memory:", "b"],
        &["serve", "--create", ":memory:"],
        &["import", ":memory:", "--neo4j-export", "x"],
        &["query", "--read-only", ":memory:", "RETURN 1"],
    ] {
        let (done, _, err) = said(refused);
        let why = ["wants a file", "without a name"];
        assert!(
            !done && why.iter().any(|why| err.contains(why)),
            "{refused:?}: {err}"
        );
    }
    let left = std::fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(left, 0);
}

/// A transaction that reads only refuses what writes; the time of statements is a setting.
#[test]
fn a_transaction_may_be_read_only() {
    let statements = "BEGIN TRANSACTION READ ONLY;\nRETURN 1 AS one;\nCREATE (:A);\nROLLBACK;\n\
        CREATE (:A);\nCALL timeout = 20;\n\
        UNWIND range(1, 1000000) AS x UNWIND range(1, 1000000) AS y RETURN count(x + y);\n\
        CALL timeout = 0;\n";
    let said = graven_reading(["shell", ":memory:"], statements);
    let done = "begun\none\n1\nrolled back\n1 node created, 1 label added\nset\nset\n";
    assert_eq!(said.out, done, "{}", said.err);
    assert!(
        said.err.contains("read-only") && said.err.contains("20 ms"),
        "{}",
        said.err
    );
}
