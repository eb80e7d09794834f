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
    // Blanks around a number make no name of it.
    let (columns, rows) = found("a.csv", b" 1 ,2020-01-01\n2,2020-01-02\n");
    assert_eq!(columns, ["column0 INTEGER", "column1 DATE"]);
    assert_eq!(rows[0], ["1", "date('2020-01-01')"]);
    let (_, rows) = found("a.csv", b"1 ,a\n2,b\n");
    assert_eq!(rows, [["1", "'a'"], ["2", "'b'"]]);
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
    let options = Options {
        nulls: vec![String::new()],
        ..Options::default()
    };
    let (_, rows) = found_with("a.csv", b"1,\"\"\n2,\"x\"\n", &options);
    assert_eq!(rows, [["1", "null"], ["2", "'x'"]]);
}

#[test]
fn quotes_and_escapes_of_delimited_text() {
    for (content, wanted) in [
        // Two quotes are one where all can be read so.
        ("1,\"a \"\"b\"\"\"\n2,\"c:\\\"\n", ["'a \"b\"'", "'c:\\\\'"]),
        ("1,\"a \\\"b\\\"\"\n2,\"c,d\"\n", ["'a \"b\"'", "'c,d'"]),
        // An escape before another character is one itself.
        (
            "1;\"a;\\\"b\\\\\"\n2;\"c\\d\"\n",
            ["'a;\"b\\\\'", "'c\\\\d'"],
        ),
        ("1,\"\\\"a\\\"\"\n2,c\\\"d\n", ["", ""]),
        ("1,'a,b'\n2,'it''s'\n", ["'a,b'", "'it\\'s'"]),
        ("1,'a,b'\n2,'it\\'s'\n", ["'a,b'", "'it\\'s'"]),
        ("1;'a;b'\n2;'c'\n", ["'a;b'", "'c'"]),
        // Single quotes that need not be any are text.
        ("1,'a'\n2,'b'\n", ["'\\'a\\''", "'\\'b\\''"]),
    ] {
        if wanted[0].is_empty() {
            // Quotes without and within fields: nothing is found out, and the error names the way.
            let path = tempfile::tempdir().expect("a folder").path().join("a.csv");
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(&path, content).expect("written");
            let read = rows(&source(&path), &Options::default(), None);
            let said = read.map(|_| ()).expect_err("an error").to_string();
            assert!(said.contains("add (ESCAPE = '\\\\')"), "{said}");
            continue;
        }
        let (_, rows) = found("a.csv", content.as_bytes());
        let texts: Vec<&str> = rows.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(texts, wanted, "{content}");
    }
}

#[test]
fn an_escape_that_comes_late_is_found_out() {
    let mut content = String::new();
    for i in 0..500 {
        content.push_str(&format!("{i}|\"a|b\"\n"));
    }
    content.push_str("500|\"say \\\"hi\\\"\"\n");
    let (_, rows) = found("a.csv", content.as_bytes());
    assert_eq!(rows.len(), 501);
    assert_eq!(rows[500][1], "'say \"hi\"'");
}

#[test]
fn what_is_given_is_not_found_out() {
    let given = |set: &[(&str, Datum)], content: &[u8]| {
        let mut options = Options::default();
        for (name, value) in set {
            options.set(name, value).expect("an option");
        }
        found_with("a.csv", content, &options)
    };
    let text = Datum::text;
    let (_, rows) = given(&[("quote", text("'"))], b"1,'a'\n2,'b'\n");
    assert_eq!(rows, [["1", "'a'"], ["2", "'b'"]]);
    let set = [
        ("delim", text("|")),
        ("QUOTE", text("#")),
        ("Escape", text("!")),
    ];
    let (_, rows) = given(&set, b"1|#a !#b|!!#\n");
    assert_eq!(rows, [["1", "'a #b|!'"]]);
    let off = [("AUTO_DETECT", Datum::Value(false.into()))];
    let (columns, rows) = given(&off, b"id,name\n1,a;b\n");
    assert_eq!(columns, ["column0 STRING", "column1 STRING"]);
    assert_eq!(rows, [["'id'", "'name'"], ["'1'", "'a;b'"]]);
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
fn rows_are_passed_over_and_end() {
    let options = |skip, limit| Options {
        skip,
        limit,
        ..Options::default()
    };
    let lines: Vec<String> = (0..300).map(|i| format!("{{\"a\": {i}}}")).collect();
    let json = lines.join("\n");
    let csv: Vec<String> = (0..300).map(|i| i.to_string()).collect();
    let csv = csv.join("\n");
    for (name, content) in [("a.jsonl", &json), ("a.csv", &csv)] {
        for (skip, limit) in [
            (0, Some(0)),
            (3, Some(2)),
            (150, Some(120)),
            (299, None),
            (500, None),
        ] {
            let (_, rows) = found_with(name, content.as_bytes(), &options(skip, limit));
            let to = limit.map_or(300, |limit| 300.min(skip + limit));
            let wanted = (skip..to).map(|i| vec![i.to_string()]);
            assert_eq!(rows, wanted.collect::<Vec<_>>(), "{name} {skip} {limit:?}");
        }
    }
    // What lies behind the last row is not read.
    let (_, rows) = found_with("a.jsonl", b"{\"a\": 1}\n{\"a\": 2}\n", &options(1, Some(1)));
    assert_eq!(rows, [["2"]]);
}

#[test]
fn numpy_arrays_beside_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, descr: &str, shape: &str, data: &[u8]| {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).expect("short").to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path.to_str().expect("text").to_owned()
    };
    let ids = file("ids.npy", "<i2", "2,", &[1, 0, 2, 0]);
    let pairs = file("pairs.npy", "|i1", "2, 2", &[3, 4, 5, 6]);
    let short = file("short.npy", "|i1", "1,", &[3]);
    let mut options = Options::default();
    let on = Datum::Value(true.into());
    options.set("by_column", &on).expect("an option");
    let both = Source::Files(vec![ids.clone(), pairs]);
    let (description, read) = rows(&both, &options, None).expect("read");
    let kinds: Vec<String> = description
        .columns
        .iter()
        .map(|c| c.kind.to_string())
        .collect();
    assert_eq!(kinds, ["INTEGER", "LIST<INTEGER>"]);
    assert_eq!(description.rows, Some(2));
    let read: Vec<Vec<String>> = read
        .iter()
        .map(|row| row.iter().map(literal).collect())
        .collect();
    assert_eq!(read, [["1", "[3, 4]"], ["2", "[5, 6]"]]);
    let unequal = Source::Files(vec![ids, short]);
    let said = rows(&unequal, &options, None)
        .map(|_| ())
        .expect_err("an error");
    assert!(said.to_string().contains("short.npy: has 1 rows"), "{said}");
    let csv = Source::Files(vec!["a.csv".to_owned()]);
    let said = rows(&csv, &options, None)
        .map(|_| ())
        .expect_err("an error");
    assert!(
        said.to_string().contains("BY COLUMN is for NumPy"),
        "{said}"
    );
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
