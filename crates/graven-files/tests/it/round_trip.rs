//! Goal: what is written is read back, in each format, whatever the values of a column have in
//! common. Method: columns of literals; written with the shapes found, read with the declared kinds
//! that the shapes say.

use std::fs::File;

use graven_files::{Bound, Cells, Column, Comparison, Datum, Kind, Options, Shape, Sink};
use graven_types::rng::SplitMix64;

use super::{literal, rows, some_rows, source};

const FORMATS: [&str; 4] = ["parquet", "csv", "json", "arrow"];

/// Columns of one row each to come back: literals, separated by `;;`.
const COLUMNS: &[(&str, &str)] = &[
    (
        "integers",
        "1;;-5;;null;;9223372036854775807;;(-9223372036854775807 - 1)",
    ),
    (
        "floats",
        "1.0;;-0.0;;1e300;;(0.0 / 0.0);;(1.0 / 0.0);;(-1.0 / 0.0);;null",
    ),
    ("numbers", "1;;1.0;;null;;2"),
    (
        "texts",
        "'';;'a';;null;;'a,b';;'say \"hi\"';;'line\\nfeed';;' blank \
            ';;'null';;'007';;'it\\'s';;'\\\\';;'1'",
    ),
    ("booleans", "true;;false;;null"),
    ("bytes", "bytes('');;bytes('00ff10');;null"),
    ("dates", "date('2024-02-29');;date('-0044-03-15');;null"),
    ("far dates", "date('+999999999-12-31');;date('2024-01-01')"),
    (
        "times",
        "localtime('10:00');;localtime('23:59:59.999999999');;null",
    ),
    ("zoned times", "time('10:00:00+01:00');;time('10:00:00Z')"),
    (
        "date times",
        "localdatetime('2024-01-01T10:00');;localdatetime('1969-12-31T23:59:59.5');;null",
    ),
    (
        "fine date times",
        "localdatetime('2024-01-01T10:00:00.000000001')",
    ),
    (
        "fine and far",
        "localdatetime('2024-01-01T10:00:00.000000001');;localdatetime('3024-01-01T10:00')",
    ),
    ("far date times", "localdatetime('+999999999-01-01T10:00')"),
    (
        "instants",
        "datetime('2024-01-01T10:00:00Z');;datetime('1900-01-01T10:00:00.25Z');;null",
    ),
    (
        "instants with an offset",
        "datetime('2024-01-01T10:00:00+05:30');;datetime('2025-01-01T10:00:00+05:30')",
    ),
    (
        "instants of a zone",
        "datetime('2024-01-01T10:00:00+01:00[Europe/Berlin]');;datetime('2024-07-01T10:00:00+02:00[Europe/Berlin]')",
    ),
    (
        "instants of zones",
        "datetime('2024-01-01T10:00:00+01:00[Europe/Berlin]');;datetime('2024-07-01T10:00:00Z')",
    ),
    (
        "durations",
        "duration('P1Y2M3DT4H5M6.7S');;duration('PT0S');;duration('P-1D');;null",
    ),
    (
        "points",
        "point({srid: 7203, x: 1.0, y: -2.5});;point({srid: 4979, x: 1.0, y: 2.0, z: 3.0});;null",
    ),
    (
        "vectors",
        "vector([0.1, -2.5], 2, FLOAT32);;null;;vector([1e-45, 3.4028235e38], 2, FLOAT32)",
    ),
    ("small vectors", "vector([-128, 127, 0], 3, INTEGER8);;null"),
    ("short vectors", "null;;vector([-32768], 1, INTEGER16)"),
    ("whole vectors", "vector([-2147483648], 1, INTEGER32)"),
    (
        "large vectors",
        "vector([-9223372036854775808, 9223372036854775807], 2, INTEGER)",
    ),
    ("fine vectors", "vector([0.1, -0.0], 2, FLOAT)"),
    (
        "vectors of dimensions",
        "vector([1], 1, INTEGER);;vector([1, 2], 2, INTEGER)",
    ),
    (
        "lists of vectors",
        "[vector([1], 1, INTEGER8), vector([2], 1, INTEGER8)];;[]",
    ),
    ("lists", "[1, 2];;[];;null;;[null, 3]"),
    ("lists of texts", "['a', 'it\\'s, \"so\"'];;['']"),
    ("empty lists", "[];;[]"),
    ("lists of dates", "[date('2024-01-01')];;[]"),
    ("lists of durations", "[duration('P1D')];;[null]"),
    ("lists of points", "[point({srid: 7203, x: 1.0, y: 2.0})]"),
    ("mixed lists", "[1, 'a', true];;[[1], 2.5]"),
    ("mixed", "1;;'1';;date('2024-01-01');;true;;[1];;null"),
    ("nothing", "null;;null"),
];

fn column(text: &str) -> Vec<Datum> {
    let parts = text.split(";;");
    parts
        .map(|part| graven_files::literal::read(part).expect(part))
        .collect()
}

/// Writes columns and reads them again; the literals of each row.
fn there_and_back(ending: &str, columns: &[(&str, Vec<Datum>)]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("file.{ending}"));
    let name = path.to_str().expect("text");
    let len = columns
        .iter()
        .map(|(_, data)| data.len())
        .max()
        .unwrap_or(0);
    let mut shaped = Vec::new();
    let mut declared = Vec::new();
    for (name, data) in columns {
        let mut shape = Shape::default();
        data.iter().for_each(|datum| shape.see(datum));
        // As the kind is written into a statement and read from it.
        let kind = Kind::parse(&shape.kind().to_string()).expect("a name that is known");
        declared.push(Column {
            name: (*name).to_owned(),
            kind,
            stated: None,
        });
        shaped.push(((*name).to_owned(), shape));
    }
    let file = File::create(&path).expect("made");
    let mut sink = Sink::create(name, file, &Options::default(), shaped).expect("begun");
    let padded = columns.iter().map(|(_, data)| {
        let mut data = data.clone();
        data.resize(len, Datum::NULL);
        Cells::Data(data)
    });
    sink.write(&padded.collect::<Vec<_>>(), len)
        .expect("written");
    assert_eq!(sink.finish().expect("finished"), len as u64);
    let options = Options {
        header: Some(true),
        ..Options::default()
    };
    let (_, rows) = rows(&source(&path), &options, Some(&declared)).expect("read");
    rows.iter()
        .map(|row| row.iter().map(literal).collect())
        .collect()
}

#[test]
fn every_value_comes_back_from_every_format() {
    for ending in FORMATS {
        for (name, text) in COLUMNS {
            let data = column(text);
            let wanted: Vec<Vec<String>> = data.iter().map(|d| vec![literal(d)]).collect();
            assert_eq!(
                there_and_back(ending, &[(name, data)]),
                wanted,
                "{name} in {ending}"
            );
        }
    }
}

#[test]
fn texts_come_back_whatever_quotes_them() {
    let texts = [
        "a,\\", "\\", "\\\"", "\"\\\"", "'", "'a','", "a\\\"b", "", " ", "#!|", "!", "x\r\ny",
        "\\n", "a;b",
    ];
    let mut random = SplitMix64::new(5);
    for round in 0..200 {
        let mut options = Options {
            header: Some(true),
            ..Options::default()
        };
        // The usual quotes are found out again.
        if round % 2 == 1 {
            options.delimiter = Some([',', '|', ';'][random.place(3)]);
            options.quote = [None, Some('\''), Some('#')][random.place(3)];
            options.escape = [None, Some('\\'), Some('!')][random.place(3)];
        }
        let len = 1 + random.place(8);
        let column = |random: &mut SplitMix64| -> Vec<Datum> {
            let pick = (0..len).map(|_| Datum::text(texts[random.place(texts.len())]));
            pick.collect()
        };
        let columns = [column(&mut random), column(&mut random)];
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("texts.csv");
        let name = path.to_str().expect("text");
        let mut shape = Shape::default();
        shape.see(&Datum::text("a"));
        let shaped = vec![("a".to_owned(), shape.clone()), ("b".to_owned(), shape)];
        let file = File::create(&path).expect("made");
        let mut sink = Sink::create(name, file, &options, shaped).expect("begun");
        let cells = columns.clone().map(Cells::Data);
        sink.write(&cells, len).expect("written");
        sink.finish().expect("finished");
        let declared = ["a", "b"].map(|name| Column {
            name: name.to_owned(),
            kind: Kind::String,
            stated: None,
        });
        let (_, read) = rows(&source(&path), &options, Some(&declared)).expect("read");
        let wanted = (0..len).map(|row| vec![columns[0][row].clone(), columns[1][row].clone()]);
        assert_eq!(read, wanted.collect::<Vec<_>>(), "{options:?}");
    }
}

#[test]
fn random_columns_come_back() {
    let mut random = SplitMix64::new(23);
    let mut pick = |count: usize| random.place(count);
    let all: Vec<Datum> = COLUMNS.iter().flat_map(|(_, text)| column(text)).collect();
    for _ in 0..60 {
        let count = 1 + pick(4);
        let names = ["a", "b c", "d,e", "\"f\""];
        let len = 1 + pick(20);
        let columns = (0..count).map(|at| {
            let of_one = COLUMNS[pick(COLUMNS.len())].1;
            let from = match pick(3) {
                0 => all.clone(),
                _ => column(of_one),
            };
            (
                names[at],
                (0..len).map(|_| from[pick(from.len())].clone()).collect(),
            )
        });
        let columns: Vec<(&str, Vec<Datum>)> = columns.collect();
        let row = |row: usize| {
            columns
                .iter()
                .map(|(_, data)| literal(&data[row]))
                .collect()
        };
        let wanted: Vec<Vec<String>> = (0..len).map(row).collect();
        for ending in FORMATS {
            assert_eq!(
                there_and_back(ending, &columns),
                wanted,
                "{ending}: {columns:?}"
            );
        }
    }
}

#[test]
fn row_groups_that_cannot_match_are_passed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.parquet");
    let mut shapes = [Shape::default(), Shape::default()];
    let cells = |from: i64| {
        let numbers = (from..from + 100_000).collect();
        let texts = (from..from + 100_000).map(|i| Datum::text(&format!("{i:07}")));
        [Cells::Integers(numbers), Cells::Data(texts.collect())]
    };
    for (shape, cells) in shapes.iter_mut().zip(cells(0)) {
        shape.see(&cells.get(0));
    }
    let columns = ["a", "b"]
        .map(str::to_owned)
        .into_iter()
        .zip(shapes)
        .collect();
    let file = File::create(&path).expect("made");
    let name = path.to_str().expect("text");
    let mut sink = Sink::create(name, file, &Options::default(), columns).expect("begun");
    for part in 0..5 {
        sink.write(&cells(part * 100_000), 100_000)
            .expect("written");
    }
    sink.finish().expect("finished");
    let (source, options) = (source(&path), Options::default());
    let description =
        graven_files::describe(&source, &super::open, &options, None).expect("described");
    assert_eq!(description.rows, Some(500_000));
    let bounded = |comparison, column: &str, value: Datum| {
        let bound = Bound {
            column: column.to_owned(),
            comparison,
            value,
        };
        let wanted = ["b".to_owned()];
        let (reader, rows) =
            some_rows(&source, &options, &description, &wanted, vec![bound]).expect("read");
        assert!(rows.iter().all(|row| row.len() == 1));
        (reader.groups, rows.len())
    };
    let integer = |i: i64| Datum::Value(graven_types::PropertyValue::Integer(i));
    // Groups of 122,880 rows: five of them.
    assert_eq!(
        bounded(Comparison::Greater, "a", integer(495_000)),
        ((1, 4), 8_480)
    );
    assert_eq!(bounded(Comparison::Equal, "a", integer(7)).0, (1, 4));
    assert_eq!(bounded(Comparison::Less, "a", integer(0)), ((0, 5), 0));
    assert_eq!(
        bounded(Comparison::LessOrEqual, "b", Datum::text("0000000")).0,
        (1, 4)
    );
    // Another kind excludes nothing.
    assert_eq!(bounded(Comparison::Equal, "a", Datum::text("x")).0, (5, 0));
}
