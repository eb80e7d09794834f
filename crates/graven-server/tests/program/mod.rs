//! A server of one new database for a program that talks to it, and the run of the program.
//!
//! The program finds the server's address in `GRAVEN_BOLT`.

use std::path::Path;
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
