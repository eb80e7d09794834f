//! Goal: the care of files works beside the process that has the database open, and no file of a
//! database is open to more users than its data file.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::program::{folder, graven};

/// A shell that has committed one node and keeps the database open until its input ends.
fn owner(db: &str) -> (Child, ChildStdin) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_graven"))
        .args(["shell", db, "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("piped");
    writeln!(input, "CREATE (:Secret {{s: 'top'}});").expect("read");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped"))
        .read_line(&mut line)
        .expect("answered");
    assert!(line.contains("nodes_created"), "{line}");
    (child, input)
}

fn end((mut child, input): (Child, ChildStdin)) {
    drop(input);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn check_info_and_checkpoint_work_beside_an_owner() {
    let folder = folder("care-beside");
    let db = folder.join("d.graven").display().to_string();
    let owner = owner(&db);
    let info = graven(["info", &db]).ok();
    for part in [
        "1 node, 0 relationships",
        "labels  Secret 1",
        "policy  ",
        "memory  ",
    ] {
        assert!(info.out.contains(part), "{part}: {}", info.out);
    }
    let json = graven(["info", &db, "--json"]).ok();
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(json["labels"]["Secret"], 1);
    assert!(
        json["queue"].is_string() && json["io_alignment"].is_u64(),
        "{json}"
    );
    let folded = graven(["checkpoint", &db]).ok();
    assert!(folded.out.starts_with("checkpoint "), "{}", folded.out);
    assert_eq!(graven(["checkpoint", &db]).ok().out, "nothing to do\n");
    let checked = graven(["check", &db]).ok();
    assert!(checked.out.contains("sound    pages"), "{}", checked.out);
    assert!(
        checked.out.ends_with("d.graven is sound\n"),
        "{}",
        checked.out
    );
    end(owner);
    // The same words where no process has it open.
    let alone = graven(["check", &db]).ok();
    let names = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .map(|line| line.split(',').next().unwrap_or_default());
        lines
            .map(|name| name.split(" (").next().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(names(&alone.out), names(&checked.out));
}

fn modes(folder: &Path) -> Vec<(String, u32)> {
    let mut modes: Vec<(String, u32)> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let mode = entry.metadata().expect("there").permissions().mode() & 0o777;
            (entry.file_name().display().to_string(), mode)
        })
        .collect();
    modes.sort();
    modes
}

#[test]
fn no_file_is_open_to_more_users_than_the_data_file() {
    for mode in [0o600, 0o640] {
        let folder = folder(&format!("care-modes-{mode:o}"));
        let place = |name: &str| folder.join(name).display().to_string();
        let db = place("d.graven");
        graven(["query", &db, "CREATE (:A)"]).ok();
        std::fs::set_permissions(&db, Permissions::from_mode(mode)).expect("set");
        let owner = owner(&db);
        let there = modes(&folder);
        assert!(
            there.iter().any(|(name, _)| name == "d.graven-wal"),
            "{there:?}"
        );
        graven(["backup", &db, &place("copy.graven")]).ok();
        graven(["query", &db, "CREATE (:B)"]).ok();
        let (copy, again) = (place("copy.graven"), place("again.graven"));
        // An earlier copy may have been opened to others on purpose; the new one is as the database
        // is.
        std::fs::set_permissions(&copy, Permissions::from_mode(0o644)).expect("set");
        graven(["backup", &db, &again, "--since", &copy]).ok();
        std::fs::set_permissions(&copy, Permissions::from_mode(mode)).expect("set");
        let beside_owner = modes(&folder);
        end(owner);
        graven(["salvage", &db, &place("salvaged.graven")]).ok();
        for (name, found) in beside_owner.into_iter().chain(modes(&folder)) {
            assert_eq!(
                found & !mode,
                0,
                "{name}: {found:o}, the data file has {mode:o}"
            );
        }
    }
}

#[test]
fn a_log_that_is_missing_is_not_told_to_be_kept() {
    let folder = folder("care-without-log");
    let db = folder.join("d.graven").display().to_string();
    let (mut child, input) = owner(&db);
    child.kill().expect("it runs");
    child.wait().expect("killed");
    drop(input);
    std::fs::remove_file(format!("{db}-wal")).expect("there is a log");
    let said = graven(["query", &db, "--without-log", "MATCH (n) RETURN count(n)"]).ok();
    let missing = "was read without its log: ";
    assert!(said.err.contains(missing), "{}", said.err);
    assert!(!said.err.contains("keep both files"), "{}", said.err);
    // With it, or told to go on without, the database opens; else it does not.
    let refused = graven(["query", &db, "RETURN 1"]);
    assert!(refused.err.contains("is missing"), "{}", refused.err);
}
