//! Goal: every workload commits what it says, the floor runs beside it, and the report adds up.

use super::*;

#[test]
fn each_workload_is_measured_beside_the_floor() {
    let directory = tempfile::tempdir().unwrap();
    let bench = CommitBench {
        directory: directory.path().to_path_buf(),
        memory: 16 << 20,
        operations: 20,
        rounds: 2,
        slice: Duration::from_millis(40),
    };
    let mut matrix = Matrix::default();
    for (workload, operations) in [
        (Workload::Single, 1),
        (Workload::Large, 20),
        (Workload::Unwind, 20),
    ] {
        for (clients, durability) in [
            (1, Durability::Full),
            (3, Durability::Relaxed(Duration::from_millis(5))),
        ] {
            let measured = bench.run(workload, clients, durability).unwrap();
            assert!(measured.transactions > 0 && measured.log_bytes_per_tx > 20.0);
            assert_eq!(measured.operations, operations);
            assert!(measured.ratio > 0.0 && measured.rounds.len() == 2);
            assert!(measured.to_string().contains("ratio"));
            matrix.measurements.push(measured);
        }
    }
    let text = matrix.to_string();
    assert!(
        text.contains("full") && text.contains("relaxed(5 ms)"),
        "{text}"
    );
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    assert!(bench.run(Workload::Single, 0, Durability::Full).is_err());
}
