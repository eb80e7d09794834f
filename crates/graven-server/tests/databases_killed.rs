//! Goal: a server that is killed while it makes and drops databases has, after the next start, each
//! one that it has acknowledged, and nothing left over.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use graven::{Change, Config, DatabaseManager, Params};
use graven_server::{DatabaseFolder, FolderOptions};

/// Names the folder that the process which is killed works in.
const FOLDER: &str = "GRAVEN_KILLED_FOLDER";

const ROUNDS: u64 = 8;

fn opened(folder: &Path) -> std::sync::Arc<DatabaseFolder> {
    let mut config = Config::default();
    config.memory = 32 << 20;
    DatabaseFolder::open(folder, FolderOptions::new(config)).expect("a folder")
}

fn create(name: &str, replaces: bool) -> Change {
    Change::Create {
        name: name.to_owned(),
        replaces,
        if_missing: false,
    }
}

fn drop_of(name: &str) -> Change {
    Change::Drop {
        name: name.to_owned(),
        if_exists: false,
        cascades: false,
        dumps: false,
    }
}

/// What is run in a process of its own: it says before each change that it begins, and after it
/// that it is done.
#[test]
fn changes_without_end() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = opened(Path::new(&folder));
    let begun = std::process::id();
    let say = |what: &str, name: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n@{what} {name}").expect("said");
        out.flush().expect("said");
    };
    for number in 0u64.. {
        let name = format!("db-{begun}-{number}");
        say("creates", &name);
        folder.change(create(&name, false)).expect("made");
        say("has", &name);
        if number % 3 == 1 {
            say("creates", &name);
            folder.change(create(&name, true)).expect("replaced");
            say("has", &name);
        }
        if number % 2 == 1 {
            say("drops", &name);
            folder.change(drop_of(&name)).expect("dropped");
            say("lacks", &name);
        }
    }
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(opened(folder.path()));
    let mut wanted = BTreeSet::from(["neo4j".to_owned(), "system".to_owned()]);
    for round in 0..ROUNDS {
        let own = std::env::current_exe().expect("this program");
        let mut child = Command::new(own)
            .args(["--exact", "changes_without_end", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let reading = std::thread::spawn(move || {
            let lines = out.lines().map_while(Result::ok);
            lines.filter(|it| it.starts_with('@')).collect::<Vec<_>>()
        });
        std::thread::sleep(Duration::from_millis(300 + 37 * round));
        child.kill().expect("killed");
        child.wait().expect("ended");
        let mut open = None;
        for line in reading.join().expect("read") {
            let (what, name) = line[1..].split_once(' ').expect("two words");
            let name = name.to_owned();
            match what {
                "has" => wanted.insert(name),
                "lacks" => wanted.remove(&name),
                // Until it is answered it may be there or not.
                _ => {
                    wanted.remove(&name);
                    open = Some(name);
                    continue;
                }
            };
            open = None;
        }
        let databases = opened(folder.path());
        let mut found = BTreeSet::new();
        for listed in databases.databases() {
            assert_eq!(listed.message, "", "{}", listed.name);
            let database = listed.database.expect("it is online");
            let counted = database
                .connect()
                .query("CREATE (n) DELETE n RETURN 1", &Params::new());
            drop(counted.expect("it takes writes"));
            found.insert(listed.name);
        }
        if let Some(open) = &open
            && found.contains(open)
        {
            wanted.insert(open.clone());
        }
        assert_eq!(found, wanted, "round {round}");
        databases.close().expect("closed");
        let files = std::fs::read_dir(folder.path()).expect("listed");
        for file in files {
            let name = file.expect("a file").file_name();
            let name = name.to_string_lossy();
            let known = wanted.iter().any(|own| name.starts_with(own.as_str()));
            let left = name.contains("-dropped-") || name.contains(".graven-new-");
            assert!(known && !left, "round {round}: {name} is left over");
        }
    }
    assert!(wanted.len() > 2, "nothing was made before the kills");
}
