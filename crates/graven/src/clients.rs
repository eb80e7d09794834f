//! The connections of a server's clients, as its statements see and end them.
//!
//! # How it works
//! A program that serves clients hands its connections a [`Clients`]
//! ([`Connection::with_clients`](crate::Connection::with_clients)). `dbms.listConnections` and
//! `dbms.killConnection` ask it. Without one there are no connections to see.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// A connection of a client that has logged in.
#[derive(Clone, Debug)]
pub struct ClientConnection {
    /// Its name, as `SHOW TRANSACTIONS` has it.
    pub id: String,
    /// When it began.
    pub since: SystemTime,
    /// The user that has logged in, if it has a name.
    pub user: Option<Arc<str>>,
    /// What the client says that it is.
    pub agent: String,
    /// The address at which the client reached the server.
    pub server: String,
    /// The address of the client.
    pub client: String,
}

/// The connections of a server.
pub trait Clients: Send + Sync + fmt::Debug {
    /// Those of clients that have logged in, in the order in which they began.
    fn connections(&self) -> Vec<ClientConnection>;

    /// Ends the connection with this name; whether there was one.
    fn end(&self, id: &str) -> bool;
}
