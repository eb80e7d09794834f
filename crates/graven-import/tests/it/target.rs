// Goal: the target appears complete or not at all, and what a killed import left goes away.
use std::fs::write;
use std::ops::ControlFlow;

use graven_import::{ImportError, ImportOptions, ImportSource, import};

use crate::{run, shared};

#[test]
fn an_existing_target_is_left_alone() {
    let Some(folder) = shared("lsqb/example") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db.graven");
    write(&path, "something").unwrap();
    let error = run(
        &path,
        &ImportSource::Ldbc(folder),
        &ImportOptions::default(),
    )
    .unwrap_err();
    assert!(matches!(error, ImportError::TargetExists { .. }), "{error}");
    assert!(error.to_string().contains("another name"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"something");
}

#[test]
fn leftovers_of_a_killed_import_are_removed_and_named() {
    let Some(folder) = shared("lsqb/example") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db.graven");
    let left = dir.path().join("db.graven-import");
    write(&left, "half").unwrap();
    std::fs::create_dir(dir.path().join("db.graven-import.d")).unwrap();
    let report = run(
        &path,
        &ImportSource::Ldbc(folder),
        &ImportOptions::default(),
    )
    .unwrap();
    assert!(
        report.removed_leftovers.contains(&left),
        "{:?}",
        report.removed_leftovers
    );
    let names: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(names, [path]);
}

#[test]
fn a_cancelled_import_leaves_nothing_wherever_it_stops() {
    let Some(folder) = shared("ldbc-snb-tiny") else {
        return;
    };
    let source = ImportSource::Ldbc(folder);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db.graven");
    for stop in 0..60 {
        let mut calls = 0;
        let mut sink = |_: graven_import::Progress<'_>| {
            calls += 1;
            if calls > stop {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        match import(&path, &source, &ImportOptions::default(), &mut sink) {
            Err(ImportError::Cancelled) => {}
            Err(error) => panic!("{error}"),
            Ok(_) => return,
        }
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            0,
            "after {stop} calls"
        );
    }
}

#[test]
fn too_little_memory_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let options = ImportOptions {
        memory: 1 << 20,
        ..ImportOptions::default()
    };
    let source = ImportSource::Ldbc(dir.path().to_path_buf());
    let error = run(&dir.path().join("db"), &source, &options).unwrap_err();
    assert!(matches!(error, ImportError::Memory { .. }), "{error}");
}
