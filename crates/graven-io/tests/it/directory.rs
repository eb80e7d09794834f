//! Goal: a durable rename replaces a file in one step, and leaves everything alone when it fails.

use graven_io::{durable_rename, sync_directory};

#[test]
fn a_rename_replaces_the_target() {
    let directory = tempfile::tempdir().unwrap();
    let (new, name) = (directory.path().join("new"), directory.path().join("name"));
    std::fs::write(&new, "after").unwrap();
    std::fs::write(&name, "before").unwrap();
    durable_rename(&new, &name).unwrap();
    assert_eq!(std::fs::read_to_string(&name).unwrap(), "after");
    assert!(!new.exists());
    sync_directory(directory.path()).unwrap();
}

#[test]
fn a_missing_source_leaves_the_target() {
    let directory = tempfile::tempdir().unwrap();
    let (new, name) = (directory.path().join("new"), directory.path().join("name"));
    std::fs::write(&name, "before").unwrap();
    let error = durable_rename(&new, &name).unwrap_err().to_string();
    assert!(error.contains("new"), "{error}");
    assert_eq!(std::fs::read_to_string(&name).unwrap(), "before");
}
