//! The tables of a network as text, made while it is read.

use std::io::{self, Read, Write as _};
use std::sync::Arc;

use super::Network;
use super::persons::end_of_time;
use crate::error::ImportError;
use crate::generate::random;
use graven_types::rng::SplitMix64;

/// Text that is made at once.
const BLOCK_BYTES: usize = 64 << 10;
/// Friendships of which the persons are looked up together: they lie anywhere in memory, and
/// look-ups that do not depend on one another wait together.
const AT_ONCE: usize = 64;

/// A table of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableName {
    Person,
    Knows,
}

impl TableName {
    pub(super) const ALL: [Self; 2] = [Self::Person, Self::Knows];

    pub(super) fn stem(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Knows => "knows",
        }
    }

    pub(super) fn header(self) -> &'static str {
        match self {
            Self::Person => {
                "id|firstName|lastName|gender|birthday|creationDate|locationIP|browserUsed|place"
            }
            Self::Knows => "person1Id|person2Id|creationDate",
        }
    }

    /// Bytes of a row, about.
    pub(super) fn row_bytes(self) -> u64 {
        match self {
            Self::Person => 96,
            Self::Knows => 44,
        }
    }
}

/// Reads a table: its header, then its rows in ascending order.
pub(super) struct TableText {
    network: Arc<Network>,
    table: TableName,
    text: Vec<u8>,
    at: usize,
    rows: u64,
    /// Draws how long after both have joined a friendship is made.
    dates: SplitMix64,
    bucket: usize,
    pairs: Vec<u64>,
    next: usize,
    /// Friendships to be written, the last one first.
    friends: Vec<Friends>,
    digits: itoa::Buffer,
}

/// Two persons that are friends.
struct Friends {
    ids: [u64; 2],
    /// When the later one joined.
    joined: i64,
}

impl TableText {
    pub(super) fn new(network: Arc<Network>, table: TableName) -> Self {
        let mut text = table.header().as_bytes().to_vec();
        text.push(b'\n');
        Self {
            dates: random::stream(network.seed, 5),
            network,
            table,
            text,
            at: 0,
            rows: 0,
            bucket: 0,
            pairs: Vec::new(),
            next: 0,
            friends: Vec::with_capacity(AT_ONCE),
            digits: itoa::Buffer::new(),
        }
    }

    /// Rows made so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Replaces the text by the next rows; there are none at the end of the table.
    fn make(&mut self) -> Result<(), ImportError> {
        self.text.clear();
        self.at = 0;
        while self.text.len() < BLOCK_BYTES {
            let is_row = match self.table {
                TableName::Person => self.person(),
                TableName::Knows => self.friendship()?,
            };
            if !is_row {
                break;
            }
            self.rows += 1;
        }
        Ok(())
    }

    fn person(&mut self) -> bool {
        let Some(p) = self.network.people.get(self.rows as usize) else {
            return false;
        };
        let [a, b, c, d] = p.address.to_be_bytes();
        let text = &mut self.text;
        text.extend_from_slice(self.digits.format(p.id).as_bytes());
        for name in p.names() {
            text.push(b'|');
            text.extend_from_slice(name.as_bytes());
        }
        // Writing to a vector does not fail.
        let _ = writeln!(
            text,
            "|{}|{}|{a}.{b}.{c}.{d}|{}|{}",
            p.birthday(),
            p.created,
            p.browser(),
            p.city
        );
        true
    }

    fn friendship(&mut self) -> Result<bool, ImportError> {
        while self.next == self.pairs.len() {
            if self.bucket == self.network.pairs.buckets() {
                return Ok(false);
            }
            // The old bucket goes before the next one is read.
            self.pairs = Vec::new();
            self.pairs = self.network.pairs.bucket(self.bucket)?;
            self.bucket += 1;
            self.next = 0;
        }
        if self.friends.is_empty() {
            let people = &self.network.people;
            let end = self.pairs.len().min(self.next + AT_ONCE);
            let friends = self.pairs[self.next..end].iter().rev().map(|pair| {
                let persons = [(pair >> 32) as usize, *pair as u32 as usize];
                let [a, b] = persons.map(|person| &people[person]);
                Friends {
                    ids: [a.id, b.id],
                    joined: a.created.max(b.created),
                }
            });
            self.friends.extend(friends);
        }
        let Some(Friends {
            ids: [a, b],
            joined,
        }) = self.friends.pop()
        else {
            return Ok(false);
        };
        self.next += 1;
        let left = (end_of_time() - joined) as u64;
        // Of two draws the earlier: most friendships are made soon after joining.
        let after = self.dates.below(left).min(self.dates.below(left));
        for (number, behind) in [(a, b'|'), (b, b'|'), (joined as u64 + after, b'\n')] {
            let digits = self.digits.format(number);
            self.text.extend_from_slice(digits.as_bytes());
            self.text.push(behind);
        }
        Ok(true)
    }
}

impl Read for TableText {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.make().map_err(io::Error::other)?;
        }
        let count = out.len().min(self.text.len() - self.at);
        out[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
