//! A database for programs that speak Bolt, the protocol of Neo4j's drivers, and counters for those
//! that watch it.
//!
//! # How it works
//! ```text
//! listener    accepts connections
//!   admission     places for them, by whether they have logged in
//!     handshake     agrees on a version: 5.0 to 5.4, or 4.4
//!   session       runs one message after the other and answers, on a thread borrowed for that time
//!     service         which users may log in, and what each of them may do
//!     served          one file, or the files of a folder
//!     folder          the databases of a folder: opened, made, dropped, stopped
//!     opened          an open database, and whether it is still there
//!     attempts        which addresses may try again to log in, and when
//!     timeouts        ends what a client leaves open
//!     packstream      values as bytes
//!     failure         errors under the names that drivers know
//!     gql             the same as statuses of GQL
//!     notification    notices under the names that drivers know
//!     summary         what is said before the first row and after the last
//! metrics     counters for Prometheus and a page, over HTTP
//! ```
//! Rows leave as they are asked for (`PULL`), straight from the statement that runs: nothing is
//! kept but what one message answers. A statement of a transaction has run to its end before its
//! first row leaves, as in the library.
//!
//! # Invariants
//! * BO-1 A message has at most as many bytes as the options say and eight million values, which
//!   take some tens of bytes each. Before a client has logged in, a message has at most 16 KiB, and
//!   it logs in within five seconds.
//! * BO-2 After a failure every message is ignored until a RESET, as the protocol has it: nothing
//!   that a client sent in the hope of success is done after an error.
//! * BO-3 When a connection ends, its statement is stopped and its transaction rolled back.
//! * BO-4 Between two looks at passwords from an address lies the pause that its failures have
//!   earned.
//! * BO-8 A message that is none ends its connection, and with it everything that it had.
//! * BO-5 A server that ends begins nothing new; it answers what has begun, for as long as the
//!   client reads.
//!
//! # Costs
//! Some kilobytes a connection that is idle, and a thread while it is answered. A message is copied
//! once on its way in, a row once on its way out.
//!
//! # Source
//! Neo4j's documentation of Bolt and PackStream (messages, versions 4.1 to 6.0, structures).

mod admission;
mod chunk;
mod clients;
mod connection;
mod failure;
mod folder;
mod gql;
mod handshake;
mod listener;
mod login_throttle;
mod message;
mod metrics;
#[cfg(test)]
mod neo4j_cases;
mod notification;
mod opened;
mod options;
mod out;
mod packstream;
mod served;
mod service;
mod session;
mod session_databases;
mod stage;
mod summary;
mod temporal_codec;
mod timeouts;
mod tls;
mod transport;
mod websocket;

pub use folder::{DatabaseFolder, FolderOptions};
pub use listener::Server;
pub use options::{Options, Tls, User};

/// A version of the protocol: major, minor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Version(u8, u8);

impl Version {
    /// Whether nodes and relationships have ids of text beside their numbers, and moments count
    /// from UTC.
    fn is_5(self) -> bool {
        self.0 >= 5
    }

    /// Whether vectors have a structure of their own.
    fn has_vectors(self) -> bool {
        self.0 >= 6
    }

    /// Whether a client logs in with a message of its own, after HELLO.
    fn has_logon(self) -> bool {
        self >= Version(5, 1)
    }
}
