//! Goal: the conformance kit passes on every backend, in every mode and with every queue.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use graven_io::{
    FaultPlan, FaultyFile, File, IoMode, MemoryFile, OpenOptions, QueueChoice, QueueKind,
    conformance, open,
};

fn os_file(directory: &Path, mode: IoMode, queue: QueueChoice) -> Arc<dyn File> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let path = directory.join(format!("{}.graven", NEXT.fetch_add(1, Ordering::Relaxed)));
    open(
        path,
        &OpenOptions {
            mode,
            queue,
            create: true,
            read_only: false,
            ..OpenOptions::default()
        },
    )
    .unwrap()
}

/// Runs the kit on operating system files; says loudly what the machine does not allow.
fn check_os(mode: IoMode, queue: QueueChoice, kind: QueueKind) {
    // Beside the crate rather than in the temporary directory, which may be a memory file system.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = os_file(directory.path(), mode, queue);
    if file.mode() != mode {
        eprintln!("SKIPPED: {mode} files are not allowed here");
        return;
    }
    match file.read_queue(8) {
        Ok(made) => assert_eq!(made.kind(), kind),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    }
    conformance::check(&|| os_file(directory.path(), mode, queue)).unwrap();
}

#[test]
fn direct_with_uring() {
    check_os(IoMode::Direct, QueueChoice::Uring, QueueKind::Uring);
}

#[test]
fn direct_with_pread_pool() {
    check_os(IoMode::Direct, QueueChoice::PreadPool, QueueKind::PreadPool);
}

#[test]
fn buffered_with_uring() {
    check_os(IoMode::Buffered, QueueChoice::Uring, QueueKind::Uring);
}

#[test]
fn buffered_with_pread_pool() {
    check_os(
        IoMode::Buffered,
        QueueChoice::PreadPool,
        QueueKind::PreadPool,
    );
}

#[test]
fn memory() {
    conformance::check(&|| Arc::new(MemoryFile::new("memory.graven"))).unwrap();
}

#[test]
fn faulty_without_faults() {
    conformance::check(&|| {
        let inner = Arc::new(MemoryFile::new("faulty.graven"));
        Arc::new(FaultyFile::new(inner, FaultPlan::default()))
    })
    .unwrap();
}

#[test]
fn faulty_in_disorder() {
    conformance::check(&|| {
        let inner = Arc::new(MemoryFile::new("faulty.graven"));
        let latency = Duration::from_nanos(100);
        let plan = FaultPlan {
            seed: 1,
            latency,
            disordered_reads: true,
            ..FaultPlan::default()
        };
        Arc::new(FaultyFile::new(inner, plan))
    })
    .unwrap();
}
