//! Goal: `graven import` and `graven generate`: what they say, and that a failure leaves nothing
//! behind.

use crate::program::{graven, graven_reading, network};

#[test]
fn tables_with_headers_become_a_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let persons = file(
        "person.csv",
        "id:ID(Person)|name|age:int\n1|Ada|36\n2|Bo|\n",
    );
    let knows = file(
        "knows.csv",
        ":START_ID(Person)|:END_ID(Person)|since:int\n1|2|1999\n",
    );
    let db = folder.path().join("small.graven").display().to_string();
    let persons = format!("Person={persons}");
    let knows = format!("KNOWS={knows}");
    let said = graven([
        "import",
        &db,
        "--nodes",
        &persons,
        "--relationships",
        &knows,
    ])
    .ok();
    assert!(
        said.out.contains("2 nodes, 1 relationships"),
        "{}",
        said.out
    );
    let query = "MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.name, a.age, k.since, b.name, b.age";
    let rows = graven(["query", &db, query]).ok().out;
    assert_eq!(rows, "a.name,a.age,k.since,b.name,b.age\nAda,36,1999,Bo,\n");
    let again = graven(["import", &db, "--nodes", &persons]);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("exists already"), "{}", again.err);
}

#[test]
fn a_bad_row_is_named_and_nothing_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("person.csv");
    std::fs::write(&table, "id:ID|age:int\n1|36\n2|old\n").expect("written");
    let db = folder.path().join("bad.graven");
    let nodes = format!("Person={}", table.display());
    let said = graven(["import", &db.display().to_string(), "--nodes", &nodes]);
    assert_eq!(said.code, 1);
    for part in ["person.csv", "line 3", "age", "old"] {
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("listed").count(),
        1,
        "only the table is left"
    );
}

#[test]
fn importing_nothing_is_wrong_usage() {
    let said = graven(["import", "x.graven"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("--ldbc"), "{}", said.err);
}

#[test]
fn the_generator_gives_the_same_bytes_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    graven(["generate", "social", &out, "--scale", "0.05", "--seed", "7"]).ok();
    for name in ["person.csv", "knows.csv", "three-hop-params.csv"] {
        let first = std::fs::read(network().tables.join(name)).expect("made");
        let second = std::fs::read(folder.path().join(name)).expect("made");
        assert!(first == second, "{name} differs");
    }
}

#[test]
fn a_file_is_looked_at_and_copied_as_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("it's.csv");
    std::fs::write(&path, "id;name\n1;\"A\\\"da\"\n2;Bo\n").expect("written");
    let path = path.display().to_string();
    let said = graven(["inspect", &path]).ok().out;
    for part in [
        "CSV, with a header, delimiter ';'",
        "id    INTEGER",
        "name  STRING",
        "ESCAPE = '\\\\'",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // The statement it names can be run as it is.
    let copy = said.lines().last().expect("a statement");
    assert!(copy.starts_with("COPY Label FROM '"), "{said}");
    let db = folder.path().join("new.graven").display().to_string();
    graven_reading(["shell", &db], &format!("{copy};\n")).ok();
    let rows = graven(["query", &db, "MATCH (n:Label) RETURN n.id, n.name"])
        .ok()
        .out;
    assert_eq!(rows, "n.id,n.name\n1,\"A\"\"da\"\n2,Bo\n");
    let missing = graven(["inspect", "none.parquet"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("none.parquet"), "{}", missing.err);
}

/// Goal: where a device is full, the import says so, whichever of the stores that are written at
/// the same time meets it first.
#[cfg(target_os = "linux")]
#[test]
fn a_write_that_fails_ends_all_jobs_with_its_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).expect("written");
    };
    let ids: String = (0..100).map(|id| format!("{id}\n")).collect();
    write("n.csv", format!("id:ID\n{ids}"));
    let mut args = vec!["--nodes".to_owned(), "N=n.csv".to_owned()];
    for number in 0..40 {
        let rows = (0..20).map(|row| format!("{row}|{}|{:0>3000}\n", row + number, row * number));
        let rows: String = rows.collect();
        write(
            &format!("r{number}.csv"),
            format!(":START_ID|:END_ID|w\n{rows}"),
        );
        args.extend([
            "--relationships".to_owned(),
            format!("R{number}=r{number}.csv"),
        ]);
    }
    // A file may have 512 KiB.
    let limited = "ulimit -f 1024; exec \"$0\" import x.graven --threads 4 \"$@\"";
    for _ in 0..5 {
        let ended = std::process::Command::new("sh")
            .args(["-c", limited, env!("CARGO_BIN_EXE_graven")])
            .args(&args)
            .current_dir(folder.path())
            .output()
            .expect("sh runs");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(
            said.contains("File too large") && !said.contains("panicked"),
            "{said}"
        );
    }
}
