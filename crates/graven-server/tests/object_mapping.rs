//! Goal: neo4j-ogm, which maps objects of Java, gets what it expects from this server.
//! `ogm/Talk.java` says what. It is left out where there is no compiler for Java, or no neo4j-ogm
//! in the folder of jars that `JAVA_OGM` names.

use std::path::Path;
use std::process::Command;

use graven::{Config, Database};
use graven_server::{Options, Server};

/// Runs a program to its end; what it said if it failed.
fn run(command: &mut Command) -> Result<(), String> {
    let ran = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&ran.stdout);
    let complained = String::from_utf8_lossy(&ran.stderr);
    match ran.status.success() {
        true => Ok(()),
        false => Err(format!("{said} {complained}")),
    }
}

#[test]
fn objects_of_java_are_kept() {
    let Some(folder) = std::env::var_os("JAVA_OGM") else {
        eprintln!("SKIPPED: JAVA_OGM names no folder with the jars of neo4j-ogm");
        return;
    };
    if let Err(error) = run(Command::new("javac").arg("-version")) {
        eprintln!("SKIPPED: there is no compiler for Java: {error}");
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
    let server = Server::start(database.expect("a database"), options).expect("a server");
    let jars = Path::new(&folder).join("*");
    // It finds its classes as files.
    let classes = scratch.path().join("classes");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ogm/Talk.java");
    let mut compiler = Command::new("javac");
    compiler.arg("-cp").arg(&jars).arg("-d").arg(&classes);
    run(compiler.arg(source)).expect("compiled");
    let mut path = jars.into_os_string();
    path.push(":");
    path.push(&classes);
    let mut program = Command::new("java");
    program.arg("-cp").arg(path).arg("talk.Talk");
    program.env("GRAVEN_BOLT", server.address().to_string());
    run(&mut program).expect("it is content");
}
