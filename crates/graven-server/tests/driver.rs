//! Goal: the official driver for Python gets what it expects from this server. `driver.py` and
//! `driver_databases.py` say what; they are left out where the driver is not installed. `PYTHON`
//! names an interpreter that has it.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use graven::Config;
use graven_server::{DatabaseFolder, FolderOptions, Options, Server};
use program::{play, serve};

mod program;

/// The interpreter, if it has the driver.
fn python() -> Option<OsString> {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let there = Command::new(&python)
        .args(["-c", "import neo4j"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        let python = Path::new(&python).display();
        eprintln!("SKIPPED: `{python}` has no package neo4j");
        return None;
    }
    Some(python)
}

/// Runs a script of tests against a server.
fn run(python: &OsStr, script: &str, server: &Server) {
    let mut program = Command::new(python);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    program.arg("-B").arg(tests.join(script));
    play(&mut program, server);
}

#[test]
fn the_official_driver_knows_several_databases() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.memory = 32 << 20;
    let databases = DatabaseFolder::open(folder.path(), FolderOptions::new(config));
    let mut options = Options::default();
    options.address = "127.0.0.1:0".to_owned();
    options.open_to_all = true;
    let server = Server::start_folder(&databases.expect("a folder"), options).expect("a server");
    run(&python, "driver_databases.py", &server);
}

#[test]
fn the_official_driver_is_content() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve(folder.path(), 32, true);
    run(&python, "driver.py", &server);
}
