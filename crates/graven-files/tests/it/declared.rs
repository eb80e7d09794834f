//! Goal: declared decimals and structs mean the same in every format, and what they cannot hold is
//! an error. Method: files written by hand or by a sink, read with declared kinds.

use std::fs::File;
use std::path::Path;

use graven_files::{Cells, Column, Datum, Kind, Options, Shape, Sink};
use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::{literal, rows, source};

fn declared(kind: &str) -> [Column; 1] {
    [Column {
        name: "a".to_owned(),
        kind: Kind::parse(kind).expect(kind),
        stated: None,
    }]
}

/// The literals of the only column, or what is wrong.
fn read(path: &Path, kind: &str) -> Result<Vec<String>, String> {
    let options = Options {
        header: Some(true),
        ..Options::default()
    };
    let read = rows(&source(path), &options, Some(&declared(kind)));
    let (_, rows) = read.map_err(|error| error.to_string())?;
    Ok(rows.iter().map(|row| literal(&row[0])).collect())
}

/// A file of these values of one column.
fn written(path: &Path, data: Vec<Datum>) {
    let mut shape = Shape::default();
    data.iter().for_each(|datum| shape.see(datum));
    let name = path.to_str().expect("text");
    let file = File::create(path).expect("made");
    let columns = vec![("a".to_owned(), shape)];
    let mut sink = Sink::create(name, file, &Options::default(), columns).expect("begun");
    let len = data.len();
    sink.write(&[Cells::Data(data)], len).expect("written");
    sink.finish().expect("finished");
}

#[test]
fn decimals_are_read_as_digits() {
    let folder = tempfile::tempdir().expect("a folder");
    let (csv, json) = (folder.path().join("x.csv"), folder.path().join("x.json"));
    for (text, kind, wanted) in [
        ("1.005", "DECIMAL(5, 2)", Some("1.01")),
        ("-2.675", "DECIMAL(5, 2)", Some("-2.68")),
        ("7", "DECIMAL(5, 2)", Some("7.0")),
        ("1e2", "DECIMAL(5, 2)", Some("100.0")),
        ("999.995", "DECIMAL(5, 2)", None),
        ("12345678901234567.89", "DECIMAL(20, 2)", None),
        ("0.12345678901234567890", "DECIMAL(38, 20)", None),
        ("1.0000000000000000000000", "DECIMAL(38, 30)", Some("1.0")),
    ] {
        std::fs::write(&csv, format!("a\n{text}\n")).expect("written");
        std::fs::write(&json, format!("{{\"a\": {text}}}")).expect("written");
        for path in [&csv, &json] {
            let found = read(path, kind);
            match wanted {
                Some(wanted) => assert_eq!(found, Ok(vec![wanted.to_owned()]), "{text}"),
                None => {
                    let error = found.expect_err(text);
                    assert!(
                        error.contains(text) && error.contains("column a"),
                        "{error}"
                    );
                }
            }
        }
    }
    std::fs::write(&json, r#"{"a": [{"b": 1.005}, {"b": null}]}"#).expect("written");
    let found = read(&json, "STRUCT(b DECIMAL(5, 2))[]");
    assert_eq!(found, Ok(vec!["[{b: 1.01}, {b: null}]".to_owned()]));
    std::fs::write(&json, r#"{"a": [{"b": 12345678901234567.89}]}"#).expect("written");
    assert!(read(&json, "STRUCT(b DECIMAL(20, 2))[]").is_err());
    // A column of floats is one of decimals by what is written for its floats.
    for ending in ["parquet", "arrow"] {
        let path = folder.path().join(format!("x.{ending}"));
        written(&path, [1.005, 0.3].map(|x| Datum::Value(x.into())).to_vec());
        let found = read(&path, "DECIMAL(5, 2)");
        assert_eq!(found, Ok(vec!["1.01".to_owned(), "0.3".to_owned()]));
    }
}

#[test]
fn whole_numbers_of_json_keep_their_digits() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.json");
    for (text, kind, wanted) in [
        ("9223372036854775807", "ANY", Some("9223372036854775807")),
        ("9223372036854775808", "ANY", None),
        ("18446744073709551617", "ANY", None),
        ("18446744073709551617", "FLOAT", None),
        ("-9223372036854775809", "INTEGER", None),
        ("100000000000000000000", "FLOAT", Some("1e20")),
        ("1e20", "ANY", Some("1e20")),
        (
            "[100000000000000000000]",
            "VECTOR<FLOAT64>(1)",
            Some("vector([1e20], 1, FLOAT)"),
        ),
        ("-0", "ANY", Some("-0.0")),
    ] {
        std::fs::write(&path, format!("{{\"a\": {text}}}")).expect("written");
        let found = read(&path, kind);
        match wanted {
            Some(wanted) => assert_eq!(found, Ok(vec![wanted.to_owned()]), "{text} {kind}"),
            None => {
                let error = found.expect_err(text);
                let told = error.contains(text) && error.contains("64-bit integer");
                assert!(told, "{error}");
            }
        }
    }
}

/// Times of 96 bits beyond what nanoseconds reach, as Spark writes them.
#[test]
fn old_times_of_spark_reach_all_days() {
    let wanted = [
        "localdatetime('1970-01-01T00:00:00.0015')",
        "localdatetime('9999-12-31T00:00')",
        "localdatetime('0001-01-01T00:00:00.000001')",
    ];
    let alone = "message m { optional int96 a; }";
    assert_eq!(
        old_times(alone, "TIMESTAMP", &[1, 1, 1]),
        Ok(wanted.map(str::to_owned).to_vec())
    );
    let within = "message m { optional group a { optional int96 t; } }";
    assert_eq!(
        old_times(within, "STRUCT(t TIMESTAMP)", &[2, 2, 2]),
        Ok(wanted.map(|time| format!("{{t: {time}}}")).to_vec())
    );
}

/// Three times at these levels, read from a file of that schema, which has one leaf.
fn old_times(schema: &str, kind: &str, levels: &[i16]) -> Result<Vec<String>, String> {
    /// 1970-01-01 as the day that such times count.
    const BEGIN: u32 = 2_440_588;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.parquet");
    let schema = parse_message_type(schema).expect("a schema");
    let notes = vec![KeyValue::new(
        "org.apache.spark.version".to_owned(),
        "3.5".to_owned(),
    )];
    let properties = WriterProperties::builder().set_key_value_metadata(Some(notes));
    let file = File::create(&path).expect("made");
    let mut writer =
        SerializedFileWriter::new(file, schema.into(), properties.build().into()).expect("begun");
    let mut group = writer.next_row_group().expect("a group");
    let mut column = group.next_column().expect("a column").expect("one");
    let times = [
        (BEGIN, 1_500_000_u32),
        (BEGIN + 2_932_896, 0),
        (BEGIN - 719_162, 1_000),
    ];
    let times = times.map(|(day, nanos)| Int96::from(vec![nanos, 0, day]));
    let typed = column.typed::<Int96Type>();
    typed
        .write_batch(&times, Some(levels), None)
        .expect("written");
    column.close().expect("closed");
    group.close().expect("closed");
    writer.close().expect("closed");
    read(&path, kind)
}

#[test]
fn structs_have_their_fields_in_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let map = |text: &str| graven_files::literal::read(text).expect(text);
    for ending in ["csv", "json", "parquet", "arrow"] {
        let path = folder.path().join(format!("x.{ending}"));
        let data = ["{p: 1, q: {r: 'x'}}", "{p: 2, q: {r: 'y'}}"].map(map);
        written(&path, data.to_vec());
        let wider = "STRUCT(s DATE, q STRUCT(r STRING, t INT64), p INT64)";
        let wanted = [
            "{s: null, q: {r: 'x', t: null}, p: 1}",
            "{s: null, q: {r: 'y', t: null}, p: 2}",
        ];
        assert_eq!(
            read(&path, wider),
            Ok(wanted.map(str::to_owned).to_vec()),
            "{ending}"
        );
        for (narrower, field) in [
            ("STRUCT(p INT64)", "column a: '{"),
            ("STRUCT(p INT64)", "has the field q, which neither"),
            (
                "STRUCT(p INT64, q STRUCT(t INT64))",
                "has the field q, which has the field r, which neither",
            ),
        ] {
            let error = read(&path, narrower).expect_err(ending);
            let place =
                error.contains("line 1") || error.contains("line 2") || error.contains("row 1");
            assert!(error.contains(field) && place, "{ending}: {error}");
        }
    }
}

#[test]
fn long_texts_are_written_without_copies_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.parquet");
    let long = Datum::text(&"long".repeat(100_000));
    let columns = |text: &Datum| {
        let mut shape = Shape::default();
        shape.see(text);
        vec![("a".to_owned(), shape)]
    };
    for (text, has_statistics) in [(&long, false), (&Datum::text("short"), true)] {
        let file = File::create(&path).expect("made");
        let options = Options::default().written_within(1 << 20);
        let mut sink = Sink::create("x.parquet", file, &options, columns(text)).expect("begun");
        for _ in 0..10 {
            sink.write(&[Cells::Data(vec![text.clone()])], 1)
                .expect("written");
            assert!(sink.held() <= (1 << 20) / 8, "{}", sink.held());
        }
        sink.finish().expect("finished");
        let wanted = vec![literal(text); 10];
        assert_eq!(read(&path, "STRING"), Ok(wanted));
        let file = SerializedFileReader::new(File::open(&path).expect("there")).expect("read");
        let column = file.metadata().row_group(0).column(0);
        assert_eq!(column.statistics().is_some(), has_statistics);
        assert_eq!(column.dictionary_page_offset().is_some(), has_statistics);
    }
}
