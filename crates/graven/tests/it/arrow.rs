//! Goal: results as Arrow streams keep every value (AW-1), stay in the budget, and have the types
//! that their values have in common.

use graven::{Config, Database, Params};

use crate::graph::social;

/// Columns as `name type kind`, and the rows of all batches together.
fn described(db: &Database, text: &str) -> (Vec<String>, usize) {
    let result = db.connect().query(text, &Params::new()).expect(text);
    let stream = result.into_arrow().expect(text);
    let schema = stream.schema();
    let fields = schema.fields().iter().map(|field| {
        let kind = &field.metadata()["graven.type"];
        format!("{} {} {kind}", field.name(), field.data_type())
    });
    let fields = fields.collect();
    let rows = stream.map(|batch| batch.expect("a batch").num_rows()).sum();
    (fields, rows)
}

#[test]
fn columns_have_the_type_of_all_their_values() {
    let social = social();
    let text = "UNWIND [1, null, 3] AS i RETURN i, 1.5 AS x, 'a' AS s, true AS b, date('2020-01-01') AS d, \
                [1, 2] AS l, duration('P1M') AS span, CASE i WHEN 1 THEN 1 ELSE 'one' END AS mixed";
    let (fields, rows) = described(&social.db, text);
    assert_eq!(rows, 3);
    let expected = [
        "i Int64 INTEGER",
        "x Float64 FLOAT",
        "s Utf8 STRING",
        "b Boolean BOOLEAN",
        "d Date32 DATE",
        "l List(Int64) LIST<INTEGER>",
        "span Utf8 DURATION",
        "mixed Utf8 CYPHER",
    ];
    assert_eq!(fields, expected);
}

#[test]
fn entities_are_structs_with_the_keys_of_all() {
    let social = social();
    let setup = "CREATE (:Thing {a: 1})-[:HAS {since: 3}]->(:Thing:Other {b: 'x'})";
    let connection = social.db.connect();
    connection.query(setup, &Params::new()).expect(setup);
    let (fields, rows) = described(
        &social.db,
        "MATCH p = (n:Thing)-[r:HAS]-(m) RETURN n, r, p ORDER BY n.a",
    );
    assert_eq!(rows, 2);
    assert!(fields[0].starts_with("n Struct("), "{fields:?}");
    for part in [
        "\"_id\": Int64",
        "\"_labels\": List(",
        "\"a\": Int64",
        "\"b\": Utf8",
    ] {
        assert!(fields[0].contains(part), "{part} in {fields:?}");
    }
    for part in ["\"_src\": Int64", "\"_dst\": Int64", "\"since\": Int64"] {
        assert!(fields[1].contains(part), "{part} in {fields:?}");
    }
    assert!(fields[2].contains("\"_rels\": List("), "{fields:?}");
}

#[test]
fn a_statement_without_rows_and_one_without_columns() {
    let social = social();
    let (fields, rows) = described(&social.db, "MATCH (n:Nothing) RETURN n.x AS x");
    assert_eq!((fields.len(), rows), (1, 0));
    let (fields, rows) = described(&social.db, "CREATE (:New)");
    assert_eq!((fields.len(), rows), (0, 0));
}

#[test]
fn rows_beyond_the_memory_limit_are_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    config.memory = 2 << 20;
    let db = Database::open(folder.path().join("small.graven"), config).expect("opens");
    let text = "UNWIND range(1, 100000) AS i RETURN 'a text of some length: ' + i AS t";
    let result = db.connect().query(text, &Params::new()).expect("begins");
    let error = result.into_arrow().map(|_| ()).expect_err("too large");
    assert_eq!(error.code(), "Memory.Limit", "{error}");
}

/// A null among vectors takes the room of one.
#[test]
fn nulls_among_vectors_are_charged_by_their_width() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    config.memory = 16 << 20;
    let db = Database::open(folder.path().join("small.graven"), config).expect("opens");
    let batches = |rows: u32, value: &str| {
        let vector = "vector([x IN range(1, 4096) | 1.0], 4096, FLOAT32)";
        let text = format!(
            "UNWIND range(1, {rows}) AS i WITH CASE i WHEN 1 THEN {vector} END AS v RETURN {value}"
        );
        let result = db.connect().query(&text, &Params::new()).expect(&text);
        let stream = result.into_arrow()?;
        Ok::<_, graven::Error>(
            stream
                .map(|batch| batch.expect("a batch").num_rows())
                .sum::<usize>(),
        )
    };
    for value in ["v", "[v, v] AS l", "{a: v} AS m"] {
        assert_eq!(batches(50, value).expect("few rows"), 50);
        let error = batches(3000, value).expect_err("32 MiB of zeros");
        assert_eq!(error.code(), "Memory.Limit", "{error}");
    }
}

#[test]
fn rows_that_were_read_before_come_first() {
    let social = social();
    let text = "UNWIND range(1, 5000) AS i RETURN i, 'x' AS s";
    let mut result = social.db.connect().query(text, &Params::new()).expect(text);
    let first = result
        .next_rows()
        .expect(text)
        .expect("rows")
        .without_first(10);
    assert_eq!(first.value(0, 0), Some(graven::Value::Integer(11)));
    let stream = result.into_arrow_after(vec![first]).expect(text);
    let rows: usize = stream.map(|batch| batch.expect("a batch").num_rows()).sum();
    assert_eq!(rows, 4990);
}
