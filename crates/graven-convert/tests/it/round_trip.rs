//! Goal: what is exported and imported again is the same graph, in every form; what a form cannot
//! hold is counted.

use std::path::Path;

use graven::Database;
use graven_convert::{
    Exported, Schema, export_cypher, export_graphml, export_tables, import_neo4j, read_tables,
};

use crate::graphs::{NOT_IN_TABLES, VALUES, contents, database, fill, run, schema};

/// Imports what was exported whole: the same graph, in a database of its own.
fn comes_back(db: &Database, path: &Path, exported: &Exported) -> (tempfile::TempDir, Database) {
    assert_eq!(exported.notes, Vec::<String>::new());
    let (folder, back) = database();
    let made = import_neo4j(&back.connect(), path).expect("imported");
    assert_eq!(
        (made.nodes, made.relationships),
        (exported.nodes, exported.relationships)
    );
    assert_eq!(contents(&back.connect()), contents(&db.connect()));
    (folder, back)
}

#[test]
fn scripts_make_the_same_graph() {
    for (form, ending) in [(Schema::With, "cypher"), (Schema::Without, "cql")] {
        let (folder, db) = database();
        let all: Vec<&str> = VALUES.iter().chain(NOT_IN_TABLES).copied().collect();
        fill(&db.connect(), &all);
        let mut script = Vec::new();
        let exported = export_cypher(&db.connect(), &mut script, form).expect("exported");
        assert_eq!(exported.nodes, all.len() as u64);
        let path = folder.path().join(format!("all.{ending}"));
        std::fs::write(&path, script).expect("written");
        let (_other, back) = comes_back(&db, &path, &exported);
        let same = schema(&back.connect()) == schema(&db.connect());
        assert_eq!(same, form == Schema::With);
    }
}

#[test]
fn graphml_comes_back() {
    let (folder, db) = database();
    let all: Vec<&str> = VALUES.iter().chain(NOT_IN_TABLES).copied().collect();
    fill(&db.connect(), &all);
    let mut text = Vec::new();
    let exported = export_graphml(&db.connect(), &mut text).expect("exported");
    let path = folder.path().join("all.graphml");
    std::fs::write(&path, text).expect("written");
    let (_other, back) = comes_back(&db, &path, &exported);
    assert_eq!(
        run(&back.connect(), "SHOW CONSTRAINTS"),
        Vec::<String>::new()
    );
}

#[test]
fn tables_say_what_they_leave_out() {
    let (folder, db) = database();
    fill(&db.connect(), VALUES);
    run(
        &db.connect(),
        "MATCH (n {nr: 1000}) SET n.odd = [], n.none = '', n.mixed = [1, 'a'], \
            n.v = vector([1], 1, INT), n.l = [vector([1], 1, INT), vector([2], 1, FLOAT)]",
    );
    let tables = folder.path().join("tables");
    let exported = export_tables(&db.connect(), &tables).expect("exported");
    assert_eq!(exported.nodes, VALUES.len() as u64);
    let notes = exported.notes.join("\n");
    for part in [
        "1 empty lists",
        "1 empty texts",
        "1 vectors",
        "1 lists of vectors",
        "1 lists that have several types",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert_eq!(exported.notes.len(), 5, "{notes}");
    let read = read_tables(&tables).expect("read");
    assert!(
        read.nodes.len() > 6 && read.relationships.len() > 2,
        "{read:?}"
    );
    // `;` and `|` stand in texts, but not in elements of lists.
    assert_eq!(read.array_delimiter, b';');
    let again = export_tables(&db.connect(), &tables).expect_err("the folder is there");
    assert!(again.to_string().contains("tables"), "{again}");
}

/// A form that cannot hold a name or a value refuses it; no file is made that reads otherwise.
#[test]
fn what_a_form_cannot_hold_is_refused() {
    let refused = |statement: &str, wanted: &str| {
        let (folder, db) = database();
        run(&db.connect(), statement);
        let error = export_tables(&db.connect(), &folder.path().join("tables"));
        let error = error.expect_err(statement).to_string();
        assert!(error.contains(wanted), "{error}");
        assert!(!folder.path().join("tables").exists());
    };
    refused("CREATE (:` A`)", "the label \" A\"");
    refused("CREATE ({`a `: 1})", "the property \"a \"");
    refused("CREATE ({`a:b`: 1})", "the property \"a:b\"");
}

#[test]
fn a_row_too_long_for_a_statement_is_refused() {
    let (_folder, db) = database();
    let long = "reduce(s = 'abcdefgh', i IN range(1, 22) | s + s)";
    run(
        &db.connect(),
        &format!("CREATE (n:Long {{a: {long}, b: {long}}})"),
    );
    let error = export_cypher(&db.connect(), &mut std::io::sink(), Schema::With);
    let error = error.expect_err("too long").to_string();
    assert!(error.contains("at most 62914560"), "{error}");
}
