// Goal: rows and fields come out the same whatever the block borders, quoting and line ends.
use std::io::Write;

use super::*;

fn read(text: &[u8], cut: Cut) -> Result<Vec<(u64, Vec<String>)>, ImportError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    let file = TableFile::Path(path.clone());
    let open = || Rows::open(&file, cut, &ByteCount::default(), 2);
    let out = all(&mut open()?)?;
    let (mut whole, mut in_blocks) = (open()?, Vec::new());
    while let Some(block) = whole.take_block()? {
        let mut rows = Rows::none(&path, cut);
        rows.read_block(block);
        in_blocks.extend(all(&mut rows)?);
    }
    assert!(in_blocks == out, "blocks have other rows");
    Ok(out)
}

fn all(rows: &mut Rows) -> Result<Vec<(u64, Vec<String>)>, ImportError> {
    let mut out = Vec::new();
    while rows.next()? {
        let fields = (0..rows.len()).map(|i| String::from_utf8_lossy(rows.field(i)).into_owned());
        out.push((rows.row_line(), fields.collect()));
    }
    Ok(out)
}

const PIPE: Cut = Cut {
    delimiter: b'|',
    quote: None,
};
const COMMA: Cut = Cut {
    delimiter: b',',
    quote: Some(b'"'),
};

#[test]
fn plain_rows_keep_lines_and_empty_fields() {
    let rows = read(b"\xef\xbb\xbfa|b|c\r\n\n1||\n|x|\"", PIPE).unwrap();
    assert_eq!(rows[0], (1, vec!["a".into(), "b".into(), "c".into()]));
    assert_eq!(rows[1], (3, vec!["1".into(), String::new(), String::new()]));
    assert_eq!(rows[2], (4, vec![String::new(), "x".into(), "\"".into()]));
}

#[test]
fn quoted_rows_span_lines_and_unescape() {
    let rows = read(
        b"a,\"b \"\"q\"\"\",c\n1,\"two\nlines\",\n\"\",\"x,y\",z\n",
        COMMA,
    )
    .unwrap();
    assert_eq!(rows[0].1, ["a", "b \"q\"", "c"]);
    assert_eq!(
        rows[1],
        (2, vec!["1".into(), "two\nlines".into(), String::new()])
    );
    assert_eq!(rows[2], (4, vec![String::new(), "x,y".into(), "z".into()]));
}

#[test]
fn a_quote_inside_a_field_is_text() {
    let rows = read(b"5\" disk,b\n", COMMA).unwrap();
    assert_eq!(rows[0].1, ["5\" disk", "b"]);
}

#[test]
fn text_behind_a_closing_quote_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, "x,\"y\" z\n\"a\",\"b\"\n\"a\"b,\"c\"d\n").unwrap();
    let mut rows = Rows::open(
        &TableFile::Path(path.clone()),
        COMMA,
        &ByteCount::default(),
        1,
    )
    .unwrap();
    for stray in [Some(1), None, Some(0)] {
        assert!(rows.next().unwrap());
        assert_eq!(rows.stray(), stray);
    }
}

#[test]
fn an_open_quote_is_an_error_with_its_line() {
    let error = read(b"a,b\n1,\"never closed\n2,3\n", COMMA)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("line 2") && error.contains("quote"),
        "{error}"
    );
}

#[test]
fn rows_cross_block_borders_and_compression() {
    let mut text = Vec::new();
    for i in 0..60_000 {
        writeln!(text, "{i}|\"v{i}\"|{}", i % 7).unwrap();
    }
    let plain = read(&text, PIPE).unwrap();
    assert_eq!(plain.len(), 60_000);
    assert_eq!(plain[59_999].1[1], "\"v59999\"");
    let zstd = zstd::encode_all(&text[..], 1).unwrap();
    assert_eq!(read(&zstd, PIPE).unwrap(), plain);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&text).unwrap();
    assert_eq!(read(&gzip.finish().unwrap(), PIPE).unwrap(), plain);
    let quoted = read(
        &text,
        Cut {
            delimiter: b'|',
            quote: Some(b'"'),
        },
    )
    .unwrap();
    assert_eq!(quoted[59_999].1[1], "v59999");
}

#[test]
fn a_truncated_archive_is_an_error() {
    let zstd = zstd::encode_all(&b"a|b\n1|2\n".repeat(10_000)[..], 1).unwrap();
    assert!(read(&zstd[..zstd.len() / 2], PIPE).is_err());
}

#[test]
fn the_delimiter_is_guessed_from_the_header() {
    assert_eq!(guess_delimiter("id:ID|name|x"), b'|');
    assert_eq!(guess_delimiter("id:ID,name"), b',');
    assert_eq!(guess_delimiter("id"), b',');
    assert_eq!(guess_delimiter("a\tb\tc"), b'\t');
}
