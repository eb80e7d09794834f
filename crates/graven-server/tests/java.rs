//! Goal: the official driver for Java gets what it expects from this server, over TCP and TLS.
//! `Driver.java` says what. It is left out where there is no Java, or no driver in the folder of
//! jars that `JAVA_DRIVER` names.

use std::path::Path;
use std::process::Command;

use program::{play, serve};

mod program;

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
    let server = serve(scratch.path(), 64, true);
    let jars = Path::new(&folder).join("*");
    let mut program = Command::new("java");
    program.arg("-cp").arg(jars);
    program.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/Driver.java"));
    play(&mut program, &server);
}
