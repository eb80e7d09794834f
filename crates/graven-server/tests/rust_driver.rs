//! Goal: neo4rs, the driver for Rust, gets what it expects from this server. `neo4rs/src/main.rs`
//! says what. It is left out unless `NEO4RS` names a folder to build it in, as that asks the
//! registry for the driver.

use std::path::Path;
use std::process::Command;

use program::{play, serve};

mod program;

#[test]
fn the_driver_for_rust_is_content() {
    let Some(folder) = std::env::var_os("NEO4RS") else {
        eprintln!("SKIPPED: NEO4RS names no folder to build the driver for Rust in");
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let server = serve(scratch.path(), 64, false);
    let mut program = Command::new(env!("CARGO"));
    program.args(["run", "--locked", "--manifest-path"]);
    program.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/neo4rs/Cargo.toml"));
    program.arg("--target-dir").arg(&folder);
    play(&mut program, &server);
}
