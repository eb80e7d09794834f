//! Settings by their names and as text, as configuration files and command lines have them.

use std::time::Duration;

use graven::{Config, Durability, Error, Isolation, TransactionOptions};

/// Names of the settings of a database.
const OF_DATABASE: &str = "memory, threads, policy, io, read_only, create, attach, timeout_ms, \
                           disk_cache, disk_budget";

/// Names of the settings of a connection.
const OF_CONNECTION: &str = "isolation, durability, timeout_ms";

fn wrong(name: &str, value: &str, use_: &str) -> Error {
    Error::usage(format!(
        "`{value}` is no value for the setting `{name}`: use {use_}"
    ))
}

fn unknown(name: &str, known: &str) -> Error {
    Error::usage(format!(
        "there is no setting `{name}`: the settings are {known}"
    ))
}

fn flag(name: &str, value: &str) -> Result<bool, Error> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(wrong(name, value, "true or false")),
    }
}

fn timeout(name: &str, value: &str) -> Result<Option<Duration>, Error> {
    let ms: u64 = value.parse().map_err(|_| {
        wrong(
            name,
            value,
            "a number of milliseconds, 0 for as long as it takes",
        )
    })?;
    Ok((ms > 0).then(|| Duration::from_millis(ms)))
}

/// Sets one setting of a database.
///
/// # Errors
/// `Request.Invalid` for a name or value that is none, with those there are.
pub fn set_config(config: &mut Config, name: &str, value: &str) -> Result<(), Error> {
    match name {
        "memory" => config.memory = graven::parse_bytes(value)?,
        "threads" => {
            let threads = value.parse().ok().filter(|threads| *threads > 0);
            config.threads = threads.ok_or_else(|| wrong(name, value, "a number from 1 on"))?;
        }
        "policy" => config.policy = value.to_owned(),
        "io" => config.io = value.parse()?,
        "read_only" => config.read_only = flag(name, value)?,
        "create" => config.create = flag(name, value)?,
        "attach" => config.attach = flag(name, value)?,
        "timeout_ms" => config.timeout = timeout(name, value)?,
        "disk_cache" => config.disk_cache = (!value.is_empty()).then(|| value.into()),
        "disk_budget" => config.disk_budget = graven::parse_bytes(value)?,
        _ => return Err(unknown(name, OF_DATABASE)),
    }
    Ok(())
}

/// What may be set for the statements of a connection.
#[derive(Clone, Copy, Default)]
pub struct ConnectionOptions {
    isolation: Isolation,
    durability: Durability,
}

impl ConnectionOptions {
    /// The same with another durability.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    fn transactions(self) -> TransactionOptions {
        TransactionOptions::default()
            .isolation(self.isolation)
            .durability(self.durability)
    }

    /// The connection with these options.
    #[must_use]
    pub fn apply(self, connection: graven::Connection) -> graven::Connection {
        connection.with_options(self.transactions())
    }
}

/// Sets one setting of a connection: the connection with it.
///
/// # Errors
/// `Request.Invalid` for a name or value that is none, with those there are.
pub fn set_connection(
    connection: graven::Connection,
    options: &mut ConnectionOptions,
    name: &str,
    value: &str,
) -> Result<graven::Connection, Error> {
    match name {
        "timeout_ms" => return Ok(connection.with_timeout(timeout(name, value)?)),
        "isolation" => {
            options.isolation = match value {
                "snapshot" => Isolation::Snapshot,
                "serializable" => Isolation::Serializable,
                _ => return Err(wrong(name, value, "snapshot or serializable")),
            }
        }
        "durability" => {
            let relaxed = value.strip_prefix("relaxed:").map(str::parse);
            options.durability = match (value, relaxed) {
                ("full", _) => Durability::Full,
                ("off", _) => Durability::Off,
                ("relaxed", _) => Durability::Relaxed(Duration::from_millis(100)),
                (_, Some(Ok(ms))) => Durability::Relaxed(Duration::from_millis(ms)),
                _ => {
                    return Err(wrong(
                        name,
                        value,
                        "full, relaxed, relaxed:MILLISECONDS or off",
                    ));
                }
            }
        }
        _ => return Err(unknown(name, OF_CONNECTION)),
    }
    Ok(options.apply(connection))
}
