//! Goal: what the log promises, seen from outside: records come back, damage is told from a torn
//! tail, nothing acknowledged is lost in a crash, failures are final.

mod crash;
mod damage;
mod failure;
mod round_trip;
mod threads;

use std::sync::Arc;

use graven_io::{File, MemoryFile};
use graven_wal::{Identity, Kind, Log, LogOptions, Lsn, Record, RecordRef, Recovery, Start};

pub(crate) const IDENTITY: Identity = Identity {
    uuid: *b"0123456789abcdef",
    generation: 7,
};

/// Small regions and no thread: every run does the same.
pub(crate) fn options() -> LogOptions {
    LogOptions {
        region_bytes: 256 << 10,
        background: false,
        ..LogOptions::default()
    }
}

pub(crate) fn create(file: Arc<dyn File>) -> Log {
    Log::create(file, IDENTITY, options()).unwrap()
}

/// A payload that tells its number and fills `bytes`.
pub(crate) fn payload(number: u64, bytes: usize) -> Vec<u8> {
    let mut payload = vec![number as u8 ^ 0x5a; bytes];
    let head = number.to_le_bytes();
    let count = bytes.min(8);
    payload[..count].copy_from_slice(&head[..count]);
    payload
}

pub(crate) fn append(log: &Log, number: u64, bytes: usize) -> graven_wal::Result<Lsn> {
    log.append(&[RecordRef {
        kind: Kind::Commit,
        transaction: number,
        payload: &payload(number, bytes),
    }])
}

pub(crate) fn memory(bytes: &[u8]) -> Arc<dyn File> {
    Arc::new(MemoryFile::with_bytes("test-wal", bytes))
}

pub(crate) fn start(from: Lsn) -> Start {
    Start {
        from,
        clean_end: None,
    }
}

/// All records of a log image from `from` on.
pub(crate) fn read_all(bytes: &[u8], from: Lsn) -> graven_wal::Result<Vec<Record>> {
    Recovery::open(memory(bytes), IDENTITY, start(from))?.collect()
}
