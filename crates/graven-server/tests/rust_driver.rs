//! Goal: neo4rs, the driver for Rust, gets what it expects from this server. `neo4rs/src/main.rs`
//! says what. It is left out unless `NEO4RS` names a folder to build it in, as that asks the
//! registry for the driver.

use std::path::Path;
use std::process::Command;

use graven::{Config, Database};
use graven_server::{Options, Server};

#[test]
fn the_driver_for_rust_is_content() {
    let Some(folder) = std::env::var_os("NEO4RS") else {
        eprintln!("SKIPPED: NEO4RS names no folder to build the driver for Rust in");
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.memory = 64 << 20;
    config.create = true;
    let database = Database::open(scratch.path().join("social.graven"), config);
    let mut options = Options::default();
    options.address = "127.0.0.1:0".to_owned();
    options.open_to_all = true;
    let server = Server::start(database.expect("a database"), options).expect("a server");
    let ran = Command::new(env!("CARGO"))
        .args(["run", "--locked", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/neo4rs/Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        .env("GRAVEN_BOLT", server.address().to_string())
        .output()
        .expect("cargo runs this test");
    let said = String::from_utf8_lossy(&ran.stdout);
    let complained = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said} {complained}");
}
