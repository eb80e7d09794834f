//! Goal: neo4j-ogm, which maps objects of Java, gets what it expects from this server.
//! `ogm/Talk.java` says what. It is left out where there is no compiler for Java, or no neo4j-ogm
//! in the folder of jars that `JAVA_OGM` names.

use std::path::Path;
use std::process::Command;

use program::{play, serve};

mod program;

#[test]
fn objects_of_java_are_kept() {
    let Some(folder) = std::env::var_os("JAVA_OGM") else {
        eprintln!("SKIPPED: JAVA_OGM names no folder with the jars of neo4j-ogm");
        return;
    };
    let asked = Command::new("javac").arg("-version").output();
    if !asked.is_ok_and(|asked| asked.status.success()) {
        eprintln!("SKIPPED: there is no compiler for Java");
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let server = serve(scratch.path(), 64, false);
    let jars = Path::new(&folder).join("*");
    // It finds its classes as files.
    let classes = scratch.path().join("classes");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ogm/Talk.java");
    let mut compiler = Command::new("javac");
    compiler.arg("-cp").arg(&jars).arg("-d").arg(&classes);
    play(compiler.arg(source), &server);
    let mut path = jars.into_os_string();
    path.push(":");
    path.push(&classes);
    let mut program = Command::new("java");
    program.arg("-cp").arg(path).arg("talk.Talk");
    play(&mut program, &server);
}
