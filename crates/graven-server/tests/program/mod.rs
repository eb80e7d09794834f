//! A server of one new database for a program that talks to it, the run of the program, and what a
//! program in Java needs.
//!
//! The program finds the server's address in `GRAVEN_BOLT`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use graven::{Config, Database};
use graven_server::{Options, Server, Tls};

/// Starts a server of a database in the folder with so many MiB of memory; with `tls` it has a
/// certificate of its own making.
pub(crate) fn serve(folder: &Path, mib: u64, tls: bool) -> Server {
    let mut config = Config::default();
    config.memory = mib << 20;
    config.create = true;
    let database = Database::open(folder.join("social.graven"), config).expect("a database");
    let mut options = Options::default();
    options.address = "127.0.0.1:0".to_owned();
    options.open_to_all = true;
    options.tls = tls.then(|| Tls::SelfSigned {
        folder: folder.join("tls"),
        names: Vec::new(),
    });
    Server::start(database, options).expect("a server")
}

/// Runs the program against the server; the test fails with what it printed.
pub(crate) fn play(program: &mut Command, server: &Server) {
    program.env("GRAVEN_BOLT", server.address().to_string());
    let ran = program.output().expect("the program was there before");
    let printed = [ran.stdout, ran.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(
        ran.status.success() && !printed.contains("Ran 0 tests"),
        "{printed}"
    );
}

/// The jars of `of` in the folder that `variable` names, as a class path; none, with a line that
/// says so, without the folder or without `command`.
#[allow(dead_code, reason = "only programs in Java need it")]
pub(crate) fn jars(variable: &str, of: &str, command: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(variable) else {
        eprintln!("SKIPPED: {variable} names no folder with the jars of {of}");
        return None;
    };
    let asked = Command::new(command).arg("-version").output();
    if !asked.is_ok_and(|asked| asked.status.success()) {
        eprintln!("SKIPPED: there is no {command}");
        return None;
    }
    Some(Path::new(&folder).join("*"))
}

/// Compiles `sources` of the tests with these jars into `folder`, where the program finds its
/// classes as files; the class path of both.
#[allow(dead_code, reason = "only programs in Java need it")]
pub(crate) fn compiled(
    sources: &[&str],
    jars: PathBuf,
    folder: &Path,
    server: &Server,
) -> OsString {
    let classes = folder.join("classes");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut compiler = Command::new("javac");
    // Names of parameters are read by reflection.
    compiler.arg("-parameters").arg("-cp").arg(&jars);
    compiler.arg("-d").arg(&classes);
    compiler.args(sources.iter().map(|name| tests.join(name)));
    play(&mut compiler, server);
    let mut path = jars.into_os_string();
    path.push(":");
    path.push(&classes);
    path
}
