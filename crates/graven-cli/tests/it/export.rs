//! Goal: `graven export` writes forms that `graven import` and `graven query` read back, says what
//! it leaves out, overwrites nothing, and leaves nothing where it fails.

use std::path::Path;

use crate::program::{graven, graven_reading};

/// A small database with two persons.
fn small(folder: &Path) -> String {
    let db = folder.join("small.graven").display().to_string();
    let make = "CREATE (:Person {name: 'Ada', born: date('1815-12-10'), none: ''})\
                -[:KNOWS {since: 1999}]->(:Person {name: 'Bo; \"x\"'})";
    graven(["query", &db, make]).ok();
    db
}

const READ: &str = "MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.name, a.born, k.since, b.name";
const ROWS: &str = "a.name,a.born,k.since,b.name\nAda,1815-12-10,1999,\"Bo; \"\"x\"\"\"\n";

#[test]
fn each_form_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = small(folder.path());
    let path = |name: &str| folder.path().join(name).display().to_string();
    for form in ["cypher", "graphml"] {
        let (file, back) = (path(&format!("g.{form}")), path(&format!("{form}.graven")));
        let flag = format!("--{form}");
        let said = graven(["export", &db, &flag, &file]).ok();
        assert!(
            said.out.contains("2 nodes, 1 relationships"),
            "{}",
            said.out
        );
        graven(["import", &back, "--neo4j-export", &file]).ok();
        assert_eq!(graven(["query", &back, READ]).ok().out, ROWS, "{form}");
        let again = graven(["export", &db, &flag, &file]);
        assert_eq!(again.code, 1, "{}", again.out);
        assert!(again.err.contains(&format!("g.{form}")), "{}", again.err);
    }
    let tables = path("tables");
    let said = graven(["export", &db, "--neo4j", &tables]).ok();
    assert!(
        said.err.contains("note: 1 empty texts are left out"),
        "{}",
        said.err
    );
    let back = path("tables.graven");
    let planned = graven(["import", &back, "--neo4j", &tables, "--dry-run"]).ok();
    for part in [
        "(:...)",
        "property born, date",
        "()-[:...]->()",
        "nothing was made",
    ] {
        assert!(planned.out.contains(part), "{part}: {}", planned.out);
    }
    assert!(!Path::new(&back).exists());
    graven(["import", &back, "--neo4j", &tables]).ok();
    assert_eq!(graven(["query", &back, READ]).ok().out, ROWS);
    let said = graven(["export", &db, "--folder", &path("all"), "--format", "csv"]).ok();
    assert!(said.out.contains("nodes-0.csv"), "{}", said.out);
}

#[test]
fn a_script_goes_through_a_pipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = small(folder.path());
    let script = graven(["export", &db, "--cypher", "-", "--without-schema"])
        .ok()
        .out;
    assert!(
        !script.contains("INDEX") && script.ends_with(";\n"),
        "{script}"
    );
    let back = folder.path().join("back.graven").display().to_string();
    graven_reading(["shell", &back], &script).ok();
    assert_eq!(graven(["query", &back, READ]).ok().out, ROWS);
}

#[test]
fn a_failed_import_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("all.json");
    std::fs::write(
        &file,
        "{\"type\": \"node\", \"id\": \"1\"}\n{\"type\": 1}\n",
    )
    .expect("written");
    let db = folder.path().join("new.graven").display().to_string();
    let said = graven(["import", &db, "--neo4j-export", &file.display().to_string()]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("all.json, line 2"), "{}", said.err);
    let left = std::fs::read_dir(folder.path()).expect("listed").count();
    assert_eq!(left, 1, "only the file that was there");
}

/// GraphAr's folder comes back, also from a published snapshot; what is no such folder is named.
#[test]
fn graphar_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = small(folder.path());
    let path = |name: &str| folder.path().join(name).display().to_string();
    let url = format!("file://{}/published/", folder.path().display());
    graven(["publish", &db, &url]).ok();
    for (from, name) in [(&db, "small"), (&url, "snapshot")] {
        let out = path(name);
        let export = [
            "export",
            from,
            "--graphar",
            &out,
            "--by-target",
            "--vertices-per-chunk=1",
        ];
        let said = graven(export).ok();
        assert!(
            said.out.contains("2 nodes, 1 relationships"),
            "{}",
            said.out
        );
        assert_eq!(said.err, "", "all has types");
        let again = graven(export);
        assert_eq!(again.code, 1, "{}", again.out);
        assert!(again.err.contains(&out), "{}", again.err);
        let back = path(&format!("{name}.back.graven"));
        let said = graven(["import", &back, "--graphar", &out]).ok();
        assert!(
            said.out.contains("2 nodes, 1 relationships"),
            "{}",
            said.out
        );
        assert_eq!(graven(["query", &back, READ]).ok().out, ROWS);
    }
    let chunk = folder.path().join("small/vertex/Person/properties/chunk1");
    std::fs::remove_file(chunk).expect("removed");
    for (from, says) in [
        ("small", "Person/properties/chunk1: is missing"),
        ("published", "has no file NAME.graph.yml"),
        ("none", "No such file"),
    ] {
        let new = path("new.graven");
        let said = graven(["import", &new, "--graphar", &path(from)]);
        assert_eq!(said.code, 1, "{}", said.out);
        assert!(said.err.contains(says), "{}", said.err);
        assert!(!Path::new(&new).exists());
    }
    let wrong = graven([
        "export",
        &db,
        "--graphar",
        &path("x"),
        "--edges-per-chunk=0",
    ]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
}
