//! Goal: a server that is told to end ends in order, leaves no socket behind and nothing to recover, and says that all went well.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::program::{folder, graven};

/// A server and where it listens.
fn serve(db: &str) -> (Child, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_graven"))
        .args(["serve", db, "--bolt", "127.0.0.1:0", "--memory", "16MiB"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("a server");
    let said = BufReader::new(server.stderr.take().expect("taken once"));
    let mut lines = said.lines().map(|line| line.expect("text"));
    let address = lines.find_map(|line| {
        let (_, behind) = line.split_once("bolt://")?;
        Some(behind.split(';').next()?.to_owned())
    });
    // Whatever it says at its end has somewhere to go.
    std::thread::spawn(move || lines.for_each(drop));
    (server, address.expect("it listens"))
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
        assert!(TcpStream::connect(&address).is_err(), "nobody listens");
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
