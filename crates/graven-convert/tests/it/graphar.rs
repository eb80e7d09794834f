//! Goal: a graph that is exported in GraphAr's format and imported again is the same graph, in
//! chunks of any size; files as GraphAr's libraries lay them out are taken; what is wrong with one
//! is said with file, row, column and value.

use std::fs;
use std::path::{Path, PathBuf};

use graven::Database;
use graven_convert::{Exported, GraphArOptions, export_graphar, import_graphar};
use graven_types::rng::SplitMix64;

use crate::graphs::{NOT_IN_TABLES, VALUES, contents, database, fill, run};

fn options(vertices: u64, edges: u64, by_target: bool) -> GraphArOptions {
    GraphArOptions {
        vertices_per_chunk: vertices,
        edges_per_chunk: edges,
        by_target,
    }
}

/// Exports to the folder `out`, imports that, and compares.
fn comes_back(db: &Database, folder: &Path, options: &GraphArOptions) -> Exported {
    let exported = export_graphar(&db.connect(), folder, options).expect("exported");
    let (_folder, back) = database();
    let made = import_graphar(&back.connect(), folder).expect("imported");
    assert_eq!(
        (made.nodes, made.relationships),
        (exported.nodes, exported.relationships)
    );
    assert_eq!(contents(&back.connect()), contents(&db.connect()));
    exported
}

#[test]
fn values_of_all_types_come_back() {
    for (number, by_target) in [(1, false), (3, true), (1000, false)] {
        let (folder, db) = database();
        let all: Vec<&str> = VALUES.iter().chain(NOT_IN_TABLES).copied().collect();
        fill(&db.connect(), &all);
        let out = folder.path().join("out");
        let exported = comes_back(&db, &out, &options(number, number, by_target));
        assert_eq!(exported.nodes, all.len() as u64);
        let notes = exported.notes.join("\n");
        assert!(
            notes.contains("A.a key: its") && notes.contains("literals of Cypher"),
            "{notes}"
        );
        let again = export_graphar(&db.connect(), &out, &options(1, 1, false));
        let again = again.expect_err("the folder is there").to_string();
        assert!(again.contains("out"), "{again}");
    }
}

/// Sets of labels that overlap, parallel relationships, loops, properties that only some have.
#[test]
fn generated_graphs_come_back() {
    for seed in 0..6 {
        let mut rng = SplitMix64::new(seed);
        let (folder, db) = database();
        let connection = db.connect();
        let count = 1 + rng.below(120);
        for nr in 0..count {
            let labels = ["", ":A", ":B", ":A:B", ":A:B:C", ":C"][rng.place(6)];
            let mut properties = format!("nr: {nr}");
            for (key, value) in [
                ("flag", "nr % 2 = 0"),
                ("score", "nr / 3.0"),
                ("name", "'n' + toString(nr)"),
                ("day", "date('2024-01-01') + duration({days: nr})"),
                (
                    "at",
                    "localdatetime('2024-01-01T00:00:00.125') + duration({hours: nr})",
                ),
                ("marks", "[nr, nr + 1]"),
                ("words", "['a', 'b' + toString(nr)]"),
                ("parts", "[0.5, nr / 4.0]"),
            ] {
                if rng.below(3) > 0 {
                    properties.push_str(&format!(", {key}: {value}"));
                }
            }
            run(
                &connection,
                &format!("WITH {nr} AS nr CREATE (n{labels} {{{properties}}})"),
            );
        }
        for _ in 0..rng.below(300) {
            let (from, to) = (rng.below(count), rng.below(count / 3 + 1));
            let name = ["K", "L"][rng.place(2)];
            let weight = ["", "{w: 1}", "{w: 2, s: 'x'}"][rng.place(3)];
            run(
                &connection,
                &format!(
                    "MATCH (a {{nr: {from}}}), (b {{nr: {to}}}) CREATE (a)-[:{name} {weight}]->(b)"
                ),
            );
        }
        let (vertices, edges) = (1 + rng.below(40), 1 + rng.below(20));
        let out = folder.path().join("out");
        let exported = comes_back(&db, &out, &options(vertices, edges, seed % 2 == 0));
        assert_eq!(exported.notes, Vec::<String>::new(), "all have types");
        // Each list alone has the whole graph.
        if seed % 2 == 0 {
            for file in yaml_files(&out, ".edge.yml") {
                let text = fs::read_to_string(&file).expect("read");
                let list = |by: &str| {
                    let begins = format!("  - ordered: true\n    aligned_by: {by}\n");
                    text.find(&begins).expect("a list")
                };
                let text = format!("{}{}", &text[..list("src")], &text[list("dst")..]);
                fs::write(&file, text).expect("written");
            }
            let (_folder, back) = database();
            import_graphar(&back.connect(), &out).expect("by the targets");
            assert_eq!(contents(&back.connect()), contents(&connection));
        }
    }
}

fn yaml_files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("listed");
    let files = files.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    files.sort();
    files
}

#[test]
fn the_graph_is_described_as_graphar_says() {
    let (folder, db) = database();
    run(
        &db.connect(),
        "CREATE (a:Person:Human {name: 'Ada', born: date('1815-12-10'), at: \
         localdatetime('2024-01-01T10:00'), place: point({x: 1, y: 2})}) \
         -[:KNOWS {since: 1}]->(:Dog)",
    );
    let out = folder.path().join("small");
    export_graphar(&db.connect(), &out, &options(100, 1024, false)).expect("exported");
    let text = |name: &str| fs::read_to_string(out.join(name)).expect(name);
    assert_eq!(
        text("small.graph.yml"),
        "name: small\nvertices:\n  - Dog.vertex.yml\n  - Human_Person.vertex.yml\nedges:\n  \
         - Human_Person_KNOWS_Dog.edge.yml\nversion: gar/v1\n"
    );
    let vertex = text("Human_Person.vertex.yml");
    assert!(
        vertex.starts_with(
            "type: Human_Person\nchunk_size: 100\nprefix: vertex/Human_Person/\nlabels:\n  \
             - Human\n  - Person\nproperty_groups:\n  - prefix: properties/\n    \
             file_type: parquet\n    \
             properties:\n      - name: at\n        data_type: timestamp\n        \
             is_primary: false\n        is_nullable: false\n"
        ),
        "{vertex}"
    );
    assert!(
        vertex.contains("- name: born\n        data_type: date\n"),
        "{vertex}"
    );
    assert!(
        vertex.contains("- name: place\n        data_type: string\n"),
        "{vertex}"
    );
    assert_eq!(
        text("Human_Person_KNOWS_Dog.edge.yml"),
        "src_type: Human_Person\nedge_type: KNOWS\ndst_type: Dog\nchunk_size: 1024\n\
         src_chunk_size: 100\ndst_chunk_size: 100\ndirected: true\n\
         prefix: edge/Human_Person_KNOWS_Dog/\nadj_lists:\n  - ordered: true\n    \
         aligned_by: src\n    prefix: ordered_by_source/\n    \
         file_type: parquet\nproperty_groups:\n  - prefix: properties/\n    \
         file_type: parquet\n    \
         properties:\n      - name: since\n        data_type: int64\n        \
         is_primary: false\n        is_nullable: false\nversion: gar/v1\n"
    );
    assert!(
        text("graven.kinds.yml")
            .contains("  - file: Human_Person.vertex.yml\n    property: place\n    kind: CYPHER\n")
    );
    // Without it, what was text for want of a type stays text.
    fs::remove_file(out.join("graven.kinds.yml")).expect("removed");
    let (_folder, back) = database();
    import_graphar(&back.connect(), &out).expect("imported");
    let rows = run(
        &back.connect(),
        "MATCH (p:Person) RETURN p.place, p.born = date('1815-12-10')",
    );
    assert!(rows[0].contains("String(\"point({"), "{rows:?}");
    assert!(rows[0].contains("Boolean(true)"), "{rows:?}");
}

/// What is refused leaves nothing behind.
#[test]
fn a_name_of_graphars_own_is_refused() {
    let (folder, db) = database();
    run(&db.connect(), "CREATE (:A {_graphArVertexIndex: 1})");
    let out = folder.path().join("out");
    let error = export_graphar(&db.connect(), &out, &GraphArOptions::default());
    let error = error.expect_err("refused").to_string();
    assert!(
        error.contains("A._graphArVertexIndex") && error.contains("rename"),
        "{error}"
    );
    assert!(!out.exists());
}
