//! Goal: the official driver for Java gets what it expects from this server, over TCP and TLS.
//! `Driver.java` says what. It is left out where there is no Java, or no driver in the folder of
//! jars that `JAVA_DRIVER` names.

use std::path::Path;
use std::process::Command;

use graven::{Config, Database};
use graven_server::{Options, Server, Tls};

#[test]
fn the_driver_for_java_is_content() {
    let Some(folder) = std::env::var_os("JAVA_DRIVER") else {
        eprintln!("SKIPPED: JAVA_DRIVER names no folder with the jars of the driver for Java");
        return;
    };
    let asked = Command::new("java").arg("-version").output();
    if !asked.is_ok_and(|asked| asked.status.success()) {
        eprintln!("SKIPPED: there is no Java");
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.memory = 64 << 20;
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
    let jars = Path::new(&folder).join("*");
    let ran = Command::new("java")
        .arg("-cp")
        .arg(jars)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/Driver.java"))
        .env("GRAVEN_BOLT", server.address().to_string())
        .output()
        .expect("Java was there before");
    let said = String::from_utf8_lossy(&ran.stdout);
    let complained = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said} {complained}");
}
