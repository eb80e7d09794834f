//! Goal: neo4j-ogm, which maps objects of Java, gets what it expects from this server.
//! `ogm/Talk.java` says what. It is left out where there is no compiler for Java, or no neo4j-ogm
//! in the folder of jars that `JAVA_OGM` names.

use std::process::Command;

use program::{compiled, jars, play, serve};

mod program;

#[test]
fn objects_of_java_are_kept() {
    let Some(jars) = jars("JAVA_OGM", "neo4j-ogm", "javac") else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let server = serve(scratch.path(), 64, false);
    let path = compiled(&["ogm/Talk.java"], jars, scratch.path(), &server);
    let mut program = Command::new("java");
    program.arg("-cp").arg(path).arg("talk.Talk");
    play(&mut program, &server);
}
