//! Goal: a stranger publishes, reads by URL and collects, beside an owner too, and learns from an
//! error what to do.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::program::{Said, folder, graven};

fn fails(said: Said, code: i32) -> Said {
    assert_eq!(said.code, code, "{said:?}");
    said
}

#[test]
fn a_snapshot_is_published_read_and_collected() {
    let folder = folder("published");
    let db = folder.join("d.graven").display().to_string();
    let url = format!("file://{}/out/", folder.display());
    graven(["query", &db, "UNWIND range(1, 5) AS i CREATE (:N {i: i})"]).ok();
    let first = graven(["publish", &db, &url]).ok();
    assert!(
        first.out.contains("in 1 chunks, of which 1 were sent"),
        "{}",
        first.out
    );
    let again = graven(["publish", &db, &url]).ok();
    assert!(again.out.contains("is there already"), "{}", again.out);
    let count = "MATCH (n:N) RETURN count(n) AS n";
    let tier = folder.join("tier").display().to_string();
    for options in [vec![], vec!["--disk-cache", &tier]] {
        let arguments = ["query", url.as_str(), count].into_iter().chain(options);
        assert_eq!(graven(arguments).ok().out, "n\n5\n");
    }
    let info = graven(["info", &url]).ok();
    assert!(info.out.contains("object storage"), "{}", info.out);
    graven(["check", &url]).ok();
    let refused = fails(graven(["query", &url, "CREATE (:N)"]), 1);
    assert!(refused.err.contains("never changed"), "{}", refused.err);
    graven(["query", &db, "CREATE (:N)"]).ok();
    graven(["publish", &db, &url]).ok();
    assert_eq!(graven(["query", &url, count]).ok().out, "n\n6\n");
    let kept = graven(["gc", &url]).ok();
    assert!(kept.out.contains("deleted 0 snapshots"), "{}", kept.out);
    let dry = graven(["gc", &url, "--grace", "0s", "--dry-run"]).ok();
    assert!(dry.out.contains("would delete 1 snapshots"), "{}", dry.out);
    let done = graven(["gc", &url, "--grace", "0s"]).ok();
    assert!(done.out.contains("deleted 1 snapshots"), "{}", done.out);
    assert_eq!(graven(["query", &url, count]).ok().out, "n\n6\n");
}

#[test]
fn mistakes_are_told() {
    let folder = folder("published-mistakes");
    let db = folder.join("d.graven").display().to_string();
    let nowhere = format!("file://{}/none/", folder.display());
    graven(["query", &db, "CREATE (:N)"]).ok();
    for (arguments, says) in [
        (["query", &nowhere, "RETURN 1"], "graven publish"),
        (["query", &nowhere, "CREATE (:N)"], "graven publish"),
        (
            ["publish", &db, "s4://bucket/x"],
            "no store has this scheme",
        ),
        (["publish", &db, "out"], "it is no URL"),
        (["gc", "--grace=0s", &nowhere], "graven publish"),
    ] {
        let failed = fails(graven(arguments), 1);
        assert!(failed.err.contains(says), "{arguments:?}: {}", failed.err);
    }
    assert!(!folder.join("none").exists(), "nothing was made");
    let no_file = fails(graven(["publish", "nothing.graven", &nowhere]), 1);
    assert!(no_file.err.contains("nothing.graven"), "{}", no_file.err);
    let file = fails(graven(["serve", &db, "--refresh", "1s"]), 2);
    assert!(file.err.contains("--refresh"), "{}", file.err);
}

/// `--every` beside an owner that goes on writing: each round sends what is new.
#[test]
fn an_owner_is_published_again_and_again() {
    let folder = folder("published-every");
    let db = folder.join("d.graven").display().to_string();
    let url = format!("file://{}/out/", folder.display());
    let start = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_graven"));
        let command = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.spawn().expect("the program starts")
    };
    let mut owner = start(&["shell", &db, "--format", "json"]);
    let mut input = owner.stdin.take().expect("piped");
    let mut answers = BufReader::new(owner.stdout.take().expect("piped")).lines();
    let mut write = |text: &str| {
        writeln!(input, "{text};").expect("read");
        answers.next().expect("answered").expect("text")
    };
    write("CREATE (:N)");
    let mut every = start(&["publish", &db, &url, "--every", "200ms"]);
    let mut told = BufReader::new(every.stdout.take().expect("piped")).lines();
    let first = told.next().expect("told").expect("text");
    assert!(first.contains("were sent"), "{first}");
    write("CREATE (:N)");
    let second = told.find(|line| line.as_ref().is_ok_and(|line| line.contains("were sent")));
    assert!(second.is_some());
    let count = "MATCH (n:N) RETURN count(n) AS n";
    assert_eq!(graven(["query", &url, count]).ok().out, "n\n2\n");
    // A second Control-C is not needed, and what was published stays.
    let killed = Command::new("kill")
        .args(["-TERM", &every.id().to_string()])
        .status();
    assert!(killed.expect("kill runs").success());
    assert!(every.wait().expect("it ends").success());
    drop(input);
    assert!(owner.wait().expect("it ends").success());
    assert_eq!(graven(["query", &url, count]).ok().out, "n\n2\n");
}
