//! Goal: what is written is read back, other formats are understood, damaged files are errors with advice.

use std::path::PathBuf;

use super::*;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn sample() -> Trace {
    let pages: Vec<u64> = (0..20_000u64)
        .map(|i| ((i % 7) << 48) | (i * i % 1_009))
        .collect();
    let flags = pages.iter().map(|page| (page % 4) as u8).collect();
    let files = (0..7)
        .map(|id| FileRow {
            id,
            name: format!("store {id}"),
        })
        .collect();
    Trace {
        pages,
        flags: Some(flags),
        files,
    }
}

#[test]
fn written_trace_reads_back_with_its_companions() {
    let folder = folder();
    let path = folder.path().join("sample.u64.zst");
    raw::write(&path, &sample()).unwrap();
    assert_eq!(read(&path).unwrap(), sample());
    assert_eq!(name_of(&path), "sample");
    let plain = Trace {
        flags: None,
        files: Vec::new(),
        ..sample()
    };
    let path = folder.path().join("plain.u64.zst");
    raw::write(&path, &plain).unwrap();
    assert_eq!(read(&path).unwrap(), plain);
}

#[test]
fn uncompressed_numbers_and_oracle_records_are_read() {
    let folder = folder();
    let path = folder.path().join("a.u64");
    let bytes: Vec<u8> = [3u64, 1, 1 << 60]
        .iter()
        .flat_map(|page| page.to_le_bytes())
        .collect();
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path).unwrap().pages, [3, 1, 1 << 60]);
    let path = folder.path().join("b.oracleGeneral.bin");
    let mut bytes = Vec::new();
    for page in [9u64, u64::MAX] {
        bytes.extend(7u32.to_le_bytes());
        bytes.extend(page.to_le_bytes());
        bytes.extend(4096u32.to_le_bytes());
        bytes.extend((-1i64).to_le_bytes());
    }
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path).unwrap().pages, [9, u64::MAX]);
    assert_eq!(name_of(&path), "b");
}

#[test]
fn text_traces_find_their_column() {
    let folder = folder();
    let write = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let one = write("one.csv", "# pages\n5\n0x10\n\n7\n");
    assert_eq!(read(&one).unwrap().pages, [5, 16, 7]);
    let many = write("many.tsv", "time\tLBN\tsize\n1\t42\t8\n2\t43\t8\n");
    assert_eq!(read(&many).unwrap().pages, [42, 43]);
    assert_eq!(csv::read(&many, Some("size")).unwrap().pages, [8, 8]);
    let message = |path: &PathBuf, column| csv::read(path, column).unwrap_err().to_string();
    assert!(message(&many, Some("page")).contains("no column \"page\""));
    assert!(message(&write("two.csv", "1,2\n"), None).contains("which column"));
    assert!(message(&write("bad.csv", "page\n1\nx\n"), None).contains("line 3: \"x\" is no page"));
}

#[test]
fn damaged_files_are_errors() {
    let folder = folder();
    let cut = folder.path().join("cut.u64");
    std::fs::write(&cut, [0; 12]).unwrap();
    assert!(read(&cut).unwrap_err().to_string().contains("4 of 8 bytes"));
    let path = folder.path().join("t.u64.zst");
    raw::write(&path, &sample()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(read(&path), Err(TraceError::Io { .. })));
    std::fs::write(&path, &whole).unwrap();
    raw::write(
        &folder.path().join("u.u64.zst"),
        &Trace {
            pages: vec![1],
            ..sample()
        },
    )
    .unwrap_err();
    std::fs::copy(
        folder.path().join("t.flags.u8.zst"),
        folder.path().join("v.flags.u8.zst"),
    )
    .unwrap();
    let path = folder.path().join("v.u64");
    std::fs::write(&path, [0; 8]).unwrap();
    assert!(
        read(&path)
            .unwrap_err()
            .to_string()
            .contains("20000 flags for 1 accesses")
    );
    assert!(
        read(Path::new("x.parquet"))
            .unwrap_err()
            .to_string()
            .contains("unknown trace format")
    );
    assert!(
        read(&folder.path().join("none.u64"))
            .unwrap_err()
            .to_string()
            .contains("opening failed")
    );
}

/// Goal: the shared recording with companions is read whole.
#[test]
fn shared_recording_has_flags_and_files() {
    let shared = std::env::var_os("GRAVEN_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = shared.join("traces/neo4j-snb-mix.u64.zst");
    if !path.exists() {
        eprintln!("SKIPPED: no {}", path.display());
        return;
    }
    let trace = read(&path).unwrap();
    assert_eq!(trace.pages.len(), 6_000_000);
    assert_eq!(trace.writes(), Some(8_223));
    assert!(!trace.files.is_empty());
    assert_eq!(dense::map(&trace.pages).unique, 10_018);
}

#[test]
fn dense_pages_are_numbered_by_appearance() {
    assert_eq!(
        dense::map(&[7, 0, 7, u64::MAX, 0]),
        dense::Dense {
            pages: vec![0, 1, 0, 2, 1],
            unique: 3
        }
    );
    let many: Vec<u64> = (0..5_000).map(|i| i << 20).collect();
    let dense = dense::map(&many);
    assert_eq!((dense.unique, dense.pages[4_999]), (5_000, 4_999));
}
