//! What a session says, and the memory of what it is told.
//!
//! # How it works
//! A message is sent while it is made: some tens of kilobytes of it are in memory, however large
//! the values of a row are. The values of what a client asks take more than their bytes on the
//! wire; what they come to is reserved before they are made, until the message is answered.
//!
//! # Invariants
//! * BO-14 A message of a client that has not logged in comes to at most [`SMALL`] bytes.

use std::io::{self, Write};

use graven::pagecache::Reservation;
use graven::{QueryResult, Row};

use super::{CONFLICT_WAIT, Session};
use crate::failure::Failure;
use crate::gql;
use crate::message::{FAILURE, Map, RECORD, entry};
use crate::metrics;
use crate::packstream::{Writer, weight};
use crate::{Version, chunk};

/// Messages with values that take no more are not counted in the budget.
const SMALL: usize = 64 << 10;

/// What a statement with rows left takes beside what its operators keep, and how many of a
/// transaction are not counted.
const STREAM_BYTES: u64 = 8 << 10;
const STREAMS_FREE: usize = 8;

/// What a session keeps of the buffer in which it makes messages.
const KEPT: usize = 4 << 10;

/// Bytes of a row that are sent without a look at its statement's time: shorter rows are sent
/// whole, and the statement's end is told after them.
const UNCHECKED_BYTES: usize = 16 << 20;

impl<W: Write> Session<W> {
    /// Room for the values of a message.
    pub(super) fn room_for(&self, message: &[u8]) -> Result<Option<Reservation>, Failure> {
        let bytes = weight(message);
        if bytes <= SMALL {
            return Ok(None);
        }
        if !self.authenticated {
            return Err(Failure::request("a login has fewer values"));
        }
        let Some(budget) = self.service.databases.budget() else {
            return Ok(None);
        };
        let reserved = budget.reserve("messages of clients", bytes as u64);
        let reserved = reserved.map_err(|error| Failure::no_memory(&error.to_string()))?;
        Ok(Some(reserved))
    }

    /// Room for another statement with rows left.
    pub(super) fn room_for_stream(&self) -> Result<Option<Reservation>, Failure> {
        let budget = self.service.databases.budget();
        let Some(budget) = budget.filter(|_| self.streams.len() >= STREAMS_FREE) else {
            return Ok(None);
        };
        let reserved = budget.reserve("open results", STREAM_BYTES);
        let reserved = reserved.map_err(|error| {
            let open = self.streams.len();
            Failure::no_memory(&format!(
                "{open} results are open: pull them first; {error}"
            ))
        })?;
        Ok(Some(reserved))
    }

    /// A message was answered: its buffer goes, if it was a long one.
    pub(super) fn forget_message(&mut self) {
        self.message.clear();
        self.message.shrink_to(KEPT);
    }

    pub(super) fn fail(&mut self, failure: &Failure) -> io::Result<()> {
        if failure.is_conflict() {
            // The client tries again as soon as it hears of it; the one it met is then further on.
            std::thread::sleep(CONFLICT_WAIT);
        }
        metrics::count(&self.service.counters.failures);
        self.failed = true;
        self.streams.clear();
        let told = match self.version >= Version(5, 7) {
            true => gql::failure(failure),
            false => Map::from([
                entry("code", failure.code),
                entry("message", failure.message.as_str()),
            ]),
        };
        self.answer(FAILURE, Some(&told))
    }

    /// Sends a message with a map, or without.
    pub(super) fn answer(&mut self, signature: u8, map: Option<&Map>) -> io::Result<()> {
        let fields = u8::from(map.is_some());
        self.send(signature, fields, None, |writer| {
            if let Some(map) = map {
                writer.entries(map);
            }
        })
    }

    /// Sends a row, as long as its statement may run: a row may be longer than the statement's
    /// memory, where its values share what they hold. What has begun can only end with the
    /// connection.
    pub(super) fn record(&mut self, row: &Row, of: &QueryResult) -> io::Result<()> {
        metrics::count(&self.service.counters.rows);
        self.send(RECORD, 1, Some(of), |writer| {
            writer.list(row.values().len());
            row.values().iter().for_each(|value| writer.value(value));
        })
    }

    fn send(
        &mut self,
        signature: u8,
        fields: u8,
        of: Option<&QueryResult>,
        write: impl FnOnce(&mut Writer<'_>),
    ) -> io::Result<()> {
        let Session {
            message,
            to,
            version,
            at,
            utc,
            ..
        } = self;
        message.clear();
        let (mut sent, mut unchecked) = (Ok(()), 0);
        let mut full = |part: &mut Vec<u8>| {
            unchecked += part.len();
            let goes_on = unchecked < UNCHECKED_BYTES || {
                unchecked = 0;
                of.is_none_or(|of| of.check().is_ok())
            };
            if sent.is_ok() {
                sent = match goes_on {
                    true => chunk::write_part(to, part),
                    false => Err(io::ErrorKind::TimedOut.into()),
                };
            }
            part.clear();
            sent.is_ok()
        };
        let mut writer = Writer {
            out: message,
            full: &mut full,
            has_ended: false,
            version: *version,
            store: &at.store,
            utc: *utc,
        };
        writer.structure(signature, fields);
        write(&mut writer);
        sent?;
        chunk::write(to, message)
    }
}
