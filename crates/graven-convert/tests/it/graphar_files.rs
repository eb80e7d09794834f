//! Goal: trees of GraphAr's own libraries are taken, in each layout that these write; what is wrong
//! with one is said with file, row, column and value, and nothing is guessed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use graven_convert::import_graphar;
use graven_files::{Cells, Datum, Format, Kind, Options, Shape, Sink};

use crate::graphs::{database, run};

/// Writes a chunk as Parquet.
fn table(path: &Path, columns: &[(&str, Kind)], rows: &[Vec<Datum>]) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let file = File::create(path).expect("made");
    let options = Options {
        format: Some(Format::Parquet),
        ..Options::default()
    };
    let shapes = columns.iter();
    let shapes = shapes.map(|(name, kind)| ((*name).to_owned(), Shape::of(kind.clone())));
    let sink = Sink::create(&path.to_string_lossy(), file, &options, shapes.collect());
    let mut sink = sink.expect("begun");
    let cells = (0..columns.len()).map(|at| {
        let column = rows.iter().map(|row| row[at].clone());
        Cells::Data(column.collect())
    });
    sink.write(&cells.collect::<Vec<_>>(), rows.len())
        .expect("written");
    sink.finish().expect("ended");
}

fn int(number: i64) -> Datum {
    Datum::Value(number.into())
}

fn count(path: &Path, count: u64) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, count.to_le_bytes()).expect("written");
}

const PERSON: &str = "chunk_size: 2
labels:
  - Person
  - Human
prefix: vertex/Person/
property_groups:
  - file_type: parquet
    prefix: id/
    properties:
      - data_type: int64
        is_nullable: false
        is_primary: true
        name: id
  - file_type: parquet
    properties:
      - data_type: string
        is_nullable: true
        is_primary: false
        name: name
      - data_type: double
        is_nullable: true
        is_primary: false
        name: score
type: Person
version: gar/v1
";

const CITY: &str = "chunk_size: 2
prefix: vertex/City/
property_groups:
  - file_type: csv
    prefix: cid_cname/
    properties:
      - data_type: int64
        name: cid
      - data_type: string
        name: cname
type: City
version: gar/v1
";

const LIVES_IN: &str = "adj_lists:
  - aligned_by: src
    file_type: parquet
    ordered: true
    prefix: ordered_by_source/
chunk_size: 2
directed: true
dst_chunk_size: 2
dst_type: City
edge_type: LIVES_IN
prefix: edge/Person_LIVES_IN_City/
property_groups:
  - file_type: parquet
    prefix: since/
    properties:
      - data_type: int32
        is_nullable: true
        is_primary: false
        name: since
src_chunk_size: 2
src_type: Person
version: gar/v1
";

const GRAPH: &str = "name: small
vertices:
  - Person.vertex.yml
  - City.vertex.yml
edges:
  - Person_LIVES_IN_City.edge.yml
version: gar/v1
";

/// Five persons in three chunks and two property groups; three cities in two chunks of CSV; four
/// edges in three parts, of which the second has none: as GraphAr's C++ library writes them.
fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    for (name, text) in [
        ("small.graph.yml", GRAPH),
        ("Person.vertex.yml", PERSON),
        ("City.vertex.yml", CITY),
        ("Person_LIVES_IN_City.edge.yml", LIVES_IN),
    ] {
        fs::write(root.join(name), text).expect("written");
    }
    let names = ["Ada", "Bo", "Cy, x", "Di", "Ed"];
    let persons = root.join("vertex/Person");
    let index = ("_graphArVertexIndex", Kind::Integer);
    for (number, chunk) in names.chunks(2).enumerate() {
        let of = |at: usize| (number * 2 + at) as i64;
        let ids: Vec<Vec<Datum>> = (0..chunk.len())
            .map(|at| vec![int(of(at)), int(of(at) + 1)])
            .collect();
        let path = persons.join(format!("id/chunk{number}"));
        table(&path, &[index.clone(), ("id", Kind::Integer)], &ids);
        let rows: Vec<Vec<Datum>> = (0..chunk.len())
            .map(|at| {
                let score = Datum::Value((of(at) as f64 + 0.5).into());
                let score = if of(at) == 1 { Datum::NULL } else { score };
                vec![int(of(at)), Datum::text(chunk[at]), score]
            })
            .collect();
        let path = persons.join(format!("name_score/chunk{number}"));
        let columns = [
            index.clone(),
            ("name", Kind::String),
            ("score", Kind::Float),
        ];
        table(&path, &columns, &rows);
    }
    count(&persons.join("vertex_count"), 5);
    let cities = root.join("vertex/City");
    fs::create_dir_all(cities.join("cid_cname")).expect("made");
    for (name, text) in [
        ("chunk0", "cid,cname\n10,Rome\n11,\"O,slo\"\n"),
        ("chunk1", "cid,cname\n12,\n"),
    ] {
        fs::write(cities.join("cid_cname").join(name), text).expect("written");
    }
    count(&cities.join("vertex_count"), 3);
    let edges = root.join("edge/Person_LIVES_IN_City/ordered_by_source");
    let ends = [
        ("_graphArSrcIndex", Kind::Integer),
        ("_graphArDstIndex", Kind::Integer),
    ];
    for (path, rows) in [
        ("part0/chunk0", vec![(0, 1, 2000), (0, 0, 2001)]),
        ("part0/chunk1", vec![(1, 0, 2002)]),
        ("part2/chunk0", vec![(4, 0, 2003)]),
    ] {
        let both: Vec<Vec<Datum>> = rows.iter().map(|r| vec![int(r.0), int(r.1)]).collect();
        table(&edges.join("adj_list").join(path), &ends, &both);
        let since: Vec<Vec<Datum>> = rows.iter().map(|r| vec![int(r.2)]).collect();
        table(
            &edges.join("since").join(path),
            &[("since", Kind::Integer)],
            &since,
        );
    }
    for (number, (edges_of, offsets)) in [(3, [0, 2, 3]), (0, [0, 0, 0]), (1, [0, 1, 1])]
        .iter()
        .enumerate()
    {
        count(&edges.join(format!("edge_count{number}")), *edges_of);
        offsets_of(&edges, number, offsets);
    }
    count(&edges.join("vertex_count"), 5);
    folder
}

fn offsets_of(edges: &Path, number: usize, offsets: &[i64]) {
    let rows: Vec<Vec<Datum>> = offsets.iter().map(|offset| vec![int(*offset)]).collect();
    let path = edges.join(format!("offset/chunk{number}"));
    table(&path, &[("_graphArOffset", Kind::Integer)], &rows);
}

/// Imports the tree and looks at what it became.
fn is_taken(folder: &Path) {
    let (_folder, db) = database();
    let made = import_graphar(&db.connect(), folder).expect("imported");
    assert_eq!((made.nodes, made.relationships), (8, 4));
    let rows = run(
        &db.connect(),
        "MATCH (p:Person:Human)-[r:LIVES_IN]->(c:City) \
         RETURN p.id, p.name, p.score, r.since, c.cid, c.cname ORDER BY r.since",
    );
    assert_eq!(
        rows,
        [
            "[Integer(1), String(\"Ada\"), Float(0.5), Integer(2000), \
             Integer(11), String(\"O,slo\")]",
            "[Integer(1), String(\"Ada\"), Float(0.5), Integer(2001), \
             Integer(10), String(\"Rome\")]",
            "[Integer(2), String(\"Bo\"), Null, Integer(2002), Integer(10), String(\"Rome\")]",
            "[Integer(5), String(\"Ed\"), Float(4.5), Integer(2003), \
             Integer(10), String(\"Rome\")]",
        ]
    );
    let rest = "MATCH (n) WHERE NOT (n)--() RETURN properties(n) ORDER BY n.id, n.cid";
    assert_eq!(run(&db.connect(), rest).len(), 3);
    assert_eq!(run(&db.connect(), "SHOW CONSTRAINTS"), Vec::<String>::new());
    let indexes = "SHOW INDEXES YIELD labelsOrTypes, properties, type WHERE type <> 'LOOKUP' \
        RETURN labelsOrTypes, properties";
    assert_eq!(
        run(&db.connect(), indexes),
        ["[List([String(\"Person\")]), List([String(\"id\")])]"]
    );
}

#[test]
fn a_tree_of_graphars_library_is_taken() {
    let folder = tree();
    is_taken(folder.path());
    is_taken(&folder.path().join("small.graph.yml"));
    // Names of earlier versions, a prefix, and groups within the lists.
    let change = |name: &str, pairs: &[(&str, &str)]| {
        let path = folder.path().join(name);
        let mut text = fs::read_to_string(&path).expect("read");
        for (from, to) in pairs {
            assert!(text.contains(from), "{name} has no {from}");
            text = text.replace(from, to);
        }
        fs::write(&path, text).expect("written");
    };
    change(
        "Person.vertex.yml",
        &[("type: Person\n", "label: Person\n")],
    );
    let (start, end) = (
        LIVES_IN.find("property_groups").expect("there"),
        LIVES_IN.find("src_chunk_size").expect("there"),
    );
    let groups = LIVES_IN[start..end].trim_end().replace('\n', "\n    ");
    change(
        "Person_LIVES_IN_City.edge.yml",
        &[
            (&LIVES_IN[start..end], ""),
            (
                "ordered_by_source/\n",
                &format!("ordered_by_source/\n    {groups}\n"),
            ),
            ("edge_type", "edge_label"),
            ("src_type", "src_label"),
            ("dst_type", "dst_label"),
        ],
    );
    change(
        "small.graph.yml",
        &[(
            "name: small\n",
            "name: small\nprefix: ./\nextra_info:\n  - key: a\n    value: b\n",
        )],
    );
    is_taken(folder.path());
    // Libraries of earlier versions did not write it.
    fs::remove_file(edges(folder.path()).join("vertex_count")).expect("removed");
    is_taken(folder.path());
}

/// A table says which of the labels each vertex has.
#[test]
fn labels_of_each_vertex_are_taken() {
    let folder = tree();
    let labels = folder.path().join("vertex/Person/labels");
    let both = [("Person", Kind::Boolean), ("Human", Kind::Boolean)];
    let bool = |is: bool| Datum::Value(is.into());
    for (number, rows) in [2usize, 2, 1].iter().enumerate() {
        let rows: Vec<Vec<Datum>> = (0..*rows)
            .map(|at| vec![bool(true), bool(at == 0)])
            .collect();
        table(&labels.join(format!("chunk{number}")), &both, &rows);
    }
    let (_folder, db) = database();
    import_graphar(&db.connect(), folder.path()).expect("imported");
    let rows = run(&db.connect(), "MATCH (n:Human) RETURN n.id ORDER BY n.id");
    assert_eq!(rows, ["[Integer(1)]", "[Integer(3)]", "[Integer(5)]"]);
    assert_eq!(run(&db.connect(), "MATCH (n:Person) RETURN n").len(), 5);
}

/// Lists without an order have no offsets.
#[test]
fn unordered_lists_are_taken() {
    let folder = tree();
    let path = folder.path().join("Person_LIVES_IN_City.edge.yml");
    fs::write(&path, LIVES_IN.replace("ordered: true", "ordered: false")).expect("written");
    fs::remove_dir_all(edges(folder.path()).join("offset")).expect("removed");
    is_taken(folder.path());
}

fn edges(root: &Path) -> PathBuf {
    root.join("edge/Person_LIVES_IN_City/ordered_by_source")
}

/// Damages a tree, and expects an import to say so.
fn refused(damage: impl FnOnce(&Path), wanted: &[&str]) {
    let folder = tree();
    damage(folder.path());
    let (_folder, db) = database();
    let error = import_graphar(&db.connect(), folder.path());
    let error = error.expect_err(wanted[0]).to_string();
    for part in wanted {
        assert!(error.contains(part), "{part}: {error}");
    }
}

fn changed(name: &'static str, from: &'static str, to: &'static str) -> impl FnOnce(&Path) {
    move |root| {
        let path = root.join(name);
        let text = fs::read_to_string(&path).expect("read");
        assert!(text.contains(from), "{name} has no {from}");
        fs::write(&path, text.replace(from, to)).expect("written");
    }
}

fn removed(name: &'static str) -> impl FnOnce(&Path) {
    move |root| fs::remove_file(root.join(name)).expect("removed")
}

#[test]
fn what_the_yaml_says_wrong_is_told_with_its_line() {
    let vertex = "Person.vertex.yml";
    let edge = "Person_LIVES_IN_City.edge.yml";
    refused(
        changed(vertex, "chunk_size", "chunk_sise"),
        &[vertex, "line 1", "chunk_sise"],
    );
    refused(
        changed(vertex, "      - data_type: int64", "\t- data_type: int64"),
        &[vertex, "line 10"],
    );
    refused(
        changed(vertex, "chunk_size: 2", "chunk_size: two"),
        &[vertex, "line 1", "invalid u64"],
    );
    refused(
        changed(vertex, "chunk_size: 2", "chunk_size: 0"),
        &[vertex, "chunk_size is 0"],
    );
    refused(
        changed(vertex, "name: score", "name: name"),
        &[vertex, "the property name twice"],
    );
    refused(
        changed(vertex, "data_type: double", "data_type: decimal"),
        &[vertex, "the property score", "decimal", "timestamp"],
    );
    refused(
        changed(
            vertex,
            "file_type: parquet\n    prefix: id/",
            "file_type: orc\n    prefix: id/",
        ),
        &[vertex, "file_type orc", "as parquet"],
    );
    refused(changed(vertex, "gar/v1", "gar/v2"), &[vertex, "gar/v2"]);
    refused(
        changed(edge, "aligned_by: src", "aligned_by: both"),
        &[edge, "aligned_by both"],
    );
    refused(
        changed(edge, "dst_type: City", "dst_type: Town"),
        &[edge, "the vertex type Town"],
    );
    refused(
        changed(
            "small.graph.yml",
            "name: small",
            "name: small\nprefix: s3://bucket/",
        ),
        &["small.graph.yml", "s3://bucket/", "copy the graph here"],
    );
    refused(
        changed(
            "small.graph.yml",
            "name: small",
            "name: small\nprefix: /no/such/folder/",
        ),
        &["small.graph.yml", "/no/such/folder/", "remove the prefix"],
    );
    refused(
        removed("City.vertex.yml"),
        &["City.vertex.yml", "No such file"],
    );
    refused(
        removed("small.graph.yml"),
        &["has no file NAME.graph.yml", "did not end"],
    );
    refused(
        |root| fs::write(root.join("other.graph.yml"), GRAPH).expect("written"),
        &["has several graphs", "other.graph.yml, small.graph.yml"],
    );
}

#[test]
fn what_the_chunks_hold_wrong_is_told_with_its_place() {
    let person = |root: &Path| root.join("vertex/Person");
    refused(
        removed("vertex/Person/id/chunk1"),
        &["vertex/Person/id/chunk1", "is missing"],
    );
    refused(
        removed("vertex/Person/vertex_count"),
        &["vertex_count", "No such file"],
    );
    refused(
        |root| count(&person(root).join("vertex_count"), 6),
        &[
            "vertex/Person/id/chunk2",
            "has 1 rows, and by",
            "vertex_count it has 2",
        ],
    );
    refused(
        |root| count(&person(root).join("vertex_count"), 3),
        &["vertex/Person/id/chunk1", "more than the 1 rows"],
    );
    refused(
        |root| fs::write(person(root).join("vertex_count"), "5\n").expect("written"),
        &["vertex_count", "has 2 bytes"],
    );
    refused(
        |root| {
            let columns = [("_graphArVertexIndex", Kind::Integer), ("id", Kind::String)];
            let rows = [
                vec![int(0), Datum::text("a")],
                vec![int(1), Datum::text("b")],
            ];
            table(&person(root).join("id/chunk0"), &columns, &rows);
        },
        &[
            "vertex/Person/id/chunk0",
            "the column id holds STRING",
            "INTEGER",
        ],
    );
    refused(
        |root| {
            table(
                &person(root).join("id/chunk0"),
                &[("key", Kind::Integer)],
                &[vec![int(0)]],
            )
        },
        &["vertex/Person/id/chunk0", "has no column id"],
    );
    refused(
        |root| {
            let columns = [
                ("_graphArVertexIndex", Kind::Integer),
                ("id", Kind::Integer),
            ];
            table(
                &person(root).join("id/chunk1"),
                &columns,
                &[vec![int(3), int(3)], vec![int(2), int(4)]],
            );
        },
        &[
            "vertex/Person/id/chunk1, row 1, column _graphArVertexIndex: '3'",
            "this one, 2",
        ],
    );
    refused(
        |root| {
            let path = root.join("vertex/City/cid_cname/chunk0");
            fs::write(path, "cid,cname\n10,Rome\neleven,Oslo\n").expect("written");
        },
        &["vertex/City/cid_cname/chunk0, line 3, column cid: 'eleven'"],
    );
    refused(
        |root| fs::write(person(root).join("id/chunk0"), "no parquet").expect("written"),
        &["vertex/Person/id/chunk0"],
    );
}

#[test]
fn edges_that_do_not_fit_are_told_with_their_place() {
    let ends = [
        ("_graphArSrcIndex", Kind::Integer),
        ("_graphArDstIndex", Kind::Integer),
    ];
    let pair = |a: i64, b: i64| vec![int(a), int(b)];
    let first = |root: &Path| edges(root).join("adj_list/part0/chunk0");
    refused(
        |root| table(&first(root), &ends, &[pair(0, 1), pair(0, 7)]),
        &[
            "part0/chunk0, row 2, column _graphArDstIndex: '7'",
            "no vertex of City, which has 3",
        ],
    );
    refused(
        |root| table(&first(root), &ends, &[pair(0, 1), pair(0, -1)]),
        &["part0/chunk0, row 2, column _graphArDstIndex: '-1'"],
    );
    refused(
        |root| table(&first(root), &ends, &[pair(0, 1), pair(2, 0)]),
        &[
            "part0/chunk0, row 2, column _graphArSrcIndex: '2'",
            "part 1",
        ],
    );
    refused(
        |root| table(&first(root), &ends, &[pair(0, 1), pair(1, 0)]),
        &[
            "part0/chunk0, row 2, column _graphArSrcIndex: '1'",
            "offset/chunk0",
        ],
    );
    refused(
        |root| offsets_of(&edges(root), 0, &[0, 2, 9]),
        &[
            "offset/chunk0, row 3, column _graphArOffset: '9'",
            "the last of the 3 edges",
        ],
    );
    refused(
        |root| offsets_of(&edges(root), 0, &[0, 2, 1]),
        &[
            "offset/chunk0, row 3, column _graphArOffset: '1'",
            "less than the offset before",
        ],
    );
    refused(
        |root| offsets_of(&edges(root), 2, &[0, 0, 0]),
        &[
            "part2/chunk0, row 1, column _graphArSrcIndex: '4'",
            "offset/chunk2",
        ],
    );
    refused(
        |root| offsets_of(&edges(root), 1, &[1, 1, 1]),
        &["offset/chunk1"],
    );
    refused(
        |root| fs::remove_file(edges(root).join("offset/chunk1")).expect("removed"),
        &["offset/chunk1", "is missing"],
    );
    refused(
        |root| fs::remove_file(edges(root).join("since/part2/chunk0")).expect("removed"),
        &["since/part2/chunk0", "is missing"],
    );
    refused(
        |root| count(&edges(root).join("edge_count0"), 2),
        &["offset/chunk0", "the last of the 2 edges"],
    );
    refused(
        |root| count(&edges(root).join("vertex_count"), 4),
        &["ordered_by_source/vertex_count", "holds 4", "5 vertices"],
    );
}
