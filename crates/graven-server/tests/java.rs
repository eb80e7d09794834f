//! Goal: the official driver for Java gets what it expects from this server, over TCP and TLS.
//! `Driver.java` says what. It is left out where there is no Java, or no driver in the folder of
//! jars that `JAVA_DRIVER` names.

use std::path::Path;
use std::process::Command;

use program::{jars, play, serve};

mod program;

#[test]
fn the_driver_for_java_is_content() {
    let Some(jars) = jars("JAVA_DRIVER", "the driver for Java", "java") else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let server = serve(scratch.path(), 64, true);
    let mut program = Command::new("java");
    program.arg("-cp").arg(jars);
    program.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/Driver.java"));
    play(&mut program, &server);
}
