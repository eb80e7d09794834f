//! Goal: delimiter, header, names and kinds are found out.

use std::io::Write;

use graven_files::{Datum, Options, Source};

use super::{literal, rows, source};

fn found(name: &str, content: &[u8]) -> (Vec<String>, Vec<Vec<String>>) {
    found_with(name, content, &Options::default())
}

fn found_with(name: &str, content: &[u8], options: &Options) -> (Vec<String>, Vec<Vec<String>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("written");
    let (description, rows) = rows(&source(&path), options, None).expect("read");
    let columns = description.columns.iter();
    (
        columns.map(|c| format!("{} {}", c.name, c.kind)).collect(),
        rows.iter()
            .map(|row| row.iter().map(literal).collect())
            .collect(),
    )
}

#[test]
fn of_delimited_text() {
    let (columns, rows) = found("a.csv", b"id;name;since\n1;Ada;2024-01-01\n2;\"B; o\";\n");
    assert_eq!(columns, ["id INTEGER", "name STRING", "since DATE"]);
    assert_eq!(
        rows,
        [
            ["1", "'Ada'", "date('2024-01-01')"],
            ["2", "'B; o'", "null"]
        ]
    );
    // Nothing tells a header from texts but that they differ; numbers tell that there is none.
    let (columns, rows) = found("a.csv", b"1,x,2.5\n2,y,3");
    assert_eq!(
        columns,
        ["column0 INTEGER", "column1 STRING", "column2 FLOAT"]
    );
    assert_eq!(rows, [["1", "'x'", "2.5"], ["2", "'y'", "3.0"]]);
    let (columns, _) = found("a.tsv", "\u{feff}zip\tpoint\r\n01234\t1|2\r\n".as_bytes());
    assert_eq!(columns, ["zip STRING", "point STRING"]);
    let (columns, rows) = found("a.csv", b"only\n1\n\n3\n");
    assert_eq!(columns, ["only INTEGER"]);
    assert_eq!(rows, [["1"], ["null"], ["3"]]);
    // An empty text is none but in quotes.
    let (_, rows) = found("a.csv", b"a,b\n\"\",1\n,2\n\"x\"\"y\nz\",3\n");
    assert_eq!(rows, [["''", "1"], ["null", "2"], ["'x\"y\\nz'", "3"]]);
    let options = Options {
        header: Some(false),
        nulls: vec!["NA".to_owned()],
        skip: 1,
        ..Options::default()
    };
    let (_, rows) = found_with("a.csv", b"comment\na,NA\n", &options);
    assert_eq!(rows, [["'a'", "null"]]);
}

#[test]
fn of_packed_text() {
    let text = b"a,b\n1,2\n";
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text).expect("packed");
    let gz = gz.finish().expect("packed");
    let zst = zstd::encode_all(&text[..], 1).expect("packed");
    for (name, content) in [("a.csv.gz", gz), ("a.csv.zst", zst)] {
        let (columns, rows) = found(name, &content);
        assert_eq!(
            (columns.len(), rows),
            (2, vec![vec!["1".to_owned(), "2".to_owned()]]),
            "{name}"
        );
    }
}

#[test]
fn of_json() {
    for text in [
        "[{\"b\": 1, \"a\": \"x\"},\n {\"b\": 2.5, \"c\": [1, 2]}]",
        "{\"b\": 1, \"a\": \"x\"}\n{\"b\": 2.5, \"c\": [1, 2]}\n",
    ] {
        let (columns, rows) = found("a.json", text.as_bytes());
        assert_eq!(columns, ["b FLOAT", "a STRING", "c LIST<INTEGER>"]);
        assert_eq!(rows, [["1.0", "'x'", "null"], ["2.5", "null", "[1, 2]"]]);
    }
    let (columns, rows) = found("a.jsonl", b"{\"m\": {\"x\": 1}}\n{\"m\": {\"y\": \"}\"}}\n");
    assert_eq!(columns, ["m MAP"]);
    assert_eq!(rows, [["{x: 1}"], ["{y: '}'}"]]);
}

#[test]
fn of_numpy_arrays() {
    let array = |descr: &str, shape: &str, data: &[u8]| {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).expect("short").to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    };
    let (columns, rows) = found("a.npy", &array("<i2", "2,", &[1, 0, 0xff, 0xff]));
    assert_eq!(columns, ["column0 INTEGER"]);
    assert_eq!(rows, [["1"], ["-1"]]);
    let mut floats = Vec::new();
    [0.5_f32, 1.5, 2.5, 3.5]
        .iter()
        .for_each(|x| floats.extend(x.to_le_bytes()));
    let (columns, rows) = found("a.npy", &array("<f4", "2, 2", &floats));
    assert_eq!(columns.len(), 2);
    assert_eq!(rows, [["0.5", "1.5"], ["2.5", "3.5"]]);
}

#[test]
fn several_files_are_one_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    std::fs::write(path("1.csv"), "a,b\n1,x\n").expect("written");
    std::fs::write(path("2.csv"), "a,b\n2,y\n").expect("written");
    std::fs::write(path("3.csv"), "b,a\nz,3\n").expect("written");
    let of = |names: &[&str]| Source::Files(names.iter().map(|name| path(name)).collect());
    let (_, read) = rows(&of(&["1.csv", "2.csv"]), &Options::default(), None).expect("read");
    let first: Vec<&Datum> = read.iter().map(|row| &row[1]).collect();
    assert_eq!(first, [&Datum::text("x"), &Datum::text("y")]);
    let other = rows(&of(&["1.csv", "3.csv"]), &Options::default(), None);
    let said = other.expect_err("other columns").to_string();
    assert!(said.contains("3.csv") && said.contains("a, b"), "{said}");
}
