//! Goal: every fault strikes as planned, equal seeds give equal faults, and crash images keep what
//! was synced and mix what was not.

use std::sync::Arc;

use super::*;
use crate::MemoryFile;

fn faulty(plan: FaultPlan) -> FaultyFile {
    let inner = MemoryFile::with_bytes("faulty.graven", &[1; 8192]);
    FaultyFile::new(Arc::new(inner), plan)
}

fn image(file: &FaultyFile, survival: CrashOutcome, seed: u64) -> Vec<u8> {
    file.control()
        .crash_image(Crash { seed, survival })
        .unwrap()
}

#[test]
fn armed_faults_strike_once_at_their_turn() {
    let file = faulty(FaultPlan::default());
    let control = file.control();
    let mut buf = [0; 512];
    control.arm(Fault::ReadError, 1);
    file.read_exact_at(&mut buf, 0).unwrap();
    let error = file.read_exact_at(&mut buf, 512).unwrap_err();
    assert!(error.to_string().contains("offset 512"), "{error}");
    file.read_exact_at(&mut buf, 0).unwrap();

    control.arm(Fault::ShortRead, 0);
    assert!(matches!(
        file.read_exact_at(&mut buf, 0),
        Err(Error::ShortRead { wanted: 512, .. })
    ));

    control.arm(Fault::BitFlip, 0);
    file.read_exact_at(&mut buf, 0).unwrap();
    let flipped: u32 = buf.iter().map(|byte| (byte ^ 1).count_ones()).sum();
    assert_eq!(flipped, 1);
    assert_eq!(control.counts().injected, 3);
}

#[test]
fn writes_are_lost_torn_and_misdirected() {
    let file = faulty(FaultPlan::default());
    let control = file.control();
    let mut now = vec![0; 8192];

    control.arm(Fault::LostWrite, 0);
    file.write_all_at(&[2; 4096], 0).unwrap();
    file.read_exact_at(&mut now, 0).unwrap();
    assert_eq!(now, vec![1; 8192]);

    control.arm(Fault::TornWrite, 0);
    file.write_all_at(&[3; 4096], 0).unwrap();
    file.read_exact_at(&mut now, 0).unwrap();
    let written = now.iter().filter(|&&byte| byte == 3).count();
    assert!(written < 4096 && written.is_multiple_of(512));

    let file = faulty(FaultPlan {
        seed: 5,
        ..FaultPlan::default()
    });
    file.control().arm(Fault::MisdirectedWrite, 0);
    file.write_all_at(&[4; 1024], 0).unwrap();
    file.read_exact_at(&mut now, 0).unwrap();
    assert_eq!(now[..1024], [1; 1024]);
    assert_eq!(now.iter().filter(|&&byte| byte == 4).count(), 1024);
}

#[test]
fn the_disk_fills_up() {
    let file = faulty(FaultPlan {
        capacity_bytes: Some(9216),
        ..FaultPlan::default()
    });
    let error = file.write_all_at(&[7; 4096], 8192).unwrap_err();
    assert!(error.is_storage_full(), "{error}");
    assert_eq!(file.len().unwrap(), 9216);
    assert!(file.set_len(10_000).unwrap_err().is_storage_full());
    assert!(file.allocate(0, 10_000).unwrap_err().is_storage_full());
    file.write_all_at(&[7; 512], 0).unwrap();
}

#[test]
fn equal_seeds_give_equal_faults() {
    let plan = FaultPlan {
        seed: 11,
        read_error: 0.3,
        bit_flip: 0.3,
        ..FaultPlan::default()
    };
    let run = || {
        let file = faulty(plan.clone());
        let mut log = Vec::new();
        for i in 0..100 {
            let mut buf = [0; 64];
            let outcome = file.read_exact_at(&mut buf, i * 64).is_ok();
            log.push((outcome, buf));
        }
        log
    };
    assert_eq!(run(), run());
}

#[test]
fn a_crash_keeps_what_was_synced() {
    let file = faulty(FaultPlan::default());
    file.write_all_at(&[2; 4096], 4096).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(&[3; 4096], 8192).unwrap();
    file.write_all_at(&[4; 1024], 0).unwrap();

    let none = image(&file, CrashOutcome::None, 0);
    assert_eq!(none.len(), 8192);
    assert_eq!((none[0], none[4095], none[4096]), (1, 1, 2));

    let all = image(&file, CrashOutcome::All, 0);
    assert_eq!(all.len(), 12288);
    assert_eq!((all[0], all[1024], all[4096], all[8192]), (4, 1, 2, 3));

    let (mut lengths, mut torn) = (std::collections::BTreeSet::new(), false);
    for seed in 0..200 {
        let any = image(&file, CrashOutcome::Any, seed);
        assert_eq!(any, image(&file, CrashOutcome::Any, seed));
        assert!(any[4096..8192].iter().all(|&byte| byte == 2));
        torn |= any[0] != any[512];
        lengths.insert(any.len());

        // In a prefix the second change is there only after the first was (the cut one may be
        // torn).
        let prefix = image(&file, CrashOutcome::Prefix, seed);
        if prefix[0] == 4 || prefix[512] == 4 {
            assert_eq!(prefix.len(), 12288);
            assert!(prefix[8192..].iter().all(|&byte| byte == 3));
        }
    }
    assert!(torn && lengths.len() == 2);
}

#[test]
fn after_a_failed_sync_lost_sectors_stay_lost() {
    let file = faulty(FaultPlan {
        seed: 3,
        ..FaultPlan::default()
    });
    file.write_all_at(&[9; 8192], 0).unwrap();
    file.control().arm(Fault::SyncError, 0);
    file.sync_data().unwrap_err();
    file.sync_data().unwrap();
    let kept = image(&file, CrashOutcome::All, 0);
    let survivors = kept.iter().filter(|&&byte| byte == 9).count();
    assert!(
        survivors > 0 && survivors < 8192,
        "{survivors} bytes survived"
    );

    let mut seen = vec![0; 8192];
    file.read_exact_at(&mut seen, 0).unwrap();
    assert_eq!(seen, vec![9; 8192]);

    file.write_all_at(&[8; 8192], 0).unwrap();
    file.sync_data().unwrap();
    assert_eq!(image(&file, CrashOutcome::None, 0), vec![8; 8192]);
}

#[test]
fn truncation_is_unsynced_too() {
    let file = faulty(FaultPlan::default());
    file.set_len(1000).unwrap();
    assert_eq!(image(&file, CrashOutcome::None, 0), vec![1; 8192]);
    assert_eq!(image(&file, CrashOutcome::All, 0), vec![1; 1000]);
    file.sync_data().unwrap();
    assert_eq!(image(&file, CrashOutcome::None, 0), vec![1; 1000]);
}

#[test]
fn the_power_goes_at_a_chosen_change() {
    let file = faulty(FaultPlan::default());
    file.control().arm(Fault::PowerOff, 2);
    file.write_all_at(&[2; 512], 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(&[3; 512], 0).unwrap_err();
    file.read_exact_at(&mut [0; 4], 0).unwrap_err();
    file.sync_data().unwrap_err();
    assert_eq!(image(&file, CrashOutcome::All, 0)[0], 2);
    file.control().power_on();
    file.read_exact_at(&mut [0; 4], 0).unwrap();
}
