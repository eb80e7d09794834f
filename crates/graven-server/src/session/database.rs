//! Which database a message of a client is for.
//!
//! # How it works
//! A client names a database with each transaction (`db`), or means its home. A statement may say
//! otherwise: `USE name`, where the name may have to be computed first, and what is about users or
//! databases, which is for `system` wherever it is said. The first statement of a transaction may
//! still move it; the others stay. A server of one file has nothing to choose, and reads no text
//! for this.
//!
//! # Invariants
//! * BD-1 All statements of a transaction run on one database.
//! * BD-2 On `system` of a folder clients run only what reads no graph (CD-2): what it keeps of
//!   users is shown by commands alone, which check rights.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use graven::{Connection, Params, Value};

use super::{Answer, Session};
use crate::Version;
use crate::failure::Failure;
use crate::folder::names::SYSTEM;
use crate::message::{Map, entry};
use crate::opened::Opened;
use crate::served::Databases;
use crate::timeouts::Timer;

/// How long computing the name of a database may take.
const NAME_TIME: Duration = Duration::from_secs(1);

/// What a client may say of a transaction that its first statement may move to another database.
const OPTIONS: [&str; 4] = ["imp_user", "mode", "tx_metadata", "tx_timeout"];

/// Bytes of what a client may say of a transaction: that is kept as long as the transaction.
const SAID_MAX: u64 = 64 << 10;

/// Words without which no statement chooses a database; the whole is looked at only with one of
/// them.
const CHOOSING: &[&[u8]] = &[b"use", b"role", b"database", b"alias"];

/// Whether the text may choose a database.
fn may_choose(text: &str) -> bool {
    let holds = |word: &[u8]| {
        let mut windows = text.as_bytes().windows(word.len());
        windows.any(|at| at.eq_ignore_ascii_case(word))
    };
    CHOOSING.iter().any(|word| holds(word))
}

/// The database that something is for.
pub(super) struct Target {
    pub(super) opened: Arc<Opened>,
    /// The computed name behind `USE` that says so, and where it stands in the statement.
    pub(super) used: Option<(u32, Arc<str>)>,
}

impl From<Arc<Opened>> for Target {
    fn from(opened: Arc<Opened>) -> Target {
        Target { opened, used: None }
    }
}

/// A failure about another database than that of the transaction.
fn other_database(wanted: &str, own: &str) -> Failure {
    let message = format!(
        "a transaction is on one database: this one is on `{own}`, and the statement is for \
            `{wanted}`; begin another transaction for it"
    );
    Failure::new("Neo.ClientError.Statement.AccessMode", message)
}

/// The smaller of two limits.
pub(super) fn least(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

/// Whether a transaction was announced as one that only reads.
fn only_reads(extra: &Map) -> bool {
    extra.get("mode").and_then(Value::as_str) == Some("r")
}

impl<W: Write> Session<W> {
    /// The database of what is open, or of what was open last.
    pub(crate) fn at(&self) -> Arc<Opened> {
        Arc::clone(&self.at)
    }

    /// The database is no longer there: what is open in it ends, and the client is told when it
    /// asks for something next.
    pub(crate) fn lose_database(&mut self) {
        let why = self.at.gone();
        if !self.is_idle() {
            self.end_all();
            self.ended = why.map(|why| Failure::unavailable(&*why));
        }
        if let Ok(first) = self.service.databases.first() {
            self.move_to(first);
        }
    }

    /// The failure under the name of what has led to it.
    pub(super) fn named(&self, failure: Failure) -> Failure {
        match self.at.gone() {
            Some(why) if failure.is_of_end() => Failure::unavailable(&*why),
            None if self.at.reads_only() && failure.is_of_mode() => Failure::new(
                "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
                format!(
                    "the database `{}` is read-only: ALTER DATABASE {} SET ACCESS READ WRITE",
                    self.at.name, self.at.name
                ),
            ),
            _ => self.timer.named(failure),
        }
    }

    /// The database that a statement, or a transaction, is for, where the client says `named`.
    pub(super) fn target(
        &self,
        statement: Option<(&str, &Params)>,
        named: Option<&Value>,
    ) -> Result<Target, Failure> {
        let named = match named {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name.to_string()),
            Some(other) => Some(other.to_string()),
        };
        let chosen = named.as_deref().unwrap_or(&self.home);
        let databases = &self.service.databases;
        let (Databases::Folder(_), Some((text, params))) = (databases, statement) else {
            return Ok(databases.named(chosen)?.into());
        };
        let of_system = chosen.eq_ignore_ascii_case(SYSTEM);
        let address = match of_system || may_choose(text) {
            true => self.connection.address_of(text)?,
            false => None,
        };
        // A text that cannot be read fails wherever it runs.
        let Some(address) = address else {
            return Ok(databases.named(chosen)?.into());
        };
        if address.administers {
            return Ok(databases.named(SYSTEM)?.into());
        }
        let computed = match address.used {
            Some(_) => None,
            None => address.computed.and_then(|(place, expression)| {
                Some((place, self.computed_name(&expression, params)?))
            }),
        };
        let used = address.used.as_deref();
        let used = used.or(computed.as_ref().map(|(_, name)| &**name));
        let target = databases.named(used.unwrap_or(chosen))?;
        if target.name == SYSTEM && !address.needs_no_graph {
            return Err(Failure::new(
                "Neo.ClientError.Statement.UnsupportedAdministrationCommand",
                "the database `system` has no graph: this statement runs on another database; SHOW \
                    DATABASES lists them",
            ));
        }
        Ok(Target {
            opened: target,
            used: computed,
        })
    }

    /// The name that an expression behind `USE` gives; none where it gives none, or takes longer
    /// than [`NAME_TIME`], which the statement itself tells when it runs.
    fn computed_name(&self, expression: &str, params: &Params) -> Option<Arc<str>> {
        let access = self.access.clone().reading_only(true);
        let connection = self.connection.clone().with_access(access);
        let connection = connection.with_timeout(Some(NAME_TIME));
        let text = format!("RETURN {expression}");
        let row = connection.query(&text, params).ok()?.next_row().ok()??;
        row.values().first()?.as_str().map(Arc::from)
    }

    /// From now on what begins is on this database.
    pub(super) fn move_to(&mut self, target: Arc<Opened>) {
        if !Arc::ptr_eq(&self.at, &target) {
            let database = target.database.clone();
            self.connection = self.connection.clone().with_database(database);
            self.at = target;
        }
    }

    /// A statement comes in a transaction: the first one may be for another database.
    /// Given back is the name behind `USE` that has been computed for this.
    pub(super) fn stay_or_move(
        &mut self,
        text: &str,
        params: &Params,
    ) -> Result<Option<(u32, Arc<str>)>, Failure> {
        if self.database_manager.is_none() {
            return Ok(None);
        }
        let own = Value::from(self.at.name.as_str());
        let found = self.target(Some((text, params)), Some(&own))?;
        let (target, used) = (found.opened, found.used);
        if Arc::ptr_eq(&self.at, &target) {
            return Ok(used);
        }
        if self.next > 0 {
            return Err(other_database(&target.name, &self.at.name));
        }
        if let Some(transaction) = self.transaction.take() {
            transaction.rollback();
        }
        self.move_to(target);
        let (connection, _) = self.with_options(&self.begun_with)?;
        self.transaction = Some(connection.begin()?);
        Ok(used)
    }

    /// All roles are played by this server, at the address by which the client found it.
    pub(super) fn route(&self, context: &Map, extra: &Map) -> Result<Map, Failure> {
        let target = self.target(None, extra.get("db"))?.opened;
        self.with_options(extra)?;
        let known = context.get("address").and_then(Value::as_str);
        let address = known.unwrap_or(&self.ends.server);
        let servers = ["WRITE", "READ", "ROUTE"].map(|role| {
            Value::Map(Map::from([
                entry("addresses", vec![address]),
                entry("role", role),
            ]))
        });
        let name = extra.get("db").and_then(Value::as_str);
        let name = name.unwrap_or(&target.name);
        let table = Map::from([
            entry("ttl", 300),
            entry("db", name),
            entry("servers", servers.to_vec()),
        ]);
        Ok(Map::from([entry("rt", table)]))
    }

    /// The connection with the options of a transaction that begins now.
    pub(super) fn with_options(&self, extra: &Map) -> Result<(Connection, Timer), Failure> {
        if extra.get("imp_user").is_some_and(|user| !user.is_null()) {
            return Err(Failure::request("there are no users to impersonate"));
        }
        let wanted = match extra.get("tx_timeout") {
            None | Some(Value::Null | Value::Integer(0)) => None,
            Some(Value::Integer(ms)) if *ms > 0 => Some(Duration::from_millis(ms.cast_unsigned())),
            Some(_) => return Err(Failure::request("tx_timeout is a number of milliseconds")),
        };
        let timer = self.service.timeouts.begin(wanted);
        let reads_only = only_reads(extra) || self.at.reads_only();
        let access = self.access.clone().reading_only(reads_only);
        let connection = self.connection.clone().with_access(access);
        let timeout = least(connection.timeout(), timer.left());
        let connection = match extra.get("tx_metadata") {
            Some(said @ Value::Map(said_of)) if !said_of.is_empty() => {
                let said_of: Params = said_of.clone().into_iter().collect();
                if said_of.memory() > SAID_MAX {
                    return Err(Failure::request(
                        "tx_metadata takes more than 64 KiB: say less of the transaction",
                    ));
                }
                connection.with_metadata(said)
            }
            _ => connection,
        };
        Ok((connection.with_timeout(timeout), timer))
    }

    pub(super) fn begin(&mut self, extra: &Map) -> Result<Answer, Failure> {
        let target = self.target(None, extra.get("db"))?.opened;
        self.move_to(target);
        let (connection, timer) = self.with_options(extra)?;
        self.transaction = Some(connection.begin()?);
        self.timer = timer;
        self.transaction_filter = self.filter.with(self.version, extra);
        self.next = 0;
        if let Some(database_manager) = &self.database_manager {
            let kept = OPTIONS.iter().filter_map(|name| extra.get_key_value(*name));
            self.begun_with = kept
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            database_manager.begin(true);
        }
        Ok(Answer::Success(self.home()))
    }

    /// Which database answers a client that named none.
    pub(super) fn home(&self) -> Map {
        match self.version >= Version(5, 8) {
            true => Map::from([entry("db", self.at.name.as_str())]),
            false => Map::new(),
        }
    }

    /// How many changes of databases were asked for.
    pub(super) fn asked(&self) -> u64 {
        let database_manager = self.database_manager.as_ref();
        database_manager.map_or(0, |database_manager| database_manager.asked())
    }

    /// A transaction has ended without a commit.
    pub(super) fn forget_asked(&mut self) {
        if let Some(database_manager) = &self.database_manager {
            database_manager.begin(false);
        }
    }

    /// A transaction was committed: what it asked for of databases is made.
    pub(super) fn commit_database_changes(&mut self) -> Result<(), Failure> {
        if let Some(database_manager) = &self.database_manager {
            database_manager.commit()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Goal: no text that chooses a database is passed over.

    use super::may_choose;

    #[test]
    fn what_may_choose_is_looked_at() {
        for text in [
            "USE a RETURN 1",
            "create User a SET PASSWORD 'x'",
            "GRANT ROLE reader TO a",
            "DROP ALIAS x FOR DATABASE",
            "Stop Database x",
        ] {
            assert!(may_choose(text), "{text}");
        }
        assert!(!may_choose("MATCH (n) RETURN n"));
        assert!(!may_choose(""));
    }
}
