//! Goal: whatever happens to bytes of the file, no wrong record comes back, and a lost durable one
//! is an error. Method: a log of many small records, every byte of its used part flipped in turn;
//! every cut at a sector; regions swapped, lost, doubled.

use std::sync::Arc;

use graven_io::MemoryFile;
use graven_wal::{Durability, Error, Log, Lsn, Record, Recovery};

use crate::{IDENTITY, append, create, memory, options, read_all, start};

/// An image with `records` records of a few hundred bytes, all synced one by one, and where the
/// last frame begins.
fn image(records: u64, bytes: usize) -> (Vec<u8>, Vec<Record>, usize) {
    let file = MemoryFile::new("test-wal");
    let log = create(Arc::new(file.clone()));
    for number in 0..records {
        let end = append(&log, number, bytes + number as usize % 700).unwrap();
        log.wait_committed(end, Durability::Full).unwrap();
    }
    let bytes = file.to_bytes();
    drop(log);
    let all = read_all(&bytes, Lsn(0)).unwrap();
    let last = bytes.windows(4).rposition(|w| w == b"GFRM").unwrap();
    (bytes, all, last)
}

/// No record that was not there, and all of them unless only the last frame is hit.
fn judge(found: graven_wal::Result<Vec<Record>>, all: &[Record], last_hit: bool, at: &str) {
    match found {
        Ok(found) => {
            let least = all.len() - usize::from(last_hit);
            assert!(
                found.len() >= least,
                "{at}: {} of {}",
                found.len(),
                all.len()
            );
            assert_eq!(found, all[..found.len()], "{at}");
        }
        Err(
            Error::Corrupt { .. }
            | Error::NotALog { .. }
            | Error::Foreign { .. }
            | Error::Newer { .. },
        ) => {}
        Err(error) => panic!("{at}: {error}"),
    }
}

#[test]
fn every_flipped_byte_is_detected_or_harmless() {
    let (mut bytes, all, last) = image(12, 300);
    let used = last + 4096;
    for at in 0..used {
        for mask in [1u8, 0x80] {
            bytes[at] ^= mask;
            let found = read_all(&bytes, Lsn(0));
            judge(
                found,
                &all,
                at >= last,
                &format!("byte {at} mask {mask:#x}"),
            );
            bytes[at] ^= mask;
        }
    }
}

/// What lies before the damage can be had, and nothing else.
#[test]
fn records_before_the_damage_come_back() {
    let (mut bytes, all, last) = image(12, 300);
    let mut in_part = 0;
    for at in (0..last).step_by(61) {
        bytes[at] ^= 4;
        let opened = Recovery::open_damaged(memory(&bytes), IDENTITY, start(Lsn(0)));
        bytes[at] ^= 4;
        let Ok((recovery, damage)) = opened else {
            // The header of the file.
            assert!(at < 4096);
            continue;
        };
        let found: Vec<Record> = recovery.map(Result::unwrap).collect();
        assert_eq!(found, all[..found.len()], "byte {at}");
        assert_eq!(damage.is_some(), found.len() < all.len(), "byte {at}");
        in_part += usize::from(damage.is_some() && !found.is_empty());
    }
    assert!(in_part > 20, "{in_part}");
}

#[test]
fn every_cut_of_the_file_is_detected_or_harmless() {
    let (bytes, all, last) = image(12, 300);
    for cut in (0..last + 1024).step_by(256) {
        let found = read_all(&bytes[..cut], Lsn(0));
        // A file without whole regions may be one whose making was interrupted: it has no records.
        if let Ok(found) = &found
            && cut < 4096 + (256 << 10)
        {
            assert!(found.is_empty(), "cut at {cut}");
            continue;
        }
        judge(found, &all, cut <= last + 512, &format!("cut at {cut}"));
    }
}

#[test]
fn lost_zeroed_and_swapped_sectors_are_detected_or_harmless() {
    let (bytes, all, last) = image(40, 300);
    let first = 4096;
    let sectors = (last + 1024 - first) / 512;
    for a in 0..sectors {
        let at = first + a * 512;
        let mut image = bytes.clone();
        image[at..at + 512].fill(0);
        judge(
            read_all(&image, Lsn(0)),
            &all,
            at >= last,
            &format!("zeros at {at}"),
        );
        for b in [0, a / 2, sectors - 1] {
            let other = first + b * 512;
            let mut image = bytes.clone();
            image.copy_within(at..at + 512, other);
            let hit = other >= last;
            let found = read_all(&image, Lsn(0));
            judge(found, &all, hit, &format!("sector {at} over {other}"));
        }
    }
}

#[test]
fn damaged_region_headers_are_detected() {
    let (bytes, all, _) = image(60, 9_000);
    let regions = (bytes.len() - 4096) / (256 << 10);
    assert!(regions >= 4);
    let mut refused = 0;
    for slot in 0..regions {
        let at = 4096 + slot * (256 << 10);
        let mut image = bytes.clone();
        image[at + 40] ^= 4;
        let found = read_all(&image, Lsn(0));
        refused += usize::from(found.is_err());
        judge(found, &all, false, &format!("header of region {slot}"));
    }
    assert!(refused >= 2, "{refused}");
}

#[test]
fn damage_below_the_start_is_harmless() {
    let (mut bytes, all, _) = image(30, 300);
    let from = all[10].start;
    let frames: Vec<_> = (4096..bytes.len())
        .step_by(512)
        .filter(|&at| bytes[at..at + 4] == *b"GFRM")
        .collect();
    for &at in &frames[..10] {
        bytes[at + 50] ^= 1;
        assert_eq!(read_all(&bytes, from).unwrap(), all[10..]);
    }
    bytes[frames[10] + 50] ^= 1;
    assert!(matches!(read_all(&bytes, from), Err(Error::Corrupt { .. })));
}

#[test]
fn a_corrupt_log_is_not_changed() {
    let (mut bytes, ..) = image(12, 300);
    let first = bytes.windows(4).position(|w| w == b"GFRM").unwrap();
    bytes[first + 50] ^= 1;
    let file = MemoryFile::with_bytes("test-wal", &bytes);
    let opened = Log::open(
        Arc::new(file.clone()),
        crate::IDENTITY,
        crate::start(Lsn(0)),
        options(),
    );
    let error = opened.unwrap_err();
    assert!(
        error.to_string().contains(&format!("offset {first}")),
        "{error}"
    );
    assert_eq!(file.to_bytes(), bytes);
}
