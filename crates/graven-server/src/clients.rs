//! The connections of clients that have logged in: `dbms.listConnections` shows them, and
//! `dbms.killConnection` ends them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use graven::{CancelHandle, ClientConnection, Clients};

use crate::admission::ConnectionSlot;

/// All of them, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct ClientList(Mutex<BTreeMap<u64, Known>>);

#[derive(Debug)]
struct Known {
    connection: ClientConnection,
    place: Weak<ConnectionSlot>,
    cancel: CancelHandle,
}

/// An entry of the list; taken out on drop.
#[derive(Debug)]
pub(crate) struct ClientEntry {
    list: Arc<ClientList>,
    number: u64,
}

/// The name of a connection.
pub(crate) fn id(number: u64) -> String {
    format!("bolt-{number}")
}

impl ClientList {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection, after its client has logged in as this user.
    pub(crate) fn add(
        list: &Arc<ClientList>,
        number: u64,
        (user, agent): (Option<&str>, &str),
        (server, client): (&str, &str),
        (place, cancel): (&Arc<ConnectionSlot>, CancelHandle),
    ) -> ClientEntry {
        let connection = ClientConnection {
            id: id(number),
            since: SystemTime::now(),
            user: user.map(Arc::from),
            agent: agent.to_owned(),
            server: server.to_owned(),
            client: client.to_owned(),
        };
        let known = Known {
            connection,
            place: Arc::downgrade(place),
            cancel,
        };
        list.all().insert(number, known);
        let list = Arc::clone(list);
        ClientEntry { list, number }
    }
}

impl Drop for ClientEntry {
    fn drop(&mut self) {
        self.list.all().remove(&self.number);
    }
}

impl Clients for ClientList {
    fn connections(&self) -> Vec<ClientConnection> {
        let all = self.all();
        all.values().map(|known| known.connection.clone()).collect()
    }

    fn end(&self, id: &str) -> bool {
        let all = self.all();
        let Some(known) = all.values().find(|known| known.connection.id == id) else {
            return false;
        };
        let place = known.place.upgrade();
        known.cancel.cancel();
        place.is_some_and(|place| {
            place.end();
            true
        })
    }
}
