//! Goal: the official driver for JavaScript gets what it expects from this server, in Node over TCP
//! and TLS, and as in a browser over a WebSocket. `driver.cjs` says what. It is left out where
//! there is no Node, or no driver in the folder that `JAVASCRIPT` names.

use std::path::Path;
use std::process::Command;

use program::{play, serve};

mod program;

#[test]
fn the_driver_for_javascript_is_content() {
    let folder = std::env::var_os("JAVASCRIPT").unwrap_or_else(|| ".".into());
    let asked = Command::new("node")
        .args([
            "-e",
            "require.resolve('neo4j-driver/package.json', {paths: [process.cwd()]})",
        ])
        .current_dir(&folder)
        .output();
    if !asked.is_ok_and(|asked| asked.status.success()) {
        let folder = Path::new(&folder).display();
        eprintln!(
            "SKIPPED: there is no Node, or no neo4j-driver in {folder} (JAVASCRIPT names another \
                folder)"
        );
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let server = serve(scratch.path(), 32, true);
    for in_socket in ["", "1"] {
        let mut program = Command::new("node");
        program.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver.cjs"));
        program.env("GRAVEN_WEBSOCKET", in_socket);
        play(program.current_dir(&folder), &server);
    }
}
