//! Goal: a server that is told to end ends in order, leaves no socket behind and nothing to
//! recover, and says that all went well.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::program::{folder, graven};

/// A server, where it listens, and what it says before.
fn serve_with(db: &str, more: &[&str]) -> (Child, String, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_graven"))
        .args(["serve", db, "--bolt", "127.0.0.1:0", "--memory", "16MiB"])
        .args(more)
        .stderr(Stdio::piped())
        .spawn()
        .expect("a server");
    let said = BufReader::new(server.stderr.take().expect("taken once"));
    let mut lines = said.lines().map(|line| line.expect("text"));
    let mut before = String::new();
    let address = lines.find_map(|line| match line.split_once("bolt://") {
        Some((_, behind)) => Some(behind.split(';').next()?.to_owned()),
        None => {
            before.push_str(&line);
            before.push('\n');
            None
        }
    });
    // Whatever it says at its end has somewhere to go.
    std::thread::spawn(move || lines.for_each(drop));
    (server, address.expect("it listens"), before)
}

/// A server that requires no login, and where it listens.
fn serve(db: &str) -> (Child, String) {
    let (server, address, _) = serve_with(db, &["--open-to-all"]);
    (server, address)
}

fn end(mut server: Child) {
    let told = Command::new("kill").arg(server.id().to_string()).status();
    assert!(told.expect("kill runs").success());
    assert_eq!(server.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_first_user_is_made_once_and_its_password_kept_from_others() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("serve-user");
    let db = folder.join("users.graven").display().to_string();
    let said = graven(["serve", &db, "--bolt", "127.0.0.1:0"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("--create"), "{}", said.err);
    assert!(!folder.join("users.graven").exists());
    let (server, _, before) = serve_with(&db, &["--create"]);
    let file = folder.join("users.graven-password");
    let password = std::fs::read_to_string(&file).expect("kept");
    assert!(password.trim().len() > 20, "{password}");
    assert!(before.contains(password.trim()), "{before}");
    let mode = std::fs::metadata(&file)
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    end(server);
    let (server, _, before) = serve_with(&db, &[]);
    assert!(!before.contains(password.trim()), "{before}");
    assert!(before.contains("users.graven-password"), "{before}");
    end(server);
    let said = graven([
        "query",
        &db,
        "SHOW USERS YIELD user, roles RETURN user, roles[0] AS role",
    ])
    .ok();
    assert_eq!(said.out, "user,role\ngraven,admin\n");
}

#[test]
fn options_that_an_attached_process_cannot_set_are_answered() {
    let folder = folder("serve-options");
    let db = folder.join("options.graven").display().to_string();
    graven(["query", &db, "CREATE (:A)"]).ok();
    let (server, _) = serve(&db);
    let said = graven([
        "query",
        &db,
        "RETURN 1 AS x",
        "--memory",
        "8MiB",
        "--policy",
        "lru",
    ])
    .ok();
    for option in ["--memory", "--policy"] {
        assert!(
            said.err.contains(&format!("{option} has no effect")),
            "{}",
            said.err
        );
    }
    let said = graven(["query", &db, "RETURN 1 AS x", "--policy", "nonsense"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("nonsense"), "{}", said.err);
    end(server);
}

#[test]
fn a_server_that_is_told_to_end_leaves_nothing_behind() {
    let folder = folder("serve-end");
    let db = folder.join("served.graven").display().to_string();
    graven(["query", &db, "CREATE (:Kept {n: 1})"]).ok();
    for signal in ["TERM", "HUP", "INT"] {
        let (mut server, address) = serve(&db);
        // Attached, and written by the server: its log has something.
        graven(["query", &db, "CREATE (:Kept {n: 2})"]).ok();
        let connected = TcpStream::connect(&address).expect("a connection");
        let told = Command::new("kill")
            .args([format!("-{signal}"), server.id().to_string()])
            .status();
        assert!(told.expect("kill runs").success());
        let ended = server.wait().expect("it ends");
        assert_eq!(ended.code(), Some(0), "{signal}");
        drop(connected);
        assert!(TcpStream::connect(&address).is_err(), "it is closed");
        let left: Vec<String> = std::fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("a file").file_name().display().to_string())
            .filter(|name| !matches!(&**name, "served.graven" | "served.graven-wal"))
            .collect();
        assert_eq!(left, [""; 0], "{signal}");
    }
    let said = graven([
        "query",
        &db,
        "MATCH (n:Kept) RETURN count(n) AS n",
        "--format",
        "json",
    ])
    .ok();
    assert!(said.out.contains("[4]"), "{}", said.out);
}
