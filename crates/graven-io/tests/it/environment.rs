//! Goal: opening says what went wrong, fallbacks are visible, and the kernel's counters move.

use std::io;
use std::path::Path;

use graven_io::{AlignedBuffer, DeviceCounters, IoMode, OpenOptions, device_counters, open, probe};

#[test]
fn a_missing_file_is_named() {
    let error = open("no/such/file.graven", &OpenOptions::default()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().contains("no/such/file.graven"), "{error}");
    let memory = OpenOptions {
        mode: IoMode::Memory,
        create: true,
        ..OpenOptions::default()
    };
    let error = open("memory.graven", &memory).unwrap_err().to_string();
    assert!(error.contains("no memory mode"), "{error}");
    assert!(!Path::new("memory.graven").exists());
}

#[test]
fn a_read_only_file_refuses_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file.graven");
    std::fs::write(&path, [7; 4096]).unwrap();
    let options = OpenOptions {
        read_only: true,
        create: true,
        ..OpenOptions::default()
    };
    let file = open(&path, &options).unwrap();
    let mut buf = AlignedBuffer::zeroed(4096);
    file.read_exact_at(&mut buf, 0).unwrap();
    file.write_all_at(&buf, 0).unwrap_err();
    file.set_len(0).unwrap_err();
    let missing = directory.path().join("missing.graven");
    open(&missing, &options).unwrap_err();
    assert!(!missing.exists(), "a read-only open creates nothing");
}

#[test]
fn direct_falls_back_to_buffered_where_it_is_refused() {
    // Files of /proc refuse O_DIRECT on every kernel.
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = open("/proc/self/status", &options).unwrap();
    assert_eq!((file.mode(), file.alignment()), (IoMode::Buffered, 1));
    let capabilities = probe("/proc/self/status");
    assert_eq!(capabilities.mode, IoMode::Buffered);
    assert!(capabilities.mode_reason.is_some());
}

#[test]
fn capabilities_agree_with_what_opening_gives() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("file.graven");
    let file = open(
        &path,
        &OpenOptions {
            create: true,
            ..OpenOptions::default()
        },
    )
    .unwrap();
    let capabilities = probe(&path);
    assert_eq!(capabilities.mode, file.mode());
    assert_eq!(capabilities.alignment, file.alignment());
    assert_eq!(
        capabilities.mode_reason.is_some(),
        file.mode() == IoMode::Buffered
    );
    assert_eq!(capabilities.queue, file.read_queue(4).unwrap().kind());
}

#[test]
fn direct_reads_reach_the_device() {
    let Ok(before) = device_counters() else {
        eprintln!("SKIPPED: no counters here");
        return;
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("file.graven");
    let file = open(
        &path,
        &OpenOptions {
            create: true,
            ..OpenOptions::default()
        },
    )
    .unwrap();
    if file.mode() != IoMode::Direct {
        eprintln!("SKIPPED: no direct files here");
        return;
    }
    let mut buf = AlignedBuffer::zeroed(1 << 20);
    buf.fill(1);
    file.write_all_at(&buf, 0).unwrap();
    file.sync_data().unwrap();
    file.read_exact_at(&mut buf, 0).unwrap();
    let counted: DeviceCounters = device_counters().unwrap().since(before);
    assert!(counted.read_bytes >= 1 << 20, "{counted:?}");
    assert!(counted.written_bytes >= 1 << 20, "{counted:?}");
}
