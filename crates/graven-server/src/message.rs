//! What clients ask, and the signatures of what they are answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use graven::Value;

use crate::packstream::{Reader, Unreadable};

pub(crate) const SUCCESS: u8 = 0x70;
pub(crate) const RECORD: u8 = 0x71;
pub(crate) const IGNORED: u8 = 0x7e;
pub(crate) const FAILURE: u8 = 0x7f;

const RESET: u8 = 0x0f;

/// A map of options.
pub(crate) type Map = BTreeMap<Arc<str>, Value>;

/// An entry of a [`Map`].
pub(crate) fn entry(name: &str, value: impl Into<Value>) -> (Arc<str>, Value) {
    (name.into(), value.into())
}

/// A message of a client.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Hello(Map),
    Logon(Map),
    Logoff,
    Goodbye,
    Reset,
    Run {
        text: Arc<str>,
        params: Map,
        extra: Map,
    },
    Begin(Map),
    Commit,
    Rollback,
    /// The next rows of a statement.
    Pull(Wanted),
    /// The same, without sending the rows.
    Discard(Wanted),
    Route {
        context: Map,
        extra: Map,
    },
    /// How the client's own interface is used: nothing is done with it.
    Telemetry,
}

/// Some rows of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    /// How many; none: all.
    pub(crate) rows: Option<u64>,
    /// Number of the statement in its transaction; none: the last one.
    pub(crate) statement: Option<u64>,
}

/// Whether a message is a RESET, without taking it apart.
pub(crate) fn is_reset(message: &[u8]) -> bool {
    message == [0xb0, RESET]
}

impl Request {
    /// Takes a message apart.
    ///
    /// # Errors
    /// It is none, or has other fields than messages of its kind.
    pub(crate) fn parse(message: &[u8]) -> Result<Self, Unreadable> {
        let mut reader = Reader::new(message);
        let (signature, count) = reader.message()?;
        let fields = (0..count).map(|_| reader.value());
        let fields = fields.collect::<Result<Vec<Value>, Unreadable>>()?;
        if !reader.is_at_end() {
            return Err(Unreadable::Wanted("the end of the message"));
        }
        let mut fields = fields.into_iter();
        Ok(match signature {
            0x01 => Request::Hello(map(fields.next())?),
            0x6a => Request::Logon(map(fields.next())?),
            0x6b => Request::Logoff,
            0x02 => Request::Goodbye,
            RESET => Request::Reset,
            0x10 => {
                let Some(Value::String(text)) = fields.next() else {
                    return Err(Unreadable::Wanted("the text of a statement"));
                };
                let (params, extra) = (map(fields.next())?, map(fields.next())?);
                Request::Run {
                    text,
                    params,
                    extra,
                }
            }
            0x11 => Request::Begin(map(fields.next())?),
            0x12 => Request::Commit,
            0x13 => Request::Rollback,
            0x3f => Request::Pull(wanted(&map(fields.next())?)?),
            0x2f => Request::Discard(wanted(&map(fields.next())?)?),
            0x66 => {
                let context = map(fields.next())?;
                // Bookmarks: one server has seen all of them.
                fields.next();
                let extra = match fields.next() {
                    // Before version 4.4.
                    Some(Value::String(db)) => Map::from([("db".into(), Value::String(db))]),
                    other => map(other)?,
                };
                Request::Route { context, extra }
            }
            0x54 => Request::Telemetry,
            _ => {
                return Err(Unreadable::Wanted(
                    "a message of this version of the protocol",
                ));
            }
        })
    }
}

/// A map of options; one that is left out is empty.
fn map(field: Option<Value>) -> Result<Map, Unreadable> {
    match field {
        Some(Value::Map(map)) => Ok(map),
        Some(Value::Null) | None => Ok(Map::new()),
        Some(_) => Err(Unreadable::Wanted("a map")),
    }
}

fn wanted(options: &Map) -> Result<Wanted, Unreadable> {
    let number = |name: &str| match options.get(name) {
        Some(Value::Integer(-1)) | None => Ok(None),
        Some(Value::Integer(number)) => {
            let number = u64::try_from(*number);
            number
                .map(Some)
                .map_err(|_| Unreadable::Wanted("a number from 0 on, or -1"))
        }
        Some(_) => Err(Unreadable::Wanted("a number of rows")),
    };
    Ok(Wanted {
        rows: number("n")?,
        statement: number("qid")?,
    })
}
