//! Goal: the official driver for JavaScript gets what it expects from this server, in Node over TCP
//! and TLS, and as in a browser over a WebSocket. `driver.cjs` says what. It is left out where
//! there is no Node, or no driver in the folder that `JAVASCRIPT` names.

use std::path::Path;
use std::process::Command;

use graven::{Config, Database};
use graven_server::{Options, Server, Tls};

#[test]
fn the_driver_for_javascript_is_content() {
    let folder = std::env::var_os("JAVASCRIPT").unwrap_or_else(|| ".".into());
    let asked = Command::new("node")
        .args([
            "-e",
            "require.resolve('neo4j-driver/package.json', {paths: [process.cwd()]})",
        ])
        .current_dir(&folder)
        .output();
    if !asked.is_ok_and(|asked| asked.status.success()) {
        let folder = Path::new(&folder).display();
        eprintln!(
            "SKIPPED: there is no Node, or no neo4j-driver in {folder} (JAVASCRIPT names another \
                folder)"
        );
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.memory = 32 << 20;
    config.create = true;
    let database = Database::open(scratch.path().join("social.graven"), config);
    let mut options = Options::default();
    options.address = "127.0.0.1:0".to_owned();
    options.open_to_all = true;
    options.tls = Some(Tls::SelfSigned {
        folder: scratch.path().join("tls"),
        names: Vec::new(),
    });
    let server = Server::start(database.expect("a database"), options).expect("a server");
    for in_socket in ["", "1"] {
        let ran = Command::new("node")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver.cjs"))
            .env("GRAVEN_BOLT", server.address().to_string())
            .env("GRAVEN_WEBSOCKET", in_socket)
            .current_dir(&folder)
            .output()
            .expect("Node was there before");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{in_socket} {said}");
    }
}
