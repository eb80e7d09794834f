//! Goal: Spring Data Neo4j gets what it expects from this server. `spring/Talk.java` and
//! `Flow.java` say what. It is left out where there is no compiler for Java, or no Spring Data
//! Neo4j in the folder of jars that `JAVA_SPRING` names.

use std::process::Command;

use program::{compiled, jars, play, serve};

mod program;

#[test]
fn repositories_of_spring_are_kept() {
    let Some(jars) = jars("JAVA_SPRING", "Spring Data Neo4j", "javac") else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let server = serve(scratch.path(), 64, false);
    let sources = ["spring/Talk.java", "spring/Flow.java"];
    let path = compiled(&sources, jars, scratch.path(), &server);
    for class in ["talk.Talk", "flow.Flow"] {
        let mut program = Command::new("java");
        program.arg("-cp").arg(&path).arg(class);
        play(&mut program, &server);
    }
}
