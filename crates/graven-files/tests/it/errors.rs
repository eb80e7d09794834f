//! Goal: an error names file, line, column and value; rows with errors can be left out and are
//! counted.

use graven_files::{Cells, Column, Datum, Kind, Options, Shape, Sink};

use super::{describe, open, rows, some_rows, source};

fn said(name: &str, content: &[u8], declared: Option<&[(&str, &str)]>) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("written");
    let declared = declared.map(|columns| {
        let column = |(name, kind): &(&str, &str)| Column {
            name: (*name).to_owned(),
            kind: Kind::parse(kind).expect("a kind"),
            stated: None,
        };
        columns.iter().map(column).collect::<Vec<_>>()
    });
    let read = rows(&source(&path), &Options::default(), declared.as_deref());
    let said = read
        .map(|(_, rows)| rows)
        .expect_err("an error")
        .to_string();
    let folder = folder.path().to_str().expect("text");
    said.replace(&format!("{folder}/"), "")
}

#[test]
fn what_is_wrong_is_named() {
    let columns: &[(&str, &str)] = &[("a", "INT64"), ("b", "STRING")];
    for (name, content, declared, wanted) in [
        (
            "x.csv",
            "1,p\nten,q\n",
            Some(columns),
            "x.csv, line 2, column a: 'ten' is no INTEGER",
        ),
        (
            "x.csv",
            "a,b\n1,2\n3\n",
            None,
            "x.csv, line 3: has 1 field(s) where 2 are wanted",
        ),
        (
            "x.csv",
            "1,p,3\n",
            Some(columns),
            "x.csv: has 3 column(s), and 2 are declared",
        ),
        (
            "x.csv",
            "a,b\n1,\"x\n",
            None,
            "x.csv, line 2: a quoted field begins here",
        ),
        (
            "x.csv",
            "a,b\n1,\"x\"y\n",
            None,
            "x.csv, line 2: text follows a closing quote",
        ),
        (
            "x.json",
            "{\"a\": 1}\n{\"a\": }\n",
            None,
            "x.json, line 2: is no JSON",
        ),
        (
            "x.json",
            "{\"a\": \"x\"}",
            Some(columns),
            "x.json, line 1, column a: 'x' is no INTEGER",
        ),
        ("x.json", "17", None, "x.json, line 1: an object is wanted"),
        ("x.parquet", "no parquet", None, "x.parquet: "),
        ("x.arrow", "no arrow", None, "x.arrow: is no Arrow IPC file"),
        ("x.npy", "no array at all", None, "x.npy: is no NumPy array"),
        (
            "x.what",
            "1",
            None,
            "x.what: the name does not say what the file is",
        ),
    ] {
        let said = said(name, content.as_bytes(), declared);
        assert!(said.starts_with(wanted), "{name}: {said}");
    }
}

#[test]
fn what_no_file_is_damaged_enough_for() {
    // A Parquet file whose bytes are changed here and there is read or refused, never more.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("good.parquet");
    let mut shape = graven_files::Shape::default();
    let data: Vec<_> = (0..500)
        .map(|i| graven_files::Datum::text(&format!("text {}", i % 7)))
        .collect();
    data.iter().for_each(|datum| shape.see(datum));
    let file = std::fs::File::create(&path).expect("made");
    let columns = vec![("a".to_owned(), shape)];
    let mut sink = graven_files::Sink::create("good.parquet", file, &Options::default(), columns)
        .expect("begun");
    sink.write(&[graven_files::Cells::Data(data)], 500)
        .expect("written");
    sink.finish().expect("finished");
    let good = std::fs::read(&path).expect("read");
    let mut refused = 0;
    for at in (0..good.len()).step_by(3) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x41;
        std::fs::write(&path, &bytes).expect("written");
        refused += u32::from(rows(&source(&path), &Options::default(), None).is_err());
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn rows_with_errors_are_left_out_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "a,b\n1,x\nten,y\n3\n4,z\n").expect("written");
    let options = Options {
        ignore_errors: true,
        header: Some(true),
        ..Options::default()
    };
    let declared = ["a INTEGER", "b STRING"].map(|text| {
        let (name, kind) = text.split_once(' ').expect("two words");
        Column {
            name: name.to_owned(),
            kind: Kind::parse(kind).expect("a kind"),
            stated: None,
        }
    });
    let source = source(&path);
    let description = describe(&source, &open, &options, Some(&declared)).expect("described");
    let wanted = ["b".to_owned(), "a".to_owned()];
    let (reader, rows) =
        some_rows(&source, &options, &description, &wanted, Vec::new()).expect("read");
    assert_eq!(rows.len(), 2);
    assert_eq!(reader.left_out, 2);
    let lines: Vec<_> = reader.faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [Some(3), Some(4)]);
}

/// A file whose pages or batches say that they take more than the limit is refused before they are
/// read, and so is a row; what fits is read a part at a time.
#[test]
fn pages_and_batches_beyond_the_limit_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = "long text ".repeat(300_000);
    for kind in ["parquet", "arrow"] {
        let path = folder.path().join(format!("long.{kind}"));
        let name = path.to_str().expect("text");
        let cells = Cells::Data(vec![Datum::text(&long); 20]);
        let mut shape = Shape::default();
        (0..cells.len()).for_each(|row| shape.see(&cells.get(row)));
        let file = std::fs::File::create(&path).expect("created");
        let columns = vec![("t".to_owned(), shape)];
        let mut sink = Sink::create(name, file, &Options::default(), columns).expect("begun");
        sink.write(&[cells], 20).expect("written");
        sink.finish().expect("finished");
        let options = |record_bytes| Options {
            record_bytes,
            ..Options::default()
        };
        let little = rows(&source(&path), &options(1 << 20), None);
        let said = little.map(|(_, rows)| rows.len()).expect_err(kind);
        let said = said.to_string();
        assert!(said.contains("with this memory limit at most"), "{said}");
        // Sixty megabytes of text, of which a part at a time is a row.
        let (_, all) = rows(&source(&path), &options(64 << 20), None).expect(kind);
        assert!(all == vec![vec![Datum::text(&long)]; 20], "{kind}");
    }
}

#[test]
fn a_record_with_a_wrong_quote_is_left_out_and_the_next_ones_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "1,a\n2,\"b\"c\n3,d\n4,\"e\nf\"g,h\n5,i\n6,\"j\n").expect("written");
    let (source, options) = (
        source(&path),
        Options {
            ignore_errors: true,
            ..Options::default()
        },
    );
    let description = describe(&source, &open, &options, None).expect("described");
    let wanted: Vec<String> = description.columns.iter().map(|c| c.name.clone()).collect();
    let (reader, rows) =
        some_rows(&source, &options, &description, &wanted, Vec::new()).expect("read");
    let firsts: Vec<String> = rows.iter().map(|row| super::literal(&row[0])).collect();
    assert_eq!(firsts, ["1", "3", "5"]);
    assert_eq!(reader.left_out, 3);
    let lines: Vec<_> = reader.faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [Some(2), Some(5), Some(7)]);
}
