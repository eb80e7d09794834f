//! Goal: Spring Data Neo4j gets what it expects from this server. `spring/Talk.java` and
//! `Flow.java` say what. It is left out where there is no compiler for Java, or no Spring Data
//! Neo4j in the folder of jars that `JAVA_SPRING` names.

use std::path::Path;
use std::process::Command;

use program::{play, serve};

mod program;

#[test]
fn repositories_of_spring_are_kept() {
    let Some(folder) = std::env::var_os("JAVA_SPRING") else {
        eprintln!("SKIPPED: JAVA_SPRING names no folder with the jars of Spring Data Neo4j");
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
    // Spring finds classes as files.
    let classes = scratch.path().join("classes");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spring");
    let mut compiler = Command::new("javac");
    // Names of parameters are read by reflection.
    compiler.arg("-parameters").arg("-cp").arg(&jars);
    compiler.arg("-d").arg(&classes);
    compiler.args(["Talk.java", "Flow.java"].map(|name| sources.join(name)));
    play(&mut compiler, &server);
    let mut path = jars.into_os_string();
    path.push(":");
    path.push(&classes);
    for class in ["talk.Talk", "flow.Flow"] {
        let mut program = Command::new("java");
        program.arg("-cp").arg(&path).arg(class);
        play(&mut program, &server);
    }
}
