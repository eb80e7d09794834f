//! A server of a folder of databases, and what its clients are told.

#![allow(dead_code, reason = "each test uses some of it")]

use std::path::Path;
use std::sync::Arc;

use graven::Config;
use graven_server::{DatabaseFolder, FolderOptions, Options, Server, User};

use crate::client::*;

pub(crate) const NOT_FOUND: &str = "Neo.ClientError.Database.DatabaseNotFound";
pub(crate) const FORBIDDEN: &str = "Neo.ClientError.Security.Forbidden";

pub(crate) fn options() -> FolderOptions {
    let mut config = Config::default();
    config.memory = 32 << 20;
    FolderOptions::new(config)
}

pub(crate) fn opened(folder: &Path) -> Arc<DatabaseFolder> {
    DatabaseFolder::open(folder, options()).expect("a folder")
}

pub(crate) fn served(folder: &Arc<DatabaseFolder>, set: impl FnOnce(&mut Options)) -> Server {
    let mut own = Options::default();
    own.address = "127.0.0.1:0".to_owned();
    own.open_to_all = true;
    set(&mut own);
    Server::start_folder(folder, own).expect("a server")
}

/// One that asks for a user, and knows `root` with the password `secret`.
pub(crate) fn guarded(folder: &Arc<DatabaseFolder>) -> Server {
    served(folder, |options| {
        options.open_to_all = false;
        options.user = Some(User {
            name: "root".to_owned(),
            password: "secret".to_owned(),
        });
    })
}

/// The rows of a statement as text.
pub(crate) fn shown(client: &mut Client, text: &str) -> Vec<String> {
    let (rows, _) = client.rows(text);
    rows.iter().map(ToString::to_string).collect()
}

/// The code of the failure of a message, after which the client goes on.
pub(crate) fn refused(client: &mut Client, message: &[u8]) -> String {
    let mut answer = client.ask(message);
    if answer.0 == 0x70 {
        client.send(PULL_ALL);
        loop {
            answer = client.answer();
            if answer.0 != 0x71 {
                break;
            }
        }
    }
    let code = Client::failure(answer);
    assert_eq!(client.ask(RESET).0, 0x70);
    code
}
