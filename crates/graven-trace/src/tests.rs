//! Goal: what is written is read back, other formats are understood, damaged files are errors with
//! advice.

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
        ..Trace::default()
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
    let fresh = folder.path().join("plain.u64.zst");
    for path in [fresh, path] {
        raw::write(&path, &plain).unwrap();
        assert_eq!(
            read(&path).unwrap(),
            plain,
            "flags of an earlier trace under that name do not stay"
        );
    }
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
    let two = write("two.csv", "1,2\n3,4\n");
    assert!(message(&two, None).contains("which column"));
    assert_eq!(csv::read(&two, Some("2")).unwrap().pages, [2, 4]);
    assert_eq!(csv::read(&many, Some("1")).unwrap().pages, [1, 2]);
    for none in ["0", "3"] {
        assert!(message(&two, Some(none)).contains("no column"));
    }
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
    let message = |name: &str, bytes: Option<&[u8]>| {
        let path = folder.path().join(name);
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).unwrap();
        }
        read(&path).unwrap_err().to_string()
    };
    assert!(message("x.parquet", Some(b"PAR1")).contains("unknown trace format"));
    for missing in ["none.u64", "none.csv", "none.parquet", "none"] {
        let message = message(missing, None);
        assert!(message.contains("opening failed"), "{message}");
    }
    assert!(message("latin.csv", Some(b"1\n2\n\xe4\n")).contains("line 3: this is no text"));
    assert!(message("empty.gtrace", Some(b"")).contains("the header is cut off"));
}

/// Goal: one pass over a compressed trace gives what reading it piece by piece gives, whatever the
/// file is made of, and leaves to that what is not whole.
#[test]
fn one_pass_reads_what_pieces_read() {
    let folder = folder();
    let path = folder.path().join("t.u64.zst");
    let content: Vec<u8> = sample()
        .pages
        .iter()
        .flat_map(|p| p.to_le_bytes())
        .collect();
    let frame = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    let (first, second) = content.split_at(100_004);
    let frames = [frame(first), frame(&[]), frame(second)].concat();
    for (packed, expected) in [
        (frame(&content), sample().pages),
        (frames, sample().pages),
        (frame(&[0; 1 << 20]), vec![0; 1 << 17]),
        (frame(&[]), Vec::new()),
    ] {
        std::fs::write(&path, packed).unwrap();
        assert!(one_pass::numbers(&path).unwrap() == expected);
        let mut pieces = Vec::new();
        stream(&path, &ReadOptions::default(), &mut |page| {
            pieces.push(page)
        })
        .unwrap();
        assert!(pieces == expected);
    }
    let whole = frame(&content);
    for (packed, message) in [
        (frame(&content[..100_004]), "4 of 8 bytes"),
        (whole[..whole.len() - 1].to_vec(), "reading failed"),
        (b"no frame".to_vec(), "reading failed"),
    ] {
        std::fs::write(&path, packed).unwrap();
        assert!(one_pass::numbers(&path).is_none());
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
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

/// Goal: requests of block traces become the pages they touch, in order, with writes marked.
#[test]
fn block_traces_become_pages() {
    let folder = folder();
    let write = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let lines = "  8,0    1        1     0.000000000  4162  Q   R 15 + 2 [fio]\n\
                 \x20 8,0    1        2     0.000000100  4162  C   R 15 + 2 [0]\n\
                 \x20 8,16   1        3     0.000000200  4162  Q  WS 32 + 16 [fio]\n\
                 CPU0 (sda):\n Reads Queued:           1,        1KiB\n";
    let trace = read(&write("disk.blkparse", lines)).unwrap();
    assert_eq!(trace.pages, [0, 1, 1 << 48 | 2]);
    assert_eq!(trace.flags, Some(vec![0, 0, FLAG_WRITE]));
    assert_eq!(trace.files[1].name, "8,16");
    let small = ReadOptions {
        page_bytes: 512,
        ..ReadOptions::default()
    };
    let path = folder.path().join("disk.blkparse");
    assert_eq!(read_with(&path, &small).unwrap().pages[..2], [15, 16]);
    let bad = write("bad.blkparse", "8,0 1 1 0.0 1 Q R x + 8 [a]\n");
    assert!(
        read(&bad)
            .unwrap_err()
            .to_string()
            .contains("line 1: \"x\"")
    );

    let rows = "128166372003061629,hm,1,Read,383496192,32768,413\n\
                128166372016382155,hm,1,Write,2822144000,4096,1\n";
    let trace = read(&write("hm_1.csv", rows)).unwrap();
    // The read starts in the middle of a page, so it touches five.
    assert_eq!(trace.pages.len(), 6);
    assert_eq!(
        trace.pages[..2],
        [383_496_192 / 8192, 383_496_192 / 8192 + 1]
    );
    assert_eq!(trace.writes(), Some(1));
    let hosts = write(
        "hosts.msr.csv",
        "1,hm,0,Read,0,1,5\n1,usr,0,Read,0,1,5\n1,hm,0,Read,0,1,5\n",
    );
    let trace = read(&hosts).unwrap();
    assert_eq!(
        trace.pages,
        [0, 1 << 48, 0],
        "disk 0 of two hosts is two disks"
    );
    assert_eq!(trace.files[1].name, "usr_0");
    let bad = write("b.msr.csv", "1,hm,1,Trim,0,4096,1\n");
    assert!(
        read(&bad)
            .unwrap_err()
            .to_string()
            .contains("neither Read nor Write")
    );
}

/// Goal: accesses to RocksDB's block cache keep block type, iterator and get.
#[test]
fn rocksdb_rows_are_read() {
    let folder = folder();
    let path = folder.path().join("cache.csv");
    let rows = "1570000000,42,9,4096,0,default,6,17,1,0,7,1,0,0,1\n\
                1570000001,43,7,4096,0,default,6,17,3,0,0,0,0,0,1\n";
    std::fs::write(&path, rows).unwrap();
    let trace = read(&path).unwrap();
    assert_eq!(trace.pages, [42, 43]);
    assert_eq!(trace.flags, Some(vec![0, FLAG_SCAN]));
    let details = trace.details.unwrap();
    assert_eq!(
        (details[0].query, details[0].kind, details[1].kind),
        (7, 3, 1)
    );
    assert_eq!(trace.kinds[3], "data");
    std::fs::write(&path, "1,2,3,4,5,default,6,17,1,0,7\n1,x,9,1\n").unwrap();
    assert!(
        read(&path)
            .unwrap_err()
            .to_string()
            .contains("line 2: expected at least 10 cells")
    );
}

/// Goal: Graven's records come back with header and details, plain and compressed, and damage is
/// named.
#[test]
fn graven_records_come_back() {
    let folder = folder();
    let header = crate::Header {
        page_bytes: 4096,
        sampling: 8,
        kinds: vec!["adjacency".into(), "column".into()],
        files: vec![FileRow {
            id: 3,
            name: "social.graven".into(),
        }],
    };
    let accesses: Vec<Access> = (0..10_000u32)
        .map(|i| Access {
            page: 3 << 48 | u64::from(i % 77),
            query: i / 100,
            thread: (i % 4) as u16,
            kind: (i % 2) as u8,
            flags: (i % 16) as u8,
        })
        .collect();
    for name in ["a.gtrace", "a.gtrace.zst"] {
        let path = folder.path().join(name);
        let mut writer = graven::Writer::create(&path, &header).unwrap();
        accesses
            .iter()
            .for_each(|access| writer.push(access).unwrap());
        assert_eq!(writer.finish().unwrap(), 10_000);
        let mut back = Vec::new();
        assert_eq!(
            graven::read(&path, &mut |access| back.push(access)).unwrap(),
            header
        );
        assert_eq!(back, accesses);
        let trace = read(&path).unwrap();
        assert_eq!(
            (trace.sampling, trace.kinds.len(), trace.pages.len()),
            (8, 2, 10_000)
        );
        let mut streamed = 0;
        stream(&path, &ReadOptions::default(), &mut |_| streamed += 1).unwrap();
        assert_eq!(streamed, 10_000);
        assert_eq!(name_of(&path), "a");
    }
    let path = folder.path().join("a.gtrace");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 2;
    bytes[last] = 9;
    std::fs::write(&path, &bytes).unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("kind 9"));
    bytes[8] = 2;
    std::fs::write(&path, &bytes).unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("version 2"));
    std::fs::write(&path, &bytes[..20]).unwrap();
    assert!(
        read(&path)
            .unwrap_err()
            .to_string()
            .contains("the header is cut off")
    );
    assert!("parquet".parse::<Format>().unwrap_err().contains("gtrace"));
    assert_eq!("MSR".parse(), Ok(Format::Msr));
}

/// Goal: a text trace holds what the binary one does, compressed or not; its page column is read by
/// readers of tables; and lines that are no accesses are errors that name them.
#[test]
fn text_traces_equal_binary_ones() {
    let folder = tempfile::tempdir().unwrap();
    let header = crate::Header {
        page_bytes: 8192,
        sampling: 4,
        kinds: vec!["unknown".into(), "node columns".into()],
        files: vec![FileRow {
            id: 3,
            name: "the store".into(),
        }],
    };
    let accesses: Vec<Access> = (0..300u64)
        .map(|at| Access {
            page: (3 << 48) | (at * 7 % 41),
            query: at as u32 / 9,
            thread: at as u16 % 3,
            kind: at as u8 % 2,
            flags: at as u8 % 16,
        })
        .collect();
    let written = |name: &str| {
        let path = folder.path().join(name);
        let mut writer = graven::Writer::create(&path, &header).unwrap();
        accesses
            .iter()
            .for_each(|access| writer.push(access).unwrap());
        assert_eq!(writer.finish().unwrap(), 300);
        (read(&path).unwrap(), path)
    };
    let (binary, _) = written("a.gtrace");
    for name in ["a.gtrace.csv", "a.gtrace.csv.zst"] {
        let (text, path) = written(name);
        assert_eq!(text, binary, "{name}");
        assert_eq!(name_of(&path), "a");
        assert_eq!(csv::read(&path, Some("page")).unwrap().pages, binary.pages);
    }
    for (bad, reason) in [
        ("page,query\n1,2\n", "starts with"),
        ("# graven trace 2\n", "not `trace 1`"),
        (
            "# graven trace 1\npage,query,thread,kind,flags\n1,2,3,0,x\n",
            "is no flag",
        ),
        (
            "# graven trace 1\npage,query,thread,kind,flags\n1,2,3,7,-\n",
            "kind 7",
        ),
        (
            "# graven trace 1\npage,query,thread,kind,flags\n1,2,3\n",
            "3 cells",
        ),
        ("# graven trace 1\n", "no columns"),
    ] {
        let path = folder.path().join("bad.gtrace.csv");
        std::fs::write(&path, bad).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
